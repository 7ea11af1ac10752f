"""L-BFGS: least squares, Rosenbrock's valley, what is said when it stops early, callbacks, and single steps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import line_search, rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning

from semproj._solvers.lbfgs import LimitedMemory, minimize_lbfgs
from semproj._solvers.wolfe import Point, wolfe_step
from tests.support import same_bits

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


def valley_of(x):
    value, gradient = valley(x.astype(np.float64).ravel())
    return float(value), gradient.reshape(x.shape).astype(x.dtype)


class TestSteps:
    """One at a time, from a state that can be saved."""

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_fall_to_the_minimum(self, dtype):
        steps = LimitedMemory(valley_of, START[None].astype(dtype))
        values = [steps.value]
        while steps.step():
            values.append(steps.value)
            assert steps.value == valley_of(steps.x)[0]
            assert same_bits(steps.gradient, valley_of(steps.x)[1])
        assert len(values) < 100
        assert (np.diff(values) <= 0).all()
        assert steps.x.dtype == dtype
        np.testing.assert_allclose(steps.x, 1, atol=1e-3 if dtype == np.float32 else 1e-6)

    def test_few_more_than_scipys(self):
        """Its steps are those of the same method."""
        seen = []
        solve(callback=lambda step, value, x: seen.append(value))
        steps = LimitedMemory(valley_of, START[None])
        for _ in range(len(seen)):
            steps.step()
        assert steps.value < 1e-6

    @pytest.mark.parametrize("after", [0, 1, 5, 20])
    def test_taken_up_bit_for_bit(self, after):
        whole = LimitedMemory(valley_of, START[None])
        for _ in range(after):
            whole.step()
        saved = {"projection": whole.x, "gradient": whole.gradient, "moves": whole.moves, "turns": whole.turns}
        other = LimitedMemory.taken_up(valley_of, {k: v.copy() for k, v in saved.items()}, whole.value)
        for _ in range(15):
            assert whole.step() == other.step()
            assert whole.value == other.value
            assert same_bits(whole.x, other.x)

    def test_remembers_so_many(self):
        steps = LimitedMemory(valley_of, START[None])
        for _ in range(30):
            steps.step()
        assert len(steps.moves) == len(steps.turns) == steps.memory

    @pytest.mark.parametrize("grain", [1e-6, 1e-4])
    def test_values_too_coarse_for_a_step(self, grain):
        """Where rounding hides that the value falls there is no step, which nobody is warned of."""

        def coarse(x):
            value, gradient = valley_of(x)
            return grain * np.ceil(value / grain), gradient

        steps = LimitedMemory(coarse, START[None])
        values = [steps.value]
        while steps.step() and len(values) < 200:
            values.append(steps.value)
        assert len(values) < 200
        assert (np.diff(values) <= 0).all()
        assert not steps.step()
        assert values[-1] < 100 * grain

    def test_nowhere_to_go(self):
        steps = LimitedMemory(lambda x: (1.0, np.zeros_like(x)), np.ones((2, 3)))
        assert not steps.step()
        assert np.array_equal(steps.x, np.ones((2, 3)))


LINES = {
    "parabola": lambda t: ((t - 3.0) ** 2, 2 * (t - 3.0)),
    "narrow": lambda t: (200 * (t - 0.01) ** 2, 400 * (t - 0.01)),
    "far": lambda t: (-t / (1 + t / 1000), -1 / (1 + t / 1000) ** 2),
    "waves": lambda t: (np.cos(9 * t) - t, -9 * np.sin(9 * t) - 1),
    "quartic": lambda t: ((t**2 - 2) ** 2 - t, 4 * t * (t**2 - 2) - 1),
    "steep": lambda t: (np.exp(8 * t) - 30 * t, 8 * np.exp(8 * t) - 30),
}


@pytest.mark.parametrize("name", LINES)
def test_step_along_a_line_is_scipys(name):
    line = LINES[name]
    value, slope = line(0.0)
    given = np.zeros(1), np.ones(1), np.array([slope]), value, value - slope / 2
    expected = line_search(lambda t: line(t[0])[0], lambda t: np.array([line(t[0])[1]]), *given, maxiter=20)[0]
    found = wolfe_step(lambda size: Point(size, *line(size)), Point(0.0, value, slope))
    assert found.size == pytest.approx(expected, rel=1e-12)
    assert found.value <= value + 1e-4 * found.size * slope
    assert abs(found.slope) <= -0.9 * slope


def test_step_along_a_line_without_an_end():
    """The last that was looked at is a lower one."""
    found = wolfe_step(lambda size: Point(size, -size, -1.0), Point(0.0, 0.0, -1.0))
    assert found == Point(2.0**20, -(2.0**20), -1.0)
    cliff = wolfe_step(lambda t: Point(t, -t if t < 2**20 else 1.0, -1.0), Point(0.0, 0.0, -1.0))
    assert cliff == Point(2.0**19, -(2.0**19), -1.0)
