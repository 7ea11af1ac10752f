"""ImplicitALS and WTMF with what is built in written as functions: part of the suite `open`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in

ALPHA, REG, MISSING_WEIGHT = 40.0, 0.1, 0.01


def confidence(x: float) -> float:
    return 1 + ALPHA * x


def one(x: float) -> float:
    return 1.0


def itself(x: float) -> float:
    return x


@register("open")
def open_als(options: Options) -> Iterator[Workload]:
    import semproj as sj

    users, items, each, k = options.pick((50_000, 20_000, 60, 100), (5_000, 3_000, 40, 64), (150, 80, 12, 4))
    counts = data.zipf_counts(users, items, each, n_topics=min(50, items // 8)).astype(np.float32)
    functions = {"confidence": confidence, "target": one}

    def als(threads: int, **functions: Any) -> Any:
        model = sj.ImplicitALS(k, alpha=ALPHA, reg=REG, max_iter=5, random_state=0, n_threads=threads, **functions)
        return model.fit(counts)

    users_note = f"{users} users, {items} items, {counts.nnz} cells; K={k}, confidence 1 + {ALPHA:g} x"
    yield beside_built_in(
        options,
        "open_implicitals_fit",
        counts.nnz,
        lambda threads: als(threads, **functions).item_vectors_,
        lambda threads: als(threads).item_vectors_,
        f"{users_note}, 5 sweeps",
    )
    models = {n: (als(n, **functions), als(n)) for n in options.threads}
    yield beside_built_in(
        options,
        "open_implicitals_users",
        counts.nnz,
        lambda threads: models[threads][0].transform(counts),
        lambda threads: models[threads][1].transform(counts),
        f"{users_note}; the vectors of all users, as of new ones",
    )
    n, terms, k = options.pick((100_000, 20_000, 100), (10_000, 5_000, 100), (150, 80, 4))
    X = sj.LogTfIdf().fit_transform(data.sentences(n, terms).counts)

    def wtmf(threads: int, **functions: Any) -> Any:
        options_of = {"missing_weight": MISSING_WEIGHT, "max_iter": 5, "random_state": 0, "n_threads": threads}
        return sj.WTMF(k, **options_of, **functions).fit(X).word_vectors_

    yield beside_built_in(
        options,
        "open_wtmf_fit",
        X.nnz,
        lambda threads: wtmf(threads, confidence=one, target=itself),
        wtmf,
        f"{n} sentences, {terms} words, {X.nnz} non-zeros, tf-idf; K={k}, 5 sweeps; built in, no weights are read",
    )
