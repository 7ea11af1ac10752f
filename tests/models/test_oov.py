"""Words that a space lacks, by rules whose answers are planted, and counts of contexts against a plain loop."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semproj import load
from semproj.contextspace import ContextSpace, count_contexts
from semproj.oov import ExtendedWordSpace
from semproj.text import TermCounter
from tests.support import same_bits

WORDS = [
    "corruptible",
    "corruption",
    "lifetime",
    "ice-cold",
    "cold",
    "walk",
    "rain",
    "bow",
    "black",
    "board",
    "zero",
]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def vectors():
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 16))
    rows[-1] = 0
    return rows


@pytest.fixture
def lemmatizer():
    return lambda words: [{"walked": "walk", "rains": "rain"}.get(word, word) for word in words]


@pytest.mark.parametrize(
    ("word", "rule", "matches"),
    [
        ("Lifetime", "known", ["lifetime"]),
        ("walked", "lemma", ["walk"]),
        ("corruptibility", "stem", ["corruptible", "corruption"]),
        ("life-time", "hyphen", ["lifetime"]),
        ("life time", "hyphen", ["lifetime"]),
        ("icecold", "hyphen", ["ice-cold"]),
        ("ice", "compound", ["ice-cold"]),
        ("rain-bow", "compound", ["rain", "bow"]),
        ("blackboard", "compound", ["black", "board"]),
        ("rainbow", "none", []),  # a part of three letters is none
        ("non-corruptible", "none", []),
        ("zero", "none", []),
        ("xyzzy", "none", []),
        ("", "none", []),
    ],
)
def test_rules_of_spelling(vectors, lemmatizer, word, rule, matches):
    found = ExtendedWordSpace(WORDS, vectors, lemmatizer=lemmatizer).embed([word])
    assert found.rules == [rule]
    assert found.matches == [tuple(matches)]
    expected = np.zeros(16)
    if matches:
        centroid = unit(vectors[[WORDS.index(match) for match in matches]]).mean(axis=0)
        expected = centroid / np.linalg.norm(centroid)
    np.testing.assert_allclose(found.vectors[0], expected, rtol=0, atol=1e-12)


def test_opposites_that_cancel_are_no_match():
    space = ExtendedWordSpace(["connected", "connection"], [[1.0, 2.0], [-2.0, -4.0]])
    assert space.embed(["connective"]).rules == ["none"]


def test_a_batch_is_its_words_one_by_one(vectors, lemmatizer):
    context = ContextSpace(["drizzle", "rain", "walk", "cold"], np.random.default_rng(1).normal(size=(4, 3)))
    space = ExtendedWordSpace(WORDS, vectors, lemmatizer=lemmatizer, context=context)
    asked = ["drizzle", "walked", "xyzzy", "cold", "drizzle"]
    batch = space.embed(asked)
    for i, word in enumerate(asked):
        one = space.embed([word])
        np.testing.assert_array_equal(one.vectors[0], batch.vectors[i])
        assert (one.rules[0], one.matches[0]) == (batch.rules[i], batch.matches[i])
    assert space.embed([]).vectors.shape == (0, 16)


def around(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_antonyms_among_neighbours_are_left_out():
    # The nearest neighbours of the word, in order, are hot, cold, burning, icy, scorching.
    words = ["hot", "cold", "burning", "icy", "scorching"]
    context = ContextSpace([*words, "sweltering"], around(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.0])))
    vectors = np.array([[1, 0.1], [-1, 0], [1, 0], [-1, 0.1], [1, 0.2]])
    found = ExtendedWordSpace(words, vectors, context=context, n_neighbors=5).embed(["sweltering"])
    assert found.rules == ["context"]
    assert found.matches == [("hot", "burning", "scorching")]
    assert found.vectors.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(found.vectors), 1)


def test_the_nearest_of_several_consistent_sets():
    words = ["a", "b", "c", "d", "e"]
    context = ContextSpace([*words, "x"], around(np.array([0.5, 0.1, 0.4, 0.2, 0.3, 0.0])))
    space = ExtendedWordSpace(words, np.ones((5, 2)), context=context)
    assert space.embed(["x"]).matches == [("b", "d", "e")]
    assert ExtendedWordSpace(words, np.ones((5, 2)), context=context, n_neighbors=2, n_consistent=2).embed(
        ["x"]
    ).matches == [("b", "d")]


def test_the_nearest_set_need_not_have_the_nearest_word():
    words = ["a", "b", "c", "d", "e", "f"]
    context = ContextSpace([*words, "x"], around(np.array([0.1, 0.2, 0.25, 0.3, 1.2, 1.3, 0.0])))
    space = ExtendedWordSpace(words, [[1.0], [-1.0], [-1.0], [-1.0], [1.0], [1.0]], context=context)
    assert space.embed(["x"]).matches == [("b", "c", "d")]


def test_fewer_when_no_set_is_consistent():
    words = ["a", "b", "c"]
    context = ContextSpace([*words, "x"], around(np.array([0.1, 0.2, 0.3, 0.0])))
    thirds = around(np.array([0.0, 2.0944, 4.1888]))  # all pairs negative: the nearest alone
    assert ExtendedWordSpace(words, thirds, context=context).embed(["x"]).matches == [("a",)]
    two = np.array([[1.0, 0.0], [-1.0, -0.1], [-1.0, 0.1]])  # one pair agrees, though "a" is nearer
    assert ExtendedWordSpace(words, two, context=context).embed(["x"]).matches == [("b", "c")]


def test_contexts_of_the_lemma_where_the_word_has_none():
    context = ContextSpace(["storm", "rain"], [[1.0, 0.0], [1.0, 0.1]])
    space = ExtendedWordSpace(["rain"], [[1.0]], context=context, lemmatizer=lambda words: ["storm"] * len(words))
    assert space.embed(["storms"]).matches == [("rain",)]


def test_contexts_come_before_halves():
    words, context = ["regret", "table"], ContextSpace(["regrettable", "regret"], [[1.0], [2.0]])
    assert ExtendedWordSpace(words, np.eye(2), context=context).embed(["regrettable"]).matches == [("regret",)]
    assert ExtendedWordSpace(words, np.eye(2)).embed(["regrettable"]).matches == [("regret", "table")]


def test_bad_arguments(vectors):
    with pytest.raises(ValueError, match="vectors: expected a row for each of the 11 words"):
        ExtendedWordSpace(WORDS, vectors[1:])
    with pytest.raises(ValueError, match="words: expected different words"):
        ExtendedWordSpace(["a", "a"], np.eye(2))
    with pytest.raises(ValueError, match="vectors: contains NaN"):
        ContextSpace(["a"], [[np.nan]])
    with pytest.raises(ValueError, match="n_consistent: expected between 1 and 2, got 3"):
        ExtendedWordSpace(WORDS, vectors, n_neighbors=2, n_consistent=3)
    with pytest.raises(ValueError, match="n_consistent: expected at most 100000 subsets"):
        ExtendedWordSpace(WORDS, vectors, n_neighbors=60, n_consistent=6)
    with pytest.raises(TypeError, match="words: expected a list of words, got a str"):
        ExtendedWordSpace(WORDS, vectors).embed("cold")


def counted(documents, names, window):
    """Pairs of positions, one after the other."""
    pairs = Counter()
    for words in documents:
        for i, word in enumerate(words):
            for j in range(max(0, i - window), min(len(words), i + window + 1)):
                if i != j:
                    pairs[word, words[j]] += 1
    return np.array([[pairs[first, second] for second in names] for first in names], float)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12), min_size=1, max_size=6),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_counts_are_those_of_a_plain_loop(documents, window, min_count):
    counts = Counter(word for words in documents for word in words)
    if not counts or max(counts.values()) < min_count:
        return
    counter = TermCounter(min_count=min_count)
    found = count_contexts(documents, counter, window=window)
    names = counter.get_feature_names_out()
    np.testing.assert_array_equal(found.toarray(), counted(documents, names, window))


def test_counts_of_several_batches(monkeypatch):
    rng = np.random.default_rng(0)
    documents = [list(rng.choice(list("abcdefgh"), rng.integers(1, 30))) for _ in range(50)]
    whole = count_contexts(documents, TermCounter(), window=3)
    monkeypatch.setattr("semproj.contextspace._CHUNK", 20)
    np.testing.assert_array_equal(count_contexts(documents, TermCounter(), window=3).toarray(), whole.toarray())


def planted(seed=0):
    """Sentences of two topics; a word of either topic and words of both."""
    rng = np.random.default_rng(seed)
    topics = [["sun", "beach", "heat", "summer", "scorching"], ["snow", "ice", "frost", "winter", "freezing"]]
    return [" ".join([*rng.choice(topics[i % 2], 6), *rng.choice(["the", "of", "and"], 3)]) for i in range(400)]


def test_a_space_from_a_corpus_finds_what_was_planted():
    space = ContextSpace.from_corpus(planted(), n_components=4, window=5)
    rows = unit(space.vectors)

    def cosine(first, second):
        return rows[space.vocabulary[first]] @ rows[space.vocabulary[second]]

    assert cosine("sun", "scorching") > 0.9 > 0.3 > cosine("sun", "freezing")
    words = ["sun", "heat", "snow", "frost"]
    extended = ExtendedWordSpace(words, [[1.0], [1.0], [-1.0], [-1.0]], context=space)
    assert extended.embed(["scorching", "freezing"]).vectors.ravel().tolist() == [1.0, -1.0]


def test_a_corpus_gives_the_same_bits_on_any_number_of_threads():
    one, two = (ContextSpace.from_corpus(planted(), n_components=4, n_threads=n).vectors for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_bad_corpora():
    with pytest.raises(TypeError, match="documents: expected a collection that can be read twice"):
        ContextSpace.from_corpus(iter(["a b"]))
    with pytest.raises(ValueError, match="documents: no two words are within one window"):
        ContextSpace.from_corpus(["a", "b"])
    with pytest.raises(ValueError, match="window: expected at least 1, got 0"):
        ContextSpace.from_corpus(["a b"], window=0)
    with pytest.raises(ValueError, match=r"counter: expected ngram_range=\(1, 1\)"):
        count_contexts(["a b"], TermCounter(ngram_range=(1, 2)))


def test_a_space_answers_as_a_model_of_words(vectors, lemmatizer):
    space = ExtendedWordSpace(WORDS, vectors, lemmatizer=lemmatizer)
    assert "walked" in space
    assert "Lifetime" in space
    assert "xyzzy" not in space
    assert 3 not in space
    directions = unit(vectors[:-1])
    walk, rain, cold = (directions[WORDS.index(word)] for word in ("walk", "rain", "cold"))
    assert space.similarity("walked", "rains") == pytest.approx(walk @ rain)
    np.testing.assert_allclose(
        space.similarity("walked", ["rain", "cold", "xyzzy"]), [walk @ rain, walk @ cold, 0]
    )
    np.testing.assert_allclose(space.similarity(["rain", "cold"], "walked"), [walk @ rain, walk @ cold])
    assert space.similarity(["rain", "cold"], WORDS).shape == (2, len(WORDS))


def test_a_context_space_is_saved(tmp_path):
    space = ContextSpace(["hot", "caf\u00e9"], np.random.default_rng(0).normal(size=(2, 5)))
    space.save(tmp_path / "space")
    loaded = load(tmp_path / "space")
    assert loaded.words == space.words
    assert loaded.vocabulary == {"hot": 0, "caf\u00e9": 1}
    assert same_bits(loaded.vectors, space.vectors)
    assert not loaded.vectors.flags.writeable  # memory-mapped


def test_neighbours_of_any_word(vectors):
    space = ExtendedWordSpace(WORDS, vectors, entry_counts=np.arange(len(WORDS)))
    cosines = space.similarity(WORDS[0], WORDS)
    for commonness in (0.0, 0.5):
        order = np.argsort(cosines - commonness * np.log1p(np.arange(len(WORDS))), kind="stable")
        expected = [WORDS[i] for i in order if i != 0 and np.any(space.vectors[i])][:3]
        assert [word for word, _ in space.most_opposite(WORDS[0], 3, commonness=commonness)] == expected
    both = space.most_similar([WORDS[0], "qqqq"], 2)
    assert both[0] == space.most_similar(WORDS[0], 2)
    assert both[1] == []  # no rule finds it
    with pytest.raises(ValueError, match="entry_counts: expected a number"):
        ExtendedWordSpace(WORDS, vectors, entry_counts=[1.0])


class TestSaving:
    def space(self, **options):
        vectors = np.array([[1.0, 0.3], [0.9, 0.1], [-1.0, 0.2], [0.0, 0.0]])
        context = ContextSpace(["hot", "cold", "sweltering"], [[1, 0], [0, 1], [1, 0.1]])
        return ExtendedWordSpace(["hot", "warm", "cold", "void"], vectors, context=context, **options)

    def test_what_was_saved_answers_the_same(self, tmp_path):
        space = self.space(n_neighbors=2, n_consistent=1, entry_counts=[5, 1, 4, 0])
        space.save(tmp_path / "space")
        loaded = load(tmp_path / "space")
        assert (loaded.words, loaded.n_neighbors, loaded.n_consistent) == (space.words, 2, 1)
        for name in ("vectors", "entry_counts"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(space, name))
        asked = ["Hot", "sweltering", "void", "colder", "xyzzy"]
        assert loaded.embed(asked)[1:] == space.embed(asked)[1:]
        assert loaded.most_opposite("sweltering", 2) == space.most_opposite("sweltering", 2)

    def test_without_a_context(self, tmp_path):
        ExtendedWordSpace(["a"], [[1.0]]).save(tmp_path / "space")
        loaded = load(tmp_path / "space")
        assert loaded.context is loaded.lemmatizer is loaded.entry_counts is None

    def test_a_lemmatizer_is_asked_for(self, tmp_path):
        """Without it some words would silently have other vectors."""
        space = self.space(lemmatizer=lambda words: [word.removesuffix("ter") for word in words])
        space.save(tmp_path / "space")
        loaded = load(tmp_path / "space")
        with pytest.raises(ValueError, match=r"lemmatizer: is not saved with a space; write space.lemmatizer ="):
            loaded.embed(["hotter"])
        loaded.lemmatizer = space.lemmatizer
        assert loaded.embed(["hotter"]).rules == space.embed(["hotter"]).rules == ["lemma"]
        loaded.lemmatizer = None
        assert loaded.embed(["hot"]).rules == ["known"]


def test_what_is_no_word_is_refused():
    space = ExtendedWordSpace(["hot", "cold"], [[1.0, 0.0], [-1.0, 0.0]])
    for ask in (space.most_similar, space.most_opposite, space.embed):
        for wrong in (5, None, b"hot", {"hot"}):
            with pytest.raises(TypeError, match="words: expected a word or a sequence of words, got"):
                ask(wrong)
        with pytest.raises(TypeError, match="words: expected words, got 5"):
            ask(["hot", 5])
