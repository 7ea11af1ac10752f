"""Weights of terms and of tokens by a function in Python, beside those that are built in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in


def log_tfidf(count: float, document_frequency: int, n_documents: int, length: float) -> float:
    return math.log2(count + 1) * math.log2(n_documents / document_frequency)


def token_tfidf(count: float, document_frequency: int, n_documents: int) -> float:
    return count * math.log2(n_documents / document_frequency)


@register("open")
def open_weight(options: Options) -> Iterator[Workload]:
    yield from _projections(options)
    yield _topics(options)


def _projections(options: Options) -> Iterator[Workload]:
    import semproj as sj
    from semproj import kernels

    n, terms = options.pick((20_000, 20_000), (5_000, 20_000), (200, 400))
    X = data.zipf_counts(n, terms, distinct=options.pick(120, 120, 20))
    mean_length = float(X.sum()) / X.shape[0]

    def bm25(count: float, document_frequency: int, n_documents: int, length: float) -> float:
        rarity = math.log1p((n_documents - document_frequency + 0.5) / (document_frequency + 0.5))
        return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean_length))

    for name, function, kind in (("log_tfidf", log_tfidf, sj.LogTfIdf), ("bm25", bm25, sj.BM25)):
        for d in (100, 500):
            packed = kernels.Projection(data.dense(terms, d))
            out = np.empty((n, d), np.float32)

            def run(threads: int, weighting: Any, packed: Any = packed, out: np.ndarray = out) -> np.ndarray:
                return kernels.project(X, packed, weighting=weighting, out=out, n_threads=threads)

            yield beside_built_in(
                options,
                f"open_{name}_d{d}",
                X.nnz,
                partial(run, weighting=sj.CustomWeighting(function).fit(X)),
                partial(run, weighting=kind().fit(X)),
                f"{n} x {terms}, {X.nnz} non-zeros, d={d}: weighted and projected",
                error=5e-6,
                rounds=options.pick(9, 9, 2),
            )


def _topics(options: Options) -> Workload:
    """A fit of few sweeps: tokens are weighted once."""
    import semproj as sj

    n, terms, topics = options.pick((10_000, 20_000, 100), (2_000, 5_000, 50), (100, 200, 5))
    X = data.zipf_counts(n, terms, distinct=options.pick(100, 60, 20))
    heavy = sj.TfIdf().fit_transform(X)

    def fit(threads: int, counts: Any, **parameters: Any) -> np.ndarray:
        fixed = {"init": "random", "max_iter": 10, "tol": 0, "random_state": 0}
        return sj.PLSA(topics, n_threads=threads, **fixed, **parameters).fit(counts).word_topics_

    return beside_built_in(
        options,
        "open_plsa_fit",
        int(X.sum()) * 10,
        partial(fit, counts=X, token_weight=token_tfidf),
        partial(fit, counts=heavy),
        f"{n} documents, {topics} topics, 10 sweeps; built in: of rows that were weighted before",
        error=1e-2,
    )
