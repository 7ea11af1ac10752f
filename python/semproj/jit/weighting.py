"""A user's scalar weight over the non-zeros of a CSR matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from .._common.types import Array
from ._loops import Argument, run

_FUNCTION = Argument(
    "function", "function(count, document_frequency, n_documents, document_length), and returns a number"
)


@functools.lru_cache(maxsize=64)
def _kernel(function: Any) -> Any:
    """The loop with `function` inlined, compiled once per function and dtype. A cell is a row."""

    @numba.njit(nogil=True, fastmath=False)  # type: ignore[untyped-decorator]
    def kernel(  # pragma: no cover - compiled
        first: Any, last: Any, indptr: Any, indices: Any, data: Any, df: Any, n_documents: Any, out: Any
    ) -> None:
        for r in range(first, last):
            length = 0.0
            for i in range(indptr[r], indptr[r + 1]):
                length += data[i]
            for i in range(indptr[r], indptr[r + 1]):
                out[i] = function(float(data[i]), df[indices[i]], n_documents, length)

    return kernel


def weigh(
    function: Callable[..., float] | None,
    X: Any,
    document_frequency: Array,
    n_documents: int,
    out: Array,
    n_threads: int,
) -> None:
    """Fill `out` with ``function(count, df, n_documents, document_length)`` of each non-zero."""
    arrays = X.indptr, X.indices, _known_to_numba(X.data), document_frequency, n_documents, out
    run(_kernel, function, _FUNCTION, *arrays, n_cells=X.shape[0], n_threads=n_threads)


def _known_to_numba(data: Array) -> Array:
    known = data.dtype.kind in "biu" or data.dtype in (np.float32, np.float64)
    return data if known and data.dtype.isnative else data.astype(np.float64)
