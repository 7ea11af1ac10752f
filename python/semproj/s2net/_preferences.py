"""Which documents a query prefers: pairs of which it may have several, and triples of a better and a worse one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from .. import _core
from .._common.checkpoint import rows_identity
from .._common.persistence import checksum
from .._common.types import Array
from .._common.validation import check_finite, check_integer, check_real, core_csr, seed_key
from ..kernels import project
from ._objective import Gradient, Rows, gradient_of_rows, units_of_rows

COLUMNS = ("queries", "documents", "documents")


def check_listed(y: Any, views: list[Any]) -> Array:
    """Pairs or triples of rows of two views, as an array of shape (n, 2) or (n, 3)."""
    if len(views) != 2:
        raise ValueError(f"X: expected queries and documents if y lists rows of them, got {len(views)} matrices")
    what = "expected pairs of shape (n, 2) or triples of shape (n, 3)"
    try:
        listed = np.asarray(y)
    except ValueError as error:
        raise ValueError(f"y: {what}, got rows of different lengths") from error
    if listed.ndim != 2 or listed.shape[1] not in (2, 3):
        raise ValueError(f"y: {what}, got shape {listed.shape}")
    if not len(listed):
        raise ValueError("y: expected at least one pair or triple, got none")
    if listed.dtype.kind not in "iu":
        raise TypeError(f"y: expected integers, the numbers of rows, got dtype {listed.dtype}")
    for column, name in enumerate(COLUMNS[: listed.shape[1]]):
        view = int(column > 0)
        low, high, n = int(listed[:, column].min()), int(listed[:, column].max()), views[view].shape[0]
        if low < 0 or high >= n:
            wrong = low if low < 0 else high
            raise ValueError(
                f"y[:, {column}]: expected rows of {name}, 0 to {n - 1} as X[{view}] has, got {wrong}"
            )
    if listed.shape[1] == 3 and (same := np.flatnonzero(listed[:, 1] == listed[:, 2])).size:
        raise ValueError(f"y[{same[0]}]: expected two documents, got {listed[same[0], 1]} as better and as worse")
    return np.ascontiguousarray(listed, dtype=np.int64)


class Partners:
    """All documents of each query, so that none of them stands against another."""

    def __init__(self, pairs: Array, n_queries: int, n_documents: int) -> None:
        self.pairs = pairs
        ones = np.ones(len(pairs), np.int32)
        rows = sp.csr_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_queries, n_documents))
        rows.indices = rows.indices.astype(np.int32, copy=False)
        self._listed = core_csr(rows)

    def of(self, rows: Array | None = None) -> _core.PairPartners:
        """For a batch of pairs, or for all."""
        pairs = self.pairs if rows is None else self.pairs[rows]
        queries, documents = (np.ascontiguousarray(column) for column in pairs.T)
        return _core.PairPartners(queries, documents, self._listed)


class PreferenceObjective:
    """The mean of ``log(1 + exp(-scale * (cosine of the better - cosine of the worse)))``, equation 2.

    Only cosines that triples name are made: those of edges between queries and documents. The gradients by both
    sides are products of the sparse matrix of the edges' weights.

    Parameters
    ----------
    views : two CSR matrices, queries and documents, with the columns of one projection
    triples : array of shape (n, 3)
    scale : float
    floors : two floats, as of :class:`Objective`
    """

    def __init__(
        self, views: list[Any], triples: Array, scale: float, floors: list[float], n_threads: int
    ) -> None:
        self.views, self.triples, self.scale = views, triples, scale
        self.floors, self.n_threads = floors, n_threads
        self.n_examples = len(triples)
        self._whole: tuple[list[Rows], _Edges] | None = None

    def identity(self) -> dict[str, Any]:
        """What tells other rows and triples apart."""
        return {"X": [rows_identity(view) for view in self.views], "y": checksum(self.triples)}

    def on_all(self, A: Array) -> tuple[float, Array]:
        """Of all triples."""
        if self._whole is None:
            edges = _Edges.of(self.triples)
            rows = zip(self.views, (edges.queries, edges.documents), strict=True)
            self._whole = [Rows.all_of(view[used]) for view, used in rows], edges
        return self._evaluate(*self._whole, A)

    def on_rows(self, A: Array, rows: Array) -> tuple[float, Gradient]:
        """Of some triples. Costs what their rows cost, however long A is."""
        edges = _Edges.of(self.triples[rows])
        batches = [self.views[0][edges.queries], self.views[1][edges.documents]]
        terms, parts = Rows.of_few_terms(batches, A.shape[0])
        loss, gradient = self._evaluate(parts, edges, A[terms])
        return loss, Gradient(terms, gradient)

    def _evaluate(self, parts: list[Rows], edges: _Edges, A: Array) -> tuple[float, Array]:
        (U, V), inverses = units_of_rows(parts, A, self.floors, self.n_threads)
        cosines = _core.edge_dots(U, V, edges.rows, edges.columns, self.n_threads)
        ahead = self.scale * (cosines[edges.better] - cosines[edges.worse])
        loss = float(np.logaddexp(0.0, -ahead).mean())
        pull = expit(-ahead) * (self.scale / len(ahead))
        n = len(cosines)
        weights = np.bincount(edges.worse, pull, n) - np.bincount(edges.better, pull, n)
        W = edges.matrix(weights.astype(A.dtype))
        by_units = [project(W, V, n_threads=self.n_threads), project(W.T.tocsr(), U, n_threads=self.n_threads)]
        return loss, gradient_of_rows(parts, [U, V], inverses, by_units, A, self.n_threads)


@dataclass(frozen=True)
class _Edges:
    """Triples as pairs of edges, each of which is there once."""

    queries: Array  # rows that are used
    documents: Array
    rows: Array  # of each edge, which of these
    columns: Array
    better: Array  # of each triple, an edge
    worse: Array

    @classmethod
    def of(cls, triples: Array) -> _Edges:
        queries, query = np.unique(triples[:, 0], return_inverse=True)
        documents, document = np.unique(triples[:, 1:].ravel(), return_inverse=True)
        # Edges have the order of a CSR matrix.
        keys = np.repeat(query.ravel(), 2) * len(documents) + document.ravel()
        edges, edge = np.unique(keys, return_inverse=True)
        rows, columns = np.divmod(edges, len(documents))
        better, worse = np.ascontiguousarray(edge.reshape(-1, 2).T)
        return cls(queries, documents, rows.astype(np.int64), columns.astype(np.int64), better, worse)

    def matrix(self, weights: Array) -> Any:
        shape = (len(self.queries), len(self.documents))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=shape[0]))])
        return sp.csr_matrix((weights, self.columns, offsets), shape=shape)


def preference_triples(
    queries: Any,
    documents: Any,
    grades: Any,
    *,
    others: int = 0,
    relevant: float | None = None,
    max_per_query: int | None = None,
    random_state: Any = None,
) -> Array:
    """Which documents queries prefer, from grades, for ``S2Net.fit([queries, documents], y=triples)``.

    A query prefers each of its documents to all of its documents with a lower grade. It also may prefer its
    relevant ones to documents of other queries.

    Parameters
    ----------
    queries, documents : arrays of int of shape (n_labels,)
        Rows of queries and of documents that somebody has graded.
    grades : array of shape (n_labels,)
        Higher is better.
    others : int, default 0
        To so many documents of other queries each relevant document is preferred. They are drawn from all
        documents that have a grade for some query but none for this one.
    relevant : float or None
        The grade from which on a document is relevant. None: all grades but the lowest.
    max_per_query : int or None
        Of a query with more preferences among its own documents, keep so many, at random.
    random_state : int, numpy generator or None

    Returns
    -------
    array of int64 of shape (n, 3)
        Rows of a query, of the better and of the worse document; by query.

    Examples
    --------
    >>> import semproj as sj
    >>> sj.preference_triples([0, 0, 0, 1], [5, 6, 7, 6], [2, 1, 0, 2])
    array([[0, 5, 6],
           [0, 5, 7],
           [0, 6, 7]])
    """
    labels = _check_labels(queries, documents, grades)
    check_integer(others, "others", low=0)
    if max_per_query is not None:
        check_integer(max_per_query, "max_per_query", low=1)
    least = None if relevant is None else check_real(relevant, "relevant")
    key = seed_key(random_state)
    query, document, grade = (column[np.lexsort((labels[1], -labels[2], labels[0]))] for column in labels)
    is_relevant = grade > grade.min() if least is None else grade >= least
    pool = np.unique(document)
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    found = [np.empty((0, 3), np.int64)]
    for begin, end in zip(starts, np.r_[starts[1:], len(query)], strict=True):
        row, own, graded = query[begin], document[begin:end], grade[begin:end]
        draw = np.random.default_rng([key, int(row)])
        better, worse = (own[place] for place in _ordered_places(graded, max_per_query, draw))
        different = better != worse  # unless somebody has graded a document twice
        found.append(_triples(row, better[different], worse[different]))
        strangers = np.setdiff1d(pool, own, assume_unique=False) if others else pool[:0]
        if len(strangers):
            preferred = np.repeat(np.unique(own[is_relevant[begin:end]]), others)
            found.append(_triples(row, preferred, draw.choice(strangers, len(preferred))))
    triples = np.concatenate(found)
    if not len(triples):
        what = "expected documents of one query with different grades"
        instead = "or others > 0 and `relevant`, to prefer documents to those of other queries"
        raise ValueError(f"grades: {what}, {instead}; got no preference")
    return triples


def _ordered_places(graded: Array, most: int | None, draw: np.random.Generator) -> tuple[Array, Array]:
    """Places of higher and of lower grades in falling ones: all, or some of them, without a table of all."""
    lower = np.searchsorted(-graded, -graded, side="right")
    ends = np.cumsum(len(graded) - lower)
    if most is None or ends[-1] <= most:
        kept = np.arange(ends[-1])
    else:
        kept = np.sort(draw.choice(ends[-1], most, replace=False))
    higher = np.searchsorted(ends, kept, side="right")
    return higher, len(graded) + kept - ends[higher]


def _triples(query: int, better: Array, worse: Array) -> Array:
    return np.column_stack([np.full(len(better), query, np.int64), better, worse])


def _check_labels(queries: Any, documents: Any, grades: Any) -> tuple[Array, Array, Array]:
    columns = {"queries": np.asarray(queries), "documents": np.asarray(documents), "grades": np.asarray(grades)}
    for name, column in columns.items():
        if column.ndim != 1 or len(column) != len(columns["queries"]):
            n = len(columns["queries"]) if columns["queries"].ndim else 0
            raise ValueError(f"{name}: expected one for each label, {n}, got shape {column.shape}")
        if not len(column):
            raise ValueError(f"{name}: expected at least one label, got none")
        if column.dtype.kind not in ("iu" if name != "grades" else "biuf"):
            expected = "rows, which are integers" if name != "grades" else "numbers"
            raise TypeError(f"{name}: expected {expected}, got dtype {column.dtype}")
        if name != "grades" and column.min() < 0:
            raise ValueError(f"{name}: expected rows, at least 0, got {column.min()}")
    check_finite(columns["grades"], "grades")
    query, document = (columns[name].astype(np.int64) for name in ("queries", "documents"))
    return query, document, columns["grades"].astype(np.float64)
