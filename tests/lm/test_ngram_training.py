"""The n-grams that training makes, order by order, beside the plain reference, whatever the memory and threads."""

from __future__ import annotations

import gzip
import itertools
import lzma
import math
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semproj._core import lm as _core
from semproj.lm._training import DiscountWarning, check_settings, train, warn_of_discounts
from tests.reference import ngram as reference

ESTIMATE = {"kneser_ney": reference.kneser_ney, "good_turing": reference.good_turing}
STORED = 2e-6  # logarithms are float32, and below 16
LEFT_OVER = 2e-5  # a back-off is a small difference of sums where nearly all is seen

DEFAULTS = {
    "order": 3,
    "smoothing": "kneser_ney",
    "min_counts": None,
    "katz_k": 5,
    "min_count": 1,
    "max_words": None,
    "vocabulary": None,
    "markers": "error",
    "max_memory": None,
    "temp_dir": None,
    "n_threads": 2,
    "progress": False,
}


def trained(text: Any = None, files: Any = None, **options: Any) -> SimpleNamespace:
    """All that training gives: words, and of each order words, logarithms and back-offs, as they come."""
    sink = _core.NGramArrays()
    found = train(check_settings(SimpleNamespace(**{**DEFAULTS, **options})), text, files, sink)
    raw, offsets = found.text.tobytes(), found.offsets
    words = [raw[a:b].decode() for a, b in itertools.pairwise(offsets)]
    orders = [sink.order(k) for k in range(1, options.get("order", 3) + 1)]
    return SimpleNamespace(words=words, orders=orders, found=found)


def assert_same_model(model: SimpleNamespace, expected: reference.BackoffModel) -> None:
    log_probs, log_backoffs = {}, {}
    for order, (ids, probs, backoffs) in enumerate(model.orders, start=1):
        assert ids.shape == (len(probs), order)
        assert len(probs) == model.found.ngram_counts[order - 1]
        keys = [tuple(row[::-1]) for row in ids.tolist()]
        assert all(a < b for a, b in itertools.pairwise(keys)), "not in suffix order"
        for row, prob, backoff in zip(ids.tolist(), probs.tolist(), backoffs.tolist(), strict=True):
            gram = tuple(model.words[i] for i in row)
            log_probs[gram], log_backoffs[gram] = prob, backoff
    assert log_probs.pop((reference.BEGIN,)) == -99
    assert log_probs.keys() == expected.log_probs.keys()
    for gram, wanted in expected.log_probs.items():
        assert log_probs[gram] == pytest.approx(wanted, abs=STORED), gram
    for gram, found in log_backoffs.items():
        wanted = expected.log_backoffs.get(gram, 0.0)
        if wanted > -50:  # nothing is left: never asked for
            assert found == pytest.approx(wanted, abs=LEFT_OVER), gram
    assert expected.log_backoffs.keys() <= log_backoffs.keys()
    for order, wanted in expected.discounts.items():
        assert model.found.discounts[order - 1] == pytest.approx(wanted, rel=1e-12)
    assert set(model.found.fallen_back) == expected.fell_back


def bits(model: SimpleNamespace) -> list[bytes]:
    return [model.found.text.tobytes(), *(a.tobytes() for order in model.orders for a in order)]


def zipf_text(n: int, types: int = 3000, seed: int = 0) -> list[list[str]]:
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(types)]
    phrases = [[words[int(types * rng.random() ** 4)] for _ in range(rng.randint(1, 5))] for _ in words]
    text = []
    for _ in range(n):
        drawn = [phrases[int(types * rng.random() ** 4)] for _ in range(rng.randint(0, 4))]
        text.append([word for phrase in drawn for word in phrase])
    return text


@pytest.mark.parametrize("order", range(1, 7))
@pytest.mark.parametrize("smoothing", ESTIMATE)
def test_every_order(smoothing, order):
    text = zipf_text(1200)
    assert_same_model(trained(text, order=order, smoothing=smoothing), ESTIMATE[smoothing](text, order))


TEXTS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "é", "中"]), max_size=9), min_size=1, max_size=15)


@settings(deadline=None)
@given(
    text=TEXTS.filter(any),
    order=st.integers(1, 6),
    smoothing=st.sampled_from(list(ESTIMATE)),
    min_counts=st.sampled_from([(1,), (1, 2), (1, 1, 2), (1, 2, 3)]),
    cut=st.sampled_from([{}, {"min_count": 2}, {"max_words": 2}, {"vocabulary": ["a", "never"]}]),
    n_threads=st.integers(1, 3),
)
def test_any_small_text(text, order, smoothing, min_counts, cut, n_threads):
    min_counts = min_counts[:order]
    expected = ESTIMATE[smoothing](text, order, min_counts=min_counts, **cut)
    model = trained(text, order=order, smoothing=smoothing, min_counts=min_counts, n_threads=n_threads, **cut)
    assert_same_model(model, expected)


@pytest.mark.parametrize("order", [2, 3, 6])
@pytest.mark.parametrize("smoothing", ESTIMATE)
def test_threads_and_memory_change_nothing(smoothing, order, tmp_path):
    """With 1 MB the n-grams of this text are sorted in many runs on disk."""
    text = zipf_text(12_000)
    options = {"order": order, "smoothing": smoothing, "min_counts": (1, 2), "temp_dir": tmp_path}
    models = [trained(text, **options, n_threads=1), trained(iter(text), **options, n_threads=5)]
    models += [trained(text, **options, n_threads=n, max_memory=1 << 20) for n in (1, 3)]
    assert len({tuple(bits(model)) for model in models}) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("order", [3, 5])
def test_wide_keys(order):
    """Numbers of 17 bits: n-grams of 64 bits and less, and of 128. Wider ones: test_ngram_key.cc."""
    rng = np.random.default_rng(0)
    text = [[f"w{i}" for i in row] for row in rng.integers(0, 90_000, (15_000, 6)).tolist()]
    text += [row[:4] for row in text[:3000]]
    model = trained(text, order=order, max_memory=8 << 20)
    assert bits(model) == bits(trained(text, order=order))
    assert_same_model(model, reference.kneser_ney(text, order))


@pytest.mark.parametrize("smoothing", ESTIMATE)
def test_sums_to_one(smoothing):
    text = zipf_text(300, types=40)
    model = trained(text, order=3, smoothing=smoothing)
    back_off = reference.BackoffModel(3, [w for w in model.words if w != reference.BEGIN])
    for ids, probs, backoffs in model.orders:
        for row, prob, backoff in zip(ids.tolist(), probs.tolist(), backoffs.tolist(), strict=True):
            gram = tuple(model.words[i] for i in row)
            if gram != (reference.BEGIN,):
                back_off.log_probs[gram] = prob
            back_off.log_backoffs[gram] = backoff
    for history in [[], ["<s>"], ["w0"], ["<s>", "w1"], ["w2", "w0"], ["never", "w3"]]:
        assert back_off.total(history) == pytest.approx(1, abs=1e-5)


class TestText:
    @pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
    def test_files_are_their_lines(self, suffix, tmp_path):
        text = zipf_text(500)
        paths = [tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"]
        opened = {"": open, ".gz": gzip.open, ".xz": lzma.open}[suffix]
        for path, part in zip(paths, (text[:200], text[200:]), strict=True):
            with opened(path, "wt", encoding="utf-8") as file:
                file.write("\n".join("  ".join(sentence) for sentence in part))
        # The last line of a file, if it is empty, is none.
        text = [row for i, row in enumerate(text) if row or i not in (199, 499)]
        expected = bits(trained(text))
        assert bits(trained(None, paths)) == expected
        assert bits(trained([" ".join(sentence) for sentence in text])) == expected

    def test_a_line_longer_than_all_buffers(self):
        rng = np.random.default_rng(0)
        text = [["x" * 300_000, "y", "x" * 300_000], [f"w{i}" for i in rng.integers(0, 50, 100_000)], ["z"]]
        model = trained(text, max_memory=1 << 20)
        assert_same_model(model, reference.kneser_ney(text, 3))
        assert model.found.n_sentences == 3

    def test_white_space(self, tmp_path):
        path = tmp_path / "text"
        path.write_text(
            "\ufeffa\u00a0b c\u2028d  e\x85f\tg h\r\n\n  \ni\rj\x1ck\v l", encoding="utf-8", newline=""
        )
        text = [["a\u00a0b", "c\u2028d", "e\x85f", "g", "h"], [], [], ["i", "j\x1ck", "l"]]
        assert bits(trained(None, path, order=2)) == bits(trained(text, order=2))

    def test_newlines_in_a_sentence_are_white_space(self):
        assert bits(trained(["a\nb", "c"])) == bits(trained([["a", "b"], ["c"]]))

    def test_markers(self, tmp_path):
        with pytest.raises(ValueError, match=r"sentences\[3\], word 1: .*</s>.*; markers="):
            trained([["a"]] * 3 + [["b", "</s>"]])
        path = tmp_path / "text"
        path.write_text("a b\na <s> b\n")
        with pytest.raises(ValueError, match=r"text, line 2: .*<s>"):
            trained(None, path)
        expected = reference.kneser_ney([["a", "<unk>", "b"], ["<unk>", "a"]], 2)
        assert_same_model(trained([["a", "<s>", "b"], ["</s>", "a"]], order=2, markers="unknown"), expected)
        assert_same_model(trained([["a", "<unk>", "b"], ["<unk>", "a"]], order=2), expected)

    @pytest.mark.parametrize(
        ("text", "error", "message"),
        [
            ([["a"], b"a"], TypeError, r"sentences\[1\]"),
            ([["a", 3]], TypeError, r"sentences\[0\], word 1"),
            ([["a", ""]], ValueError, r"sentences\[0\], word 1"),
            ([["a b"]], ValueError, r"sentences\[0\], word 0"),
            ([["a", "\ud800"]], ValueError, r"sentences\[0\], word 1"),
            (["\ud800"], ValueError, r"sentences\[0\]"),
            ([], ValueError, "sentences"),
            ([[], ""], ValueError, "sentences"),
            ("a b", TypeError, "sentences"),
        ],
    )
    def test_what_is_no_text(self, text, error, message):
        with pytest.raises(error, match=message):
            trained(text)

    def test_damaged_files(self, tmp_path):
        path = tmp_path / "text.gz"
        path.write_bytes(gzip.compress(b"a b c\n" * 9999)[:-9])
        with pytest.raises(ValueError, match=r"text\.gz.*damaged"):
            trained(None, path)
        plain = tmp_path / "plain"
        plain.write_bytes(b"a b\n\xff c\n")
        with pytest.raises(ValueError, match="plain, line 2: not valid UTF-8"):
            trained(None, plain)


def test_a_small_text_falls_back():
    model = trained([["a"]], order=2)
    assert model.found.discounts == [[0.5, 1.0, 1.5]] * 2
    with pytest.warns(DiscountWarning, match="order 1, 2"):
        warn_of_discounts("kneser_ney", model.found.fallen_back, 1)
    # a(a) = a(</s>) = 1 of 2, and a third of the half that is taken for each of <unk>, a, </s>.
    assert [10**x for x in model.orders[0][1][[0, 2, 3]].tolist()] == pytest.approx([1 / 6, 5 / 12, 5 / 12], 1e-6)
    assert math.isclose(10 ** model.orders[1][1][0], 0.5 + 0.5 * 5 / 12, rel_tol=1e-6)


def test_a_full_disk(run_python, tmp_path):
    script = f"""
        import resource
        import numpy as np
        from tests.lm.test_ngram_training import trained
        rng = np.random.default_rng(0)
        text = [[f"w{{i}}" for i in row] for row in rng.integers(0, 30_000, (20_000, 30))]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        try:
            trained(text, max_memory=4 << 20, temp_dir={str(tmp_path)!r})
        except OSError as error:
            print(error.errno, error)
    """
    done = run_python(script)
    assert "27" in done.stdout
    assert f"temp_dir: cannot write temporary data in '{tmp_path}'" in done.stdout
    assert list(tmp_path.iterdir()) == []
