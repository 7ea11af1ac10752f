"""Fitting OPCA: beside LAPACK's generalised eigensolver where that can follow, and at the paper's size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

GAMMA = 0.1
AGREE = 1e-3  # relative difference of eigenvalues


def covariances(views: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """S and N of equations 9 and 10, dense in double."""
    n, p = views[0].shape
    wide = [view.astype(np.float64) for view in views]
    S, N = np.zeros((p, p)), GAMMA * np.eye(p)
    mean = sum(wide) / len(wide)
    for view in wide:
        mu = np.asarray(view.mean(axis=0)).ravel()
        S += (view.T @ view).toarray() / n - np.outer(mu, mu)
        N += ((view - mean).T @ (view - mean)).toarray() / n
    return S, N


@register("opca")
def opca(options: Options) -> Iterator[Workload]:
    import semproj as sj

    pairs, terms, d = options.pick((52_685, 20_000, 2000), (5_000, 2_000, 100), (150, 120, 5))
    few_terms, few = options.pick((10_000, 500), (2_000, 100), (100, 4))
    corpus = data.bilingual(pairs, terms, options.data)

    def fit_workload(views: list[Any], k: int, rounds: int, with_peer: bool) -> Workload:
        p = views[0].shape[1]

        def fit(threads: int) -> np.ndarray:
            return sj.OPCA(k, gamma=GAMMA, random_state=0, n_threads=threads).fit(views).eigenvalues_

        # What takes minutes is run with all threads only.
        counts = options.threads if options.size != "full" or with_peer else options.threads[-1:]
        contestants = [Contestant(OURS, threads, lambda t=threads: fit(t)) for threads in counts]
        notes = [f"{corpus.source}, {p} terms, log tf-idf, float32, d={k}; ours from the rows, to tol=5e-3"]
        known: dict[str, np.ndarray] = {}
        if with_peer:
            S, N = covariances(views)
            peer_counts = options.threads[-1:] if options.size == "full" else options.threads
            contestants = [
                *(Contestant("scipy", t, lambda: peers.generalised_eigh(S, N, k)) for t in peer_counts),
                *contestants,
            ]
            notes.append("scipy: linalg.eigh(S, N, subset_by_index), which is handed S and N, in double")

        def check(contestant: Contestant, result: np.ndarray) -> dict[str, Any]:
            if not with_peer:
                return {"smallest_eigenvalue": float(result[-1])}
            if "scipy" not in known:  # whoever comes first is compared with it
                known["scipy"] = result if contestant.name == "scipy" else peers.generalised_eigh(S, N, k)
            error = float(np.abs(result / known["scipy"] - 1).max())
            if error > AGREE:
                raise AssertionError(f"{contestant.name}: eigenvalues differ by {error:.1e}")
            return {"eigenvalue_error": error}

        return Workload(
            name=f"opca_t{p}_d{k}",
            words=sum(view.nnz for view in views),
            contestants=contestants,
            check=check,
            cost=Cost(
                fma_peak=p**3 / 3 + 2.0 * p**2 * k,
                meaning="fma: one factor of N (p^3 / 3) and one solve with it for every component (2 p^2 each), "
                "as if nothing were iterated",
            ),
            rounds=rounds,
            most_seconds=options.pick(200.0, 10.0, 5.0),
            notes=notes,
        )

    yield fit_workload(corpus.cut(few_terms), few, options.pick(3, 2, 2), True)
    if options.size == "full":
        yield fit_workload(corpus.views, d, 1, False)
