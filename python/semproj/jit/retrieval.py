"""A user's distance between two rows, inlined into the loops of retrieval.

A cell of the work is some queries and some corpus rows, so that the rows come from a near cache. A query sees the
corpus in order, and on one thread: the result does not depend on the number of threads.

A function of one pair reads both rows for it, 25 loads of 64 bytes at 200 numbers, where tiles of the built-in
kernels share them. Measured, a sum of products takes 9 ns, and 2 ns there.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp

from .._common.types import Array
from ._function import Argument, Loop, loop_around
from ._loops import run

_METRIC = Argument("metric", "metric(u, v) with two read-only float32 vectors, and returns a number")
_SPARSE_METRIC = Argument(
    "metric",
    "metric(indices_a, values_a, indices_b, values_b) with the columns, ascending, and float32 values of two "
    "rows, and returns a number",
)
_QUERIES, _ROWS = 8, 64
_RIVALS = 512
_SLICES = 64
TIE = 1e-6
_NONE = np.iinfo(np.int64).max  # no row


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _insert(distances: Any, ids: Any, distance: Any, row: Any) -> None:  # pragma: no cover - compiled
    """Insert into a sorted list, behind equal distances, which came earlier; the last element drops out."""
    at = len(distances) - 1
    while at > 0 and distances[at - 1] > distance:
        distances[at], ids[at] = distances[at - 1], ids[at - 1]
        at -= 1
    distances[at], ids[at] = distance, row


def _inlined(function: Any, distance: Any) -> Any:
    """With a name that says which function it is of, as its symbol must be of no other."""
    distance.__qualname__ = f"{distance.__name__}_{function.py_func.__qualname__}"
    return numba.njit(forceinline=True)(distance)


def _dense(function: Any) -> Any:
    """The distance of row i of one matrix and row j of another; a matrix is a tuple of its arrays."""

    def of_dense(a: Any, i: Any, b: Any, j: Any) -> Any:  # pragma: no cover - compiled
        return function(a[0][i], b[0][j])

    return _inlined(function, of_dense)


def _sparse(function: Any) -> Any:
    def of_sparse(a: Any, i: Any, b: Any, j: Any) -> Any:  # pragma: no cover - compiled
        of_a, of_b = slice(a[0][i], a[0][i + 1]), slice(b[0][j], b[0][j + 1])
        return function(a[1][of_a], a[2][of_a], b[1][of_b], b[2][of_b])

    return _inlined(function, of_sparse)


def _nearest_loop(metric: Any) -> Loop:
    """A cell is 8 queries and 64 corpus rows. Each query keeps its k best in order."""

    def nearest_loop(
        first: Any, last: Any, n: Any, m: Any, queries: Any, corpus: Any, ids: Any, distances: Any, bad: Any
    ) -> None:  # pragma: no cover - compiled
        strips = (m + _ROWS - 1) // _ROWS
        for cell in range(first, last):
            block, start = cell // strips, cell % strips * _ROWS
            for q in range(block * _QUERIES, min(n, (block + 1) * _QUERIES)):
                for c in range(start, min(m, start + _ROWS)):
                    distance = np.float32(metric(queries, q, corpus, c))
                    if not np.isfinite(distance):
                        bad[q] = min(bad[q], c)
                    elif distance < distances[q, -1]:
                        _insert(distances[q], ids[q], distance, c)

    return nearest_loop


def _pair_loop(metric: Any) -> Loop:
    """A cell is a pair. Other rows are as near as the partner up to the bar."""

    def pair_loop(first: Any, last: Any, left: Any, right: Any, bars: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            distance = metric(left, i, right, i)
            bars[i] = distance + abs(distance) * TIE

    return pair_loop


def _rank_loop(metric: Any) -> Loop:
    """A cell is a query. Each slice of queries counts for all columns, in a row of its own."""

    def rank_loop(
        first: Any, last: Any, left: Any, right: Any, bars: Any, width: Any, ranks: Any, others: Any, bad: Any
    ) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            s = i // width
            bar, columns = bars[i], others[s]
            rank = 1
            for j in range(len(bars)):
                distance = metric(left, i, right, j)
                if not np.isfinite(distance):
                    bad[i] = min(bad[i], j)
                if i != j:
                    rank += distance <= bar
                    columns[j] += distance <= bars[j]
            ranks[i] = rank

    return rank_loop


@loop_around
def _dense_nearest(function: Any) -> Loop:
    return _nearest_loop(_dense(function))


@loop_around
def _dense_pairs(function: Any) -> Loop:
    return _pair_loop(_dense(function))


@loop_around
def _dense_ranks(function: Any) -> Loop:
    return _rank_loop(_dense(function))


@loop_around
def _sparse_nearest(function: Any) -> Loop:
    return _nearest_loop(_sparse(function))


@loop_around
def _sparse_pairs(function: Any) -> Loop:
    return _pair_loop(_sparse(function))


@loop_around
def _sparse_ranks(function: Any) -> Loop:
    return _rank_loop(_sparse(function))


class _Kind(NamedTuple):
    """The loops over rows of one kind, and how a metric of these is called."""

    argument: Argument
    nearest: Any
    pairs: Any
    ranks: Any


_DENSE = _Kind(_METRIC, _dense_nearest, _dense_pairs, _dense_ranks)
_SPARSE = _Kind(_SPARSE_METRIC, _sparse_nearest, _sparse_pairs, _sparse_ranks)


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
                        bad[q] = min(bad[q], rows[p])
            for c in range(start, stop):
                distances[c - start] = function(query, corpus[c])
                if not np.isfinite(distances[c - start]):
                    bad[q] = min(bad[q], c)
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


def _check(bad: Array, argument: Argument) -> None:
    """`bad` has the first row that is at no finite distance from each query, if there is one."""
    if (some := bad < _NONE).any():
        query = int(some.argmax())
        raise ValueError(
            f"{argument.name}: the function returned NaN or infinity for query {query} and row {bad[query]}; "
            f"it is called as {argument.call}"
        )


def nearest(
    function: Callable[..., float], queries: Any, corpus: Any, k: int, n_threads: int
) -> tuple[Array, Array]:
    """Ids and distances of the k nearest corpus rows, in order; rows are arrays or CSR matrices."""
    n, m = queries.shape[0], corpus.shape[0]
    ids, distances = np.full((n, k), -1, np.int64), np.full((n, k), np.inf, np.float32)
    bad = np.full(n, _NONE)
    blocks, strips = _pieces(n, _QUERIES), _pieces(m, _ROWS)
    kind, left, right = _kind(queries, corpus)
    arrays = n, m, left, right, ids, distances, bad
    cells = blocks * strips
    run(kind.nearest, _fast(function), kind.argument, *arrays, n_cells=cells, width=strips, n_threads=n_threads)
    _check(bad, kind.argument)
    return ids, distances


def partner_ranks(function: Callable[..., float], first: Any, second: Any, n_threads: int) -> tuple[Array, Array]:
    """Ranks of row i of `second` for row i of `first`, and the other way round."""
    n, (kind, left, right) = first.shape[0], _kind(first, second)
    width = _pieces(n, _SLICES)
    slices = _pieces(n, width)
    bars, ranks, others = np.empty(n), np.empty(n, np.int64), np.zeros((slices, n), np.int64)
    bad, metric = np.full(n, _NONE), _fast(function)
    run(kind.pairs, metric, kind.argument, left, right, bars, n_cells=n, n_threads=n_threads)
    arrays = left, right, bars, width, ranks, others, bad
    run(kind.ranks, metric, kind.argument, *arrays, n_cells=n, width=width, n_threads=n_threads)
    _check(bad, kind.argument)
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
    bad = np.full(len(queries), _NONE)
    strips = _pieces(rivals, _RIVALS)
    arrays = _plain(queries), _plain(corpus), rivals, starts, rows, np.empty(len(rows)), nearer, tied, bad
    cells = len(queries) * strips
    run(_count_kernel, _fast(function), _METRIC, *arrays, n_cells=cells, width=strips, n_threads=n_threads)
    _check(bad, _METRIC)
    return nearer, tied


def _kind(*matrices: Any) -> tuple[Any, ...]:
    """The kind of the rows, and their arrays."""
    if not sp.issparse(matrices[0]):
        return _DENSE, *((_plain(each),) for each in matrices)
    wide = any(each.indices.dtype.itemsize > 4 for each in matrices)
    index = np.int64 if wide else np.int32
    return _SPARSE, *(
        (
            _plain(each.indptr.astype(np.int64)),
            _plain(each.indices.astype(index, copy=False)),
            _plain(each.data.astype(np.float32, copy=False)),
        )
        for each in matrices
    )


def _fast(function: Any) -> Any:
    """Sums of a plain Python function become vectors, in an order of their own; others stay as they are."""
    return _with_vectors(function) if isinstance(function, types.FunctionType) else function


@functools.lru_cache(maxsize=64)
def _with_vectors(function: Any) -> Any:
    return numba.njit(fastmath={"reassoc", "contract"})(function)


def _pieces(n: int, size: int) -> int:
    return -(-n // size)


def _plain(rows: Array) -> Array:
    """C-contiguous and read-only, so that one compiled loop serves all callers."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view
