"""A user's function of one number, or of a few, over many cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.cpython.unsafe.tuple import tuple_setitem

from .._common.types import Array
from ._function import Argument, Loop, known_to_numba, loop_around
from ._loops import run


def map_cells(
    function: Callable[..., float],
    argument: Argument,
    columns: Sequence[Any],
    out: Array,
    n_threads: int,
    where: Callable[[int], str],
) -> Array:
    """Fill ``out[i] = function(columns[0][i], columns[1][i], ...)``; a column may be one number.

    Numbers come as int64 and float64. ValueError names the first cell, as `where` words it, for which the function
    raises an error or returns NaN or infinity.
    """
    given: tuple[Any, ...] = tuple(_plain(np.broadcast_to(np.asarray(column), len(out))) for column in columns)
    loop = _LOOPS.get(len(given), _many)
    if loop is _many:  # the columns after the first are of one type
        given = given[0], given[1:], (0,) * len(given[1:])
    run(
        loop,
        function,
        argument,
        *given,
        out,
        n_cells=len(out),
        n_threads=n_threads,
        where=where,
    )
    if not (finite := np.isfinite(out)).all():
        cell = int(finite.argmin())
        raise ValueError(
            f"{argument.name}: the function returned {out[cell]} {where(cell)}; it is called as {argument.call}"
        )
    return out


def _plain(column: Array) -> Array:
    """Contiguous or one number, and read-only, so that one compiled loop serves all callers."""
    view = known_to_numba(column if column.strides == (0,) else np.ascontiguousarray(column)).view()
    view.flags.writeable = False
    return view


# A loop for each number of columns: Numba compiles none for a number that it does not know. By the product with an
# integer, int32 becomes int64 and float32 becomes float64, so that a function is compiled once.
@loop_around
def _one(function: Any) -> Loop:
    def loop(first: Any, last: Any, a: Any, out: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            out[i] = function(a[i] * 1)

    return loop


@loop_around
def _two(function: Any) -> Loop:
    def loop(first: Any, last: Any, a: Any, b: Any, out: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            out[i] = function(a[i] * 1, b[i] * 1)

    return loop


@loop_around
def _three(function: Any) -> Loop:
    def loop(first: Any, last: Any, a: Any, b: Any, c: Any, out: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            out[i] = function(a[i] * 1, b[i] * 1, c[i] * 1)

    return loop


@loop_around
def _four(function: Any) -> Loop:
    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, a: Any, b: Any, c: Any, d: Any, out: Any
    ) -> None:
        for i in range(first, last):
            out[i] = function(a[i] * 1, b[i] * 1, c[i] * 1, d[i] * 1)

    return loop


@loop_around
def _five(function: Any) -> Loop:
    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, a: Any, b: Any, c: Any, d: Any, e: Any, out: Any
    ) -> None:
        for i in range(first, last):
            out[i] = function(a[i] * 1, b[i] * 1, c[i] * 1, d[i] * 1, e[i] * 1)

    return loop


@loop_around
def _many(function: Any) -> Loop:
    def loop(  # pragma: no cover - compiled
        first: Any, last: Any, a: Any, columns: Any, cell: Any, out: Any
    ) -> None:
        for i in range(first, last):
            for c in range(len(columns)):
                cell = tuple_setitem(cell, c, columns[c][i] * 1)
            out[i] = function(a[i] * 1, *cell)

    return loop


_LOOPS = {1: _one, 2: _two, 3: _three, 4: _four, 5: _five}
