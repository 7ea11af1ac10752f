"""What topic models share once they are fitted: fold-in, perplexity, top words; of one view or of aligned ones."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .base import RowTransformer
from .checkpoint import seed_identity
from .fitting import check_loop_parameters
from .layouts import ArrayLayouts, Numbers, layouts, numbers
from .persistence import saveable
from .resources import resolve_threads
from .rows import REMEMBERED
from .topic_starts import STARTS
from .types import Array
from .validation import (
    aligned_views,
    as_counts,
    as_csr,
    check_choice,
    check_integer,
    check_real,
    core_csr,
    without_duplicates,
)

_MOST_PRIOR = 1e6  # float32 has room for it
_PAPERS_PRIOR = 0.1  # of each topic, alpha - 1
_PRIOR_OF_ALL_TOPICS = 5.0  # tokens, at most: more of them would outweigh those of a short document
_LEAST_TEMPERING = 0.1
_SPLIT_KEY = 0  # of the halves of documents, which are the same for all models
_TOL_FROM_AFAR = 1e-5  # the first sweeps of a start without structure gain little


class TopicModel(RowTransformer):
    """Topics as distributions over words, documents as mixtures of topics."""

    _arrays: ArrayLayouts = layouts(
        word_topics_="f4 p k",
        view_starts_="i8 vocabularies",
        topic_prevalence_="f8 k ?",
        doc_topics_="f4 documents k ?",
        objective_="f8 sweeps",
    )
    _scalars: Numbers = numbers(n_features_in_="p", n_iter_="sweeps", **REMEMBERED)

    n_components: int
    alpha: float | None
    beta: float
    init: str
    tol: float | None
    fold_in_iter: int
    random_state: Any

    tempering = 1.0

    _tol_from_clusters = 3e-3  # more sweeps make topics less coherent, and no better for new documents

    word_topics_: Array
    view_starts_: Array
    topic_prevalence_: Array | None
    doc_topics_: Any
    n_features_in_: int

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """Topics as rows, of shape (n_components, n_features): the transpose of ``word_topics_``."""
        return self.word_topics_.T

    @property
    def _chosen_tol(self) -> float:
        if self.tol is not None:
            return self.tol
        return self._tol_from_clusters if self.init == "clusters" else _TOL_FROM_AFAR

    @property
    def _chosen_alpha(self) -> float:
        if self.alpha is not None:
            return float(self.alpha)
        return 1 + min(_PAPERS_PRIOR, _PRIOR_OF_ALL_TOPICS / int(self.n_components))

    def _restored(self) -> None:
        starts, vocabulary = self.view_starts_, getattr(self, "vocabulary", "shared")
        if starts[0] != 0 or (np.diff([*starts.tolist(), self.n_features_in_]) <= 0).any():
            raise ValueError("view_starts_: expected where vocabularies begin")
        if (len(starts) == 1) != (vocabulary == "shared"):
            raise ValueError(f"view_starts_: expected one vocabulary if it is shared, it is {vocabulary}")

    def _check_has_documents(self) -> None:
        check_is_fitted(self, "components_")
        if not hasattr(self, "doc_topics_"):
            raise ValueError("doc_topics_: was not saved, which documents=True does; fit the model again")

    def save(self, path: str | os.PathLike[str], *, documents: bool = False) -> None:
        """Write the fitted model to a safetensors file, replacing an existing one in a single step.

        Parameters
        ----------
        path : path-like
            Of a link, the file that it points to is replaced. A new file has the usual mode, an existing one keeps
            its own.
        documents : bool, default False
            Save the mixtures of the documents fitted on too, ``doc_topics_``.
        """
        if documents:
            self._check_has_documents()
        self._write(path, **self._of_documents() if documents else {})

    def _of_documents(self) -> dict[str, Array]:
        """What is saved of documents on request."""
        return {"doc_topics_": np.ascontiguousarray(self.doc_topics_)}

    def _get_state(self) -> dict[str, Array]:
        known = self._of_documents() if hasattr(self, "doc_topics_") else {}
        return {name: value for name, value in super()._get_state().items() if name not in known}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        super()._set_state(arrays, scalars)
        if getattr(self, "doc_topics_", None) is None:
            self.__dict__.pop("doc_topics_", None)
        else:
            self.doc_topics_ = np.array(self.doc_topics_)  # sweeps look at memory that can be written to

    def _fill(self, X: Any, result: Array, view: int = 0) -> None:
        threads, iterations, alpha = self._fold_in_options()
        _core.fold_in(core_csr(as_counts(X)), self._words(view), alpha, iterations, result, threads)

    def _fold_in_options(self) -> tuple[int, int, float]:
        iterations = check_integer(self.fold_in_iter, "fold_in_iter", low=1)
        self._check_alpha()
        return resolve_threads(self.n_threads), iterations, self._chosen_alpha

    def _check_alpha(self) -> None:
        if self.alpha is not None:
            check_real(self.alpha, "alpha", low=1, high=_MOST_PRIOR)

    def _fold_in(self, X: Any, view: int) -> Array:
        """Mixtures of documents of a view."""
        theta = np.empty((X.shape[0], self.word_topics_.shape[1]), np.float32)
        self._fill(X, theta, view)
        return theta

    def _completion(self, X: Any, view: int = 0) -> float:
        """Mean logarithm of the probability of a token, by the mixture of the other half of its document."""
        threads, iterations, alpha = self._fold_in_options()
        sums = _core.document_completion(
            core_csr(as_counts(X)), self._words(view), alpha, iterations, _SPLIT_KEY, threads
        )
        return _per_token(sums)

    def _fitted_likelihood(self, X: Any, view: int = 0) -> float:
        """The same by the mixture of the whole document, in which the token is."""
        X = as_counts(X)
        theta = self._fold_in(X, view)
        return _per_token(
            _core.token_likelihood(core_csr(X), self._words(view), theta, resolve_threads(self.n_threads))
        )

    def _top_words(
        self,
        names: Sequence[str],
        k: int,
        view: int,
        chosen: Array | None = None,
        *,
        relevance: float | None = None,
    ) -> list[list[tuple[str, float]]]:
        """The best of a view's words, or of the `chosen` columns of it."""
        check_integer(k, "k", low=1)
        words = self._named_words(names, view)
        if chosen is not None:
            words, names = words[chosen], [names[i] for i in chosen]
        if relevance is None:
            return [_top(column, column, names, k) for column in words.T]
        weight = check_real(relevance, "relevance", low=0, high=1)
        if self.topic_prevalence_ is None:
            raise ValueError(
                "relevance: a file of an earlier version does not say how frequent topics are; fit again"
            )
        overall = np.einsum("wt,t->w", words, self.topic_prevalence_, dtype=np.float64)
        return [_top(_relevance(column, overall, weight), column, names, k) for column in words.T]

    def _named_words(self, names: Sequence[str], view: int) -> Array:
        """The rows of a view's words, if there are as many names."""
        begin, end = self._view_bounds(view)
        if len(names) != end - begin:
            raise ValueError(f"names: expected {end - begin} words, one for each column, got {len(names)}")
        return self.word_topics_[begin:end]

    def _pyldavis_data(self, X: Any, names: Sequence[str], view: int) -> dict[str, Any]:
        words, X = self._named_words(names, view), as_counts(X)
        X = X[np.flatnonzero(np.diff(X.indptr))]
        frequency = np.bincount(X.indices, X.data.astype(np.float64), X.shape[1])
        used = np.flatnonzero((frequency > 0) & words.any(axis=1))
        if len(used) == 0:
            raise ValueError("X: has no tokens that the model gives a probability")
        topics, mixtures = words[used].T.astype(np.float64), self._fold_in(X, view).astype(np.float64)
        return {
            "topic_term_dists": topics / topics.sum(axis=1, keepdims=True),
            "doc_topic_dists": mixtures / mixtures.sum(axis=1, keepdims=True),
            "doc_lengths": np.asarray(X.sum(axis=1, dtype=np.float64)).ravel(),
            "vocab": [names[int(i)] for i in used],
            "term_frequency": frequency[used],
        }

    def _view_bounds(self, view: int) -> tuple[int, int]:
        bounds = [*self.view_starts_.tolist(), int(self.n_features_in_)]
        return bounds[view], bounds[view + 1]

    def _words(self, view: int) -> _core.TopicWords:
        """The words of a view as the kernels want them, made once for each fitted model."""
        cache = self.__dict__.setdefault("_words_cache", {})
        if cache.get("words") is not self.word_topics_:
            cache.clear()
            cache["words"] = self.word_topics_
        if view not in cache:
            begin, end = self._view_bounds(view)
            values = np.ascontiguousarray(self.word_topics_[begin:end])
            cache[view] = _core.TopicWords(values, resolve_threads(self.n_threads))
        words: _core.TopicWords = cache[view]
        return words

    def _output_dtype(self, storage: str | None) -> np.dtype[Any]:
        if storage not in (None, "float32"):
            raise ValueError(f"storage: topic models keep their words as float32, got {storage!r}")
        return np.dtype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_words_cache", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        self._check_alpha()
        check_real(self.beta, "beta", low=1, high=_MOST_PRIOR)
        check_real(self.tempering, "tempering", low=_LEAST_TEMPERING, high=1)
        check_choice(self.init, "init", STARTS)
        check_integer(self.fold_in_iter, "fold_in_iter", low=1)
        seed_identity(self.random_state)  # whether it is one
        check_loop_parameters(self, tol=self._chosen_tol)


@saveable
class TopicView(TopicModel):
    """Folds in the documents of one language, by the words that it has in a model of several, which fits it."""

    _arrays = layouts(word_topics_="f4 p k")
    _scalars = numbers(n_features_in_="p", **REMEMBERED)
    view_starts_ = np.zeros(1, np.int64)

    def __init__(self, alpha: float | None = 1.1, fold_in_iter: int = 10, n_threads: int | None = None) -> None:
        self.alpha, self.fold_in_iter, self.n_threads = alpha, fold_in_iter, n_threads

    def fit(self, X: Any, y: Any = None) -> TopicView:
        """Raise TypeError: fit the model of all languages instead."""
        raise TypeError("X: one language cannot be fitted alone; fit the model of all")

    def _set(self, words: Array, fitted_on: str | None, terms: str | None) -> TopicView:
        self._fitted_on, self._fitted_terms = fitted_on, terms
        self.word_topics_, self.n_features_in_ = words, len(words)
        return self

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
            TopicView(self._chosen_alpha, self.fold_in_iter, self.n_threads)._set(
                self.word_topics_[begin:end], self._fitted_on, each
            )
            for (begin, end), each in zip(bounds, terms, strict=True)
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
        return views

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


def _per_token(sums: _core.TokenSums) -> float:
    if sums.mass == 0:
        raise ValueError("X: has no tokens that the model gives a probability")
    mean = sums.log_likelihood / sums.mass
    if not math.isfinite(mean):
        raise ValueError("X: counts are too large")
    return mean


def _relevance(column: Array, overall: Array, weight: float) -> Array:
    """weight log p(w | t) + (1 - weight) log(p(w | t) / p(w)); least for words that the topic does not have."""
    possible = column > 0
    logs = np.log(column[possible], dtype=np.float64)
    result: Array = np.full(len(column), -np.inf)
    result[possible] = logs - (1 - weight) * np.log(overall[possible])
    return result


def _top(ranking: Array, column: Array, names: Sequence[str], k: int) -> list[tuple[str, float]]:
    """The k words that rank highest, the first of equal ones first, with their probabilities."""
    k = min(k, len(column))
    if k == 0:
        return []
    bar = np.partition(ranking, -k)[-k]
    found = np.flatnonzero(ranking >= bar)
    best = found[np.argsort(-ranking[found], kind="stable")][:k]
    return [(names[i], float(column[i])) for i in best]
