"""S2Net as the paper uses it: from OPCA's projection, ended early by the mean reciprocal rank on pairs of dev."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import semproj as sj
from benchmarks.papers.framework.tables import say

if TYPE_CHECKING:
    from benchmarks.papers.crosslingual.methods import CountSpace, Project

MAX_SWEEPS = 40  # steps of L-BFGS where pairs are few, else epochs
PATIENCE = 4  # looks at dev in which nothing gets better before a fit ends
DIMENSIONS = (100, 200, 500, 1000)  # tried by --tune and drawn


@dataclass
class Projection:
    """Counts to vectors, by the model that is best on dev."""

    space: CountSpace
    model: Any
    note: str = ""

    def __call__(self, language: int, counts: Any) -> Any:
        return self.model.transform(self.space.weigh(counts), view=language)


def s2net(matrices: str) -> Any:
    """S2Net with one matrix for all languages or one for each: a fit of a space, dimensions, nothing, a seed."""

    def fit(space: CountSpace, dimension: int, gamma: float, seed: int) -> Project:
        watched = [space.weigh(counts) for counts in space.watched]

        def score(model: Any) -> float:
            first, second = (model.transform(rows, view=i) for i, rows in enumerate(watched))
            found = float(np.mean([sj.metrics.mrr(first, second), sj.metrics.mrr(second, first)]))
            say(f"    sweep {model.n_iter_}: objective {model.objective_[-1]:.6g}, dev MRR {found:.4f}")
            return found

        stopping = sj.EarlyStopping(score, patience=PATIENCE)
        model = sj.S2Net(
            dimension, matrices=matrices, max_iter=MAX_SWEEPS, tol=0.0, random_state=seed, callback=stopping
        )
        model.fit(space.weighted)
        return Projection(space, stopping.best_, f"{stopping.best_sweep_} sweeps of {model.optimizer_}")

    return fit
