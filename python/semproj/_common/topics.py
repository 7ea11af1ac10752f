"""What topic models share: the start, the loop over sweeps, fold-in, perplexity, top words."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..weighting import TermWeighting
from .base import RowTransformer, progress_bar, unit_rows
from .checkpoint import Checkpoint, seed_identity
from .persistence import checksum
from .resources import resolve_threads
from .types import Array
from .validation import as_counts, check_choice, check_integer, check_out, check_real, core_csr, seed_key

_MOST_PRIOR = 1e6  # float32 has room for it
_WITHOUT_PRIOR = 0.01  # what a start adds to the counts when beta is 1, so that no word has probability zero


@dataclass
class Documents:
    """What a fit goes over: CSR counts as the kernels want them, the first column of each view, and the end."""

    counts: Any
    view_bounds: list[int]
    group: int = 1  # rows that belong together
    view_words: Any = None  # of a shared vocabulary, the columns that each view's documents have


class TopicModel(RowTransformer):
    """Topics as distributions over words, documents as mixtures of topics, learnt by MAP EM.

    A subclass makes :class:`Documents` of what ``fit`` is given, and may have sweeps of its own.
    """

    _arrays: tuple[str, ...] = ("word_topics_", "view_starts_", "objective_")
    _scalars: tuple[str, ...] = ("n_features_in_", "n_iter_")
    _identifying: tuple[str, ...] = ("alpha", "beta", "init")  # parameters that a checkpoint must share

    n_components: int
    alpha: float
    beta: float
    init: str
    max_iter: int
    tol: float
    fold_in_iter: int
    checkpoint: str | os.PathLike[str] | None
    callback: Callable[[int, Any, float], object] | None
    random_state: Any
    progress: bool

    word_topics_: Array
    view_starts_: Array
    doc_topics_: Any
    n_features_in_: int

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """Topics as rows, of shape (n_components, n_features): the transpose of ``word_topics_``."""
        return self.word_topics_.T

    def _fit(self, documents: Documents) -> None:
        """Sweep until done and set the fitted attributes."""
        state = Checkpoint(self.checkpoint, self._identity(documents))
        found = state.load()
        if found is None:
            arrays = self._start(documents)
            objectives: list[float] = []
        else:
            arrays, objectives = found[0], list(found[1]["objective"])
            self._resume(found[1])
        objectives = self._sweeps(documents, arrays, objectives, state)
        self._set_fitted(documents, arrays, objectives)

    def _sweeps(
        self, documents: Documents, arrays: dict[str, Array], objectives: list[float], state: Checkpoint
    ) -> list[float]:
        """Sweep until done, `arrays` in place. Returns the objective before each sweep."""
        threads = resolve_threads(self.n_threads)
        words = _core.TopicWords(arrays.pop("words"), threads)  # a table less in memory
        corpus = self._corpus(documents, threads)
        with progress_bar(self.progress, type(self).__name__, self.max_iter, "sweep") as bar:
            bar.update(len(objectives))
            while len(objectives) < self.max_iter and not self._converged(objectives):
                objective = self._sweep(corpus, words, arrays, True, threads)
                sweep = len(objectives) + 1
                if not np.isfinite(objective):
                    raise ValueError(f"X: the objective is {objective} in sweep {sweep}; counts are too large")
                objectives.append(objective)
                bar.set_postfix(objective=f"{objective:.8g}", refresh=False)
                bar.update(1)
                if self.checkpoint is None and self.callback is None:
                    continue
                if self._show(documents, {**arrays, "words": words.values(threads)}, objectives, state):
                    break
        self._finish(corpus, words, arrays, threads)
        del corpus  # it has a table of its own
        arrays["words"] = words.values(threads)
        return objectives

    def _show(
        self, documents: Documents, arrays: dict[str, Array], objectives: list[float], state: Checkpoint
    ) -> bool:
        """Save the parameters and tell the callback of them. Returns whether it ends the fit."""
        state.save(arrays, {"objective": objectives, **self._progress_state()})
        if self.callback is None:
            return False
        model = self._current(documents, arrays, objectives)
        return bool(self.callback(len(objectives), model, objectives[-1]))

    def _sweep(
        self,
        corpus: _core.TopicCorpus,
        words: _core.TopicWords,
        arrays: dict[str, Array],
        update: bool,
        threads: int,
    ) -> float:
        """One sweep over all documents. Returns the objective before it."""
        found = _core.plsa_sweep(
            corpus, words, arrays["theta"], float(self.alpha), float(self.beta), update, threads
        )
        return found.log_likelihood + found.log_prior

    def _finish(
        self, corpus: _core.TopicCorpus, words: _core.TopicWords, arrays: dict[str, Array], threads: int
    ) -> None:
        """What is left to do after the last sweep."""

    def _corpus(self, documents: Documents, threads: int) -> _core.TopicCorpus:
        return _core.TopicCorpus(
            core_csr(documents.counts), documents.view_bounds, int(self.n_components), documents.group, threads
        )

    def _converged(self, objectives: list[float]) -> bool:
        if self.tol == 0 or len(objectives) < 2:
            return False
        return objectives[-1] - objectives[-2] < self.tol * abs(objectives[-1])

    def _set_fitted(self, documents: Documents, arrays: dict[str, Array], objectives: list[float]) -> None:
        self.objective_ = np.array(objectives)
        self.n_iter_ = len(objectives)
        self.word_topics_ = arrays["words"]
        self.doc_topics_ = arrays["theta"]
        self.view_starts_ = np.array(documents.view_bounds[:-1], np.int64)
        self.n_features_in_ = documents.view_bounds[-1]
        self._words_cache: dict[str, Any] = {}

    def _current(self, documents: Documents, arrays: dict[str, Array], objectives: list[float]) -> Any:
        """A model of the parameters so far, for the callback to use, keep or save."""
        model = copy.copy(self)
        own = {name: array if name == "words" else array.copy() for name, array in arrays.items()}
        model._set_fitted(documents, own, objectives)
        return model

    def _progress_state(self) -> dict[str, Any]:
        """What a checkpoint keeps besides the arrays and the objectives."""
        return {}

    def _resume(self, state: dict[str, Any]) -> None:
        """Take up what `_progress_state` gave."""

    def _start(self, documents: Documents) -> dict[str, Array]:
        """Parameters before the first sweep: all documents uniform."""
        n_topics = int(self.n_components)
        counts = documents.counts
        frequencies = np.bincount(counts.indices, counts.data.astype(np.float64), counts.shape[1])
        smoothing = self.beta - 1 if self.beta > 1 else _WITHOUT_PRIOR
        words = np.zeros((counts.shape[1], n_topics), np.float32)
        if self.init == "random":
            fill_dirichlet(words, seed_key(self.random_state), resolve_threads(self.n_threads))
            words *= frequencies[:, None]
        else:
            for begin, end in pairwise(documents.view_bounds):
                topics = frequency_blocks(frequencies[begin:end], n_topics)
                dealt = np.flatnonzero(topics >= 0)
                words[begin + dealt, topics[dealt]] = frequencies[begin + dealt]
        words += np.float32(smoothing)
        for begin, end in pairwise(documents.view_bounds):
            words[begin:end] /= words[begin:end].sum(axis=0, dtype=np.float64)
        theta = np.full((counts.shape[0], n_topics), 1 / n_topics, np.float32)
        return {"words": words, "theta": theta}

    def _identity(self, documents: Documents) -> dict[str, Any]:
        """What another fit must share to go on from this one's checkpoint."""
        if self.checkpoint is None:
            return {}
        counts = documents.counts
        return {
            "class": type(self).__name__,
            "n_components": int(self.n_components),
            **{name: _plain(getattr(self, name)) for name in self._identifying},
            "random_state": seed_identity(self.random_state) if self.init == "random" else None,
            "view_bounds": documents.view_bounds,
            "X": [
                *counts.shape,
                *(checksum(np.asarray(a, np.int64)) for a in (counts.indptr, counts.indices)),
                checksum(counts.data),
            ],
        }

    def _objective(self, documents: Documents, arrays: dict[str, Array]) -> float:
        """The objective of given parameters."""
        if documents.counts.shape[0] != len(arrays["theta"]):
            raise ValueError(
                f"X: has {documents.counts.shape[0] // documents.group} rows, the model was fitted on "
                f"{len(arrays['theta']) // documents.group}"
            )
        threads = resolve_threads(self.n_threads)
        words = _core.TopicWords(np.ascontiguousarray(self.word_topics_), threads)
        return self._sweep(self._corpus(documents, threads), words, arrays, False, threads)

    def _check_has_documents(self) -> None:
        check_is_fitted(self, "components_")
        if not hasattr(self, "doc_topics_"):
            raise ValueError("doc_topics_: is not saved with a model; fit it again")

    def _project(
        self,
        X: Any,
        *,
        storage: str | None = None,
        weighting: TermWeighting | None = None,
        normalize: bool = False,
        out: Array | None = None,
        view: int = 0,
    ) -> Array:
        if weighting is not None:
            X = weighting.transform(X)
        words = self._words(view)
        result = check_out(out, (X.shape[0], self.word_topics_.shape[1]), self._output_dtype(storage))
        threads = resolve_threads(self.n_threads)
        iterations = check_integer(self.fold_in_iter, "fold_in_iter", low=1)
        alpha = check_real(self.alpha, "alpha", low=1, high=_MOST_PRIOR)
        _core.fold_in(core_csr(as_counts(X)), words, alpha, iterations, result, threads)
        if normalize:
            unit_rows(result)
        return result

    def _perplexity(self, X: Any, view: int = 0) -> float:
        X = as_counts(X)
        theta = self._project(X, view=view)
        sums = _core.token_likelihood(core_csr(X), self._words(view), theta, resolve_threads(self.n_threads))
        if sums.mass == 0:
            raise ValueError("X: has no tokens that the model gives a probability")
        return math.exp(-sums.log_likelihood / sums.mass)

    def _top_words(
        self, names: Sequence[str], k: int, view: int, chosen: Array | None = None
    ) -> list[list[tuple[str, float]]]:
        """The best of a view's words, or of the `chosen` columns of it."""
        begin, end = self._view_bounds(view)
        check_integer(k, "k", low=1)
        if len(names) != end - begin:
            raise ValueError(f"names: expected {end - begin} words, one for each column, got {len(names)}")
        if chosen is None:
            return [_top(column, names, k) for column in self.word_topics_[begin:end].T]
        names = [names[i] for i in chosen]
        return [_top(column, names, k) for column in self.word_topics_[begin + chosen].T]

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

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {**super()._get_parameters_to_save(), "callback": None, "checkpoint": None}

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
        check_real(self.alpha, "alpha", low=1, high=_MOST_PRIOR)
        check_real(self.beta, "beta", low=1, high=_MOST_PRIOR)
        check_choice(self.init, "init", ("frequency", "random"))
        check_integer(self.max_iter, "max_iter", low=1)
        check_real(self.tol, "tol", low=0)
        check_integer(self.fold_in_iter, "fold_in_iter", low=1)
        if not isinstance(self.checkpoint, (str, os.PathLike, type(None))):
            raise TypeError(f"checkpoint: expected a path or None, got {self.checkpoint!r}")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback: expected a callable or None, got {self.callback!r}")
        seed_identity(self.random_state)  # whether it is one
        resolve_threads(self.n_threads)


def frequency_blocks(frequencies: Array, n_topics: int) -> Array:
    """The topic that each word begins in: words by falling frequency, in consecutive blocks of equal mass.

    A block ends when it has its share of the mass that was left for it and those after it, so that a word of more
    than a topic's share has one topic, not several of which all but one are empty. -1 for words that do not occur.
    """
    order = np.argsort(-frequencies, kind="stable")
    order = order[frequencies[order] > 0]
    topics = np.full(len(frequencies), -1, np.int64)
    ends = np.cumsum(frequencies[order])
    begin, done = 0, 0.0
    for topic in range(n_topics):
        if begin == len(order):
            break
        share = (ends[-1] - done) / (n_topics - topic)
        # Equal shares of equal words must not depend on rounding.
        end = int(np.searchsorted(ends, (done + share) * (1 - 1e-12))) + 1
        end = len(order) if topic == n_topics - 1 else min(end, len(order))
        topics[order[begin:end]] = topic
        begin, done = end, float(ends[end - 1])
    return topics


def fill_dirichlet(out: Array, key: int, n_threads: int) -> None:
    """Rows that are uniform on the simplex: exponentials, each half the squared length of two normals."""
    _core.fill_normal(out, key, 0, n_threads)
    other = np.empty_like(out)
    _core.fill_normal(other, key, 1, n_threads)
    np.square(out, out=out)
    out += np.square(other, out=other)
    out /= out.sum(axis=1, keepdims=True, dtype=np.float64)


def _top(column: Array, names: Sequence[str], k: int) -> list[tuple[str, float]]:
    """The k most probable words, the first of equal ones first."""
    k = min(k, len(column))
    if k == 0:
        return []
    bar = np.partition(column, -k)[-k]
    found = np.flatnonzero(column >= bar)
    best = found[np.argsort(-column[found], kind="stable")][:k]
    return [(names[i], float(column[i])) for i in best]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, type(None))) else float(value)
