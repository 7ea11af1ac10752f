"""Tucker decomposition of sparse tensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._common.base import flip_signs, progress_bar
from .._common.checkpoint import Checkpoint, seed_identity
from .._common.persistence import Persistent, checksum
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_choice, check_integer, check_real, keeps_previous_fit, seed_key
from ..tensor import SparseTensor, as_tensor
from ._fibres import Relabelled, relabel
from ._hooi import Hooi
from ._start import leading_of_unfolding, needed_memory, orthonormal, random_factor

__all__ = ["Tucker"]

STARTS = ("hosvd", "random")
BLOCK_BYTES = 1 << 28


class Tucker(Persistent, BaseEstimator):  # type: ignore[misc]
    """A small dense core and one orthonormal factor per mode, for a sparse tensor.

    Minimises ``|X - G x_1 U_1 ... x_N U_N|`` by higher-order orthogonal iteration (HOOI; De Lathauwer, De Moor
    and Vandewalle 2000), without making anything dense that is larger than a block of rows (Kolda and Sun 2008).
    For relations of words (Chang, Yih and Meek 2013), X is a list of matrices, and ``ranks`` is (R, R, number of
    matrices): ``core_[:, :, k]`` is the S_k of ``X_k ~ U S_k V'``.

    Parameters
    ----------
    ranks : sequence of int
        One for each mode, at most its dimension. A mode whose rank is its dimension is not compressed: its factor
        is the identity, it costs nothing, and the core has the mode's own indices along it.
    init : {"hosvd", "random"} or list of arrays, default "hosvd"
        Where to start: the leading vectors of the tensor's unfoldings, random directions, or given factors of
        shape (dimension, rank), None for those of modes that are not compressed.
    tol : float, default 1e-5
        Stop when a sweep raises the fit by no more than this; 0 when it does not rise at all any more.
    max_iter : int, default 50
        Sweeps at most.
    max_memory : int or None
        Bytes of working memory, the result included. None means what is fastest. A bound that is too small raises
        an error that says so.
    checkpoint : path-like or None
        File that holds the state after every sweep. Where it exists, the fit goes on from it, bit for bit as if
        it had not been stopped. A file of other parameters or other data raises an error.
    callback : callable or None
        Called after every sweep as ``callback(sweep, fit)``; whatever counts as true ends it.
    random_state : int, numpy generator or None
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    core_ : array of shape ``ranks``
        Its slices along a compressed mode are orthogonal to each other, the largest first.
    factors_ : list of arrays of shape (dimension, rank)
        Orthonormal columns. Sign rule: the entry of largest magnitude of each column is positive. A single matrix,
        or one slice, has the singular vectors here, and the singular values on the core's diagonal.
    fit_ : float
        ``1 - |X - reconstruction| / |X|``, from the norm of the core. The difference of two squares: near 1, the
        fit is known to about the square root of the dtype's rounding, 5e-4 for float32 and 1e-8 for float64.
    fits_ : float64 array of shape (n_iter_,)
        After each sweep. Never falls, up to rounding.
    n_iter_ : int
    shape_ : tuple of int
        Of the tensor.

    Notes
    -----
    The same seed gives the same bits for any number of threads. After a first sweep of exact solves, each mode is
    improved by one over-relaxed step of subspace iteration a sweep, which costs less than half of an exact solve
    and converges in about as many sweeps; ``semproj/_hooi.py`` has the proof that the fit cannot fall.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> likes = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> model = sj.Tucker((2, 2, 2), random_state=0).fit([likes, -likes])
    >>> model.core_.round(6)[:, :, 0]
    array([[2., 0.],
           [0., 1.]])
    >>> round(model.fit_, 6), model.reconstruct([[0, 1], [0, 1], [1, 0]]).round(6)
    (1.0, array([-2.,  1.]))
    """

    _scalars = ("fit_", "n_iter_")

    def __init__(
        self,
        ranks: Sequence[int],
        *,
        init: Any = "hosvd",
        tol: float = 1e-5,
        max_iter: int = 50,
        max_memory: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callable[[int, float], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.ranks = ranks
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.callback = callback
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    @keeps_previous_fit
    def fit(self, tensor: Any, y: Any = None) -> Tucker:
        """Decompose a tensor.

        Parameters
        ----------
        tensor : SparseTensor, list of sparse matrices, or sparse array
            A list holds the slices along the third of three modes. scipy's and pydata's COO arrays are taken too.
            float32 gives a float32 model, other numbers a float64 one.
        """
        self._check_parameters()
        tensor = as_tensor(tensor)
        ranks = self._checked_ranks(tensor.shape)
        squares = float(np.einsum("i,i->", tensor.values, tensor.values, dtype=np.float64))
        if not np.isfinite(squares) or squares > float(np.finfo(tensor.dtype).max):
            raise ValueError(f"tensor: its squares do not fit {tensor.dtype}; scale it down or use float64")
        if squares == 0:
            raise ValueError("tensor: has no non-zero entries")
        with single_threaded_blas():
            core, factors, fits = self._decompose(tensor, ranks, squares)
        self.core_ = core.astype(tensor.dtype)
        self.factors_ = factors
        self.fits_ = np.array(fits)
        self.fit_ = fits[-1]
        self.n_iter_ = len(fits)
        self.shape_ = tensor.shape
        return self

    def reconstruct(self, coords: Any) -> Array:
        """Values of the decomposition at some cells.

        Parameters
        ----------
        coords : integer array of shape (ndim, n_cells)

        Returns
        -------
        array of shape (n_cells,), of the dtype of ``core_``
        """
        check_is_fitted(self, "core_")
        coords = np.asarray(coords)
        if coords.ndim != 2 or len(coords) != len(self.shape_) or coords.dtype.kind not in "iu":
            raise ValueError(
                f"coords: expected integers of shape ({len(self.shape_)}, n_cells), got {coords.dtype} of shape "
                f"{coords.shape}"
            )
        for j, size in enumerate(self.shape_):
            if coords.shape[1] and not 0 <= coords[j].min() <= coords[j].max() < size:
                raise ValueError(f"coords[{j}]: out of range for a dimension of {size}")
        out = np.empty(coords.shape[1], self.core_.dtype)
        chunk = max(1, (1 << 25) // max(1, self.core_.size // min(self.core_.shape)))
        with single_threaded_blas():
            for begin in range(0, len(out), chunk):
                cells = slice(begin, begin + chunk)
                out[cells] = _at(self.core_, self.factors_, coords[:, cells])
        return out

    def _decompose(
        self, tensor: SparseTensor, ranks: tuple[int, ...], squares: float
    ) -> tuple[Array, list[Array], list[float]]:
        state = Checkpoint(self.checkpoint, self._identity(tensor, ranks))
        found = state.load()
        threads, key = resolve_threads(self.n_threads), seed_key(self.random_state)
        if ranks == tensor.shape:
            return tensor.to_dense(), [np.eye(size, dtype=tensor.dtype) for size in ranks], [1.0]
        data = relabel(tensor, ranks)
        block_bytes = self._block_bytes(data, ranks)
        hooi = Hooi(data, ranks, block_bytes=block_bytes, key=key, n_threads=threads)
        with progress_bar(self.progress, "Tucker", self.max_iter, "sweep") as bar:
            if found is None:
                self._start(hooi, data, ranks, key, threads)
            else:
                hooi.restore(*found)
                bar.update(len(hooi.energies))
            orders = data.orders
            del data  # the unfoldings hold what they need
            fits = [_fit(energy, squares) for energy in hooi.energies]
            while len(fits) < self.max_iter and not self._converged(fits):
                fits.append(_fit(hooi.sweep(), squares))
                if self.checkpoint is not None:
                    state.save(*hooi.state())
                bar.set_postfix(fit=f"{fits[-1]:.6f}", refresh=False)
                bar.update(1)
                if self.callback is not None and self.callback(len(fits), fits[-1]):
                    break
        return (*_in_users_order(hooi, orders, tensor.shape), fits)

    def _start(self, hooi: Hooi, data: Relabelled, ranks: tuple[int, ...], key: int, threads: int) -> None:
        """The factors that the first sweep needs."""
        for j in hooi.modes:
            if not hooi.needs_start(j):
                continue
            n, dtype = data.n_rows[j], data.values.dtype
            if not isinstance(self.init, str):
                given = self._given(j, data.shape[j], ranks[j])[data.orders[j]][:n]
                try:
                    factor = orthonormal(np.ascontiguousarray(given, dtype=dtype), threads)
                except np.linalg.LinAlgError as error:
                    raise ValueError(f"init[{j}]: {error}, on the indices that have entries") from None
            elif self.init == "hosvd":
                with progress_bar(self.progress, f"Tucker, start of mode {j}", None) as bar:
                    factor = leading_of_unfolding(data, j, ranks[j], key=key, n_threads=threads, progress=bar)
            else:
                factor = random_factor(n, ranks[j], dtype, key=key, stream=j, n_threads=threads)
            hooi.set_factor(j, factor)

    def _given(self, j: int, size: int, rank: int) -> Array:
        if j >= len(self.init) or self.init[j] is None:
            raise ValueError(f"init[{j}]: expected a factor, as the mode is compressed from {size} to {rank}")
        given = np.asarray(self.init[j])
        if given.shape != (size, rank):
            raise ValueError(f"init[{j}]: expected shape ({size}, {rank}), got {given.shape}")
        if given.dtype.kind not in "biuf" or not np.isfinite(given).all():
            raise ValueError(f"init[{j}]: expected finite numbers")
        return given

    def _block_bytes(self, data: Relabelled, ranks: tuple[int, ...]) -> int:
        """Bytes for a block of an unfolding, within `max_memory`."""
        if self.max_memory is None:
            return BLOCK_BYTES
        fixed, least = needed_memory(data, ranks, self.init == "hosvd")
        if self.max_memory < fixed + 2 * least:
            raise ValueError(
                f"max_memory: {self.max_memory} bytes are too few for this fit, which needs about "
                f"{fixed + 2 * least}"
            )
        return min(BLOCK_BYTES, (self.max_memory - fixed) // 2)

    def _converged(self, fits: list[float]) -> bool:
        return len(fits) > 1 and fits[-1] - fits[-2] <= self.tol

    def _checked_ranks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if isinstance(self.ranks, (str, int)) or not isinstance(self.ranks, (Sequence, np.ndarray)):
            raise TypeError(f"ranks: expected one integer for each of {len(shape)} modes, got {self.ranks!r}")
        if len(self.ranks) != len(shape):
            raise ValueError(f"ranks: expected {len(shape)}, one for each mode, got {len(self.ranks)}")
        ranks = tuple(check_integer(rank, f"ranks[{j}]", low=1) for j, rank in enumerate(self.ranks))
        for j, (rank, size) in enumerate(zip(ranks, shape, strict=True)):
            if rank > size:
                raise ValueError(f"ranks[{j}]: expected at most the mode's dimension, {size}, got {rank}")
            others = prod(ranks) // rank
            if rank < size and rank > others:
                raise ValueError(
                    f"ranks[{j}]: expected at most the product of the other ranks, {others}, got {rank}: no core "
                    "has a higher rank"
                )
        return ranks

    def _identity(self, tensor: SparseTensor, ranks: tuple[int, ...]) -> dict[str, Any]:
        """What another fit must share to go on from this one's checkpoint."""
        if self.checkpoint is None:
            return {}
        start: Any = self.init
        if not isinstance(start, str):
            start = [0 if given is None else checksum(np.asarray(given)) for given in start]
        return {
            "class": "Tucker",
            "ranks": list(ranks),
            "init": start,
            "max_memory": self.max_memory,
            "random_state": seed_identity(self.random_state),
            "tensor": [list(tensor.shape), checksum(tensor.coords), checksum(tensor.values)],
        }

    def _check_parameters(self) -> None:
        if isinstance(self.init, str) or not isinstance(self.init, Sequence):
            check_choice(self.init, "init", STARTS)
        check_real(self.tol, "tol", low=0)
        check_integer(self.max_iter, "max_iter", low=1)
        if self.max_memory is not None:
            check_integer(self.max_memory, "max_memory", low=1)
        if not isinstance(self.checkpoint, (str, os.PathLike, type(None))):
            raise TypeError(f"checkpoint: expected a path or None, got {self.checkpoint!r}")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback: expected a callable or None, got {self.callback!r}")
        resolve_threads(self.n_threads)

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters = super()._get_parameters_to_save()
        start = self.init if isinstance(self.init, str) else "hosvd"
        ranks = [int(rank) for rank in self.ranks]
        return {**parameters, "ranks": ranks, "init": start, "callback": None, "checkpoint": None}

    def _get_state(self) -> dict[str, Array]:
        factors = {f"factor_{j}": factor for j, factor in enumerate(self.factors_)}
        return {"core_": self.core_, "fits_": self.fits_, **factors}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        factors = [arrays[f"factor_{j}"] for j in range(len(arrays) - 2)]
        super()._set_state({"core_": arrays["core_"], "fits_": arrays["fits_"]}, scalars)
        self.factors_ = factors
        self.shape_ = tuple(len(factor) for factor in factors)


def _fit(energy: float, squares: float) -> float:
    return 1.0 - float(np.sqrt(max(0.0, 1.0 - energy / squares)))


def _in_users_order(hooi: Hooi, orders: list[Array | None], shape: tuple[int, ...]) -> tuple[Array, list[Array]]:
    """Core and factors for all indices, with their signs by the rule."""
    core, found = hooi.canonical()
    factors = []
    for j, (order, size) in enumerate(zip(orders, shape, strict=True)):
        part = found[j]
        if order is None or part is None:
            factors.append(np.eye(size, dtype=hooi.dtype))
            continue
        factor = np.zeros((size, part.shape[1]), part.dtype)
        factor[order[: len(part)]] = part
        found[j] = None
        signs = flip_signs(factor.T)
        core = core * signs.reshape([-1 if i == j else 1 for i in range(core.ndim)])
        factors.append(factor)
    return core, factors


def _at(core: Array, factors: list[Array], coords: Array) -> Array:
    """Values at some cells: the core times one row of each factor."""
    whole = [j for j, factor in enumerate(factors) if factor.shape[0] == factor.shape[1]]
    if whole:  # not compressed: the cells of each index have a core of their own
        j, others = whole[0], [i for i in range(core.ndim) if i != whole[0]]
        out = np.empty(coords.shape[1], core.dtype)
        for index in np.unique(coords[j]):
            cells = coords[j] == index
            out[cells] = _at(core.take(index, j), [factors[i] for i in others], coords[others][:, cells])
        return out
    values: Array = np.broadcast_to(core, (coords.shape[1], *core.shape))
    for j, factor in enumerate(factors):
        rows = factor[coords[j]]
        if j == 0:
            values = rows @ core.reshape(len(core), -1)
        else:
            values = np.einsum("ca,cab->cb", rows, values.reshape(len(rows), core.shape[j], -1))
    return values.reshape(-1)
