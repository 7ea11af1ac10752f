"""Hostile texts beside the plain reference: any bytes, surrogates, marks, huge words, lists of tokens, mixed."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np
import pytest

from semproj import LSA, Encoder, LogTfIdf
from semproj.text import TermCounter
from tests.reference import text as reference
from tests.support import same_bits

# Characters that Unicode 3.2 knew: the running Python agrees with our tables, whatever its version.
OLD = unicodedata.ucd_3_2_0
AWKWARD = [
    c
    for c in map(
        chr, [*range(0x600), *range(0x900, 0xA00), *range(0x1E00, 0x2100), *range(0x4E00, 0x4E10), 0xFB01]
    )
    if OLD.category(c) == unicodedata.category(c) != "Cn"
]
ALPHABETS = [
    list("ab "),
    list("aA0_ .\0\n\x7f"),
    list("e\u0301\u0300 \u05b0x\u0345"),
    list("\u0130\u0131I\u1e9e\u00df\u023a\u01c5 "),
    list("\U00010400\U0001d400\U00020000\u4e2d a\uffff"),
    AWKWARD,
]
SURROGATES = ["\ud800", "\udfff", "\udc80", "\udbff"]


def text(rng: np.random.Generator, *, broken: bool) -> str:
    alphabet = ALPHABETS[rng.integers(len(ALPHABETS))] + (SURROGATES if broken and rng.random() < 0.3 else [])
    # Blocks are 64 characters, pieces a few thousand: lengths around both.
    length = int(
        rng.choice([0, 1, 5, 63, 64, 65, 300, 4090, 9000], p=[0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.2, 0.05, 0.05])
    )
    length += int(rng.integers(0, 4))
    if rng.random() < 0.1:
        return str(rng.choice(["x", "\u00e9", "\u4e2d"])) * length  # one huge word
    return "".join(rng.choice(alphabet, length)) if length else ""


def document(rng: np.random.Generator, *, broken: bool) -> Any:
    kind = rng.integers(4)
    if kind == 0:
        return text(rng, broken=broken)
    if kind == 1:
        data = text(rng, broken=False).encode()
        if broken and data:
            cut = np.frombuffer(data, np.uint8).copy()
            where = rng.integers(0, len(cut), rng.integers(1, 4))
            cut[where] = rng.integers(0, 256, len(where))
            data = cut.tobytes()[: rng.integers(0, len(cut) + 1)]
        return data
    if kind == 2:
        tokens = [text(rng, broken=broken)[: rng.integers(0, 30)] for _ in range(rng.integers(0, 12))]
        return tokens if rng.random() < 0.5 else tuple(tokens)
    return " ".join(rng.choice(["a", "b", "cc", "a long sort of word", "Z"], rng.integers(0, 40)))


def options_of(rng: np.random.Generator, errors: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counter's, and the reference's."""
    shared = {
        "drop_top": int(rng.choice([0, 0, 1, 5])),
        "max_features": [None, None, 1, 20][rng.integers(4)],
        "min_count": int(rng.choice([1, 1, 2, 3])),
        "lowercase": bool(rng.random() < 0.5),
        "errors": errors,
    }
    longest = int(rng.integers(1, 5))
    threads = int(rng.choice([1, 2, 5]))
    return {**shared, "ngram_range": (1, longest), "n_threads": threads}, {**shared, "ngram_max": longest}


def assert_counts(X: Any, dense: np.ndarray) -> None:
    rows, columns = dense.nonzero()
    np.testing.assert_array_equal(X.indptr, np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]))
    np.testing.assert_array_equal(X.indices, columns)
    np.testing.assert_array_equal(X.data, dense[rows, columns])


def test_counts_are_those_of_the_reference(fuzz):
    def check(rng: np.random.Generator) -> None:
        errors = str(rng.choice(["strict", "replace"]))
        documents = [document(rng, broken=errors == "replace") for _ in range(rng.integers(1, 9))]
        if rng.random() < 0.3:
            documents = documents * 20  # several batches' worth of the same
        mine, plain = options_of(rng, errors)
        terms, totals, dense = reference.count(documents, **plain)
        counter = TermCounter(**mine)
        if not terms:
            with pytest.raises(ValueError, match="documents: "):
                counter.fit(documents)
            return
        X = counter.fit_transform(iter(documents))
        assert list(counter.get_feature_names_out()) == terms
        assert counter.vocabulary_ == {term: i for i, term in enumerate(terms)}
        np.testing.assert_array_equal(counter.term_counts_, totals)
        assert_counts(X, dense)
        assert_counts(counter.transform(documents), dense)
        assert_counts(counter.fit(documents).transform(documents), dense)
        others = [document(rng, broken=errors == "replace") for _ in range(3)]
        row_of = reference.count(others, **{**plain, "drop_top": 0, "max_features": None, "min_count": 1})
        columns = {term: i for i, term in enumerate(row_of[0])}
        expected = [row_of[2][:, columns[t]] if t in columns else np.zeros(3, int) for t in terms]
        assert_counts(counter.transform(others), np.stack(expected, axis=1))

    fuzz(check, cases=40)


def test_an_encoder_is_its_parts(fuzz):
    def check(rng: np.random.Generator) -> None:
        documents = ["a b", "b c c", "c a d", *(document(rng, broken=True) for _ in range(rng.integers(1, 9)))]
        mine, plain = options_of(rng, "replace")
        mine["drop_top"] = plain["drop_top"] = 0
        mine["min_count"] = plain["min_count"] = 1
        mine["max_features"] = plain["max_features"] = 20
        counter, weighting = TermCounter(**mine), LogTfIdf()
        weights = weighting.fit_transform(counter.fit_transform(documents))
        model = LSA(2, random_state=0).fit(weights)
        encoder = Encoder(counter, weighting, model)
        counts = reference.count(documents, **plain)[2]
        expected = weights_of(counts.astype(float)) @ model.components_.T
        found = encoder.encode(documents)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max() + 1e-30)
        assert same_bits(encoder.encode(iter(documents)), found)
        one_by_one = np.concatenate([encoder.encode([item]) for item in documents])
        assert same_bits(one_by_one, found)

    fuzz(check, cases=15)


def weights_of(counts: np.ndarray) -> np.ndarray:
    """log(tf)-idf, of terms that all occur."""
    return np.log2(counts + 1) * np.log2(len(counts) / (counts > 0).sum(axis=0))


def test_broken_text_names_the_document(fuzz):
    """The same message for any number of threads, where Python itself sees an error."""

    def check(rng: np.random.Generator) -> None:
        documents = [document(rng, broken=True) for _ in range(rng.integers(1, 40))]
        messages = set()
        for n_threads in (1, 3):
            try:
                TermCounter(n_threads=n_threads).fit(["a", *documents])
            except ValueError as error:
                messages.add(str(error))
            else:
                messages.add("")
        assert len(messages) == 1, messages

        def is_broken(item: Any) -> bool:
            try:
                for part in item if isinstance(item, (list, tuple)) else [item]:
                    part.decode() if isinstance(part, bytes) else part.encode()
            except UnicodeError:
                return True
            return False

        first = next((i + 1 for i, item in enumerate(documents) if is_broken(item)), None)
        (message,) = messages
        named = re.match(r"document (\d+)[:,]", message)
        assert (named and int(named[1])) == first, message

    fuzz(check, cases=40)
