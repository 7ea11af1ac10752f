"""Fitting ridge CCA at a size that other libraries can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, counts_if_as_good, register

GAMMA = 1.0


def correlations(views: list[np.ndarray], weights: list[np.ndarray]) -> float:
    """Mean over components of w1'C12w2 / sqrt(w1'N1w1 w2'N2w2): what ridge CCA maximises."""
    n = len(views[0])
    centred = [view - view.mean(axis=0) for view in views]
    scores = [view @ w for view, w in zip(centred, weights, strict=True)]
    cross = np.einsum("ij,ij->j", *scores) / n
    norms = [
        np.einsum("ij,ij->j", z, z) / n + GAMMA * np.einsum("ij,ij->j", w, w)
        for z, w in zip(scores, weights, strict=True)
    ]
    return float(np.mean(cross / np.sqrt(norms[0] * norms[1])))


@register("cca")
def cca(options: Options) -> Iterator[Workload]:
    sizes = options.pick([(5_000, 2_000, 5), (10_000, 4_000, 20)], [(1_500, 600, 4)], [(120, 60, 2)])
    for i, size in enumerate(sizes):
        yield fit_workload(options, *size, with_sklearn=i == 0)  # which takes minutes at the larger size


def fit_workload(options: Options, pairs: int, terms: int, k: int, with_sklearn: bool) -> Workload:
    import semproj as sj

    corpus = data.bilingual(pairs, terms, options.data)
    own = [np.unique(view.indices) for view in corpus.views]
    sparse = [view[:, columns].tocsr() for view, columns in zip(corpus.views, own, strict=True)]
    dense = [view.toarray().astype(np.float64) for view in sparse]

    def fit(threads: int) -> list[np.ndarray]:
        model = sj.CCA(k, gamma=GAMMA, random_state=0, n_threads=threads).fit(sparse)
        return [view.components_.T.astype(np.float64) for view in model.views_]

    contestants = [Contestant(OURS, threads, lambda t=threads: fit(t)) for threads in options.threads]
    notes = [f"{corpus.source}, {sparse[0].shape[1]} and {sparse[1].shape[1]} terms, k={k}, gamma={GAMMA:g}"]
    if peers.available("cca_zoo") is not None:
        for t in options.threads:
            contestants.append(Contestant("cca_zoo", t, lambda: peers.ridge_cca(dense, k, GAMMA)))
        notes.append("cca_zoo: RidgeCCA with the same ridge, on dense double arrays")
    if with_sklearn:
        for t in options.threads:
            contestants.append(Contestant("sklearn", t, lambda: peers.sklearn_cca(dense, k)))
        notes.append("sklearn: CCA has no ridge, so its correlations are of another problem")

    def check(contestant: Contestant, result: list[np.ndarray]) -> dict[str, Any]:
        for view, weights in zip(dense, result, strict=True):
            if weights.shape != (view.shape[1], k):
                raise AssertionError(f"{contestant.name}: weights of shape {weights.shape}")
        return {"mean_correlation": correlations(dense, result)}

    p = sum(view.shape[1] for view in sparse)
    return Workload(
        name=f"cca_k{k}",
        words=sum(view.nnz for view in sparse),
        contestants=contestants,
        check=check,
        cost=Cost(
            fma_peak=2.0 * (p / 2) ** 3 / 3 + 4.0 * (p / 2) ** 2 * k,
            meaning="fma: one factor of each view's covariance and one solve with each for every component",
        ),
        rounds=options.pick(3, 2, 2),
        most_seconds=options.pick(120.0, 3.0, 3.0),
        finish=counts_if_as_good("mean_correlation", 1e-3),
        notes=notes,
    )
