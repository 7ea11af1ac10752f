"""Clusters of sparse rows: k-means of their directions in a space of few dimensions.

The rows are projected on their leading singular vectors. There each centre but the first is a row drawn by its
squared distance to the centres before it (k-means++, Arthur and Vassilvitskii 2007): of a few that are drawn, the
one that brings all rows nearest to their centres, so not one that is far from all others. Lloyd's iteration
follows until no row changes its centre, or for twenty rounds. For n rows, k clusters and d dimensions a round
costs ``2 n k d`` flops, the draws ``2 + log k`` times as many. Memory: ``4 n d`` bytes, and what the
projection takes.

Draws come from Philox, products run in fixed blocks or on one thread: bits do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from .._common.base import progress_bar
from .._common.resources import single_threaded_blas
from .._common.types import Array
from .krylov import block_width
from .svd import SparseOperator, leading_vectors

_ROUNDS = 20
_DRAWS = 1 << 20  # the first stream of random numbers that the projection does not use


@single_threaded_blas()
def row_clusters(X: Any, n_clusters: int, *, dimensions: int, key: int, n_threads: int) -> tuple[Array, Array]:
    """The cluster of each row of a float32 CSR matrix, and the cosine to its centre.

    Clusters are below `n_clusters`; some may be empty.
    """
    P = _directions(X, min(dimensions, *X.shape), key, n_threads)
    centres = _spread_rows(P, n_clusters, key, n_threads)
    labels = _nearest(P, centres, n_threads)
    for _ in range(_ROUNDS):
        centres = _centres(P, labels, centres, n_threads)
        before, labels = labels, _nearest(P, centres, n_threads)
        if np.array_equal(before, labels):
            break
    return labels, np.einsum("ij,ij->i", P, centres[labels])


def _directions(X: Any, dimensions: int, key: int, n_threads: int) -> Array:
    """The rows in the space of the leading singular vectors, of length one. A rough space will do."""
    block = block_width(dimensions)
    vectors = leading_vectors(
        SparseOperator(X, None, n_threads=n_threads),
        dimensions,
        size=dimensions + 4 * block,
        solver="randomized",
        tol=0.0,
        max_restarts=0,
        key=key,
        progress=progress_bar(False, "", None),
    ).components
    P = SparseOperator(X, None, n_threads=n_threads, transposed=False).right(np.ascontiguousarray(vectors.T))
    _core.unit_rows(P, n_threads)
    return P


def _spread_rows(P: Array, n: int, key: int, n_threads: int) -> Array:
    """Rows far from each other, and near to others. When there are no more, those that there are."""
    trials = 2 + int(math.log(n))
    draws = uniform(n * trials, key, _DRAWS, n_threads).reshape(n, trials)
    chosen = [min(int(draws[0, 0] * len(P)), len(P) - 1)]
    distances = _distances(P, chosen)[:, 0]
    for some in draws[1:]:
        ends = np.cumsum(distances)
        if ends[-1] <= np.finfo(np.float32).eps * len(P):
            break
        drawn = np.minimum(np.searchsorted(ends, some * ends[-1], side="right"), len(P) - 1)
        left = np.minimum(distances[:, None], _distances(P, drawn))
        best = int(left.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        distances = left[:, best]
    return P[chosen]


def _distances(P: Array, chosen: Any) -> Array:
    """Half the squared distances of all rows to the chosen ones."""
    distances: Array = np.maximum(1.0 - (P @ P[chosen].T).astype(np.float64), 0.0)
    return distances


def _nearest(P: Array, centres: Array, n_threads: int) -> Array:
    """The nearest centre of each row; of a zero row, which has none, the first."""
    nearest: Array = np.maximum(_core.top_k(P, centres, 1, "cosine", n_threads).indices[:, 0], 0)
    return nearest


def _centres(P: Array, labels: Array, before: Array, n_threads: int) -> Array:
    """The mean directions of clusters; those without rows stay where they were."""
    rows = len(P)
    members = sp.csr_matrix((np.ones(rows, np.float32), (labels, np.arange(rows))), shape=(len(before), rows))
    centres: Array = np.ascontiguousarray(members @ P)
    _core.unit_rows(centres, n_threads)
    empty = ~centres.any(axis=1)
    centres[empty] = before[empty]
    return centres


def uniform(n: int, key: int, stream: int, n_threads: int) -> Array:
    """Uniform draws from (0, 1]: of two normals, the chance to be as near to the origin."""
    normals = np.empty((n, 2), np.float64)
    _core.fill_normal(normals, key, stream, n_threads)
    draws: Array = np.exp(-0.5 * np.square(normals).sum(axis=1))
    return draws
