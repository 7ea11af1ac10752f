"""Oriented principal component analysis of documents in several languages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._common.base import LinearModel, oriented, progress_bar, warn_not_converged
from ._common.config import log
from ._common.layouts import layouts, numbers
from ._common.resources import half_of_memory, resolve_threads, single_threaded_blas
from ._common.rows import REMEMBERED, check_weighted
from ._common.types import Array
from ._common.validation import check_choice, keeps_previous_fit, seed_key, weighted_views
from ._solvers.costs import (
    factoring,
    multiplying,
    orthogonalizing,
    pairs_in_columns,
    pairs_in_rows,
    solving,
    updating,
)
from ._solvers.generalized import (
    BlockFactor,
    ConjugateGradient,
    DocumentSide,
    Eigensolving,
    Whitened,
    Woodbury,
    ridged_gram,
)
from ._solvers.krylov import basis_size, block_width
from ._solvers.svd import SparseOperator, column_mean

__all__ = ["OPCA"]

SOLVERS = ("auto", "cholesky", "dual", "cg")

_LEAST_STEPS = 3  # conjugate gradients never take fewer


class OPCA(Eigensolving, LinearModel):
    """Oriented PCA: directions in which documents vary while their translations do not.

    Solves the generalised eigenproblem of equations 7 to 11 of Platt, Toutanova and Yih 2010. The signal S is the
    covariance of the documents of all languages, each about its own mean. The noise N is the covariance of the
    differences between translations, plus ``gamma`` on the diagonal. The components maximise v'Sv / v'Nv.

    Parameters
    ----------
    n_components : int, default 100
    gamma : float, default 0.1
        Noise added to every term. The larger it is, the less a term counts whose translations never differed.
    solver : {"auto", "cholesky", "dual", "cg"}, default "auto"
        All find the same components. "cholesky" factors N, a dense matrix of ``n_features ** 2`` elements; "dual"
        factors one with (languages - 1) * documents rows, which is smaller when there are fewer documents than
        terms; "cg" factors nothing and solves with N by conjugate gradients, of which rows of unit length need few
        steps. "auto" takes the cheapest that fits into ``max_memory``: it knows what the others cost, and tries
        how many steps the last one needs.
    tol : float, default 5e-3
        A component has converged when its relative residual ``|S v - lambda N v| / lambda``, in the metric of N,
        is this small. It bounds the relative error of the eigenvalue, which is mostly several times smaller.
    max_iter : int, default 100
        How often the eigensolver restarts at most. Warns if that was not enough.
    max_memory : int or None
        Bytes of working memory, including the result. None: half of what the machine and control groups allow.
    random_state : int, numpy generator or None
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Rows v, with v'Nv = 1 (0 where there is no signal left). Sign rule: the entry of largest magnitude of each
        row is positive.
    eigenvalues_ : array of shape (n_components,)
        Signal-to-noise ratios, largest first.
    residuals_ : array of shape (n_components,)
    converged_ : bool
    n_iter_ : int
    solver_ : str
        The solver that was used.

    Notes
    -----
    ``transform`` gives ``D v``: S leaves out the means of documents, projections do not.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> words = 10 * np.random.default_rng(0).random((20, 3))
    >>> english, spanish = np.hstack([words, 0 * words]), np.hstack([0 * words, words])
    >>> model = sj.OPCA(n_components=3, random_state=0).fit([english, spanish])
    >>> sj.metrics.top1(model.transform(english), model.transform(spanish))
    1.0
    """

    _arrays = layouts(
        components_="T k p",
        eigenvalues_="T k",
        residuals_="f8 k",
    )
    _scalars = numbers(converged_=bool, n_iter_=int, solver_=str, n_features_in_="p", **REMEMBERED)

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float = 0.1,
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
    def fit(self, X: Sequence[Any], y: Any = None) -> OPCA:
        """Fit on aligned documents.

        Parameters
        ----------
        X : list of sparse matrices or arrays, all of shape (n_documents, n_features)
            Weighted rows, one matrix per language. Row i of each is the same document; a term that languages
            share has one column.
        """
        self._check_parameters()
        views = weighted_views(X)
        check_weighted(X, "OPCA")
        self._remember(X, views)
        n, p = views[0].shape
        if self.n_components > min(len(views) * n, p):
            raise ValueError(
                f"n_components: expected at most min(n_features = {p}, documents of all languages = "
                f"{len(views) * n}), got {self.n_components}"
            )
        noise = contrasts(views)
        if noise.nnz == 0:
            warnings.warn(
                "X: the views are identical, so there is no noise but gamma; the components are those of PCA",
                stacklevel=3,
            )
        self._solve(views, noise, int(self.n_components))
        if not self.converged_:
            warn_not_converged(self.max_iter, float(self.residuals_.max()), self.tol)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then project each language's documents: ``[transform(x) for x in X]``."""
        self.fit(X)
        return [self.transform(x) for x in X]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.solver, "solver", SOLVERS)

    def _solve(self, views: list[Any], noise: Any, rank: int) -> None:
        threads = resolve_threads(self.n_threads)
        memory = self.max_memory or half_of_memory()
        solver, size = _choose_solver(
            views, noise, rank, self.solver, memory, lambda: _conjugate(noise, self.gamma, self.tol, threads)
        )
        with (
            single_threaded_blas(),
            progress_bar(self.progress, f"OPCA ({solver})", -(-size // block_width(rank))) as bar,
        ):
            problem = _problem(views, noise, solver, self.gamma, self.tol, threads)
            found = self._leading(problem, rank, size=size, key=seed_key(self.random_state), progress=bar)
            components = np.ascontiguousarray(problem.vectors(found.vectors, found.values).T)
        self.n_features_in_ = views[0].shape[1]
        self.components_ = oriented(components)
        self._packed_cache: dict[str, Any] = {}
        self.eigenvalues_ = found.values.astype(components.dtype)
        self.residuals_, self.converged_ = found.residuals, found.converged
        log.debug("OPCA: solved by %s", solver)
        self.n_iter_, self.solver_ = found.n_restarts + 1, solver


def contrasts(views: list[Any]) -> Any:
    """E such that E'E is the noise of equation 10 without its ridge: (languages - 1) * documents rows.

    These are Helmert's orthonormal contrasts, ``(d_1 + ... + d_j - j d_{j+1}) / sqrt(j (j + 1) n)``. Unlike
    ``d_m - mean`` they have no redundant rows, and two equal views cancel exactly.
    """
    n = views[0].shape[0]
    rows, total = [], views[0]
    for j, view in enumerate(views[1:], start=1):
        rows.append((total - j * view) / np.sqrt(j * (j + 1) * n))
        total = total + view
    E = sp.vstack(rows, format="csr", dtype=views[0].dtype)
    E.eliminate_zeros()
    E.sort_indices()
    return E


def _choose_solver(
    views: list[Any], noise: Any, rank: int, solver: str, memory: int, conjugate: Callable[[], ConjugateGradient]
) -> tuple[str, int]:
    """The cheapest solver whose matrices fit into memory, and how many columns its basis may have."""
    (n, p), item = views[0].shape, views[0].dtype.itemsize
    documents, width, wanted = len(views) * n, block_width(rank), basis_size(rank)
    least = min(rank + 2 * width, p, documents)
    # Documents and noise with their transposes; components and blocks in flight on the side of the terms.
    entries = sum(view.nnz for view in views) + noise.nnz
    fixed = 2 * entries * (item + 4) + 8 * (documents + 2 * p) + (2 * rank + 6 * width) * p * item

    def room(dense: int, basis_rows: int) -> int:
        """How many columns of a basis fit beside a dense matrix of this many rows."""
        left = memory - fixed - dense**2 * item - 4 * width * (basis_rows + documents) * item
        return min(wanted, int(left // (basis_rows * item + 24 * wanted))) if left > 0 else 0

    sizes = {"cholesky": room(p, p), "dual": room(noise.shape[0], documents), "cg": room(0, documents)}
    if solver == "auto":
        possible = {name for name, room_for in sizes.items() if room_for >= least}
        solver = _cheapest(views, noise, wanted, possible, conjugate) or "cg"
    if sizes[solver] < least:
        raise ValueError(
            f"max_memory: {memory} bytes are too few for solver {solver!r} with {p} terms, {documents} documents "
            f"and {rank} components; semproj.DDA solves in parts"
        )
    return solver, sizes[solver]


def _cheapest(
    views: list[Any], noise: Any, basis: int, possible: set[str], conjugate: Callable[[], ConjugateGradient]
) -> str | None:
    """The possible solver that costs least. Conjugate gradients are tried, unless they cannot be it."""
    (rows, p), documents = noise.shape, len(views) * views[0].shape[0]
    entries = sum(view.nnz for view in views)
    on_terms, on_documents = min(basis, p), min(basis, documents)
    document_side = multiplying(2 * entries, on_documents) + orthogonalizing(documents, on_documents)
    costs = {
        "cholesky": factoring(p, pairs_in_rows(noise))
        + solving(p, on_terms)
        + multiplying(2 * entries, on_terms)
        + orthogonalizing(p, on_terms),
        "dual": factoring(rows, pairs_in_columns(noise))
        + solving(rows, on_documents)
        + multiplying(2 * noise.nnz, on_documents)
        + document_side,
    }
    solver = min(possible & costs.keys(), key=costs.__getitem__, default=None)
    if solver is None or "cg" not in possible:
        return solver
    step = multiplying(2 * noise.nnz, on_documents) + updating(p * on_documents)
    most = int((costs[solver] - document_side) / step)
    return "cg" if most >= _LEAST_STEPS and conjugate().steps(most) <= most else solver


def _problem(
    views: list[Any], noise: Any, solver: str, gamma: float, tol: float, n_threads: int
) -> Whitened | DocumentSide:
    n = views[0].shape[0]
    documents = sp.vstack(views, format="csr")
    documents.data *= documents.dtype.type(1 / np.sqrt(n))
    means = np.stack([column_mean(view) for view in views], axis=1)
    languages = np.kron(np.eye(len(views)), np.ones((n, 1))) / np.sqrt(n)
    signal = SparseOperator(documents, (languages, means), n_threads=n_threads, transposed=False)
    if solver == "cholesky":
        return Whitened(signal, BlockFactor([ridged_gram(noise, gamma, n_threads)], n_threads))
    if solver == "dual":
        return DocumentSide(signal, Woodbury(noise, gamma, n_threads))
    return DocumentSide(signal, _conjugate(noise, gamma, tol, n_threads))


def _conjugate(noise: Any, gamma: float, tol: float, n_threads: int) -> ConjugateGradient:
    return ConjugateGradient(noise, gamma, tol / 10, n_threads)
