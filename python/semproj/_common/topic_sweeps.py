"""What the fits of topic models share: documents side by side, parameters, and the sweeps of PLSA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .checkpoint import check_state, rows_identity, seed_identity
from .fitting import State, Sweeps
from .resources import resolve_threads
from .topic_starts import first_words
from .types import Array
from .validation import core_csr


@dataclass
class Documents:
    """What a fit goes over: CSR counts as the kernels want them, the first column of each view, and the end."""

    counts: Any
    view_bounds: list[int]
    group: int = 1  # rows that belong together
    view_words: Any = None  # of a shared vocabulary, the columns that each view's documents have

    def corpus(self, n_topics: int, n_threads: int) -> _core.TopicCorpus:
        """The counts sorted for the kernels."""
        return _core.TopicCorpus(core_csr(self.counts), self.view_bounds, n_topics, self.group, n_threads)

    def check_as_many(self, rows_fitted: int) -> None:
        """Refuse documents that the parameters of a fit are not of."""
        rows = self.counts.shape[0]
        if rows != rows_fitted:
            raise ValueError(
                f"X: has {rows // self.group} rows, the model was fitted on {rows_fitted // self.group}"
            )


class TopicSweeps(Sweeps):
    """EM over documents and words: PLSA, and JPLSA, whose groups of documents are one document.

    The E step finds the objective of the parameters that it is given, so objectives lag.
    """

    lags = True

    def __init__(self, model: Any, documents: Documents) -> None:
        self.model, self.documents = model, documents
        self.n_threads = resolve_threads(model.n_threads)

    def identity(self) -> dict[str, Any]:
        return topic_identity(self.model, self.documents)

    def memory(self) -> int:
        return topic_memory(self.model, self.documents)

    def start(self, saved: State | None) -> None:
        words, self.theta = (
            first_parameters(self.model, self.documents)
            if saved is None
            else saved_parameters(saved, self.model, self.documents)
        )
        self.words = _core.TopicWords(words, self.n_threads)
        del words  # a table less in memory
        self.corpus = self.documents.corpus(int(self.model.n_components), self.n_threads)

    def step(self, sweep: int) -> float:
        return plsa_sweep(self.model, self.corpus, self.words, self.theta, update=True)

    def state(self) -> State:
        return {"words": self.words.values(self.n_threads), "theta": self.theta}, {}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        objective = plsa_sweep(self.model, self.corpus, self.words, self.theta, update=False)
        if not going_on:
            del self.corpus  # it has a table of its own
        theta = self.theta.copy() if going_on else self.theta
        words = fitted_words(self.documents, self.words.values(self.n_threads), theta)
        return {**words, "doc_topics_": theta}, objective


def plsa_sweep(
    model: Any, corpus: _core.TopicCorpus, words: _core.TopicWords, theta: Array, *, update: bool
) -> float:
    """One sweep over all documents, or a look at them. Returns the objective before it."""
    threads = resolve_threads(model.n_threads)
    priors = model._chosen_alpha, float(model.beta), float(model.tempering)
    found = _core.plsa_sweep(corpus, words, theta, *priors, update, threads)
    return found.log_likelihood + found.log_prior


def objective_of(model: Any, documents: Documents) -> float:
    """The objective of a fitted model for the documents that it was fitted on."""
    theta, threads = model.doc_topics_, resolve_threads(model.n_threads)
    documents.check_as_many(len(theta))
    words = _core.TopicWords(np.ascontiguousarray(model.word_topics_), threads)
    return plsa_sweep(model, documents.corpus(theta.shape[1], threads), words, theta, update=False)


def fitted_words(documents: Documents, words: Array, theta: Array) -> dict[str, Any]:
    """The fitted attributes that all topic models have."""
    lengths = np.asarray(documents.counts.sum(axis=1, dtype=np.float64)).ravel()
    attributes = {
        "word_topics_": words,
        # Not by BLAS, whose bits depend on its threads.
        "topic_prevalence_": np.einsum("d,dt->t", lengths, theta, dtype=np.float64) / lengths.sum(),
        "view_starts_": np.array(documents.view_bounds[:-1], np.int64),
        "n_features_in_": documents.view_bounds[-1],
        "_words_cache": {},
    }
    used = documents.view_words
    return attributes if used is None else {**attributes, "view_words_": used.copy()}


def saved_parameters(
    saved: State, model: Any, documents: Documents, **others: tuple[Any, tuple[int, ...]]
) -> tuple[Array, Array]:
    """Words and mixtures from a checkpoint, which then no longer holds the words; it has these `others` too."""
    (rows, columns), n_topics = documents.counts.shape, int(model.n_components)
    own = {"words": (np.float32, (columns, n_topics)), "theta": (np.float32, (rows, n_topics))}
    check_state(saved[0], {**own, **others})
    return saved[0].pop("words"), saved[0]["theta"]


def topic_identity(model: Any, documents: Documents, *parameters: str) -> dict[str, Any]:
    """What the checkpoint of a topic model is of; `parameters` are those that only it has."""
    values = {name: getattr(model, name) for name in ("beta", "init", *parameters)}
    values["alpha"] = model._chosen_alpha
    if model.tempering != 1:
        values["tempering"] = model.tempering
    return {
        "n_components": int(model.n_components),
        **{k: v if isinstance(v, (str, type(None))) else float(v) for k, v in values.items()},
        "random_state": seed_identity(model.random_state) if model.init != "frequency" else None,
        "view_bounds": documents.view_bounds,
        "X": rows_identity(documents.counts),
    }


def topic_memory(model: Any, documents: Documents) -> int:
    """Bytes of two tables of the words, and of the mixtures of documents."""
    rows, columns = documents.counts.shape
    return 4 * int(model.n_components) * int(rows + 2 * columns)


def first_parameters(model: Any, documents: Documents) -> tuple[Array, Array]:
    """Words and mixtures before the first sweep: all documents are uniform."""
    n_topics = int(model.n_components)
    words = first_words(model, documents.counts, documents.view_bounds, documents.group)
    return words, np.full((documents.counts.shape[0], n_topics), 1 / n_topics, np.float32)
