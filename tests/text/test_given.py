"""Counters of terms that the user gives."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

import semproj as sj
from semproj.text import TermCounter, _counter, _documents

TEXTS = ["the cat and the dog", "a dog", "", "dog cat dog", ["the cat", "dog"]] * 50
TERMS = ["dog", "bird", "cat", "the cat", "and"]


@pytest.mark.parametrize(
    "vocabulary", [TERMS, tuple(TERMS), np.array(TERMS), {term: i for i, term in enumerate(TERMS)}], ids=type
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_columns_are_those_given(vocabulary: Any, n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt = TermCounter(ngram_range=(1, 2)).fit(TEXTS)
    expected = np.zeros((len(TEXTS), len(TERMS)), np.int32)
    for column, term in enumerate(TERMS):
        if term in learnt.vocabulary_:
            expected[:, column] = learnt.transform(TEXTS)[:, [learnt.vocabulary_[term]]].toarray()[:, 0]
    whole = _documents._core.take_batch
    monkeypatch.setattr(_documents._core, "take_batch", lambda documents, *_: whole(documents, 100, 7))
    counter = TermCounter(vocabulary=vocabulary, ngram_range=(1, 2), n_threads=n_threads)
    found = counter.fit_transform(TEXTS)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert (found.dtype, found.has_sorted_indices) == (np.int32, 1)
    np.testing.assert_array_equal(clone(counter).fit(TEXTS).transform(TEXTS).toarray(), expected)
    np.testing.assert_array_equal(counter.term_counts_, expected.sum(axis=0))
    assert counter.get_feature_names_out().tolist() == TERMS
    assert (counter.n_documents_, counter.n_tokens_) == (learnt.n_documents_, learnt.n_tokens_)


def test_as_scikit_learn_counts() -> None:
    terms = {"dog": 2, "cat": 0, "the": 1}
    texts = [text for text in TEXTS if isinstance(text, str)]
    expected = CountVectorizer(vocabulary=terms).fit_transform(texts)
    np.testing.assert_array_equal(TermCounter(vocabulary=terms).fit_transform(texts).toarray(), expected.toarray())


def test_texts_without_the_terms() -> None:
    counter = TermCounter(vocabulary=["bird"]).fit(["a cat", ""])
    assert counter.transform(["bird", "cat"]).toarray().tolist() == [[1], [0]]
    assert TermCounter(vocabulary=["bird"]).fit_transform([]).shape == (0, 1)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"vocabulary": "dog"}, TypeError, "expected a sequence of terms, .* got str"),
        ({"vocabulary": {"dog", "cat"}}, TypeError, "expected a sequence of terms, .* got set; write a list"),
        ({"vocabulary": 3}, TypeError, "expected a sequence of terms, .* got int"),
        ({"vocabulary": []}, ValueError, "expected at least one term"),
        ({"vocabulary": ["dog", 3]}, TypeError, "expected terms that are str and not empty, got 3"),
        ({"vocabulary": ["dog", ""]}, TypeError, "expected terms that are str and not empty, got ''"),
        ({"vocabulary": ["dog", "cat", "dog"]}, ValueError, "expected every term once, got 'dog' twice"),
        ({"vocabulary": {"dog": 0, "cat": 2}}, ValueError, "expected the columns 0 to 1, .* got 2 for 'cat'"),
        ({"vocabulary": {"dog": 0, "cat": 0}}, ValueError, "expected the columns 0 to 1, .* twice"),
        ({"vocabulary": {"dog": 0.5}}, ValueError, "expected the columns 0 to 0, .* got 0.5 for 'dog'"),
        (
            {"vocabulary": {"dog": 0.0, "cat": 1.0}},
            ValueError,
            "expected the columns 0 to 1, .* got 0.0 for 'dog'",
        ),
        ({"vocabulary": {"dog": False, "cat": True}}, ValueError, "expected the columns .* got False for 'dog'"),
        (
            {"vocabulary": iter(["dog", "cat"])},
            TypeError,
            "expected a sequence .* got list_iterator; write a list",
        ),
        (
            {"vocabulary": ["dog", "a\ud800"]},
            ValueError,
            r"expected terms without lone surrogates, got 'a\\ud800'",
        ),
        ({"vocabulary": ["dog", "Dog"], "lowercase": True}, ValueError, "no text has 'Dog' .* lowercase=True"),
    ],
)
def test_wrong_vocabularies(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="^vocabulary: " + message):
        TermCounter(**parameters).fit(TEXTS)


def test_a_term_twice_among_very_many() -> None:
    """Found in one pass: to look through all terms before, for each, takes minutes."""
    many = [f"w{i}" for i in range(200_000)]
    with pytest.raises(ValueError, match="expected every term once, got 'w199999' twice"):
        TermCounter(vocabulary=[*many, many[-1]]).fit(TEXTS)


def test_terms_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(_counter, "given_terms", lambda terms: calls.append(terms) or list(terms))
    TermCounter(vocabulary=TERMS, ngram_range=(1, 2)).fit(TEXTS)
    assert calls == [TERMS]


@pytest.mark.parametrize("term", ["the cat", "dog-cat", "a cat dog"])
def test_terms_that_no_text_can_have(term: str) -> None:
    longest = len(term.split()) - 1
    with pytest.warns(UserWarning, match=rf"^vocabulary: no text is cut into '{term}' with ngram_range=\(1, "):
        TermCounter(vocabulary=["bird", term], ngram_range=(1, max(1, longest))).fit(["the cat", "dog-cat"])
    TermCounter(vocabulary=["bird", term]).fit([[term, "dog"]])  # a token may be anything


@pytest.mark.parametrize("parameter", [{"drop_top": 1}, {"max_features": 2}, {"min_count": 2}])
def test_parameters_that_choose_terms(parameter: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=rf"^{next(iter(parameter))}: chooses terms, but vocabulary has them"):
        TermCounter(vocabulary=TERMS, **parameter).fit(TEXTS)  # type: ignore[arg-type]


def test_saved_and_copied(tmp_path: Any) -> None:
    counter = TermCounter(vocabulary={"dog": 1, "cat": 0}).fit(TEXTS)
    counter.save(tmp_path / "counter")
    expected = counter.transform(TEXTS).toarray()
    for other in (sj.load(tmp_path / "counter"), pickle.loads(pickle.dumps(counter))):
        assert other.vocabulary_ == {"cat": 0, "dog": 1}
        np.testing.assert_array_equal(clone(other).fit_transform(TEXTS).toarray(), expected)


def test_translation_between_given_terms(tmp_path: Any) -> None:
    counter = TermCounter(vocabulary=["cat", "dog", "gato", "perro"])
    model = sj.WordByWord(counter, min_cooccurrence=1).fit(["a cat", "a dog"] * 9, ["un gato", "un perro"] * 9)
    assert model.translation_.shape == (4, 4)
    model.save(tmp_path / "model")
    assert sj.load(tmp_path / "model").counter.vocabulary == ("cat", "dog", "gato", "perro")


def test_the_attribute_cannot_be_set() -> None:
    for counter in (TermCounter(), TermCounter().fit(["a b"])):
        with pytest.raises(AttributeError, match=r"vocabulary_: is set by fit; .* TermCounter\(vocabulary="):
            counter.vocabulary_ = {"a": 0}
