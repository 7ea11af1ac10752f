"""Retrieval the slow way: all scores in float64, sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Metric = str | Callable[[Any, Any], float]


def _unit(x: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.divide(x, norms, out=np.zeros_like(x), where=norms > 0)


def _entropy(p: np.ndarray) -> float:
    """In bits."""
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum())


def _jensen_shannon(u: np.ndarray, v: np.ndarray) -> float:
    p, q = u / u.sum(), v / v.sum()
    return _entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2


def scores(queries: np.ndarray, corpus: np.ndarray, metric: Metric) -> np.ndarray:
    """n x m; similarities for cosine and inner product, distances otherwise."""
    a, b = np.asarray(queries, np.float64), np.asarray(corpus, np.float64)
    if metric == "cosine":
        return _unit(a) @ _unit(b).T
    if metric == "inner_product":
        return a @ b.T
    pair = {"l1": lambda u, v: np.abs(u - v).sum(), "jensen_shannon": _jensen_shannon}.get(metric, metric)
    return np.array([[pair(u, v) for v in b] for u in a]).reshape(len(a), len(b))


def _costs(queries: np.ndarray, corpus: np.ndarray, metric: Metric) -> np.ndarray:
    found = scores(queries, corpus, metric)
    return -found if metric in ("cosine", "inner_product") else found


def top_k(queries: np.ndarray, corpus: np.ndarray, k: int, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(_costs(queries, corpus, metric), axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores(queries, corpus, metric), order, axis=1)


def true_ranks(A: np.ndarray, B: np.ndarray, metric: Metric, tie: float = 1e-9) -> tuple[np.ndarray, np.ndarray]:
    """One plus the others that are as near or nearer; the pair's own score is among those counted."""
    costs = _costs(A, B, metric)
    own = np.diag(costs) + tie
    return (costs <= own[:, None]).sum(axis=1), (costs <= own).sum(axis=0)


def gold_ranks(
    queries: np.ndarray,
    corpus: np.ndarray,
    gold: list[list[int]],
    metric: Metric,
    among: Any = None,
    tie: float = 1e-9,
) -> tuple[np.ndarray, np.ndarray]:
    """Rivals that are nearer to the query than the gold row, and others that are as near."""
    costs = _costs(queries, corpus, metric)
    rivals = range(len(corpus)) if among is None else sorted(set(among))
    nearer, tied = [], []
    for query, rows in enumerate(gold):
        for row in rows:
            gaps = np.array([costs[query, rival] - costs[query, row] for rival in rivals if rival != row])
            nearer.append(np.count_nonzero(gaps < -tie))
            tied.append(np.count_nonzero(np.abs(gaps) <= tie))
    return np.array(nearer), np.array(tied)
