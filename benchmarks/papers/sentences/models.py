"""The models of Guo and Diab 2012: how each is fitted to the corpus, and how it makes sentences vectors."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import semproj as sj
from benchmarks.papers.framework.definitions import Corpus, Sentences
from benchmarks.papers.sentences.tasks import Retrieval, Vectors

LDA_SWEEPS, LDA_AVERAGED = 200, 10  # the paper has 5,000 sweeps and averages over the last ten
PATIENCE = 3  # sweeps without a better ATOP before a fit that is stopped by it ends
LONGEST_NGRAM = 3


class Setting(NamedTuple):
    """A model and its parameters; what a model does not have is None."""

    model: str
    dimension: int | None = None
    missing_weight: float | None = None
    reg: float | None = None
    alpha: float | None = None
    beta: float | None = None
    mixed: bool = False  # similarity is the mean of the model's and of IR's

    def __str__(self) -> str:
        names = {"dimension": "K", "missing_weight": "w_m", "reg": "reg", "alpha": "alpha", "beta": "beta"}
        values = self._asdict()
        return ", ".join(f"{short} {values[name]:g}" for name, short in names.items() if values[name] is not None)


class Fitted(NamedTuple):
    vectors: Vectors
    seconds: float
    metric: str = "cosine"


@dataclass(frozen=True)
class Model:
    """A model by name: how it is fitted with a seed, which may not matter, and the package it needs."""

    fit_: Callable[[Corpus, Setting, int, Retrieval | None], Vectors]
    seeded: bool = False
    runs: int | None = None  # with so many seeds, if not told otherwise
    metric: str = "cosine"
    needs: str | None = None

    @property
    def available(self) -> bool:
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    def fit(self, corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Fitted:
        """`dev` tells when to stop, where a model asks for it."""
        start = time.perf_counter()
        vectors = self.fit_(corpus, setting, seed, dev)
        return Fitted(vectors, time.perf_counter() - start, self.metric)


def _ir(corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Vectors:
    return lambda sentences: sentences.rows


def _ngram(corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Vectors:
    """The inner product of two rows is the number of n-grams, of one to three lemmas, that both sentences have."""
    counter = sj.TermCounter(ngram_range=(1, LONGEST_NGRAM)).fit(corpus.definitions.lemmas)

    def vectors(sentences: Sentences) -> Any:
        counts = counter.transform(sentences.lemmas).astype(np.float32)
        counts.data[:] = 1
        return counts

    return vectors


def _ngram_tfidf(corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Vectors:
    counter = sj.TermCounter(ngram_range=(1, LONGEST_NGRAM))
    weighting = sj.TfIdf().fit(counter.fit_transform(corpus.definitions.lemmas))
    return lambda sentences: weighting.transform(counter.transform(sentences.lemmas))


def _lsa(corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Vectors:
    """`transform` is the sum of the word vectors, weighted by tf-idf (section 5)."""
    model = sj.LSA(_dimension(corpus, setting), random_state=seed).fit(corpus.rows)
    return lambda sentences: model.transform(sentences.rows)


def _lda(corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Vectors:
    """The sum of P(z|w) over the words, weighted by tf-idf, by tomotopy's collapsed Gibbs sampler."""
    import tomotopy

    model = tomotopy.LDAModel(k=setting.dimension, alpha=setting.alpha, eta=setting.beta, seed=seed, min_cf=0)

    def train(sweeps: int) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
            model.train(sweeps)

    vocabulary = {lemma: column for column, lemma in enumerate(corpus.vocabulary)}
    for lemmas in corpus.documents:
        known = [lemma for lemma in lemmas if lemma in vocabulary]
        if known:
            model.add_doc(known)
    train(LDA_SWEEPS - LDA_AVERAGED)
    columns = np.array([vocabulary[lemma] for lemma in model.used_vocabs])
    word_topics = np.zeros((len(vocabulary), setting.dimension))
    for _ in range(LDA_AVERAGED):
        train(1)
        shares = model.get_count_by_topics() / model.num_words
        joint = np.array([model.get_topic_word_dist(topic) for topic in range(model.k)]).T * shares
        word_topics[columns] += joint / joint.sum(axis=1, keepdims=True)
    projection = sj.kernels.Projection((word_topics / LDA_AVERAGED).astype(np.float32))
    return lambda sentences: sj.kernels.project(sentences.rows, projection)


def _wtmf(corpus: Corpus, setting: Setting, seed: int, dev: Retrieval | None) -> Vectors:
    """Without weight on missing words the first sweeps are the best: then ATOP on dev tells when to stop."""
    parameters = {"missing_weight": setting.missing_weight, "reg": setting.reg}
    stop = None
    if setting.missing_weight == 0 and dev is not None:
        stop = sj.EarlyStopping(lambda fit: dev.atop(_solving(fit.word_vectors_, parameters)), patience=PATIENCE)
    model = sj.WTMF(_dimension(corpus, setting), callback=stop, random_state=seed, **parameters).fit(corpus.rows)
    return _solving((model if stop is None else stop.best_).word_vectors_, parameters)


def _solving(words: np.ndarray, parameters: dict[str, Any]) -> Vectors:
    return lambda sentences: sj.kernels.weighted_row_solve(sentences.rows, words, **parameters)


def _dimension(corpus: Corpus, setting: Setting) -> int:
    """A slice of the corpus may have fewer documents or lemmas than the model dimensions."""
    assert setting.dimension is not None
    return min(setting.dimension, *corpus.rows.shape)


MODELS = {
    "IR": Model(_ir),
    "N-gram": Model(_ngram, metric="inner_product"),
    "N-gram tf-idf": Model(_ngram_tfidf),
    "LSA": Model(_lsa),
    "LDA": Model(_lda, seeded=True, runs=1, needs="tomotopy"),
    "WTMF": Model(_wtmf, seeded=True),
}


def mixed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Similarity in the latent space and of the surface: their mean, no weight to be learnt."""
    return (first + second) / 2
