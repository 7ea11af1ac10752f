"""A metric over given vectors: the closed form, planted metrics, and input that makes no sense."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj import BPTF
from semproj.bptf import learn_metric
from tests.support import same_bits


def cells(n_words=25, d=4, n_cells=200, seed=0):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n_words, (2, n_cells))
    return rng.standard_normal((n_words, d)), i, j, rng.standard_normal(n_cells)


def closed_form(V, i, j, values, reg, center, symmetric):
    """Ridge regression on all products of elements; those of a symmetric A on its upper triangle."""
    d = V.shape[1]
    design = np.einsum("ca,cb->cab", V[i], V[j])
    above, right = np.triu_indices(d) if symmetric else np.indices((d, d)).reshape(2, -1)
    basis = np.zeros((len(above), d, d))
    basis[np.arange(len(above)), above, right] = 1
    if symmetric:
        basis[np.arange(len(above)), right, above] = 1
    X = design.reshape(len(i), -1) @ basis.reshape(len(above), -1).T
    weights = (basis**2).sum(axis=(1, 2))  # an element off the diagonal is there twice
    left = values - np.einsum("cab,ab->c", design, center)
    found = np.linalg.solve(X.T @ X / len(i) + reg * np.diag(weights), X.T @ left / len(i))
    return center + np.einsum("p,pab->ab", found, basis)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_closed_form(reg, symmetric):
    V, i, j, values = cells()
    center = np.diag([1.0, -1.0, 0.5, 2.0])
    for at in (np.zeros((4, 4)), center):
        found = learn_metric(V, i, j, values, reg, center=at, symmetric=symmetric, tol=1e-7)
        expected = closed_form(V, i, j, values, reg, at, symmetric)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert np.array_equal(found, found.T) == symmetric


def test_the_order_of_a_pair():
    V, i, j, values = cells()
    turned = np.arange(len(i)) % 3 == 0
    other = np.where(turned, j, i), np.where(turned, i, j)
    np.testing.assert_allclose(learn_metric(V, *other, values), learn_metric(V, i, j, values), atol=1e-5)
    apart = learn_metric(V, *other, values, symmetric=False) - learn_metric(V, i, j, values, symmetric=False)
    assert np.abs(apart).max() > 0.01


def test_a_planted_metric_improves_cells_that_were_not_seen():
    rng = np.random.default_rng(3)
    V, _, _, _ = cells(80, 6)
    square = rng.standard_normal((6, 6))
    A = square + square.T
    i, j = np.triu_indices(80, 1)
    values = np.einsum("ca,ab,cb->c", V[i], A, V[j]) + 0.1 * rng.standard_normal(len(i))
    seen = rng.random(len(i)) < 0.3
    found = learn_metric(V, i[seen], j[seen], values[seen])
    assert np.abs(found - A).max() < 0.05
    rest = ~seen
    error = np.mean((values[rest] - ((V @ found)[i[rest]] * V[j[rest]]).sum(axis=1)) ** 2)
    assert error == pytest.approx(0.01, rel=0.1)


def test_vectors_of_bptf():
    # Around the slice's own diagonal, in float32: the closed form, and no higher error.
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((40, 3))
    i, j = np.triu_indices(40, 1)
    values = (whole[i] * whole[j]).sum(axis=1)
    matrix = sp.coo_array((values, (i, j)), shape=(40, 40))
    model = BPTF(3, burn_in=1, n_samples=1, random_state=0).fit([matrix])
    V, diagonal = model.word_vectors_.astype(np.float64), np.diag(model.perspective_vectors_[0])

    def error(A):
        return np.mean((values - ((V @ A)[i] * V[j]).sum(axis=1)) ** 2)

    found = learn_metric(model.word_vectors_, i, j, values, center=diagonal)
    np.testing.assert_allclose(found, closed_form(V, i, j, values, 1e-4, diagonal, True), atol=1e-4)
    assert error(found) < error(diagonal)
    held = learn_metric(model.word_vectors_, i, j, values, 1e6, center=diagonal)
    np.testing.assert_allclose(held, diagonal, atol=1e-3)


def test_same_bits_for_any_number_of_threads():
    V, i, j, values = cells(2000, 8, 20_000)
    first = learn_metric(V, i, j, values, max_iter=5, tol=1e-3, n_threads=1)
    assert same_bits(first, learn_metric(V, i, j, values, max_iter=5, tol=1e-3, n_threads=2))


def test_too_few_steps_are_said():
    V, i, j, values = cells()
    with pytest.warns(ConvergenceWarning, match=r"after 1 steps, and was to be 1e-09; a larger max_iter or reg"):
        learn_metric(V, i, j, values, max_iter=1, tol=1e-9)


def test_a_tolerance_that_rounding_forbids_is_said():
    V, i, j, values = cells()
    with pytest.warns(ConvergenceWarning, match=r"and was to be 1e-30; a larger tol or reg may help"):
        found = learn_metric(V, i, j, values, tol=1e-30)
    np.testing.assert_allclose(found, closed_form(V, i, j, values, 1e-4, np.zeros((4, 4)), True), atol=1e-6)


def test_nothing_to_learn():
    """Of values of 0 the gradient is 0 for A = 0: that at the center is what it falls from."""
    V, i, j, values = cells()
    nothing = np.zeros_like(values)
    found = learn_metric(V, i, j, nothing, 0.0, center=np.eye(4))
    np.testing.assert_allclose(found, 0, atol=1e-5)
    assert not learn_metric(V, i, j, nothing).any()
    with pytest.warns(ConvergenceWarning, match=r"of that for A = center after 1 steps"):
        learn_metric(V, i, j, nothing, 0.0, center=np.eye(4), max_iter=1)


def test_bad_input():
    V, i, j, values = cells()
    bad = [
        (ValueError, "vectors: expected a matrix of floats, got shape", {"vectors": V[0]}),
        (ValueError, "vectors: expected finite values", {"vectors": np.full_like(V, np.nan)}),
        (ValueError, "values: expected finite numbers, at least one", {"values": values * np.inf}),
        (TypeError, "i: expected numbers of words, got float64", {"i": i.astype(float)}),
        (ValueError, "j: expected numbers of words below 25, got 25 to 25", {"j": np.full_like(j, 25)}),
        (ValueError, "j: expected a word for each of 200 values, got shape", {"j": j[1:]}),
        (ValueError, "reg: expected a finite number", {"reg": -1.0}),
        (
            ValueError,
            r"center: expected finite numbers of shape \(4, 4\), got shape \(3, 3\)",
            {"center": np.eye(3)},
        ),
        (ValueError, "center: expected a symmetric matrix", {"center": np.triu(np.ones((4, 4)))}),
        (ValueError, "max_iter: ", {"max_iter": 0}),
        (ValueError, "tol: ", {"tol": 0.0}),
    ]
    for error, message, changed in bad:
        with pytest.raises(error, match=message):
            learn_metric(**{"vectors": V, "i": i, "j": j, "values": values, **changed})


def test_values_too_large_to_square():
    V, i, j, values = cells()
    with pytest.raises(ValueError, match="values: the squared error is not finite"), np.errstate(all="ignore"):
        learn_metric(V, i, j, 1e200 * values)
