"""Fitting LSA: time at equal or better captured variance."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from benchmarks import peers
from benchmarks import workloads as data
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

# Captured variances that differ by less than this, relatively, are called equal.
EQUAL = 1e-4
Fit = Callable[[int], np.ndarray]


def captured(X: csr_matrix, components: np.ndarray) -> float:
    """||X V||^2 / ||X||^2 for an orthonormal basis V of the components (rows), in float64."""
    basis, _ = np.linalg.qr(np.asarray(components, np.float64).T)
    projected = X.astype(np.float64) @ basis
    return float(np.sum(projected**2) / np.sum(X.data.astype(np.float64) ** 2))


def fewest(fit: Fit, X: csr_matrix, target: float, limit: int) -> int | None:
    """The smallest number of iterations that captures as much as `target`, or None if `limit` does not."""

    def enough(n: int) -> bool:
        return captured(X, fit(n)) >= target * (1 - EQUAL)

    if not enough(limit):
        return None
    low, high = 0, limit
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def faster(first: partial, second: partial) -> partial:
    """Whichever of two functions takes less time for two iterations."""
    seconds = []
    for fit in (first, second):
        start = time.perf_counter()
        fit(2)
        seconds.append(time.perf_counter() - start)
    return first if seconds[0] <= seconds[1] else second


def matched(
    name: str, fit: Fit, X: csr_matrix, target: float, limit: int
) -> tuple[dict[str, Callable[[], Any]], str]:
    """A peer at our captured variance.

    Its steps are coarse. If none of them is equal to ours, the last one that captures less stands under its
    name, which can only understate the ratio, and the first that captures more stands beside it as `_more`.
    """
    n = fewest(fit, X, target, limit)
    if n is None:
        note = f"{name}: {limit} power iterations capture less than ours; timed with {limit}"
        return {name: partial(fit, limit)}, note
    if n == 0 or captured(X, fit(n)) <= target * (1 + EQUAL):
        return {name: partial(fit, n)}, f"{name}: {n} power iterations, the fewest that capture as much as ours"
    note = f"{name}: {n - 1} power iterations capture less than ours, {n} more, which is {name}_more"
    return {name: partial(fit, n - 1), f"{name}_more": partial(fit, n)}, note


def peer_fits(X: csr_matrix, k: int, target: float, limit: int) -> tuple[dict[str, Callable[[], Any]], list[str]]:
    """Each peer with the iterations it needs to equal our captured variance, and sklearn as it comes."""
    fits: dict[str, Callable[[], Any]] = {
        "sklearn_default": partial(peers.truncated_svd, X, k, 5),
        "sklearn_arpack": partial(peers.truncated_svd, X, k, None),
    }
    notes = ["sklearn_default: n_iter=5"]
    rivals: dict[str, Fit] = {"sklearn": partial(peers.truncated_svd, X, k)}
    if peers.available("gensim") is not None:
        columns = X.T.tocsc()
        rivals["gensim"] = faster(
            partial(peers.gensim_lsi, columns, k), partial(peers.gensim_lsi_two_pass, columns, k)
        )
        notes.append(f"gensim by {rivals['gensim'].func.__name__}, the faster of one pass and two")
    for name, fit in rivals.items():
        more, note = matched(name, fit, X, target, limit)
        fits |= more
        notes.append(note)
    return fits, notes


def unmatched_fits(X: csr_matrix, k: int) -> tuple[dict[str, Callable[[], Any]], list[str]]:
    """For half a minute, which has no room for a search: the peers as they come."""
    fits: dict[str, Callable[[], Any]] = {"sklearn": partial(peers.truncated_svd, X, k, 5)}
    if peers.available("gensim") is not None:
        fits["gensim"] = partial(peers.gensim_lsi, X.T.tocsc(), k)
    return fits, ["quick: default iterations, not matched to our captured variance; no arpack; see `captured`"]


def mark(row: dict[str, Any]) -> None:
    """A ratio counts where ours captured at least as much as the peer."""
    mine = row["captured"][OURS]
    row["counts"] = {peer: mine >= row["captured"][peer] * (1 - EQUAL) for peer in row["peers"]}


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

    if options.size == "quick":
        fits, notes = unmatched_fits(X, k)
    else:
        with threadpool_limits(max(options.threads)):
            target = captured(X, fit(max(options.threads)))
            fits, notes = peer_fits(X, k, target, limit=options.pick(10, 0, 2))
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
        finish=mark,
        notes=[
            data.topic_note(topics),
            f"{n} x {terms}, {X.nnz} non-zeros, log tf-idf, k={k}, all float32",
            *notes,
        ],
    )
