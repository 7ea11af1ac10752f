"""The tokeniser and the term counter as plainly as Python can say them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

_SURROGATE = re.compile("[\ud800-\udfff]")  # each alone: a pair of them in a str is no character


def lower(character: str) -> str:
    """One character to one."""
    return "i" if character == "\u0130" else character.lower()


def composed(text: str, lowercase: bool) -> str:
    """Normalization Form C, also of what the letters are in lower case."""
    text = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", "".join(map(lower, text))) if lowercase else text


def words(
    document: str | bytes | Sequence[str], *, lowercase: bool = False, nfc: bool = True, errors: str = "strict"
) -> list[str]:
    if isinstance(document, (list, tuple)):
        document = [composed(token, lowercase) for token in document] if nfc else document
        tokens = [_SURROGATE.sub("\ufffd", token) if errors == "replace" else token for token in document]
        return ["".join(map(lower, token)) if lowercase else token for token in tokens]
    text = document.decode("utf-8", errors) if isinstance(document, bytes) else document
    text = composed(text, lowercase) if nfc else text
    result: list[list[str]] = []
    inside = False
    for character in text:
        category = unicodedata.category(character)[0]
        if category in "LN" and not inside:
            result.append([])
        inside = category in "LN" or (category == "M" and inside)
        if inside:
            result[-1].append(lower(character) if lowercase else character)
    return ["".join(word) for word in result]


def ngrams(tokens: Sequence[str], longest: int) -> list[str]:
    return [" ".join(tokens[i : i + n]) for n in range(1, longest + 1) for i in range(len(tokens) - n + 1)]


def count(
    documents: Iterable[str | bytes | Sequence[str]],
    *,
    drop_top: int = 0,
    max_features: int | None = None,
    min_count: int = 1,
    ngram_max: int = 1,
    lowercase: bool = False,
    nfc: bool = True,
    errors: str = "strict",
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The terms of the columns, their totals, and the dense matrix of counts."""
    rows = [Counter(ngrams(words(d, lowercase=lowercase, nfc=nfc, errors=errors), ngram_max)) for d in documents]
    total: Counter[str] = sum(rows, Counter())
    ordered = sorted(total, key=lambda term: (-total[term], term.encode()))[drop_top:][:max_features]
    terms = [term for term in ordered if total[term] >= min_count]
    dense = np.array([[row[term] for term in terms] for row in rows], dtype=np.int32)
    return (
        terms,
        np.array([total[term] for term in terms], dtype=np.int64),
        dense.reshape(len(rows), len(terms)),
    )
