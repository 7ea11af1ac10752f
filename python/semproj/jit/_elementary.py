"""Exponentials and logarithms that a loop can do for many numbers at once.

Numba calls the C library's for each number. These are arithmetic on float64 and its bits without branches, so
LLVM makes vectors of them. Within two units in the last place, expm1 and tanh within eight.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG2_E, _LOG10_E = 1.4426950408889634, 0.4342944819032518
_ROUND = 6755399441055744.0  # 1.5 * 2^52: in a sum with it, the last bits are the nearest integer
_INF, _NAN = float("inf"), float("nan")

FLAGS = {"forceinline": True, "error_model": "numpy", "fastmath": {"contract"}}
inlined = numba.njit(**FLAGS)


@intrinsic  # type: ignore[untyped-decorator]
def _bits(typing: Any, x: Any) -> Any:
    """Of a float64, as int64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), code


@intrinsic  # type: ignore[untyped-decorator]
def _of_bits(typing: Any, bits: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def choose(typing: Any, condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; both are there already, so that nothing branches."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return types.float64(types.boolean, types.float64, types.float64), code


@inlined  # type: ignore[untyped-decorator]
def _exp_parts(x: float) -> Any:  # pragma: no cover - compiled
    """p and s with exp(x) = s + s p, of x from -708 to 709: exp(r) - 1 by its series, and a power of 2."""
    shifted = x * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    return r + r * r * p, _of_bits((_bits(shifted) + 1023) << 52)


@inlined  # type: ignore[untyped-decorator]
def exp(x: float) -> Any:  # pragma: no cover - compiled
    """Infinity above 709, and below -708 what it is there: 3e-308."""
    p, s = _exp_parts(choose(x < -708.0, -708.0, choose(x > 709.0, 709.0, x)))
    return choose(x > 709.0, _INF, s + s * p)


@inlined  # type: ignore[untyped-decorator]
def expm1(x: float) -> Any:  # pragma: no cover - compiled
    p, s = _exp_parts(choose(x < -708.0, -708.0, choose(x > 709.0, 709.0, x)))
    return choose(x < -708.0, -1.0, choose(x > 709.0, _INF, s * p + (s - 1.0)))


@inlined  # type: ignore[untyped-decorator]
def _log_parts(x: float) -> Any:  # pragma: no cover - compiled
    """n and f with log(x) = n log(2) + f, of a normal x > 0.

    By atanh: log(m) = 2 s + 2 s^3 / 3 + ... with s = (m - 1) / (m + 1), and m from 0.7 to 1.4.
    """
    bits = _bits(x)
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = _of_bits(bits - (k << 52))
    f = m - 1.0
    half, s = 0.5 * f * f, f / (2.0 + f)
    z = s * s
    r = 1.479819860511658591e-01
    r = r * z + 1.531383769920937332e-01
    r = r * z + 1.818357216161805012e-01
    r = r * z + 2.222219843214978396e-01
    r = r * z + 2.857142874366239149e-01
    r = r * z + 3.999999999940941908e-01
    r = r * z + 6.666666666666735130e-01
    return _of_bits(k + 0x4338000000000000) - _ROUND, f - (half - s * (half + r * z))


@inlined  # type: ignore[untyped-decorator]
def _at_the_ends(x: float, log_x: float) -> Any:  # pragma: no cover - compiled
    return choose(x > 0.0, choose(x < _INF, log_x, x), choose(x == 0.0, -_INF, _NAN))


@inlined  # type: ignore[untyped-decorator]
def _log_parts_of_any(x: float) -> Any:  # pragma: no cover - compiled
    small = x < 2.2250738585072014e-308
    n, f = _log_parts(choose(small, x * 18014398509481984.0, x))
    return n - choose(small, 54.0, 0.0), f


@inlined  # type: ignore[untyped-decorator]
def log(x: float) -> Any:  # pragma: no cover - compiled
    n, f = _log_parts_of_any(x)
    return _at_the_ends(x, n * LN2_HIGH + (f + n * LN2_LOW))


@inlined  # type: ignore[untyped-decorator]
def log2(x: float) -> Any:  # pragma: no cover - compiled
    """Exact where x is a power of 2."""
    n, f = _log_parts_of_any(x)
    return _at_the_ends(x, n + f * _LOG2_E)


@inlined  # type: ignore[untyped-decorator]
def log10(x: float) -> Any:  # pragma: no cover - compiled
    return log(x) * _LOG10_E


@inlined  # type: ignore[untyped-decorator]
def log1p(x: float) -> Any:  # pragma: no cover - compiled
    whole = 1.0 + x
    n, f = _log_parts(whole)
    lost = (x - (whole - 1.0)) * (1.0 / whole)  # the derivative is one over the same number: one division
    return _at_the_ends(whole, n * LN2_HIGH + (f + (n * LN2_LOW + lost)))


@inlined  # type: ignore[untyped-decorator]
def tanh(x: float) -> Any:  # pragma: no cover - compiled
    size = choose(x < 0.0, -x, x)
    t = expm1(-2.0 * size)
    found = -t / (t + 2.0)
    return choose(x < 0.0, -found, found)
