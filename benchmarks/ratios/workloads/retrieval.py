"""Nearest vectors and true ranks by brute force, exact for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

Check = Callable[[Contestant, Any], dict[str, Any]]
# workload: metric, columns, k, queries and corpus rows of a quick run
CASES = {
    "topk_cosine_d500": ("cosine", 500, 10, (250, 4_000)),
    "topk_cosine_d100_k100": ("cosine", 100, 100, (500, 8_000)),
    "topk_cosine_d2000_k1": ("cosine", 2000, 1, (120, 2_000)),
    "topk_l1_d500": ("l1", 500, 10, (100, 3_000)),
    "topk_js_d200": ("jensen_shannon", 200, 10, (60, 2_000)),
}
RANKS = "ranks_cosine_d1000"
# one query: columns and corpus rows
SINGLE = {
    "one_cosine_d200": (200, 100_000),
    "one_cosine_d500": (500, 100_000),
    "one_cosine_d200_10k": (200, 10_000),
    "one_cosine_d500_10k": (500, 10_000),
}
NOTE = "gaussian vectors around 100 centres; Jensen-Shannon: their magnitudes, each row divided by its sum"
TIE = 1e-5


def vectors(n: int, m: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Queries and corpus, float32: noise around the same centres, so that some rows are near and most are not."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((100, d), dtype=np.float32)
    both = centres[rng.integers(0, 100, n + m)] + 1.5 * rng.standard_normal((n + m, d), dtype=np.float32)
    return both[:n].copy(), both[n:].copy()


def _distances(query: np.ndarray, corpus: np.ndarray, metric: str) -> np.ndarray:
    from scipy.spatial.distance import cdist

    return cdist(query[None].astype(np.float64), corpus.astype(np.float64), peers.SCIPY_METRICS[metric])[0]


def checker(queries: np.ndarray, corpus: np.ndarray, k: int, metric: str) -> Check:
    """The rows found for some of the queries are, in float64, no farther than the true ones."""
    picked = np.linspace(0, len(queries) - 1, min(12, len(queries))).astype(int)
    truth = {i: _distances(queries[i], corpus, metric) for i in picked}

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        ids = np.asarray(result[0])
        if ids.shape != (len(queries), k):
            raise AssertionError(f"{contestant.name}: wrong shape {ids.shape}")
        for i, distances in truth.items():
            found, best = distances[ids[i]], np.sort(distances)[:k]
            if len(set(ids[i].tolist())) != k or not np.allclose(np.sort(found), best, rtol=TIE, atol=TIE):
                raise AssertionError(f"{contestant.name}: rows of query {i} are farther than the nearest")
        return {}

    return check


def _search(options: Options, metric: str, queries: np.ndarray, corpus: np.ndarray, k: int) -> list[Contestant]:
    from semproj.retrieval import top_k

    mine = [
        Contestant(OURS, n, partial(top_k, queries, corpus, k, metric=metric, n_threads=n))
        for n in options.threads
    ]
    for n in options.threads:
        runner = peers.faiss_search(corpus, queries, k, metric, n)
        if runner is not None:
            mine.append(Contestant("faiss", n, runner))
    mine.append(Contestant("scipy", None, partial(peers.scipy_search, corpus, queries, k, metric)))
    if metric != "jensen_shannon":  # scikit-learn calls Python for every pair of rows: minutes
        index = peers.sklearn_search(corpus, k, metric)
        search = partial(index.kneighbors, queries)
        mine += [Contestant("sklearn", n, lambda search=search: search()[::-1]) for n in options.threads]
    return mine


def _cost(pairs: int, d: int, metric: str) -> Cost:
    operations = {"cosine": 2, "l1": 3, "jensen_shannon": 40}[metric]
    return Cost(fma_peak=float(operations) * pairs * d, meaning=f"fma: {operations} x pairs x d")


def _rank_peers(A: np.ndarray, B: np.ndarray, threads: int | None) -> tuple[np.ndarray, np.ndarray]:
    """All scores by BLAS, counted by NumPy: the obvious way, where n x n fits into memory."""
    left, right = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (A, B))
    scores = left @ right.T
    own = np.diag(scores) - np.float32(1e-6)
    return np.count_nonzero(scores >= own[:, None], axis=1), np.count_nonzero(scores >= own, axis=0)


def _ranks(options: Options) -> Workload:
    from semproj.retrieval import true_ranks

    n, d = options.pick((10_000, 1000), (1_200, 1000), (60, 30))
    A, B = vectors(n, n, d)
    B = A + 4 * B
    expected = _rank_peers(A.astype(np.float64), B.astype(np.float64), None)

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        for found, ranks in zip(result, expected, strict=True):
            # Scores within the margin of float32 may be counted either way.
            if (
                not np.mean(np.abs(found - ranks) > 1e-3 * n) < 1e-3
                or np.abs(found.mean() - ranks.mean()) > 0.01 * n
            ):
                raise AssertionError(f"{contestant.name}: other ranks")
        return {}

    contestants = [
        Contestant(OURS, t, partial(true_ranks, A, B, metric="cosine", n_threads=t)) for t in options.threads
    ]
    contestants += [Contestant("scipy", t, partial(_rank_peers, A, B, t)) for t in options.threads]
    return Workload(
        name=RANKS,
        words=n * n,
        contestants=contestants,
        check=check,
        cost=_cost(n * n, d, "cosine"),
        rounds=options.pick(7, 3, 2),
        notes=[NOTE, f"{n} pairs, d={d}; scipy: the n x n product by BLAS, counted by NumPy in both directions"],
    )


def _product(query: np.ndarray, unit: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """One product by BLAS, and NumPy's partition: the obvious way."""
    scores = unit @ (query[0] / np.linalg.norm(query))
    best = np.argpartition(scores, -k)[-k:]
    best = best[np.argsort(-scores[best])]
    return best[None], scores[best][None]


def _single(options: Options, name: str) -> Workload:
    """The latency of one query against rows that all have prepared but `top_k`, which takes them as they are."""
    from semproj.retrieval import Index, top_k

    (d, full), k = SINGLE[name], 10
    m = options.pick(full, full, 150)
    query, corpus = vectors(1, m, d)
    unit = corpus / np.linalg.norm(corpus, axis=1, keepdims=True)
    contestants = []
    for n in options.threads:
        contestants.append(Contestant(OURS, n, partial(Index(corpus, n_threads=n).search, query, k)))
        narrow = Index(corpus, storage="int8", n_threads=n)
        contestants.append(Contestant("ours int8", n, partial(narrow.search, query, k)))
        contestants.append(Contestant("ours top_k", n, partial(top_k, query, corpus, k, n_threads=n)))
        for peer, metric in (("faiss", "cosine"), ("faiss l2", "l2 of unit rows")):
            runner = peers.faiss_search(corpus, query, k, metric, n)
            if runner is not None:
                contestants.append(Contestant(peer, n, runner))
    contestants.append(Contestant("scipy", None, partial(_product, query, unit, k)))
    return Workload(
        name=name,
        words=m,
        contestants=contestants,
        check=checker(query, corpus, k, "cosine"),
        cost=Cost(copy_bandwidth=4.0 * m * d, meaning="copy: 4 x rows x d bytes, which are only read"),
        rounds=options.pick(15, 11, 2),
        most_seconds=options.pick(5.0, 3.0, 2.0),
        notes=[
            NOTE,
            f"one query, {m} corpus rows, d={d}, k={k}; all have unit rows ready but top_k; faiss: IndexFlatIP "
            "and IndexFlatL2; scipy: BLAS and NumPy",
        ],
    )


@register("retrieval")
def retrieval(options: Options) -> Iterator[Workload]:
    for name in SINGLE:
        yield _single(options, name)
    for name, (metric, d, k, quick) in CASES.items():
        full = (1_000, 20_000) if metric == "cosine" else (400, 20_000)
        n, m = options.pick(full, quick, (20, 150))
        queries, corpus = vectors(n, m, d)
        if metric == "jensen_shannon":
            queries, corpus = (np.abs(x) / np.abs(x).sum(axis=1, keepdims=True) for x in (queries, corpus))
        yield Workload(
            name=name,
            words=n * m,
            contestants=_search(options, metric, queries, corpus, k),
            check=checker(queries, corpus, k, metric),
            cost=_cost(n * m, d, metric),
            rounds=options.pick(7, 3, 2),
            most_seconds=options.pick(15.0, 3.0, 3.0),
            notes=[
                NOTE,
                f"{n} queries, {m} corpus rows, d={d}, k={k}; faiss: flat index built beforehand, queries brought "
                "to unit length in the call; sklearn fitted beforehand; ours does all of it in the call",
            ],
        )
    yield _ranks(options)
