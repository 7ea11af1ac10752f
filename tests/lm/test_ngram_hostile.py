"""Training and queries where something is wrong: texts, parameters, disks, threads."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from semproj import NGramLM
from tests.lm.test_ngram_reference import ESTIMATE, SMOOTHINGS, assert_same_model, fitted, zipf_text

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")


class TestTexts:
    @pytest.mark.parametrize("order", range(1, 7))
    @pytest.mark.parametrize("text", [[["a"]], [["a"]] * 9, [["a"] * 50], [[], ["a"], []]], ids=range(4))
    @pytest.mark.parametrize("smoothing", SMOOTHINGS)
    def test_one_word(self, smoothing, text, order, tmp_path):
        assert_same_model(fitted(text, order, smoothing), ESTIMATE[smoothing](text, order), tmp_path / "m.arpa")

    @pytest.mark.parametrize("text", [[], [[]], [[], []], ["", "  \t"], iter([])], ids=range(5))
    @pytest.mark.parametrize("smoothing", SMOOTHINGS)
    def test_nothing_to_learn_from(self, smoothing, text):
        with pytest.raises(ValueError, match="sentences"):
            fitted(text, 3, smoothing)

    def test_empty_files(self, tmp_path):
        (tmp_path / "empty").write_text("")
        with pytest.raises(ValueError, match=r"sentences|files"):
            NGramLM().fit(files=[tmp_path / "empty"])
        with pytest.raises(FileNotFoundError, match="nowhere"):
            NGramLM().fit(files=[tmp_path / "nowhere"])
        with pytest.raises(ValueError, match="files"):
            NGramLM().fit(files=[])

    @pytest.mark.parametrize("word", ["<s>", "</s>"])
    def test_special_words_inside(self, word, tmp_path):
        for text in ([["a", word, "b"]], [f"a {word} b"]):
            with pytest.raises(ValueError, match=word):
                NGramLM(order=2).fit([["a", "b"], *text])
        (tmp_path / "text").write_text(f"a b\na {word} b\n")
        with pytest.raises(ValueError, match=word) as caught:
            NGramLM(order=2).fit(files=[tmp_path / "text"])
        assert "2" in str(caught.value)  # the line
        assert "text" in str(caught.value)

    def test_unknown_words_are_words_of_their_own(self, tmp_path):
        text = [["a", "<unk>", "b"], ["<unk>", "b"], ["a", "b"]]
        expected = ESTIMATE["kneser_ney"](text, 2)
        assert expected.log_probs["<unk>", "b"]
        try:
            model = fitted(text, 2, "kneser_ney")
        except ValueError as error:
            assert "<unk>" in str(error)  # noqa: PT017
        else:
            assert_same_model(model, expected, tmp_path / "m.arpa")

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("a b c", TypeError),
            (b"a b c", TypeError),
            ([b"a b"], TypeError),
            ([["a", b"b"]], TypeError),
            ([["a", None]], TypeError),
            ([["a"], 3], TypeError),
            ([None], TypeError),
            ({"a b": 1}, TypeError),
            ({"a b"}, TypeError),
            ([{"a": 1}], TypeError),
            (5, TypeError),
            ([["a", "\ud800"]], ValueError),
            (["a \ud800"], ValueError),
            ([["a", ""]], ValueError),
            ([["a b", "c"]], ValueError),
            ([["a\nb", "c"]], ValueError),
            ([["a\tb", "c"]], ValueError),
        ],
    )
    def test_what_is_no_text(self, text, error):
        """A word with white space inside could not be written to a file, and none is looked up with it."""
        with pytest.raises(error, match=r"sentences|text"):
            NGramLM(order=2).fit(text)

    def test_the_sentence_is_named(self):
        for n_threads in (1, 3):
            text = [["a", "b"]] * 5000 + [["a", ""]] + [["b", "a"]] * 100
            with pytest.raises(ValueError, match=r"5000|5001"):
                NGramLM(order=2, n_threads=n_threads).fit(text)

    def test_white_space(self, tmp_path):
        """ASCII white space divides words, newlines divide sentences of a file, and nothing else does either."""
        raw = "a\u00a0b c\u2028d  e\x85f\tg h\r\n\n  \ni\rj\x1ck\n"
        (tmp_path / "text").write_text(raw, encoding="utf-8", newline="")
        text = [["a\u00a0b", "c\u2028d", "e\x85f", "g", "h"], [], [], ["i", "j\x1ck"]]
        expected = ESTIMATE["kneser_ney"](text, 2)
        assert_same_model(fitted(text, 2, "kneser_ney"), expected, tmp_path / "m.arpa")
        model = NGramLM(order=2, smoothing="kneser_ney").fit(files=[tmp_path / "text"])
        assert_same_model(model, expected, tmp_path / "m.arpa")

    def test_a_file_that_is_no_utf8(self, tmp_path):
        (tmp_path / "text").write_bytes(b"a b\n\xff\xfe c\n")
        with pytest.raises(ValueError, match="text") as caught:
            NGramLM(order=2).fit(files=[tmp_path / "text"])
        assert "2" in str(caught.value)

    def test_long_words_and_sentences(self, tmp_path):
        rng = np.random.default_rng(0)
        text = [["x" * 300_000, "y" * 70_000, "x" * 300_000], [f"w{i}" for i in rng.integers(0, 50, 200_000)]]
        model = fitted(text, 3, "kneser_ney")
        assert_same_model(model, ESTIMATE["kneser_ney"](text, 3), tmp_path / "m.arpa")
        (tmp_path / "text").write_text("".join(" ".join(sentence) + "\n" for sentence in text))
        again = NGramLM(order=3, smoothing="kneser_ney").fit(files=[tmp_path / "text"])
        assert again.score(text[1]) == model.score(text[1])


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("order", 0),
            ("order", 7),
            ("order", -1),
            ("order", 2.5),
            ("order", "3"),
            ("order", True),
            ("order", None),
            ("smoothing", "kn"),
            ("smoothing", None),
            ("min_counts", ()),
            ("min_counts", (0,)),
            ("min_counts", (1, 2, 3, 4)),
            ("min_counts", (1, 3, 2)),
            ("min_counts", (1, -2)),
            ("min_counts", (1, 2.5)),
            ("min_counts", "12"),
            ("min_count", 0),
            ("min_count", -1),
            ("min_count", 1.5),
            ("max_words", 0),
            ("max_words", -3),
            ("vocabulary", "abc"),
            ("vocabulary", ["a", "a"]),
            ("vocabulary", ["a", 3]),
            ("vocabulary", ["a b"]),
            ("vocabulary", [""]),
            ("max_memory", 0),
            ("max_memory", -5),
            ("max_memory", "much"),
            ("temp_dir", "/nowhere/at/all"),
            ("n_threads", 0),
            ("n_threads", 1.5),
        ],
    )
    def test_the_argument_is_named(self, name, value):
        with pytest.raises((ValueError, TypeError, OSError), match=name):
            NGramLM(**{"order": 3, name: value}).fit([["a", "b"]])

    def test_before_the_fit(self):
        from sklearn.exceptions import NotFittedError

        for ask in (
            lambda m: m.score("a"),
            lambda m: m.scores(["a"]),
            lambda m: m.score_words("a"),
            lambda m: m.perplexity(["a"]),
            lambda m: m.to_arpa("x"),
            lambda m: m.save("x"),
        ):
            with pytest.raises(NotFittedError):
                ask(NGramLM())

    @pytest.mark.parametrize("sentence", [3, None, b"a b", ["a", 3], {"a"}, ["a", None]])
    def test_queries_that_are_none(self, sentence):
        model = NGramLM(order=2).fit([["a", "b"]])
        with pytest.raises(TypeError, match="sentence"):
            model.score(sentence)
        with pytest.raises(TypeError, match="sentence"):
            model.scores(["a", sentence])
        with pytest.raises(TypeError, match="sentence"):
            model.score_words(sentence)
        with pytest.raises(TypeError, match="sentences"):
            model.scores("a b")


class TestQueries:
    def test_nothing(self):
        model = NGramLM(order=3).fit(zipf_text(100))
        assert model.scores([]).shape == (0,)
        assert model.score("") == model.score([]) == model.score_words("")[0].log_prob
        assert model.score("", eos=False) == 0
        assert model.score_words("", eos=False) == []
        assert model.scores(["", "", "w0"]).tolist() == [model.score(x) for x in ("", "", "w0")]
        with pytest.raises(ValueError, match="sentences"):
            model.perplexity([])

    def test_batches_are_single_queries(self):
        """To the bit, for any number of threads, and for sentences of any size."""
        model = NGramLM(order=4).fit(zipf_text(2000))
        text = [*zipf_text(3000, seed=9), ["w0"] * 100_000, [], ["never"] * 50, ["w1", "<s>", "</s>", "<unk>"]]
        single = np.array([model.score(sentence) for sentence in text])
        for n_threads in (1, 2, 5):
            np.testing.assert_array_equal(model.scores(text, n_threads=n_threads), single)
            lines = [" ".join(sentence) for sentence in text]
            np.testing.assert_array_equal(model.scores(iter(lines), n_threads=n_threads), single)
        sums = [sum(each.log_prob for each in model.score_words(sentence)) for sentence in text[:300]]
        np.testing.assert_allclose(sums, single[:300], rtol=1e-6, atol=1e-6)

    def test_from_many_threads(self):
        model = NGramLM(order=4).fit(zipf_text(2000))
        text = zipf_text(500, seed=9)
        expected, wrong = model.scores(text), []

        def ask(seed):
            rng = np.random.default_rng(seed)
            for _ in range(20):
                i = int(rng.integers(len(text)))
                good = model.score(text[i]) == expected[i]
                good &= np.array_equal(model.scores(text, n_threads=2), expected)
                good &= abs(sum(x.log_prob for x in model.score_words(text[i])) - expected[i]) < 1e-4
                if not good:
                    wrong.append(i)

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_the_gil_is_free(self):
        """Another thread of Python goes on while a batch is scored."""
        model = NGramLM(order=3).fit(zipf_text(2000))
        lines = [" ".join(sentence) for sentence in zipf_text(2000, seed=3)] * 200
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        try:
            model.scores(lines, n_threads=1)
        finally:
            done.set()
            thread.join()
        assert max(np.diff(ticks), default=0) < 0.25


class TestFailures:
    def test_a_failed_fit_keeps_the_previous_one(self, tmp_path):
        model = NGramLM(order=3, temp_dir=tmp_path).fit(zipf_text(300))
        before = model.scores(zipf_text(50, seed=1))

        def broken():
            yield from zipf_text(20_000, seed=2)
            raise KeyError("in the middle")

        with pytest.raises(KeyError, match="in the middle"):
            model.fit(broken())
        with pytest.raises(ValueError, match="sentences"):
            model.fit([])
        with pytest.raises(ValueError, match="order"):
            model.set_params(order=9).fit([["a"]])
        np.testing.assert_array_equal(model.set_params(order=3).scores(zipf_text(50, seed=1)), before)
        assert list(tmp_path.iterdir()) == []

    def test_a_full_disk(self, run_python, tmp_path):
        """While runs of n-grams are written: the folder is named, nothing stays, the last model answers."""
        script = f"""
            import resource, sys
            from pathlib import Path
            import numpy as np
            from semproj import NGramLM
            folder = Path({str(tmp_path)!r})
            model = NGramLM(order=3, max_memory=16 << 20, temp_dir=folder, n_threads=2).fit([["a", "b"]])
            before = model.score("a b")
            rng = np.random.default_rng(0)
            text = [[f"w{{i}}" for i in row] for row in rng.integers(0, 30_000, (60_000, 30))]
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            try:
                model.fit(text)
            except OSError as error:
                print(error, error.errno)
            else:
                raise AssertionError("no file was as large as 1 MB")
            assert list(folder.iterdir()) == [], list(folder.iterdir())
            assert model.score("a b") == before
        """
        done = run_python(script)
        assert str(tmp_path) in done.stdout

    def test_little_memory_says_how_much_it_needs(self, tmp_path):
        with pytest.raises(ValueError, match="max_memory"):
            NGramLM(order=3, max_memory=1000, temp_dir=tmp_path).fit(zipf_text(300))
