"""Fitting LSA: time at equal or better captured variance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, counts_if_as_good, register

# Captured variances that differ by less than this, relatively, are called equal.
EQUAL = 1e-4


def captured(X: csr_matrix, components: np.ndarray) -> float:
    """||X V||^2 / ||X||^2 for an orthonormal basis V of the components (rows), in float64."""
    basis, _ = np.linalg.qr(np.asarray(components, np.float64).T)
    projected = X.astype(np.float64) @ basis
    return float(np.sum(projected**2) / np.sum(X.data.astype(np.float64) ** 2))


def peer_fits(X: csr_matrix, k: int) -> tuple[dict[str, Callable[[], Any]], list[str]]:
    """The peers as they come; gensim in one pass over one chunk, its fastest setting.

    TruncatedSVD's other algorithm, arpack, converges fully and takes several times as long at this size: it would
    make a run last a quarter of an hour and never be the fastest.
    """
    fits: dict[str, Callable[[], Any]] = {"sklearn": partial(peers.truncated_svd, X, k, 5)}
    notes = ["sklearn: TruncatedSVD, randomized, n_iter=5"]
    if peers.available("gensim") is not None:
        fits["gensim"] = partial(peers.gensim_lsi, X.T.tocsc(), k)
        notes.append("gensim: LsiModel, one pass over one chunk, two power iterations")
    return fits, notes


@register("lsa")
def lsa(options: Options) -> Iterator[Workload]:
    import semproj as sj

    n, terms, k = options.pick((20_000, 20_000, 500), (4_000, 5_000, 500), (120, 150, 5))
    distinct, topics = options.pick((120, 200), (120, 60), (30, 6))
    counts = data.zipf_counts(n, terms, distinct, topics)
    X = sj.LogTfIdf().fit_transform(counts)
    X.sort_indices()

    def fit(threads: int) -> np.ndarray:
        return sj.LSA(k, solver="randomized", random_state=0, n_threads=threads).fit(X).components_

    fits, notes = peer_fits(X, k)
    contestants = [Contestant(OURS, threads, lambda t=threads: fit(t)) for threads in options.threads]
    contestants += [Contestant(name, t, run) for name, run in fits.items() for t in options.threads]

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        if result.shape != (k, terms):
            raise AssertionError(f"{contestant.name}: components of shape {result.shape}")
        return {"captured": captured(X, result)}

    yield Workload(
        name=f"lsa_k{k}",
        words=X.nnz,
        contestants=contestants,
        check=check,
        cost=Cost(
            fma_peak=4.0 * X.nnz * k + 2.0 * (n + terms) * k**2,
            meaning="fma: one product with X and one with its transpose (4 x nnz x k) and one "
            "orthogonalisation of each side (2 x (n + terms) x k^2), as if nothing were iterated",
        ),
        rounds=options.pick(5, 2, 2),
        most_seconds=options.pick(60.0, 10.0, 5.0),
        finish=counts_if_as_good("captured", EQUAL),
        notes=[
            data.topic_note(topics),
            f"{n} x {terms}, {X.nnz} non-zeros, log tf-idf, k={k}, all float32",
            *notes,
        ],
    )
