"""Canonical correlation analysis of two or more views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._common.base import ViewProjection, oriented, progress_bar, warn_not_converged
from ._common.config import log
from ._common.layouts import layouts, numbers
from ._common.persistence import Persistent
from ._common.resources import half_of_memory, resolve_threads, single_threaded_blas
from ._common.rows import REMEMBERED, RemembersRows, check_weighted
from ._common.types import Array
from ._common.validation import (
    check_choice,
    check_integer,
    keeps_previous_fit,
    seed_key,
    weighted_views,
)
from ._solvers.costs import (
    DOUBLE,
    factoring,
    multiplying,
    multiplying_dense,
    orthogonalizing,
    pairs_in_columns,
    pairs_in_rows,
    solving,
)
from ._solvers.generalized import BlockFactor, Crossed, DenseOperator, Eigensolving, Whitened, ridged_gram
from ._solvers.krylov import basis_size, block_width, product
from ._solvers.svd import SparseOperator, column_mean

__all__ = ["CCA"]

SOLVERS = ("auto", "cholesky", "dual")


class CCA(RemembersRows, Eigensolving, Persistent, BaseEstimator):  # type: ignore[misc]
    """Ridge CCA: one projection per view, such that the projections of a document correlate.

    Solves the generalised eigenproblem of equations 7, 12 and 13 of Platt, Toutanova and Yih 2010, for two or more
    views with vocabularies of their own. S holds the covariances between views, N those within views, plus
    ``gamma`` on the diagonal.

    Parameters
    ----------
    n_components : int, default 100
    gamma : float, default 10.0
        The ridge. Tune it on held-out pairs: the paper takes 10 and 3 for log(tf)-idf rows.
    solver : {"auto", "cholesky", "dual"}, default "auto"
        Both find the same components. "cholesky" factors the covariance of each view's features. "dual" first
        rotates the views into the space of their rows, which pays if these are few. "auto" takes the cheaper one.
    tol, max_iter, max_memory, random_state, n_threads, progress
        As in :class:`semproj.OPCA`.

    Attributes
    ----------
    views_ : list of linear models
        One per view, with ``components_`` of shape (n_components, n_features of the view) and ``transform``. An
        :class:`semproj.Encoder` takes them.
    eigenvalues_ : array of shape (n_components,)
        For two views, the canonical correlations. They are at most the number of views minus one.
    residuals_, converged_, n_iter_, solver_
        As in :class:`semproj.OPCA`.

    Notes
    -----
    Rows v = (v_1, v_2, ...) have v'Nv = 1; of two views, each has half of it. The entry of largest magnitude of v
    is positive. ``transform`` gives ``X v_m``: covariances leave out the means of rows, projections do not.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.random.default_rng(0).random((20, 3))
    >>> spanish = english @ np.array([[1.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> model = sj.CCA(n_components=3, gamma=1e-4, random_state=0).fit([english, spanish])
    >>> sj.metrics.top1(model.transform(english, view=0), model.transform(spanish, view=1))
    1.0
    >>> model.eigenvalues_.round(2)
    array([1., 1., 1.])
    """

    _arrays = layouts(
        _components="T k p",
        eigenvalues_="T k",
        residuals_="f8 k",
    )
    _scalars = numbers(_widths=list, converged_=bool, n_iter_=int, solver_=str, **REMEMBERED)

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float = 10.0,
        solver: str = "auto",
        tol: float = 5e-3,
        max_iter: int = 100,
        max_memory: int | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.gamma, self.solver = n_components, gamma, solver
        self.tol, self.max_iter, self.max_memory = tol, max_iter, max_memory
        self.random_state, self.n_threads, self.progress = random_state, n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> CCA:
        """Fit on aligned rows.

        Parameters
        ----------
        X : list of sparse matrices or arrays of shape (n_samples, n_features of the view)
            Row i of each is the same document.
        """
        self._check_parameters()
        views = weighted_views(X, shared_columns=False)
        if all(sp.issparse(x) for x in X):  # others need not be of terms
            check_weighted(X, "CCA")
        self._remember(X, views, shared_columns=False)
        rank = self._checked_rank(views)
        solver, size = self._choose_solver(views, rank)
        with (
            single_threaded_blas(),
            progress_bar(self.progress, f"CCA ({solver})", -(-size // block_width(rank))) as bar,
        ):
            side = _TermSide if solver == "cholesky" else _RowSide
            problem = side(views, self.gamma, resolve_threads(self.n_threads))
            key, offset = seed_key(self.random_state), 0.0 if len(views) == 2 else 1.0
            found = self._leading(problem.operator, rank, size=size, key=key, progress=bar, offset=offset)
            vectors = problem.vectors(problem.operator.vectors(found.vectors, found.values))
        components = np.ascontiguousarray(vectors.T.astype(views[0].dtype))
        self._components = oriented(components)
        self._widths = [view.shape[1] for view in views]
        # For two views we solved for squares; for more, S + N, which has the same vectors and is positive.
        values = np.sqrt(found.values) if len(views) == 2 else found.values - 1.0
        self.eigenvalues_ = values.astype(components.dtype)
        self.residuals_, self.converged_ = found.residuals, found.converged
        log.debug("CCA: solved by %s", solver)
        self.n_iter_, self.solver_ = found.n_restarts + 1, solver
        self._restored()
        if not found.converged:
            warn_not_converged(self.max_iter, float(found.residuals.max()), self.tol)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then project each view: ``[transform(x, view=m) for m, x in enumerate(X)]``."""
        self.fit(X)
        return [self.transform(x, view=m) for m, x in enumerate(X)]

    def transform(self, X: Any, view: int = 0) -> Array:
        """Project rows of one view.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features of the view)
        view : int, default 0
            To which view of ``fit`` the rows belong.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self, "views_")
        check_integer(view, "view", low=0, high=len(self.views_) - 1)
        return self.views_[view].transform(X)

    def _restored(self) -> None:
        if not all(type(width) is int and width > 0 for width in self._widths):
            raise ValueError("_widths: expected the numbers of columns of views")
        if sum(self._widths) != self._components.shape[1]:
            raise ValueError("_widths: expected as many columns as components have")
        ends, terms = np.cumsum(self._widths), self._fitted_terms or [None] * len(self._widths)
        self.views_ = [
            ViewProjection(self.n_threads)._set(
                np.ascontiguousarray(self._components[:, end - width : end]), self._fitted_on, each
            )
            for end, width, each in zip(ends, self._widths, terms, strict=True)
        ]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.solver, "solver", SOLVERS)

    def _checked_rank(self, views: list[Any]) -> int:
        largest = min(views[0].shape[0], *(view.shape[1] for view in views))
        if self.n_components > largest:
            raise ValueError(
                f"n_components: expected at most {largest}, the smallest of the views' rows and columns, "
                f"got {self.n_components}"
            )
        return int(self.n_components)

    def _choose_solver(self, views: list[Any], rank: int) -> tuple[str, int]:
        """The cheaper solver that fits into memory, and how many columns its basis has."""
        memory = self.max_memory or half_of_memory()
        n, item = views[0].shape[0], views[0].dtype.itemsize
        widths = [view.shape[1] for view in views]
        size, width = basis_size(rank), block_width(rank)
        entries = sum(view.nnz for view in views)
        basis = 24 * size**2 + (n + sum(widths)) * 6 * width * item
        dense = sum(w * w for w in widths) + sum(widths) * size
        needs = {
            "cholesky": 4 * entries * (item + 4) + basis + dense * item,
            "dual": 2 * entries * 12 + basis + 8 * (3 * len(views) * n * n + len(views) * n * size),
        }
        solver = self.solver
        if solver == "auto":
            order = sorted(needs, key=_costs(views, size).__getitem__)
            solver = next((name for name in order if needs[name] <= memory), order[0])
        if needs[solver] > memory:
            raise ValueError(
                f"max_memory: {memory} bytes are too few for solver {solver!r}, which needs about {needs[solver]}"
            )
        return solver, size


def _costs(views: list[Any], size: int) -> dict[str, float]:
    """What each solver costs, with a basis of so many columns."""
    n, widths = views[0].shape[0], [view.shape[1] for view in views]
    # Two views are solved on the side of one.
    terms, rows = (widths[1], n) if len(views) == 2 else (sum(widths), len(views) * n)
    columns = min(size, terms)
    term_side = orthogonalizing(terms, columns)
    for view, width in zip(views, widths, strict=True):
        term_side += factoring(width, pairs_in_rows(view)) + solving(width, columns)
        term_side += multiplying(2 * view.nnz, columns)
    columns = min(size, rows)
    row_side = orthogonalizing(rows, columns)
    for view in views:  # the rotation, its Gram matrix, and the factors of both
        row_side += factoring(n, pairs_in_columns(view)) + multiplying_dense(n, n, n) + factoring(n, 0)
        row_side += solving(n, columns) + 2 * multiplying_dense(n, n, columns)
    own = DOUBLE if views[0].dtype == np.float64 else 1.0
    return {"cholesky": own * term_side, "dual": DOUBLE * row_side}


class _TermSide:
    """The views as they are; N has the covariance of each view's features."""

    def __init__(self, views: list[Any], gamma: float, n_threads: int) -> None:
        n, dtype = views[0].shape[0], views[0].dtype
        means = [column_mean(view) for view in views]
        scaled = [view * dtype.type(1 / np.sqrt(n)) for view in views]

        def centered(X: Any, mean: Array) -> SparseOperator:
            shift = (np.full((n, 1), 1 / np.sqrt(n)), mean[:, None])
            return SparseOperator(X, shift, n_threads=n_threads, transposed=False)

        blocks = []
        for view, mean in zip(scaled, means, strict=True):
            block = ridged_gram(view, gamma, n_threads)
            for i in range(len(block)):  # row by row: the outer product would be as large as the block
                block[i, : i + 1] -= (mean[i] * mean[: i + 1]).astype(dtype)
            blocks.append(block)
        if len(views) == 2:
            operators = [centered(view, mean) for view, mean in zip(scaled, means, strict=True)]
            self.operator: Whitened | Crossed = Crossed(operators, blocks, n_threads)
        else:
            signal = centered(sp.hstack(scaled, format="csr"), np.concatenate(means))
            self.operator = Whitened(signal, BlockFactor(blocks, n_threads), ridge=gamma)

    def vectors(self, V: Array) -> Array:
        return V


class _RowSide:
    """Views with more features than rows, rotated into the space of their rows.

    If X is the centred view and X X' = R R', the columns of Q = X' R^-T are orthonormal and X = R Q'. So R takes
    the place of X, and v = Q b. In double: X X' of a centred X is singular, and gets a ridge as small as rounding.
    """

    def __init__(self, views: list[Any], gamma: float, n_threads: int) -> None:
        n = views[0].shape[0]
        self.n_threads = n_threads
        self.views = [view.astype(np.float64) / np.sqrt(n) for view in views]
        self.rotations = [_row_factor(view, n_threads) for view in self.views]
        blocks = []
        for R in self.rotations:
            block = product(np.ascontiguousarray(R.T), R, n_threads)
            block[np.arange(n), np.arange(n)] += gamma
            blocks.append(block)
        if len(views) == 2:
            operators = [DenseOperator(R, n_threads) for R in self.rotations]
            self.operator: Whitened | Crossed = Crossed(operators, blocks, n_threads)
        else:
            signal = DenseOperator(np.concatenate(self.rotations, axis=1), n_threads)
            self.operator = Whitened(signal, BlockFactor(blocks, n_threads), ridge=gamma)

    def vectors(self, B: Array) -> Array:
        n = self.views[0].shape[0]
        result = []
        for m, (view, R) in enumerate(zip(self.views, self.rotations, strict=True)):
            a = np.ascontiguousarray(B[m * n : (m + 1) * n])
            _core.solve_lower(R, True, a, self.n_threads)
            result.append(view.T @ (a - a.mean(axis=0)))
        return np.concatenate(result)


def _row_factor(X: Any, n_threads: int) -> Array:
    """R such that X X' = R R', where the rows of X are centred."""
    n = X.shape[0]
    K = ridged_gram(X.T.tocsr(), 0.0, n_threads, columns=X)
    _core.mirror_lower(K, n_threads)
    scale = K.diagonal().max()  # before the means go: rounding is relative to them
    means = K.mean(axis=0)
    K -= means[:, None] + means[None, :] - means.mean()
    K[np.arange(n), np.arange(n)] += 4 * n * np.finfo(np.float64).eps * scale
    return np.tril(BlockFactor([K], n_threads).blocks[0])
