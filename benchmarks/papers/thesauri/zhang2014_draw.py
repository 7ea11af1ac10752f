"""One draw of BPTF by itself, and with a metric learnt over its vectors (the end of section 4.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import semproj as sj
from semproj.bptf import learn_metric

KEPT_OUT = 0.1  # of the first slice's cells, to see what the metric is worth

Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]


def last_draw(model: sj.BPTF, matrix: np.ndarray | None = None) -> Predict:
    """Relatedness in the first slice by the last draw; with a matrix in place of the slice's vector."""
    V = model.word_vectors_.astype(np.float64)
    mapped = V * model.perspective_vectors_[0] if matrix is None else V @ matrix
    return lambda i, j: np.einsum("ij,ij->i", V[i], mapped[j])


def with_metric(model: sj.BPTF, cells: Any, seed: int) -> tuple[Predict, float]:
    """The last draw with a symmetric metric learnt from most of the cells, and the part of the mean squared error
    of the others that it takes away."""
    found = cells.tocoo()
    once = np.flatnonzero(found.row < found.col)
    kept_out = np.random.default_rng(seed).random(len(once)) < KEPT_OUT
    learnt, others = once[~kept_out], once[kept_out]
    matrix = learn_metric(
        model.word_vectors_,
        found.row[learnt],
        found.col[learnt],
        found.data[learnt],
        center=np.diag(model.perspective_vectors_[0].astype(np.float64)),
    )
    predict = last_draw(model, matrix)
    before, after = (
        float(np.mean((found.data[others] - each(found.row[others], found.col[others])) ** 2))
        for each in (last_draw(model), predict)
    )
    return predict, 1 - after / before
