"""ImplicitALS and WTMF by functions of what is built in, beside the built-in; a part of the suite `open`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import OURS, Contestant, Options, Workload, register

ALPHA, REG, MISSING_WEIGHT = 40.0, 0.1, 0.01
BUILT_IN = "built_in"


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
    known = {n: (als(n, **functions), als(n)) for n in options.threads}
    yield beside_built_in(
        options,
        "open_implicitals_users",
        counts.nnz,
        lambda threads: known[threads][0].transform(counts),
        lambda threads: known[threads][1].transform(counts),
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


def beside_built_in(
    options: Options,
    name: str,
    words: int,
    by_function: Callable[[int], np.ndarray],
    built_in: Callable[[int], np.ndarray],
    note: str,
) -> Workload:
    """The same arrays twice: by functions, and by what is built in. They must have the same bits."""
    contestants = [Contestant(BUILT_IN, n, lambda n=n: built_in(n)) for n in options.threads]
    contestants += [Contestant(OURS, n, lambda n=n: by_function(n)) for n in options.threads]
    expected: list[bytes] = []

    def check(contestant: Contestant, result: np.ndarray) -> dict[str, Any]:
        expected.append(result.tobytes())
        if expected[-1] != expected[0]:
            raise AssertionError(f"{contestant.name}: other bits than {BUILT_IN}")
        return {}

    def finish(row: dict[str, Any]) -> None:
        row["times_built_in"] = row["ours_seconds"] / row["seconds"][BUILT_IN]

    return Workload(
        name=name,
        words=words,
        contestants=contestants,
        check=check,
        rounds=options.pick(5, 7, 2),
        finish=finish,
        notes=[note, "ours: by functions, compiled before; built_in: the same without them"],
    )
