"""`NGramLM` beside the plain reference, which was written from the papers without a look at the kernels."""

from __future__ import annotations

import math
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semproj import NGramLM
from semproj.lm import DiscountWarning
from tests.lm.test_reference_toys import TOYS
from tests.reference import ngram as reference

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")

ESTIMATE = {"kneser_ney": reference.kneser_ney, "good_turing": reference.good_turing}
SMOOTHINGS = list(ESTIMATE)
STORED = 2e-6  # logarithms are kept in float32, and are below 8: half a unit of their last place is 2.4e-7
LEFT_OVER = 2e-5  # a back-off is a small difference of sums where nearly all is seen
SUM = 1e-5  # of probabilities whose logarithms are in float32

LETTERS = ["a", "b", "c", "d", "e", "é", "\u4e2d", "long-word", "."]


def zipf_text(n: int, types: int = 4000, seed: int = 0) -> list[list[str]]:
    """Sentences in which n-grams come again, some of them empty. Counts of 1500 give all discounts."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(types)]
    phrases = [[words[int(types * rng.random() ** 4)] for _ in range(rng.randint(1, 5))] for _ in words]
    text = []
    for _ in range(n):
        drawn = [phrases[int(types * rng.random() ** 4)] for _ in range(rng.randint(0, 4))]
        text.append([word for phrase in drawn for word in phrase])
    return text


def fitted(text: Any, order: int, smoothing: str, **options: Any) -> NGramLM:
    return NGramLM(order=order, smoothing=smoothing, **options).fit(text)


def assert_same_model(model: NGramLM, expected: reference.BackoffModel, path: Path) -> None:
    """All n-grams, and no others, with their logarithms, by way of an ARPA file."""
    model.to_arpa(path)
    log_probs, log_backoffs = reference.read_arpa(path)
    log_probs.pop((reference.BEGIN,))
    assert log_probs.keys() == expected.log_probs.keys()
    for gram, log_prob in expected.log_probs.items():
        assert log_probs[gram] == pytest.approx(log_prob, abs=STORED), gram
    for gram, log_backoff in log_backoffs.items():
        if len(gram) == model.order:
            assert log_backoff == 0
            continue
        wanted = expected.log_backoffs.get(gram, 0.0)
        if wanted > -50:  # nothing is left: never asked for
            assert log_backoff == pytest.approx(wanted, abs=LEFT_OVER), gram
    missing = expected.log_backoffs.keys() - log_backoffs.keys()  # a back-off of 0 needs no column
    assert all(abs(expected.log_backoffs[gram]) <= LEFT_OVER for gram in missing)


def assert_same_scores(model: NGramLM, expected: reference.BackoffModel, sentence: list[str]) -> None:
    for bos in (True, False):
        for eos in (True, False):
            wanted = expected.score_words(sentence, bos=bos, eos=eos)
            found = model.score_words(sentence, bos=bos, eos=eos)
            assert [each.word for each in found] == [*sentence, *(["</s>"] if eos else [])]
            assert [each.log_prob for each in found] == pytest.approx(wanted, abs=LEFT_OVER)
            assert model.score(sentence, bos=bos, eos=eos) == pytest.approx(math.fsum(wanted), abs=1e-4)
    history = [reference.BEGIN]
    for each in model.score_words(sentence):
        assert each.order == expected.log_prob(history, each.word)[1]
        known = [reference.END, *expected.words]
        assert each.unknown == (each.word not in known or each.word == reference.UNKNOWN)
        history.append(each.word)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_toys_by_hand(smoothing, tmp_path):
    _, text, probs, backoffs = TOYS[smoothing]
    model = fitted(text, 2, smoothing)
    model.to_arpa(tmp_path / "toy.arpa")
    log_probs, log_backoffs = reference.read_arpa(tmp_path / "toy.arpa")
    log_probs.pop((reference.BEGIN,))
    assert {g: 10**x for g, x in log_probs.items()} == pytest.approx(
        {g: float(p) for g, p in probs.items()}, rel=5e-6
    )
    for word, backoff in backoffs.items():
        assert 10 ** log_backoffs[word,] == pytest.approx(float(backoff), rel=5e-6)


@pytest.mark.parametrize("order", range(1, 7))
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_every_order(smoothing, order, tmp_path):
    text = zipf_text(1500)
    expected = ESTIMATE[smoothing](text, order)
    assert not expected.fell_back
    model = fitted(text, order, smoothing)
    assert_same_model(model, expected, tmp_path / "model.arpa")
    others = [*zipf_text(40, seed=1), [], ["never"], ["w0", "never", "w0", "w1"], ["<unk>", "w0"]]
    for sentence in others:
        assert_same_scores(model, expected, sentence)
    found = model.scores(others)
    np.testing.assert_allclose(found, [expected.score(sentence) for sentence in others], rtol=0, atol=1e-4)
    assert model.perplexity(others) == pytest.approx(expected.perplexity(others), rel=1e-4)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_discounts_are_told(smoothing):
    """And a text that gives none warns, by order."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(zipf_text(1500), 3, smoothing)
    expected = ESTIMATE[smoothing](zipf_text(1500), 3)
    np.testing.assert_allclose(model.discounts_, [expected.discounts[n] for n in (1, 2, 3)], rtol=1e-12)
    fell_back = ESTIMATE[smoothing](zipf_text(9), 3).fell_back
    with pytest.warns(DiscountWarning, match=f"order {', '.join(map(str, sorted(fell_back)))}"):
        fitted(zipf_text(9), 3, smoothing)


@pytest.mark.parametrize("min_counts", [(1, 2), (1, 1, 2), (1, 2, 3), (1, 1, 3, 5)])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_cut_offs(smoothing, min_counts, tmp_path):
    text = zipf_text(1500)
    expected = ESTIMATE[smoothing](text, 4, min_counts=min_counts)
    longest = 1 + max(len(gram) for gram in expected.log_probs)
    assert longest == 5
    model = fitted(text, 4, smoothing, min_counts=min_counts)
    assert_same_model(model, expected, tmp_path / "model.arpa")
    for sentence in zipf_text(20, seed=2):
        assert_same_scores(model, expected, sentence)


@pytest.mark.parametrize(
    "cut",
    [{"min_count": 3}, {"max_words": 20}, {"vocabulary": ["w3", "w0", "never", "w150"]}],
    ids=["min_count", "max_words", "vocabulary"],
)
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_vocabulary_cuts(smoothing, cut, tmp_path):
    text = zipf_text(1500)
    expected = ESTIMATE[smoothing](text, 3, **cut)
    assert math.isfinite(expected.log_probs[reference.UNKNOWN,])
    model = fitted(text, 3, smoothing, **cut)
    assert_same_model(model, expected, tmp_path / "model.arpa")
    for sentence in zipf_text(20, seed=2):
        assert_same_scores(model, expected, sentence)


TEXTS = st.lists(st.lists(st.sampled_from(LETTERS), max_size=9), min_size=1, max_size=15).filter(any)


@settings(deadline=None)
@given(
    text=TEXTS,
    order=st.integers(1, 6),
    smoothing=st.sampled_from(SMOOTHINGS),
    min_counts=st.sampled_from([(1,), (1, 2), (1, 1, 2), (1, 2, 3)]),
    cut=st.sampled_from([{}, {"min_count": 2}, {"max_words": 2}, {"vocabulary": ["a", "never"]}]),
    sentence=st.lists(st.sampled_from([*LETTERS, "never", "unheard"]), max_size=8),
)
def test_any_small_text(tmp_path_factory, text, order, smoothing, min_counts, cut, sentence):
    if not reference.kept_words(text, **cut):
        return
    min_counts = min_counts[:order]
    expected = ESTIMATE[smoothing](text, order, min_counts=min_counts, **cut)
    model = fitted(text, order, smoothing, min_counts=min_counts, **cut)
    assert_same_model(model, expected, tmp_path_factory.getbasetemp() / "any.arpa")
    assert_same_scores(model, expected, sentence)


@settings(deadline=None, max_examples=50)
@given(
    order=st.integers(1, 6),
    smoothing=st.sampled_from(SMOOTHINGS),
    min_counts=st.sampled_from([(1,), (1, 1, 2)]),
    cut=st.sampled_from([{}, {"max_words": 30}]),
    seed=st.integers(0, 100),
    data=st.data(),
)
def test_sums_to_one(order, smoothing, min_counts, cut, seed, data):
    """Over all words, </s> and <unk>, after any history, by the model's own queries."""
    text = zipf_text(200, types=50, seed=seed)
    model = fitted(text, order, smoothing, min_counts=min_counts[:order], **cut)
    words = reference.kept_words(text, **cut)
    history = data.draw(st.lists(st.sampled_from([*words[:5], words[-1], "never"]), max_size=order))
    for bos in (True, False):
        total = 0.0
        for word in [*words, "never-seen"]:
            total += 10 ** model.score_words([*history, word], bos=bos, eos=False)[-1].log_prob
        total += 10 ** model.score_words(history, bos=bos)[-1].log_prob
        assert total == pytest.approx(1, abs=SUM)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_from_the_arpa_of_the_reference(smoothing, tmp_path):
    text = zipf_text(800)
    expected = ESTIMATE[smoothing](text, 4, min_counts=(1, 1, 2))
    reference.write_arpa(expected, tmp_path / "plain.arpa")
    model = NGramLM.from_arpa(tmp_path / "plain.arpa")
    assert model.order == 4
    for sentence in zipf_text(40, seed=3):
        assert_same_scores(model, expected, sentence)
    # And back: what one reads is what was written.
    model.to_arpa(tmp_path / "ours.arpa")
    again = NGramLM.from_arpa(tmp_path / "ours.arpa")
    again.to_arpa(tmp_path / "again.arpa")
    assert (tmp_path / "ours.arpa").read_bytes() == (tmp_path / "again.arpa").read_bytes()
    held_out = zipf_text(100, seed=4)
    np.testing.assert_array_equal(model.scores(held_out), again.scores(held_out))


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_threads_and_memory_change_nothing(smoothing, tmp_path):
    text = zipf_text(3000)
    written = []
    for options in ({"n_threads": 1}, {"n_threads": 3}, {"n_threads": 2, "max_memory": "16 MB"}):
        if "max_memory" in options:
            options["max_memory"] = 16 << 20
        model = fitted(text, 4, smoothing, temp_dir=tmp_path, **options)
        model.to_arpa(tmp_path / "model.arpa")
        written.append((tmp_path / "model.arpa").read_bytes())
        assert [path.name for path in tmp_path.iterdir()] == ["model.arpa"]
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_files_are_their_lines(suffix, tmp_path):
    import gzip
    import lzma

    text = zipf_text(300)
    path = tmp_path / f"text{suffix}"
    opened = {"": open, ".gz": gzip.open, ".xz": lzma.open}[suffix]
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(" ".join(sentence) + "\n" for sentence in text)
    written = []
    for model in (
        fitted(text, 3, "kneser_ney"),
        fitted([" ".join(sentence) for sentence in text], 3, "kneser_ney"),
        fitted((sentence for sentence in text), 3, "kneser_ney"),
        NGramLM(order=3, smoothing="kneser_ney").fit(files=[path]),
    ):
        model.to_arpa(tmp_path / "model.arpa")
        written.append((tmp_path / "model.arpa").read_bytes())
    assert len(set(written)) == 1


class TestKenlm:
    """The same scores in the `kenlm` package from our ARPA files, and the other way round."""

    @pytest.mark.parametrize("order", [2, 3, 5])
    @pytest.mark.parametrize("smoothing", SMOOTHINGS)
    def test_reads_our_files(self, smoothing, order, tmp_path):
        kenlm = pytest.importorskip("kenlm")
        model = fitted(zipf_text(1500), order, smoothing, min_counts=(1, 1, 2)[:order])
        model.to_arpa(tmp_path / "model.arpa")
        peer = kenlm.Model(str(tmp_path / "model.arpa"))
        for sentence in [
            *zipf_text(60, seed=5),
            [],
            ["never"],
            ["w0", "never", "<unk>", "w1"],
            ["w0", "</s>", "w1"],
        ]:
            line = " ".join(sentence)
            for bos in (True, False):
                for eos in (True, False):
                    found = model.score_words(line, bos=bos, eos=eos)
                    wanted = list(peer.full_scores(line, bos=bos, eos=eos))
                    assert [each.order for each in found] == [order for _, order, _ in wanted]
                    assert [each.unknown for each in found] == [unknown for _, _, unknown in wanted]
                    assert [each.log_prob for each in found] == pytest.approx([x for x, _, _ in wanted], abs=1e-5)
                    assert model.score(line, bos=bos, eos=eos) == pytest.approx(
                        peer.score(line, bos=bos, eos=eos), abs=1e-4
                    )

    @pytest.mark.parametrize("smoothing", SMOOTHINGS)
    def test_drop_in(self, smoothing, tmp_path):
        kenlm = pytest.importorskip("kenlm")
        from semproj.lm import kenlm as ours

        fitted(zipf_text(1500), 4, smoothing).to_arpa(tmp_path / "model.arpa")
        theirs, mine = kenlm.Model(str(tmp_path / "model.arpa")), ours.Model(str(tmp_path / "model.arpa"))
        assert mine.order == theirs.order
        for sentence in zipf_text(30, seed=6):
            line = " ".join(sentence)
            assert mine.score(line) == pytest.approx(theirs.score(line), abs=1e-4)
            assert mine.perplexity(line) == pytest.approx(theirs.perplexity(line), rel=1e-4)
            for a, b in zip(mine.full_scores(line), theirs.full_scores(line), strict=True):
                assert a[0] == pytest.approx(b[0], abs=1e-5)
                assert a[1:] == b[1:]
            states = [ours.State(), ours.State(), kenlm.State(), kenlm.State()]
            mine.BeginSentenceWrite(states[0])
            theirs.BeginSentenceWrite(states[2])
            for word in [*sentence, "never", "</s>"]:
                a = mine.BaseScore(states[0], word, states[1])
                b = theirs.BaseScore(states[2], word, states[3])
                assert a == pytest.approx(b, abs=1e-5)
                assert (word in mine) == (word in theirs)
                states = [states[1], states[0], states[3], states[2]]
