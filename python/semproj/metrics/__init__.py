"""Measure how well vectors find what belongs to them, which of several methods are best, and if topics cohere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common.types import Array
from .._common.validation import check_finite, check_real
from ..retrieval import Metric, true_ranks
from ._coherence import coherence
from ._recall import RecallCurve, atop, recall_curve
from ._significance import McNemarResult, MethodComparison, compare_methods, mcnemar

__all__ = [
    "BestSet",
    "McNemarResult",
    "MethodComparison",
    "RecallCurve",
    "atop",
    "best_set",
    "coherence",
    "compare_methods",
    "mcnemar",
    "mrr",
    "recall_curve",
    "reciprocal_ranks",
    "top1",
]

Float64: TypeAlias = "NDArray[np.float64]"
Threads: TypeAlias = "int | None"


def reciprocal_ranks(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = "cosine", n_threads: Threads = None
) -> tuple[Float64, Float64]:
    """Return one over the rank of each row's partner, in both directions.

    These are the outcomes of single queries: their mean is `mrr`, and the share of ones is `top1`. `best_set`
    compares methods by them.

    Parameters
    ----------
    A, B, metric, n_threads
        As in `top1`.

    Returns
    -------
    forward, backward : float64 arrays of shape (n,)
        When row i of `A` looks for its partner in `B`, and when row i of `B` looks in `A`. Ranks are those of
        `semproj.retrieval.true_ranks`; 0 stands for no rank: by cosine, a vector of the pair is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import reciprocal_ranks
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> B = np.array([[1.0, 0.1], [0.9, 1.0], [0.2, 1.0]])
    >>> reciprocal_ranks(A, B)[0]
    array([1. , 0.5, 0.5])
    """
    ranks = true_ranks(A, B, metric=metric, n_threads=n_threads)
    forward, backward = (np.divide(1.0, each, out=np.zeros(len(each)), where=each > 0) for each in ranks)
    return forward, backward


def _report(forward: float, backward: float, directions: bool) -> float | tuple[float, float]:
    return (forward, backward) if directions else (forward + backward) / 2


@overload
def top1(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = ..., directions: Literal[False] = ..., n_threads: Threads = ...
) -> float: ...
@overload
def top1(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = ..., directions: Literal[True], n_threads: Threads = ...
) -> tuple[float, float]: ...
def top1(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = "cosine", directions: bool = False, n_threads: Threads = None
) -> float | tuple[float, float]:
    """Return how often the nearest vector is the right one.

    Each row of `A` looks for its partner in `B`, and each row of `B` in `A`.

    Parameters
    ----------
    A, B : array-like of shape (n, d)
        Row i of `A` and row i of `B` belong together. Finite numbers, compared in float32. The n x n scores are
        never in memory at once.
    metric : {"cosine", "inner_product", "l1", "jensen_shannon"} or function, default "cosine"
        As in `semproj.retrieval.top_k`.
    directions : bool, default False
        Return (A to B, B to A) instead of their mean.
    n_threads : int or None

    Returns
    -------
    float or (float, float)
        Fractions from 0 to 1.

    Notes
    -----
    Ties (cosines within 1e-6; see `semproj.retrieval.true_ranks` for the other metrics) count as errors. So do, by
    cosine, pairs in which one vector is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import top1
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> B = np.array([[2.0, 0.1], [0.0, 3.0], [0.0, 0.0]])
    >>> round(top1(A, B), 4)
    0.6667
    """
    ranks = true_ranks(A, B, metric=metric, n_threads=n_threads)
    forward, backward = (float(np.mean(rank == 1)) for rank in ranks)
    return _report(forward, backward, directions)


@overload
def mrr(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = ..., directions: Literal[False] = ..., n_threads: Threads = ...
) -> float: ...
@overload
def mrr(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = ..., directions: Literal[True], n_threads: Threads = ...
) -> tuple[float, float]: ...
def mrr(
    A: ArrayLike, B: ArrayLike, *, metric: Metric = "cosine", directions: bool = False, n_threads: Threads = None
) -> float | tuple[float, float]:
    """Return the mean reciprocal rank of the right vector.

    The rank is pessimistic: one plus the number of other vectors that are at least as near.

    Parameters
    ----------
    A, B, metric, directions, n_threads
        As in `top1`.

    Returns
    -------
    float or (float, float)
        Numbers from 0 to 1. Ties are those of `top1`. By cosine, a pair in which one vector is zero adds 0.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import mrr
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> mrr(A, A)
    1.0
    >>> mrr(A, A[[1, 0, 2]], directions=True)
    (0.5555555555555555, 0.5555555555555555)
    """
    found = reciprocal_ranks(A, B, metric=metric, n_threads=n_threads)
    forward, backward = (float(np.mean(each)) for each in found)
    return _report(forward, backward, directions)


@dataclass(frozen=True)
class BestSet:
    """The methods that are better than all others; see `best_set`.

    Attributes
    ----------
    names : tuple of str
        The methods in the set, best mean first.
    means : dict of str to float
        The means of all methods, best first.
    p_values : dict of str to float
        The p-value of each method against the one with the best mean, corrected for the number of comparisons. The
        best method itself has 1.
    alpha : float
    n_comparisons : int
        What p-values were multiplied by.
    """

    names: tuple[str, ...]
    means: dict[str, float]
    p_values: dict[str, float]
    alpha: float
    n_comparisons: int


def best_set(outcomes: Mapping[str, ArrayLike], *, alpha: float = 0.05) -> BestSet:
    """Return the smallest set of methods that are significantly better than all the rest.

    This is the boldface of the tables of Platt, Toutanova and Yih 2010, section 3.2.

    Parameters
    ----------
    outcomes : dict of name to array-like of shape (n_queries,)
        How each query scored under each method; higher is better: 0 or 1 for Top-1, reciprocal ranks for MRR. At
        least two finite numbers each; lengths may differ.
    alpha : float, default 0.05
        Level of significance of the whole family of comparisons.

    Returns
    -------
    BestSet

    Notes
    -----
    1. Methods are sorted by their means; equal means stay in the order given.
    2. Every pair of methods is compared by Student's unpaired two-sided t-test with pooled variance. With K
       methods, each p-value is multiplied by K (K - 1) / 2 (Bonferroni) and cut off at 1.
    3. The set is the first m methods, with the smallest m for which each of them differs from each of the others
       with a corrected p-value below `alpha`. If there is no smaller set, it is all of them.

    Two methods without any variance differ with p = 0 if their means do, and with p = 1 otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import best_set
    >>> hits = lambda n: np.arange(1000) < n
    >>> found = best_set({"a": hits(700), "b": hits(900), "c": hits(890)})
    >>> found.names
    ('b', 'c')
    >>> {name: round(p, 4) for name, p in found.p_values.items()}
    {'b': 1.0, 'c': 1.0, 'a': 0.0}
    """
    alpha = check_real(alpha, "alpha", low=0, high=1)
    scores = {str(name): _outcome(name, values) for name, values in outcomes.items()}
    if not scores:
        raise ValueError("outcomes: expected at least one method")
    means = {name: float(values.mean()) for name, values in scores.items()}
    order = sorted(scores, key=lambda name: -means[name])
    pairs = list(combinations(order, 2))
    corrected = {pair: min(1.0, len(pairs) * _t_test(scores[pair[0]], scores[pair[1]])) for pair in pairs}
    size = next(
        m for m in range(1, len(order) + 1) if all(corrected[a, b] < alpha for a in order[:m] for b in order[m:])
    )
    p_values = {name: corrected.get((order[0], name), 1.0) for name in order}
    return BestSet(tuple(order[:size]), {name: means[name] for name in order}, p_values, alpha, len(pairs))


def _outcome(name: Any, values: ArrayLike) -> Float64:
    array: Array = np.asarray(values)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(f"outcomes[{name!r}]: expected a vector of at least two numbers, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"outcomes[{name!r}]: expected real numbers, got dtype {array.dtype}")
    array = array.astype(np.float64)
    check_finite(array, f"outcomes[{name!r}]")
    return array


def _t_test(a: Float64, b: Float64) -> float:
    """The two-sided p-value of Student's unpaired t-test."""
    from scipy.special import stdtr

    freedom = len(a) + len(b) - 2
    pooled = (a.var() * len(a) + b.var() * len(b)) / freedom
    difference = abs(a.mean() - b.mean())
    if pooled == 0:
        return 1.0 if difference == 0 else 0.0
    t = difference / np.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    return float(2 * stdtr(freedom, -t))
