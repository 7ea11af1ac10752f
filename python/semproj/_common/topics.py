"""What topic models share once they are fitted: fold-in, perplexity, top words."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .base import RowTransformer
from .checkpoint import seed_identity
from .fitting import check_loop_parameters
from .layouts import ArrayLayouts, Numbers, layouts, numbers
from .resources import resolve_threads
from .rows import REMEMBERED
from .topic_starts import STARTS
from .types import Array
from .validation import (
    as_counts,
    check_choice,
    check_integer,
    check_real,
    core_csr,
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
        document_frequency_="i8 p ?",
        objective_="f8 sweeps",
    )
    _scalars: Numbers = numbers(n_features_in_="p", n_iter_="sweeps", n_documents_=None, **REMEMBERED)
    _functions = ("token_weight",)

    n_components: int
    alpha: float | None
    beta: float
    init: str
    tol: float | None
    fold_in_iter: int
    random_state: Any

    tempering = 1.0
    token_weight: Callable[[float, int, int], float] | None = None

    _tol_from_clusters = 2e-3  # more sweeps make topics less coherent, and no better for new documents

    word_topics_: Array
    view_starts_: Array
    topic_prevalence_: Array | None
    doc_topics_: Any
    document_frequency_: Array | None  # with n_documents_ there if tokens are weighted
    n_documents_: int
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
        self._check_statistics()

    def _check_statistics(self) -> None:
        known = [getattr(self, "document_frequency_", None) is not None, hasattr(self, "n_documents_")]
        if known != [callable(self.token_weight)] * 2:
            raise ValueError("document_frequency_, n_documents_: expected where there is a token_weight")
        if known[0]:
            check_integer(self.n_documents_, "n_documents_", low=1)

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
        tokens = core_csr(self._tokens(X, self._view_bounds(view)[0]))
        _core.fold_in(tokens, self._words(view), alpha, iterations, result, threads)

    def _learn_statistics(self, views: Sequence[Any], *, separate: bool = False) -> None:
        """Count documents for `token_weight`, of each vocabulary for itself."""
        self.__dict__.pop("document_frequency_", None)
        self.__dict__.pop("n_documents_", None)
        if self.token_weight is not None:
            frequencies = [np.bincount(view.indices, minlength=view.shape[1]) for view in views]
            joined = np.concatenate(frequencies) if separate else np.sum(frequencies, axis=0)
            self.document_frequency_ = joined.astype(np.int64)
            self.n_documents_ = int(views[0].shape[0]) * (1 if separate else len(views))

    def _tokens(self, X: Any, begin: int = 0) -> Any:
        """Counts as the kernels want them, weighted by the user's function if there is one.

        `begin` is the first column of their vocabulary.
        """
        X = as_counts(X)
        if self.token_weight is None:
            return X
        from ..jit.weighting import weigh_tokens

        assert self.document_frequency_ is not None
        frequency = np.ascontiguousarray(self.document_frequency_[begin : begin + X.shape[1]])
        data = weigh_tokens(self.token_weight, X, frequency, self.n_documents_, resolve_threads(self.n_threads))
        weighted = type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
        weighted.has_sorted_indices = True
        return as_counts(weighted, "token_weight")

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
            core_csr(self._tokens(X, self._view_bounds(view)[0])),
            self._words(view),
            alpha,
            iterations,
            _SPLIT_KEY,
            threads,
        )
        return _per_token(sums)

    def _fitted_likelihood(self, X: Any, view: int = 0) -> float:
        """The same by the mixture of the whole document, in which the token is."""
        theta, tokens = self._fold_in(X, view), core_csr(self._tokens(X, self._view_bounds(view)[0]))
        return _per_token(
            _core.token_likelihood(tokens, self._words(view), theta, resolve_threads(self.n_threads))
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
        if self.token_weight is not None:
            from ..jit.weighting import check_token_weight

            check_token_weight(self.token_weight)
        check_loop_parameters(self, tol=self._chosen_tol)


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
