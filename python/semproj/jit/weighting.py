"""A user's weights of the non-zeros of a CSR matrix: of terms in rows, and of the tokens of topic models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.types import Array
from ._function import Argument, Loop, check_function, known_to_numba, loop_around
from ._loops import run

_WEIGHT = Argument("weight", "weight(count, document_frequency, n_documents, document_length)", (2.0, 3, 10, 5.0))


_TOKEN_WEIGHT = Argument("token_weight", "token_weight(count, document_frequency, n_documents)", (2.0, 3, 10))


@loop_around
def _loop(function: Any) -> Loop:
    """A cell is a row."""

    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, indptr: Any, indices: Any, data: Any, df: Any, n_documents: Any, out: Any
    ) -> None:
        for r in range(first, last):
            length = 0.0
            for i in range(indptr[r], indptr[r + 1]):
                length += data[i]
            for i in range(indptr[r], indptr[r + 1]):
                out[i] = function(float(data[i]), df[indices[i]], n_documents, length)

    return loop


@loop_around
def _token_loop(function: Any) -> Loop:
    """A cell is a row, whose length is of no matter."""

    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, indptr: Any, indices: Any, data: Any, df: Any, n_documents: Any, out: Any
    ) -> None:
        for r in range(first, last):
            for i in range(indptr[r], indptr[r + 1]):
                out[i] = function(float(data[i]), df[indices[i]], n_documents)

    return loop


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
    _weigh(_loop, function, _WEIGHT, X, (document_frequency, n_documents), out, n_threads, first_row)


def weigh_tokens(
    function: Callable[..., float], X: Any, document_frequency: Array, n_documents: int, n_threads: int
) -> Array:
    """``function(count, df, n_documents)`` of each non-zero, as float32, or an error if one is negative."""
    out = np.empty(X.nnz, np.float32)
    _weigh(_token_loop, function, _TOKEN_WEIGHT, X, (document_frequency, n_documents), out, n_threads, 0)
    if len(out) and out.min() < 0:
        _refuse(_TOKEN_WEIGHT, X, int(out.argmin()), out, 0)
    return out


def _weigh(
    make_loop: Any,
    function: Any,
    argument: Argument,
    X: Any,
    statistics: tuple[Array, int],
    out: Array,
    n_threads: int,
    first_row: int,
) -> None:
    run(
        make_loop,
        function,
        argument,
        *(X.indptr, X.indices, known_to_numba(X.data), *statistics, out),
        n_cells=X.shape[0],
        n_threads=n_threads,
        where=lambda row: f"for a term of row {first_row + row}",
    )
    if not (finite := np.isfinite(out)).all():
        _refuse(argument, X, int(finite.argmin()), out, first_row)


def _refuse(argument: Argument, X: Any, cell: int, out: Array, first_row: int) -> None:
    row = first_row + int(np.searchsorted(X.indptr, cell, side="right")) - 1
    what = f"returned {out[cell]} for column {X.indices[cell]} of row {row}"
    raise ValueError(f"{argument.name}: the function {what}; it is called as {argument.call}")
