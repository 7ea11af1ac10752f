"""A user's scalar weight over the non-zeros of a CSR matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba

from .._common.types import Array
from ._loops import compiled, run


@functools.lru_cache(maxsize=64)
def _loop(function: Any) -> Any:
    """The loop with `function` inlined, compiled once per function and dtype."""

    @numba.njit(nogil=True, parallel=True, fastmath=False)  # type: ignore[untyped-decorator]
    def loop(  # pragma: no cover - compiled
        indptr: Any, indices: Any, data: Any, df: Any, n_documents: Any, out: Any
    ) -> None:
        for r in numba.prange(len(indptr) - 1):
            length = 0.0
            for i in range(indptr[r], indptr[r + 1]):
                length += data[i]
            for i in range(indptr[r], indptr[r + 1]):
                out[i] = function(float(data[i]), df[indices[i]], n_documents, length)

    return loop


def weigh(
    function: Callable[..., float] | None,
    X: Any,
    document_frequency: Array,
    n_documents: int,
    out: Array,
    n_threads: int,
) -> None:
    """Fill `out` with ``function(count, df, n_documents, document_length)`` of each non-zero."""
    run(_loop(compiled(function)), n_threads, X.indptr, X.indices, X.data, document_frequency, n_documents, out)
