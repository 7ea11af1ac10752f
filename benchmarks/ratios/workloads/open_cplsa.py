"""CPLSA with the proximal map of the l1 norm as a function, beside the norm itself; a part of the suite `open`.

How far the two are apart is what is left of projections by the tolerance of a fit, which both keep by other steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in

SWEEPS = 12


def clipped(dual: float, coupling: float, step: float) -> float:
    return min(max(dual, -coupling), coupling)


@register("open")
def open_cplsa(options: Options) -> Iterator[Workload]:
    import semproj as sj

    pairs, terms = options.pick((10_000, 20_000), (1_500, 5_000), (60, 80))
    corpus = data.bilingual_counts(pairs, terms, options.data)
    views = [view[:, :terms].astype(np.int32).tocsr() for view in corpus.views]

    def fitted(threads: int, k: int, coupling: float, **functions: Any) -> np.ndarray:
        fixed = {"init": "frequency", "max_iter": SWEEPS, "tol": 0}
        model = sj.CPLSA(k, coupling=coupling, n_threads=threads, **fixed, **functions).fit(views)
        return np.array(model.objective_)

    for k in options.pick((100, 300), (100,), (3,)):
        for coupling in (5.0, 100.0):
            yield beside_built_in(
                options,
                f"open_cplsa_t{k}_c{coupling:g}",
                int(sum(view.sum() for view in views)) * SWEEPS,
                partial(fitted, k=k, coupling=coupling, prox=clipped),
                partial(fitted, k=k, coupling=coupling),
                f"{corpus.source}, {pairs} pairs, T={k}, coupling {coupling:g}, {SWEEPS} sweeps; objectives",
                error=1e-3,
                rounds=options.pick(5, 5, 2),
            )
