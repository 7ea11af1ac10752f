"""The recurrent language model: what it learns, what it answers, how a fit ends and goes on, bad input."""

from __future__ import annotations

import lzma
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import semproj as sj
from semproj.lm import RNNLM, LanguageModel
from tests.reference import rnnlm as reference
from tests.support import same_bits
from tests.support.fitted import assert_same_fit
from tests.support.interrupting import interrupted

WORDS = [f"w{i}" for i in range(30)]


def sentences(n=300, seed=0):
    """Each word makes some others likely to come next."""
    rng = np.random.default_rng(seed)
    follow = np.random.default_rng(100).integers(0, 30, (30, 3))
    texts = []
    for _ in range(n):
        word, words = int(rng.integers(30)), []
        for _ in range(int(rng.integers(2, 9))):
            words.append(WORDS[word])
            word = int(follow[word, rng.integers(3)])
        texts.append(" ".join(words))
    return texts


def make(**parameters):
    return RNNLM(
        **{"n_components": 10, "epochs": 6, "held_out": 0.1, "random_state": 0, "learning_rate": 0.2, **parameters}
    )


@pytest.fixture(scope="module")
def fitted():
    return make(epochs=20, n_slow=4).fit(sentences())


class TestLearning:
    @pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu"])
    def test_a_word_far_back(self, activation):
        """The first word decides the last; between them are seven that say nothing: no n-gram model sees it."""
        rng = np.random.default_rng(0)

        def sentence(kind):
            between = " ".join(f"x{i}" for i in rng.integers(0, 3, 7))
            return f"{'ab'[kind]} {between} {'pq'[kind]}"

        text = [sentence(int(k)) for k in rng.integers(0, 2, 3000)]
        rate = 0.2 if activation == "sigmoid" else 0.1
        model = RNNLM(16, epochs=40, activation=activation, learning_rate=rate, n_streams=8, random_state=1)
        model.set_params(patience=None).fit(text)
        for _ in range(20):
            for kind in (0, 1):
                right = sentence(kind).split()
                wrong = [*right[:-1], "qp"[kind]]
                assert model.score(right) > model.score(wrong) + 1

    def test_perplexity_nears_that_of_the_source(self):
        """Three words may follow each, with equal probability."""
        model = make(n_components=20, epochs=40).fit(sentences(3000))
        new = sentences(300, seed=9)
        first_and_length = np.log2(30) + np.log2(7)
        n_words = sum(len(s.split()) for s in new)
        source = 2 ** ((len(new) * first_and_length + (n_words - len(new)) * np.log2(3)) / (n_words + len(new)))
        assert model.perplexity(new) < 1.2 * source

    def test_objective_is_the_perplexity_of_held_out_sentences(self):
        held = sentences(40, seed=4)
        model = make(held_out=held).fit(sentences())
        assert model.objective_[-1] == pytest.approx(model.perplexity(held), rel=1e-6)
        assert (np.diff(model.objective_) < 0).all()

    def test_the_best_sweep_is_kept(self):
        """Trained for too long on few sentences, it forgets others."""
        held = sentences(100, seed=4)
        model = make(n_components=30, held_out=held, epochs=300, patience=4).fit(sentences(60))
        assert model.n_iter_ < 300
        assert model.objective_.argmin() == model.n_iter_ - 5
        assert model.objective_.min() == pytest.approx(model.perplexity(held), rel=1e-6)

    def test_no_patience(self):
        assert make(held_out=sentences(9, 4), epochs=60, patience=None).fit(sentences(20)).n_iter_ == 60

    def test_long_texts_have_several_sweeps_an_epoch(self):
        model = make(sweep_words=400, epochs=2).fit(sentences())
        n_words = sum(len(s.split()) + 1 for s in sentences())
        assert model.n_iter_ == 2 * round(n_words / 400)

    def test_given_classes(self):
        """Words with no class share one."""
        classes = {word: i % 4 for i, word in enumerate(WORDS[:20])}
        model = make(classes=classes).fit(sentences())
        of = {word: model.class_of_[model.vocabulary_[word]] for word in WORDS}
        assert len(model.classes_) == 5
        assert all((of[a] == of[b]) == (classes.get(a) == classes.get(b)) for a in WORDS for b in WORDS)

    def test_slow_units_know_what_a_sentence_is_about(self):
        """A word among the first twelve, wherever it is, decides the last."""
        rng = np.random.default_rng(0)

        def sentence(kind):
            words = [f"x{i}" for i in rng.integers(0, 9, 12)]
            words[rng.integers(0, 12)] = "ab"[kind]
            return " ".join([*words, "pq"[kind]])

        text = [sentence(int(k)) for k in rng.integers(0, 2, 600)]
        new = [sentence(int(k)) for k in rng.integers(0, 2, 200)]
        given = {"n_streams": 8, "epochs": 12, "patience": None, "n_steps": 14}
        fast, slow = (make(n_components=6, n_slow=n, **given).fit(text) for n in (0, 6))
        assert slow.perplexity(new) < 0.99 * fast.perplexity(new)

    def test_across_sentences(self):
        """Sentences alternate: with its state the network can know what the last one was."""
        text = ["a a", "b b"] * 400
        within, across = (
            make(across_sentences=each, held_out=None, epochs=30).fit(text) for each in (False, True)
        )
        assert across.objective_[-1] < 0.9 * within.objective_[-1]


class TestAnswers:
    def test_are_the_references(self, fitted):
        weights = {name: getattr(fitted, f"{name}_").astype(float) for name in reference_names()}
        for words in (["w1", "w2", "w3"], [], ["new", "w4"]):
            ids = [*fitted.vocabulary_.ids(words), 2]
            expected = reference.score(weights, fitted.class_begin_, fitted.place_of_, "sigmoid", ids, 1, 0.9)
            found = fitted.score_words(words)
            np.testing.assert_allclose([f.log_prob for f in found], expected / np.log(10), atol=1e-5)
            assert [f.word for f in found] == [*words, "</s>"]
            assert [f.unknown for f in found] == [w == "new" for w in words] + [False]
            assert fitted.score(words) == pytest.approx(expected.sum() / np.log(10), abs=1e-5)

    def test_sum_to_one(self, fitted):
        assert isinstance(fitted, LanguageModel)
        for history in ([], ["w3"], ["new", "w1", "w7", "w7"]):
            ends = [word for word in fitted.vocabulary_ if word not in ("<s>", "</s>")]
            logs = [fitted.score_words([*history, word], eos=False)[-1].log_prob for word in ends]
            logs.append(fitted.score_words(history)[-1].log_prob)
            assert (10.0 ** np.array(logs)).sum() == pytest.approx(1, abs=1e-5)

    @pytest.mark.parametrize("bos", [False, True])
    @pytest.mark.parametrize("eos", [False, True])
    def test_batches(self, fitted, bos, eos):
        text = ["", *sentences(100, seed=3), "new words", ["w1", "w2"]]
        one = fitted.scores(text, bos=bos, eos=eos, n_threads=1)
        assert same_bits(one, fitted.scores(iter(text), bos=bos, eos=eos, n_threads=3))
        each = [fitted.score(sentence, bos=bos, eos=eos) for sentence in text]
        np.testing.assert_allclose(one, each, atol=1e-5)
        assert fitted.scores([]).shape == (0,)

    def test_perplexity(self, fitted):
        text = [*sentences(50, seed=3), "w1 new w2"]
        scored = [word for sentence in text for word in fitted.score_words(sentence)]
        everything = np.array([word.log_prob for word in scored])
        known = np.array([word.log_prob for word in scored if not word.unknown])
        assert fitted.perplexity(text) == pytest.approx(10 ** -everything.mean(), rel=1e-5)
        assert fitted.perplexity(text, unknown=False) == pytest.approx(10 ** -known.mean(), rel=1e-5)

    def test_marks_within_sentences(self, fitted):
        """A start is an unknown word; after an end the next word is read like the first, but the state goes on."""
        assert fitted.score_words("w1 <s> w2")[1].unknown
        assert fitted.score_words("w1 </s> w2")[1].word == "</s>"
        assert same_bits(fitted.input_[1], fitted.input_[2])

    def test_many_threads_at_once(self, fitted):
        text, found = sentences(60, seed=8), [None] * 4
        expected = fitted.scores(text)

        def work(i):
            found[i] = fitted.scores(text)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(same_bits(each, expected) for each in found)


def reference_names():
    return ("input", "recurrent", "classes", "words", "hidden_bias", "class_bias", "word_bias")


class TestFits:
    def test_same_bits_for_any_number_of_threads(self):
        one = make(n_threads=1).fit(sentences())
        assert_same_fit(make(n_threads=3).fit(sentences()), one)
        assert not same_bits(make(random_state=1).fit(sentences()).words_, one.words_)

    def test_lists_strings_and_files_are_the_same(self, tmp_path):
        whole = make().fit(sentences())
        assert_same_fit(make().fit([s.split() for s in sentences()]), whole)
        assert_same_fit(make().fit(iter(sentences())), whole)
        (tmp_path / "a.txt").write_text("\n".join(sentences()[:100]) + "\n")
        with lzma.open(tmp_path / "b.xz", "wt") as file:
            file.write("\r\n".join(sentences()[100:]))
        assert_same_fit(make().fit(files=[tmp_path / "a.txt", str(tmp_path / "b.xz")]), whole)

    @pytest.mark.parametrize("after", [1, 3])
    def test_goes_on_bit_for_bit(self, tmp_path, after):
        path = tmp_path / "state"
        interrupted(make(checkpoint=path, sweep_words=500), (sentences(),), after)
        resumed = make(checkpoint=path, sweep_words=500, n_threads=2).fit(sentences())
        assert_same_fit(resumed, make(sweep_words=500).fit(sentences()))

    def test_goes_on_after_its_best_sweep(self, tmp_path):
        """The best is not the newest then, and both are kept."""
        given = {"held_out": sentences(50, seed=4), "epochs": 100, "patience": 8, "n_components": 30}
        whole = make(**given).fit(sentences(40))
        assert whole.objective_.argmin() == whole.n_iter_ - 9
        path = tmp_path / "state"
        interrupted(make(checkpoint=path, **given), (sentences(40),), whole.n_iter_ - 4)
        assert_same_fit(make(checkpoint=path, **given).fit(sentences(40)), whole)
        assert_same_fit(make(checkpoint=path, **given).fit(sentences(40)), whole)  # it was over

    @pytest.mark.parametrize(
        "other",
        [
            {"n_components": 11},
            {"epochs": 7},
            {"learning_rate": 0.3},
            {"n_slow": 2},
            {"decay": 0.8},
            {"held_out": None},
            {"classes": {"w1": 0}},
        ],
    )
    def test_checkpoint_of_another_fit(self, tmp_path, other):
        path = tmp_path / "state"
        make(checkpoint=path).fit(sentences())
        with pytest.raises(ValueError, match=f"checkpoint: .*another fit.*{next(iter(other))}"):
            make(checkpoint=path, **other).fit(sentences())
        with pytest.raises(ValueError, match=r"checkpoint: .*another fit.*text"):
            make(checkpoint=path).fit(sentences(seed=1))

    def test_saved_and_loaded(self, fitted, tmp_path):
        fitted.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        text = sentences(20, seed=5)
        assert same_bits(loaded.scores(text), fitted.scores(text))
        assert isinstance(loaded.words_.base, np.ndarray)
        assert not loaded.words_.flags.writeable
        assert loaded.get_params() == fitted.get_params()

    def test_what_was_given_is_not_saved(self, tmp_path):
        model = make(classes={"w1": 1}, held_out=["w1 w2"]).fit(sentences())
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert (loaded.classes, loaded.held_out) == (None, 0.01)
        assert loaded.score("w1 w2") == model.score("w1 w2")

    def test_progress_shows_speed(self, capsys):
        make(progress=True).fit(sentences())
        assert "words/s=" in capsys.readouterr().err

    def test_clone(self):
        held = ["w1 w2"]
        assert clone(make(held_out=held)).held_out == held


class TestSmallTexts:
    @pytest.mark.parametrize("text", [["a"], [""], ["", ""], ["a a a a"], [["a"], []]])
    def test_hardly_any(self, text):
        model = make().fit(text)
        assert np.isfinite(model.scores(["a", "", "b"])).all()
        assert np.isfinite(model.perplexity(text))

    def test_rare_words_become_unknown(self):
        model = make(min_count=2).fit(["a a b", "a c c"] * 1)
        assert model.vocabulary_.words[3:] == ["a", "c"]
        assert model.score_words("b")[0].unknown

    def test_unknown_word_in_text(self):
        model = make().fit(["a <unk> b"] * 20)
        assert len(model.vocabulary_) == 5
        assert model.score("a zebra b") > model.score("b zebra a")


class TestBadInput:
    @pytest.mark.parametrize(
        ("name", "value", "error"),
        [
            ("n_components", 0, ValueError),
            ("n_components", 2.5, TypeError),
            ("n_classes", 0, ValueError),
            ("classes", [1, 2], TypeError),
            ("min_count", 0, ValueError),
            ("activation", "softplus", ValueError),
            ("n_slow", -1, ValueError),
            ("decay", 1.5, ValueError),
            ("epochs", 0, ValueError),
            ("epochs", np.inf, ValueError),
            ("learning_rate", -1, ValueError),
            ("learning_rate", 1e9, ValueError),
            ("n_streams", 0, ValueError),
            ("n_streams", 2**20, ValueError),
            ("n_steps", 0, ValueError),
            ("clip", 0, ValueError),
            ("held_out", 1.5, ValueError),
            ("held_out", "w1 w2", TypeError),
            ("held_out", [], ValueError),
            ("held_out", object(), TypeError),
            ("patience", 0, ValueError),
            ("sweep_words", 0, ValueError),
            ("max_iter", 0, ValueError),
            ("tol", -1, ValueError),
            ("random_state", "seed", TypeError),
        ],
    )
    def test_parameters(self, fitted, name, value, error):
        model = make().fit(sentences())
        before = model.score("w1 w2")
        with pytest.raises(error, match=f"^{name}: "):
            model.set_params(**{name: value}).fit(sentences())
        assert model.score("w1 w2") == before

    def test_not_fitted(self):
        for ask in (RNNLM().score, RNNLM().score_words):
            with pytest.raises(NotFittedError):
                ask("a")
        with pytest.raises(NotFittedError):
            RNNLM().perplexity(["a"])


def test_scores_of_a_class_of_many_words():
    """More logits than there is room for are computed in turns: batches score as single sentences do."""
    words = [f"w{i}" for i in range(5000)]
    model = RNNLM(4, n_classes=1, epochs=0.01, held_out=None, random_state=0, n_threads=1).fit([" ".join(words)])
    assert len(model.class_begin_) == 2
    rng = np.random.default_rng(0)
    batch = [" ".join(words[i] for i in row) for row in rng.integers(0, 5000, (40, 40))]
    np.testing.assert_allclose(model.scores(batch), [model.score(each) for each in batch], rtol=1e-5)
