"""Names matched by their trigrams, beside sparse_dot_topn: exact for both."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.names import trigrams
from benchmarks.ratios import OURS, Contestant, Options, Workload, register

K, SAME = 10, 1e-5


@register("names")
def matched_names(options: Options) -> Iterator[Workload]:
    from semproj.retrieval import top_k

    n, m = options.pick((100_000, 100_000), (5_000, 20_000), (50, 400))
    queries, corpus = trigrams(n, m)
    contestants = [Contestant(OURS, t, partial(top_k, queries, corpus, K, n_threads=t)) for t in options.threads]
    if (peer := peers.available("sparse_dot_topn")) is not None:

        def search(threads: int) -> Any:
            return peer.sp_matmul_topn(queries, corpus.T.tocsr(), top_n=K, sort=True, n_threads=threads)

        contestants += [Contestant("sparse_dot_topn", t, partial(search, t)) for t in options.threads]
    expected: list[np.ndarray] = []

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        """All have the same scores; rows with equal ones may come in any order."""
        if contestant.name == OURS:
            sums = np.nansum(result[1], axis=1, dtype=np.float64)
        else:
            sums = np.asarray(result.sum(axis=1, dtype=np.float64)).ravel()
        expected.append(sums)
        if not np.abs(sums - expected[0]).max() <= SAME * K:
            raise AssertionError(f"{contestant.name}: other scores")
        return {}

    yield Workload(
        name="topk_names",
        words=n * m,
        contestants=contestants,
        check=check,
        rounds=options.pick(3, 3, 2),
        notes=[
            f"{n} misspelt names, {m} names, k={K}: tf-idf of {corpus.shape[1]} trigrams, cosine, in sparse rows; "
            "both transpose the names in the call"
        ],
    )
