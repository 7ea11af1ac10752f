"""Cosines of learnt vectors, mixed with those of the rows that they were made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from ._common.types import Array
from ._common.validation import as_csr, check_finite, check_real

__all__ = ["SurfaceMixture"]

WEIGHTS = tuple(share / 20 for share in range(21))


@dataclass(frozen=True)
class SurfaceMixture:
    """The cosine of vectors of a model and the cosine of raw rows, weighted and added.

    A model finds documents that share no word with a query; raw rows, such as tf-idf, find those that share a rare
    one. The mixture is often better than both, and it is safe where a model has learnt too few queries by heart.

    Parameters
    ----------
    model : fitted model of rows, such as S2Net
        With separate matrices, queries are its first view and documents its second.
    weight : float, default 0.5
        Of the model's cosines; raw rows have one minus it. See `tuned`.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> rows = np.random.default_rng(0).random((9, 6))
    >>> mixture = sj.SurfaceMixture(sj.LSA(2, random_state=0).fit(rows), weight=0.3)
    >>> mixture.similarities(rows[:2], rows).argmax(axis=1)
    array([0, 1])
    """

    model: Any
    weight: float = 0.5

    def __post_init__(self) -> None:
        if not hasattr(self.model, "transform"):
            raise TypeError(f"model: expected a fitted model of rows, got {self.model!r:.60}")
        check_real(self.weight, "weight", low=0, high=1)

    def similarities(self, queries: Any, documents: Any, pairs: Any = None) -> Array:
        """Of all queries with all documents, or of some pairs.

        Parameters
        ----------
        queries, documents : sparse matrices or arrays of shape (n_queries, n_features), (n_documents, n_features)
            Weighted rows, as the model was fitted on.
        pairs : array of int of shape (n, 2) or None
            Rows of a query and of a document.

        Returns
        -------
        array of shape (n_queries, n_documents) or (n,)
            A row of zeros has a cosine of 0.
        """
        learnt, surface = self._cosines(queries, documents, pairs)
        return self._mixed(learnt, surface)

    def tuned(
        self,
        queries: Any,
        documents: Any,
        score: Callable[[Array], float],
        *,
        pairs: Any = None,
        weights: Iterable[float] = WEIGHTS,
    ) -> SurfaceMixture:
        """The same with the weight that is best on other queries than the model has learnt.

        Parameters
        ----------
        queries, documents, pairs
            As of `similarities`.
        score : callable
            From similarities to a number, more is better. Of weights with equal scores the first is taken.
        weights : iterable of float, default 0, 0.05, ..., 1
        """
        learnt, surface = self._cosines(queries, documents, pairs)
        best: SurfaceMixture | None = None
        highest = -np.inf
        for weight in weights:
            mixture = replace(self, weight=weight)
            found = check_real(score(mixture._mixed(learnt, surface)), "score")
            if best is None or found > highest:
                best, highest = mixture, found
        if best is None:
            raise ValueError("weights: expected at least one, got none")
        return best

    def _mixed(self, learnt: Array, surface: Array) -> Array:
        mixed: Array = self.weight * learnt + (1 - self.weight) * surface
        return mixed

    def _cosines(self, queries: Any, documents: Any, pairs: Any) -> tuple[Array, Array]:
        rows = [as_csr(queries, "queries"), as_csr(documents, "documents")]
        for x, name in zip(rows, ("queries", "documents"), strict=True):
            check_finite(x.data, name)
        if rows[0].shape[1] != rows[1].shape[1]:
            what = f"expected {rows[0].shape[1]} columns as queries have, got {rows[1].shape[1]}"
            raise ValueError(f"documents: {what}")
        models = getattr(self.model, "views_", None) or [self.model] * 2
        if len(models) != 2:
            raise ValueError(
                f"model: has matrices for {len(models)} views, expected those of queries and documents"
            )
        given = (queries, documents)
        Q, D = (normalize(model.transform(x)) for model, x in zip(models, given, strict=True))
        first, second = (normalize(x.astype(np.promote_types(x.dtype, np.float32))) for x in rows)
        if pairs is None:
            return Q @ D.T, (first @ second.T).toarray()
        i, j = _rows_of(pairs, len(Q), len(D))
        return np.einsum("ij,ij->i", Q[i], D[j]), np.asarray(first[i].multiply(second[j]).sum(axis=1)).ravel()


def _rows_of(pairs: Any, n_queries: int, n_documents: int) -> tuple[Array, Array]:
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"pairs: expected an array of shape (n, 2), got {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise TypeError(f"pairs: expected integers, the numbers of rows, got dtype {rows.dtype}")
    for column, n in enumerate((n_queries, n_documents)):
        if len(rows) and not (rows[:, column].min() >= 0 and rows[:, column].max() < n):
            raise ValueError(f"pairs[:, {column}]: expected rows from 0 to {n - 1}")
    return rows[:, 0], rows[:, 1]
