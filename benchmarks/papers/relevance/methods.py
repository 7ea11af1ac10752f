"""Rows of the tables of relevance: how each makes vectors of queries and documents, compared by cosines.

As in the paper, LSA (its PCA) and PLSA learn from all training queries and documents, OPCA, CCA, JPLSA and CPLSA
from pairs of a query and a relevant document, HDLR from pairs of both kinds, and S2Net from all that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import semproj as sj
from benchmarks.papers.framework.files import evenly
from benchmarks.papers.relevance.collections import Collection, Graded
from benchmarks.papers.relevance.hdlr import learn_metric
from benchmarks.papers.relevance.measures import ndcg

Vectors = Callable[[int, Any], Any]  # from a side, 0 for queries and 1 for documents, and counts

PARALLEL = 20_000  # pairs that models of parallel texts learn from, the best grades first
CONSTRAINTS = 5000  # of HDLR, as in the paper
SLACK = 0.01  # of HDLR; not tuned, and neither are the regularisations of OPCA and CCA
WEIGHTS = tuple(share / 10 for share in range(11))  # of a model beside raw rows


class Space:
    """Counts and weights of a collection, whose words are those of training queries and all documents."""

    def __init__(self, collection: Collection, *, terms: int | None = None, limit: int | None = None) -> None:
        self.collection = collection
        train = collection.train
        self.counter = sj.TermCounter(lowercase=True, max_features=terms)
        self.counter.fit([*collection.documents, *train.queries])
        self.documents, self.queries = self.count(collection.documents), self.count(train.queries)
        self.weighting = sj.LogTfIdf().fit(self.everything)
        self.labels = np.array(evenly(list(train.labels), limit), np.int64).reshape(-1, 3)

    def count(self, texts: list[str]) -> Any:
        return self.counter.transform(texts)

    def weigh(self, counts: Any) -> Any:
        return self.weighting.transform(counts)

    @cached_property
    def everything(self) -> Any:
        """Counts of training queries and of the documents that they know."""
        return sp.vstack([self.documents, self.queries], format="csr")

    @cached_property
    def weighted(self) -> list[Any]:
        """Training queries and all documents."""
        return [self.weigh(self.queries), self.weigh(self.documents)]

    @cached_property
    def pairs(self) -> np.ndarray:
        """Rows of training queries and of relevant documents."""
        return np.ascontiguousarray(self.labels[self.labels[:, 2] >= self.collection.relevant, :2])

    @cached_property
    def parallel(self) -> np.ndarray:
        """Some pairs, the best grades first."""
        good = self.labels[self.labels[:, 2] >= self.collection.relevant]
        order = np.argsort(-good[:, 2], kind="stable")[:PARALLEL]
        return good[order, :2]

    def side_by_side(self, views: list[Any]) -> list[Any]:
        return [view[rows] for view, rows in zip(views, self.parallel.T, strict=True)]

    @cached_property
    def largest(self) -> int:
        """No model of this space can have more dimensions."""
        return int(min(len(self.parallel), *self.everything.shape)) - 1

    def lsa(self, dimension: int) -> Any:
        return sj.LSA(dimension, random_state=0).fit(self.weigh(self.everything))


@dataclass(frozen=True)
class Method:
    """A row: its name, and what makes the vectors of a space, for some dimensions and a seed."""

    row: str
    fit: Callable[[Space, int, int], Vectors]
    projects: bool = True
    drawn: bool = False  # depends on the seed
    mixed: bool = False  # with raw rows, by a weight that is best on dev


@dataclass(frozen=True)
class Linear:
    space: Space
    model: Any

    def __call__(self, side: int, counts: Any) -> Any:
        return self.model.transform(self.space.weigh(counts))


def _tfidf(space: Space, dimension: int, seed: int) -> Vectors:
    return lambda side, counts: space.weigh(counts)


def _pca(space: Space, dimension: int, seed: int) -> Vectors:
    return Linear(space, space.lsa(dimension))


def _opca(space: Space, dimension: int, seed: int) -> Vectors:
    return Linear(space, sj.OPCA(dimension, gamma=0.1, random_state=0).fit(space.side_by_side(space.weighted)))


def _cca(space: Space, dimension: int, seed: int) -> Vectors:
    views = space.side_by_side(space.weighted)
    own = [np.unique(view.indices) for view in views]
    views = [view[:, columns] for view, columns in zip(views, own, strict=True)]
    model = sj.CCA(min(dimension, *map(len, own)), gamma=1.0, random_state=0).fit(views)
    return lambda side, counts: model.transform(space.weigh(counts)[:, own[side]], view=side)


def _plsa(space: Space, dimension: int, seed: int) -> Vectors:
    model = sj.PLSA(dimension, random_state=0).fit(space.everything)
    return lambda side, counts: model.transform(counts)


def _paired_topics(cls: Any) -> Callable[[Space, int, int], Vectors]:
    def fit(space: Space, dimension: int, seed: int) -> Vectors:
        views = space.side_by_side([space.queries, space.documents])
        model = cls(dimension, random_state=0).fit(views)
        return lambda side, counts: model.transform(counts)

    return fit


def _hdlr(space: Space, dimension: int, seed: int) -> Vectors:
    basis = space.lsa(dimension)
    draw = np.random.default_rng(seed)
    right = space.pairs[draw.permutation(len(space.pairs))[: CONSTRAINTS // 2]]
    wrong = space.labels[space.labels[:, 2] < space.collection.relevant, :2]
    if not len(wrong):  # then any other document
        wrong = np.column_stack([right[:, 0], draw.integers(0, len(space.collection.documents), len(right))])
    wrong = wrong[draw.permutation(len(wrong))[: CONSTRAINTS // 2]]
    pairs = np.concatenate([right, wrong])
    together = np.arange(len(pairs)) < len(right)
    order = draw.permutation(len(pairs))
    Q, D = (normalize(basis.transform(rows)) for rows in space.weighted)
    L = learn_metric(Q[pairs[order, 0]], D[pairs[order, 1]], together[order], slack=SLACK)
    half = np.linalg.cholesky(L)
    return lambda side, counts: normalize(basis.transform(space.weigh(counts))) @ half


@dataclass(frozen=True)
class Recipe:
    """How S2Net learns: of two settings (nfcorpus) or five (crowdflower) the best on dev, by seed 0."""

    triples: bool  # or pairs
    epochs: int
    learning_rate: float
    others: int = 0


RECIPES = {
    "nfcorpus": Recipe(triples=False, epochs=1, learning_rate=0.1),
    "crowdflower": Recipe(triples=True, epochs=1, learning_rate=0.1, others=5),
}


def trained(space: Space, recipe: Recipe, dimension: int, seed: int) -> Any:
    """S2Net from LSA, as in the paper."""
    settings = {"optimizer": "adam", "max_iter": recipe.epochs, "learning_rate": recipe.learning_rate}
    y = space.pairs
    if recipe.triples:
        y = sj.preference_triples(*space.labels.T, others=recipe.others, random_state=seed)
    return sj.S2Net(dimension, start=space.lsa(dimension), random_state=seed, **settings).fit(space.weighted, y)


def s2net(dataset: str) -> Callable[[Space, int, int], Vectors]:
    def fit(space: Space, dimension: int, seed: int) -> Vectors:
        return Linear(space, trained(space, RECIPES[dataset], dimension, seed))

    return fit


def similarities(vectors: Vectors, space: Space, graded: Graded) -> np.ndarray:
    """Cosines of the queries and the documents of a split."""
    counts = space.count(graded.queries), space.documents[graded.documents]
    Q, D = (normalize(vectors(side, rows)) for side, rows in enumerate(counts))
    found = Q @ D.T
    return np.asarray(found.toarray() if sp.issparse(found) else found)


def mixture_of(vectors: Vectors, space: Space) -> sj.SurfaceMixture:
    """Of a linear model with raw rows, by the weight with the best NDCG@5 on dev."""
    assert isinstance(vectors, Linear)
    dev = space.collection.dev
    return sj.SurfaceMixture(vectors.model).tuned(
        *rows_of(space, dev), lambda found: ndcg(dev.grades, found, 5), weights=WEIGHTS
    )


def rows_of(space: Space, graded: Graded) -> list[Any]:
    """Weighted queries and documents of a split."""
    return [space.weigh(space.count(graded.queries)), space.weigh(space.documents[graded.documents])]


def methods(dataset: str) -> tuple[Method, ...]:
    """The rows of a dataset, in the order of the table."""
    learnt = s2net(dataset)
    return (
        Method("S2Net", learnt, drawn=True),
        Method("S2Net+TFIDF", learnt, drawn=True, mixed=True),
        Method("TFIDF", _tfidf, projects=False),
        Method("HDLR", _hdlr, drawn=True),
        Method("CPLSA", _paired_topics(sj.CPLSA)),
        Method("PCA", _pca),
        Method("OPCA", _opca),
        Method("JPLSA", _paired_topics(sj.JPLSA)),
        Method("CCA", _cca),
        Method("PLSA", _plsa),
    )
