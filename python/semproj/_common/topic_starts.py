"""Where topics start: at clusters of documents, at blocks of words, or at random."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from .._solvers.clusters import row_clusters, uniform
from .resources import resolve_threads
from .types import Array
from .validation import seed_key

STARTS = ("clusters", "random", "frequency")

_WITHOUT_PRIOR = 0.01  # what a start adds to the counts when beta is 1, so that no word has probability zero
_DIMENSIONS = 200  # of the space that documents are clustered in, at most
_CLUSTERED = 10_000  # documents that are clustered: this many
_CLUSTERED_PER_TOPIC = 50  # or this many for each topic, if that is more
_OF_ALL = 0.1  # part of a topic that is the words of all documents, for those that its cluster lacks
_LEAST_COSINE = 1e-3  # of a document with its centre, so that none is without weight
_RARITY = 1.5  # with it clusters are of subjects rather than of kinds of texts
_CHOICE = 1 << 21  # stream of the random numbers that choose documents


def first_words(model: Any, counts: Any, view_bounds: list[int], group: int) -> Array:
    """p(word | topic) before the first sweep, of shape (n_words, n_topics). A `group` of rows is one document."""
    n_topics, threads = int(model.n_components), resolve_threads(model.n_threads)
    frequencies = np.bincount(counts.indices, counts.data.astype(np.float64), counts.shape[1])
    views = list(pairwise(view_bounds))
    key = None if model.init == "frequency" else seed_key(model.random_state)
    clusters = None
    if key is not None and model.init == "clusters":  # while there is no table of words in memory
        clusters = cluster_counts(counts, n_topics, group, key, threads)
    words = np.zeros((counts.shape[1], n_topics), np.float32)
    if key is None:
        for begin, end in views:
            topics = frequency_blocks(frequencies[begin:end], n_topics)
            dealt = np.flatnonzero(topics >= 0)
            words[begin + dealt, topics[dealt]] = frequencies[begin + dealt]
    else:
        fill_dirichlet(words, key, threads)
        words *= frequencies[:, None]
        if clusters is not None:
            _fill_clusters(words, clusters, frequencies, views)
    words += np.float32(model.beta - 1 if model.beta > 1 else _WITHOUT_PRIOR)
    for begin, end in views:
        words[begin:end] /= words[begin:end].sum(axis=0, dtype=np.float64)
    return words


def cluster_counts(counts: Any, n_topics: int, group: int, key: int, n_threads: int) -> Any:
    """Words of clusters of documents, CSR of shape (n_topics, n_words); some rows may be empty.

    A row is a sum of shares of words in documents, so that long documents do not drown the others, weighted by the
    squared cosines of documents with the centre of their cluster, so that those near it say more. Of many
    documents only some, drawn at random, are clustered, so that a start costs no more than a few sweeps.
    """
    if group > 1:
        counts = sp.kron(sp.eye(counts.shape[0] // group), np.ones((1, group), np.float32), format="csr") @ counts
    documents = np.flatnonzero(np.diff(counts.indptr))
    most = max(_CLUSTERED, _CLUSTERED_PER_TOPIC * n_topics)
    if len(documents) > most:
        order = np.argsort(uniform(len(documents), key, _CHOICE, n_threads), kind="stable")
        documents = documents[np.sort(order[:most])]
    counts = sp.csr_matrix(counts[documents])
    labels, cosines = row_clusters(
        _weighted(counts), n_topics, dimensions=min(n_topics, _DIMENSIONS), key=key, n_threads=n_threads
    )
    tokens = np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel()
    weights = np.square(np.maximum(cosines, _LEAST_COSINE)) / tokens
    members = (weights, (labels, np.arange(len(labels))))
    return sp.csr_matrix(members, shape=(n_topics, len(labels))) @ counts


def _weighted(counts: Any) -> Any:
    """Rows of length one, of logarithms of counts times a power of the logarithms of how rare their words are."""
    rare = np.log((len(counts.indptr)) / np.maximum(np.bincount(counts.indices, minlength=counts.shape[1]), 1))
    data = np.log1p(counts.data.astype(np.float64)) * (rare**_RARITY)[counts.indices]
    lengths = np.sqrt(np.add.reduceat(np.square(data), counts.indptr[:-1]))
    data /= np.repeat(lengths, np.diff(counts.indptr))
    return sp.csr_matrix((data.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)


def _fill_clusters(words: Array, clusters: Any, frequencies: Array, views: list[tuple[int, int]]) -> None:
    """Make each topic, in each view, the words of its cluster and a few of all. One without any stays as it is."""
    for topic in range(clusters.shape[0]):
        at = slice(clusters.indptr[topic], clusters.indptr[topic + 1])
        columns, counts = clusters.indices[at], clusters.data[at]
        for begin, end in views:
            inside = (columns >= begin) & (columns < end)
            mass = float(counts[inside].sum())
            if mass > 0:
                total = float(frequencies[begin:end].sum())
                words[begin:end, topic] = _OF_ALL / clusters.shape[0] * frequencies[begin:end]
                share = (1 - _OF_ALL) / clusters.shape[0] * total / mass
                words[columns[inside], topic] += (share * counts[inside]).astype(np.float32)


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
