"""The reference itself: models small enough to be worked out by hand, and sums over the vocabulary."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import ngram

# Bigrams: <s> a 3, a b 2, a c 1, b </s> 2, c </s> 1; before a, b and c comes one word, before </s> two.
KNESER_NEY_TEXT = [["a", "b"], ["a", "c"], ["a", "b"]]
KNESER_NEY = {
    # n_3 is 0: discounts of 1/2 and 1. Of 5, 3/2 + 1 is left, shared by 5 words: 1/10 each.
    ("<unk>",): Fraction(1, 10),
    ("a",): Fraction(1, 2) / 5 + Fraction(1, 10),
    ("b",): Fraction(1, 2) / 5 + Fraction(1, 10),
    ("c",): Fraction(1, 2) / 5 + Fraction(1, 10),
    ("</s>",): Fraction(1, 5) + Fraction(1, 10),
    # n_1 = n_2 = 2, n_3 = 1, n_4 = 0: Y = 1/3, D1 = 1/3, D2 = 3/2, D3+ = 3.
    ("<s>", "a"): 0 + 1 * Fraction(1, 5),
    ("a", "b"): Fraction(1, 6) + Fraction(11, 18) * Fraction(1, 5),
    ("a", "c"): Fraction(2, 9) + Fraction(11, 18) * Fraction(1, 5),
    ("b", "</s>"): Fraction(1, 4) + Fraction(3, 4) * Fraction(3, 10),
    ("c", "</s>"): Fraction(2, 3) + Fraction(1, 3) * Fraction(3, 10),
}
KNESER_NEY_BACKOFFS = {"<s>": Fraction(1), "a": Fraction(11, 18), "b": Fraction(3, 4), "c": Fraction(1, 3)}

# Bigrams: <s> a 2, all others once: n_1 = 4, n_2 = 1, so d_1 = 1/2; d_2 would be 0, and is 1.
GOOD_TURING_TEXT = [["a", "b"], ["a", "c"]]
GOOD_TURING = {
    # n_1 = n_2 = 2: d_1 would be 2. Nothing is left of 6, so there are 7.
    ("<unk>",): Fraction(1, 7),
    ("a",): Fraction(2, 7),
    ("b",): Fraction(1, 7),
    ("c",): Fraction(1, 7),
    ("</s>",): Fraction(2, 7),
    ("<s>", "a"): Fraction(2, 3),  # nothing is left of 2, so there are 3
    ("a", "b"): Fraction(1, 4),
    ("a", "c"): Fraction(1, 4),
    ("b", "</s>"): Fraction(1, 2),
    ("c", "</s>"): Fraction(1, 2),
}
GOOD_TURING_BACKOFFS = {
    "<s>": Fraction(1, 3) / Fraction(5, 7),
    "a": Fraction(1, 2) / Fraction(5, 7),
    "b": Fraction(1, 2) / Fraction(5, 7),
    "c": Fraction(1, 2) / Fraction(5, 7),
}

TOYS = {
    "kneser_ney": (ngram.kneser_ney, KNESER_NEY_TEXT, KNESER_NEY, KNESER_NEY_BACKOFFS),
    "good_turing": (ngram.good_turing, GOOD_TURING_TEXT, GOOD_TURING, GOOD_TURING_BACKOFFS),
}


@pytest.mark.parametrize("smoothing", TOYS)
def test_toys_by_hand(smoothing):
    estimate, text, probs, backoffs = TOYS[smoothing]
    model = estimate(text, 2)
    assert model.log_probs.keys() == probs.keys()
    for gram, p in probs.items():
        assert 10 ** model.log_probs[gram] == pytest.approx(float(p), rel=1e-12), gram
    assert model.log_backoffs.keys() == {(word,) for word in backoffs}
    for word, p in backoffs.items():
        assert 10 ** model.log_backoffs[word,] == pytest.approx(float(p), rel=1e-12), word
    # b after c, then an unknown word, then the end: two back-offs, and one of a context without n-grams.
    expected = [
        probs["<s>", "a"],
        backoffs["a"] * probs["a",],
        backoffs["a"] * probs["<unk>",],
        probs["</s>",],
    ]
    found = model.score_words(["a", "a", "never"])
    assert [10**x for x in found] == pytest.approx([float(p) for p in expected], rel=1e-12)
    assert model.score(["a", "a", "never"]) == pytest.approx(math.log10(math.prod(expected)), rel=1e-12)


WORDS = st.sampled_from(["a", "b", "c", "d", "e", "<unk>"])
TEXTS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=12)


@given(
    text=TEXTS,
    order=st.integers(1, 6),
    smoothing=st.sampled_from([ngram.kneser_ney, ngram.good_turing]),
    min_counts=st.sampled_from([(1,), (1, 2), (1, 1, 2), (1, 2, 3)]),
    cut=st.sampled_from([{}, {"min_count": 2}, {"max_words": 2}, {"vocabulary": ["a", "never"]}]),
    history=st.lists(st.sampled_from(["<s>", "a", "b", "c", "never", "unheard"]), max_size=6),
)
def test_probabilities_sum_to_one(text, order, smoothing, min_counts, cut, history):
    model = smoothing(text, order, min_counts=min_counts, **cut)
    assert model.total(history) == pytest.approx(1, abs=1e-9)
