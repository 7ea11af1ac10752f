"""Letters and their marks are the same word whether they come as one character or as several."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest

import semproj as sj
from semproj.contextspace import count_contexts
from semproj.text import MultiTermCounter, TermCounter
from tests.reference import text as reference

COMPOSED = [
    "caf\u00e9 ol\u00e9",
    "\u0439\u043e\u0434",
    "\uac00\ub098",
    "\u212bngstr\u00f6m",
    "\u30ac\u30b9",
    "plain",
]
DECOMPOSED = [unicodedata.normalize("NFD", text) for text in COMPOSED]
FORMS = {
    "str": DECOMPOSED,
    "bytes": [text.encode() for text in DECOMPOSED],
    "tokens": [text.split() for text in DECOMPOSED],
}


@pytest.mark.parametrize("documents", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_both_forms_are_one_word(documents: list, n_threads: int) -> None:
    counter = TermCounter(n_threads=n_threads)
    expected = counter.fit_transform(COMPOSED).toarray()
    assert "\u00c5ngstr\u00f6m" in counter.vocabulary_
    np.testing.assert_array_equal(counter.transform(documents).toarray(), expected)
    assert TermCounter(n_threads=n_threads).fit(documents).vocabulary_ == counter.vocabulary_
    for views in MultiTermCounter().fit_transform([COMPOSED, documents]):
        np.testing.assert_array_equal(views.toarray(), expected)


@pytest.mark.parametrize("documents", FORMS.values(), ids=FORMS)
def test_it_can_be_switched_off(documents: list) -> None:
    found = TermCounter(nfc=False).fit(documents).vocabulary_
    assert found.keys() == {word for text in DECOMPOSED for word in text.split()}
    separate = MultiTermCounter("separate", nfc=False).fit([COMPOSED, documents])
    assert separate.counters_[1].vocabulary_ == found


def test_every_letter_that_can_be_decomposed() -> None:
    letters = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.decomposition(chr(code))]
    letters += [chr(code) for code in range(0xAC00, 0xD7A4, 7)]
    texts = [f"x{letter}y" for letter in letters]
    counter = TermCounter()
    rows = counter.fit_transform([unicodedata.normalize("NFD", text) for text in texts])
    assert set(counter.vocabulary_) == {word for text in texts for word in reference.words(text)}
    assert (rows != counter.transform(texts)).nnz == 0


def test_letters_that_are_one_only_in_lower_case() -> None:
    """No capital has these marks in one character: they are composed after they have become small."""
    texts = ["\u03aa\u0301x \u0390x", "J\u030cab", "\u01f0ab", "I\u0307 \u0130 i"]
    expected = {"\u0390x", "\u01f0ab", "i"}
    for documents in (texts, [text.encode() for text in texts], [text.split() for text in texts]):
        counter = TermCounter(lowercase=True).fit(documents)
        assert counter.vocabulary_.keys() == expected
        terms = list(counter.get_feature_names_out())
        given = TermCounter(lowercase=True, vocabulary=terms)
        assert (given.fit_transform(documents) != counter.transform(documents)).nnz == 0
    assert "J\u030cab" in TermCounter().fit(texts).vocabulary_
    assert "j\u030cab" in TermCounter(lowercase=True, nfc=False).fit(texts).vocabulary_


def test_lower_case_is_composed_whatever_the_letter() -> None:
    """Also with the marks that letters are composed with most often, one or two of them."""
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    cased = [letter for letter in letters if letter.lower() != letter or letter.upper() != letter]
    marks = ["\u0301", "\u0308", "\u030c", "\u0331", "\u0313", "\u0342", "\u0345", "\u0308\u0301", "\u0313\u0345"]
    texts = [f"x{letter}" for letter in letters] + [f"x{letter}{mark}" for letter in cased for mark in marks]
    found = TermCounter(lowercase=True).fit([" ".join(texts)]).get_feature_names_out()
    assert [term for term in found if unicodedata.normalize("NFC", term) != term] == []
    again = TermCounter(lowercase=True).fit([list(found)]).get_feature_names_out()
    assert set(again) == set(found)


def test_bytes_that_are_not_utf8_stay_where_they_are() -> None:
    document = "e\u0301 ".encode() + b"\xff\xed\xa0\x80 " + "o\u0308x".encode() + b"\xcc"
    assert TermCounter(errors="replace").fit([document]).vocabulary_.keys() == {"\u00e9", "\u00f6x"}
    with pytest.raises(ValueError, match="document 1"):
        TermCounter().fit(["a", document])


def test_other_readers_of_words() -> None:
    source, target = ["un caf\u00e9"] * 9, ["a cafe\u0301"] * 9
    model = sj.WordByWord(min_cooccurrence=1).fit(source, target)
    assert model.source_counter_.vocabulary_.keys() == {"un", "a", "caf\u00e9"}
    counter = TermCounter().fit(source)
    near = count_contexts(["un cafe\u0301"], counter, window=1)
    assert near[counter.vocabulary_["un"], counter.vocabulary_["caf\u00e9"]] == 1


def test_given_terms_are_composed_too() -> None:
    with pytest.raises(ValueError, match=r"vocabulary: no text has .* nfc=True"):
        TermCounter(vocabulary=["cafe\u0301"]).fit(COMPOSED)
