"""OPCA against scipy's generalised eigenproblem, planted truth, and the promises of its docstring."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj import CLLSI, DDA, LSA, OPCA, LogTfIdf, MultiTermCounter, metrics
from semproj._solvers.generalized import ConjugateGradient
from semproj.datasets import planted_bilingual
from semproj.opca import _choose_solver, contrasts
from tests.reference.lsa import lsa
from tests.reference.opca import opca, residuals
from tests.support import planted_low_rank, same_bits
from tests.support.multiview import aligned_documents, dense

K = 6
SOLVERS = ["cholesky", "dual", "cg"]
# (documents, terms, languages). Up to 256 terms or documents of all languages are solved whole.
SMALL = [(60, 40, 2), (40, 90, 2), (30, 50, 3), (35, 30, 4)]
LARGE = [(330, 620, 2), (640, 300, 2), (220, 310, 3), (170, 400, 4)]


@functools.cache
def problem(n, p, languages, gamma=0.1):
    views = aligned_documents(n, p, languages)
    return views, opca(dense(views), K, gamma)


def hard_views():
    """Noise and nothing else: a flat spectrum."""
    return [sp.random(320, 310, 0.05, format="csr", random_state=seed) for seed in (0, 1)]


@functools.cache
def hard_problem():
    return opca(dense(hard_views()), 10, 0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SMALL + LARGE)
def test_equal_to_scipy(shape, solver, dtype):
    views, expected = problem(*shape)
    tol = 1e-9 if dtype == np.float64 else 1e-5
    model = OPCA(K, solver=solver, tol=tol, random_state=0).fit([x.astype(dtype) for x in views])
    tight = 1e-9 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=tight)
    size = np.abs(expected.components).max()
    np.testing.assert_allclose(model.components_, expected.components, atol=100 * tight * size)  # signs too
    V = model.components_.astype(np.float64)
    np.testing.assert_allclose(V @ expected.N @ V.T, np.eye(K), atol=10 * tight)
    assert model.components_.dtype == model.eigenvalues_.dtype == dtype
    assert model.solver_ == solver
    assert model.converged_
    assert model.n_features_in_ == shape[1]


@pytest.mark.parametrize("gamma", [1e-3, 10.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_gamma(solver, gamma):
    views, expected = problem(60, 40, 2, gamma)
    model = OPCA(K, gamma=gamma, solver=solver, tol=1e-9, random_state=0).fit(views)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(model.components_, expected.components, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_slow_spectrum(solver):
    """Restarts, and residuals that are what they say."""
    expected = hard_problem()
    model = OPCA(10, solver=solver, tol=1e-8, random_state=0).fit(hard_views())
    assert model.n_iter_ > 1
    assert model.converged_
    assert (model.residuals_ <= 1e-8).all()
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-8)
    assert residuals(expected, model.components_, model.eigenvalues_).max() < 2e-8


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tol", [5e-3, 1e-4])
def test_tol_is_honoured(solver, tol):
    expected = hard_problem()
    model = OPCA(10, solver=solver, tol=tol, random_state=0).fit(hard_views())
    assert residuals(expected, model.components_, model.eigenvalues_).max() <= tol
    assert np.abs(model.eigenvalues_ / expected.eigenvalues - 1).max() <= tol
    assert (model.residuals_ <= tol).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_convergence_warning(solver):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = OPCA(10, solver=solver, tol=1e-13, max_iter=1, random_state=0).fit(hard_views())
    assert not model.converged_
    assert model.n_iter_ == 2
    assert np.isfinite(model.components_).all()


def test_sign_rule():
    V = OPCA(K, random_state=0).fit(problem(60, 40, 2)[0]).components_
    assert (V[np.arange(K), np.abs(V).argmax(axis=1)] > 0).all()


def test_auto_takes_the_smaller_matrix():
    wide, tall = aligned_documents(20, 200), aligned_documents(200, 20)
    assert OPCA(3, random_state=0).fit(wide).solver_ == "dual"
    assert OPCA(3, random_state=0).fit(tall).solver_ == "cholesky"


class TestChoice:
    """Of the cheapest solver, all its terms counted; `benchmarks.solvers` has the seconds."""

    class Steps:
        def __init__(self, steps):
            self.tried, self._steps = None, steps

        def steps(self, most):
            self.tried = most
            return self._steps

    def chosen(self, n, p, rank, steps=10**6, memory=8 << 30):
        rng = np.random.default_rng(0)
        views = [
            sp.random(n, p, 60 / p, "csr", np.float32, rng, data_rvs=lambda k: rng.random(k, np.float32))
            for _ in range(2)
        ]
        tried = self.Steps(steps)
        return _choose_solver(views, contrasts(views), rank, "auto", memory, lambda: tried)[0], tried.tried

    def test_factors_cost_the_cube_of_their_side(self):
        assert self.chosen(10_000, 20_000, 200)[0] == "dual"
        assert self.chosen(10_000, 12_000, 50)[0] == "dual"
        assert self.chosen(12_000, 10_000, 50)[0] == "cholesky"

    def test_conjugate_gradients_that_take_few_steps(self):
        solver, most = self.chosen(5_000, 5_000, 100, steps=5)
        assert solver == "cg"
        assert self.chosen(5_000, 5_000, 100, steps=most)[0] == "cg"
        assert self.chosen(5_000, 5_000, 100, steps=most + 1)[0] != "cg"

    def test_they_are_not_tried_where_they_cannot_be_the_cheapest(self):
        assert self.chosen(300, 4_000, 50, steps=1) == ("dual", None)

    def test_they_are_all_that_fits(self):
        assert self.chosen(10_000, 10_000, 50, memory=150 << 20) == ("cg", None)

    def test_how_many_steps_they_take(self):
        views = aligned_documents(80, 50)
        noise = contrasts(views)
        one, many = (ConjugateGradient(noise, gamma, 1e-6, 1) for gamma in (1e6, 1e-3))
        assert one.steps(50) <= 3
        assert one.steps(1) == 2  # more than asked for
        assert 5 < many.steps(400) <= 400


def test_less_memory_another_solver():
    views, expected = problem(330, 620, 2)
    with pytest.raises(ValueError, match="max_memory: 2000000 bytes are too few for solver 'cholesky'"):
        OPCA(K, solver="cholesky", max_memory=2_000_000).fit(views)
    entries = sum(x.nnz for x in views)
    model = OPCA(K, max_memory=6 * entries * 12, tol=1e-6, random_state=0).fit(views)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("copies", [2, 3])
def test_one_language_twice(solver, copies):
    """No noise but gamma: PCA of the language, its variances times the copies over gamma."""
    D = aligned_documents(60, 40)[0]
    with pytest.warns(UserWarning, match="gamma"):
        model = OPCA(K, gamma=0.5, solver=solver, tol=1e-9, random_state=0).fit([D] * copies)
    pca = lsa(D.toarray(), K, center=True)
    np.testing.assert_allclose(model.eigenvalues_, copies * pca.singular_values**2 / 60 / 0.5, rtol=1e-9)
    np.testing.assert_allclose(model.components_ * np.sqrt(0.5), pca.components, atol=1e-7)


def test_constants_do_not_count():
    """The signal is about the mean of each language; the noise is not."""
    views = [x.toarray() for x in aligned_documents(60, 40)]
    both = OPCA(K, random_state=0).fit([x + 3.0 for x in views])
    np.testing.assert_allclose(both.eigenvalues_, problem(60, 40, 2)[1].eigenvalues, rtol=1e-9)
    one = [views[0] + 3.0, views[1]]
    expected = opca(one, K, 0.1)
    np.testing.assert_allclose(OPCA(K, random_state=0).fit(one).eigenvalues_, expected.eigenvalues, rtol=1e-9)
    assert np.abs(expected.eigenvalues / both.eigenvalues_ - 1).max() > 0.01


def test_order_of_languages():
    views, expected = problem(30, 50, 3)
    model = OPCA(K, random_state=0).fit(views[::-1])
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(model.components_, expected.components, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 80), (330, 310)])
def test_more_components_than_rank(shape, solver, dtype):
    views = [planted_low_rank(*shape, 3, seed=seed, dtype=dtype) for seed in (0, 1)]
    model = OPCA(10, solver=solver, random_state=0).fit(views)
    expected = opca(dense(views), 10, 0.1)
    assert model.components_.shape == (10, shape[1])
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.eigenvalues_[:5], expected.eigenvalues[:5], rtol=5e-3)
    assert (model.eigenvalues_[6:] <= 1e-4 * model.eigenvalues_[0]).all()
    assert (model.eigenvalues_ >= 0).all()
    V = model.components_[:5].astype(np.float64)
    np.testing.assert_allclose(V @ expected.N @ V.T, np.eye(5), atol=1e-2)


def test_seeds():
    views = hard_views()
    a, b, c = (OPCA(K, random_state=seed).fit(views).components_ for seed in (1, 1, 2))
    assert same_bits(a, b)
    assert not same_bits(a, c)


def test_gamma_below_the_precision():
    views = [x.astype(np.float32) * 1000 for x in aligned_documents(20, 90)]
    with pytest.raises(ValueError, match="gamma: too small for float32"):
        OPCA(2, gamma=1e-9, solver="cholesky", random_state=0).fit(views)


def test_values_too_large_for_their_dtype():
    views = [x.astype(np.float32) * np.float32(1e25) for x in aligned_documents(20, 30)]
    with pytest.raises(ValueError, match=r"X\[0\]: values too large"):
        OPCA(2, random_state=0).fit(views)


def test_planted_topics():
    """Held-out translations: OPCA finds nearly all, CL-LSI fewer, shared words alone fewer still."""
    corpus = planted_bilingual(900, n_topics=12, n_terms=500, mean_length=15, noise=0.1, random_state=0)
    counts = MultiTermCounter(max_features=900).fit_transform([corpus.first, corpus.second])
    train, test = [x[:600] for x in counts], [x[600:] for x in counts]
    weighting = LogTfIdf().fit(sp.vstack(train, format="csr"))
    D, held_out = [weighting.transform(x) for x in train], [weighting.transform(x) for x in test]

    def top1(model, rows):
        return metrics.top1(*(model.transform(x) for x in rows))

    found = top1(OPCA(60, random_state=0).fit(D), held_out)
    in_parts = top1(DDA(60, group_size=300, random_state=0).fit(D), held_out)
    lsi = top1(CLLSI(60, random_state=0).fit(train), test)
    untranslated = metrics.top1(*(x.toarray() for x in held_out))
    assert found > 0.93
    assert found > lsi + 0.04
    assert lsi > untranslated + 0.3
    assert 0.75 < in_parts < found
    assert untranslated < 0.2


def test_lsa_completes_the_components_of_a_large_matrix():
    """More components than rank, on either side of the iteration, large enough not to be solved whole."""
    for shape in ((700, 620), (620, 700)):
        model = LSA(12, random_state=0).fit(planted_low_rank(*shape, 5))
        assert model.components_.shape == (12, shape[1])
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(12), atol=1e-10)
        assert (model.singular_values_[5:] < 1e-6 * model.singular_values_[0]).all()
