"""Latent semantic analysis of weighted sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._common.base import LinearModel, flip_signs, progress_bar, warn_not_converged
from ._common.layouts import layouts, numbers
from ._common.resources import resolve_threads, single_threaded_blas
from ._common.rows import REMEMBERED
from ._common.types import Array
from ._common.validation import check_choice, keeps_previous_fit, seed_key
from ._solvers.krylov import basis_size, block_width, check_parameters, product
from ._solvers.svd import CHUNK_ROWS, SparseOperator, column_mean, leading_vectors

__all__ = ["LSA"]

SOLVERS = ("randomized", "lanczos")


class LSA(LinearModel):
    """Latent semantic analysis: the leading right singular vectors of sparse rows.

    Equations 1 to 3 of Platt, Toutanova and Yih 2010.

    Parameters
    ----------
    n_components : int, default 100
    solver : {"randomized", "lanczos"}, default "randomized"
        Both grow a block Krylov space. "randomized" takes the best vectors of one such space, which captures at
        least the variance of five power iterations; "lanczos" restarts until every component has converged.
    tol : float, default 1e-3
        "lanczos" only: a component has converged when ``|X'X v - s^2 v| <= tol * s^2``, or when the left side is
        as small as rounding, eps times the largest ``s^2``.
    max_iter : int, default 100
        "lanczos" only: how often to restart at most. Warns if that was not enough.
    center : bool, default False
        Subtract the mean row, without making the rows dense: this is PCA.
    max_memory : int or None
        Bytes of working memory, including the result. None takes what is fastest, about
        ``n_features * 3 * n_components`` elements. Raises an error if the bound is too small.
    random_state : int, numpy generator or None
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows. Sign rule: the entry of largest magnitude of each row is positive.
    singular_values_ : array of shape (n_components,)
        Largest first.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components,)
        The variance of each transformed column, and its share of the total variance of X.
    residuals_ : array of shape (n_components,)
        Relative residuals, which `tol` bounds.
    n_iter_ : int
        How many Krylov spaces were grown: 1 for "randomized", 1 plus the restarts for "lanczos".
    mean_ : array of shape (n_features,) or None
    n_samples_seen_ : int

    Notes
    -----
    The same seed gives the same bits for any number of threads. float32 rows give a float32 model. As the solver
    works on X'X, it then loses singular values below about a thousandth of the largest to rounding: they are 0,
    and their components only complete the others. Use float64 rows where those matter.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> X = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    >>> model = sj.LSA(n_components=2, random_state=0).fit(X)
    >>> model.singular_values_.round(6)
    array([2., 1.])
    >>> np.abs(model.transform(X)).round(6)
    array([[2., 0.],
           [0., 1.],
           [0., 0.]])
    """

    _arrays = layouts(
        components_="T k p",
        **dict.fromkeys(("singular_values_", "explained_variance_", "explained_variance_ratio_"), "T k"),
        residuals_="f8 k",
        mean_="T p ?",
        _column_mean="f8 p",
    )
    _scalars = numbers(n_features_in_="p", n_samples_seen_=int, n_iter_=None, _sum_of_squares=float, **REMEMBERED)

    def __init__(
        self,
        n_components: int = 100,
        *,
        solver: str = "randomized",
        tol: float = 1e-3,
        max_iter: int = 100,
        center: bool = False,
        max_memory: int | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.solver, self.center = n_components, solver, center
        self.tol, self.max_iter, self.max_memory = tol, max_iter, max_memory
        self.random_state, self.n_threads, self.progress = random_state, n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Any, y: Any = None) -> LSA:
        """Find the components of the rows of X.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), float32 or float64
        """
        self._check_parameters()
        given, X = X, self._validated(X, reset=True)
        if self.n_components > min(X.shape):
            raise ValueError(
                f"n_components: expected at most min(n_samples = {X.shape[0]}, n_features = {X.shape[1]}), "
                f"got {self.n_components}"
            )
        mean = column_mean(X)
        result = self._solve(X, mean if self.center else None, int(self.n_components))
        self._store(result.components, result.singular_values, mean, _sum_of_squares(X), X.shape[0])
        self.residuals_, self.n_iter_ = result.residuals, result.n_restarts + 1
        self._remember([given], [X])
        if self.solver == "lanczos" and not result.converged:
            warn_not_converged(self.max_iter, float(result.residuals.max()), self.tol)
        return self

    def inverse_transform(self, Z: Any) -> Array:
        """Map projected rows back to dense rows.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)
        """
        check_is_fitted(self, "components_")
        Z = np.asarray(Z, dtype=self.components_.dtype)
        if Z.ndim != 2 or Z.shape[1] != len(self.components_):
            raise ValueError(f"Z: expected {len(self.components_)} columns, got shape {Z.shape}")
        with single_threaded_blas():
            rows = product(np.ascontiguousarray(Z), self.components_, resolve_threads(self.n_threads))
        return rows if self.mean_ is None else rows + self.mean_.astype(rows.dtype)

    @keeps_previous_fit
    def partial_fit(self, X: Any, y: Any = None) -> LSA:
        """Fold new documents into the components, at the cost of the new documents alone.

        The rank-k approximation stands for the old documents: the result is exact if it dropped nothing, and close
        to a full fit otherwise. Without an earlier fit this is ``fit``.
        """
        if not hasattr(self, "components_"):
            return self.fit(X)
        self._check_parameters()
        X = self._validated(X, reset=False)
        k, mean = len(self.components_), column_mean(X)
        new = self._solve(X, mean if self.center else None, min(k, *X.shape))
        old_n, new_n = self.n_samples_seen_, X.shape[0]
        rows = [self.components_ * self.singular_values_[:, None], new.components * new.singular_values[:, None]]
        if self.center:  # one more row is the scatter between the two means
            difference = np.sqrt(old_n * new_n / (old_n + new_n)) * (mean - self._column_mean)
            rows.append(difference[None, :])
        components, values = _svd_of_rows(np.concatenate(rows).astype(self.components_.dtype), k)
        merged = (old_n * self._column_mean + new_n * mean) / (old_n + new_n)
        self._store(components, values, merged, self._sum_of_squares + _sum_of_squares(X), old_n + new_n)
        self.residuals_ = np.full(k, np.nan)
        return self

    def _solve(self, X: Any, mean: Array | None, rank: int) -> Any:
        threads = resolve_threads(self.n_threads)
        size, chunk_bytes = _sizes_within_memory(X, rank, self.max_memory)
        block = block_width(rank)
        blocks = -(-size // block) if self.solver == "randomized" else None
        with single_threaded_blas(), progress_bar(self.progress, f"LSA ({self.solver})", blocks) as bar:
            shift = None if mean is None else (np.ones((X.shape[0], 1)), mean[:, None])
            chunk_rows = min(CHUNK_ROWS, max(1024, int(chunk_bytes // (2 * block * X.dtype.itemsize))))
            operator = SparseOperator(X, shift, n_threads=threads, chunk_rows=chunk_rows)
            return leading_vectors(
                operator,
                rank,
                size=size,
                solver=self.solver,
                tol=self.tol,
                max_restarts=self.max_iter,
                key=seed_key(self.random_state),
                progress=bar,
            )

    @single_threaded_blas()
    def _store(self, components: Array, values: Array, mean: Array, squares: float, n: int) -> None:
        if not np.isfinite(components).all() or not np.isfinite(values).all():
            raise ValueError("X: the components are not finite; the values of X are too large for its dtype")
        flip_signs(components)
        variance = values**2 / n
        if not self.center:
            variance = variance - (components @ mean) ** 2
        total = squares / n - float(mean @ mean)
        variance = np.maximum(variance, 0.0)
        ratio = variance / total if total > 0 else np.zeros_like(variance)
        dtype = components.dtype
        if variance.max() > np.finfo(dtype).max:
            raise ValueError(f"X: its variances do not fit {dtype}; scale X down or use float64")
        self.components_ = components
        self._packed_cache: dict[str, Any] = {}
        self.singular_values_ = values.astype(dtype)
        self.explained_variance_ = variance.astype(dtype)
        self.explained_variance_ratio_ = ratio.astype(dtype)
        self.mean_ = mean.astype(dtype) if self.center else None
        self._column_mean, self._sum_of_squares, self.n_samples_seen_ = mean, squares, n

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_choice(self.solver, "solver", SOLVERS)


def _sizes_within_memory(X: Any, rank: int, max_memory: int | None) -> tuple[int, int]:
    """How many columns the Krylov basis and how many bytes a chunk of X V may have within `max_memory`."""
    short, item = min(X.shape), X.dtype.itemsize
    width, wanted = block_width(rank), basis_size(rank)
    roomy = 2 * width * max(X.shape) * item  # all of X V at once, and packed
    if max_memory is None:
        return wanted, roomy
    # The transposed copy, the components, blocks of the short side in flight and packed.
    fixed = X.nnz * (item + 4) + 8 * (sum(X.shape) + 2) + (rank * X.shape[1] + 4 * width * short) * item
    least, least_chunk = rank + 2 * width, 2 * 1024 * width * item
    available = max_memory - fixed - least_chunk
    size = min(wanted, int(available // (short * item + 16 * least)))
    if size < min(least, short):
        needed = fixed + least_chunk + least * (short * item + 16 * least)
        raise ValueError(f"max_memory: {max_memory} bytes are too few for this fit, which needs about {needed}")
    return size, min(roomy, least_chunk + available - size * (short * item + 16 * least))


def _sum_of_squares(X: Any) -> float:
    return float(np.einsum("i,i->", X.data, X.data, dtype=np.float64))


def _svd_of_rows(rows: Array, k: int) -> tuple[Array, Array]:
    """The k leading right vectors and singular values of a few dense rows."""
    from scipy.linalg import svd

    with single_threaded_blas():
        _, values, components = svd(rows, full_matrices=False)
    return np.ascontiguousarray(components[:k]), values[:k].astype(np.float64)
