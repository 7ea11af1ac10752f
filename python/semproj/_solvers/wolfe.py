"""How far to go along a line: to the strong Wolfe conditions (Nocedal and Wright 2006, algorithms 3.5 and 3.6).

scipy has the same search. Where it finds no step, it warns, which a minimisation that ends there has no reason to;
and after its last doubling it returns a step that it has not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

SUFFICIENT, CURVATURE = 1e-4, 0.9  # how much lower it must be, and how much less steep
DOUBLINGS, CUTS = 20, 10


@dataclass(frozen=True)
class Point:
    """On a line: how far along, the value there, and its slope."""

    size: float
    value: float
    slope: float


def wolfe_step(at: Callable[[float], Point], start: Point) -> Point | None:
    """A point that is lower than the start and where the line is less steep; None if there is none to be seen.

    The first that is tried is 1. `start` has a negative slope.
    """
    low, high = start, at(1.0)
    for tried in range(DOUBLINGS):
        if not _is_lower(high, start) or (tried and high.value >= low.value):
            return _between(at, start, low, high)
        if abs(high.slope) <= -CURVATURE * start.slope:
            return high
        if high.slope >= 0:
            return _between(at, start, high, low)
        low, high = high, at(2 * high.size)
    return high if _is_lower(high, start) else low


def _is_lower(point: Point, start: Point) -> bool:
    return point.value <= start.value + SUFFICIENT * point.size * start.slope


def _between(at: Callable[[float], Point], start: Point, low: Point, high: Point) -> Point | None:
    """Such a point between two: the first is the lower one."""
    before = start
    for cut in range(CUTS):
        # Lengths within a tenth, or a fifth, of either end would make the interval too little shorter.
        width = abs(high.size - low.size)
        size = _cubic_minimum(low, high, before) if cut else None
        if not _is_inside(size, low, high, 0.2 * width):
            size = _quadratic_minimum(low, high)
            if not _is_inside(size, low, high, 0.1 * width):
                size = (low.size + high.size) / 2
        assert size is not None
        point = at(size)
        if not _is_lower(point, start) or point.value >= low.value:
            before, high = high, point
            continue
        if abs(point.slope) <= -CURVATURE * start.slope:
            return point
        if point.slope * (high.size - low.size) >= 0:
            before, high, low = high, low, point
        else:
            before, low = low, point
    return None


def _is_inside(size: float | None, low: Point, high: Point, margin: float) -> bool:
    if size is None:
        return False
    return min(low.size, high.size) + margin <= size <= max(low.size, high.size) - margin


def _cubic_minimum(a: Point, b: Point, c: Point) -> float | None:
    """Of the cubic through three points, with the slope at the first."""
    to_b, to_c = b.size - a.size, c.size - a.size
    of_b, of_c = b.value - a.value - a.slope * to_b, c.value - a.value - a.slope * to_c
    divisor = (to_b * to_c) ** 2 * (to_b - to_c)
    if divisor == 0:
        return None
    third = (to_c**2 * of_b - to_b**2 * of_c) / divisor
    second = (-(to_c**3) * of_b + to_b**3 * of_c) / divisor
    root = second * second - 3 * third * a.slope
    if not root >= 0 or third == 0 or not math.isfinite(root):
        return None
    return a.size + (-second + math.sqrt(root)) / (3 * third)


def _quadratic_minimum(a: Point, b: Point) -> float | None:
    """Of the parabola through two points, with the slope at the first."""
    width = b.size - a.size
    second = (b.value - a.value - a.slope * width) / (width * width) if width * width else 0.0
    return a.size - a.slope / (2 * second) if second and math.isfinite(second) else None
