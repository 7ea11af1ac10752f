"""A user's scalar weight over the non-zeros of a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.types import Array
from ._function import Argument, Loop, check_function, known_to_numba, loop_around
from ._loops import run

_WEIGHT = Argument("weight", "weight(count, document_frequency, n_documents, document_length)", (2.0, 3, 10, 5.0))


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


def check_weight(function: Any) -> None:
    check_function(function, _WEIGHT)


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
    run(
        _loop,
        function,
        _WEIGHT,
        X.indptr,
        X.indices,
        known_to_numba(X.data),
        document_frequency,
        n_documents,
        out,
        n_cells=X.shape[0],
        n_threads=n_threads,
        where=lambda row: f"for a term of row {first_row + row}",
    )
    if not (finite := np.isfinite(out)).all():
        cell = int(finite.argmin())
        row = int(np.searchsorted(X.indptr, cell, side="right")) - 1
        what = f"returned {out[cell]} for column {X.indices[cell]} of row {first_row + row}"
        raise ValueError(f"{_WEIGHT.name}: the function {what}; it is called as {_WEIGHT.call}")
