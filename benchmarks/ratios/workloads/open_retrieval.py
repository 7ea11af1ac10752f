"""Nearest rows by metrics written as functions, of dense rows and of sparse ones: part of the suite `open`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.names import trigrams
from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in
from benchmarks.ratios.workloads.retrieval import vectors

K = 10


def cosine(u: Any, v: Any) -> float:
    dot = u_squared = v_squared = np.float32(0)
    for i in range(len(u)):
        dot += u[i] * v[i]
        u_squared += u[i] * u[i]
        v_squared += v[i] * v[i]
    return 1 - dot / math.sqrt(u_squared * v_squared)


def negative_product(u: Any, v: Any) -> float:
    dot = np.float32(0)
    for i in range(len(u)):
        dot += u[i] * v[i]
    return -dot


def l1(u: Any, v: Any) -> float:
    total = np.float32(0)
    for i in range(len(u)):
        total += abs(u[i] - v[i])
    return total


def sparse_product(indices_u: Any, values_u: Any, indices_v: Any, values_v: Any) -> float:
    dot = np.float32(0)
    i = j = 0
    while i < len(indices_u) and j < len(indices_v):
        a, b = indices_u[i], indices_v[j]
        if a == b:
            dot += values_u[i] * values_v[j]
        i += a <= b
        j += b <= a
    return -dot


@register("open")
def open_retrieval(options: Options) -> Iterator[Workload]:
    from semproj.retrieval import top_k

    n, m = options.pick((1000, 20_000), (500, 8_000), (20, 150))
    dense = vectors(n, m, 200)
    few = options.pick((1000, 20_000), (500, 5_000), (20, 150))
    # Distances of functions, as the scores that are built in: ``shift + sign * distance``
    for name, rows, metric, built_in, (shift, sign) in (
        ("cosine_d200", dense, cosine, "cosine", (1, -1)),
        ("product_d200", dense, negative_product, "inner_product", (0, -1)),
        ("l1_d200", dense, l1, "l1", (0, 1)),
        ("product_names", trigrams(*few), sparse_product, "inner_product", (0, -1)),
    ):

        def by_function(
            threads: int, rows: Any = rows, metric: Any = metric, shift: int = shift, sign: int = sign
        ) -> np.ndarray:
            return shift + sign * top_k(*rows, K, metric=metric, n_threads=threads)[1]

        def by_name(threads: int, rows: Any = rows, built_in: str = built_in) -> np.ndarray:
            return top_k(*rows, K, metric=built_in, n_threads=threads)[1]

        yield beside_built_in(
            options,
            f"open_topk_{name}",
            rows[0].shape[0] * rows[1].shape[0],
            by_function,
            by_name,
            f"{rows[0].shape[0]} queries, {rows[1].shape[0]} rows, k={K}; the scores",
            error=1e-5,
        )
