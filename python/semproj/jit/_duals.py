"""A number and its derivative, as a type of Numba's: a loss is called with it, and so its derivative is found.

A function that is compiled for it computes both at once, by the rules of differentiation; where it asks which of
two numbers is larger, it follows the number. If it returns its own derivative, the other is not computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core.registry import CPUDispatcher
from numba.extending import (
    intrinsic,
    lower_cast,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
)

from . import _elementary as elementary
from ._elementary import choose, inlined


class DualType(types.Type):  # type: ignore[misc]
    """The type of duals; numbers become duals whose derivative is 0."""

    def __init__(self) -> None:
        super().__init__(name="Dual")

    def can_convert_from(self, typing: Any, other: Any) -> Any:
        from numba.core.typeconv import Conversion

        return Conversion.safe if isinstance(other, (types.Number, types.Boolean)) else None

    def unify(self, typing: Any, other: Any) -> Any:
        return self if isinstance(other, (types.Number, types.Boolean)) else None


dual_type = DualType()


@register_model(DualType)
class _DualModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("value", types.float64), ("slope", types.float64)])


make_attribute_wrapper(DualType, "value", "value")
make_attribute_wrapper(DualType, "slope", "slope")


def _made(context: Any, builder: Any, value: Any, slope: Any) -> Any:
    from numba.core import cgutils

    made = cgutils.create_struct_proxy(dual_type)(context, builder)
    made.value, made.slope = value, slope
    return made._getvalue()


@intrinsic  # type: ignore[untyped-decorator]
def dual(typing: Any, value: Any, slope: Any) -> Any:
    """A number and its derivative."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _made(context, builder, *arguments)

    return dual_type(types.float64, types.float64), code


@lower_cast(types.Number, DualType)  # type: ignore[untyped-decorator]
@lower_cast(types.Boolean, DualType)  # type: ignore[untyped-decorator]
def _cast(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    wide = context.cast(builder, value, source, types.float64)
    return _made(context, builder, wide, context.get_constant(types.float64, 0.0))


def _is_dual(kind: Any) -> bool:
    return isinstance(kind, DualType)


def _is_number(kind: Any) -> bool:
    return isinstance(types.unliteral(kind), (types.Integer, types.Float, types.Boolean))


def _overload(*functions: Any) -> Callable[[Any], Any]:
    """Let Numba call this for duals, in line and without asking whether a divisor is zero."""

    def decorate(implementation: Any) -> Any:
        implementation.__annotations__ = {}  # Numba compares these with those of what is returned
        for function in functions:
            overload(function, jit_options=elementary.FLAGS, prefer_literal=True)(implementation)
        return implementation

    return decorate


def _named(function: Any, of: Any, what: str) -> Any:
    """With a name of its own: in a loop that comes from disk, symbols of the same name would be one."""
    function.__qualname__ = f"dual_{of.__name__}_{what}"
    return function


def _inline(function: Any, of: Any, what: str) -> Any:
    return function if isinstance(function, CPUDispatcher) else inlined(_named(function, of, what))


def _of_one(value: Any, slope: Any, *functions: Any) -> None:
    """A function of one number and its derivative, which is given x and the value there."""

    value, slope = _inline(value, functions[0], "value"), _inline(slope, functions[0], "slope")

    def chained(x: float, dx: float) -> Any:  # pragma: no cover - compiled
        there = value(x)
        return dual(there, slope(x, there) * dx)

    chained = _inline(chained, functions[0], "chained")

    @_overload(*functions)
    def implementation(x: Any) -> Any:
        if not _is_dual(x):
            return None

        return _named(lambda x: chained(x.value, x.slope), functions[0], "of")


def _of_two(both: Any, *functions: Any) -> None:
    """A function of two numbers, of which one is a dual: `both` is given their values and derivatives."""
    both = _inline(both, functions[0], "both")

    @_overload(*functions)
    def implementation(x: Any, y: Any) -> Any:
        if _is_dual(x) and _is_dual(y):
            return _named(lambda x, y: both(x.value, x.slope, y.value, y.slope), functions[0], "dd")
        if _is_dual(x) and _is_number(y):
            return _named(lambda x, y: both(x.value, x.slope, float(y), 0.0), functions[0], "dn")
        if _is_number(x) and _is_dual(y):
            return _named(lambda x, y: both(float(x), 0.0, y.value, y.slope), functions[0], "nd")
        return None


# What each function of one number is, and its derivative from x and the value.
_of_one(lambda x: x, lambda x, there: 1.0, operator.pos, float)
_of_one(lambda x: -x, lambda x, there: -1.0, operator.neg)
_of_one(
    lambda x: choose(x < 0.0, -x, x),
    lambda x, there: choose(x < 0.0, -1.0, 1.0),
    abs,
    np.abs,
    math.fabs,
)
_of_one(lambda x: x * x, lambda x, there: 2.0 * x, np.square)
_of_one(lambda x: math.sqrt(x), lambda x, there: 0.5 / there, math.sqrt, np.sqrt)
_of_one(elementary.exp, lambda x, there: there, math.exp, np.exp)
_of_one(elementary.expm1, lambda x, there: there + 1.0, math.expm1, np.expm1)
_of_one(elementary.log, lambda x, there: 1.0 / x, math.log, np.log)
_of_one(elementary.log1p, lambda x, there: 1.0 / (1.0 + x), math.log1p, np.log1p)
_of_one(elementary.tanh, lambda x, there: 1.0 - there * there, math.tanh, np.tanh)
_of_one(lambda x: math.sin(x), lambda x, there: math.cos(x), math.sin, np.sin)
_of_one(lambda x: math.cos(x), lambda x, there: -math.sin(x), math.cos, np.cos)
_of_one(lambda x: math.atan(x), lambda x, there: 1.0 / (1.0 + x * x), math.atan, np.arctan)
_of_one(lambda x: math.erf(x), lambda x, there: 1.1283791670955126 * elementary.exp(-x * x), math.erf)


# What each function of two numbers is, from both and their derivatives.
@inlined  # type: ignore[untyped-decorator]
def _quotient(x: float, dx: float, y: float, dy: float) -> Any:  # pragma: no cover - compiled
    there = x / y
    return dual(there, (dx - there * dy) / y)


@inlined  # type: ignore[untyped-decorator]
def _larger(x: float, dx: float, y: float, dy: float) -> Any:  # pragma: no cover - compiled
    return dual(choose(x >= y, x, y), choose(x >= y, dx, dy))


@inlined  # type: ignore[untyped-decorator]
def _smaller(x: float, dx: float, y: float, dy: float) -> Any:  # pragma: no cover - compiled
    return dual(choose(x <= y, x, y), choose(x <= y, dx, dy))


@inlined  # type: ignore[untyped-decorator]
def _log_of_sum(x: float, dx: float, y: float, dy: float) -> Any:  # pragma: no cover - compiled
    least = elementary.exp(choose(x >= y, y - x, x - y))
    of_x = choose(x >= y, 1.0, least) / (1.0 + least)
    return dual(choose(x >= y, x, y) + elementary.log1p(least), dx * of_x + dy * (1.0 - of_x))


@inlined  # type: ignore[untyped-decorator]
def _power(x: float, dx: float, y: float, dy: float) -> Any:  # pragma: no cover - compiled
    there = x**y
    of_exponent = choose(dy == 0.0, 0.0, there * elementary.log(x) * dy)
    return dual(there, choose(y == 0.0, 0.0, y * x ** (y - 1.0) * dx) + of_exponent)


_of_two(lambda x, dx, y, dy: dual(x + y, dx + dy), operator.add, operator.iadd)
_of_two(lambda x, dx, y, dy: dual(x - y, dx - dy), operator.sub, operator.isub)
_of_two(lambda x, dx, y, dy: dual(x * y, dx * y + x * dy), operator.mul, operator.imul)
_of_two(_quotient, operator.truediv, operator.itruediv)
_of_two(_larger, max, np.maximum)
_of_two(_smaller, min, np.minimum)
_of_two(_log_of_sum, np.logaddexp)
_of_two(lambda x, dx, y, dy: x < y, operator.lt)
_of_two(lambda x, dx, y, dy: x <= y, operator.le)
_of_two(lambda x, dx, y, dy: x > y, operator.gt)
_of_two(lambda x, dx, y, dy: x >= y, operator.ge)
_of_two(lambda x, dx, y, dy: x == y, operator.eq)
_of_two(lambda x, dx, y, dy: x != y, operator.ne)


@_overload(operator.pow, operator.ipow, math.pow, np.power)
def _raised(x, y):  # type: ignore[no-untyped-def]
    if _is_dual(x) and isinstance(y, types.IntegerLiteral) and y.literal_value == 2:
        return lambda x, y: x * x
    if _is_dual(x) and isinstance(y, types.IntegerLiteral) and y.literal_value == 3:
        return lambda x, y: x * x * x
    if _is_dual(x) and _is_dual(y):
        return lambda x, y: _power(x.value, x.slope, y.value, y.slope)
    if _is_dual(x) and _is_number(y):
        return lambda x, y: _power(x.value, x.slope, float(y), 0.0)
    if _is_number(x) and _is_dual(y):
        return lambda x, y: _power(float(x), 0.0, y.value, y.slope)
    return None


def pair_of(result: Any) -> Any:
    """A loss and its derivative, of what a user's function returned: a dual, a number or two numbers."""
    raise NotImplementedError("compiled by Numba only")


@_overload(pair_of)
def _pair_of(result):  # type: ignore[no-untyped-def]
    if _is_dual(result):
        return lambda result: (result.value, result.slope)
    if _is_number(result):
        return lambda result: (float(result), 0.0)
    if isinstance(result, types.BaseTuple) and len(result) == 2:
        if all(map(_is_number, result)):
            return lambda result: (float(result[0]), float(result[1]))
        if all(_is_dual(part) or _is_number(part) for part in result):
            return lambda result: (float_of(result[0]), float_of(result[1]))
    return None


def float_of(x: Any) -> float:
    """The number of a dual, or the number itself."""
    raise NotImplementedError("compiled by Numba only")


@_overload(float_of)
def _float_of(x):  # type: ignore[no-untyped-def]
    if _is_dual(x):
        return lambda x: x.value
    return (lambda x: float(x)) if _is_number(x) else None
