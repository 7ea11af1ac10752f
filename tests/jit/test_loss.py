"""A loss of one's own: its derivative, the built-in one written in Python, other losses, threads, and mistakes."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import semproj as sj
from semproj import _core
from semproj._common.resources import single_threaded_blas
from semproj.jit.contrasts import pair_losses, sample_losses
from tests.support import same_bits

AT = np.linspace(-2, 1.99, 41)  # beside kinks


def rows(m, k, dtype=np.float64):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((m, k))
    V = U + rng.standard_normal((m, k))
    return [(x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype) for x in (U, V)]


def contrast(loss, U, V, shares=(0.5, 0.5), n_threads=2):
    of_u, of_v = np.empty_like(U), np.empty_like(V)
    with single_threaded_blas():
        return pair_losses(loss, U, V, *shares, of_u, of_v, n_threads), of_u, of_v


def logistic(difference):
    return math.log1p(math.exp(-10 * difference))


def squared_hinge(difference):
    return max(0.0, 0.5 - difference) ** 2


@numba.njit
def scaled(difference):
    return 3 * difference


def branching(difference):
    total = 0.0
    for power in range(1, 4):
        total += scaled(difference) ** power if difference > 0.31 else -difference / power
    return total


LOSSES = {
    "logistic": logistic,
    "NumPy": lambda d: np.logaddexp(0.0, -4 * d),
    "hinge": lambda d: np.maximum(0.51 - d, 0.0),
    "squared hinge": squared_hinge,
    "constant part": lambda d: 0.0 if d > 0.31 else (0.31 - d) * (0.31 - d),
    "branches": branching,
    "exponential": lambda d: np.exp(-d) + np.expm1(d) / 2,
    "roots": lambda d: np.sqrt(1 + d**2) - math.log(3 - d) + abs(d - 0.03),
    "waves": lambda d: math.sin(d) * math.cos(2 * d) + np.tanh(d) + math.atan(-d) + math.erf(d / 3),
    "powers": lambda d: (d + 3) ** 1.5 + 2.0**d + (d + 3) ** d + 1 / (d + 4) + min(d, 0.03 - d),
}


@pytest.mark.parametrize("name", LOSSES)
def test_its_derivative_is_found(name):
    found = sample_losses(LOSSES[name], AT)
    h = 1e-6
    plain = getattr(LOSSES[name], "py_func", LOSSES[name])
    np.testing.assert_allclose(found[:, 0], [plain(x) for x in AT], rtol=1e-13, atol=1e-15)
    slopes = [(plain(x + h) - plain(x - h)) / (2 * h) for x in AT]
    np.testing.assert_allclose(found[:, 1], slopes, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("m", [1, 2, 130, 700])
def test_the_logistic_loss_in_python_is_the_built_in_one(m, shares, dtype):
    U, V = rows(m, 9, dtype)
    built_in = np.empty_like(U), np.empty_like(V)
    with single_threaded_blas():
        value = _core.contrast_gradient(U, V, "logistic", 10.0, *shares, *built_in, 2)
    own = contrast(logistic, U, V, shares)
    tolerance = 3e-6 if dtype == np.float32 else 1e-12  # the built-in one has exponentials in float32
    assert own[0] == pytest.approx(value, rel=tolerance)
    for found, expected in zip(own[1:], built_in, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def with_derivative(difference):
    gap = max(0.0, 0.5 - difference)
    return gap * gap, -2 * gap


@pytest.mark.parametrize("loss", [squared_hinge, with_derivative])
def test_another_loss_against_all_pairs_in_numpy(loss):
    U, V = rows(140, 5)
    cosines = U @ V.T
    others = ~np.eye(140, dtype=bool)
    total, weights = 0.0, np.zeros((140, 140))
    for own in (np.diag(cosines)[:, None], np.diag(cosines)[None, :]):
        gap = np.where(others, np.maximum(0, 0.5 - (own - cosines)), 0)
        total += 0.5 * (gap**2).sum()
        weights += gap
        weights -= np.diag(gap.sum(axis=1 if own.shape[0] == 140 else 0))
    weights /= 140 * 139
    value, of_u, of_v = contrast(loss, U, V)
    assert value == pytest.approx(total / (140 * 139), rel=1e-12)
    np.testing.assert_allclose(of_u, weights @ V, rtol=0, atol=1e-14)
    np.testing.assert_allclose(of_v, weights.T @ U, rtol=0, atol=1e-14)


def test_same_bits_for_any_number_of_threads():
    U, V = rows(700, 9, np.float32)
    first = contrast(logistic, U, V, n_threads=1)
    for n_threads in (2, 3):
        other = contrast(logistic, U, V, n_threads=n_threads)
        assert other[0] == first[0]
        assert all(map(same_bits, other[1:], first[1:]))


def test_the_pair_of_what_is_bad_is_named():
    U, V = rows(300, 5)
    differences = np.diag(U @ V.T)[:, None] - U @ V.T
    np.fill_diagonal(differences, np.inf)
    i, j = np.unravel_index(differences.argmin(), differences.shape)
    bar = differences[i, j] + 1e-9

    def undefined(difference):
        return math.nan if difference < bar else difference

    def raising(difference):
        if difference < bar:
            raise ZeroDivisionError("mine")
        return difference

    where = rf"for a difference of {differences[i, j]:g} for rows {i} and {j}; it is called as loss\(difference\)"
    for n_threads in (1, 3):
        with pytest.raises(ValueError, match=f"^loss: the function returned NaN or infinity {where}"):
            contrast(undefined, U, V, (1.0, 0.0), n_threads)
        with pytest.raises(ValueError, match=f"^loss: the function raised ZeroDivisionError: mine {where}"):
            contrast(raising, U, V, (1.0, 0.0), n_threads)


class TestMistakes:
    X = tuple(np.random.default_rng(i).random((20, 6)) for i in range(2))

    def fails(self, loss, message):
        model = sj.S2Net(2, max_iter=2, random_state=0).fit(self.X)
        before = model.components_.copy()
        with pytest.raises((TypeError, ValueError), match=message):
            model.set_params(loss=loss).fit(self.X)
        assert same_bits(model.components_, before)

    def test_a_function_without_a_derivative(self):
        self.fails(lambda d: math.gamma(d), r"^loss: Numba cannot compile the function(.|\n)*it must return both$")
        given = sample_losses(lambda d: (math.gamma(d + 4), 1.0), AT)
        np.testing.assert_allclose(given[:, 0], [math.gamma(x + 4) for x in AT])

    def test_arguments_and_objects(self):
        self.fails(
            lambda d, e: d, r"^loss: Numba cannot compile .* as loss\(difference\)(.|\n)*missing a required"
        )
        listed = [1.0]
        self.fails(lambda d: listed.append(d) or d, "^loss: Numba cannot compile the function")
        self.fails(lambda d: "far", "^loss: Numba cannot compile the function")

    def test_what_it_returns(self):
        self.fails(lambda d: math.nan, r"^loss: the function returned NaN or infinity for a difference of")
        self.fails(lambda d: 1 / (d - d), r"^loss: the function returned NaN or infinity for a difference of")
