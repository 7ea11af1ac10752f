"""S2Net on lists of rows: several pairs of a query, and preferences from grades; the mixture with raw rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj.s2net._objective import Objective, built_in
from semproj.s2net._preferences import Partners, PreferenceObjective
from tests.reference import s2net_preferences as reference
from tests.support.limiting import little_more_memory

SCALE, FLOORS = 10.0, (0.3, 0.2)


def rows_of(n: int, seed: int, columns: int = 12) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.standard_normal((n, columns)) * (draw.random((n, columns)) < 0.4)


QUERIES, DOCUMENTS = rows_of(7, 1), rows_of(11, 2)
A = np.random.default_rng(3).standard_normal((12, 4))
TRIPLES = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 4, 1], [5, 9, 0], [5, 9, 0], [6, 10, 9]])
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [1, 4], [2, 5], [3, 6], [5, 1], [5, 9], [6, 10], [0, 1]])


def slope(loss, at: np.ndarray) -> np.ndarray:
    """By central differences."""
    found, h = np.zeros_like(at), 1e-6
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = h
        found[place] = (loss(at + step) - loss(at - step)) / (2 * h)
    return found


def whole(gradient) -> np.ndarray:
    found = np.zeros_like(A)
    found[gradient.rows] = gradient.values
    return found


def views(dtype=np.float64):
    return [sp.csr_matrix(QUERIES, dtype=dtype), sp.csr_matrix(DOCUMENTS, dtype=dtype)]


class TestPreferences:
    def of(self, rows=slice(None)):
        return lambda B: reference.preference_loss(QUERIES, DOCUMENTS, TRIPLES[rows], B, SCALE, FLOORS)

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_loss_and_gradient(self, n_threads):
        objective = PreferenceObjective(views(), TRIPLES, SCALE, list(FLOORS), n_threads)
        loss, gradient = objective.on_all(A)
        np.testing.assert_allclose(loss, self.of()(A), rtol=1e-12)
        expected = slope(self.of(), A)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())

    def test_of_some_triples(self):
        rows = np.array([6, 3, 4])
        loss, gradient = PreferenceObjective(views(), TRIPLES, SCALE, list(FLOORS), 1).on_rows(A, rows)
        np.testing.assert_allclose(loss, self.of(rows)(A), rtol=1e-12)
        expected = slope(self.of(rows), A)
        np.testing.assert_allclose(whole(gradient), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())

    def test_float32(self):
        objective = PreferenceObjective(views(np.float32), TRIPLES, SCALE, list(FLOORS), 1)
        loss, gradient = objective.on_all(A.astype(np.float32))
        exact = PreferenceObjective(views(), TRIPLES, SCALE, list(FLOORS), 1).on_all(A)
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(loss, exact[0], rtol=1e-5)
        np.testing.assert_allclose(gradient, exact[1], atol=1e-5 * np.abs(exact[1]).max())

    def test_a_query_of_zeros_has_no_say(self):
        zero = [sp.csr_matrix(QUERIES * (np.arange(7) != 5)[:, None]), views()[1]]
        loss, gradient = PreferenceObjective(zero, TRIPLES[4:5], SCALE, [0.0, 0.0], 1).on_all(A)
        assert loss == pytest.approx(np.log(2))
        assert not gradient.any()


class TestPairs:
    def of(self, loss, pairs=PAIRS, **weights):
        return lambda B: reference.pairs_loss(QUERIES, DOCUMENTS, pairs, B, loss, SCALE, floors=FLOORS, **weights)

    def objective(self, loss, forward=0.5, backward=0.5):
        expanded = [view[rows] for view, rows in zip(views(), PAIRS.T, strict=True)]
        contrast = built_in(loss, SCALE, forward, backward, 2)
        return Objective(expanded, contrast, list(FLOORS), 2, Partners(PAIRS, len(QUERIES), len(DOCUMENTS)))

    @pytest.mark.parametrize("weights", [{}, {"forward": 1.0, "backward": 0.0}], ids=["both", "forward"])
    @pytest.mark.parametrize("loss", ["softmax", "logistic"])
    def test_other_documents_of_a_query_are_left_out(self, loss, weights):
        found, gradient = self.objective(loss, **weights).on_all(A)
        np.testing.assert_allclose(found, self.of(loss, **weights)(A), rtol=1e-12)
        expected = slope(self.of(loss, **weights), A)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())

    def test_in_a_batch(self):
        rows = np.array([7, 0, 6, 2, 1])
        found, gradient = self.objective("softmax").on_rows(A, rows)
        # Partners are those of all pairs: query 0 is left out with documents 1 and 2 wherever they come from.
        listed = PAIRS[rows]
        assert {(0, 1), (0, 2)} <= {tuple(pair) for pair in listed.tolist()}
        np.testing.assert_allclose(found, self.of("softmax", listed)(A), rtol=1e-12)
        expected = slope(self.of("softmax", listed), A)
        np.testing.assert_allclose(whole(gradient), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())

    def test_many_blocks_and_threads(self):
        """More pairs than a block has, with bits that do not depend on threads."""
        Q, D = rows_of(20, 7), rows_of(60, 8)
        pairs = np.column_stack([np.arange(200) % 20, np.random.default_rng(0).integers(0, 60, 200)])
        expanded = [sp.csr_matrix(Q[pairs[:, 0]]), sp.csr_matrix(D[pairs[:, 1]])]
        results = []
        for n_threads in (1, 2, 3):
            contrast = built_in("softmax", SCALE, 0.5, 0.5, n_threads)
            objective = Objective(expanded, contrast, list(FLOORS), n_threads, Partners(pairs, 20, 60))
            results.append(objective.on_all(A))
        assert all(loss == results[0][0] for loss, _ in results)
        assert all(np.array_equal(gradient, results[0][1]) for _, gradient in results)
        expected = reference.pairs_loss(Q, D, pairs, A, "softmax", SCALE, floors=FLOORS)
        np.testing.assert_allclose(results[0][0], expected, rtol=1e-12)

    def test_pairs_of_a_query_each_are_rows_side_by_side(self):
        """With one document for each query, y says what the order of rows does."""
        X, order = rows_of(40, 5), np.random.default_rng(0).permutation(40)
        Y = X + 0.1 * rows_of(40, 6)
        settings = {"n_components": 3, "start": "random", "random_state": 0, "max_iter": 4}
        listed = np.column_stack([np.arange(40), np.argsort(order)])
        found = sj.S2Net(**settings).fit([X, Y[order]], listed)
        np.testing.assert_array_equal(found.components_, sj.S2Net(**settings).fit([X, Y]).components_)


def planted(seed: int = 0):
    """Queries have words of their own for each of 5 topics; grade 2 for the topic, 1 for the next one, else 0."""
    draw = np.random.default_rng(seed)
    topic = {"q": draw.integers(0, 5, 60), "d": draw.integers(0, 5, 80)}
    words = {name: 6 * topic[name] + (30 if name == "q" else 0) for name in topic}
    made = {}
    for name, first in words.items():
        rows = 0.05 * draw.random((len(first), 60))
        for i, start in enumerate(first):
            rows[i, start : start + 6] += draw.random(6)
        made[name] = rows
    query, document = (side.ravel() for side in np.meshgrid(np.arange(60), np.arange(80), indexing="ij"))
    apart = (topic["d"][document] - topic["q"][query]) % 5
    grades = np.where(apart == 0, 2, np.where(apart == 1, 1, 0))
    return made["q"], made["d"], query, document, grades


def ordered(model, Q, D, query, document, grades) -> float:
    """How many preferences of queries 40 to 59 cosines have right."""
    C = sj.SurfaceMixture(model, weight=1.0).similarities(Q, D)
    triples = sj.preference_triples(*(column[query >= 40] for column in (query, document, grades)))
    return float(np.mean(C[triples[:, 0], triples[:, 1]] > C[triples[:, 0], triples[:, 2]]))


class TestFit:
    @pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
    def test_learns_what_is_preferred(self, optimizer):
        Q, D, query, document, grades = planted()
        known = query < 40
        triples = sj.preference_triples(
            query[known], document[known], grades[known], max_per_query=60, random_state=0
        )
        settings = {"start": "random", "random_state": 0, "optimizer": optimizer, "batch_size": 200}
        model = sj.S2Net(8, **settings, max_iter=15).fit([Q, D], triples)
        start = sj.S2Net(8, **settings, max_iter=1, learning_rate=1e-9, reg=1e9).fit([Q, D], triples)
        assert ordered(start, Q, D, query, document, grades) < 0.6
        assert ordered(model, Q, D, query, document, grades) > 0.95
        if optimizer == "lbfgs":
            assert np.all(np.diff(model.objective_) <= 0)

    @pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
    @pytest.mark.parametrize("width", [2, 3])
    def test_goes_on_from_a_checkpoint_bit_for_bit(self, optimizer, width, tmp_path):
        Q, D, query, document, grades = planted()
        listed = sj.preference_triples(query, document, grades, max_per_query=5, random_state=0)[:, :width]
        settings = {"n_components": 4, "optimizer": optimizer, "random_state": 0, "tol": 0, "batch_size": 50}
        expected = sj.S2Net(**settings, max_iter=5).fit([Q, D], listed)
        sj.S2Net(**settings, max_iter=2, checkpoint=tmp_path / "c").fit([Q, D], listed)
        found = sj.S2Net(**settings, max_iter=5, checkpoint=tmp_path / "c").fit([Q, D], listed)
        np.testing.assert_array_equal(found.components_, expected.components_)
        with pytest.raises(ValueError, match="checkpoint"):
            sj.S2Net(**settings, max_iter=6, checkpoint=tmp_path / "c").fit([Q, D], listed[::-1])

    def test_threads_and_blocks(self):
        Q, D, query, document, grades = planted()
        listed = sj.preference_triples(query, document, grades, max_per_query=5, random_state=0)
        settings = {"n_components": 4, "random_state": 0, "max_iter": 3}
        one, three = (sj.S2Net(**settings, n_threads=n).fit([Q, D], listed).components_ for n in (1, 3))
        np.testing.assert_array_equal(one, three)
        pairs = np.unique(listed[:, :2], axis=0)
        model = sj.S2Net(**settings, negatives=50).fit([Q, D], pairs)
        assert model.objective_[-1] < model.objective_[0]

    def test_separate_matrices(self):
        Q, D, query, document, grades = planted()
        listed = sj.preference_triples(query, document, grades, max_per_query=20, random_state=0)
        model = sj.S2Net(5, matrices="separate", start="random", random_state=0).fit([Q[:, :50], D], listed)
        assert [view.components_.shape for view in model.views_] == [(5, 50), (5, 60)]
        assert model.fit_transform([Q[:, :50], D], listed)[1].shape == (80, 5)

    def test_one_pair_and_one_triple(self):
        for listed in ([[0, 1]], [[0, 1, 2]]):
            model = sj.S2Net(2, start="random", random_state=0).fit([QUERIES, DOCUMENTS], np.array(listed))
            assert np.isfinite(model.components_).all()

    @pytest.mark.parametrize(
        ("listed", "error", "message"),
        [
            (np.empty((0, 3), int), ValueError, "y: expected at least one pair or triple, got none"),
            (np.array([0, 1, 2]), ValueError, r"y: expected pairs .* got shape \(3,\)"),
            ([[0, 1], [0, 1, 2]], ValueError, r"y: expected pairs .* got rows of different lengths"),
            (np.array([[0.0, 1.0]]), TypeError, "y: expected integers"),
            (np.array([[0, 11]]), ValueError, r"y\[:, 1\]: expected rows of documents, 0 to 10 .* got 11"),
            (np.array([[7, 1, 2]]), ValueError, r"y\[:, 0\]: expected rows of queries, 0 to 6 .* got 7"),
            (np.array([[0, 1, -1]]), ValueError, r"y\[:, 2\]: .* got -1"),
            (np.array([[0, 1, 2], [3, 4, 4]]), ValueError, r"y\[1\]: expected two documents, got 4"),
        ],
    )
    def test_bad_lists(self, listed, error, message):
        model = sj.S2Net(2, start="random", random_state=0).fit([QUERIES, DOCUMENTS], PAIRS)
        before = model.components_
        with pytest.raises(error, match=message):
            model.fit([QUERIES, DOCUMENTS], listed)
        assert model.components_ is before

    @pytest.mark.parametrize(
        ("settings", "listed", "message"),
        [
            ({"loss": lambda d: (d, 1.0)}, PAIRS, "^loss: a function is for rows that are pairs as they lie"),
            ({"loss": lambda d: (d, 1.0)}, TRIPLES, "^loss: a function is for rows that are pairs as they lie"),
            ({"negatives": "hard"}, TRIPLES, "^negatives: expected None, as triples name them"),
        ],
    )
    def test_told_before_the_start_is_found(self, settings, listed, message, monkeypatch):
        monkeypatch.setattr(sj.OPCA, "fit", lambda *_: pytest.fail("too late"))
        with pytest.raises(ValueError, match=message):
            sj.S2Net(2, **settings).fit([QUERIES, DOCUMENTS], listed)

    def test_bad_settings(self):
        with pytest.raises(ValueError, match="negatives: expected None, as triples name them"):
            sj.S2Net(2, start="random", negatives="all").fit([QUERIES, DOCUMENTS], TRIPLES)
        with pytest.raises(ValueError, match="X: expected queries and documents"):
            sj.S2Net(2, start="random").fit([QUERIES, DOCUMENTS, DOCUMENTS], PAIRS)
        with pytest.raises(ValueError, match=r"X\[1\]: .* columns must align"):
            sj.S2Net(2, start="random").fit([QUERIES, DOCUMENTS[:, :5]], PAIRS)


class TestTriples:
    def test_all_of_a_query(self):
        found = sj.preference_triples([3, 3, 3, 3, 1, 1], [9, 8, 7, 6, 5, 4], [1, 1, 0, 2.5, 1, 1])
        assert found.tolist() == [[3, 6, 8], [3, 6, 9], [3, 6, 7], [3, 8, 7], [3, 9, 7]]

    def test_of_other_queries(self):
        query, document = np.repeat(np.arange(5), 4), np.arange(20)
        grades = np.tile([2, 1, 1, 0], 5)
        settings = {"others": 3, "random_state": 0}
        found = sj.preference_triples(query, document, grades, **settings)
        own = found[:, 2] // 4 == found[:, 0]
        assert own.sum() == 5 * 5, "2 > 1, 1, 0 and twice 1 > 0"
        np.testing.assert_array_equal(found[:, 1] // 4, found[:, 0])
        strange = found[~own]
        assert len(strange) == 5 * 3 * 3, "of each relevant one"
        assert set(strange[:, 1] % 4) == {0, 1, 2}
        best = sj.preference_triples(query, document, grades, relevant=2, **settings)
        assert set(best[best[:, 2] // 4 != best[:, 0]][:, 1] % 4) == {0}
        np.testing.assert_array_equal(found, sj.preference_triples(query, document, grades, **settings))
        assert not np.array_equal(found, sj.preference_triples(query, document, grades, others=3, random_state=1))

    def test_a_query_draws_the_same_whatever_others_there_are(self):
        query, document, grades = np.repeat([0, 1], 6), np.tile(np.arange(6), 2), np.tile([2, 2, 1, 1, 0, 0], 2)
        settings = {"max_per_query": 4, "random_state": 7}
        both = sj.preference_triples(query, document, grades, **settings)
        one = sj.preference_triples(query[6:], document[6:], grades[6:], **settings)
        assert np.bincount(both[:, 0]).tolist() == [4, 4]
        np.testing.assert_array_equal(both[both[:, 0] == 1], one)

    def test_of_many_documents_some_are_drawn(self):
        """All 5e9 preferences of one query would take 80 GB, and a table of who is better 10."""
        n = 100_000
        grades = np.arange(n) % 7
        with little_more_memory(gigabytes=1):
            found = sj.preference_triples(
                np.zeros(n, int), np.arange(n), grades, max_per_query=500, random_state=0
            )
        assert len(np.unique(found, axis=0)) == 500
        assert (grades[found[:, 1]] > grades[found[:, 2]]).all()
        assert {(6, 0), (3, 2), (1, 0)} <= set(zip(*grades[found[:, 1:]].T.tolist(), strict=True))

    def test_a_document_that_was_graded_twice(self):
        found = sj.preference_triples([0, 0, 0], [4, 4, 5], [2, 1, 0])
        assert found.tolist() == [[0, 4, 5], [0, 4, 5]]

    def test_only_relevant_ones_are_listed(self):
        """Grades of one class: nothing to prefer but to documents of other queries."""
        query, document = np.array([0, 0, 1]), np.array([0, 1, 2])
        with pytest.raises(ValueError, match="grades: expected documents of one query with different grades"):
            sj.preference_triples(query, document, [1, 1, 1])
        with pytest.raises(ValueError, match="got no preference"):
            sj.preference_triples(query, document, [1, 1, 1], others=2)
        found = sj.preference_triples(query, document, [1, 1, 1], others=1, relevant=1, random_state=0)
        assert found[:2].tolist() == [[0, 0, 2], [0, 1, 2]]
        assert found[2, :2].tolist() == [1, 2]

    def test_a_query_that_has_all_documents(self):
        with pytest.raises(ValueError, match="got no preference"):
            sj.preference_triples([0, 0], [1, 2], [1, 1], others=5, relevant=1)

    def test_a_document_with_two_grades_is_not_preferred_to_itself(self):
        assert sj.preference_triples([0, 0, 0], [1, 1, 2], [2, 1, 0]).tolist() == [[0, 1, 2], [0, 1, 2]]

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            (([], [], []), ValueError, "queries: expected at least one label"),
            (([0, 1], [0], [1, 2]), ValueError, r"documents: expected one for each label, 2, got shape \(1,\)"),
            (([0.5], [0], [1]), TypeError, "queries: expected rows, which are integers"),
            (([0], [-1], [1]), ValueError, "documents: expected rows, at least 0, got -1"),
            (([0, 0], [0, 1], [1, np.nan]), ValueError, "grades: contains NaN"),
        ],
    )
    def test_bad_labels(self, arguments, error, message):
        columns = [np.array(a) if a else np.array(a, int) for a in arguments]
        with pytest.raises(error, match=message):
            sj.preference_triples(*columns)


class TestMixture:
    MODEL = sj.LSA(3, random_state=0).fit(DOCUMENTS)

    def cosines(self, weight):
        def unit(x):
            return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)

        learnt = [unit(self.MODEL.transform(x)) for x in (QUERIES, DOCUMENTS)]
        return weight * learnt[0] @ learnt[1].T + (1 - weight) * unit(QUERIES) @ unit(DOCUMENTS).T

    def test_is_the_weighted_sum_of_both_cosines(self):
        mixture = sj.SurfaceMixture(self.MODEL, weight=0.3)
        found = mixture.similarities(sp.csr_matrix(QUERIES), DOCUMENTS)
        np.testing.assert_allclose(found, self.cosines(0.3), atol=1e-12)
        listed = mixture.similarities(QUERIES, sp.csr_matrix(DOCUMENTS), PAIRS)
        np.testing.assert_allclose(listed, found[PAIRS[:, 0], PAIRS[:, 1]], atol=1e-12)

    def test_tuned(self):
        target = self.cosines(0.65)
        mixture = sj.SurfaceMixture(self.MODEL)
        best = mixture.tuned(QUERIES, DOCUMENTS, lambda found: -np.abs(found - target).max())
        assert best.weight == pytest.approx(0.65)
        assert mixture.weight == 0.5
        assert mixture.tuned(QUERIES, DOCUMENTS, lambda found: 1.0, weights=[0.4, 0.2]).weight == 0.4

    def test_separate_matrices(self):
        model = sj.S2Net(3, matrices="separate", start="random", random_state=0, max_iter=2)
        model.fit([QUERIES, DOCUMENTS], PAIRS)
        found = sj.SurfaceMixture(model, weight=1.0).similarities(QUERIES, DOCUMENTS)
        Q, D = (model.transform(x, view=i) for i, x in enumerate((QUERIES, DOCUMENTS)))
        np.testing.assert_allclose(
            found, (Q @ D.T) / np.linalg.norm(Q, axis=1)[:, None] / np.linalg.norm(D, axis=1), atol=1e-12
        )

    def test_bad_input(self):
        mixture = sj.SurfaceMixture(self.MODEL)
        with pytest.raises(ValueError, match="weight: expected a finite number, between 0 and 1, got 2"):
            sj.SurfaceMixture(self.MODEL, weight=2)
        with pytest.raises(ValueError, match="documents: expected 12 columns as queries have, got 5"):
            mixture.similarities(QUERIES, DOCUMENTS[:, :5])
        with pytest.raises(ValueError, match=r"pairs\[:, 0\]: expected rows from 0 to 6"):
            mixture.similarities(QUERIES, DOCUMENTS, [[7, 0]])
        with pytest.raises(ValueError, match="weights: expected at least one"):
            mixture.tuned(QUERIES, DOCUMENTS, np.mean, weights=[])
        with pytest.raises(ValueError, match="score: expected a finite number"):
            mixture.tuned(QUERIES, DOCUMENTS, lambda found: np.nan)
        with pytest.raises(TypeError, match="model: expected a fitted model of rows, got None"):
            sj.SurfaceMixture(None)
        three = sj.S2Net(2, matrices="separate", start="random", max_iter=1).fit([QUERIES] * 3)
        with pytest.raises(
            ValueError, match=r"model: has matrices for 3 views, expected .* queries and documents"
        ):
            sj.SurfaceMixture(three).similarities(QUERIES, DOCUMENTS)
