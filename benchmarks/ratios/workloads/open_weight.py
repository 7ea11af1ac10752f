"""Weights of terms and of tokens by a function in Python, beside those that are built in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import OURS, Contestant, Options, Workload, register

BUILT_IN = "built_in"


def log_tfidf(count: float, document_frequency: int, n_documents: int, length: float) -> float:
    return math.log2(count + 1) * math.log2(n_documents / document_frequency)


def token_tfidf(count: float, document_frequency: int, n_documents: int) -> float:
    return count * math.log2(n_documents / document_frequency)


def beside_built_in(
    name: str,
    words: int,
    own: Any,
    built_in: Any,
    threads: tuple[int, ...],
    rounds: int,
    check: Any,
    notes: list[str],
) -> Workload:
    """A call with the user's function, and the same with what is built in, as its only peer."""
    contestants = [Contestant(OURS, n, lambda n=n: own(n)) for n in threads]
    contestants += [Contestant(BUILT_IN, n, lambda n=n: built_in(n)) for n in threads]
    return Workload(name=name, words=words, contestants=contestants, check=check, rounds=rounds, notes=notes)


@register("open")
def weights(options: Options) -> Iterator[Workload]:
    import semproj as sj
    from semproj import kernels

    n, terms = options.pick(20_000, 5_000, 200), options.pick(20_000, 20_000, 400)
    X = data.zipf_counts(n, terms, distinct=options.pick(120, 120, 20))
    mean_length = float(X.sum()) / X.shape[0]

    def bm25(count: float, document_frequency: int, n_documents: int, length: float) -> float:
        rarity = math.log1p((n_documents - document_frequency + 0.5) / (document_frequency + 0.5))
        return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean_length))

    for name, function, kind in (("log_tfidf", log_tfidf, sj.LogTfIdf), ("bm25", bm25, sj.BM25)):
        for d in (100, 500):
            packed = kernels.Projection(data.dense(terms, d))
            own, built_in = sj.CustomWeighting(function).fit(X), kind().fit(X)
            out = np.empty((n, d), np.float32)
            expected = kernels.project(X, packed, weighting=built_in).copy()

            def check(contestant: Contestant, result: Any, expected: np.ndarray = expected) -> dict[str, Any]:
                error = float(np.abs(result - expected).max() / np.abs(expected).max())
                if not error <= 5e-6:
                    raise AssertionError(f"{contestant.name}: relative error {error:.1e}")
                return {"error": error}

            def run(weighting: Any, threads: int, packed: Any = packed, out: np.ndarray = out) -> np.ndarray:
                return kernels.project(X, packed, weighting=weighting, out=out, n_threads=threads)

            yield beside_built_in(
                f"open_{name}_d{d}",
                X.nnz,
                lambda threads, own=own, run=run: run(own, threads),
                lambda threads, built_in=built_in, run=run: run(built_in, threads),
                options.threads,
                options.pick(9, 5, 2),
                check,
                [f"{n} x {terms}, {X.nnz} non-zeros, d={d}: weighted and projected"],
            )


@register("open")
def token_weights(options: Options) -> Iterator[Workload]:
    """A fit of few sweeps: tokens are weighted once."""
    import semproj as sj

    n, topics = options.pick(10_000, 2_000, 100), options.pick(100, 50, 5)
    X = data.zipf_counts(n, options.pick(20_000, 5_000, 200), distinct=options.pick(100, 60, 20))
    heavy = sj.TfIdf().fit_transform(X)

    def fit(counts: Any, threads: int, **parameters: Any) -> np.ndarray:
        model = sj.PLSA(
            topics, init="random", max_iter=10, tol=0, random_state=0, n_threads=threads, **parameters
        ).fit(counts)
        return model.word_topics_

    expected = fit(heavy, 1)

    def check(contestant: Contestant, result: np.ndarray) -> dict[str, Any]:
        error = float(np.abs(result - expected).max())
        if not error <= 1e-3:
            raise AssertionError(f"{contestant.name}: differs by {error:.1e}")
        return {"error": error}

    yield beside_built_in(
        "open_plsa_fit",
        int(X.sum()) * 10,
        lambda threads: fit(X, threads, token_weight=token_tfidf),
        lambda threads: fit(heavy, threads),
        options.threads,
        options.pick(7, 3, 2),
        check,
        [f"{n} documents, {topics} topics, 10 sweeps; built in: of rows that were weighted before"],
    )
