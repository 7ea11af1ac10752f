"""Coherence of topics against the obvious computation, and against figures that gensim gave."""

from __future__ import annotations

import numpy as np
import pytest

import semproj as sj
from semproj.metrics import coherence
from tests.reference import coherence as reference
from tests.reference import text as reference_text

WORDS = [f"w{i}" for i in range(25)]
TOPICS = [WORDS[:5], WORDS[3:9], WORDS[10:12], WORDS[20:24]]


def texts(seed=0, n=40, longest=60):
    """Words that come in runs, so that windows have some twice; short and empty texts too."""
    rng = np.random.default_rng(seed)
    made = [list(rng.choice(WORDS[a : a + 12], int(rng.integers(0, longest)))) for a in rng.integers(0, 13, n)]
    return [[str(word) for word in text] for text in [*made, [], ["w1"], WORDS]]


@pytest.mark.parametrize("forget_repeats", [True, False])
@pytest.mark.parametrize("window", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("measure", ["npmi", "c_v"])
def test_is_the_reference(measure, window, forget_repeats):
    corpus = texts()
    expected = reference.coherence(TOPICS, corpus, measure, window, forget_repeats=forget_repeats)
    found = coherence(TOPICS, corpus, measure, window=window, forget_repeats=forget_repeats)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


GENSIM = {
    "npmi": [0.3552575553965856, 0.19590094912950973, -0.0127767215012013, 0.3060626466808342],
    "c_v": [0.9267385806525743, 0.7972380528873066, 0.7416165996154815, 0.872940939270617],
}


@pytest.mark.parametrize("measure", ["npmi", "c_v"])
def test_defaults_are_gensims(measure):
    """What CoherenceModel of gensim 4.4 returns for the same texts, as "c_npmi" and "c_v"."""
    np.testing.assert_allclose(coherence(TOPICS, texts(longest=300), measure), GENSIM[measure], rtol=0, atol=1e-9)


def test_repeats_matter_in_long_windows():
    """Otherwise the test above would not tell the two ways to count apart."""
    corpus = texts(longest=300)
    ways = [coherence(TOPICS, corpus, "c_v", forget_repeats=each) for each in (True, False)]
    assert np.abs(ways[0] - ways[1]).max() > 1e-3


def test_a_window_by_hand():
    """Windows ab, bc, cc, ca: a is in two of four, b in two, c in three; a and b in one."""
    found = coherence([["a", "b"]], ["a b c c a"], window=2, forget_repeats=False)[0]
    assert found == pytest.approx(np.log((1 / 4) / (1 / 4)) / -np.log(1 / 4), abs=1e-10)
    together = coherence([["a", "c"]], ["a b c c a"], window=2, forget_repeats=False)[0]
    assert together == pytest.approx(np.log((1 / 4) / (2 / 4 * 3 / 4)) / -np.log(1 / 4), abs=1e-10)


def test_texts_are_cut_as_by_the_counter():
    pieces = ["The bank: money, LOANS!", "A river's water", "Money and loans; the bank", "water, river"]
    topics = [["money", "bank"], ["river", "water"]]
    words = [reference_text.words(text, lowercase=True) for text in pieces]
    for text, cut in zip(pieces, words, strict=True):
        assert set(sj.TermCounter(lowercase=True).fit([text]).vocabulary_) == set(cut)
    found = coherence(topics, pieces, lowercase=True)
    assert found.tolist() == coherence(topics, words).tolist()
    assert coherence(topics, [text.encode() for text in pieces], lowercase=True).tolist() == found.tolist()
    assert coherence(topics, iter(pieces), lowercase=True).tolist() == found.tolist()


def test_letters_are_composed():
    """Topics that a counter learnt are found in texts with separate marks, unless these are to stay separate."""
    texts = ["cafe\u0301 ole\u0301", "cafe\u0301 noir", "the\u0301 noir"]
    topics = [sorted(sj.TermCounter().fit(texts[:1]).vocabulary_)]
    assert topics == [["caf\u00e9", "ol\u00e9"]]
    composed = ["caf\u00e9 ol\u00e9", "caf\u00e9 noir", "th\u00e9 noir"]
    expected = coherence(topics, composed)
    assert coherence(topics, texts).tolist() == expected.tolist()
    assert coherence(topics, [text.encode() for text in texts]).tolist() == expected.tolist()
    assert coherence([["cafe\u0301", "ole\u0301"]], texts, nfc=False).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="does not occur"):
        coherence(topics, texts, nfc=False)


def test_takes_what_top_words_returns():
    corpus = [" ".join(text) for text in texts() if text]
    counter = sj.TermCounter()
    model = sj.PLSA(3, random_state=0).fit(counter.fit_transform(corpus))
    topics = model.top_words(counter.get_feature_names_out(), 4)
    found = coherence(topics, corpus)
    assert found.shape == (3,)
    assert found.tolist() == coherence([[word for word, _ in topic] for topic in topics], corpus).tolist()


@pytest.mark.parametrize("threads", [2, 5])
def test_any_number_of_threads(threads):
    corpus = texts(n=500)
    alone, together = (coherence(TOPICS, corpus, "c_v", n_threads=n) for n in (1, threads))
    assert alone.tobytes() == together.tobytes()


def test_words_near_each_other_cohere():
    rng = np.random.default_rng(0)
    corpus = [" ".join(rng.choice([["a", "b", "c"], ["x", "y", "z"]][i % 2], 20)) for i in range(60)]
    for measure in ("npmi", "c_v"):
        good, bad = coherence([["a", "b", "c"], ["a", "x", "c"]], corpus, measure)
        assert good > bad + 0.2


@pytest.mark.parametrize(
    ("topics", "corpus", "options", "error", "message"),
    [
        ([], ["a b"], {}, ValueError, "topics: expected at least one"),
        ("ab", ["a b"], {}, TypeError, "topics: expected lists of words"),
        (["ab"], ["a b"], {}, TypeError, r"topics\[0\]: expected a list of words"),
        ([["a", 3]], ["a b"], {}, TypeError, r"topics\[0\]: expected words, got 3"),
        ([["a"]], ["a b"], {}, ValueError, r"topics\[0\]: expected two words or more"),
        ([["a", "b"], ["a", "a"]], ["a b"], {}, ValueError, r"topics\[1\]: expected two words or more, each once"),
        (None, ["a b"], {}, TypeError, "topics: expected lists of words, got None"),
        (5, ["a b"], {}, TypeError, "topics: expected lists of words, got 5"),
        ([None], ["a b"], {}, TypeError, r"topics\[0\]: expected a list of words, got None"),
        ([["a", "b\ud800"]], ["a b"], {}, ValueError, r"topics\[0\]: expected words without lone surrogates"),
        ([["a", "zebra"]], ["a b"], {}, ValueError, "topics: 'zebra' does not occur in texts$"),
        ([["a", "zebra"], ["b", "x"]], ["a b"], {}, ValueError, "'zebra' does not occur in texts, nor do 1 other"),
        ([["a", "b"]], [], {}, ValueError, "texts: expected at least one"),
        ([["a", "b"]], "a b", {}, TypeError, "texts: iterable over raw text"),
        ([["a", "b"]], None, {}, TypeError, "texts: iterable over raw text"),
        ([["a", "b"]], ["a b"], {"window": 0}, ValueError, "window"),
        ([["a", "b"]], ["a b"], {"window": 2.5}, TypeError, "window"),
        ([["a", "b"]], ["a b"], {"measure": "u_mass"}, ValueError, "measure"),
        ([["a", "b"]], ["a b"], {"errors": "ignore"}, ValueError, "errors"),
        ([["a", "b"]], [b"a b \xff"], {}, ValueError, "document 0"),
    ],
)
def test_bad_input(topics, corpus, options, error, message):
    with pytest.raises(error, match="^" + message if ":" in message else message):
        coherence(topics, corpus, **options)


@pytest.mark.parametrize("window", [1000, 2**31, 2**63 - 1, 2**63, 2**70])
def test_any_window_that_is_longer_than_the_texts(window):
    assert coherence(TOPICS, texts(), window=window).tolist() == coherence(TOPICS, texts(), window=999).tolist()


def test_words_of_every_window():
    """Theirs is -1, as gensim 4.4 has it."""
    assert coherence([["a", "b"]], ["a b", "b a c"]).tolist() == [-1.0]
