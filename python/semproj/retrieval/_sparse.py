"""Nearest rows among sparse ones: by cosine and inner product in C++, by a user's metric in Numba."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from .. import _core
from .._common.types import Array
from .._common.validation import as_csr, check_finite, core_csr, without_duplicates

SPARSE_METRICS = ("cosine", "inner_product")


def are_sparse(*matrices: Any) -> bool:
    """Whether all of them are scipy's sparse matrices."""
    return all(sp.issparse(matrix) for matrix in matrices)


def sparse_rows(matrix: Any, name: str) -> Any:
    """Return a checked CSR matrix with one entry for each cell."""
    rows = as_csr(matrix, name)
    if rows.shape[1] == 0:
        raise ValueError(f"{name}: expected at least one column")
    return without_duplicates(rows)


def check_sparse_metric(metric: Any) -> None:
    """Check that there is such a metric of sparse rows."""
    if not callable(metric) and metric not in SPARSE_METRICS:
        known = ", ".join(map(repr, SPARSE_METRICS))
        raise ValueError(f"metric: expected {known} or a function for sparse rows, got {metric!r}")


def nearest(queries: Any, corpus: Any, k: int, metric: Any, n_threads: int) -> tuple[Array, Array]:
    """Ids and scores of the k nearest rows of what `sparse_rows` returned."""
    if callable(metric):
        from ..jit import retrieval

        check_finite(queries.data, "queries")
        check_finite(corpus.data, "corpus")
        return retrieval.nearest(metric, queries, corpus, k, n_threads)
    best = _core.sparse_top_k(core_csr(queries, "queries"), core_csr(corpus, "corpus"), k, metric, n_threads)
    return best.indices, best.scores
