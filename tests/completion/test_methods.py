"""Each method beside the plain formulas, and what it says of hostile questions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import semproj as sj
from semproj.completion import (
    PMI,
    CompletionQuestion,
    LSAReconstruction,
    LSASimilarity,
    NearestSentences,
    SentenceIndex,
)
from tests.completion.texts import FREQUENT, questions, sentences
from tests.reference import completion as reference

TEXT = sentences(90)
WORDS = [[word for word in sentence.split() if word != "."] for sentence in TEXT]
QUESTION = CompletionQuestion.read(
    "the ship and a _____ was near the wave , wave .", ["sail", "lamp", "owl", "the"]
)
AROUND = ["the", "ship", "and", "a", "was", "the", "wave", "wave"]
METHODS = [
    PMI(stop_words=7),
    NearestSentences(),
    LSASimilarity(5),
    LSAReconstruction(),
]


def answer_of(option: int) -> str:
    return QUESTION.answer_words(option)[0]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"smoothing": 1.0}, {"smoothing": 1.0}),
        ({"smoothing": 0.0}, {"smoothing": 0.0}),
        ({"smoothing": 0.5, "positive": True}, {"smoothing": 0.5, "positive": True}),
    ],
)
def test_pmi(parameters, expected):
    scores = PMI(**parameters, stop_words=0, min_count=1).fit(TEXT).scores(QUESTION)
    for option, score in enumerate(scores):
        assert score == pytest.approx(reference.pmi(WORDS, AROUND, answer_of(option), **expected), rel=1e-12)


def test_pmi_with_an_exponent():
    text = [sentence.removesuffix(" .") for sentence in TEXT]
    scores = PMI(context_exponent=0.75, stop_words=0, min_count=1).fit(text).scores(QUESTION)
    for option, score in enumerate(scores):
        expected = reference.pmi(WORDS, AROUND, answer_of(option), smoothing=1.0, exponent=0.75)
        assert score == pytest.approx(expected, rel=1e-12)


def test_pmi_without_the_most_frequent_words():
    method = PMI(stop_words=7, min_count=1).fit(TEXT)
    assert set(method.index_.words_[:7]) == {*FREQUENT, "."}
    score = method.scores(QUESTION)[0]
    assert score == pytest.approx(reference.pmi(WORDS, ["ship", "wave"], "sail", smoothing=1.0), rel=1e-12)


@pytest.mark.parametrize("sharpness", [0.5, 20.0])
def test_nearest_sentences(sharpness):
    scores = NearestSentences(sharpness, min_count=1).fit(TEXT).scores(QUESTION)
    for option, score in enumerate(scores):
        expected = reference.nearest(WORDS, AROUND, answer_of(option), sharpness=sharpness)
        assert score == pytest.approx(expected, rel=1e-9)


def test_words_of_an_option_add_up():
    method = NearestSentences(min_count=1).fit(TEXT)
    both, sail, lamp = method.scores(("the ship and a _____ .", ["sail lamp", "sail", "lamp"]))
    assert 0 not in (sail, lamp)
    assert both == pytest.approx(sail + lamp, rel=1e-12)


def test_words_of_all_sentences_tell_nothing():
    """Their idf is 0: no sentence is near to a question that has no others."""
    text = ["the cat drank", "the man read", "the dog drank"]
    method = NearestSentences(min_count=1).fit(text)
    assert method.scores(("the _____ the", ["cat", "man"])).tolist() == [0, 0]
    with_more = method.scores(("the the _____ drank", ["cat", "man"]))
    assert with_more.tolist() == method.scores(("_____ drank", ["cat", "man"])).tolist()


def test_nearest_sentences_do_not_overflow():
    assert np.isfinite(NearestSentences(1e6).fit(TEXT).scores(QUESTION)).all()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, {"power": 0.0}),
        ({"power": 1.0, "context_weight": "none"}, {"power": 1.0, "idf_weights": False}),
        ({"power": 0.5, "drop_first": 2}, {"power": 0.5, "drop_first": 2}),
    ],
)
def test_lsa_similarity(parameters, expected):
    method = LSASimilarity(8, min_count=1, **parameters).fit(TEXT)
    scores = method.scores(QUESTION)
    for option, score in enumerate(scores):
        wanted = reference.similarity(WORDS, method.words_, AROUND, answer_of(option), k=8, **expected)
        assert score == pytest.approx(wanted, rel=1e-3, abs=1e-3)  # vectors are float32


def test_inputs_of_lsa_similarity():
    method = LSASimilarity(8).fit(TEXT)
    question = CompletionQuestion.read("the ship _____", ["sail", "nowhere", "sail unheard"])
    inputs = method.inputs(question)
    assert inputs[:, 2].tolist() == [0, 1, 1]
    vectors, words = method.vectors().astype(float), method.words_
    around = sum(method.idf_[words.index(w)] * vectors[words.index(w)] for w in ("the", "ship"))
    answer = vectors[words.index("sail")]
    cosine = around @ answer / np.linalg.norm(around) / np.linalg.norm(answer)
    assert inputs[0, 1] == pytest.approx(cosine, rel=1e-5)
    assert inputs[1].tolist() == [0, 0, 1]
    assert inputs[2, 0] == inputs[0, 0]
    assert method.scores(question).tolist() == inputs[:, 0].tolist()


def test_parameters_that_are_set_after_the_fit():
    method = LSASimilarity(8).fit(TEXT)
    method.scores(QUESTION)
    fresh = LSASimilarity(8, power=1.0).fit(TEXT)
    assert method.set_params(power=1.0).scores(QUESTION) == pytest.approx(fresh.scores(QUESTION), rel=1e-6)


def test_relevant_documents():
    question = CompletionQuestion.read("the ship _____", ["sail", "owl"])
    method = LSASimilarity(3, min_count=1).fit(TEXT, relevant_to=[question])
    assert sorted(method.words_) == ["owl", "sail", "ship", "the"]
    related = [sentence for sentence in TEXT if "sail" in sentence.split() or "owl" in sentence.split()]
    assert len(related) < len(TEXT)
    same = LSASimilarity(3, min_count=1).fit(related, relevant_to=[question])
    assert method.scores(question) == pytest.approx(same.scores(question), rel=1e-4)


@pytest.mark.parametrize(("fraction", "ngrams"), [(0.3, 1), (1.2, 1), (0.5, 2), (0.5, 3)])
def test_reconstruction(fraction, ngrams):
    method = LSAReconstruction(fraction, ngrams=ngrams, min_count=1).fit(TEXT)
    for option, score in enumerate(method.scores(QUESTION)):
        completed = [word for word in QUESTION.completed(option) if word not in ",."]
        # The number of components is that of all tokens, with punctuation.
        share = fraction * len(QUESTION.completed(option)) / len(completed)
        expected = reference.reconstruction(WORDS, completed, answer_of(option), fraction=share, ngrams=ngrams)
        assert -score == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_reconstruction_from_repeated_sentences():
    """Directions that no sentence has are none, however many components there may be."""
    twice = [*TEXT, *TEXT]
    method = LSAReconstruction(3.0, min_count=1, max_sentences=1000).fit(twice)
    for option, score in enumerate(method.scores(QUESTION)):
        completed = [word for word in QUESTION.completed(option) if word not in ",."]
        share = 3.0 * len(QUESTION.completed(option)) / len(completed)
        expected = reference.reconstruction(
            [*WORDS, *WORDS], completed, answer_of(option), fraction=share, ngrams=1
        )
        assert -score == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_reconstruction_of_a_sentence_that_is_there():
    """Nothing is left of it, and rounding does not make it better than that."""
    method = LSAReconstruction(9.0, min_count=1).fit(TEXT)
    left = []
    for sentence in TEXT:
        words = sentence.split()
        left += method.scores((" ".join(["_____", *words[1:]]), [words[0]])).tolist()
    assert max(left) <= 0
    assert min(left) > -1e-6


def test_reconstruction_takes_sentences_of_all_words_of_an_option():
    method = LSAReconstruction(0.5, min_count=1).fit(TEXT)
    asked = "the ship and a _____ was near"
    one, other = method.scores((asked, ["sail owl", "owl sail"]))
    assert one == pytest.approx(other, rel=1e-9)
    related = [sentence for sentence in TEXT if {"sail", "owl"} & set(sentence.split())]
    only_sail = [sentence for sentence in related if "sail" in sentence.split()]
    assert 0 < len(only_sail) < len(related)


def test_few_sentences_are_taken_at_even_distances():
    """The first and the last are among them: the last one is the question itself."""
    text = [*(f"sail a{i} b{i}" for i in range(20)), "sail ship wave"]
    asked = ("_____ ship wave", ["sail"])
    for n in (2, 3, 7):
        (score,) = LSAReconstruction(9.0, min_count=1, max_sentences=n).fit(text).scores(asked)
        assert score == pytest.approx(0, abs=1e-9)
    (without,) = LSAReconstruction(9.0, min_count=1).fit([*text[:-1], "ship", "wave"]).scores(asked)
    assert without < -1


def test_few_of_many_sentences():
    method = LSAReconstruction(max_sentences=3).fit(TEXT)
    assert np.isfinite(method.scores(QUESTION)).all()
    assert method.scores(QUESTION).tolist() != LSAReconstruction().fit(TEXT).scores(QUESTION).tolist()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
class TestAllMethods:
    def test_topics_are_told_apart(self, method):
        asked, answers = questions()
        fitted = method.set_params(min_count=3).fit(sentences())
        right = [int(np.argmax(fitted.scores(q))) == answer for q, answer in zip(asked, answers, strict=True)]
        assert np.mean(right) > 0.9

    def test_two_blanks(self, method):
        method.fit(TEXT)
        scores = method.scores("the _____ and the wave _____ .", ["ship .. sail", "lamp .. owl"])
        assert scores[0] > scores[1]

    def test_unknown_options_and_duplicates(self, method):
        scores = method.fit(TEXT).scores("the ship _____ .", ["nowhere", "sail", "sail", "un heard"])
        assert np.isfinite(scores).all()
        assert scores[1] == scores[2]

    def test_no_known_word_around(self, method):
        scores = method.fit(TEXT).scores("unheard _____ of", ["sail", "owl"])
        assert np.isfinite(scores).all()

    def test_nothing_around(self, method):
        assert np.isfinite(method.fit(TEXT).scores("_____", ["sail", "owl"])).all()

    def test_an_index_is_shared(self, method):
        index = SentenceIndex().fit(TEXT)
        assert method.fit(index).scores(QUESTION).tolist() == method.fit(TEXT).scores(QUESTION).tolist()

    def test_token_lists_and_iterators(self, method):
        expected = method.fit(TEXT).scores(QUESTION).tolist()
        assert method.fit(sentence.split() for sentence in TEXT).scores(QUESTION).tolist() == expected

    def test_save_and_load(self, method, tmp_path):
        method.fit(TEXT).save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert loaded.get_params() == method.get_params()
        assert loaded.scores(QUESTION).tolist() == method.scores(QUESTION).tolist()

    def test_not_fitted(self, method):
        fresh = type(method)()
        with pytest.raises(NotFittedError, match="Call fit first"):
            fresh.scores(QUESTION)
        with pytest.raises(NotFittedError):
            fresh.fit(SentenceIndex())

    @pytest.mark.parametrize("nothing", [[], ["", " "]])
    def test_no_sentences(self, method, nothing):
        expected = method.fit(TEXT).scores(QUESTION).tolist()
        with pytest.raises(ValueError, match="sentences: expected words, got none"):
            method.fit(nothing)
        assert method.scores(QUESTION).tolist() == expected  # of the fit before

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ("a text", TypeError, "sentences: expected an iterable of sentences, got str"),
            ([3], TypeError, r"sentences\[0\]: expected a str or a sequence of words"),
            ([["a", 3]], TypeError, r"sentences\[0\]: expected words, got int"),
            (["a", "\ud800"], ValueError, r"sentences\[1\]: cannot be written as UTF-8"),
            (["a b c"], ValueError, "min_count: no word comes 3 times"),
        ],
    )
    def test_bad_sentences(self, method, given, error, message):
        with pytest.raises(error, match=message):
            method.set_params(min_count=3).fit(given)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (PMI(-1.0), "smoothing: expected .*at least 0"),
        (PMI(context_exponent=0), "context_exponent"),
        (PMI(stop_words=-1), "stop_words"),
        (NearestSentences(0), "sharpness"),
        (LSASimilarity(0), "n_components"),
        (LSASimilarity(drop_first=300), "drop_first"),
        (LSASimilarity(context_weight="tf"), "context_weight"),
        (LSAReconstruction(0), "fraction"),
        (LSAReconstruction(ngrams=4), "ngrams"),
        (LSAReconstruction(max_sentences=0), "max_sentences"),
        (SentenceIndex(0), "min_count"),
    ],
)
def test_bad_parameters(method, message):
    with pytest.raises(ValueError, match=message):
        method.fit(TEXT)


def test_one_thread_or_many():
    one, two = (LSASimilarity(8, n_threads=n).fit(TEXT) for n in (1, 2))
    assert one.components_.tobytes() == two.components_.tobytes()


class TestIndex:
    def test_against_a_search(self):
        index = SentenceIndex(min_count=2).fit(TEXT)
        split = [sentence.split() for sentence in TEXT]
        assert index.n_sentences_ == len(split)
        for number, word in enumerate(index.words_):
            expected = [i for i, sentence in enumerate(split) if word in sentence]
            assert index.sentences_with(word).tolist() == expected
            assert index.counts_[number] == sum(sentence.count(word) for sentence in split)
            assert index.document_counts_[number] == len(expected)
        order = [(-count, word.encode()) for count, word in zip(index.counts_, index.words_, strict=True)]
        assert order == sorted(order)

    def test_rare_words_and_repeats(self):
        index = SentenceIndex(min_count=2).fit(["a a b", "", "c b"])
        assert index.words_ == ["a", "b"]
        assert index.sentences_with("a").tolist() == [0]
        assert index.sentences_with("c").tolist() == []
        assert index.ids_.tolist() == [0, 0, 1, 2, 1]
        tokens, rows = index.tokens_of(np.array([2, 1, 0]))
        assert (tokens.tolist(), rows.tolist()) == ([2, 1, 0, 0, 1], [0, 0, 2, 2, 2])

    def test_max_words(self):
        assert SentenceIndex(1, max_words=2).fit(["a b", "a b c"]).words_ == ["a", "b"]

    def test_counts(self):
        index = SentenceIndex(1).fit(["a a b", "c", "b c"])
        columns = np.array(index.numbers(["b", "a"]))
        assert index.counts(columns).toarray().tolist() == [[1, 2], [0, 0], [1, 0]]
        assert index.counts(columns, np.array([2, 0])).toarray().tolist() == [[1, 0], [1, 2]]

    def test_a_refit_forgets(self):
        index = SentenceIndex(1).fit(["a b"])
        assert (index.words_, index.n_sentences_) == (["a", "b"], 1)
        index.fit(["c", "c d"])
        assert (index.words_, index.n_sentences_) == (["c", "d"], 2)
        assert index.idf.tolist() == [0, pytest.approx(np.log(2))]

    def test_save_and_load(self, tmp_path):
        index = SentenceIndex(2).fit(TEXT)
        index.save(tmp_path / "index")
        loaded = sj.load(tmp_path / "index")
        assert loaded.words_ == index.words_
        assert loaded.sentences_with("ship").tolist() == index.sentences_with("ship").tolist()
