"""A user's scalar function as a C function over arrays, for loops in C++ that call it by its address.

It is ``int32 f(const double* a, const double* b, const double* c, double* out, int64 n)``: one call does n cells,
and the function is inlined in the loop, which is vectorised if nothing in it can raise. It returns 1 if the
function raised an error; the rest of `out` is then as it was.

A division by zero gives an infinity or NaN here, as in NumPy, and not an error: a test at every division would
keep the loop from being vectorised. The C++ loop stops at what is not finite, and the function is called once
more, in Python, to say what is wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.ccallback import CFunc

from .._common.functions import plain_function
from ._cache import digest, kept_on_disk, look_on_disk, named_after
from ._function import Argument

_SIGNATURE = (*[types.CPointer(types.float64)] * 4, types.int64), types.int32
_OPTIONS = {"error_model": "numpy"}


@functools.lru_cache(maxsize=64)
def array_callback(function: Callable[[float, float, float], float]) -> Any:
    """The callback of a function of three numbers, compiled once or found on disk; keep it to keep its address."""
    known = digest(function)
    given = getattr(function, "targetoptions", {})
    options = {k: v for k, v in given.items() if k not in ("parallel", "nopython")} | _OPTIONS
    scalar = numba.njit(**options)(named_after(plain_function(function), known, "quiet_function"))

    def loop(first: Any, second: Any, third: Any, out: Any, n: Any) -> Any:  # pragma: no cover - compiled
        a, b, c = numba.carray(first, n), numba.carray(second, n), numba.carray(third, n)
        found = numba.carray(out, n)
        for i in range(n):
            found[i] = scalar(a[i], b[i], c[i])
        return 0

    compiled_loop = kept_on_disk(loop, known, "array_loop", **_OPTIONS)

    def callback(first: Any, second: Any, third: Any, out: Any, n: Any) -> Any:  # pragma: no cover - compiled
        try:
            return compiled_loop(first, second, third, out, n)
        except Exception:  # uncaught, it would be printed
            return 1

    named = named_after(callback, known, "array_callback")
    made = CFunc(named, _SIGNATURE, locals={}, options=_OPTIONS)
    look_on_disk(made, named, known)
    made.compile()
    return made


def failed_call(
    function: Callable[..., float], argument: Argument, values: tuple[float, ...], where: str
) -> ValueError:
    """What to raise for a call that went wrong: the function is called again, to see how."""
    place = f"for {argument.name}({', '.join(f'{value:g}' for value in values)}) of {where}"
    called = f"it is called as {argument.call}"
    try:
        found = plain_function(function)(*values)
    except Exception as error:
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        failure = ValueError(f"{argument.name}: the function raised {what} {place}; {called}")
        failure.__cause__ = error
        return failure
    return ValueError(f"{argument.name}: the function returned {found} {place}; {called}")
