"""Text in: every model that is trained on text takes the same, and refuses the same in the same words."""

from __future__ import annotations

import gzip
import lzma
from collections import Counter, UserList
from itertools import pairwise

import numpy as np
import pytest

from semproj._core import lm as _core
from semproj.lm import RNNLM, ModelM, NGramLM, WordClasses
from semproj.lm._reading import read_text

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")

MODELS = {
    "NGramLM": lambda **options: NGramLM(2, **options),
    "WordClasses": lambda **options: WordClasses(2, max_iter=2, **options),
    "ModelM": lambda **options: ModelM(2, classes=2, max_iter=2, **options),
    "ModelM of classes": lambda **options: ModelM(2, classes=WordClasses(2).fit(["a b"]), max_iter=2, **options),
    "RNNLM": lambda **options: RNNLM(3, epochs=1, held_out=None, random_state=0, **options),
}


@pytest.fixture(params=MODELS)
def make(request):
    return MODELS[request.param]


def random_words(seed, n=4000):
    """Sentences of very different lengths, words with all lengths of UTF-8, <unk> among them."""
    rng = np.random.default_rng(seed)
    words = ["<unk>", "é", "語", "😀", "a-word-of-more-than-eleven-bytes", *(f"w{i}" for i in range(300))]
    sizes = rng.choice([0, 1, 5, 30], n)
    return [[words[min(int(i), len(words) - 1)] for i in rng.zipf(1.3, size) - 1] for size in sizes]


def known(model):
    """What a fit found, of any of the models."""
    if isinstance(model, WordClasses):
        return model.vocabulary_.words, model.classes_
    return model.vocabulary_.words, model.scores(["a b", "b a c", ""])


def assert_same(model, other):
    words, numbers = known(model)
    other_words, other_numbers = known(other)
    assert words == other_words
    np.testing.assert_array_equal(numbers, other_numbers)


def plainly_numbered(sentences, min_count, ends):
    """The numbers by their definition: words by falling count, ties by their bytes."""
    counts = Counter(word for words in sentences for word in words)
    kept = [word for word, n in counts.items() if n >= min_count and word != "<unk>"]
    kept = ["<unk>", "<s>", "</s>", *sorted(kept, key=lambda word: (-counts[word], word.encode()))]
    number = {word: i for i, word in enumerate(kept)}
    rows = [[number.get(word, 0) for word in words] + [2] * ends for words in sentences]
    starts = np.cumsum([0, *map(len, rows)])
    return kept, [i for row in rows for i in row], starts


class TestNumbers:
    @pytest.mark.parametrize("ends", [False, True])
    @pytest.mark.parametrize("min_count", [1, 3])
    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_are_those_of_their_definition(self, tmp_path, n_threads, min_count, ends):
        sentences = random_words(0)
        words, ids, starts = plainly_numbered(sentences, min_count, ends)
        lines = [" ".join(each) for each in sentences]
        (tmp_path / "text").write_text("".join(line + "\n" for line in lines), "utf-8")
        sources = [(sentences, None), (iter(lines), None), (None, tmp_path / "text")]
        for given, files in sources:
            found = read_text(given, files, n_threads=n_threads, min_count=min_count, ends=ends)
            assert found.words.words == words
            assert found.text.ids.dtype == np.int32
            np.testing.assert_array_equal(found.text.ids, ids)
            np.testing.assert_array_equal(found.text.starts, starts)

    @pytest.mark.parametrize("memory", [1 << 14, 1 << 30])
    def test_of_pieces(self, tmp_path, memory):
        """Texts that come in pieces cut anywhere, by several threads, from a disk and with long sentences."""
        sentences = [*random_words(1), ["w1"] * 300_000, *random_words(2), ["w2"] * 5]
        raw = "\n".join(" ".join(each) for each in sentences).encode()
        words, ids, starts = plainly_numbered(sentences, 1, False)
        rng = np.random.default_rng(0)
        cuts = [0, *sorted(rng.integers(0, len(raw), 40).tolist()), len(raw)]
        for n_threads in (1, 4):
            reading = _core.TextReading(False, memory, str(tmp_path), n_threads, "sentences")
            for begin, end in pairwise(cuts):
                reading.add_bytes(raw[begin:end])
            chosen = reading.choose(1, -1, None)
            assert len(chosen.counts) == len(words)
            found_ids, found_starts = reading.numbers(False)
            np.testing.assert_array_equal(found_ids, ids)
            np.testing.assert_array_equal(found_starts, starts)
            del reading
        assert list(tmp_path.iterdir()) == []

    def test_come_after_the_words_and_before_a_training(self):
        reading = _core.TextReading(False, 1 << 20, "", 1, "sentences")
        reading.add_sentences(["a b"])
        with pytest.raises(ValueError, match="words must be chosen before"):
            reading.numbers(False)
        reading.choose(1, -1, None)
        for add in (lambda: reading.add_bytes(b"c"), lambda: reading.add_sentences(["c"]), reading.end_text):
            with pytest.raises(ValueError, match="words have been chosen"):
                add()
        with pytest.raises(ValueError, match="words have been chosen"):
            reading.choose(1, -1, None)
        training = _core.NGramTraining(2, True, 5, [1, 1], False, 1 << 20, "", 1)
        training.add_sentences(["a b"])
        training.choose(1, -1, None)
        training.sort()
        with pytest.raises(ValueError, match="words must be chosen before"):
            training.numbers(False)


class TestOneWay:
    TEXT = ("a b c", "b a", "", "c a b a", "é b <unk>")

    def test_strings_sequences_and_files_are_the_same(self, make, tmp_path):
        model = make().fit(self.TEXT)
        tokens = [line.split() for line in self.TEXT]
        assert_same(make().fit(tokens), model)
        assert_same(make().fit(tuple(map(tuple, tokens))), model)
        assert_same(make().fit(UserList(UserList(words) for words in tokens)), model)
        assert_same(make().fit(line for line in self.TEXT), model)
        whole = "\n".join(self.TEXT).encode()
        (tmp_path / "plain").write_bytes(whole)
        (tmp_path / "crlf").write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n") + b"\r\n")
        (tmp_path / "text.gz").write_bytes(gzip.compress(whole))
        (tmp_path / "text.xz").write_bytes(lzma.compress(whole + b"\n"))
        for name in ("plain", "crlf", "text.gz", "text.xz"):
            assert_same(make().fit(files=tmp_path / name), model)
            assert_same(make().fit(files=str(tmp_path / name)), model)
        (tmp_path / "first").write_bytes(b"a b c")
        (tmp_path / "rest").write_bytes(whole.partition(b"\n")[2])
        assert_same(make().fit(None, files=(tmp_path / name for name in ("first", "rest"))), model)

    def test_for_any_number_of_threads(self, make):
        text = [" ".join(words) for words in random_words(3, 500)]
        assert_same(make(n_threads=1).fit(text), make(n_threads=3).fit(text))

    def test_one_word(self, make):
        model = make().fit(["a"])
        assert "a" in model.vocabulary_
        assert "never" not in model.vocabulary_

    def test_words_that_were_not_seen(self, make):
        model = make().fit(self.TEXT)
        if isinstance(model, WordClasses):
            assert model.class_of("never") == model.class_of("<unk>")
        else:
            assert [each.unknown for each in model.score_words("a never b")] == [False, True, False, False]
            assert model.score("never") == model.score("neither")


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("text", "error", "what"),
        [
            ("a b", TypeError, "sentences: expected an iterable of sentences, got str"),
            (b"a b", TypeError, "sentences: expected an iterable of sentences, got bytes"),
            (5, TypeError, "sentences: expected an iterable of sentences, got int"),
            ({"a": 1}, TypeError, "sentences: expected an iterable of sentences, got dict"),
            ({"a"}, TypeError, "sentences: expected an iterable of sentences, got set"),
            (["a", 3], TypeError, r"sentences\[1\]: expected a str or a sequence of words, got int"),
            (["a", None], TypeError, r"sentences\[1\]: expected a str or a sequence of words, got NoneType"),
            (["a", b"b"], TypeError, r"sentences\[1\]: expected a str or a sequence of words, got bytes"),
            (["a", {"b"}], TypeError, r"sentences\[1\]: expected a str or a sequence of words, got set"),
            (["a", ["b", 3]], TypeError, r"sentences\[1\], word 1: expected str, got int"),
            (["a", ["b", ""]], ValueError, r"sentences\[1\], word 1: expected a word without white space, got ''"),
            (["a", ["b c"]], ValueError, r"sentences\[1\], word 0: .* without white space, got 'b c'"),
            (["a", "b \ud800"], ValueError, r"sentences\[1\]: cannot be written as UTF-8"),
            (["a", ["b", "\ud800"]], ValueError, r"sentences\[1\], word 1: cannot be written as UTF-8"),
            (["a", "b </s> c"], ValueError, r"sentences\[1\], word 1: expected text, got </s>, which"),
            (["", ["<s>"]], ValueError, r"sentences\[1\], word 0: expected text, got <s>, which the model adds"),
            ([], ValueError, "sentences: expected at least one"),
        ],
    )
    def test_sentences(self, make, text, error, what):
        model = make().fit(["a b"])
        before = known(model)
        with pytest.raises(error, match=f"^{what}"):
            model.fit(text)
        np.testing.assert_array_equal(known(model)[1], before[1])

    def test_both_and_neither(self, make, tmp_path):
        (tmp_path / "text").write_text("a b\n")
        for given in ({}, {"sentences": ["a b"], "files": tmp_path / "text"}, {"sentences": [], "files": []}):
            with pytest.raises(ValueError, match=r"^sentences: expected sentences, or files=, and not both$"):
                make().fit(**given)

    @pytest.mark.parametrize(
        ("files", "error", "what"),
        [
            (3, TypeError, "files: expected paths, got int"),
            (b"text", TypeError, "files: expected paths, got bytes"),
            ([3], TypeError, "files: expected paths, got int"),
            ([], ValueError, "files: expected at least one"),
            ("nowhere", FileNotFoundError, ".*nowhere"),
        ],
    )
    def test_no_files(self, make, files, error, what):
        with pytest.raises(error, match=f"^{what}" if error is not FileNotFoundError else what):
            make().fit(files=files)

    @pytest.mark.parametrize(
        ("raw", "what"),
        [
            (b"", "files: expected at least one"),
            (b"a b\n\xff c\n", r"text, line 2: not valid UTF-8"),
            (b"a b\nb caf\xe9\nb\n", r"text, line 2: not valid UTF-8"),
            (b"a b\nb\n\na \xe8\xaa", r"text, line 4: not valid UTF-8"),
            (b"a b\nb\n\na </s> b", r"text, line 4: expected text, got </s>, which the model adds by itself"),
            (b"a b\n<s> b\n", r"text, line 2: expected text, got <s>, which the model adds by itself"),
        ],
    )
    @pytest.mark.parametrize("compressed", [False, True])
    def test_files(self, make, raw, what, compressed, tmp_path):
        (tmp_path / "good").write_text("a b\n" * 10)
        path = tmp_path / ("text.gz" if compressed else "text")
        path.write_bytes(gzip.compress(raw) if compressed else raw)
        files = [path] if raw == b"" else [tmp_path / "good", path]
        with pytest.raises(ValueError, match=what.replace("text,", r"text(\.gz)?,")):
            make().fit(files=files)

    def test_words_that_are_too_rare_are_not_utf8_either(self, make, tmp_path):
        (tmp_path / "text").write_bytes(b"a b\n" * 5 + b"\xff\n")
        with pytest.raises(ValueError, match="text, line 6: not valid UTF-8"):
            make(min_count=3).fit(files=tmp_path / "text")

    def test_a_damaged_archive(self, make, tmp_path):
        packed = gzip.compress(b"a b\n" * 10_000)
        (tmp_path / "text.gz").write_bytes(packed[: len(packed) // 2])
        with pytest.raises(ValueError, match=r"text\.gz: the file is damaged"):
            make().fit(files=tmp_path / "text.gz")

    @pytest.mark.parametrize(
        ("held_out", "error", "what"),
        [
            ([], ValueError, "held_out: expected at least one sentence"),
            ("a b", TypeError, "held_out: expected an iterable of sentences, got str"),
            (["a", 3], TypeError, r"held_out\[1\]: expected a str or a sequence of words, got int"),
            (["a", "b <s>"], ValueError, r"held_out\[1\], word 1: expected text, got <s>"),
        ],
    )
    def test_sentences_held_out(self, held_out, error, what):
        with pytest.raises(error, match=f"^{what}"):
            RNNLM(3, held_out=held_out).fit(["a b"])
