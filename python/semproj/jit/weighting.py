"""A user's weights of the non-zeros of a CSR matrix: of terms in rows, and of the tokens of topic models.

Measured on one thread, a weight with two logarithms takes 8 to 16 ns with those of the C library, one number at a
time, as C++ would by a pointer to the function; in the vectors that LLVM makes of a loop with ours it takes 2 ns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from .._common.functions import UnusableFunction
from .._common.types import Array
from ._function import Argument, Loop, check_function, known_to_numba, loop_around
from ._loops import run
from ._vectors import for_vectors

_WEIGHT = Argument("weight", "weight(count, document_frequency, n_documents, document_length)", (2.0, 3, 10, 5.0))
_AT_ONCE = 256  # non-zeros: their document frequencies stay in the nearest cache
_TOKEN_WEIGHT = Argument("token_weight", "token_weight(count, document_frequency, n_documents)", (2.0, 3, 10))


@loop_around
def _loop(function: Any) -> Loop:
    """A cell is a row."""
    return _loop_of(function)


@loop_around
def _vector_loop(function: Any) -> Loop:
    return _loop_of(for_vectors(function))


@loop_around
def _token_loop(function: Any) -> Loop:
    """The length of a row is of no matter."""
    return _token_loop_of(function)


@loop_around
def _vector_token_loop(function: Any) -> Loop:
    return _token_loop_of(for_vectors(function))


def _loop_of(function: Any) -> Loop:
    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, indptr: Any, indices: Any, data: Any, df: Any, n_documents: Any, out: Any
    ) -> None:
        known = np.empty(_AT_ONCE, np.int64)
        for r in range(first, last):
            length = 0.0
            for i in range(indptr[r], indptr[r + 1]):
                length += data[i]
            for start in range(indptr[r], indptr[r + 1], _AT_ONCE):
                stop = min(start + _AT_ONCE, indptr[r + 1])
                counts, weights = data[start:stop], out[start:stop]
                _look_up(df, indices[start:stop], known)
                for i in range(len(counts)):
                    weights[i] = function(counts[i] * 1.0, known[i], n_documents, length)

    return loop


def _token_loop_of(function: Any) -> Loop:
    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, indptr: Any, indices: Any, data: Any, df: Any, n_documents: Any, out: Any
    ) -> None:
        known = np.empty(_AT_ONCE, np.int64)
        for start in range(indptr[first], indptr[last], _AT_ONCE):
            stop = min(start + _AT_ONCE, indptr[last])
            counts, weights = data[start:stop], out[start:stop]
            _look_up(df, indices[start:stop], known)
            for i in range(len(counts)):
                weights[i] = function(counts[i] * 1.0, known[i], n_documents)

    return loop


@numba.njit(forceinline=True)  # type: ignore[untyped-decorator]
def _look_up(df: Any, columns: Any, known: Any) -> None:  # pragma: no cover - compiled
    """An index that could count from the end would be a branch; none is negative."""
    for i in range(len(columns)):
        known[i] = df[np.uint64(columns[i])]


def check_weight(function: Any) -> None:
    check_function(function, _WEIGHT)


def check_token_weight(function: Any) -> None:
    check_function(function, _TOKEN_WEIGHT)


def weigh(
    function: Callable[..., float] | None,
    X: Any,
    document_frequency: Array,
    n_documents: int,
    out: Array,
    n_threads: int,
    *,
    first_row: int = 0,
) -> None:
    """Fill `out` with ``function(count, df, n_documents, document_length)`` of each non-zero.

    `first_row` is what errors call the first one.
    """
    loops = _vector_loop, _loop
    _weigh(loops, function, _WEIGHT, X, (document_frequency, n_documents), out, n_threads, first_row)


def weigh_tokens(
    function: Callable[..., float], X: Any, document_frequency: Array, n_documents: int, n_threads: int
) -> Array:
    """``function(count, df, n_documents)`` of each non-zero, as float32, or an error if one is negative."""
    out = np.empty(X.nnz, np.float32)
    loops = _vector_token_loop, _token_loop
    _weigh(loops, function, _TOKEN_WEIGHT, X, (document_frequency, n_documents), out, n_threads, 0)
    if len(out) and out.min() < 0:
        _refuse(_TOKEN_WEIGHT, X, int(out.argmin()), out, 0)
    return out


def _weigh(
    loops: tuple[Any, Any],
    function: Any,
    argument: Argument,
    X: Any,
    statistics: tuple[Array, int],
    out: Array,
    n_threads: int,
    first_row: int,
) -> None:
    """By the loop of vectors, if it can be compiled and all is finite; else by the other, which knows errors."""
    arrays = X.indptr, X.indices, known_to_numba(X.data), *statistics, out
    work: dict[str, Any] = {"n_cells": X.shape[0], "n_threads": n_threads}
    work["where"] = lambda row: f"for a term of row {first_row + row}"
    for vectors, make_loop in zip((True, False), loops, strict=True):
        if vectors and isinstance(function, CPUDispatcher):  # compiled as its owner wants it
            continue
        try:
            run(make_loop, function, argument, *arrays, **work)
        except UnusableFunction:
            if not vectors:
                raise
            continue
        if (finite := np.isfinite(out)).all():
            return
    _refuse(argument, X, int(finite.argmin()), out, first_row)


def _refuse(argument: Argument, X: Any, cell: int, out: Array, first_row: int) -> None:
    row = first_row + int(np.searchsorted(X.indptr, cell, side="right")) - 1
    what = f"returned {out[cell]} for column {X.indices[cell]} of row {row}"
    raise ValueError(f"{argument.name}: the function {what}; it is called as {argument.call}")
