"""Tucker against dense HOOI, planted truth and its promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import SparseTensor, Tucker
from semproj.tucker import _fibres, _hooi
from tests.reference.lsa import lsa
from tests.reference.tucker import fit as fit_of
from tests.reference.tucker import hooi, largest_angle, multiply, reconstruct, unfold
from tests.support import same_bits
from tests.support.tensors import decaying, model_of, planted, slices_with_gaps, sparse

CASES = [
    ((50, 40, 4), (5, 6, 4)),  # slices, as MRLSA has them
    ((40, 50, 8), (6, 5, 3)),
    ((15, 14, 13, 12), (3, 2, 4, 3)),
    ((20, 5, 18), (4, 5, 3)),  # the mode in the middle is not compressed
    ((30, 25), (4, 4)),
]


@pytest.fixture(params=["as chosen", "relaxed"])
def steps(request, monkeypatch):
    """Small tensors are solved exactly; large ones only by relaxed steps, which small ones can be made to take."""
    if request.param == "relaxed":
        for name in ("SMALL", "FEW", "EXACT"):
            monkeypatch.setattr(_hooi, name, 0)
    return request.param


def whole(model):
    """The reconstruction, in double."""
    factors = [factor.astype(np.float64) for factor in model.factors_]
    return reconstruct(model.core_.astype(np.float64), factors)


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(("shape", "ranks"), CASES, ids=str)
class TestAgainstDense:
    def test_same_subspaces_and_fit(self, shape, ranks):
        X = planted(shape, ranks, noise=0.5, density=0.6)
        expected = hooi(X, ranks, 120)
        model = model_of(ranks).fit(sparse(X))
        assert model.fit_ == pytest.approx(expected.fits[-1], abs=1e-10)
        for ours, theirs in zip(model.factors_, expected.factors, strict=True):
            assert largest_angle(ours, theirs) < 1e-5  # the square root of what the fit can tell
        assert 0.05 < model.fit_ < 0.95

    def test_attributes_agree_with_each_other(self, shape, ranks):
        X = planted(shape, ranks, noise=0.5, density=0.6)
        model = model_of(ranks, tol=1e-6).fit(sparse(X))
        assert model.core_.shape == ranks
        assert [factor.shape for factor in model.factors_] == list(zip(shape, ranks, strict=True))
        for factor, size, rank in zip(model.factors_, shape, ranks, strict=True):
            np.testing.assert_allclose(factor.T @ factor, np.eye(rank), atol=1e-13)
            peaks = np.abs(factor).argmax(axis=0)
            assert (factor[peaks, np.arange(rank)] > 0).all()
            if rank == size:
                np.testing.assert_array_equal(factor, np.eye(size))
        np.testing.assert_allclose(
            model.core_,
            multiply(X, [factor.T for factor in model.factors_]),
            atol=1e-11 * np.abs(model.core_).max(),
        )
        assert model.fit_ == pytest.approx(fit_of(X, whole(model)), abs=1e-12)
        assert (model.fit_, model.n_iter_) == (model.objective_[-1], len(model.objective_))
        assert (model.shape_, model.core_.dtype, model.factors_[0].dtype) == (shape, np.float64, np.float64)

    def test_slices_of_the_core_are_orthogonal_and_fall(self, shape, ranks):
        model = model_of(ranks, tol=1e-6).fit(sparse(planted(shape, ranks, noise=0.5, density=0.6)))
        for mode, (rank, size) in enumerate(zip(ranks, shape, strict=True)):
            gram = unfold(model.core_, mode) @ unfold(model.core_, mode).T
            if rank < size:
                np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-10 * gram.max())
                assert (np.diff(np.diag(gram)) <= 1e-12 * gram.max()).all()

    def test_fit_never_falls(self, shape, ranks):
        for seed, start in [(0, "hosvd"), (1, "random"), (2, "random")]:
            X = planted(shape, ranks, noise=2.0, density=0.3, seed=seed)
            model = Tucker(ranks, init=start, tol=0, max_iter=40, random_state=seed).fit(sparse(X))
            assert (np.diff(model.objective_) > -1e-14).all()
            assert model.n_iter_ > 1

    @pytest.mark.parametrize("start", ["hosvd", "random"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_planted_is_recovered(self, shape, ranks, start, dtype, steps):
        X = planted(shape, ranks, seed=3)
        model = model_of(ranks, init=start, tol=0, max_iter=60).fit(sparse(X, dtype))
        eps = np.finfo(dtype).eps
        # Steps end when the fit does not rise any more, and it depends on the square of what is left.
        tolerance = 200 * eps if start == "hosvd" or steps == "as chosen" else 20 * np.sqrt(eps)
        assert np.abs(whole(model) - X).max() < tolerance * np.abs(X).max()
        assert model.fit_ > 1 - 10 * np.sqrt(eps)
        cells = np.array([[0] * len(shape), [n - 1 for n in shape], [n // 2 for n in shape]]).T
        np.testing.assert_allclose(model.reconstruct(cells), X[tuple(cells)], atol=tolerance * np.abs(X).max())
        assert model.reconstruct(cells).dtype == dtype


class TestSweeps:
    """What a sweep does, on tensors large enough for relaxed steps."""

    def setup_method(self):
        self.X = planted((150, 140, 3), (24, 25, 3), noise=4.0, density=0.1)
        self.ranks = (24, 25, 3)

    def test_first_sweep_is_exact(self):
        """The same factors, to the last digits, as one sweep of dense HOOI from the same start."""
        rng = np.random.default_rng(0)
        start = [
            np.linalg.qr(rng.standard_normal((n, r)))[0] for n, r in zip(self.X.shape, self.ranks, strict=True)
        ]
        model = Tucker(self.ranks, init=[*start[:2], None], tol=0, max_iter=1).fit(sparse(self.X))
        expected = hooi(self.X, self.ranks, 1, start)
        assert model.objective_ == pytest.approx(expected.fits, abs=1e-13)
        for ours, theirs in zip(model.factors_[:2], expected.factors, strict=False):
            assert largest_angle(ours, theirs) < 1e-10

    def test_converges_faster_than_exact_sweeps(self):
        model = Tucker(self.ranks, tol=0, max_iter=16, random_state=0).fit(sparse(self.X))
        exact = np.array(hooi(self.X, self.ranks, 16).fits)
        assert model.objective_[0] == pytest.approx(exact[0], abs=1e-5)  # the start is not quite the same
        assert (model.objective_[1:5] > exact[1:5] - 2e-4).all()
        assert (model.objective_[8:] > exact[8:]).all()
        assert model.objective_[14] > exact[15]

    def test_a_step_is_the_formula(self):
        """U <- (U + w N)(I + w^2 N'N)^(-1/2) for the first mode of the second sweep."""
        fits = []
        for n in (1, 2):
            found = {}

            class Spy(_hooi.Hooi):
                def _step(self, j, relaxation, found=found):
                    before = [None if b is None else b.tall @ b.mix for b in self.bases]
                    core = self.core.copy()
                    super()._step(j, relaxation)
                    if j == 0:
                        after = self.bases[0].tall @ self.bases[0].mix
                        found.update(before=before, core=core, w=relaxation, after=after)

            model = Tucker(self.ranks, tol=0, max_iter=n, random_state=0)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("semproj.tucker.Hooi", Spy)
                fits.append(model.fit(sparse(self.X)).fit_)
        (U, V, _), S = found["before"], found["core"]
        # The tensor has no empty rows and all of its slices everywhere, so that its order is the user's.
        Y = unfold(multiply(self.X, [None, V.T, None]), 0)
        S = unfold(S, 0)
        np.testing.assert_allclose(S, U.T @ Y, atol=1e-10 * np.abs(S).max())
        N = Y @ S.T @ np.linalg.inv(S @ S.T) - U
        np.testing.assert_allclose(U.T @ N, 0, atol=1e-10)
        weights, Q = np.linalg.eigh(np.eye(24) + found["w"] ** 2 * N.T @ N)
        expected = (U + found["w"] * N) @ (Q / np.sqrt(weights)) @ Q.T
        np.testing.assert_allclose(found["after"], expected, atol=1e-10)
        assert found["w"] == _hooi.FIRST_RELAXATION > 1
        assert np.linalg.norm(N, 2) > 0.1
        assert fits[1] > fits[0]

    def test_relaxation_follows_the_convergence(self, monkeypatch):
        taken = []

        class Spy(_hooi.Hooi):
            def _step(self, j, relaxation):
                taken.append(relaxation)
                super()._step(j, relaxation)

        monkeypatch.setattr("semproj.tucker.Hooi", Spy)
        Tucker(self.ranks, tol=0, max_iter=10, random_state=0).fit(sparse(self.X))  # slow
        assert taken[:2] == [_hooi.FIRST_RELAXATION] * 2
        assert taken[-1] == _hooi.MOST_RELAXATION
        assert (np.diff(taken) >= 0).all()
        taken.clear()
        X = planted((150, 140, 3), (24, 25, 3), noise=0.2, density=1.0)  # fast
        model = Tucker(self.ranks, init="random", tol=1e-14, max_iter=60, random_state=0).fit(sparse(X))
        assert model.fit_ == pytest.approx(hooi(X, self.ranks, 10).fits[-1], abs=1e-12)
        assert max(taken) < _hooi.MOST_RELAXATION
        assert min(taken) < _hooi.FIRST_RELAXATION

    @pytest.mark.parametrize("relaxation", [2.0, 3.0, 6.0])
    def test_a_step_that_lowers_the_fit_is_taken_back(self, monkeypatch, relaxation):
        """Nothing is proved for a step beyond 2, and the last mode's core is a little old: it is watched."""
        taken = []

        class Wild(_hooi.Hooi):
            def _choose_relaxation(self):
                pass

            def _step(self, j, w):
                last = j == self.relaxed[-1]
                taken.append(w)
                super()._step(j, relaxation if last and w != _hooi.LEAST_RELAXATION else min(w, 1.8))

        monkeypatch.setattr("semproj.tucker.Hooi", Wild)
        model = Tucker(self.ranks, tol=0, max_iter=25, random_state=0).fit(sparse(self.X))
        assert (np.diff(model.objective_) > -1e-13).all()
        assert (_hooi.LEAST_RELAXATION in taken) == (relaxation > 2)

    def test_three_large_modes(self, monkeypatch):
        monkeypatch.setattr(_hooi, "SMALL", 5)
        X = planted((30, 28, 26), (6, 6, 6), noise=1.0, density=0.5)
        model = model_of((6, 6, 6)).fit(sparse(X))
        assert model.fit_ == pytest.approx(hooi(X, (6, 6, 6), 120).fits[-1], abs=1e-10)
        assert (np.diff(model.objective_) > -1e-13).all()


class TestInput:
    def test_all_forms_give_the_same(self):
        X = planted((30, 20, 4), (4, 4, 4), noise=0.3, density=0.3)
        slices = [sp.csr_matrix(X[:, :, k]) for k in range(4)]
        tensor = sparse(X)
        order = np.random.default_rng(0).permutation(tensor.nnz)
        forms = [
            tensor,
            slices,
            [s.tocsc() for s in slices],
            [X[:, :, k] for k in range(4)],
            SparseTensor(tensor.coords[:, order], tensor.values[order], X.shape),
            SparseTensor(np.tile(tensor.coords, 2), np.tile(tensor.values / 2, 2), X.shape),  # duplicates add up
        ]
        models = [Tucker((4, 4, 4), random_state=0).fit(form) for form in forms]
        for other in models[1:]:
            assert same_bits(models[0].core_, other.core_)
            assert all(same_bits(a, b) for a, b in zip(models[0].factors_, other.factors_, strict=True))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_one_slice_is_lsa(self, dtype):
        X = planted((60, 50), (20, 20), noise=0.5, density=0.4)
        expected = lsa(X, 6)
        model = model_of((6, 6, 1)).fit([sp.csr_matrix(X.astype(dtype))])
        tight = 1e-10 if dtype == np.float64 else 1e-4
        np.testing.assert_allclose(np.diag(model.core_[:, :, 0]) ** 2, expected.singular_values**2, rtol=tight)
        np.testing.assert_allclose(model.core_[:, :, 0], np.diag(np.diag(model.core_[:, :, 0])), atol=10 * tight)
        np.testing.assert_allclose(np.abs(model.factors_[1].T), np.abs(expected.components), atol=10 * tight)
        ours = sj.LSA(6, solver="lanczos", tol=1e-9, random_state=0).fit(X)
        assert largest_angle(model.factors_[1], ours.components_.T) < 10 * tight

    def test_empty_slices_rows_and_columns(self):
        X = slices_with_gaps(60, 50, 5, density=0.3)
        X[:, :, 3] = 0
        model = model_of((5, 5, 5)).fit(sparse(X))
        assert model.fit_ == pytest.approx(hooi(X, (5, 5, 5), 200).fits[-1], abs=1e-9)
        assert not model.core_[:, :, 3].any()
        assert not model.factors_[0][~X.any(axis=(1, 2))].any()
        assert not model.factors_[1][~X.any(axis=(0, 2))].any()

    @pytest.mark.usefixtures("steps")
    def test_lower_rank_than_asked_for(self):
        """Directions without energy are orthonormal like the others."""
        X = planted((40, 30, 4), (3, 3, 3))
        model = model_of((6, 7, 4), tol=0, max_iter=8).fit(sparse(X))
        assert np.abs(whole(model) - X).max() < 1e-10 * np.abs(X).max()
        for factor in model.factors_:
            np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)

    def test_one_rank_lower_than_asked_for(self):
        """A single direction is filled in, and the next sweep steps from there."""
        X = planted((150, 140, 3), (23, 23, 3))
        model = Tucker((24, 24, 3), tol=0, max_iter=5, random_state=0).fit(sparse(X))
        assert model.n_iter_ > 1
        assert np.abs(whole(model) - X).max() < 1e-10 * np.abs(X).max()
        for factor in model.factors_:
            np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)

    @pytest.mark.usefixtures("steps")
    @pytest.mark.parametrize("unit", [1, 4096])
    def test_fewer_rows_than_ranks(self, monkeypatch, unit):
        """The last rows have no entries, and no block when blocks are small."""
        monkeypatch.setattr(_fibres, "UNIT_ROWS", unit)
        X = np.zeros((20, 15, 3))
        X[4, 5, 0], X[7, 2, 1] = 3.0, -2.0
        model = model_of((4, 4, 3), tol=0, max_iter=5).fit(sparse(X))
        np.testing.assert_allclose(whole(model), X, atol=1e-12)
        for factor in model.factors_:
            np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)

    def test_nothing_compressed(self):
        X = planted((4, 3, 2), (2, 2, 2), density=0.7)
        model = Tucker((4, 3, 2)).fit(sparse(X))
        np.testing.assert_array_equal(model.core_, X)
        assert model.fit_ == 1
        np.testing.assert_array_equal(model.reconstruct([[3, 0], [1, 2], [0, 1]]), [X[3, 1, 0], X[0, 2, 1]])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("scale", [1e-15, 1e15])
    def test_scale_does_not_matter(self, dtype, scale):
        X = planted((70, 66, 3), (4, 5, 3), noise=0.5)
        a, b = (model_of((4, 5, 3), tol=1e-8).fit(sparse(x, dtype)) for x in (X, X * scale))
        assert a.fit_ == pytest.approx(b.fit_, abs=1e-5)
        np.testing.assert_allclose(b.core_ / dtype(scale), a.core_, atol=1e-2 * np.abs(a.core_).max())

    def test_float32_is_close_to_float64(self):
        X = planted((150, 140, 3), (24, 25, 3), noise=1.0, density=0.3)
        single, double = (model_of((24, 25, 3), tol=1e-7).fit(sparse(X, t)) for t in (np.float32, np.float64))
        assert single.fit_ == pytest.approx(double.fit_, abs=1e-5)
        assert single.core_.dtype == single.factors_[0].dtype == np.float32
        np.testing.assert_allclose(single.factors_[0].T @ single.factors_[0], np.eye(24), atol=1e-5)
        assert single.fit_ == pytest.approx(fit_of(X, whole(single)), abs=1e-6)
        assert (np.diff(single.objective_) > -1e-7).all()

    @pytest.mark.usefixtures("steps")
    @pytest.mark.parametrize("start", ["hosvd", "random"])
    @pytest.mark.parametrize(
        ("shape", "ranks", "ratio"),
        [((150, 140, 3), (30, 30, 3), 0.8), ((150, 140, 3), (30, 30, 3), 0.7), ((60, 50, 3), (10, 10, 3), 0.5)],
        ids=["large", "steeper", "small"],
    )
    def test_float32_finds_weak_directions_too(self, shape, ranks, ratio, start):
        """Singular values that fall to 1.5e-3, 3e-5 and 2e-3 of the largest one."""
        X = decaying(shape, ratio)
        single, double = (
            Tucker(ranks, init=start, tol=0, max_iter=60, random_state=0).fit(sparse(X, t))
            for t in (np.float32, np.float64)
        )
        # Several directions of less than 128 eps are left, and steps end where rounding hides what they gain.
        assert fit_of(X, whole(single)) > double.fit_ - 3e-4
        energies = [1 - (1 - model.fit_) ** 2 for model in (single, double)]
        assert energies[0] == pytest.approx(energies[1], abs=1e-6)
        for model, tolerance in ((single, 5e-6), (double, 1e-13)):
            for factor in model.factors_:
                gram = factor.T.astype(np.float64) @ factor
                np.testing.assert_allclose(gram, np.eye(factor.shape[1]), atol=tolerance)
            energy = 1 - (1 - model.objective_) ** 2
            assert (np.diff(energy) > -(1e-6 if model is single else 1e-14)).all()


class TestStart:
    def setup_method(self):
        self.X = planted((40, 30, 4), (4, 5, 4), noise=0.5, density=0.5)

    def test_given_factors(self):
        good = model_of((4, 5, 4)).fit(sparse(self.X))
        again = Tucker((4, 5, 4), init=good.factors_, tol=1e-9).fit(sparse(self.X))
        assert again.n_iter_ == 2
        assert again.fit_ == pytest.approx(good.fit_, abs=1e-12)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_a_start_that_has_nothing_of_the_tensor(self, dtype):
        X = np.zeros((40, 30, 4))
        X[:, 0], X[:, 1] = self.X[:, 0], -self.X[:, 0]
        start = np.zeros((30, 1))
        start[:2] = 1.0
        model = Tucker((1, 1, 4), init=[None, start, None], max_iter=3).fit(sparse(X, dtype))
        for factor in model.factors_:
            np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1, atol=1e-6)
        assert model.fit_ > 0.1

    def test_hosvd_starts_better_than_random(self):
        X = planted((90, 80, 3), (8, 8, 3), noise=2.0, density=0.3)
        first = [
            Tucker((8, 8, 3), init=i, max_iter=1, random_state=0).fit(sparse(X)).fit_ for i in ("hosvd", "random")
        ]
        assert first[0] > first[1]

    @pytest.mark.parametrize(
        ("init", "error", "message"),
        [
            ("svd", ValueError, "init: expected one of 'hosvd', 'random', got 'svd'"),
            (3, ValueError, "init: expected one of"),
            (
                [None, None, None],
                ValueError,
                r"init\[1\]: expected a factor, as the mode is compressed from 30 to 5",
            ),
            ([np.ones((40, 4))], ValueError, r"init\[1\]: expected a factor"),
            ([None, np.ones((30, 4)), None], ValueError, r"init\[1\]: expected shape \(30, 5\), got \(30, 4\)"),
            ([None, np.ones((30, 5)), None], ValueError, r"init\[1\]: columns are linearly dependent"),
            ([None, np.full((30, 5), np.nan), None], ValueError, r"init\[1\]: expected finite numbers"),
        ],
        ids=str,
    )
    def test_errors(self, init, error, message):
        with pytest.raises(error, match=message):
            Tucker((4, 5, 4), init=init).fit(sparse(self.X))


class TestSeedsAndThreads:
    @pytest.mark.parametrize(
        ("shape", "ranks"),
        [((150, 140, 3), (24, 25, 3)), ((90, 85, 8), (5, 6, 3)), ((70, 68, 66, 5), (3, 4, 3, 2))],
    )
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_same_bits_for_any_number_of_threads(self, shape, ranks, dtype):
        X = sparse(planted(shape, ranks, noise=1.0, density=0.05), dtype)
        models = [Tucker(ranks, random_state=1, max_iter=5, n_threads=n).fit(X) for n in (1, 2, 5)]
        for other in models[1:]:
            assert same_bits(models[0].core_, other.core_)
            assert same_bits(models[0].objective_, other.objective_)
            assert all(same_bits(a, b) for a, b in zip(models[0].factors_, other.factors_, strict=True))

    def test_seed_matters_and_is_enough(self):
        X = sparse(planted((90, 85, 3), (8, 8, 3), noise=3.0, density=0.2))
        a, b, c = (Tucker((8, 8, 3), init="random", random_state=s, max_iter=3).fit(X).core_ for s in (1, 1, 2))
        assert same_bits(a, b)
        assert not same_bits(a, c)
