"""A user's confidence and target of stored cells, for factorisations with weights (ImplicitALS, WTMF).

The functions are called once for each stored value before the first sweep, and for those of new rows. The solves
read what they returned (c and X of csrc/kernels/rowsolve.h) as they read the library's own weights, and take as
long. Measured on one thread, 1,000,000 values take 2 ms here, and a sweep over them with 100 components 0.5 s: a
pointer to the function inside the solves, which would call it twice a sweep, could only lose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.types import Array
from ._function import Argument, check_function
from .cells import map_cells

_CONFIDENCE = Argument("confidence", "confidence(value)", (1.0,))
_TARGET = Argument("target", "target(value)", (1.0,))


def check_functions(confidence: Any, target: Any) -> None:
    """Check those that are given."""
    for function, argument in ((confidence, _CONFIDENCE), (target, _TARGET)):
        if function is not None:
            check_function(function, argument)


def map_rows(X: Any, confidence: Any, target: Any, n_threads: int) -> tuple[Any, Array | None]:
    """The targets of the entries of a CSR matrix, at their places, and their weights; None without a function."""
    targets, weights = None, None
    if target is not None:
        targets = type(X)((_values(target, _TARGET, X, n_threads), X.indices, X.indptr), shape=X.shape)
    if confidence is not None:
        weights = _values(confidence, _CONFIDENCE, X, n_threads)
        negative = weights < 0
        if negative.any():
            i = int(negative.argmax())
            raise ValueError(
                f"confidence: expected at least 0, the function returned {weights[i]:g} {_cell_of(X)(i)}"
            )
    return targets, weights


def _values(function: Any, argument: Argument, X: Any, n_threads: int) -> Array:
    out = np.empty(X.nnz, X.dtype if X.dtype.kind == "f" else np.float64)
    map_cells(function, argument, [X.data], out, n_threads, _cell_of(X))
    return out


def _cell_of(X: Any) -> Callable[[int], str]:
    """Names the cell of an entry."""

    def where(i: int) -> str:
        row = int(np.searchsorted(X.indptr, i, side="right")) - 1
        return f"for X[{row}, {X.indices[i]}], which is {X.data[i]:g}"

    return where
