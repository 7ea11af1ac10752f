"""Distortion discriminant analysis: OPCA in two stages, for vocabularies too large for one eigenproblem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._base import LinearModel, flip_signs, progress_bar, warn_not_converged
from ._generalized import BlockFactor, SymmetricOperator, Whitened
from ._krylov import basis_size, block_width, leading_eigenvectors
from ._threads import resolve_threads, single_threaded_blas
from ._types import Array
from ._validation import check_integer, check_positive, check_real, keeps_previous_fit, seed_key, weighted_views
from .kernels import Projection, project
from .opca import OPCA, contrasts

__all__ = ["DDA"]

_CHUNK = 512  # documents projected at a time in the second stage
_LARGEST = 6000  # directions of the first stage in all, when their number is left to us


class DDA(LinearModel):
    """Two-stage OPCA (section 4 of Platt, Toutanova and Yih 2010, after Burges, Platt and Jana 2003).

    The terms are dealt to groups. In the first stage each group has an OPCA of its own; in the second an OPCA of
    all documents is solved among the directions that the groups found, with the signal, noise and ridge of the
    whole problem. The result is the best there is in their span, and one projection of all terms, like that of
    :class:`semproj.OPCA`. Time and memory go with ``n_features * group_size`` and not with ``n_features ** 2``.

    Parameters
    ----------
    n_components : int, default 100
    gamma : float, default 0.1
        As in :class:`semproj.OPCA`.
    group_size : int, default 10000
        Terms of a group, about. Terms are dealt in turn, so with columns in order of frequency, as
        :class:`semproj.TermCounter` makes them, all groups have frequent and rare ones.
    group_components : int or None
        Directions each group passes on. None: as many as ``n_components``, but at most 6000 in all.
    tol, max_iter, max_memory, random_state, n_threads, progress
        As in :class:`semproj.OPCA`; ``max_memory`` bounds the first stage.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Rows v, with v'Nv = 1. Sign rule: the entry of largest magnitude of each row is positive.
    eigenvalues_ : array of shape (n_components,)
        Signal-to-noise ratios, largest first; never above those of OPCA.
    n_groups_ : int

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[2.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]])
    >>> spanish = np.array([[0, 0, 1.5, 0], [0, 0, 0, 2], [0, 0, 1, 1]])
    >>> model = sj.DDA(n_components=2, group_size=2, random_state=0).fit([english, spanish])
    >>> model.n_groups_, model.transform(english).shape
    (2, (3, 2))
    """

    _arrays = ("components_", "eigenvalues_")
    _scalars = ("n_groups_", "n_features_in_")

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
        self.n_components = n_components
        self.gamma = gamma
        self.group_size = group_size
        self.group_components = group_components
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

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
        groups = _deal(views[0].shape[1], int(self.group_size))
        by_column = [view.tocsc() for view in views]
        parts = [[view[:, group].tocsr() for view in by_column] for group in groups]
        first = self._first_stage(parts)
        with single_threaded_blas():
            values, B = self._second_stage(parts, first)
            components = np.empty((self.n_components, views[0].shape[1]), views[0].dtype)
            start = 0
            for group, stage in zip(groups, first, strict=True):
                components[:, group] = (B[start : start + len(stage)].T @ stage).astype(components.dtype)
                start += len(stage)
        if not np.isfinite(components).all():
            raise ValueError("X: the components are not finite; the values of X are too large for its dtype")
        flip_signs(components)
        self.n_features_in_ = views[0].shape[1]
        self.components_ = components
        self._packed_cache: dict[str, Any] = {}
        self.eigenvalues_ = values.astype(components.dtype)
        self.n_groups_ = len(groups)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then project each language's documents: ``[transform(x) for x in X]``."""
        self.fit(X)
        return [self.transform(x) for x in X]

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        check_positive(self.gamma, "gamma")
        check_integer(self.group_size, "group_size", low=1)
        if self.group_components is not None:
            check_integer(self.group_components, "group_components", low=1)
        check_real(self.tol, "tol", low=0)
        check_integer(self.max_iter, "max_iter", low=1)
        if self.max_memory is not None:
            check_integer(self.max_memory, "max_memory", low=1)
        seed_key(self.random_state)
        resolve_threads(self.n_threads)

    def _first_stage(self, parts: list[list[Any]]) -> list[Array]:
        """The components of each group."""
        wanted = self.group_components or max(1, min(self.n_components, _LARGEST // len(parts)))
        key, stages = seed_key(self.random_state), []
        with progress_bar(self.progress, "DDA, first stage", len(parts), unit="group") as bar:
            for number, views in enumerate(parts):
                model = OPCA(
                    gamma=self.gamma,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    max_memory=self.max_memory,
                    random_state=(key + number) % 2**64,
                    n_threads=self.n_threads,
                )
                (n, p), languages = views[0].shape, len(views)
                model._solve(views, contrasts(views), min(wanted, p, languages * n))
                stages.append(model.components_)
                bar.update(1)
        return stages

    def _second_stage(self, parts: list[list[Any]], first: list[Array]) -> tuple[Array, Array]:
        """Eigenvalues, and the components as combinations of the first stage's (columns)."""
        size, rank, threads = sum(map(len, first)), int(self.n_components), resolve_threads(self.n_threads)
        if size < rank:
            raise ValueError(
                f"n_components: {rank} are more than the {size} directions of the first stage; "
                "raise group_components"
            )
        S, N = _reduced(parts, first, self.gamma, threads)
        problem = Whitened(SymmetricOperator(S, threads), BlockFactor([N], threads))
        with progress_bar(self.progress, "DDA, second stage", None) as bar:
            found = leading_eigenvectors(
                problem,
                rank,
                size=basis_size(rank),
                block=block_width(rank),
                solver="lanczos",
                tol=self.tol,
                max_restarts=self.max_iter,
                key=seed_key(self.random_state),
                progress=bar,
            )
        if not found.converged:
            warn_not_converged(self.max_iter, float(found.residuals.max()), self.tol)
        return found.values, problem.vectors(found.vectors, found.values)


def _deal(p: int, group_size: int) -> list[Array]:
    """The columns of each group, dealt in turn."""
    count = -(-p // group_size)
    return [np.arange(g, p, count) for g in range(count)]


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
    for stage in first:  # groups have no term in common: the ridge stays within each
        part = slice(start, start + len(stage))
        columns = np.ascontiguousarray(stage.T)
        N[part, part] += gamma * _core.tall_cross(columns, columns, n_threads)
        start += len(stage)
    return S, N
