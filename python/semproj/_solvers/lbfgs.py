"""Smooth functions minimised by L-BFGS, to a gradient that is small on the problem's own scale."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from .._common.types import Array
from .wolfe import Point, wolfe_step


def minimize_lbfgs(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    *,
    max_iter: int,
    tol: float,
    scale: float,
    scale_name: str,
    callback: Callable[[int, float, Array], object] | None = None,
) -> Array:
    """Where `objective`, which returns its value and its gradient, is least.

    Stops when no element of the gradient is above ``tol * scale``; warns if it stops before. `scale_name` says in
    the warning which gradient the scale is from. ``callback(step, value, x)`` may keep x and ends the work by
    returning something true, without a warning. Raises ValueError if the objective or its gradient is not finite.
    """
    n_steps, ended = 0, False

    def report(intermediate_result: Any) -> None:  # scipy goes by the name of the argument
        nonlocal n_steps, ended
        n_steps += 1
        # A copy, as scipy changes x in place.
        if callback is not None and callback(n_steps, intermediate_result.fun, intermediate_result.x.copy()):
            ended = True
            raise StopIteration

    options = {"maxiter": max_iter, "gtol": tol * scale, "ftol": 0.0, "maxfun": 10 * max_iter}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", callback=report, options=options)
    steepest = float(np.abs(found.jac).max())
    if not (np.isfinite(found.fun) and np.isfinite(steepest)):
        raise ValueError(f"the objective is not finite after {found.nit} steps")
    if steepest > tol * scale and not ended:
        advice = "a larger max_iter or reg" if found.nit >= max_iter else "a larger tol or reg"
        warnings.warn(
            f"the gradient is {steepest / scale:.1e} of that {scale_name} after {found.nit} steps, and was to be "
            f"{tol:g}; {advice} may help",
            ConvergenceWarning,
            stacklevel=3,
        )
    least: Array = found.x
    return least


class LimitedMemory:
    """The same method one step at a time, with a state that can be saved: scipy's keeps its own to itself.

    Directions are those of Nocedal and Wright, algorithm 7.4, in the dtype of `x`; steps meet the strong Wolfe
    conditions, so that the value never rises.
    """

    memory = 10

    def __init__(self, objective: Callable[[Array], tuple[float, Array]], x: Array) -> None:
        self._objective, self.x = objective, x
        self.value, self.gradient = objective(x)
        self.moves = np.empty((0, *x.shape), x.dtype)  # of x, and of its gradient, in the last steps
        self.turns = np.empty((0, *x.shape), x.dtype)

    @classmethod
    def taken_up(
        cls, objective: Callable[[Array], tuple[float, Array]], arrays: dict[str, Array], value: float
    ) -> LimitedMemory:
        """From what was saved of another."""
        steps = cls.__new__(cls)
        steps._objective, steps.x, steps.value = objective, arrays["projection"], value
        steps.gradient, steps.moves, steps.turns = arrays["gradient"], arrays["moves"], arrays["turns"]
        return steps

    def step(self) -> bool:
        """Take one step; False if there is none that the rounding of the objective lets one see."""
        found = self._search(self._direction())
        if found is None and len(self.moves):
            self.moves, self.turns = self.moves[:0], self.turns[:0]
            found = self._search(self._direction())
        if found is None:
            return False
        x, value, gradient = found
        move, turn = x - self.x, gradient - self.gradient
        if _dot(move, turn) > 0:
            self.moves = np.concatenate([self.moves[-self.memory + 1 :], move[None]])
            self.turns = np.concatenate([self.turns[-self.memory + 1 :], turn[None]])
        self.x, self.value, self.gradient = x, value, gradient
        return True

    def _direction(self) -> Array:
        q = -self.gradient
        products = [_dot(move, turn) for move, turn in zip(self.moves, self.turns, strict=True)]
        shares = np.zeros(len(products))
        for i in reversed(range(len(products))):
            shares[i] = _dot(self.moves[i], q) / products[i]
            q -= q.dtype.type(shares[i]) * self.turns[i]
        if len(products):
            q *= q.dtype.type(products[-1] / _dot(self.turns[-1], self.turns[-1]))
        else:  # a hundredth of x's own length
            length, of_gradient = np.sqrt(_dot(self.x, self.x)), np.sqrt(_dot(q, q))
            q *= q.dtype.type(0.01 * (length or 1.0) / (of_gradient or 1.0))
        for i in range(len(products)):
            q += q.dtype.type(shares[i] - _dot(self.turns[i], q) / products[i]) * self.moves[i]
        return q

    def _search(self, direction: Array) -> tuple[Array, float, Array] | None:
        """A point on a line, its value and its gradient."""
        slope = _dot(self.gradient, direction)
        if not slope < 0:
            return None
        seen: dict[float, tuple[Array, float, Array]] = {}

        def reach(size: float) -> tuple[Array, float, Array]:
            if size not in seen:
                seen.clear()  # each is as long as x
                x = self.x + self.x.dtype.type(size) * direction
                seen[size] = (x, *self._objective(x))
            return seen[size]

        def at(size: float) -> Point:
            _, value, gradient = reach(size)
            return Point(size, value, _dot(gradient, direction))

        found = wolfe_step(at, Point(0.0, self.value, slope))
        return None if found is None else reach(found.size)


def _dot(x: Array, y: Array) -> float:
    return float(np.einsum("ij,ij->", x, y, dtype=np.float64))
