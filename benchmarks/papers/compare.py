"""Documents compared by cosine, dense rows or sparse: ranks of the partner, and the nearest neighbour.

Sparse rows stay sparse: a block of one side is made dense, at most a few tens of megabytes, and multiplied with
all rows of the other. Ties and zero vectors are as in `semproj.metrics`.
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
    """Rows of length one, float32; a zero row stays zero."""
    if sp.issparse(rows):
        rows = sp.csr_matrix(rows, dtype=np.float32)
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
        norms[norms == 0] = 1
        unit = sp.csr_matrix(sp.diags((1 / norms).astype(np.float32)) @ rows)
        unit.eliminate_zeros()  # so that a row without entries is a zero row
        return unit
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    norms[norms == 0] = 1
    return (rows / norms[:, None]).astype(np.float32)


def _blocks(first: Any, second: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Row numbers and rows of ``first @ second.T``, a block at a time."""
    wide = max(second.shape) if sp.issparse(second) else len(second)
    step = max(1, BLOCK_ELEMENTS // wide)
    for start in range(0, first.shape[0], step):
        part = first[start : start + step]
        if sp.issparse(part):
            yield start, kernels.project(second, kernels.Projection(part.toarray().T)).T
        else:
            yield start, part @ second.T


def reciprocal_ranks(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each row's partner: looked for among `second`, and from `second` among `first`."""
    first, second = unit_rows(first), unit_rows(second)
    n = first.shape[0]
    if sp.issparse(first):
        own = np.asarray(first.multiply(second).sum(axis=1), dtype=np.float32).ravel()
        present = (np.diff(first.indptr) > 0) & (np.diff(second.indptr) > 0)
    else:
        own = np.einsum("ij,ij->i", first, second)
        present = first.any(axis=1) & second.any(axis=1)
    threshold = own - TIE
    forward, backward = np.empty(n, np.int64), np.zeros(n, np.int64)
    for start, scores in _blocks(first, second):
        mine = np.arange(start, start + len(scores))
        scores[mine - start, mine] = np.inf  # counted whatever rounding does: the count is the rank
        forward[mine] = np.count_nonzero(scores >= threshold[mine, None], axis=1)
        backward += np.count_nonzero(scores >= threshold, axis=0)
    return np.where(present, 1 / forward, 0.0), np.where(present, 1 / backward, 0.0)


def nearest_labels(rows: Any, labels: np.ndarray, queries: Any) -> np.ndarray:
    """The label of the nearest row of each query."""
    if hasattr(sj, "NearestNeighborClassifier") and not sp.issparse(rows):
        predicted = sj.NearestNeighborClassifier(metric="cosine").fit(rows, labels).predict(queries)
        return np.asarray(predicted)
    found = np.empty(queries.shape[0], np.int64)
    rows = unit_rows(rows)
    for start, scores in _blocks(unit_rows(queries), rows):
        found[start : start + len(scores)] = np.argmax(scores, axis=1)
    return labels[found]


def best_set(outcomes: dict[str, np.ndarray]) -> set[str]:
    """The smallest set of names significantly better than the rest; empty where the library has no such test."""
    test = getattr(sj.metrics, "best_set", None)
    return set() if test is None or len(outcomes) < 2 else set(test(outcomes))
