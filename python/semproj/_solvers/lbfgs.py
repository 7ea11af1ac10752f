"""Smooth functions minimised by L-BFGS, to a gradient that is small on the problem's own scale."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from .._common.types import Array


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
