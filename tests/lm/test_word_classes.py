"""Word classes: against a brute-force exchange, against planted classes, and what users may get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import semproj as sj
from semproj._core import lm as _core
from semproj.lm import RNNLM, WordClasses
from tests.reference import wordclasses as reference


def random_sentences(seed, n_words=13, n=40):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n_words, 0.5), n_words)
    sentences = []
    for _ in range(n):
        word, words = int(rng.integers(n_words)), []
        for _ in range(int(rng.integers(0, 9))):
            words.append(word)
            word = int(rng.choice(n_words, p=weights[word]))
        sentences.append([w + 3 for w in words])
    return sentences


def packed(sentences):
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    return starts, np.array([w for s in sentences for w in s], np.int32)


def dealt(n, n_classes):
    classes = np.arange(n, dtype=np.int32) % n_classes
    classes[[1, 2]] = n_classes
    return classes


def planted(seed, n_classes=6, size=20, n=3000):
    """Words of a class are alike but for how often they come; classes follow each other by a chain."""
    rng = np.random.default_rng(seed)
    chain = rng.dirichlet(np.full(n_classes, 0.2), n_classes)
    words = rng.dirichlet(np.full(size, 2.0), n_classes)
    sentences = []
    for _ in range(n):
        c, sentence = int(rng.integers(n_classes)), []
        for _ in range(8):
            sentence.append(f"c{c}w{rng.choice(size, p=words[c])}")
            c = int(rng.choice(n_classes, p=chain[c]))
        sentences.append(sentence)
    return sentences


class TestExchange:
    @pytest.mark.parametrize("n_classes", [1, 3, 5])
    @pytest.mark.parametrize("seed", range(4))
    def test_moves_are_those_of_the_reference(self, seed, n_classes):
        """Of so few words every batch is one word: the algorithm is exact."""
        sentences = random_sentences(seed)
        pairs = _core.count_word_pairs(*packed(sentences), 16, reference.BOUNDARY, 2)
        ours, theirs = dealt(16, n_classes), dealt(16, n_classes)
        for _ in range(3):
            found = _core.exchange_words(pairs, ours, n_classes + 1, n_classes, 2)
            assert found.moves == reference.exchange_sweep(sentences, theirs, n_classes)
            np.testing.assert_array_equal(ours, theirs)
            assert found.log_likelihood == pytest.approx(reference.log_likelihood(sentences, ours), rel=1e-12)

    def test_words_that_follow_themselves_count_once(self):
        sentences = [[3, 3, 3, 4], [4, 4, 5, 5], [5, 3, 3, 6, 6]] * 3
        pairs = _core.count_word_pairs(*packed(sentences), 7, reference.BOUNDARY, 1)
        ours, theirs = dealt(7, 2), dealt(7, 2)
        _core.exchange_words(pairs, ours, 3, 2, 1)
        reference.exchange_sweep(sentences, theirs, 2)
        np.testing.assert_array_equal(ours, theirs)

    def test_in_batches_the_likelihood_is_exact_and_rises(self):
        sentences = random_sentences(3, n_words=300, n=400)
        pairs = _core.count_word_pairs(*packed(sentences), 303, reference.BOUNDARY, 2)
        classes = dealt(303, 7)
        before = _core.class_log_likelihood(pairs, classes, 8)
        assert before == pytest.approx(reference.log_likelihood(sentences, classes), rel=1e-12)
        for _ in range(4):
            after = _core.exchange_words(pairs, classes, 8, 7, 2).log_likelihood
            assert after == pytest.approx(reference.log_likelihood(sentences, classes), rel=1e-12)
            assert after >= before
            before = after

    def test_refuses_what_is_out_of_range(self):
        starts, ids = packed([[3, 4]])
        pairs = _core.count_word_pairs(starts, ids, 5, 2, 1)
        with pytest.raises(ValueError, match="ids: out of range"):
            _core.count_word_pairs(starts, ids, 4, 2, 1)
        with pytest.raises(ValueError, match="classes: out of range"):
            _core.exchange_words(pairs, np.full(5, 3, np.int32), 3, 2, 1)
        with pytest.raises(ValueError, match="n_free: out of range"):
            _core.exchange_words(pairs, np.zeros(5, np.int32), 1, 2, 1)
        with pytest.raises(ValueError, match="starts: expected offsets of ids"):
            _core.count_word_pairs(np.array([0, 3]), ids, 5, 2, 1)


class TestWordClasses:
    @pytest.mark.parametrize("seed", range(3))
    def test_planted_classes_are_found(self, seed):
        """From the best of a few starts: exchange ends in a local optimum."""
        sentences = planted(seed)
        starts = (None, 1, 2, 3)
        models = [WordClasses(6, max_iter=30, tol=0, random_state=start).fit(sentences) for start in starts]
        model = max(models, key=lambda each: each.objective_[-1])
        purity = 0
        for c in range(6):
            names = [word.partition("w")[0] for word in model.words_of(c) if word.startswith("c")]
            purity += max(names.count(name) for name in {*names})
        assert purity >= 0.95 * (len(model.vocabulary_) - 3)

    def test_objective_is_the_mean_log_likelihood(self):
        sentences = planted(0, n=200)
        model = WordClasses(4, max_iter=3, tol=0).fit(sentences)
        numbers = [model.vocabulary_.ids(sentence).tolist() for sentence in sentences]
        expected = reference.log_likelihood(numbers, model.classes_) / np.log(10) / (200 * 9)
        assert model.objective_[-1] == pytest.approx(expected, rel=1e-12)
        assert (np.diff(model.objective_) >= 0).all()

    def test_classes_do_not_depend_on_threads(self):
        sentences = planted(1, size=60)
        one, four = (WordClasses(9, n_threads=n).fit(sentences) for n in (1, 4))
        np.testing.assert_array_equal(one.classes_, four.classes_)
        np.testing.assert_array_equal(one.objective_, four.objective_)

    def test_a_seed_deals_words_otherwise(self):
        sentences = planted(1, n=300)
        default, seeded, again = (
            WordClasses(6, max_iter=1, random_state=seed).fit(sentences) for seed in (None, 1, 1)
        )
        assert (default.classes_ != seeded.classes_).any()
        np.testing.assert_array_equal(seeded.classes_, again.classes_)

    def test_strings_lists_and_files_are_the_same(self, tmp_path):
        sentences = [" ".join(words) for words in planted(2, n=200)]
        (tmp_path / "text").write_text("\n".join(sentences) + "\n", "utf-8")
        of_text, of_lists = WordClasses(5).fit(sentences), WordClasses(5).fit([s.split() for s in sentences])
        of_file = WordClasses(5).fit(files=tmp_path / "text")
        for other in (of_lists, of_file):
            assert other.vocabulary_ == of_text.vocabulary_
            np.testing.assert_array_equal(other.classes_, of_text.classes_)

    def test_rare_words_are_unknown_together(self):
        model = WordClasses(2, min_count=2).fit(["a b a b c", "a b d", "e"])
        assert list(model.vocabulary_) == ["<unk>", "<s>", "</s>", "a", "b"]
        assert model.class_of("c") == model.class_of("never seen") == model.classes_[0]
        assert model.get("c") is None
        assert model.get("a") == model.class_of("a")

    def test_more_classes_than_words(self):
        model = WordClasses(150).fit(["one"])
        assert model.words_of(model.class_of("one")) == ["one"]
        assert model.words_of(150) == ["<s>", "</s>"]

    def test_sentences_may_be_empty(self):
        model = WordClasses(2).fit(["", "a b", [], "b a"])
        assert len(model.vocabulary_) == 5

    def test_saved_and_loaded(self, tmp_path):
        model = WordClasses(4).fit(planted(0, n=100))
        model.save(tmp_path / "classes")
        loaded = sj.load(tmp_path / "classes")
        assert loaded.words_of(2) == model.words_of(2)
        assert loaded.class_of("c0w1") == model.class_of("c0w1")

    def test_serve_as_classes_of_a_recurrent_network(self):
        sentences = planted(0, n=50)
        classes = WordClasses(4).fit(sentences)
        network = RNNLM(3, classes=classes, epochs=1, held_out=None, random_state=0).fit(sentences)
        assert np.isfinite(network.score(sentences[0]))

    @pytest.mark.parametrize(
        ("parameters", "sentences", "error", "message"),
        [
            ({"n_classes": 0}, ["a"], ValueError, "n_classes: expected between 1 and 32768, got 0"),
            ({"n_classes": 2.5}, ["a"], TypeError, "n_classes: expected an integer"),
            ({"min_count": 0}, ["a"], ValueError, "min_count: expected at least 1"),
            ({"max_iter": 0}, ["a"], ValueError, "max_iter: expected at least 1"),
            ({}, [], ValueError, "sentences: expected at least one"),
        ],
    )
    def test_errors_name_the_argument(self, parameters, sentences, error, message):
        model = WordClasses(2).fit(["a b"])
        before = model.classes_
        with pytest.raises(error, match=message):
            model.set_params(**parameters).fit(sentences)
        assert model.classes_ is before
