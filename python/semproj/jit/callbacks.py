"""A user's scalar function as a C function over arrays, for loops in C++ that call it by its address.

Its signature is ``int32 f(const double* a, const double* b, const double* c, double* out, int64 n)``: one call does
n cells, and the function is inlined in the loop, which is vectorised if there is nothing in it to raise. It returns
1 if the function raised; what it left of `out` is then as it was.

A division by zero gives an infinity or NaN here, as in NumPy, and not an error: a test at every division would keep
the loop from being vectorised. The C++ loop stops at what is not finite, and the function is called once more, as
Python has it, to say what is wrong.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numba
from numba import types

from ._function import Argument

_SIGNATURE = types.int32(*[types.CPointer(types.float64)] * 4, types.int64)


@functools.lru_cache(maxsize=64)
def array_callback(function: Callable[[float, float, float], float]) -> Any:
    """The callback of a function of three numbers. Its ``address`` is good as long as it is kept."""
    scalar = numba.njit(error_model="numpy")(getattr(function, "py_func", function))

    @numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
    def loop(first: Any, second: Any, third: Any, out: Any, n: Any) -> Any:  # pragma: no cover - compiled
        a, b, c = numba.carray(first, n), numba.carray(second, n), numba.carray(third, n)
        found = numba.carray(out, n)
        for i in range(n):
            found[i] = scalar(a[i], b[i], c[i])
        return 0

    @numba.cfunc(_SIGNATURE, error_model="numpy")  # type: ignore[untyped-decorator]
    def callback(first: Any, second: Any, third: Any, out: Any, n: Any) -> Any:  # pragma: no cover - compiled
        try:
            return loop(first, second, third, out, n)
        except Exception:  # uncaught, it would be printed
            return 1

    return callback


def failed_call(
    function: Callable[..., float], argument: Argument, values: tuple[float, ...], where: str
) -> ValueError:
    """What to raise for a call that went wrong: the function is called again, to see how."""
    given = ", ".join(f"{value:g}" for value in values)
    called = f"for ({given}) of {where}; it is called as {argument.call}"
    try:
        found = getattr(function, "py_func", function)(*values)
    except Exception as error:
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        failure = ValueError(f"{argument.name}: the function raised {what} {called}")
        failure.__cause__ = error
        return failure
    kind = "finite" if math.isfinite(found) else "a finite number"
    return ValueError(f"{argument.name}: the function returned {found}, expected {kind}, {called}")
