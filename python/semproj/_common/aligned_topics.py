"""Topic models of documents in several languages, which share a vocabulary or have one each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .layouts import layouts, numbers
from .persistence import saveable
from .resources import resolve_threads
from .rows import REMEMBERED
from .topics import TopicModel
from .types import Array
from .validation import (
    aligned_views,
    as_counts,
    as_csr,
    check_choice,
    check_integer,
    without_duplicates,
)


@saveable
class TopicView(TopicModel):
    """Folds in the documents of one language, by the words that it has in a model of several, which fits it."""

    _arrays = layouts(word_topics_="f4 p k", document_frequency_="i8 p ?")
    _scalars = numbers(n_features_in_="p", n_documents_=None, **REMEMBERED)
    view_starts_ = np.zeros(1, np.int64)

    def __init__(
        self,
        alpha: float | None = 1.1,
        fold_in_iter: int = 10,
        n_threads: int | None = None,
        token_weight: Callable[[float, int, int], float] | None = None,
    ) -> None:
        self.alpha, self.fold_in_iter, self.n_threads = alpha, fold_in_iter, n_threads
        self.token_weight = token_weight

    def fit(self, X: Any, y: Any = None) -> TopicView:
        """Raise TypeError: fit the model of all languages instead."""
        raise TypeError("X: one language cannot be fitted alone; fit the model of all")

    def _set(self, model: AlignedTopicModel, bounds: tuple[int, int], terms: str | None) -> TopicView:
        columns = slice(*bounds)
        self._fitted_on, self._fitted_terms = model._fitted_on, terms
        self.word_topics_, self.n_features_in_ = model.word_topics_[columns], bounds[1] - bounds[0]
        if model.token_weight is not None:
            assert model.document_frequency_ is not None
            self.document_frequency_, self.n_documents_ = model.document_frequency_[columns], model.n_documents_
        return self

    def _restored(self) -> None:
        self._check_statistics()

    def _validated(self, X: Any, reset: bool) -> Any:
        return as_counts(super()._validated(X, reset))

    def _check_parameters(self) -> None:
        self._check_alpha()
        check_integer(self.fold_in_iter, "fold_in_iter", low=1)
        resolve_threads(self.n_threads)


class AlignedTopicModel(TopicModel):
    """A topic model of several languages, whose documents are folded in one language at a time."""

    _arrays = layouts(TopicModel._arrays, view_words_="u1 views p ?")

    vocabulary: str
    view_words_: Array

    _tol_from_clusters = 1e-4  # more sweeps still find a few more translations

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then fold each language's documents in: ``[transform(x, view=i) for i, x in enumerate(X)]``."""
        self.fit(X)
        return [self.transform(x, view=i if self._separate else None) for i, x in enumerate(X)]

    def transform(self, X: Any, view: int | None = None) -> Array:
        """Mixtures of topics of documents of one language, by `fold_in_iter` iterations of EM with fixed topics.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
        view : int or None
            Which language, if vocabularies are separate.

        Returns
        -------
        float32 array of shape (n_documents, n_components)
            Rows sum to one; a document without known words is uniform.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        return self._fold_in(self._one_view(X, number), number)

    def perplexity(self, X: Any, view: int | None = None) -> float:
        """How many equal words would be as hard to predict by the other half of a document: lower is better.

        As :meth:`semproj.PLSA.perplexity`.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
        view : int or None
            Which language, if vocabularies are separate.
        """
        return math.exp(-self.score(X, view=view))

    def score(self, X: Any, y: Any = None, view: int | None = None) -> float:
        """Minus the logarithm of the perplexity: higher is better.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
        view : int or None
            Which language, if vocabularies are separate.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        return self._completion(self._one_view(X, number), number)

    def fitted_perplexity(self, X: Any, view: int | None = None) -> float:
        """Perplexity by mixtures that have seen the words: it falls with more topics, whatever they are worth.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
        view : int or None
            Which language, if vocabularies are separate.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        return math.exp(-self._fitted_likelihood(self._one_view(X, number), number))

    def top_words(
        self, names: Sequence[str], k: int = 10, view: int | None = None, *, relevance: float | None = None
    ) -> list[list[tuple[str, float]]]:
        """The most probable words of each topic, or the most relevant ones, with their probabilities.

        Parameters
        ----------
        names : sequence of str
            The word of each column of the vocabulary.
        k : int, default 10
        view : int or None
            Which language. With a shared vocabulary only words that its documents have; None: all words.
        relevance : float from 0 to 1, or None
            As in :meth:`semproj.PLSA.top_words`.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        if self._separate or view is None:
            return self._top_words(names, k, number, relevance=relevance)
        return self._top_words(names, k, 0, np.flatnonzero(self.view_words_[view]), relevance=relevance)

    def pyldavis_data(self, X: Any, names: Sequence[str], view: int | None = None) -> dict[str, Any]:
        """What ``pyLDAvis.prepare(**data)`` takes: as :meth:`semproj.PLSA.pyldavis_data`.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
        names : sequence of str
            The word of each column of the vocabulary.
        view : int or None
            Which language, if vocabularies are separate.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        return self._pyldavis_data(self._one_view(X, number), names, number)

    @property
    def views_(self) -> list[TopicView]:
        """For each language a model of its documents alone, for an :class:`Encoder`."""
        check_is_fitted(self, "components_")
        shared = not self._separate
        n_views = len(self.view_words_) if shared else len(self.view_starts_)
        bounds = [self._view_bounds(0 if shared else view) for view in range(n_views)]
        terms = self._fitted_terms if isinstance(self._fitted_terms, list) else [self._fitted_terms] * n_views
        return [
            TopicView(self._chosen_alpha, self.fold_in_iter, self.n_threads, self.token_weight)._set(
                self, columns, each
            )
            for columns, each in zip(bounds, terms, strict=True)
        ]

    def _restored(self) -> None:
        super()._restored()
        if not self._separate and self.view_words_ is None:
            raise ValueError("view_words_: is missing")

    @property
    def _separate(self) -> bool:
        return self.vocabulary == "separate"

    def _views(self, X: Sequence[Any], fitted: bool = False) -> list[Any]:
        views = aligned_views(X, shared_columns=not self._separate)
        if len(views) < 2:
            raise ValueError("X: expected at least two matrices, one per language, got 1")
        for i, view in enumerate(views):
            if min(view.shape) == 0:
                raise ValueError(f"X[{i}]: is empty, of shape {view.shape}")
        views = [as_counts(without_duplicates(view), f"X[{i}]") for i, view in enumerate(views)]
        if not fitted:
            self._remember(X, views, shared_columns=not self._separate)
        for i, view in enumerate(views):
            if not fitted and view.nnz == 0:
                raise ValueError(f"X[{i}]: has no non-zero entries")
        widths = [view.shape[1] for view in views] if self._separate else [views[0].shape[1]]
        if fitted and widths != self._widths():
            raise ValueError(f"X: has {widths} columns, the model was fitted on {self._widths()}")
        if fitted and not self._separate and len(views) != len(self.view_words_):
            raise ValueError(f"X: has {len(views)} matrices, the model was fitted on {len(self.view_words_)}")
        if not fitted:
            self._learn_statistics(views, separate=self._separate)
        starts = np.cumsum([0, *widths[:-1]]) if self._separate else np.zeros(len(views), np.int64)
        return [self._tokens(view, int(begin)) for view, begin in zip(views, starts, strict=True)]

    def _widths(self) -> list[int]:
        bounds = [*self.view_starts_.tolist(), int(self.n_features_in_)]
        return [end - begin for begin, end in pairwise(bounds)]

    def _one_view(self, X: Any, number: int) -> Any:
        given, X = X, as_csr(X)
        width = self._widths()[number]
        if X.shape[1] != width:
            raise ValueError(f"X: has {X.shape[1]} features, expected {width} features, as in fit")
        X = as_counts(without_duplicates(X))
        self._check_rows(given, X, number)
        return X

    def _view_number(self, view: int | None) -> int:
        last = len(self.view_starts_) - 1
        if last == 0:  # one vocabulary, whatever the language
            if view is not None:
                check_integer(view, "view", low=0, high=len(self.view_words_) - 1)
            return 0
        if view is None:
            raise ValueError(f"view: expected an integer between 0 and {last}: vocabularies are separate")
        return check_integer(view, "view", low=0, high=last)

    def _check_parameters(self) -> None:
        check_choice(self.vocabulary, "vocabulary", ("shared", "separate"))
        super()._check_parameters()


def words_of_views(views: list[Any]) -> Array:
    """Which columns each view has any tokens in."""
    return np.array([np.bincount(view.indices, view.data > 0, view.shape[1]) > 0 for view in views], np.uint8)
