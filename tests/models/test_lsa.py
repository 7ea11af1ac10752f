"""LSA against numpy's SVD, planted truth, and the promises of its docstring."""

from __future__ import annotations

import re
import resource

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from semproj import LSA
from tests.reference.lsa import largest_angle
from tests.reference.lsa import lsa as reference
from tests.support import planted_low_rank, random_counts, same_bits

K = 8


def spectrum(n: int, p: int, *, seed: int = 0, dtype: type = np.float64) -> sp.csr_matrix:
    """Sparse, with a few strong directions above noise and a mean that is far from zero."""
    X = planted_low_rank(n, p, 12, seed=seed) + random_counts(n, p, 0.05, seed=seed) * 0.1
    return sp.csr_matrix(X).astype(dtype)


SHAPES = [(90, 40), (40, 90), (420, 320), (320, 420)]  # the last two are too large for a dense Gram matrix


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("solver", ["randomized", "lanczos"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_equal_to_numpy(shape, dtype, solver, center):
    X = spectrum(*shape, dtype=dtype)
    expected = reference(X.toarray(), K, center=center)
    model = LSA(K, solver=solver, tol=1e-10 if dtype == np.float64 else 1e-5, center=center, random_state=0).fit(X)
    tight = 1e-9 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(model.singular_values_, expected.singular_values, rtol=tight)
    assert largest_angle(model.components_, expected.components) < 10 * tight
    np.testing.assert_allclose(model.components_, expected.components, atol=20 * tight)  # signs too
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance, rtol=20 * tight)
    np.testing.assert_allclose(model.explained_variance_ratio_, expected.explained_variance_ratio, rtol=20 * tight)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(K), atol=tight)
    for array in (model.components_, model.singular_values_, model.explained_variance_):
        assert array.dtype == dtype
    assert model.components_.shape == (K, shape[1])
    Z = model.transform(X)
    assert Z.dtype == dtype
    size = np.abs(X.toarray() @ expected.components.T).max()
    np.testing.assert_allclose(Z, (X.toarray() - expected.mean) @ expected.components.T, atol=30 * tight * size)
    if center:
        np.testing.assert_allclose(model.mean_, expected.mean, rtol=1e-5, atol=1e-7)
    else:
        assert model.mean_ is None


def test_slow_spectrum():
    """White noise has no gaps: "randomized" is near the best rank-k variance, "lanczos" reaches it."""
    X = sp.random(700, 450, 0.02, format="csr", random_state=0, dtype=np.float64)
    best = (reference(X.toarray(), 50).singular_values ** 2).sum()
    randomized = LSA(50, random_state=0).fit(X)
    assert 0.995 * best < (randomized.singular_values_**2).sum() <= best * (1 + 1e-12)
    lanczos = LSA(50, solver="lanczos", tol=1e-9, random_state=0).fit(X)
    assert (lanczos.singular_values_**2).sum() == pytest.approx(best, rel=1e-10)
    assert (lanczos.residuals_ <= 1e-9).all()
    C = (X.T @ X).toarray()
    V, s = lanczos.components_, lanczos.singular_values_
    residuals = np.linalg.norm(C @ V.T - V.T * s**2, axis=0) / s**2
    assert residuals.max() < 1e-8


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (420, 320), (320, 420)])
@pytest.mark.parametrize("solver", ["randomized", "lanczos"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestLowRank:
    def test_recovered_exactly(self, shape, solver, dtype):
        X = planted_low_rank(*shape, 5, dtype=dtype)
        model = LSA(5, solver=solver, random_state=0).fit(X)
        back = model.inverse_transform(model.transform(X))
        eps = np.finfo(dtype).eps
        assert np.abs(back - X.toarray()).max() < 200 * eps * np.abs(X).max()
        assert back.dtype == dtype

    def test_more_components_than_rank(self, shape, solver, dtype):
        X = planted_low_rank(*shape, 5, dtype=dtype)
        model = LSA(9, solver=solver, random_state=0).fit(X)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(9), atol=500 * eps)
        s = model.singular_values_
        np.testing.assert_allclose(s[:5], reference(X.toarray(), 5).singular_values, rtol=50 * eps)
        assert (s[5:] <= 50 * np.sqrt(eps) * s[0]).all()
        assert (np.diff(s) <= 0).all()
        assert np.abs(model.transform(X)[:, 5:]).max() < 1000 * eps * s[0]
        assert model.explained_variance_ratio_.sum() <= 1 + 1e-5


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_all_components(shape, center):
    X = spectrum(*shape)
    model = LSA(20, center=center, random_state=0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X.toarray(), atol=1e-9)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("X", [sp.csr_matrix((30, 20)), sp.csr_matrix((420, 320)), np.ones((30, 20))])
def test_degenerate(X):
    model = LSA(3, random_state=0, center=True).fit(X)
    assert np.abs(model.singular_values_).max() < 1e-6
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)
    assert np.isfinite(model.explained_variance_ratio_).all()
    assert np.abs(model.transform(X)).max() < 1e-6


def test_sign_rule():
    model = LSA(K, random_state=0).fit(spectrum(200, 100))
    peaks = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(K), peaks] > 0).all()


def test_explained_variance_is_that_of_the_transformed_columns():
    X = spectrum(300, 100)
    model = LSA(K, random_state=0).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(model.explained_variance_, Z.var(axis=0), rtol=1e-9)
    ratio = Z.var(axis=0) / X.toarray().var(axis=0).sum()
    np.testing.assert_allclose(model.explained_variance_ratio_, ratio, rtol=1e-9)


class TestPartialFit:
    @pytest.mark.parametrize("center", [False, True])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_exact_when_nothing_is_discarded(self, center, dtype):
        X = planted_low_rank(300, 120, 5, dtype=dtype)
        whole = LSA(6, center=center, random_state=0).fit(X)
        parts = LSA(6, center=center, random_state=0)
        for rows in (X[:100], X[100:103], X[103:299], X[299:]):
            parts.partial_fit(rows)
        tolerance = 1e-8 if dtype == np.float64 else 2e-3
        size = float(whole.singular_values_[0])
        assert parts.n_samples_seen_ == 300
        np.testing.assert_allclose(parts.singular_values_, whole.singular_values_, atol=tolerance * size)
        rank = 5
        assert largest_angle(parts.components_[:rank], whole.components_[:rank]) < tolerance
        np.testing.assert_allclose(
            parts.explained_variance_ratio_, whole.explained_variance_ratio_, atol=10 * tolerance
        )
        if center:
            np.testing.assert_allclose(parts.mean_, whole.mean_, rtol=1e-5, atol=1e-6)
        assert parts.components_.dtype == dtype

    def test_close_otherwise(self):
        X = spectrum(600, 200)
        whole = LSA(K, random_state=0).fit(X)
        parts = LSA(K, random_state=0).fit(X[:400]).partial_fit(X[400:])
        captured = np.linalg.norm(X @ parts.components_.T) / np.linalg.norm(X @ whole.components_.T)
        first_only = LSA(K, random_state=0).fit(X[:400])
        baseline = np.linalg.norm(X @ first_only.components_.T) / np.linalg.norm(X @ whole.components_.T)
        assert baseline < captured <= 1 + 1e-12
        assert captured > 0.99

    def test_wrong_width(self):
        model = LSA(K, random_state=0).fit(spectrum(60, 40))
        with pytest.raises(ValueError, match="X has 41 features"):
            model.partial_fit(spectrum(60, 41))


class TestMemory:
    def setup_method(self):
        self.X = spectrum(6000, 1500, dtype=np.float32)

    def test_same_answer_in_less_memory(self):
        plenty = LSA(20, solver="lanczos", tol=1e-5, random_state=0).fit(self.X)
        with pytest.raises(ValueError, match="max_memory: 100000 bytes are too few") as error:
            LSA(20, max_memory=100_000).fit(self.X)
        needed = int(re.search(r"needs about (\d+)", str(error.value)).group(1))
        tight = LSA(20, solver="lanczos", tol=1e-5, max_memory=int(needed * 1.01), random_state=0).fit(self.X)
        # The first 12 are planted; the noise behind them is a thousand times smaller, at the edge of float32.
        np.testing.assert_allclose(tight.singular_values_[:12], plenty.singular_values_[:12], rtol=1e-5)
        assert largest_angle(tight.components_[:K], plenty.components_[:K]) < 1e-2

    def test_stated_need_is_the_need(self):
        with pytest.raises(ValueError, match="max_memory") as error:
            LSA(20, max_memory=1).fit(self.X)
        needed = int(re.search(r"needs about (\d+)", str(error.value)).group(1))
        with pytest.raises(ValueError, match="max_memory"):
            LSA(20, max_memory=needed // 2).fit(self.X)
        LSA(20, max_memory=int(needed * 1.01), random_state=0).fit(self.X)

    @pytest.mark.slow
    def test_bound_holds(self, run_python):
        """Peak memory of a process, above what the input and a first small fit already took."""
        done = run_python("""
            import resource
            import numpy as np, scipy.sparse as sp, semproj as sj
            rng = np.random.default_rng(0)
            rows, columns = rng.integers(0, 60_000, 600_000), rng.integers(0, 20_000, 600_000)
            values = rng.random(600_000, dtype=np.float32)
            X = sp.csr_matrix((values, (rows, columns)), shape=(60_000, 20_000))
            sj.LSA(2, random_state=0).fit(X[:300])
            peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            before, bound = peak(), 60 << 20
            sj.LSA(50, max_memory=bound, random_state=0, n_threads=2).fit(X)
            print((peak() - before) / bound)
        """)
        assert float(done.stdout) < 1.3

    def test_bad_bound(self):
        with pytest.raises(ValueError, match="max_memory"):
            LSA(2, max_memory=0).fit(self.X)
        with pytest.raises(TypeError, match="max_memory"):
            LSA(2, max_memory="1GB").fit(self.X)


class TestSeeds:
    @pytest.mark.parametrize("solver", ["randomized", "lanczos"])
    @pytest.mark.parametrize("shape", [(90, 40), (600, 400), (400, 600)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_same_bits_for_any_number_of_threads(self, solver, shape, dtype):
        X = spectrum(*shape, dtype=dtype)
        models = [LSA(K, solver=solver, center=True, random_state=3, n_threads=n).fit(X) for n in (1, 2, 5)]
        for other in models[1:]:
            for name in ("components_", "singular_values_", "explained_variance_", "residuals_", "mean_"):
                assert same_bits(getattr(models[0], name), getattr(other, name)), name
            assert same_bits(models[0].transform(X), other.transform(X))

    def test_seed_matters_and_is_enough(self):
        X = sp.random(500, 350, 0.03, format="csr", random_state=0)
        a, b, c = (LSA(20, random_state=s).fit(X).components_ for s in (1, 1, 2))
        assert same_bits(a, b)
        assert not same_bits(a, c)
        fresh = [LSA(20).fit(X).components_ for _ in range(2)]
        assert not same_bits(*fresh)

    def test_numpy_generators(self):
        X = sp.random(500, 350, 0.03, format="csr", random_state=0)
        for make in (np.random.default_rng, np.random.RandomState):
            a, b = (LSA(20, random_state=make(5)).fit(X).components_ for _ in range(2))
            assert same_bits(a, b)
        rng = np.random.default_rng(5)
        a, b = (LSA(20, random_state=rng).fit(X).components_ for _ in range(2))
        assert not same_bits(a, b), "a generator moves on"

    @pytest.mark.parametrize("seed", [0, 2**32, 2**64 - 1])
    def test_large_seeds(self, seed):
        LSA(2, random_state=seed).fit(spectrum(30, 20))

    @pytest.mark.parametrize(
        ("seed", "error"),
        [(-1, ValueError), (2**64, ValueError), ("0", TypeError), (1.0, TypeError), (True, TypeError)],
    )
    def test_bad_seeds(self, seed, error):
        with pytest.raises(error, match="random_state"):
            LSA(2, random_state=seed).fit(spectrum(30, 20))


class TestRefit:
    def test_fresh(self):
        A, B = spectrum(90, 40), spectrum(70, 50, seed=3)
        model = LSA(K, center=True, random_state=0).fit(A)
        model.transform(A)
        again, fresh = model.fit(B), LSA(K, center=True, random_state=0).fit(B)
        assert same_bits(again.components_, fresh.components_)
        assert same_bits(again.transform(B), fresh.transform(B))
        assert again.set_params(center=False).fit(B).mean_ is None

    @pytest.mark.parametrize(
        ("bad", "parameters"),
        [
            (np.full((9, 7), np.nan), {}),
            (spectrum(5, 90), {}),
            (spectrum(90, 70), {"n_components": 71}),
            (spectrum(90, 70), {"max_memory": 10}),
            (spectrum(90, 70), {"random_state": "x"}),
            (np.full((90, 70), 1e200), {}),
        ],
        ids=["nan", "few rows", "n_components", "memory", "seed", "overflow"],
    )
    def test_failed_fit_leaves_the_previous_one_usable(self, bad, parameters):
        X = spectrum(90, 40)
        model = LSA(K, random_state=0).fit(X)
        Z, n_components = model.transform(X), model.n_components
        with pytest.raises((ValueError, TypeError)), np.errstate(all="ignore"):
            model.set_params(**parameters).fit(bad)
        model.set_params(n_components=n_components)
        assert same_bits(model.transform(X), Z)
        assert model.components_.shape == (K, 40)

    def test_failed_partial_fit_changes_nothing(self):
        X = spectrum(90, 40)
        model = LSA(K, random_state=0).fit(X)
        Z = model.transform(X)
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((5, 40), np.nan))
        assert same_bits(model.transform(X), Z)
        assert model.n_samples_seen_ == 90

    def test_transform_uses_new_components(self):
        """The packed projection is kept between calls, but never across a refit."""
        A, B = spectrum(90, 40), spectrum(90, 40, seed=9)
        model = LSA(K, random_state=0).fit(A)
        before = model.transform(A)
        model.fit(B)
        assert np.abs(model.transform(A) - before).max() > 1e-3
        np.testing.assert_allclose(model.transform(A), A @ model.components_.T, atol=1e-9)


class TestErrors:
    def setup_method(self):
        self.X = spectrum(30, 20)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"n_components": 21}, ValueError, "n_components: expected at most"),
            ({"n_components": 0}, ValueError, "n_components: expected at least 1"),
            ({"n_components": 2.0}, TypeError, "n_components: expected an integer"),
            ({"solver": "arpack"}, ValueError, "solver: expected one of"),
            ({"tol": -1}, ValueError, "tol"),
            ({"tol": np.nan}, ValueError, "tol"),
            ({"tol": "small"}, TypeError, "tol"),
            ({"max_iter": 0}, ValueError, "max_iter"),
            ({"n_threads": 0}, ValueError, "n_threads"),
            ({"n_threads": 1.5}, TypeError, "n_threads"),
        ],
        ids=str,
    )
    def test_parameters(self, parameters, error, message):
        with pytest.raises(error, match=message):
            LSA(**{"n_components": 2, **parameters}).fit(self.X)

    def test_overflow_is_an_error(self):
        """Squares of 1e30 do not fit float32; NaN must not come out as a model."""
        X = spectrum(30, 20, dtype=np.float32)
        X.data *= np.float32(1e30)
        with np.errstate(all="ignore"):
            try:
                model = LSA(3, random_state=0).fit(X)
            except ValueError as error:
                assert "X" in str(error)  # noqa: PT017
            else:
                expected = reference(X.astype(np.float64).toarray(), 3)
                np.testing.assert_allclose(model.singular_values_, expected.singular_values, rtol=1e-3)
                assert np.isfinite(model.explained_variance_ratio_).all()

    def test_wrong_input(self):
        model = LSA(2, random_state=0).fit(self.X)
        with pytest.raises(ValueError, match="X has 19 features"):
            model.transform(self.X[:, :-1])
        with pytest.raises(ValueError, match="Z: expected 2 columns"):
            model.inverse_transform(np.zeros((4, 3)))
        with pytest.raises(NotFittedError):
            clone(model).transform(self.X)
        with pytest.raises(ValueError, match="NaN"):
            LSA(2).fit(np.full((5, 5), np.nan))

    def test_transform_of_no_rows_or_empty_rows(self):
        model = LSA(2, random_state=0, center=True).fit(self.X)
        Z = model.transform(sp.csr_matrix((3, 20)))
        np.testing.assert_allclose(Z, np.tile(-model.components_ @ model.mean_, (3, 1)), rtol=1e-9)


def test_warning_when_not_converged():
    X = sp.random(600, 500, 0.02, format="csr", random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 .*largest relative residual") as record:
        model = LSA(20, solver="lanczos", tol=1e-14, max_iter=1, random_state=0).fit(X)
    assert record[0].filename == __file__
    assert model.residuals_.max() > 1e-14


def test_progress_bar(capsys):
    X = spectrum(420, 320)
    LSA(K, random_state=0).fit(X)
    assert capsys.readouterr().err == ""
    LSA(K, progress=True, random_state=0).fit(X)
    assert "LSA (randomized)" in capsys.readouterr().err


def test_names_of_the_output():
    model = LSA(3, random_state=0).fit(spectrum(30, 20))
    assert list(model.get_feature_names_out()) == ["lsa0", "lsa1", "lsa2"]


def test_blas_keeps_its_threads():
    """BLAS runs on one thread within a fit, and is set back after it, also when the fit fails."""
    from threadpoolctl import threadpool_info

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    LSA(K, random_state=0).fit(spectrum(420, 320))
    with pytest.raises(ValueError, match="random_state"):
        LSA(K, random_state=-1).fit(spectrum(420, 320))
    assert threads() == before


def test_memory_is_given_back():
    """Many fits do not grow the process."""
    X = spectrum(420, 320)
    for _ in range(3):
        LSA(K, random_state=0).fit(X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(15):
        LSA(K, random_state=0).fit(X)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes
