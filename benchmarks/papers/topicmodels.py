"""JPLSA and CPLSA as the papers use them: early stopping on pairs of dev, and fold-in.

Both papers start deterministically and run up to 500 sweeps, stopping early by the task itself. That of 2010 has
merged vocabularies, one iteration of fold-in and the L1 distance, that of 2011 separate vocabularies, ten
iterations and Jensen-Shannon.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import semproj as sj
from benchmarks.papers.tables import say

if TYPE_CHECKING:
    from benchmarks.papers.crosslingual import Project, Space

MAX_SWEEPS = 500
MEASURED = 10  # sweeps between two looks at dev
PATIENCE = 5  # looks in which nothing gets better before a fit ends
TOPICS = (100, 200, 500, 1000)  # tried by --tune
COUPLINGS = (100.0, 1000.0, inf)


@dataclass(frozen=True)
class Manner:
    """What differs between the papers."""

    vocabulary: str
    fold_in_iter: int
    metric: str


OF_2010 = Manner("shared", 1, "l1")
OF_2011 = Manner("separate", 10, "jensen_shannon")


@dataclass
class Folding:
    """Documents to mixtures of topics; with separate vocabularies over the columns of their language only."""

    space: Space
    manner: Manner
    model: Any = None
    note: str = ""

    def __call__(self, language: int, counts: Any) -> Any:
        if self.manner.vocabulary == "shared":
            return self.model.transform(counts)
        return self.model.transform(counts[:, self.space.own_columns[language]], view=language)

    def views(self) -> list[Any]:
        """What is fitted."""
        if self.manner.vocabulary == "shared":
            return self.space.counts
        own = self.space.own_columns
        return [counts[:, columns] for counts, columns in zip(self.space.counts, own, strict=True)]


@dataclass
class EarlyStopping:
    """A callback that keeps the best model so far, by the mean reciprocal rank of the partners of dev."""

    folding: Folding
    best: float = -1.0
    sweep: int = 0
    scores: list[float] = field(default_factory=list)

    def __call__(self, sweep: int, model: Any, objective: float) -> bool:
        if sweep % MEASURED and sweep < MAX_SWEEPS:
            return False
        trial = Folding(self.folding.space, self.folding.manner, model)
        vectors = [trial(language, counts) for language, counts in enumerate(self.folding.space.watched)]
        self.scores.append(float(sj.metrics.mrr(*vectors, metric=self.folding.manner.metric)))
        if self.scores[-1] > self.best:
            self.best, self.sweep, self.folding.model = self.scores[-1], sweep, model
        say(f"    sweep {sweep}: objective {objective:.6g}, dev MRR {self.scores[-1]:.4f}")
        return len(self.scores) - 1 - self.scores.index(self.best) >= PATIENCE


def _fitted(cls: type, space: Space, manner: Manner, topics: int, **options: Any) -> Project:
    folding = Folding(space, manner)
    stopping = EarlyStopping(folding)
    cls(
        topics,
        vocabulary=manner.vocabulary,
        fold_in_iter=manner.fold_in_iter,
        max_iter=MAX_SWEEPS,
        tol=0.0,
        callback=stopping,
        **options,
    ).fit(folding.views())
    folding.note = f"{stopping.sweep} sweeps"
    return folding


def joint(manner: Manner) -> Any:
    """JPLSA: a function from a space, topics and nothing else."""
    return lambda space, dimension, gamma: _fitted(sj.JPLSA, space, manner, dimension)


def coupled(manner: Manner) -> Any:
    """CPLSA: the same with a coupling."""
    return lambda space, dimension, gamma: _fitted(sj.CPLSA, space, manner, dimension, coupling=gamma)
