"""The loss of a projection on pairs of rows, and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .. import _core
from .._common.checkpoint import rows_identity
from .._common.persistence import checksum
from .._common.resources import single_threaded_blas
from .._common.types import Array
from ..kernels import Projection, project

# From the units of two views, where the gradients by them go, and partners if there are any, to the loss.
Contrast = Callable[..., float]


@dataclass(frozen=True)
class Gradient:
    """By some rows of a projection; the others have none."""

    rows: Array
    values: Array


class Objective:
    """The mean loss of all pairs of views, in rows that belong together, of cosines of projected rows.

    Parameters
    ----------
    views : list of CSR matrices, all with the columns of one projection
    contrast : what makes a loss of the units of two views
    floors : list of float
        Of each view, what is added to the length of projected rows: sqrt(|g|^2 + floor^2). The gradient goes as
        one over it, and rows that nearly vanish would drown all others.
    partners : Partners or None
        Which rows belong together beside those of a pair; of two views only.
    """

    def __init__(
        self, views: list[Any], contrast: Contrast, floors: list[float], n_threads: int, partners: Any = None
    ) -> None:
        self.views, self.contrast, self.floors, self.n_threads = views, contrast, floors, n_threads
        self.n_examples = int(views[0].shape[0])
        self._partners = partners
        self._whole: list[Rows] | None = None

    def identity(self) -> dict[str, Any]:
        """What tells other rows apart."""
        identity: dict[str, Any] = {"X": [rows_identity(view) for view in self.views]}
        return identity if self._partners is None else {**identity, "y": checksum(self._partners.pairs)}

    def on_all(self, A: Array) -> tuple[float, Array]:
        """Of all rows, as one batch."""
        if self._whole is None:
            self._whole = [Rows.all_of(view) for view in self.views]
        return self._evaluate(self._whole, A, None)

    def on_rows(self, A: Array, rows: Array) -> tuple[float, Gradient]:
        """Of some rows. Costs what these and their terms cost, however long A is."""
        terms, parts = Rows.of_few_terms([view[rows] for view in self.views], A.shape[0])
        loss, gradient = self._evaluate(parts, A[terms], rows)
        return loss, Gradient(terms, gradient)

    def _evaluate(self, parts: list[Rows], A: Array, rows: Array | None) -> tuple[float, Array]:
        units, inverses = units_of_rows(parts, A, self.floors, self.n_threads)
        gradients = [np.zeros_like(U) for U in units]
        loss, pairs = 0.0, list(combinations(range(len(parts)), 2))
        partners = () if self._partners is None else (self._partners.of(rows),)
        with single_threaded_blas():
            for i, j in pairs:
                of_i, of_j = np.empty_like(units[i]), np.empty_like(units[j])
                loss += self.contrast(units[i], units[j], of_i, of_j, *partners) / len(pairs)
                for whole, one in ((gradients[i], of_i), (gradients[j], of_j)):
                    whole += one if len(pairs) == 1 else one / A.dtype.type(len(pairs))
        return loss, gradient_of_rows(parts, units, inverses, gradients, A, self.n_threads)


@dataclass(frozen=True)
class Rows:
    """Rows, and the same by columns."""

    rows: Any
    columns: Any

    @classmethod
    def all_of(cls, view: Any) -> Rows:
        return cls(view, view.T.tocsr())

    @classmethod
    def of_few_terms(cls, batches: list[Any], n_terms: int) -> tuple[Array, list[Rows]]:
        """The terms that batches have, and these with columns for no others."""
        terms = np.unique(np.concatenate([batch.indices for batch in batches])).astype(np.int64)
        place = np.zeros(n_terms, np.int32)
        place[terms] = np.arange(len(terms), dtype=np.int32)
        return terms, [
            cls.all_of(type(b)((b.data, place[b.indices], b.indptr), shape=(b.shape[0], len(terms))))
            for b in batches
        ]


def units_of_rows(
    parts: list[Rows], A: Array, floors: list[float], n_threads: int
) -> tuple[list[Array], list[Array]]:
    """Projected rows of unit length, and one over the lengths that they had."""
    packed = Projection(A, n_threads=n_threads)
    units = [project(part.rows, packed, n_threads=n_threads) for part in parts]
    return units, [_core.smooth_unit_rows(G, floor, n_threads) for G, floor in zip(units, floors, strict=True)]


def gradient_of_rows(
    parts: list[Rows], units: list[Array], inverses: list[Array], by_units: list[Array], A: Array, n_threads: int
) -> Array:
    """By a projection, from the gradients by the units that it gives; these are overwritten."""
    gradient = np.zeros_like(A)
    for part, U, lengths, D in zip(parts, units, inverses, by_units, strict=True):
        _core.through_unit_rows(U, lengths, D, n_threads)
        project(part.columns, D, out=gradient, accumulate=True, n_threads=n_threads)
    return gradient


def built_in(loss: str, scale: float, forward: float, backward: float, n_threads: int) -> Contrast:
    """The losses of the compiled kernel."""

    def contrast(
        U: Array, V: Array, of_u: Array, of_v: Array, partners: _core.PairPartners | None = None
    ) -> float:
        return _core.contrast_gradient(U, V, loss, scale, forward, backward, of_u, of_v, n_threads, partners)

    return contrast


def by_function(function: Any, scale: float, forward: float, backward: float, n_threads: int) -> Contrast:
    """A user's own loss of the difference of two cosines."""
    from ..jit.contrasts import pair_losses

    def contrast(U: Array, V: Array, of_u: Array, of_v: Array) -> float:
        return pair_losses(function, U, V, forward, backward, of_u, of_v, n_threads)

    return contrast


def samples(function: Any) -> list[float]:
    """What tells a user's loss from others: its values, without the digits in which machines differ."""
    from ..jit.contrasts import sample_losses

    return [float(f"{value:.10g}") for value in sample_losses(function, np.linspace(-2.0, 2.0, 33)).ravel()]
