"""Text to counts: words or n-grams, one vocabulary or one per language, and files read as streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, nullcontext
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from .. import _core
from .._common.persistence import Persistent
from .._common.resources import resolve_threads
from ._documents import iter_batches, read_jsonl, read_lines, read_tsv

__all__ = ["MultiTermCounter", "TermCounter", "iter_batches", "read_jsonl", "read_lines", "read_tsv"]

Document: TypeAlias = "str | bytes | Sequence[str]"


def _integer(name: str, value: Any, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, got {value!r}")
    return int(value)


def _matrix(rows: _core.Csr) -> csr_matrix:
    shape = (len(rows.indptr) - 1, rows.n_cols)
    matrix = csr_matrix((rows.data, rows.indices, rows.indptr), shape=shape, copy=False)
    matrix.has_canonical_format = True
    return matrix


@contextmanager
def _naming_view(number: int) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"documents[{number}]: {error}") from error


def _views(documents: Any) -> list[Iterable[Document]]:
    if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
        raise TypeError(f"documents: expected an iterable for each language, got {type(documents).__name__}")
    views = list(documents)
    if not views:
        raise ValueError("documents: expected at least one language")
    return views


class TermCounter(Persistent, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Count words or n-grams.

    A word is a run of Unicode letters and numbers and of the marks that follow them. Columns are ordered by
    how often the term occurs, most frequent first, equals by their UTF-8 bytes. The result is the same for
    any number of threads.

    Parameters
    ----------
    drop_top : int, default=0
        This many of the most frequent terms have no column.
    max_features : int, optional
        Of the others, only this many of the most frequent have one.
    min_count : int, default=1
        Terms that occur less often have none.
    ngram_range : tuple (1, n), default=(1, 1)
        Runs of 1 to n words, joined by a space, are the terms.
    lowercase : bool, default=False
        Map every character to lower case (one to one: U+0130 becomes "i").
    errors : {"strict", "replace"}, default="strict"
        Invalid UTF-8 and lone surrogates are an error that names the document, or read as U+FFFD, which
        separates words.
    n_threads : int, optional
        By default what the machine and the environment allow.
    progress : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each term; made when first asked for.
    term_counts_ : ndarray of int64
        How often the term of each column occurred in `fit`.
    n_documents_, n_tokens_ : int
        Documents and words (n-grams of one) seen in `fit`.

    Notes
    -----
    A document is a str, UTF-8 bytes, or a list of str, which are then used as they are. Documents are read in
    batches of a few megabytes, once: any iterable will do.

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

    def __init__(
        self,
        *,
        drop_top: int = 0,
        max_features: int | None = None,
        min_count: int = 1,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = False,
        errors: Literal["strict", "replace"] = "strict",
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.drop_top = drop_top
        self.max_features = max_features
        self.min_count = min_count
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.errors = errors
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, documents: Iterable[Document], y: object = None) -> TermCounter:
        """Learn the vocabulary.

        Parameters
        ----------
        documents : iterable of str, bytes or lists of str
            Read once.
        y : ignored

        Returns
        -------
        self
        """
        self._learn([documents], keep_rows=False)
        return self

    def fit_transform(self, documents: Iterable[Document], y: object = None) -> csr_matrix:
        """Learn the vocabulary and count, reading the documents once; equal to ``fit(d).transform(d)``."""
        session, _ = self._learn([documents], keep_rows=True)
        return _matrix(session.rows())

    def transform(self, documents: Iterable[Document]) -> csr_matrix:
        """Count the terms of the vocabulary.

        Parameters
        ----------
        documents : iterable of str, bytes or lists of str
            Read once.

        Returns
        -------
        csr_matrix of int32, shape (n_documents, n_terms)
            With sorted indices. Terms that have no column are not counted.
        """
        session = self._session(keep_rows=True, vocabulary=self._fitted())
        self._feed(session, documents)
        return _matrix(session.rows())

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the terms in the order of the columns; `input_features` is ignored."""
        return np.array(self._fitted().term_list(), dtype=object)

    @cached_property
    def vocabulary_(self) -> dict[str, int]:
        terms = self._fitted().term_list()
        return dict(zip(terms, range(len(terms)), strict=True))

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
        return {
            "ngram_max": int(last),
            "lowercase": bool(self.lowercase),
            "errors_replace": self.errors == "replace",
            "n_threads": resolve_threads(self.n_threads),
        }

    def _session(self, *, keep_rows: bool, vocabulary: _core.Vocabulary | None) -> _core.CountSession:
        return _core.CountSession(**self._options(), keep_rows=keep_rows, vocabulary=vocabulary)

    def _feed(self, session: _core.CountSession, documents: Iterable[Document]) -> None:
        number = 0
        batches = iter_batches(documents)
        if not self.progress:
            for batch in batches:
                session.add(batch, number)
                number += len(batch)
            return
        from tqdm.auto import tqdm

        total = len(documents) if isinstance(documents, Sized) else None
        with tqdm(total=total, unit=" documents", unit_scale=True, desc=type(self).__name__) as bar:
            for batch in batches:
                session.add(batch, number)
                number += len(batch)
                bar.update(len(batch))

    def _learn(
        self, sources: Sequence[Iterable[Document]], keep_rows: bool
    ) -> tuple[_core.CountSession, list[int]]:
        """Fit on all sources together; the second result is the number of documents after each of them."""
        drop_top = _integer("drop_top", self.drop_top, 0)
        max_features = None if self.max_features is None else _integer("max_features", self.max_features, 1)
        min_count = _integer("min_count", self.min_count, 1)
        session = self._session(keep_rows=keep_rows, vocabulary=None)
        ends = []
        for i, documents in enumerate(sources):
            with _naming_view(i) if len(sources) > 1 else nullcontext():
                self._feed(session, documents)
            ends.append(session.n_documents)
        session.choose(drop_top, max_features, min_count)
        if len(session.vocabulary) == 0:
            reason = f"drop_top={drop_top} and min_count={min_count} leave none"
            raise ValueError(
                f"documents: empty vocabulary, {reason if session.n_words else 'the documents have no words'}"
            )
        self._adopt(session.vocabulary, session.term_counts, session.n_documents, session.n_words)
        return session, ends

    def _adopt(
        self, vocabulary: _core.Vocabulary, counts: npt.NDArray[np.int64], n_documents: int, n_tokens: int
    ) -> None:
        self.__dict__.pop("vocabulary_", None)
        self._vocabulary = vocabulary
        self.term_counts_ = counts
        self.n_documents_ = n_documents
        self.n_tokens_ = n_tokens

    def _count(self, batch: list[Any], first_document_number: int = 0) -> _core.Csr:
        return self._fitted().count(batch, **self._options(), first_document_number=first_document_number)

    def _get_state(self) -> dict[str, npt.NDArray[Any]]:
        vocabulary = self._fitted()
        return {
            "terms": vocabulary.terms(),
            "term_offsets": vocabulary.term_offsets(),
            "term_counts": self.term_counts_,
        }

    def _get_scalars(self) -> dict[str, int]:
        self._fitted()
        return {"n_documents_": self.n_documents_, "n_tokens_": self.n_tokens_}

    def _set_state(self, arrays: dict[str, npt.NDArray[Any]], scalars: dict[str, int]) -> None:
        vocabulary = _core.Vocabulary(arrays["terms"], arrays["term_offsets"])
        counts = np.asarray(arrays["term_counts"], dtype=np.int64)
        if counts.shape != (len(vocabulary),):
            raise ValueError(f"term_counts: expected shape {(len(vocabulary),)}, got {counts.shape}")
        self._adopt(vocabulary, counts, int(scalars["n_documents_"]), int(scalars["n_tokens_"]))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("vocabulary_", None)
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


class MultiTermCounter(BaseEstimator):  # type: ignore[misc]
    """Count the terms of several languages, with one vocabulary for all or one for each.

    Parameters
    ----------
    vocabulary : {"shared", "separate"}, default="shared"
        With a shared vocabulary a term that occurs in several languages has one column.
    drop_top, max_features, min_count, ngram_range, lowercase, errors, n_threads, progress
        As for `TermCounter`; of the shared vocabulary, or of each.

    Attributes
    ----------
    counters_ : list of TermCounter
        One for each language; the same one each time if the vocabulary is shared.

    Examples
    --------
    >>> from semproj.text import MultiTermCounter
    >>> counter = MultiTermCounter().fit([["no animal"], ["no hay animal", "nada"]])
    >>> counter.transform(["animal no", "no"], view=1).toarray()
    array([[1, 1, 0, 0],
           [0, 1, 0, 0]], dtype=int32)
    """

    def __init__(
        self,
        vocabulary: Literal["shared", "separate"] = "shared",
        *,
        drop_top: int = 0,
        max_features: int | None = None,
        min_count: int = 1,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = False,
        errors: Literal["strict", "replace"] = "strict",
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.vocabulary = vocabulary
        self.drop_top = drop_top
        self.max_features = max_features
        self.min_count = min_count
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.errors = errors
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, documents: Sequence[Iterable[Document]], y: object = None) -> MultiTermCounter:
        """Learn the vocabulary from one iterable of documents for each language."""
        self._learn(documents, keep_rows=False)
        return self

    def fit_transform(self, documents: Sequence[Iterable[Document]], y: object = None) -> list[csr_matrix]:
        """Learn the vocabulary and count, reading the documents once."""
        return self._learn(documents, keep_rows=True)

    def transform(
        self, documents: Sequence[Iterable[Document]] | Iterable[Document], *, view: int | None = None
    ) -> Any:
        """Count the terms of all languages, or of one.

        Parameters
        ----------
        documents : sequence of iterables
            The documents of each language; with `view`, one iterable: the documents of that language.
        view : int, optional
            The number of the language, from 0.

        Returns
        -------
        list of csr_matrix, or one csr_matrix with `view`
        """
        counters = self._fitted()
        if view is not None:
            if not 0 <= view < len(counters):
                raise ValueError(f"view: expected 0 to {len(counters) - 1}, got {view}")
            return counters[view].transform(cast(Iterable[Document], documents))
        views = _views(documents)
        if len(views) != len(counters):
            raise ValueError(f"documents: fitted on {len(counters)} languages, got {len(views)}")
        result = []
        for i, (counter, source) in enumerate(zip(counters, views, strict=True)):
            with _naming_view(i):
                result.append(counter.transform(source))
        return result

    def _fitted(self) -> list[TermCounter]:
        if not hasattr(self, "counters_"):
            raise NotFittedError("This MultiTermCounter is not fitted yet. Call fit first.")
        return self.counters_

    def _learn(self, documents: Sequence[Iterable[Document]], keep_rows: bool) -> list[csr_matrix]:
        if self.vocabulary not in ("shared", "separate"):
            raise ValueError(f"vocabulary: expected 'shared' or 'separate', got {self.vocabulary!r}")
        views = _views(documents)
        parameters = {name: value for name, value in self.get_params().items() if name != "vocabulary"}
        if self.vocabulary == "shared":
            counter = TermCounter(**parameters)
            session, ends = counter._learn(views, keep_rows)
            self.counters_ = [counter] * len(views)
            if not keep_rows:
                return []
            rows = _matrix(session.rows())
            return [rows[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        counters, result = [], []
        for i, source in enumerate(views):
            counters.append(TermCounter(**parameters))
            with _naming_view(i):
                session, _ = counters[i]._learn([source], keep_rows)
            if keep_rows:
                result.append(_matrix(session.rows()))
        self.counters_ = counters
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
