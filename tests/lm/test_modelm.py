"""Model M: against a dense reference, finite differences and its own laws, and what users may get wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import semproj as sj
from semproj._core import lm as _core
from semproj.lm import ModelM, Vocabulary, WordClasses
from semproj.lm._modelm_training import Exponential, WordNumbers
from semproj.lm._sentences import NumberedText
from tests.reference import modelm as reference

WORDS = ["the", "a", "cat", "dog", "bird", "sees", "hears", "big"]


def random_sentences(seed, n=40):
    """By a grammar of a kind, so that contexts tell something."""
    rng = np.random.default_rng(seed)
    after = rng.dirichlet(np.full(len(WORDS), 0.3), (len(WORDS), len(WORDS)))
    sentences = []
    for _ in range(n):
        words = list(rng.integers(0, len(WORDS), 2))
        for _ in range(int(rng.integers(0, 6))):
            words.append(rng.choice(len(WORDS), p=after[words[-2], words[-1]]))
        sentences.append([WORDS[i] for i in words[int(rng.integers(0, 2)) :]])
    return sentences


def fitted_classes(sentences, n=3):
    return WordClasses(n).fit(sentences)


def numbered(sentences, vocabulary):
    ids, starts = vocabulary.encode(sentences)
    return NumberedText(ids, starts)


def forests(sentences, classes, order, n_threads=2):
    numbers = WordNumbers(classes.classes_, classes.n_classes + 1)
    text = numbered(sentences, classes.vocabulary_)
    return [numbers.forest(text, order, kind, n_threads) for kind in ("classes", "words")]


class TestKernel:
    @pytest.mark.parametrize("order", [2, 3, 4])
    @pytest.mark.parametrize("kind", [0, 1])
    def test_expectations_are_the_gradient(self, order, kind):
        """log likelihood by a weight: count - expected. Central differences of step h are good to h^2."""
        sentences = random_sentences(order)
        forest = forests(sentences, fitted_classes(sentences), order)[kind]
        rng = np.random.default_rng(0)
        sizes = [len(forest.counts(level)) for level in range(forest.n_levels)]
        weights, expected = [rng.standard_normal(n) for n in sizes], [np.full(n, np.nan) for n in sizes]

        def likelihood():
            scratch = [np.zeros(n) for n in sizes]
            return _core.sweep_forest(forest, weights, scratch, 0.5, 6.0, solve=False, n_threads=2)

        _core.sweep_forest(forest, weights, expected, 0.5, 6.0, solve=False, n_threads=2)
        h = 1e-5
        for level, n in enumerate(sizes):
            for i in rng.choice(n, min(n, 12), replace=False):
                before = weights[level][i]
                weights[level][i] = before + h
                above = likelihood()
                weights[level][i] = before - h
                slope = (above - likelihood()) / (2 * h)
                weights[level][i] = before
                assert forest.counts(level)[i] - expected[level][i] == pytest.approx(slope, abs=1e-6)

    @pytest.mark.parametrize("kind", [0, 1])
    def test_solved_leaves_are_where_no_step_gains(self, kind):
        """At the maximum the slope is in the subgradient of the penalty.

        The solver is content when no weight moves by 1e-3; the slope changes by up to a quarter of a leaf's count
        for each unit, here about 40.
        """
        sentences = random_sentences(5)
        forest = forests(sentences, fitted_classes(sentences), 3)[kind]
        sizes = [len(forest.counts(level)) for level in range(forest.n_levels)]
        weights, expected = [np.zeros(n) for n in sizes], [np.zeros(n) for n in sizes]
        for _ in range(6):  # each goes on where the last one stopped
            _core.sweep_forest(forest, weights, expected, 0.5, 6.0, solve=True, n_threads=1)
        leaf = weights[-1]
        slope = forest.counts(forest.n_levels - 1) - expected[-1] - leaf / 6
        assert (leaf != 0).any()
        np.testing.assert_allclose(slope[leaf != 0], 0.5 * np.sign(leaf[leaf != 0]), atol=1e-2)
        assert (np.abs(slope[leaf == 0]) <= 0.5 + 1e-2).all()

    def test_counts_are_those_of_the_text(self):
        forest = forests([["a", "b"], ["a", "b"], ["a", "c"]], WordClasses(3).fit([["a", "b", "c"]]), 3)[1]
        assert forest.counts(0).sum() == 9
        assert sorted(forest.counts(1)) == sorted([3, 2, 1, 2, 1])  # <s> a, a b, a c, b </s>, c </s>
        assert forest.counts(2).sum() == 9
        assert not forest.counts(2).flags.writeable

    def test_refuses_what_does_not_fit(self):
        classes = WordClasses(2).fit([["a", "b"]])
        forest = forests([["a", "b"]], classes, 2)[0]
        with pytest.raises(ValueError, match="weights: expected those of all levels"):
            _core.sweep_forest(forest, [np.zeros(3)], [np.zeros(3)], 0.5, 6.0, solve=True, n_threads=1)
        with pytest.raises(ValueError, match="level: out of range"):
            forest.counts(3)
        with pytest.raises(ValueError, match="order: too many words and classes"):
            forests([["a", "b"]], classes, 60)


class TestAgainstReference:
    @pytest.mark.parametrize(("order", "alpha"), [(2, 0.5), (3, 0.5), (4, 0.5), (3, 0.0), (3, 2.0)])
    def test_the_optimum_is_the_same(self, order, alpha):
        sentences = random_sentences(order, n=25)
        classes = fitted_classes(sentences)
        vocabulary = classes.vocabulary_
        model = ModelM(order, classes=classes, alpha=alpha, variance=6.0, max_iter=600, tol=0).fit(sentences)
        numbers = [vocabulary.ids(sentence).tolist() for sentence in sentences]
        dense = reference.ModelM(numbers, classes.classes_, order, alpha, 6.0)
        best = dense.fit()
        assert model.objective_[-1] == pytest.approx(best, abs=2e-6)
        rng = np.random.default_rng(0)
        for _ in range(10):
            words = [WORDS[i] for i in rng.integers(0, len(WORDS), 4)]
            history = [reference.BEGIN] * (order - 1)
            for found in model.score_words(words):
                number = vocabulary[found.word]
                # The objective is flat at its top: its error of 2e-6 is one of about 1e-3 of the weights.
                assert found.log_prob == pytest.approx(dense.log_prob(history, number), abs=3e-3)
                history = [*history[1:], number]

    def test_the_objective_is_that_of_its_weights(self):
        sentences = random_sentences(1)
        model = ModelM(3, classes=fitted_classes(sentences), max_iter=7, tol=0).fit(sentences)
        weights = np.concatenate([getattr(model, name) for name in vars(model) if name.endswith("_weights")])
        n_tokens = sum(len(sentence) + 1 for sentence in sentences)
        log_likelihood = model.scores(sentences).sum() * np.log(10)
        penalty = 0.5 * np.abs(weights).sum() + (weights.astype(np.float64) ** 2).sum() / 12
        assert model.objective_[-1] == pytest.approx((log_likelihood - penalty) / n_tokens, rel=1e-6)


class TestLaws:
    @pytest.mark.parametrize("order", [2, 3, 4, 5])
    def test_probabilities_sum_to_one(self, order):
        sentences = random_sentences(order, n=60)
        model = ModelM(order, classes=3, min_count=6, max_iter=5).fit(sentences)
        words = [word for word in model.vocabulary_ if word != "<s>"]
        assert "<unk>" in words
        rng = np.random.default_rng(0)
        for _ in range(8):
            history = [[*WORDS, "unseen"][i] for i in rng.integers(0, len(WORDS) + 1, int(rng.integers(0, 6)))]
            for bos in (True, False):
                last = [model.score_words([*history, word], bos=bos, eos=False)[-1].log_prob for word in words]
                assert np.sum(10.0 ** np.array(last)) == pytest.approx(1, abs=1e-9)

    def test_the_same_bits_for_any_number_of_threads(self):
        sentences = random_sentences(0, n=300)
        one, three = (ModelM(classes=4, max_iter=6, tol=0, n_threads=n).fit(sentences) for n in (1, 3))
        np.testing.assert_array_equal(one.objective_, three.objective_)
        np.testing.assert_array_equal(one.scores(sentences), three.scores(sentences))

    def test_the_objective_rises(self):
        """Also where the first steps are too long, as those of many words with large counts are."""
        sentences = random_sentences(7, n=3000)
        objective = ModelM(4, classes=4, max_iter=40, tol=0).fit(sentences).objective_
        assert (np.diff(objective) >= 0).all()

    def test_steps_that_are_too_long_are_taken_back(self, monkeypatch):
        sentences = random_sentences(7, n=400)
        best = ModelM(classes=4, max_iter=60, tol=0).fit(sentences).objective_[-1]
        begin = Exponential.begin

        def reckless(self):
            begin(self)
            self.share = 0.2

        monkeypatch.setattr(Exponential, "begin", reckless)
        objective = ModelM(classes=4, max_iter=60, tol=0).fit(sentences).objective_
        assert (np.diff(objective) >= -1e-9).all()
        assert objective[-1] == pytest.approx(best, abs=2e-3)

    def test_contexts_help(self):
        train, held_out = random_sentences(0, n=900)[:800], random_sentences(0, n=900)[800:]
        classes = fitted_classes(train)
        two, three = (ModelM(order, classes=classes).fit(train).perplexity(held_out) for order in (2, 3))
        assert three < 0.8 * two

    def test_zero_weights_are_not_kept(self):
        sentences = random_sentences(2)
        many, few = (ModelM(classes=3, alpha=alpha, max_iter=8).fit(sentences) for alpha in (0.0, 3.0))
        assert few.n_features_ < 0.5 * many.n_features_
        assert few.perplexity(sentences) > many.perplexity(sentences)

    def test_scores_are_sums_of_words(self):
        sentences = [*random_sentences(3, n=20), [], ["unseen", "cat"]]
        model = ModelM(classes=3, max_iter=3).fit(sentences[:20])
        for options in ({}, {"bos": False}, {"eos": False}):
            sums = [sum(word.log_prob for word in model.score_words(s, **options)) for s in sentences]
            np.testing.assert_allclose(model.scores(sentences, **options), sums, rtol=1e-12)
            np.testing.assert_allclose([model.score(s, **options) for s in sentences], sums, rtol=1e-12)
        assert [word.unknown for word in model.score_words(["unseen", "cat"])] == [True, False, False]

    def test_a_start_inside_of_a_sentence_is_never_predicted(self):
        model = ModelM(classes=3, max_iter=3).fit(random_sentences(3))
        assert model.score_words(["cat", "<s>", "dog"])[1].log_prob == -99

    def test_classes_that_are_not_fitted_are_fitted_on_the_text(self):
        sentences = random_sentences(3)
        given = WordClasses(3, min_count=2)
        model = ModelM(classes=given, max_iter=3).fit(sentences)
        other = ModelM(classes=3, min_count=2, max_iter=3).fit(sentences)
        assert not hasattr(given, "classes_")
        np.testing.assert_array_equal(model.scores(sentences), other.scores(sentences))


class TestFiles:
    def test_saved_and_loaded(self, tmp_path):
        sentences = random_sentences(0)
        model = ModelM(4, classes=fitted_classes(sentences), max_iter=3).fit(sentences)
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.scores(sentences), model.scores(sentences))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores(sentences), model.scores(sentences))
        assert loaded.vocabulary_ == model.vocabulary_
        assert loaded.n_features_ == model.n_features_

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("_contexts_labels", lambda a: a + 100),
            ("_contexts_symbols", lambda a: a + 100),
            ("_contexts_children", lambda a: a + 1),
            ("_class_contexts_features", lambda a: a[::-1]),
            ("_words", lambda a: a - 1),
            ("_class_starts", lambda a: a * 2),
        ],
    )
    def test_a_file_that_points_elsewhere_is_refused(self, tmp_path, name, change):
        model = ModelM(classes=3, max_iter=2).fit(random_sentences(0))
        setattr(model, name, change(getattr(model, name)))
        model.save(tmp_path / "model")
        with pytest.raises(sj.SavedModelError):
            sj.load(tmp_path / "model")


class TestBadInput:
    @pytest.mark.parametrize(
        ("parameters", "sentences", "error", "message"),
        [
            ({"order": 1}, ["a"], ValueError, "order: expected at least 2, got 1"),
            ({"classes": 0}, ["a"], ValueError, "classes: expected between 1 and 32768, got 0"),
            ({"classes": "many"}, ["a"], TypeError, "classes: expected an integer"),
            ({"alpha": -1}, ["a"], ValueError, "alpha: expected"),
            ({"variance": 0}, ["a"], ValueError, "variance: expected a finite number above 0"),
            ({"min_count": 0}, ["a"], ValueError, "min_count: expected at least 1"),
            ({}, [], ValueError, "sentences: expected at least one"),
        ],
    )
    def test_errors_name_the_argument(self, parameters, sentences, error, message):
        model = ModelM(classes=2, max_iter=2).fit(["a b"])
        before = model.score("a b")
        with pytest.raises(error, match=message):
            model.set_params(**parameters).fit(sentences)
        model.set_params(order=3)
        assert model.score("a b") == before

    def test_before_it_is_fitted(self):
        with pytest.raises(ValueError, match="not fitted"):
            ModelM().score("a")

    def test_one_word_and_empty_sentences(self):
        model = ModelM(max_iter=3).fit(["one", ""])
        assert isinstance(model.vocabulary_, Vocabulary)
        assert model.score("one") < 0
        assert np.isfinite(model.score(""))
        assert model.scores([]).shape == (0,)
        with pytest.raises(ValueError, match="sentences: expected at least one"):
            model.perplexity([])
