"""Cross-language methods over one corpus: how each is fitted, and how it makes documents vectors.

A method is a row of the table: a function from the training set, a dimension and a regularisation to a function
``project(language, counts)``. Methods that this version of semproj does not have are known but not available.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

import semproj as sj
from benchmarks.papers.crosslingual import discriminative
from benchmarks.papers.crosslingual.topicmodels import COUPLINGS, OF_2010, TOPICS, TopicRecipe, coupled, joint

SEED = 0
Project = Callable[[int, Any], Any]


class CountSpace:
    """The training documents as counts over one set of columns, which other documents are counted over too.

    With separate vocabularies each language has columns of its own; with a shared one a term of both has one
    column. Weights are log(tf)-idf (equation 8), with the statistics of the documents of all languages.
    """

    def __init__(
        self,
        texts: Sequence[list[str]],
        *,
        separate: bool = False,
        drop_top: int = 0,
        terms: int | None = None,
        lowercase: bool = False,
        dev: Sequence[list[str]] | None = None,
    ) -> None:
        self.texts = texts
        self._dev = dev
        self.counter = sj.MultiTermCounter(
            "separate" if separate else "shared", drop_top=drop_top, max_features=terms, lowercase=lowercase
        )
        views = self.counter.fit_transform(texts)
        widths = [view.shape[1] for view in views] if separate else [0] * len(views)
        self._starts = np.concatenate([[0], np.cumsum(widths)])[:-1].tolist()
        self.n_columns = sum(widths) if separate else views[0].shape[1]
        self.counts = [self._placed(language, view) for language, view in enumerate(views)]
        self.weighting = sj.LogTfIdf().fit(sp.vstack(self.counts, format="csr"))
        self.weighted = [self.weigh(view) for view in self.counts]
        self._word_by_word: tuple[Any, float] | None = None

    def count(self, language: int, texts: list[str]) -> Any:
        """Counts of other documents, over the same columns."""
        return self._placed(language, self.counter.transform(texts, view=language))

    def count_all(self, texts: Sequence[list[str]]) -> list[Any]:
        """Counts of documents of every language."""
        return [self.count(language, side) for language, side in enumerate(texts)]

    @cached_property
    def watched(self) -> list[Any]:
        """Counts of the documents of dev by which a fit may be stopped early."""
        if self._dev is None:
            raise ValueError("dev: expected documents for a method that stops early, got None")
        return self.count_all(self._dev)

    def weigh(self, counts: Any) -> Any:
        return self.weighting.transform(counts)

    @cached_property
    def own_columns(self) -> list[np.ndarray]:
        """Of each language, the columns of terms that its training documents have."""
        return [np.unique(view.indices) for view in self.counts]

    @property
    def rank(self) -> int:
        """No model of this space can have more dimensions."""
        return min(int(self.counts[0].shape[0]), *(len(columns) for columns in self.own_columns))

    def word_by_word(self) -> tuple[Any, float]:
        """The translation model from the second language to the first, fitted once, and how long that took."""
        if self._word_by_word is None:
            start = time.perf_counter()
            model = sj.WordByWord(counter=self.counter.counters_[0]).fit(self.texts[1], self.texts[0])
            self._word_by_word = model, time.perf_counter() - start
        return self._word_by_word

    def _placed(self, language: int, view: Any) -> Any:
        indices = view.indices + np.int32(self._starts[language])
        return sp.csr_matrix((view.data, indices, view.indptr), shape=(view.shape[0], self.n_columns))


@dataclass(frozen=True)
class Fitted:
    project: Project
    seconds: float
    note: str = ""  # what was found while fitting


@dataclass(frozen=True)
class Method:
    """A row: its name, what of semproj it needs, and how it is fitted."""

    row: str
    needs: str | None
    fit_: Callable[..., Project]  # of a space, a dimension, a regularisation and, if it is seeded, a seed
    projects: bool = True  # onto a number of dimensions that can be chosen
    nested: bool = True  # leading columns are what a smaller dimension has
    drawn: bool = True  # by dimension, if figures are; one that is not nested is fitted for each of them
    dimensions: tuple[int, ...] = ()  # to try; any, if not said
    gammas: tuple[float, ...] = ()  # regularisations to try
    regularisation: str = "gamma"
    metric: str = "cosine"
    stops: bool = False  # early, by documents of dev
    seeded: bool = False  # depends on a seed: --seeds fits it for several
    separable: bool = True  # works on separate vocabularies laid out side by side
    translates: bool = False  # builds on the translation model, fitted once for all rows

    @property
    def available(self) -> bool:
        return self.needs is None or hasattr(sj, self.needs)

    def fit(self, space: CountSpace, dimension: int | None, gamma: float | None, seed: int = SEED) -> Fitted:
        translating = space.word_by_word()[1] if self.translates else 0.0
        start = time.perf_counter()
        project = self.fit_(space, dimension or 0, gamma or 0.0, *([seed] if self.seeded else []))
        seconds = translating + time.perf_counter() - start
        return Fitted(project, seconds, getattr(project, "note", ""))


def topic_methods(recipe: TopicRecipe) -> dict[str, Method]:
    """JPLSA and CPLSA as one of the papers has them."""
    shared: dict[str, Any] = {
        "nested": False,
        "drawn": False,
        "dimensions": TOPICS,
        "metric": recipe.metric,
        "stops": True,
    }
    found = (
        Method("JPLSA", "JPLSA", joint(recipe), **shared),
        Method("CPLSA", "CPLSA", coupled(recipe), gammas=COUPLINGS, regularisation="coupling", **shared),
    )
    return {method.row: method for method in found}


def _untranslated(space: CountSpace, dimension: int, gamma: float) -> Project:
    return lambda language, counts: space.weigh(counts)


def _cllsi(space: CountSpace, dimension: int, gamma: float) -> Project:
    model = sj.CLLSI(dimension, random_state=SEED).fit(space.counts)  # joins the counts, then weights them
    return lambda language, counts: model.transform(counts)


def _opca(space: CountSpace, dimension: int, gamma: float) -> Project:
    model = sj.OPCA(dimension, gamma=gamma, random_state=SEED).fit(space.weighted)
    return lambda language, counts: model.transform(space.weigh(counts))


def _dda(space: CountSpace, dimension: int, gamma: float) -> Project:
    model = sj.DDA(dimension, gamma=gamma, random_state=SEED).fit(space.weighted)
    return lambda language, counts: model.transform(space.weigh(counts))


def _cca(space: CountSpace, dimension: int, gamma: float) -> Project:
    own = space.own_columns
    views = [weighted[:, columns] for weighted, columns in zip(space.weighted, own, strict=True)]
    model = sj.CCA(dimension, gamma=gamma, random_state=SEED).fit(views)
    return lambda language, counts: model.transform(space.weigh(counts)[:, own[language]], view=language)


def _word_by_word(space: CountSpace, dimension: int, gamma: float) -> Project:
    model, _ = space.word_by_word()

    def project(language: int, counts: Any) -> Any:
        rows = space.weigh(counts)
        return model.transform(rows) if language else rows

    return project


def _word_by_word_lsa(space: CountSpace, dimension: int, gamma: float) -> Project:
    translated = _word_by_word(space, dimension, gamma)
    lsa = sj.LSA(dimension, random_state=SEED).fit(space.weighted[0])
    return lambda language, counts: lsa.transform(translated(language, counts))


_TOPICS = topic_methods(OF_2010)
METHODS = (
    Method(
        "S2Net",
        "S2Net",
        discriminative.s2net("shared"),
        nested=False,
        drawn=False,
        dimensions=discriminative.DIMENSIONS,
        stops=True,
        seeded=True,
    ),
    Method("OPCA", "OPCA", _opca, gammas=(0.1,)),
    Method("DDA", "DDA", _dda, gammas=(0.1,)),
    _TOPICS["CPLSA"],
    Method("WordByWord", "WordByWord", _word_by_word, projects=False, separable=False, translates=True),
    Method("WordByWord+LSA", "WordByWord", _word_by_word_lsa, separable=False, translates=True),
    _TOPICS["JPLSA"],
    Method("CCA", "CCA", _cca, gammas=(0.1, 1.0, 10.0)),
    Method("CLLSI", "CLLSI", _cllsi),
    Method("Untranslated", None, _untranslated, projects=False),
)
