"""Terms that a user gives instead of having them learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core


def given_terms(vocabulary: Any) -> list[str]:
    """The terms of a `vocabulary`, a sequence or a mapping to columns, in the order of their columns."""
    unordered = isinstance(vocabulary, (str, bytes, set, frozenset)) or not isinstance(vocabulary, Iterable)
    if unordered or isinstance(vocabulary, Iterator):  # of which the next fit would have nothing left
        got = f"{type(vocabulary).__name__}; write a list"
        raise TypeError(f"vocabulary: expected a sequence of terms, or a mapping of terms to columns, got {got}")
    terms = list(vocabulary)
    if not terms:
        raise ValueError("vocabulary: expected at least one term, got none")
    for term in terms:
        if not isinstance(term, str) or not term:
            raise TypeError(f"vocabulary: expected terms that are str and not empty, got {term!r}")
    try:
        "".join(terms).encode()
    except UnicodeEncodeError:
        term = next(term for term in terms if any("\ud800" <= character <= "\udfff" for character in term))
        raise ValueError(f"vocabulary: expected terms without lone surrogates, got {term!r}") from None
    if isinstance(vocabulary, Mapping):
        _check_columns(vocabulary)
        terms.sort(key=vocabulary.__getitem__)
        return terms
    seen: set[str] = set()
    for term in terms:
        if term in seen:
            raise ValueError(f"vocabulary: expected every term once, got {term!r} twice")
        seen.add(term)
    return terms


def _check_columns(vocabulary: Mapping[str, Any]) -> None:
    expected = range(len(vocabulary))
    for term, column in vocabulary.items():
        if not isinstance(column, Integral) or isinstance(column, bool) or column not in expected:
            got = f"{column!r} for {term!r}"
            break
    else:
        if len(set(vocabulary.values())) == len(expected):
            return
        got = "some of them twice"
    raise ValueError(f"vocabulary: expected the columns 0 to {len(expected) - 1}, one for each term, got {got}")


class GivenTerms:
    """Counts given terms, batch by batch; otherwise like a session that learns them."""

    def __init__(
        self, vocabulary: _core.Vocabulary, make_session: Callable[[], _core.CountSession], keep_rows: bool
    ) -> None:
        self.vocabulary, self._make_session, self._keep_rows = vocabulary, make_session, keep_rows
        self.n_documents = self.n_words = 0
        self.term_counts: npt.NDArray[np.int64] = np.zeros(len(vocabulary), np.int64)
        self._kept: list[_core.Csr] = []

    def add(self, batch: list[Any], first_document_number: int) -> None:
        session = self._make_session()
        session.add(batch, first_document_number)
        rows = session.rows()
        self.n_documents += session.n_documents
        self.n_words += session.n_words
        self.term_counts += np.bincount(rows.indices, rows.data, len(self.vocabulary)).astype(np.int64)
        if self._keep_rows:
            self._kept.append(rows)

    def choose(self, drop_top: int, max_features: int | None, min_count: int) -> None:
        """The terms are chosen."""

    def rows(self) -> _core.Csr:
        ends = np.cumsum([0, *(len(rows.indices) for rows in self._kept)])
        indptr = [np.zeros(1, np.int64), *(r.indptr[1:] + end for r, end in zip(self._kept, ends, strict=False))]
        none = np.empty(0, np.int32)
        indices = np.concatenate([none, *(rows.indices for rows in self._kept)])
        data = np.concatenate([none, *(rows.data for rows in self._kept)])
        return _core.Csr(np.concatenate(indptr), indices, data, len(self.vocabulary))
