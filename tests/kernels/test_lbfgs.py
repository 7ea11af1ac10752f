"""L-BFGS: least squares, Rosenbrock's valley, what is said when it stops early, and callbacks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning

from semproj._solvers.lbfgs import minimize_lbfgs

START = np.array([-1.2, 1.0, 0.7])
SCALE = float(np.abs(rosen_der(START)).max())


def valley(x):
    return rosen(x), rosen_der(x)


def solve(objective=valley, start=START, **options):
    given = {"max_iter": 500, "tol": 1e-8, "scale": SCALE, "scale_name": "at the start", **options}
    return minimize_lbfgs(objective, start, **given)


def least_squares():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 5)), rng.standard_normal(30)

    def objective(x):
        left = A @ x - b
        return float(left @ left), 2 * A.T @ left

    return objective, np.linalg.lstsq(A, b, rcond=None)[0]


def test_least_squares():
    objective, expected = least_squares()
    scale = float(np.abs(objective(np.zeros(5))[1]).max())
    np.testing.assert_allclose(solve(objective, np.zeros(5), scale=scale), expected, atol=1e-7)


@pytest.mark.parametrize("tol", [1e-2, 1e-8])
def test_the_gradient_falls_to_the_tolerance(tol):
    found = solve(tol=tol)
    assert np.abs(rosen_der(found)).max() <= tol * SCALE
    if tol < 1e-6:
        np.testing.assert_allclose(found, 1, atol=1e-5)


def test_the_start_stays_as_it_is():
    start = START.copy()
    solve(start=start)
    assert np.array_equal(start, START)


def test_too_few_steps_are_said():
    message = (
        r"^the gradient is [\d.e-]+ of that at the start after 3 steps, and was to be 1e-08; a larger max_iter"
    )
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        solve(max_iter=3)
    assert caught[0].filename == __file__  # of whoever calls the caller


def test_a_tolerance_that_rounding_forbids_is_said():
    objective, expected = least_squares()
    with pytest.warns(ConvergenceWarning, match="and was to be 1e-30; a larger tol or reg may help"):
        found = solve(objective, np.zeros(5), tol=1e-30)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_callback_sees_every_step():
    seen = []
    found = solve(callback=lambda step, value, x: seen.append((step, value, x)))
    assert [step for step, _, _ in seen] == list(range(1, len(seen) + 1))
    assert np.array_equal(seen[-1][2], found)
    assert all(value == rosen(x) for _, value, x in seen)  # each x is the caller's to keep
    assert np.array_equal(found, solve())


def test_callback_ends_without_a_warning():
    seen = []

    def callback(step, value, x):
        seen.append(x)
        return step == 4

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(callback=callback)
    assert len(seen) == 4
    assert np.array_equal(found, seen[-1])


def test_an_error_in_the_callback_is_raised():
    def callback(step, value, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        solve(callback=callback)


@pytest.mark.parametrize("bad", [(np.nan, np.ones(3)), (np.inf, np.ones(3)), (1.0, np.full(3, np.nan))])
def test_not_finite(bad):
    with pytest.raises(ValueError, match="the objective is not finite after"):
        solve(lambda x: bad)
