"""Fitting ImplicitALS beside implicit, exact and by conjugate gradients, and the loss that each reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Options, Workload, register

ALPHA, REG, SWEEPS = 10.0, 0.1, 10
SAME = 1e-3  # relative difference of the losses of exact fits, from other starts


def loss(confidence: csr_matrix, users: np.ndarray, items: np.ndarray) -> float:
    """Equation 3 of Hu, Koren and Volinsky 2008 in double, without the scores of all cells."""
    users, items = users.astype(np.float64), items.astype(np.float64)
    squares = float((users.T @ users * (items.T @ items)).sum())  # of all scores
    owners = np.repeat(np.arange(confidence.shape[0]), np.diff(confidence.indptr))
    for part in np.array_split(np.arange(confidence.nnz), max(1, confidence.nnz // 100_000)):
        scores = np.einsum("ij,ij->i", users[owners[part]], items[confidence.indices[part]])
        c = confidence.data[part].astype(np.float64)
        squares += float((c * (1 - scores) ** 2 - scores**2).sum())
    return squares + REG * float((users**2).sum() + (items**2).sum())


@register("implicitals")
def implicitals(options: Options) -> Iterator[Workload]:
    import semproj as sj

    users, items, each, k = options.pick((50_000, 20_000, 60, 100), (5_000, 3_000, 40, 64), (150, 80, 12, 4))
    counts = data.zipf_counts(users, items, each, n_topics=min(50, items // 8))
    confidence = csr_matrix(
        ((1 + ALPHA * counts.data).astype(np.float32), counts.indices, counts.indptr), shape=counts.shape
    )

    def ours(threads: int) -> tuple[np.ndarray, np.ndarray]:
        model = sj.ImplicitALS(k, alpha=None, reg=REG, max_iter=SWEEPS, random_state=0, n_threads=threads)
        model.fit(confidence)
        return model.user_vectors_, model.item_vectors_

    contestants = []
    if peers.available("implicit") is not None:
        for name, by_cg in (("implicit", False), ("implicit_cg", True)):
            for n in options.threads:
                contestants.append(
                    Contestant(
                        name,
                        n,
                        lambda by_cg=by_cg, n=n: peers.implicit_als(confidence, k, REG, SWEEPS, n, by_cg=by_cg),
                    )
                )
    contestants += [Contestant(OURS, n, lambda n=n: ours(n)) for n in options.threads]
    losses: dict[str, float] = {}

    def check(contestant: Contestant, vectors: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        losses[contestant.name] = loss(confidence, *vectors)
        exact = losses.get("implicit", losses[contestant.name])
        if contestant.name == OURS and not losses[OURS] <= exact * (1 + SAME):
            raise AssertionError(f"{OURS}: a loss of {losses[OURS]:.6g}, implicit has {exact:.6g}")
        return {"loss": losses[contestant.name]}

    yield Workload(
        name="implicitals_fit",
        words=counts.nnz,
        contestants=contestants,
        check=check,
        rounds=options.pick(3, 3, 2),
        notes=[
            f"{users} users, {items} items, {counts.nnz} cells, topics planted; K={k}, ridge {REG:g}, confidence "
            f"1 + {ALPHA:g} x, {SWEEPS} sweeps; ours with the objective after each",
            "implicit: AlternatingLeastSquares by Cholesky, and by conjugate gradients, its default (implicit_cg)",
        ],
    )
