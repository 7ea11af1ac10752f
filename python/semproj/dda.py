"""Distortion discriminant analysis: OPCA in two stages, for vocabularies that are too large for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._common.base import LinearModel, oriented, progress_bar, unit_rows, warn_not_converged
from ._common.layouts import layouts, numbers
from ._common.resources import resolve_threads, single_threaded_blas
from ._common.rows import REMEMBERED, check_weighted
from ._common.types import Array
from ._common.validation import check_integer, keeps_previous_fit, seed_key, weighted_views
from ._solvers.generalized import BlockFactor, Eigensolving, SymmetricOperator, Whitened
from ._solvers.krylov import basis_size
from .kernels import Projection, project
from .lsa import LSA
from .opca import OPCA, contrasts

__all__ = ["DDA"]

_CHUNK = 512  # documents that the second stage projects at a time
_TOPICS = 32  # components of the LSA that groups terms
_LARGEST = 6000  # directions of all groups, when we choose their number


class DDA(Eigensolving, LinearModel):
    """Two-stage OPCA (section 4 of Platt, Toutanova and Yih 2010, after Burges, Platt and Jana 2003).

    Terms are put into groups of equal size. The first stage solves an OPCA for each group. The second solves one
    of all documents, among the directions that the groups found, with the signal, noise and ridge of the whole
    problem. The result is the best in their span, and one projection of all terms, like that of
    :class:`semproj.OPCA`. Time and memory grow with ``n_features * group_size``, not with ``n_features ** 2``.

    A group should hold terms with their translations, as the first stage cannot relate terms of different groups.
    So we group terms by a small LSA of the sum of all languages' documents, in which translations are close.

    Parameters
    ----------
    n_components : int, default 100
    gamma : float, default 0.1
        As in :class:`semproj.OPCA`.
    group_size : int, default 10000
        How many terms a group has at most.
    group_components : int or None
        How many directions each group passes on. None: ``n_components``, but at most 6000 in all.
    tol, max_iter, max_memory, random_state, n_threads, progress
        As in :class:`semproj.OPCA`; ``max_memory`` bounds the first stage.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Rows v, with v'Nv = 1 (0 where there is no signal left). Sign rule: the entry of largest magnitude of each
        row is positive.
    eigenvalues_ : array of shape (n_components,)
        Signal-to-noise ratios, largest first; never above those of OPCA.
    groups_ : array of shape (n_features,)
        The group of each term.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[2.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]])
    >>> spanish = np.array([[0, 0, 1.5, 0], [0, 0, 0, 2], [0, 0, 1, 1]])
    >>> model = sj.DDA(n_components=2, group_size=2, random_state=0).fit([english, spanish])
    >>> model.groups_.tolist(), model.transform(english).shape
    ([0, 1, 0, 1], (3, 2))
    """

    _arrays = layouts(
        components_="T k p",
        eigenvalues_="T k",
        groups_="i4 p",
    )
    _scalars = numbers(n_features_in_="p", **REMEMBERED)

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float = 0.1,
        group_size: int = 10_000,
        group_components: int | None = None,
        tol: float = 5e-3,
        max_iter: int = 100,
        max_memory: int | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.gamma = n_components, gamma
        self.group_size, self.group_components = group_size, group_components
        self.tol, self.max_iter, self.max_memory = tol, max_iter, max_memory
        self.random_state, self.n_threads, self.progress = random_state, n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> DDA:
        """Fit on aligned documents.

        Parameters
        ----------
        X : list of sparse matrices or arrays, all of shape (n_documents, n_features)
            Weighted rows, one matrix per language, as for :class:`semproj.OPCA`.
        """
        self._check_parameters()
        views = weighted_views(X)
        check_weighted(X, "DDA")
        self._remember(X, views)
        key = seed_key(self.random_state)
        with single_threaded_blas():
            groups = self._groups(views, key)
            by_column = [view.tocsc() for view in views]
            parts = [[view[:, group].tocsr() for view in by_column] for group in groups]
            first = self._first_stage(parts, key)
            values, B = self._second_stage(parts, first, key)
            components = np.zeros((self.n_components, views[0].shape[1]), views[0].dtype)
            start = 0
            for group, stage in zip(groups, first, strict=True):
                components[: B.shape[1], group] = B[start : start + len(stage)].T @ stage
                start += len(stage)
        self.n_features_in_ = views[0].shape[1]
        self.components_ = oriented(components)
        self._packed_cache: dict[str, Any] = {}
        self.eigenvalues_ = np.zeros(self.n_components, components.dtype)
        self.eigenvalues_[: len(values)] = values
        self.groups_ = np.empty(self.n_features_in_, np.int32)
        for number, group in enumerate(groups):
            self.groups_[group] = number
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then project each language's documents: ``[transform(x) for x in X]``."""
        self.fit(X)
        return [self.transform(x) for x in X]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer(self.group_size, "group_size", low=1)
        if self.group_components is not None:
            check_integer(self.group_components, "group_components", low=1)

    def _groups(self, views: list[Any], key: int) -> list[Array]:
        """The columns of each group."""
        p = views[0].shape[1]
        count = -(-p // int(self.group_size))
        if count == 1:
            return [np.arange(p)]
        total = sum(views[1:], views[0])
        topics = LSA(min(_TOPICS, *total.shape), random_state=key, n_threads=self.n_threads).fit(total)
        vectors = np.array((topics.components_ * topics.singular_values_[:, None]).T, np.float64, order="C")
        unit_rows(vectors)
        return [np.sort(group) for group in _halved(vectors, np.arange(p), count)]

    def _first_stage(self, parts: list[list[Any]], key: int) -> list[Array]:
        """The components of each group that are not zero."""
        wanted = self.group_components or max(1, min(self.n_components, _LARGEST // len(parts)))
        possible = sum(min(wanted, views[0].shape[1]) for views in parts)
        if possible < self.n_components:
            raise ValueError(
                f"n_components: {self.n_components} are more than the {possible} directions of the first stage; "
                "raise group_components"
            )
        shared = {name: getattr(self, name) for name in ("gamma", "tol", "max_iter", "max_memory", "n_threads")}
        stages, worst = [], 0.0
        with progress_bar(self.progress, "DDA, first stage", len(parts), unit="group") as bar:
            for number, views in enumerate(parts):
                model = OPCA(**shared, random_state=(key + number) % 2**64)
                (n, p), languages = views[0].shape, len(views)
                model._solve(views, contrasts(views), min(wanted, p, languages * n))
                stages.append(model.components_[model.components_.any(axis=1)])
                worst = max(worst, 0.0 if model.converged_ else float(model.residuals_.max()))
                bar.update(1)
        if worst:
            warn_not_converged(self.max_iter, worst, self.tol)
        return stages

    def _second_stage(self, parts: list[list[Any]], first: list[Array], key: int) -> tuple[Array, Array]:
        """Eigenvalues, and the components as combinations of the first stage's (columns)."""
        size, threads = sum(map(len, first)), resolve_threads(self.n_threads)
        rank = min(size, int(self.n_components))
        if rank == 0:
            return np.empty(0), np.empty((0, 0))
        S, N = _reduced(parts, first, self.gamma, threads)
        problem = Whitened(SymmetricOperator(S, threads), BlockFactor([N], threads))
        with progress_bar(self.progress, "DDA, second stage", None) as bar:
            found = self._leading(problem, rank, size=basis_size(rank), key=key, progress=bar)
        if not found.converged:
            warn_not_converged(self.max_iter, float(found.residuals.max()), self.tol)
        return found.values, problem.vectors(found.vectors, found.values)


def _halved(vectors: Array, terms: Array, count: int) -> list[Array]:
    """Cut terms into `count` equal groups, each time across the direction in which they differ most."""
    if count == 1:
        return [terms]
    mine = vectors[terms] - vectors[terms].mean(axis=0)
    _, directions = np.linalg.eigh(mine.T @ mine)
    order = terms[np.argsort(mine @ directions[:, -1], kind="stable")]
    half = count // 2
    cut = len(terms) * half // count
    return [*_halved(vectors, order[:cut], half), *_halved(vectors, order[cut:], count - half)]


def _reduced(parts: list[list[Any]], first: list[Array], gamma: float, n_threads: int) -> tuple[Array, Array]:
    """B'SB and B'NB in double, for the components B of the first stage, over chunks of documents."""
    n, languages, size = parts[0][0].shape[0], len(parts[0]), sum(map(len, first))
    packed = [Projection(stage.T, n_threads=n_threads) for stage in first]
    S, N = np.zeros((size, size)), np.zeros((size, size))
    sums = np.zeros((languages, size))
    for begin in range(0, n, _CHUNK):
        rows = slice(begin, min(n, begin + _CHUNK))
        total: Any = 0.0
        for m in range(languages):
            Z = np.empty((rows.stop - rows.start, size), first[0].dtype)
            start = 0
            for views, projection in zip(parts, packed, strict=True):
                end = start + projection.shape[1]
                project(views[m][rows], projection, out=Z[:, start:end], n_threads=n_threads)
                start = end
            sums[m] += Z.sum(axis=0, dtype=np.float64)
            S += _core.tall_cross(Z, Z, n_threads)
            if m > 0:  # Helmert's contrasts, as in opca.contrasts
                E = (total - m * Z) / Z.dtype.type(np.sqrt(m * (m + 1)))
                N += _core.tall_cross(E, E, n_threads)
            total = total + Z
    S = S / n - sums.T @ sums / n**2
    N /= n
    start = 0
    for stage in first:  # groups share no terms, so the ridge stays within each
        part = slice(start, start + len(stage))
        columns = np.ascontiguousarray(stage.T)
        N[part, part] += gamma * _core.tall_cross(columns, columns, n_threads)
        start += len(stage)
    return S, N
