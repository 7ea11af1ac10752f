"""Count the words or n-grams of texts in several languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Literal, cast

from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._common.layouts import check_numbers, numbers
from .._common.persistence import Persistent
from .._common.rows import is_frame, is_ours
from .._common.validation import scipy_csr
from ._counter import Document, TermCounter, naming_view


class MultiTermCounter(Persistent, BaseEstimator):  # type: ignore[misc]
    """Count the terms of several languages, with one vocabulary for all or one for each.

    Parameters
    ----------
    vocabulary : {"shared", "separate"}, default "shared"
        In a shared vocabulary, a term that occurs in several languages has one column.
    drop_top, max_features, min_count, ngram_range, lowercase, nfc, errors, n_threads, progress
        As for `TermCounter`, applied to the shared vocabulary or to each.

    Attributes
    ----------
    counters_ : list of TermCounter
        One for each language; all of them are the same object if the vocabulary is shared.

    Examples
    --------
    >>> from semproj.text import MultiTermCounter
    >>> counter = MultiTermCounter().fit([["no animal"], ["no hay animal", "nada"]])
    >>> counter.transform(["animal no", "no"], view=1).toarray()
    array([[1, 1, 0, 0],
           [0, 1, 0, 0]], dtype=int32)
    """

    _scalars = numbers(n_views=int, counters=list)

    def __init__(
        self,
        vocabulary: Literal["shared", "separate"] = "shared",
        *,
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
            The documents of each language; with `view`, one iterable with the documents of that language.
        view : int or None, default None
            Which language, counted from 0.

        Returns
        -------
        list of csr_matrix, or one csr_matrix with `view`
        """
        counters = self._fitted()
        if view is not None:
            return counters[self._checked_view(view)].transform(cast(Iterable[Document], documents))
        views = _views(documents)
        if len(views) != len(counters):
            raise ValueError(f"documents: fitted on {len(counters)} languages, got {len(views)}")
        result = []
        for i, (counter, source) in enumerate(zip(counters, views, strict=True)):
            with naming_view(i):
                result.append(counter.transform(source))
        return result

    def get_feature_names_out(self, input_features: object = None, *, view: int | None = None) -> Any:
        """Return the terms in the order of their columns; `input_features` is ignored.

        Parameters
        ----------
        view : int or None, default None
            Which language, counted from 0. None: the terms of a shared vocabulary, or a list of those of each
            language.

        Returns
        -------
        array of str, or a list of them
        """
        counters = self._fitted()
        if view is not None:
            return counters[self._checked_view(view)].get_feature_names_out()
        names = [counter.get_feature_names_out() for counter in self._distinct()]
        return names[0] if self._is_shared() else names

    def _checked_view(self, view: int) -> int:
        if not 0 <= view < len(self.counters_):
            raise ValueError(f"view: expected 0 to {len(self.counters_) - 1}, got {view}")
        return view

    def _is_shared(self) -> bool:
        return self.vocabulary == "shared"

    def _distinct(self) -> list[TermCounter]:
        """The counters without repetitions."""
        return self._fitted()[:1] if self._is_shared() else self._fitted()

    def _check_saveable(self) -> None:
        self._fitted()

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {**self._fitted()[0].get_params(), "vocabulary": self.vocabulary}

    def _get_state(self) -> dict[str, Any]:
        states = [counter._get_state() for counter in self._distinct()]
        return {f"{name}_{i}": array for i, state in enumerate(states) for name, array in state.items()}

    def _get_scalars(self) -> dict[str, Any]:
        return {"n_views": len(self._fitted()), "counters": [each._get_scalars() for each in self._distinct()]}

    def _set_state(self, arrays: dict[str, Any], scalars: dict[str, Any]) -> None:
        check_numbers(self._scalars, scalars, {})
        n_views, described = scalars["n_views"], scalars["counters"]
        if n_views < 1 or len(described) != (1 if self._is_shared() else n_views):
            raise ValueError(f"counters: expected one for each of {n_views} languages, or one if it is shared")
        names = [f"{name}_{i}" for i in range(len(described)) for name in TermCounter._arrays]
        if set(arrays) != set(names):
            raise ValueError("counters: expected the arrays of each")
        counters = []
        for i, numbers_of_one in enumerate(described):
            counters.append(TermCounter(**self._parameters()))
            counters[i]._set_state({name: arrays[f"{name}_{i}"] for name in TermCounter._arrays}, numbers_of_one)
        self.counters_ = counters * n_views if self._is_shared() else counters

    def _check_parameters(self) -> None:
        if self.vocabulary not in ("shared", "separate"):
            raise ValueError(f"vocabulary: expected 'shared' or 'separate', got {self.vocabulary!r}")
        TermCounter(**self._parameters())._check_parameters()

    def _parameters(self) -> dict[str, Any]:
        """Those of each counter."""
        return {name: value for name, value in self.get_params().items() if name != "vocabulary"}

    def _fitted(self) -> list[TermCounter]:
        if not hasattr(self, "counters_"):
            raise NotFittedError("This MultiTermCounter is not fitted yet. Call fit first.")
        return self.counters_

    def _learn(self, documents: Sequence[Iterable[Document]], keep_rows: bool) -> list[csr_matrix]:
        self._check_parameters()
        views, parameters = _views(documents), self._parameters()
        if self.vocabulary == "shared":
            counter = TermCounter(**parameters)
            session, ends = counter._learn(views, keep_rows)
            self.counters_ = [counter] * len(views)
            if not keep_rows:
                return []
            rows = scipy_csr(session.rows())
            return [counter._labelled(rows[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]
        counters, result = [], []
        for i, source in enumerate(views):
            counters.append(TermCounter(**parameters))
            with naming_view(i):
                session, _ = counters[i]._learn([source], keep_rows)
            if keep_rows:
                result.append(counters[i]._labelled(scipy_csr(session.rows())))
        self.counters_ = counters
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _views(documents: Any) -> list[Iterable[Document]]:
    expected = "expected a list with the documents of each language"
    if is_ours(documents) or issparse(documents):
        raise TypeError(f"documents: {expected}, got a {type(documents).__name__}; write [texts, translations]")
    if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
        raise TypeError(f"documents: expected an iterable for each language, got {type(documents).__name__}")
    if isinstance(documents, (Mapping, Set)):
        write = "list(documents.values())" if isinstance(documents, Mapping) else "a list"
        raise TypeError(f"documents: {expected}, got {type(documents).__name__}; write {write}")
    if is_frame(documents):
        raise TypeError(f"documents: {expected}, got a frame; write [frame[name] for name in frame.columns]")
    views = list(documents)
    if not views:
        raise ValueError("documents: expected at least one language")
    return views
