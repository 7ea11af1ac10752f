"""A user's distance between two rows, inlined into the loops of retrieval.

A task takes 8 queries and 64 corpus rows at a time, so that the rows come from a near cache; each query keeps its
k best in order. A task writes only what it owns, and a query sees the corpus in order: the result does not depend
on the number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from .._common.types import Array
from ._loops import compiled, run

_QUERIES, _ROWS = 8, 64
TIE = 1e-6


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _insert(distances: Any, ids: Any, distance: Any, row: Any) -> None:  # pragma: no cover - compiled
    """Insert into a sorted list, behind equal distances, which came earlier; the last element drops out."""
    at = len(distances) - 1
    while at > 0 and distances[at - 1] > distance:
        distances[at], ids[at] = distances[at - 1], ids[at - 1]
        at -= 1
    distances[at], ids[at] = distance, row


@functools.lru_cache(maxsize=64)
def _nearest_loop(function: Any) -> Any:
    @numba.njit(nogil=True, parallel=True, fastmath=False)  # type: ignore[untyped-decorator]
    def loop(queries: Any, corpus: Any, ids: Any, distances: Any, bad: Any) -> None:  # pragma: no cover - compiled
        n, m = len(queries), len(corpus)
        for block in numba.prange((n + _QUERIES - 1) // _QUERIES):
            for start in range(0, m, _ROWS):
                for q in range(block * _QUERIES, min(n, (block + 1) * _QUERIES)):
                    for c in range(start, min(m, start + _ROWS)):
                        distance = np.float32(function(queries[q], corpus[c]))
                        if not np.isfinite(distance):
                            bad[block] = True
                        elif distance < distances[q, -1]:
                            _insert(distances[q], ids[q], distance, c)

    return loop


@functools.lru_cache(maxsize=64)
def _rank_loop(function: Any) -> Any:
    @numba.njit(nogil=True, parallel=True, fastmath=False)  # type: ignore[untyped-decorator]
    def loop(first: Any, second: Any, bars: Any, ranks: Any, others: Any, bad: Any) -> None:  # pragma: no cover
        n = len(first)
        for i in numba.prange(n):
            distance = function(first[i], second[i])
            bars[i] = distance + abs(distance) * TIE
        # Each slice of queries counts for all columns, in a row of its own.
        slices = len(others)
        for s in numba.prange(slices):
            for i in range(n * s // slices, n * (s + 1) // slices):
                rank = 1
                for j in range(n):
                    distance = function(first[i], second[j])
                    if not np.isfinite(distance):
                        bad[s] = True
                    if i != j:
                        rank += distance <= bars[i]
                        others[s, j] += distance <= bars[j]
                ranks[i] = rank

    return loop


@functools.lru_cache(maxsize=64)
def _count_loop(function: Any) -> Any:
    @numba.njit(nogil=True, parallel=True, fastmath=False)  # type: ignore[untyped-decorator]
    def loop(
        queries: Any, corpus: Any, rivals: Any, starts: Any, rows: Any, nearer: Any, tied: Any, bad: Any
    ) -> None:  # pragma: no cover - compiled
        for q in numba.prange(len(queries)):
            own = np.empty(starts[q + 1] - starts[q])
            for p in range(starts[q], starts[q + 1]):
                own[p - starts[q]] = function(queries[q], corpus[rows[p]])
            for c in range(rivals):
                distance = function(queries[q], corpus[c])
                if not np.isfinite(distance):
                    bad[q] = True
                for p in range(starts[q], starts[q + 1]):
                    if c != rows[p]:
                        pair = own[p - starts[q]]
                        nearer[p] += distance < pair - abs(pair) * TIE
                        tied[p] += abs(distance - pair) <= abs(pair) * TIE

    return loop


def _check(bad: Array) -> None:
    if bad.any():
        raise ValueError("metric: the function returned NaN or infinity")


def nearest(
    function: Callable[..., float], queries: Array, corpus: Array, k: int, n_threads: int
) -> tuple[Array, Array]:
    """Ids and distances of the k nearest corpus rows, in order."""
    ids = np.full((len(queries), k), -1, np.int64)
    distances = np.full((len(queries), k), np.inf, np.float32)
    bad = np.zeros(len(queries) // _QUERIES + 1, np.bool_)
    run(_nearest_loop(compiled(function)), n_threads, _plain(queries), _plain(corpus), ids, distances, bad)
    _check(bad)
    return ids, distances


def partner_ranks(
    function: Callable[..., float], first: Array, second: Array, n_threads: int
) -> tuple[Array, Array]:
    """Ranks of row i of `second` for row i of `first`, and the other way round."""
    n = len(first)
    slices = min(n, 64)
    ranks, others = np.empty(n, np.int64), np.zeros((slices, n), np.int64)
    bad = np.zeros(slices, np.bool_)
    loop = _rank_loop(compiled(function))
    run(loop, n_threads, _plain(first), _plain(second), np.empty(n), ranks, others, bad)
    _check(bad)
    return ranks, 1 + others.sum(axis=0)


def rival_counts(
    function: Callable[..., float],
    queries: Array,
    corpus: Array,
    rivals: int,
    starts: Array,
    rows: Array,
    n_threads: int,
) -> tuple[Array, Array]:
    """For each of `rows`: how many of the first `rivals` corpus rows are nearer to its query, and how many tie."""
    nearer, tied = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    bad = np.zeros(len(queries), np.bool_)
    loop = _count_loop(compiled(function))
    run(loop, n_threads, _plain(queries), _plain(corpus), rivals, starts, rows, nearer, tied, bad)
    _check(bad)
    return nearer, tied


def _plain(rows: Array) -> Array:
    """C-contiguous and read-only, so that one compiled loop serves all callers."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view
