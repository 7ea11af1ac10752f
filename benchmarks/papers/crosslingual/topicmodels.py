"""JPLSA and CPLSA as the papers use them: early stopping on pairs of dev, and fold-in.

Both papers start deterministically and run up to 500 sweeps, stopping early by the task itself. That of 2010 has
merged vocabularies, one iteration of fold-in and the L1 distance, that of 2011 separate vocabularies, ten
iterations and Jensen-Shannon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import semproj as sj
from benchmarks.papers.framework.tables import say

if TYPE_CHECKING:
    from benchmarks.papers.crosslingual.methods import CountSpace, Project

MAX_SWEEPS = 500
MEASURED = 10  # sweeps between two looks at dev
PATIENCE = 5  # looks in which nothing gets better before a fit ends
TOPICS = (100, 200, 500, 1000)  # tried by --tune
COUPLINGS = (100.0, 1000.0, inf)


@dataclass(frozen=True)
class TopicRecipe:
    """How a paper has its topic models: what differs between the two."""

    vocabulary: str
    fold_in_iter: int
    metric: str


OF_2010 = TopicRecipe("shared", 1, "l1")
OF_2011 = TopicRecipe("separate", 10, "jensen_shannon")


@dataclass
class FoldIn:
    """Documents to mixtures of topics; with separate vocabularies over the columns of their language only."""

    space: CountSpace
    recipe: TopicRecipe
    model: Any = None
    note: str = ""

    def __call__(self, language: int, counts: Any) -> Any:
        if self.recipe.vocabulary == "shared":
            return self.model.transform(counts)
        return self.model.transform(counts[:, self.space.own_columns[language]], view=language)

    def views(self) -> list[Any]:
        """What is fitted."""
        if self.recipe.vocabulary == "shared":
            return self.space.counts
        own = self.space.own_columns
        return [counts[:, columns] for counts, columns in zip(self.space.counts, own, strict=True)]


def _mrr_on_dev(folding: FoldIn, model: Any) -> float:
    """The mean reciprocal rank of the partners of dev, by a model."""
    trial = replace(folding, model=model)
    vectors = [trial(language, counts) for language, counts in enumerate(folding.space.watched)]
    found = float(sj.metrics.mrr(*vectors, metric=folding.recipe.metric))
    say(f"    sweep {model.n_iter_}: objective {model.objective_[-1]:.6g}, dev MRR {found:.4f}")
    return found


def _fitted(cls: type, space: CountSpace, recipe: TopicRecipe, topics: int, **options: Any) -> Project:
    """The model that is best on dev of all that were looked at."""
    folding = FoldIn(space, recipe)
    stopping = sj.EarlyStopping(lambda model: _mrr_on_dev(folding, model), every=MEASURED, patience=PATIENCE)
    cls(
        topics,
        vocabulary=recipe.vocabulary,
        init="frequency",
        fold_in_iter=recipe.fold_in_iter,
        max_iter=MAX_SWEEPS,
        tol=0.0,
        callback=stopping,
        **options,
    ).fit(folding.views())
    return replace(folding, model=stopping.best_, note=f"{stopping.best_sweep_} sweeps")


def joint(recipe: TopicRecipe) -> Any:
    """JPLSA: a function from a space, topics and nothing else."""
    return lambda space, dimension, gamma: _fitted(sj.JPLSA, space, recipe, dimension)


def coupled(recipe: TopicRecipe) -> Any:
    """CPLSA: the same with a coupling."""
    return lambda space, dimension, gamma: _fitted(sj.CPLSA, space, recipe, dimension, coupling=gamma)
