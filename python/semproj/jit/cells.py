"""A user's function of the numbers of a cell, over many cells."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from .._common.types import Array
from ._function import Argument
from ._loops import run


@functools.lru_cache(maxsize=64)
def _kernel(function: Any) -> Any:
    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def kernel(first: Any, last: Any, a: Any, b: Any, c: Any, d: Any, n: Any, out: Any) -> None:  # pragma: no cover
        for i in range(first, last):
            out[i] = function(a[i], b[i], c[i], d[i])

    return kernel


@functools.lru_cache(maxsize=64)
def _single(function: Any) -> Any:
    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def kernel(first: Any, last: Any, a: Any, out: Any) -> None:  # pragma: no cover
        for i in range(first, last):
            out[i] = function(a[i])

    return kernel


def map_cells(
    function: Any,
    argument: Argument,
    columns: Sequence[Array],
    out: Array,
    n_threads: int,
    where: Callable[[int], str],
) -> None:
    """out[i] = function(columns[0][i], ..., columns[-1][i]) for all i."""
    if len(columns) == 1:
        run(_single, function, argument, columns[0], out, n_cells=len(out), n_threads=n_threads)
    elif len(columns) == 4:
        run(_kernel, function, argument, *columns, 0, out, n_cells=len(out), n_threads=n_threads)
    else:
        names = ", ".join(f"c{i}" for i in range(len(columns)))
        cells = ", ".join(f"c{i}[i]" for i in range(len(columns)))

        def make(f):
            space = {"f": f}
            exec(f"def kernel(first, last, {names}, out):\n for i in range(first, last):\n  out[i] = f({cells})", space)
            return numba.njit(nogil=True)(space["kernel"])

        run(make, function, argument, *columns, out, n_cells=len(out), n_threads=n_threads)
    bad = np.flatnonzero(~np.isfinite(out))
    if len(bad):
        raise ValueError(f"{argument.name}: returned {out[bad[0]]} for {where(int(bad[0]))}")
