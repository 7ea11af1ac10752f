"""A user's distance between two rows, inlined into the loops of retrieval.

A cell of the work is some queries and some corpus rows, so that the rows come from a near cache. A query sees the
corpus in order, and on one thread: the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from .._common.types import Array
from ._function import Argument, Loop, loop_around
from ._loops import run

_METRIC = Argument("metric", "metric(u, v) with two read-only float32 vectors, and returns a number")
_QUERIES, _ROWS = 8, 64
_RIVALS = 512
_SLICES = 64
TIE = 1e-6


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _insert(distances: Any, ids: Any, distance: Any, row: Any) -> None:  # pragma: no cover - compiled
    """Insert into a sorted list, behind equal distances, which came earlier; the last element drops out."""
    at = len(distances) - 1
    while at > 0 and distances[at - 1] > distance:
        distances[at], ids[at] = distances[at - 1], ids[at - 1]
        at -= 1
    distances[at], ids[at] = distance, row


@loop_around
def _nearest_kernel(function: Any) -> Loop:
    """A cell is 8 queries and 64 corpus rows. Each query keeps its k best in order."""

    def kernel(
        first: Any, last: Any, queries: Any, corpus: Any, ids: Any, distances: Any, bad: Any
    ) -> None:  # pragma: no cover - compiled
        n, m = len(queries), len(corpus)
        strips = (m + _ROWS - 1) // _ROWS
        for cell in range(first, last):
            block, start = cell // strips, cell % strips * _ROWS
            for q in range(block * _QUERIES, min(n, (block + 1) * _QUERIES)):
                query = queries[q]
                for c in range(start, min(m, start + _ROWS)):
                    distance = np.float32(function(query, corpus[c]))
                    if not np.isfinite(distance):
                        bad[block] = True
                    elif distance < distances[q, -1]:
                        _insert(distances[q], ids[q], distance, c)

    return kernel


@loop_around
def _pair_kernel(function: Any) -> Loop:
    """A cell is a pair. Other rows are as near as the partner up to the bar."""

    def kernel(first: Any, last: Any, left: Any, right: Any, bars: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            distance = function(left[i], right[i])
            bars[i] = distance + abs(distance) * TIE

    return kernel


@loop_around
def _rank_kernel(function: Any) -> Loop:
    """A cell is a query. Each slice of queries counts for all columns, in a row of its own."""

    def kernel(
        first: Any, last: Any, left: Any, right: Any, bars: Any, width: Any, ranks: Any, others: Any, bad: Any
    ) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            s = i // width
            query, bar, columns = left[i], bars[i], others[s]
            rank = 1
            for j in range(len(right)):
                distance = function(query, right[j])
                if not np.isfinite(distance):
                    bad[s] = True
                if i != j:
                    rank += distance <= bar
                    columns[j] += distance <= bars[j]
            ranks[i] = rank

    return kernel


@loop_around
def _count_kernel(function: Any) -> Loop:
    """A cell is a query and 512 rivals. The first of a query's finds the distances of its own rows."""

    def kernel(
        first: Any,
        last: Any,
        queries: Any,
        corpus: Any,
        rivals: Any,
        starts: Any,
        rows: Any,
        own: Any,
        nearer: Any,
        tied: Any,
        bad: Any,
    ) -> None:  # pragma: no cover - compiled
        strips = (rivals + _RIVALS - 1) // _RIVALS
        distances = np.empty(_RIVALS)  # threads would wait for each other's cache lines if they counted in place
        for cell in range(first, last):
            q, start = cell // strips, cell % strips * _RIVALS
            stop = min(rivals, start + _RIVALS)
            query = queries[q]
            if start == 0:
                for p in range(starts[q], starts[q + 1]):
                    own[p] = function(query, corpus[rows[p]])
                    if not np.isfinite(own[p]):
                        bad[q] = True
            for c in range(start, stop):
                distances[c - start] = function(query, corpus[c])
                if not np.isfinite(distances[c - start]):
                    bad[q] = True
            for p in range(starts[q], starts[q + 1]):
                pair, slack = own[p], abs(own[p]) * TIE
                n_nearer = n_tied = 0
                for c in range(start, stop):
                    distance = distances[c - start]
                    if c != rows[p]:
                        n_nearer += distance < pair - slack
                        n_tied += abs(distance - pair) <= slack
                nearer[p] += n_nearer
                tied[p] += n_tied

    return kernel


def _check(bad: Array) -> None:
    if bad.any():
        raise ValueError("metric: the function returned NaN or infinity")


def nearest(
    function: Callable[..., float], queries: Array, corpus: Array, k: int, n_threads: int
) -> tuple[Array, Array]:
    """Ids and distances of the k nearest corpus rows, in order."""
    ids = np.full((len(queries), k), -1, np.int64)
    distances = np.full((len(queries), k), np.inf, np.float32)
    blocks, strips = _pieces(len(queries), _QUERIES), _pieces(len(corpus), _ROWS)
    bad = np.zeros(blocks, np.bool_)
    arrays = _plain(queries), _plain(corpus), ids, distances, bad
    run(_nearest_kernel, function, _METRIC, *arrays, n_cells=blocks * strips, width=strips, n_threads=n_threads)
    _check(bad)
    return ids, distances


def partner_ranks(
    function: Callable[..., float], first: Array, second: Array, n_threads: int
) -> tuple[Array, Array]:
    """Ranks of row i of `second` for row i of `first`, and the other way round."""
    n, left, right = len(first), _plain(first), _plain(second)
    width = _pieces(n, _SLICES)
    slices = _pieces(n, width)
    bars, ranks, others = np.empty(n), np.empty(n, np.int64), np.zeros((slices, n), np.int64)
    bad = np.zeros(slices, np.bool_)
    run(_pair_kernel, function, _METRIC, left, right, bars, n_cells=n, n_threads=n_threads)
    arrays = left, right, bars, width, ranks, others, bad
    run(_rank_kernel, function, _METRIC, *arrays, n_cells=n, width=width, n_threads=n_threads)
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
    strips = _pieces(rivals, _RIVALS)
    arrays = _plain(queries), _plain(corpus), rivals, starts, rows, np.empty(len(rows)), nearer, tied, bad
    cells = len(queries) * strips
    run(_count_kernel, function, _METRIC, *arrays, n_cells=cells, width=strips, n_threads=n_threads)
    _check(bad)
    return nearer, tied


def _pieces(n: int, size: int) -> int:
    return -(-n // size)


def _plain(rows: Array) -> Array:
    """C-contiguous and read-only, so that one compiled loop serves all callers."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view
