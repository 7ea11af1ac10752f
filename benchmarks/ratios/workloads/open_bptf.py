"""BPTF with a precision of 1 and values as targets, as functions, beside none: a part of the suite `open`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in

SWEEPS = 12


def one(value: float, slice: int) -> float:
    return 1.0


def itself(value: float, slice: int) -> float:
    return value


@register("open")
def open_bptf(options: Options) -> Iterator[Workload]:
    import semproj as sj

    n_words, n_cells, d = options.pick((20_000, 1_200_000, 40), (4_000, 200_000, 40), (80, 1_000, 6))
    cells = data.symmetric_relations(n_words, n_cells, options.pick(10, 10, 2)).cells

    def fitted(threads: int, zeros: float = 0.0, **functions: Any) -> np.ndarray:
        model = sj.BPTF(
            d, burn_in=SWEEPS, n_samples=1, zeros=zeros, random_state=0, n_threads=threads, **functions
        )
        return model.fit([cells]).word_vectors_

    for name, zeros, each in (("fit", 0.0, ""), ("redrawn", 2.0, ", and two missing ones for each as zeros")):
        yield beside_built_in(
            options,
            f"open_bptf_{name}",
            round((1 + zeros) * cells.nnz) * (SWEEPS + 1),
            partial(fitted, zeros=zeros, precision=one, target=itself),
            partial(fitted, zeros=zeros),
            f"{n_words} words, {cells.nnz} cells{each}, D={d}, float32, {SWEEPS + 1} sweeps",
            rounds=options.pick(5, 5, 2),
        )
