"""Documents compared, dense rows or sparse: ranks of partners and of gold rows, the nearest neighbour, cosines.

Dense rows go to `semproj.metrics` and the classifier. Sparse rows stay sparse: a block of one side is made dense,
at most a few tens of megabytes, and multiplied with all rows of the other. Ties and zero vectors are as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import semproj as sj
from semproj import kernels

TIE = np.float32(1e-6)  # as semproj.metrics
BLOCK_ELEMENTS = 1 << 22


def unit_rows(rows: Any) -> Any:
    """Sparse rows of length one, float32; a zero row stays zero."""
    rows = sp.csr_matrix(rows, dtype=np.float32)
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
    norms[norms == 0] = 1
    unit = sp.csr_matrix(sp.diags((1 / norms).astype(np.float32)) @ rows)
    unit.eliminate_zeros()  # so that a row without entries is a zero row
    return unit


def _blocks(first: Any, second: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Row numbers and rows of ``first @ second.T``, a block at a time."""
    step = max(1, BLOCK_ELEMENTS // max(second.shape))
    for start in range(0, first.shape[0], step):
        part = first[start : start + step].toarray()
        yield start, kernels.project(second, kernels.Projection(part.T)).T


def reciprocal_ranks(first: Any, second: Any, *, metric: str = "cosine") -> tuple[np.ndarray, np.ndarray]:
    """Of each row's partner: looked for among `second`, and from `second` among `first`. Sparse by cosine only."""
    if not sp.issparse(first):
        return sj.metrics.reciprocal_ranks(first, second, metric=metric)
    first, second = unit_rows(first), unit_rows(second)
    n = first.shape[0]
    own = np.asarray(first.multiply(second).sum(axis=1), dtype=np.float32).ravel()
    present = (np.diff(first.indptr) > 0) & (np.diff(second.indptr) > 0)
    threshold = own - TIE
    forward, backward = np.empty(n, np.int64), np.zeros(n, np.int64)
    for start, scores in _blocks(first, second):
        mine = np.arange(start, start + len(scores))
        scores[mine - start, mine] = np.inf  # counted whatever rounding does: the count is the rank
        forward[mine] = np.count_nonzero(scores >= threshold[mine, None], axis=1)
        backward += np.count_nonzero(scores >= threshold, axis=0)
    return np.where(present, 1 / forward, 0.0), np.where(present, 1 / backward, 0.0)


def recall_curve(
    queries: Any, corpus: Any, gold: list[list[int]], *, metric: str = "cosine", sample: int | None = None
) -> sj.metrics.RecallCurve:
    """As `semproj.metrics.recall_curve`, by "cosine" or "inner_product"; the sample is always the same."""
    if not sp.issparse(queries):
        options: dict[str, Any] = {"metric": metric, "sample": sample, "random_state": 0}
        return sj.metrics.recall_curve(queries, corpus, gold, **options)
    first, second = (unit_rows(queries), unit_rows(corpus)) if metric == "cosine" else (queries, corpus)
    asked = np.unique(first.indices)  # no other column matters
    first, second = first[:, asked].tocsr(), second[:, asked].tocsr()
    size = second.shape[0]
    rivals = np.arange(size)
    if sample is not None:
        rivals = np.sort(np.random.default_rng(0).choice(size, sample, replace=False))
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in gold])])
    rows = np.concatenate(gold)
    nearer, tied = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for start, scores in _blocks(first, second):
        for query, line in enumerate(scores, start):
            among = line if sample is None else line[rivals]
            for pair in range(starts[query], starts[query + 1]):
                own = line[rows[pair]]
                nearer[pair] = np.count_nonzero(among > own + TIE)
                tied[pair] = np.count_nonzero(among >= own - TIE) - nearer[pair]
    own_rival = np.isin(rows, rivals)
    tied -= own_rival  # with itself
    if metric == "cosine":
        empty = [np.asarray(abs(side).sum(axis=1)).ravel() == 0 for side in (queries, corpus)]
        nearer[np.repeat(empty[0], np.diff(starts)) | empty[1][rows]] = -1
    return sj.metrics.RecallCurve.from_counts(starts, nearer, tied, len(rivals) - own_rival)


def cosines(first: Any, second: Any) -> np.ndarray:
    """Of row i of one with row i of the other; 0 for a zero row."""
    if sp.issparse(first):
        return np.asarray(unit_rows(first).multiply(unit_rows(second)).sum(axis=1), np.float64).ravel()
    products = np.einsum("ij,ij->i", first, second, dtype=np.float64)
    lengths = np.linalg.norm(first.astype(np.float64), axis=1) * np.linalg.norm(second.astype(np.float64), axis=1)
    return np.divide(products, lengths, out=np.zeros(len(products)), where=lengths > 0)


def nearest_labels(rows: Any, labels: np.ndarray, queries: Any, *, metric: str = "cosine") -> np.ndarray:
    """The label of the nearest row of each query. Sparse by cosine only."""
    if not sp.issparse(rows):
        return np.asarray(sj.NearestNeighborClassifier(metric=metric).fit(rows, labels).predict(queries))
    found = np.empty(queries.shape[0], np.int64)
    rows = unit_rows(rows)
    for start, scores in _blocks(unit_rows(queries), rows):
        found[start : start + len(scores)] = np.argmax(scores, axis=1)
    return labels[found]


def best_set(outcomes: dict[str, np.ndarray]) -> set[str]:
    """The smallest set of names significantly better than the rest; of a single one nothing can be said."""
    return set() if len(outcomes) < 2 else set(sj.metrics.best_set(outcomes).names)
