"""Count the words or n-grams of texts in one language."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, nullcontext
from hashlib import blake2b
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from .. import _core
from .._common.base import progress_bar
from .._common.layouts import check_arrays, check_numbers, layouts, numbers
from .._common.persistence import Persistent, check_strings, pack_strings
from .._common.resources import resolve_threads
from .._common.rows import labelled
from .._common.validation import as_documents, scipy_csr
from ._documents import iter_batches
from ._given import GivenTerms, given_terms

Document: TypeAlias = "str | bytes | Sequence[str]"

_DERIVED = ("_columns", "_fingerprint")  # attributes that are made from the vocabulary when they are asked for


def _integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, got {value!r}")


@contextmanager
def naming_view(number: int) -> Iterator[None]:
    """Name the view in errors about its documents."""
    try:
        yield
    except (TypeError, ValueError) as error:  # of which some cannot be made from a message alone
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"documents[{number}]: {error}") from error


class TermCounter(Persistent, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Count words or n-grams.

    A word is a run of Unicode letters and numbers, with the marks that follow them. The most frequent term has the
    first column; terms that are equally frequent are ordered by their UTF-8 bytes. The result is the same for any
    number of threads.

    Parameters
    ----------
    vocabulary : sequence of str, mapping of str to int, or None, default None
        The terms to count, in the order of their columns, or with their columns. `fit` then chooses none, and only
        counts, and warns of terms that no text can have, such as those of more words than `ngram_range` has. None:
        `fit` learns them.
    drop_top : int, default 0
        Give this many of the most frequent terms no column.
    max_features : int or None, default None
        Of the others, keep only this many of the most frequent.
    min_count : int, default 1
        Leave out terms that occur less often.
    ngram_range : tuple (1, n), default (1, 1)
        Count runs of 1 to n words, joined by a space.
    lowercase : bool, default False
        Map every character to lower case (one to one: U+0130 becomes "i").
    nfc : bool, default True
        Compose letters and marks (Unicode's Normalization Form C): "é" is the same letter whether it comes as one
        character or as two.
    errors : {"strict", "replace"}, default "strict"
        Raise an error that names the document for invalid UTF-8 and lone surrogates, or read them as U+FFFD, which
        separates words.
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each term; made when first asked for.
    term_counts_ : int64 array of shape (n_terms,)
        How often the term of each column occurred in `fit`.
    n_documents_, n_tokens_ : int
        How many documents and words (n-grams of one) `fit` has seen.

    Notes
    -----
    A document is a str, UTF-8 bytes, or a list of str, whose elements are taken as words. Documents are read once,
    in batches of a few megabytes: any iterable will do, and so will a frame (of pandas or polars) with one column.

    Examples
    --------
    >>> from semproj.text import TermCounter
    >>> counter = TermCounter()
    >>> counter.fit_transform(["the cat and the dog", "a dog"]).toarray()
    array([[1, 2, 0, 1, 1],
           [1, 0, 1, 0, 0]], dtype=int32)
    >>> counter.get_feature_names_out()
    array(['dog', 'the', 'a', 'and', 'cat'], dtype=object)
    """

    _arrays = layouts(
        terms="u1 bytes",
        term_offsets="i8 offsets",
        term_counts="i8 terms",
    )
    _scalars = numbers(n_documents_=int, n_tokens_=int)

    def __init__(
        self,
        *,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        drop_top: int = 0,
        max_features: int | None = None,
        min_count: int = 1,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = False,
        nfc: bool = True,
        errors: Literal["strict", "replace"] = "strict",
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.vocabulary = vocabulary
        self.drop_top, self.max_features, self.min_count = drop_top, max_features, min_count
        self.ngram_range, self.lowercase, self.nfc, self.errors = ngram_range, lowercase, nfc, errors
        self.n_threads, self.progress = n_threads, progress

    def fit(self, documents: Iterable[Document], y: object = None) -> TermCounter:
        """Learn the vocabulary.

        Parameters
        ----------
        documents : iterable of str, bytes or lists of str
            Read once.
        """
        self._learn([documents], keep_rows=False)
        return self

    def fit_transform(self, documents: Iterable[Document], y: object = None) -> csr_matrix:
        """Learn the vocabulary and count, reading the documents once; equal to ``fit(d).transform(d)``."""
        session, _ = self._learn([documents], keep_rows=True)
        return self._labelled(scipy_csr(session.rows()))

    def transform(self, documents: Iterable[Document]) -> csr_matrix:
        """Count the terms of the vocabulary.

        Parameters
        ----------
        documents : iterable of str, bytes or lists of str
            Read once.

        Returns
        -------
        csr_matrix of int32, shape (n_documents, n_terms)
            Its indices are sorted. Terms without a column are not counted.
        """
        session = self._session(keep_rows=True, vocabulary=self._fitted())
        self._feed(session, documents)
        return self._labelled(scipy_csr(session.rows()))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the terms in the order of their columns; `input_features` is ignored."""
        return np.array(self._fitted().term_list(), dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        columns: dict[str, int] | None = self.__dict__.get("_columns")
        if columns is None:
            columns = self._columns = {term: i for i, term in enumerate(self._fitted().term_list())}
        return columns

    @vocabulary_.setter
    def vocabulary_(self, value: object) -> None:
        raise AttributeError(
            "vocabulary_: is set by fit; for terms of your own, write TermCounter(vocabulary=...)"
        )

    def _terms_fingerprint(self) -> str:
        """Tells other vocabularies apart: a hash of the terms in the order of their columns."""
        found: str | None = self.__dict__.get("_fingerprint")
        if found is None:
            vocabulary, hashed = self._fitted(), blake2b(digest_size=16)
            for part in (vocabulary.terms(), vocabulary.term_offsets()):
                hashed.update(np.ascontiguousarray(part).view(np.uint8).data)
            found = self._fingerprint = hashed.hexdigest()
        return found

    def _labelled(self, rows: csr_matrix) -> csr_matrix:
        return labelled(rows, self._terms_fingerprint())

    def _fitted(self) -> _core.Vocabulary:
        vocabulary: _core.Vocabulary | None = self.__dict__.get("_vocabulary")
        if vocabulary is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit first.")
        return vocabulary

    def _options(self) -> dict[str, Any]:
        try:
            first, last = self.ngram_range
        except (TypeError, ValueError):
            first, last = 0, 0
        if first != 1 or not isinstance(last, Integral) or last < 1:
            raise ValueError(f"ngram_range: expected (1, n) with n of at least 1, got {self.ngram_range!r}")
        if self.errors not in ("strict", "replace"):
            raise ValueError(f"errors: expected 'strict' or 'replace', got {self.errors!r}")
        return {"ngram_max": int(last), "n_threads": resolve_threads(self.n_threads), **self._reading()}

    def _check_parameters(self) -> None:
        _integer("drop_top", self.drop_top, 0)
        if self.max_features is not None:
            _integer("max_features", self.max_features, 1)
        _integer("min_count", self.min_count, 1)
        self._options()

    def _given_vocabulary(self) -> _core.Vocabulary:
        """The terms of the parameter, checked."""
        for name, default in (("drop_top", 0), ("max_features", None), ("min_count", 1)):
            if getattr(self, name) != default:
                raise ValueError(f"{name}: chooses terms, but vocabulary has them; expected {default}")
        terms = given_terms(self.vocabulary)
        vocabulary = _core.Vocabulary(*pack_strings(terms))
        found = vocabulary.count([[term] for term in terms], **self._options(), first_document_number=0)
        rows = np.repeat(np.arange(len(terms)), np.diff(found.indptr))
        if len(unread := np.setdiff1d(np.arange(len(terms)), rows[found.indices == rows])):
            how = f"lowercase={self.lowercase} and nfc={self.nfc}"
            raise ValueError(f"vocabulary: no text has {terms[unread[0]]!r} as it is read here, with {how}")
        return vocabulary

    def _warn_of_unreadable(self, given: _core.Vocabulary, counts: npt.NDArray[np.int64]) -> None:
        """Of given terms that were not seen, and that only a list of tokens may have: no text is cut like this."""
        absent = np.flatnonzero(counts == 0)
        terms = given.term_list()
        found = given.count([terms[i] for i in absent], **self._options(), first_document_number=0)
        rows = np.repeat(np.arange(len(absent)), np.diff(found.indptr))
        readable = absent[rows[found.indices == absent[rows]]]
        if len(never := np.setdiff1d(absent, readable)):
            what = f"no text is cut into {terms[never[0]]!r} with ngram_range={self.ngram_range}"
            warnings.warn(f"vocabulary: {what}; expected words, or n-grams joined by spaces", stacklevel=4)

    def _reading(self) -> dict[str, Any]:
        """Return the options that say how text becomes words."""
        return {
            "lowercase": bool(self.lowercase),
            "nfc": bool(self.nfc),
            "errors_replace": self.errors == "replace",
        }

    def _session(self, *, keep_rows: bool, vocabulary: _core.Vocabulary | None) -> _core.CountSession:
        return _core.CountSession(**self._options(), keep_rows=keep_rows, vocabulary=vocabulary)

    def _feed(self, session: _core.CountSession | GivenTerms, documents: Iterable[Document]) -> None:
        documents = as_documents(documents)
        number, total = 0, len(documents) if isinstance(documents, Sized) else None
        with progress_bar(self.progress, type(self).__name__, total, " documents", unit_scale=True) as bar:
            for batch in iter_batches(documents):
                session.add(batch, number)
                number += len(batch)
                bar.update(len(batch))

    def _learn(
        self, sources: Sequence[Iterable[Document]], keep_rows: bool
    ) -> tuple[_core.CountSession | GivenTerms, list[int]]:
        """Fit on all sources together; also return how many documents there were after each of them."""
        self._check_parameters()
        drop_top, max_features, min_count = self.drop_top, self.max_features, self.min_count
        session: _core.CountSession | GivenTerms
        if self.vocabulary is None:
            session = self._session(keep_rows=keep_rows, vocabulary=None)
        else:
            given = self._given_vocabulary()
            session = GivenTerms(given, lambda: self._session(keep_rows=True, vocabulary=given), keep_rows)
        ends = []
        for i, documents in enumerate(sources):
            with naming_view(i) if len(sources) > 1 else nullcontext():
                self._feed(session, documents)
            ends.append(session.n_documents)
        session.choose(drop_top, max_features, min_count)
        if isinstance(session, GivenTerms) and session.n_words:
            self._warn_of_unreadable(session.vocabulary, session.term_counts)
        if len(session.vocabulary) == 0:
            none_left = f"drop_top={drop_top} and min_count={min_count} leave none"
            why = none_left if session.n_words else "the documents have no words"
            raise ValueError(f"documents: empty vocabulary, {why}")
        self._adopt(session.vocabulary, session.term_counts, session.n_documents, session.n_words)
        return session, ends

    def _adopt(
        self, vocabulary: _core.Vocabulary, counts: npt.NDArray[np.int64], n_documents: int, n_tokens: int
    ) -> None:
        for name in _DERIVED:
            self.__dict__.pop(name, None)
        self._vocabulary, self.term_counts_ = vocabulary, counts
        self.n_documents_, self.n_tokens_ = n_documents, n_tokens

    def _count(self, batch: list[Any], first_document_number: int = 0) -> csr_matrix:
        """Count one batch, for an encoder."""
        options = self._options()
        return scipy_csr(self._fitted().count(batch, **options, first_document_number=first_document_number))

    @classmethod
    def _blank(cls, **parameters: Any) -> TermCounter:
        return cls(**{"nfc": False, **parameters})  # files of 0.1.0 do not have it

    def _get_parameters_to_save(self) -> dict[str, Any]:
        given = None if self.vocabulary is None else given_terms(self.vocabulary)
        return {**super()._get_parameters_to_save(), "vocabulary": given}

    def _get_state(self) -> dict[str, npt.NDArray[Any]]:
        terms = self._fitted()
        return {"terms": terms.terms(), "term_offsets": terms.term_offsets(), "term_counts": self.term_counts_}

    def _get_scalars(self) -> dict[str, int]:
        self._fitted()
        return {"n_documents_": self.n_documents_, "n_tokens_": self.n_tokens_}

    def _set_state(self, arrays: dict[str, npt.NDArray[Any]], scalars: dict[str, int]) -> None:
        check_numbers(self._scalars, scalars, check_arrays(self._arrays, arrays))
        terms, offsets, counts = (arrays[name] for name in self._arrays)
        vocabulary = _core.Vocabulary(terms, offsets)
        check_strings(terms, offsets)
        if len(counts) != len(vocabulary):
            raise ValueError(f"term_counts: expected {len(vocabulary)}, got {len(counts)}")
        if self.vocabulary is not None and given_terms(self.vocabulary) != vocabulary.term_list():
            raise ValueError("terms: expected those of the vocabulary")
        self._adopt(vocabulary, counts, scalars["n_documents_"], scalars["n_tokens_"])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in _DERIVED:
            state.pop(name, None)
        if state.pop("_vocabulary", None) is not None:
            state["_saved"] = (self._get_state(), self._get_scalars())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        saved = state.pop("_saved", None)
        super().__setstate__(state)
        if saved is not None:
            self._set_state(*saved)

    def __sklearn_is_fitted__(self) -> bool:
        return "_vocabulary" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
