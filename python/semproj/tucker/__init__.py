"""Tucker decomposition of sparse tensors."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._common.base import flip_signs, progress_bar
from .._common.checkpoint import seed_identity
from .._common.fitting import Progress, State, Sweeps, check_loop_parameters, fit_by_sweeps
from .._common.layouts import check_arrays, check_numbers, numbers
from .._common.persistence import Persistent, checksum
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_choice, check_integer, keeps_previous_fit, seed_key
from ..tensor import SparseTensor, as_tensor
from ._fibres import Relabelled, relabel
from ._foldin import folded_in
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
    value : function ``(x, i, j, ...) -> number`` or None
        What takes the place of an entry x with the indices i, j, ..., one for each mode: ``value(x, i, j, k)`` for
        three. A plain Python function or one of Numba's. An entry for which it returns 0 is left out. None: x.
    tol : float, default 1e-4
        Stop when a sweep improves the fit by less than this part of it. 0: never.
    max_iter : int, default 50
        Sweeps at most.
    max_memory : int or None
        Bytes of working memory, the result included. None means what is fastest. A bound that is too small raises
        an error that says so.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`.
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
    objective_ : float64 array of shape (n_iter_,)
        The fit after each sweep. Never falls, up to rounding.
    n_iter_ : int
    shape_ : tuple of int
        Of the tensor.

    Notes
    -----
    The same seed gives the same bits for any number of threads. After a first sweep of exact solves, each mode is
    improved by one over-relaxed step of subspace iteration a sweep, which costs less than half of an exact solve
    and converges in about as many sweeps; ``semproj/tucker/_hooi.py`` has the proof that the fit cannot fall.

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

    _functions = ("value",)
    _scalars = numbers(fit_=float, n_iter_="sweeps")

    def __init__(
        self,
        ranks: Sequence[int],
        *,
        init: Any = "hosvd",
        value: Callable[..., float] | None = None,
        tol: float = 1e-4,
        max_iter: int = 50,
        max_memory: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.ranks, self.init, self.value, self.random_state = ranks, init, value, random_state
        self.tol, self.max_iter, self.max_memory = tol, max_iter, max_memory
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

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
        tensor = self._valued(tensor)
        squares = float(np.einsum("i,i->", tensor.values, tensor.values, dtype=np.float64))
        if not np.isfinite(squares) or squares > float(np.finfo(tensor.dtype).max):
            raise ValueError(f"tensor: its squares do not fit {tensor.dtype}; scale it down or use float64")
        if squares == 0:
            by = "" if self.value is None else ", by the function that is value"
            raise ValueError(f"tensor: has no non-zero entries{by}")
        max_iter = 1 if ranks == tensor.shape else self.max_iter  # nothing is compressed, and nothing to be found
        with single_threaded_blas():
            fit_by_sweeps(self, _TuckerSweeps(self, tensor, ranks, squares), max_iter=max_iter, tol=self.tol)
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

    def fold_in(self, tensor: Any, mode: int = 0) -> Array:
        """Rows of a factor for new indices: the least squares of their entries, all else as it is.

        Parameters
        ----------
        tensor : as for ``fit``
            The entries of the new indices. Its shape is that of the fit but for `mode`, where it has as many
            indices as are new. `value` is called with the indices of this tensor.
        mode : int, default 0
            A compressed mode.

        Returns
        -------
        array of shape (new indices, rank of the mode), of the dtype of ``core_``
            Zero for an index without entries. Of the tensor that the model was fitted on, it is the factor itself
            once that has converged, if the core has full rank along the mode; otherwise the shortest solution.
        """
        check_is_fitted(self, "core_")
        tensor = as_tensor(tensor)
        mode = check_integer(mode, "mode", low=0, high=len(self.shape_) - 1)
        if self.core_.shape[mode] == self.shape_[mode]:
            raise ValueError(f"mode: {mode} is not compressed, so that its core has no room for new indices")
        expected = tuple(tensor.shape[mode] if j == mode else size for j, size in enumerate(self.shape_))
        if tensor.ndim != len(expected) or tensor.shape != expected:
            raise ValueError(f"tensor: expected shape {expected}, got {tensor.shape}")
        tensor = self._valued(tensor)
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            rows: Array = folded_in(tensor, self.core_, self.factors_, mode).astype(self.core_.dtype)
        if not np.isfinite(rows).all():
            raise ValueError(f"tensor: its values are too large for rows of {rows.dtype}; scale it down")
        return rows

    def _valued(self, tensor: SparseTensor) -> SparseTensor:
        """The tensor with what `value` makes of its values, some of which may be 0, at the same coordinates."""
        if self.value is None:
            return tensor
        from ..jit.entries import check_value, map_entries

        check_value(self.value, tensor.ndim)
        valued = copy.copy(tensor)
        valued.values = map_entries(self.value, tensor.coords, tensor.values, resolve_threads(self.n_threads))
        return valued

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

    def _check_parameters(self) -> None:
        if isinstance(self.init, str) or not isinstance(self.init, Sequence):
            check_choice(self.init, "init", STARTS)
        if self.max_memory is not None:
            check_integer(self.max_memory, "max_memory", low=1)
        check_loop_parameters(self)

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters = super()._get_parameters_to_save()
        start = self.init if isinstance(self.init, str) else "hosvd"
        ranks = [int(rank) for rank in self.ranks]
        return {**parameters, "ranks": ranks, "init": start}

    def _get_state(self) -> dict[str, Array]:
        factors = {f"factor_{j}": factor for j, factor in enumerate(self.factors_)}
        return {"core_": self.core_, "objective_": self.objective_, **factors}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        objective = "objective_" if "objective_" in arrays else "fits_"  # as it was called once
        modes = range(len(arrays) - 2)
        expected = {"core_": "T " + " ".join(f"rank{j}" for j in modes), objective: "f8 sweeps"}
        expected |= {f"factor_{j}": f"T dimension{j} rank{j}" for j in modes}
        check_numbers(self._scalars, scalars, check_arrays(expected, arrays))
        self.core_, self.objective_ = arrays["core_"], arrays[objective]
        self.fit_, self.n_iter_ = scalars["fit_"], scalars["n_iter_"]
        self.factors_ = [arrays[f"factor_{j}"] for j in modes]
        self.shape_ = tuple(len(factor) for factor in self.factors_)


class _TuckerSweeps(Sweeps):
    """Sweeps of HOOI over the indices that have entries; none where nothing is compressed."""

    argument = "tensor"
    sized_by = ("ranks",)

    def __init__(self, model: Tucker, tensor: SparseTensor, ranks: tuple[int, ...], squares: float) -> None:
        self._model, self._tensor, self._ranks, self._squares = model, tensor, ranks, squares
        self._hooi: Hooi | None = None

    def identity(self) -> dict[str, Any]:
        start, tensor = self._model.init, self._tensor
        if not isinstance(start, str):
            start = [0 if given is None else checksum(np.asarray(given)) for given in start]
        return {
            "ranks": list(self._ranks),
            "init": start,
            "max_memory": self._model.max_memory,
            "random_state": seed_identity(self._model.random_state),
            "tensor": [list(tensor.shape), checksum(tensor.coords), checksum(tensor.values)],
        }

    def memory(self) -> int:
        """The core and the factors."""
        tables = (size * rank for size, rank in zip(self._tensor.shape, self._ranks, strict=True))
        return self._tensor.dtype.itemsize * (prod(self._ranks) + sum(tables))

    def start(self, saved: State | None) -> None:
        threads, key = resolve_threads(self._model.n_threads), seed_key(self._model.random_state)
        if self._ranks == self._tensor.shape:
            return
        data = relabel(self._tensor, self._ranks)  # the unfoldings hold what they need of it
        self._orders = data.orders
        hooi = Hooi(data, self._ranks, block_bytes=self._block_bytes(data), key=key, n_threads=threads)
        if saved is None:
            self._set_first_factors(hooi, data)
        else:
            hooi.restore(*saved)
        self._hooi = hooi

    def step(self, sweep: int) -> float:
        return 1.0 if self._hooi is None else _fit(self._hooi.sweep(), self._squares)

    def state(self) -> State:
        return ({}, {}) if self._hooi is None else self._hooi.state()

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        shape, dtype = self._tensor.shape, self._tensor.dtype
        if self._hooi is None:
            core, factors, fit = self._tensor.to_dense(), [np.eye(size, dtype=dtype) for size in shape], 1.0
        else:
            core, factors = _in_users_order(self._hooi, self._orders, shape)
            fit = _fit(self._hooi.energies[-1], self._squares)
        return {"core_": core.astype(dtype), "factors_": factors, "fit_": fit, "shape_": shape}, fit

    def _set_first_factors(self, hooi: Hooi, data: Relabelled) -> None:
        """The factors that the first sweep needs."""
        model, ranks, key, threads = self._model, hooi.ranks, hooi.key, hooi.n_threads
        for j in hooi.modes:
            if not hooi.needs_start(j):
                continue
            n, dtype = data.n_rows[j], data.values.dtype
            if not isinstance(model.init, str):
                given = self._given(j, data.shape[j], ranks[j])[data.orders[j]][:n]
                try:
                    factor = orthonormal(np.ascontiguousarray(given, dtype=dtype), threads)
                except np.linalg.LinAlgError as error:
                    raise ValueError(f"init[{j}]: {error}, on the indices that have entries") from None
            elif model.init == "hosvd":
                with progress_bar(model.progress, f"Tucker, start of mode {j}", None) as bar:
                    factor = leading_of_unfolding(data, j, ranks[j], key=key, n_threads=threads, progress=bar)
            else:
                factor = random_factor(n, ranks[j], dtype, key=key, stream=j, n_threads=threads)
            hooi.set_factor(j, factor)

    def _given(self, j: int, size: int, rank: int) -> Array:
        init = self._model.init
        if j >= len(init) or init[j] is None:
            raise ValueError(f"init[{j}]: expected a factor, as the mode is compressed from {size} to {rank}")
        given = np.asarray(init[j])
        if given.shape != (size, rank):
            raise ValueError(f"init[{j}]: expected shape ({size}, {rank}), got {given.shape}")
        if given.dtype.kind not in "biuf" or not np.isfinite(given).all():
            raise ValueError(f"init[{j}]: expected finite numbers")
        return given

    def _block_bytes(self, data: Relabelled) -> int:
        """Bytes for a block of an unfolding, within `max_memory`."""
        memory = self._model.max_memory
        if memory is None:
            return BLOCK_BYTES
        fixed, least = needed_memory(data, self._ranks, self._model.init == "hosvd")
        if self._model.value is not None:  # what it made of the user's values, and what is left of that
            own = data.values is not self._tensor.values
            fixed += self._tensor.values.nbytes + (data.values.nbytes if own else 0)
        if memory < fixed + 2 * least:
            raise ValueError(
                f"max_memory: {memory} bytes are too few for this fit, which needs about {fixed + 2 * least}"
            )
        return min(BLOCK_BYTES, (memory - fixed) // 2)


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
