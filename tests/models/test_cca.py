"""Ridge CCA against scipy's generalised eigenproblem, and the promises of its docstring."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj import CCA
from tests.reference.cca import cca
from tests.reference.opca import residuals
from tests.support import planted_low_rank, same_bits
from tests.support.multiview import aligned_documents, dense, own_columns

K = 5
SOLVERS = ["cholesky", "dual"]
# (rows, columns of all views, views); each view has columns of its own. Up to 256 on a side are solved whole.
SMALL = [(60, 40, 2), (30, 120, 2), (40, 90, 3), (40, 60, 4)]
LARGE = [(300, 640, 2), (290, 280, 3), (280, 300, 4)]


@functools.cache
def problem(n, p, languages, gamma=1.0):
    views = own_columns(aligned_documents(n, p, languages))
    return views, cca(dense(views), K, gamma)


def hard_views(count):
    return [sp.random(300, 290, 0.05, format="csr", random_state=seed) for seed in range(count)]


@functools.cache
def hard_problem(count):
    return cca(dense(hard_views(count)), 8, 0.01)


def joined(model):
    return np.concatenate([view.components_ for view in model.views_], axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SMALL + LARGE)
def test_equal_to_scipy(shape, solver, dtype):
    views, expected = problem(*shape)
    tight = 1e-9 if dtype == np.float64 else 1e-5
    model = CCA(K, gamma=1.0, solver=solver, tol=tight, random_state=0).fit([x.astype(dtype) for x in views])
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=tight)
    V = joined(model)
    size = np.abs(expected.components).max()
    np.testing.assert_allclose(V, expected.components, atol=100 * tight * size)  # signs too
    V = V.astype(np.float64)
    np.testing.assert_allclose(V @ expected.N @ V.T, np.eye(K), atol=10 * tight)
    assert {model.eigenvalues_.dtype, *(view.components_.dtype for view in model.views_)} == {np.dtype(dtype)}
    assert [view.components_.shape for view in model.views_] == [(K, x.shape[1]) for x in views]
    assert model.solver_ == solver
    assert model.converged_
    if len(views) == 2:  # each view has half of v'Nv
        width = views[0].shape[1]
        half = np.diag(V[:, :width] @ expected.N[:width, :width] @ V[:, :width].T)
        np.testing.assert_allclose(half, 0.5, atol=10 * tight)


@pytest.mark.parametrize("solver", SOLVERS)
def test_projections_correlate(solver):
    """With hardly a ridge, the eigenvalues are the correlations of the projected rows."""
    views = own_columns(aligned_documents(200, 40))
    model = CCA(K, gamma=1e-7, solver=solver, tol=1e-9, random_state=0).fit(views)
    A, B = (model.transform(x, view=m) for m, x in enumerate(views))
    correlations = [np.corrcoef(A[:, i], B[:, i])[0, 1] for i in range(K)]
    np.testing.assert_allclose(correlations, model.eigenvalues_, rtol=1e-4)
    assert (model.eigenvalues_ <= 1 + 1e-9).all()


@pytest.mark.parametrize("gamma", [0.05, 10.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_gamma(solver, gamma):
    views, expected = problem(40, 90, 3, gamma)
    model = CCA(K, gamma=gamma, solver=solver, tol=1e-9, random_state=0).fit(views)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(joined(model), expected.components, atol=1e-6 * np.abs(expected.components).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("count", [2, 3])
def test_slow_spectrum(solver, count):
    expected = hard_problem(count)
    model = CCA(8, gamma=0.01, solver=solver, tol=1e-8, random_state=0).fit(hard_views(count))
    assert model.n_iter_ > 1
    assert model.converged_
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-8)
    assert residuals(expected, joined(model), model.eigenvalues_).max() < 5e-8


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("count", [2, 3])
def test_tol_is_honoured(solver, count):
    expected = hard_problem(count)
    model = CCA(8, gamma=0.01, solver=solver, tol=1e-3, random_state=0).fit(hard_views(count))
    assert (model.residuals_ <= 1e-3).all()
    assert np.abs(model.eigenvalues_ / expected.eigenvalues - 1).max() <= 1e-3
    # Three views and more are solved as S + N: their residuals are relative to 1 + lambda.
    scale = 1.0 if count == 2 else 1 + 1 / model.eigenvalues_
    assert (residuals(expected, joined(model), model.eigenvalues_) <= 1e-3 * scale).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_tol_is_honoured_for_small_correlations(solver):
    views = [0.02 * x for x in hard_views(3)]
    expected = cca(dense(views), 8, 0.01)
    model = CCA(8, gamma=0.01, solver=solver, tol=1e-3, random_state=0).fit(views)
    assert (residuals(expected, joined(model), model.eigenvalues_) <= 1e-3).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_convergence_warning(solver):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = CCA(8, gamma=0.01, solver=solver, tol=1e-14, max_iter=1, random_state=0).fit(hard_views(3))
    assert not model.converged_
    assert np.isfinite(joined(model)).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_constants_do_not_count(solver):
    views, expected = problem(60, 40, 2)
    model = CCA(K, gamma=1.0, solver=solver, random_state=0).fit([x.toarray() + 3.0 for x in views])
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-9)


def test_sign_rule():
    V = joined(CCA(K, random_state=0).fit(problem(60, 40, 2)[0]))
    assert (V[np.arange(K), np.abs(V).argmax(axis=1)] > 0).all()


def test_auto():
    assert CCA(2, random_state=0).fit(problem(30, 120, 2)[0]).solver_ in SOLVERS
    wide = own_columns(aligned_documents(20, 300))
    assert CCA(2, random_state=0).fit(wide).solver_ == "dual"
    assert CCA(2, random_state=0).fit(problem(60, 40, 2)[0]).solver_ == "cholesky"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 80), (300, 310)])
@pytest.mark.parametrize("count", [2, 3])
def test_more_components_than_rank(shape, solver, dtype, count):
    views = [planted_low_rank(*shape, 3, seed=seed, dtype=dtype) for seed in range(count)]
    model = CCA(10, gamma=1.0, solver=solver, random_state=0).fit(views)
    expected = cca(dense(views), 10, 1.0)
    assert np.isfinite(joined(model)).all()
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, atol=1e-3)
    assert (model.eigenvalues_[8:] < 2e-3).all()


@pytest.mark.parametrize(
    "solver",
    [
        "cholesky",
        "dual",
    ],
)
def test_a_view_that_never_changes(solver):
    views = [aligned_documents(40, 30)[0], np.ones((40, 6))]
    model = CCA(2, solver=solver, random_state=0).fit(views)
    np.testing.assert_allclose(model.eigenvalues_, 0, atol=1e-6)


def test_which_view():
    views = problem(60, 40, 2)[0]
    model = CCA(2, random_state=0).fit(views)
    assert same_bits(model.transform(views[1], view=1), model.views_[1].transform(views[1]))
    for view, error in ((2, ValueError), (-1, ValueError), (0.5, TypeError)):
        with pytest.raises(error, match="view: "):
            model.transform(views[0], view=view)
    with pytest.raises(TypeError, match="X: one view cannot be fitted alone"):
        model.views_[0].fit(views[0])


def test_n_components():
    views = problem(60, 40, 2)[0]
    largest = min(x.shape[1] for x in views)
    CCA(largest, random_state=0).fit(views)
    with pytest.raises(ValueError, match=f"n_components: expected at most {largest}"):
        CCA(largest + 1).fit(views)


@pytest.mark.parametrize("solver", SOLVERS)
def test_max_memory(solver):
    with pytest.raises(ValueError, match=f"max_memory: 100000 bytes are too few for solver '{solver}'"):
        CCA(2, solver=solver, max_memory=100_000).fit(problem(300, 640, 2)[0])
