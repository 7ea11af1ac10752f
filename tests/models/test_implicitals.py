"""ImplicitALS against the dense reference, planted tastes, recommendations by brute force, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import implicitals
from tests.reference import implicitals as reference
from tests.support import random_counts, same_bits


@pytest.fixture(scope="module")
def X():
    return random_counts(70, 45, 0.15, dtype=np.float64)


@pytest.mark.parametrize("alpha", [40.0, 0.5, None])
class TestFit:
    def test_users_are_solved_exactly(self, X, alpha):
        model = sj.ImplicitALS(6, alpha=alpha, max_iter=3, random_state=0).fit(X)
        expected = reference.solve(X.toarray(), model.item_vectors_, alpha, 0.1)
        np.testing.assert_allclose(model.user_vectors_, expected, rtol=1e-9, atol=1e-12)

    def test_items_are_solved_exactly(self, X, alpha):
        """Those of a sweep are solved from the users of the one before."""
        kept = []
        model = sj.ImplicitALS(6, alpha=alpha, max_iter=4, random_state=0)
        model.set_params(callback=lambda progress: kept.append(progress.model)).fit(X)
        expected = reference.solve(X.toarray().T, kept[-2].user_vectors_, alpha, 0.1)
        signs = np.sign((expected * model.item_vectors_).sum(axis=0))
        np.testing.assert_allclose(model.item_vectors_, expected * signs, rtol=1e-8, atol=1e-11)

    def test_objective(self, X, alpha):
        kept = []
        model = sj.ImplicitALS(6, alpha=alpha, reg=0.3, max_iter=5, random_state=0)
        model.set_params(callback=lambda progress: kept.append(progress.model)).fit(X)
        expected = [reference.loss(X.toarray(), m.user_vectors_, m.item_vectors_, alpha, 0.3) for m in kept]
        np.testing.assert_allclose(model.objective_, expected, rtol=1e-10)
        assert (np.diff(model.objective_) <= 0).all()

    def test_float32(self, X, alpha):
        options = {"alpha": alpha, "max_iter": 3, "random_state": 0}
        narrow = sj.ImplicitALS(6, **options).fit(X.astype(np.float32))
        assert narrow.item_vectors_.dtype == narrow.user_vectors_.dtype == np.float32
        expected = reference.solve(X.toarray(), narrow.item_vectors_.astype(float), alpha, 0.1)
        np.testing.assert_allclose(narrow.user_vectors_, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("n_components", [6, 20])
@pytest.mark.parametrize("alpha", [1e-7, 1e-5, 1e-3, 0.5, 40.0, 1e4, 1e8, None])
def test_objective_of_float32(alpha, n_components):
    """From confidences that are almost those of missing cells to ones that leave float32 nothing of the rest."""
    X = random_counts(70, 45, 0.15, dtype=np.float32)
    kept = []
    model = sj.ImplicitALS(n_components, alpha=alpha, reg=0.3, max_iter=4, random_state=0)
    model.set_params(callback=lambda progress: kept.append(progress.model)).fit(X)
    vectors = [(m.user_vectors_.astype(float), m.item_vectors_.astype(float)) for m in kept]
    expected = [reference.loss(X.toarray().astype(float), *each, alpha, 0.3) for each in vectors]
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-5)


def test_new_users_are_as_good_as_known_ones(X):
    model = sj.ImplicitALS(6, random_state=0).fit(X)
    assert same_bits(model.transform(X), model.user_vectors_)
    assert same_bits(model.transform(X[7:9]), model.user_vectors_[7:9])
    assert not model.transform(sp.csr_matrix((1, 45))).any()


def test_entries_are_what_they_add_up_to(X):
    coo = X.tocoo()
    halves = sp.coo_matrix((np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=X.shape)
    zeros = X.copy()
    zeros.data[::3] = 0
    expected = sj.ImplicitALS(3, random_state=0).fit(X)
    assert same_bits(sj.ImplicitALS(3, random_state=0).fit(halves).item_vectors_, expected.item_vectors_)
    without = sj.ImplicitALS(3, random_state=0).fit(zeros.toarray())
    assert same_bits(sj.ImplicitALS(3, random_state=0).fit(zeros).item_vectors_, without.item_vectors_)


def planted(seed=0):
    """Two kinds of users and of items: each takes a third of its own kind."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(80) % 2, np.arange(50) % 2
    own = kinds[0][:, None] == kinds[1]
    return sp.csr_matrix(np.where(own & (rng.random(own.shape) < 0.35), rng.integers(1, 5, own.shape), 0)), kinds


def test_tastes_are_found():
    X, (users, items) = planted()
    found, _ = sj.ImplicitALS(2, random_state=0).fit(X).recommend(X, 5)
    assert (items[found] == users[:, None]).all()


class TestRecommend:
    def by_brute_force(self, model, X, k, banned):
        scores = (model.transform(X) @ model.item_vectors_.T).astype(np.float64)
        scores[banned] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)

    @pytest.mark.parametrize("exclude_seen", [True, False])
    @pytest.mark.parametrize("exclude", [None, [3, 4, 4, 40]])
    def test_best_first(self, X, exclude_seen, exclude):
        model = sj.ImplicitALS(6, max_iter=3, random_state=0).fit(X)
        banned = (X.toarray() > 0) & exclude_seen
        banned[:, exclude or []] = True
        items, scores = model.recommend(X, 8, exclude_seen=exclude_seen, exclude=exclude)
        expected, values = self.by_brute_force(model, X, 9, banned)
        rounding = 1e-6 * np.abs(values).max()  # of float32, which may swap items that are closer
        np.testing.assert_allclose(scores, values[:, :8], rtol=0, atol=rounding)
        apart = -np.diff(values, axis=1) > 2 * rounding
        certain = apart & np.insert(apart[:, :-1], 0, True, axis=1)  # from the one before and the one behind
        assert certain.mean() > 0.95  # all but users without items
        np.testing.assert_array_equal(items[certain], expected[:, :8][certain])
        assert not banned[np.arange(70)[:, None], items].any()

    @pytest.mark.parametrize("exclude", [[], (), np.empty(0)])
    def test_an_empty_list_excludes_nothing(self, X, exclude):
        model = sj.ImplicitALS(3, max_iter=2, random_state=0).fit(X)
        assert same_bits(model.recommend(X, 5, exclude=exclude)[0], model.recommend(X, 5)[0])

    def test_everything_is_excluded(self, X):
        items, scores = sj.ImplicitALS(3, max_iter=2, random_state=0).fit(X).recommend(X, 5, exclude=np.arange(45))
        assert (items == -1).all()
        assert np.isnan(scores).all()

    def test_one_user_with_many_items_costs_the_others_nothing(self, monkeypatch):
        """Nor does a long list of items that nobody gets: the scores that are held at a time are bounded."""
        X = random_counts(3000, 2500, 0.002, dtype=np.float32).tolil()
        X[17] = 1
        X[17, 900:1000] = 0
        sizes = []

        def recorded(vectors, corpus, k, **options):
            sizes.append(len(vectors) * k)
            return sj.retrieval.top_k(vectors, corpus, k, **options)

        monkeypatch.setattr(implicitals, "top_k", recorded)
        model = sj.ImplicitALS(3, max_iter=1, random_state=0).fit(X)
        items, _ = model.recommend(X, 4, exclude=np.arange(950))
        assert max(sizes) <= 1 << 20
        assert sum(sizes) < 200_000
        assert ((items[17] >= 950) & (items[17] < 1000)).all()
        assert (items >= 950).all()

    def test_nothing_is_left(self):
        X = np.array([[1.0, 1, 0], [1, 1, 1], [0, 0, 1]])
        items, scores = sj.ImplicitALS(2, random_state=0).fit(X).recommend(X, 3)
        assert items[0].tolist() == [2, -1, -1]
        assert items[1].tolist() == [-1] * 3
        assert sorted(items[2]) == [-1, 0, 1]
        np.testing.assert_array_equal(np.isnan(scores), items == -1)

    def test_more_than_there_are(self, X):
        items, scores = sj.ImplicitALS(2, random_state=0).fit(X).recommend(X[:2], 60, exclude_seen=False)
        assert items.shape == scores.shape == (2, 60)
        assert (items[:, 45:] == -1).all()
        assert (np.sort(items[:, :45]) == np.arange(45)).all()

    def test_many_users_of_all_lengths(self):
        few = random_counts(9000, 60, 0.1, dtype=np.float32)
        X = sp.vstack([np.ones((50, 60), np.float32), few[50:]], format="csr")
        model = sj.ImplicitALS(3, max_iter=2, random_state=0).fit(X[:300])
        items, _ = model.recommend(X, 4)
        assert (items[:50] == -1).all()
        assert not X.toarray()[np.arange(50, 9000)[:, None], items[50:]].any()
        assert same_bits(items[4000:4003], model.recommend(X[4000:4003], 4)[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"reg": -0.1}, "reg"),
    ],
)
def test_bad_parameters(X, options, words):
    with pytest.raises(ValueError, match=f"^{words}: "):
        sj.ImplicitALS(**options).fit(X)


def test_bad_input(X):
    model = sj.ImplicitALS(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X: expected numbers of at least 0"):
        sj.ImplicitALS(2).fit(-X)
    with pytest.raises(ValueError, match=r"^k: "):
        model.recommend(X, 0)
    with pytest.raises(ValueError, match=r"^exclude: expected columns from 0 to 44, got 45 to 45"):
        model.recommend(X, exclude=[45])
    with pytest.raises(ValueError, match=r"^exclude: expected a list of column numbers, got shape \(\)"):
        model.recommend(X, exclude=3)
    with pytest.raises(TypeError, match=r"^exclude: expected integers, got dtype float64"):
        model.recommend(X, exclude=[0.5])
    with pytest.raises(ValueError, match="too large for float32"):
        sj.ImplicitALS(2).fit((X * 1e37).astype(np.float32))
