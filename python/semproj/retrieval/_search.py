"""Nearest rows and ranks of a corpus that is given with each call, and the checks of vectors and metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from .. import _core
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import check_finite, check_integer
from ._sparse import are_sparse, check_sparse_metric, sparse_rows
from ._sparse import nearest as sparse_nearest

__all__ = ["gold_ranks", "top_k", "true_ranks"]

METRICS = ("cosine", "inner_product", "l1", "jensen_shannon")
Metric: TypeAlias = "str | Callable[[Any, Any], float]"
Int64: TypeAlias = "npt.NDArray[np.int64]"
Float32: TypeAlias = "npt.NDArray[np.float32]"
Gold: TypeAlias = "Sequence[int | Sequence[int]] | npt.NDArray[np.integer[Any]]"


def top_k(
    queries: npt.ArrayLike,
    corpus: npt.ArrayLike,
    k: int = 10,
    *,
    metric: Metric = "cosine",
    n_threads: int | None = None,
) -> tuple[Int64, Float32]:
    """Return the k nearest rows of a corpus for each query.

    Parameters
    ----------
    queries : array-like or sparse matrix of shape (n, d)
    corpus : array-like or sparse matrix of shape (m, d)
        Finite numbers. float32 rows are read in place; other types are converted to float32. Either both are
        sparse, or none: sparse rows stay so, and are for "cosine", "inner_product" and functions.
    k : int, default 10
        From 1 to m.
    metric : {"cosine", "inner_product", "l1", "jensen_shannon"} or function, default "cosine"
        "cosine"
            A zero vector has no direction: as a query it finds nothing, and as a row it is not found.
        "inner_product"
            Raises an error if a score could leave the range of float32.
        "l1"
            Sum of absolute differences.
        "jensen_shannon"
            Divergence in bits, from 0 to 1 (not its square root). Rows must not be negative; each is divided by
            its sum, which must not be zero.
        function
            ``distance(u, v)`` of two float32 vectors; lower is nearer. Numba compiles it once for each function
            object, unless you have done so. Of sparse rows ``distance(indices_u, values_u, indices_v, values_v)``:
            see docs/functions.md.
    n_threads : int or None

    Returns
    -------
    indices : int64 array of shape (n, k)
        Nearest first; among equals, the smaller index first. -1 where nothing is left to be found, which only
        zero vectors bring about, by cosine.
    scores : float32 array of shape (n, k)
        Similarities for "cosine" and "inner_product", distances otherwise; NaN where the index is -1.

    Notes
    -----
    A score depends on its two rows alone: bits are the same for any number of threads and any batch of queries.
    Up to seven queries read the corpus once as it lies, so one of them takes about as long as its bytes take to
    come from memory (not by Jensen-Shannon divergence, nor below 64 columns).
    The n x m scores are never in memory at once. Beyond the result, each thread takes a few megabytes, each row 16
    bytes, and each of some ten thousand queries at a time up to 16 (k + 32) bytes.

    Sparse rows have the order, ties and zeros of the same rows made dense; scores may differ in the last digits.
    A query walks the lists of rows of its columns, the rarest first, and not those of the commonest, if they can
    lift no row into the k best. It takes 14 bytes an entry of `corpus`, and 4 a column.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.retrieval import top_k
    >>> corpus = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> indices, scores = top_k([[2.0, 1.0]], corpus, k=2)
    >>> indices
    array([[2, 0]])
    >>> scores.round(4)
    array([[0.9487, 0.8944]], dtype=float32)
    >>> top_k([[2.0, 1.0]], corpus, k=1, metric="l1")
    (array([[2]]), array([[1.]], dtype=float32))
    """
    threads = resolve_threads(n_threads)
    metric = check_metric(metric)
    sparse = are_sparse(queries, corpus)
    left, right = (_comparable_sparse if sparse else _comparable)(queries, corpus, metric)
    if right.shape[0] == 0:
        raise ValueError("corpus: expected at least one row")
    k = check_integer(k, "k", low=1)
    if k > right.shape[0]:
        raise ValueError(f"k: expected at most the {right.shape[0]} rows of corpus, got {k}")
    if sparse:
        return sparse_nearest(left, right, k, metric, threads)
    if callable(metric):
        from ..jit.retrieval import nearest

        return nearest(metric, left, right, k, threads)
    best = _core.top_k(left, right, k, metric, threads)
    return best.indices, best.scores


def true_ranks(
    A: npt.ArrayLike, B: npt.ArrayLike, *, metric: Metric = "cosine", n_threads: int | None = None
) -> tuple[Int64, Int64]:
    """Return the rank of each row's partner, in both directions from one pass over the scores.

    Row i of `A` and row i of `B` are partners. The rank is one plus the number of other rows that are at least as
    near: ties count against the partner.

    Parameters
    ----------
    A, B : array-like of shape (n, d), or for a function sparse matrices
    metric, n_threads
        As in `top_k`.

    Returns
    -------
    forward : int64 array of shape (n,)
        The rank of row i of `B` when row i of `A` asks.
    backward : int64 array of shape (n,)
        The rank of row i of `A` when row i of `B` asks. By cosine, both are 0 (no rank) if either vector is zero.

    Notes
    -----
    Equal rows have scores of equal bits, but rows that differ in their length or last digit need not. So scores
    tie if they differ by less than 1e-6 for "cosine" and "jensen_shannon", 1e-6 of the product of the pair's
    lengths for "inner_product", and 1e-6 of the pair's distance for "l1" and functions.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.retrieval import true_ranks
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> B = np.array([[1.0, 0.1], [0.9, 1.0], [0.2, 1.0]])
    >>> true_ranks(A, B)
    (array([1, 2, 2]), array([1, 2, 2]))
    """
    threads = resolve_threads(n_threads)
    metric = check_metric(metric)
    sparse = callable(metric) and are_sparse(A, B)
    first: Any = sparse_rows(A, "A") if sparse else as_rows(A, "A", metric)
    second: Any = sparse_rows(B, "B") if sparse else as_rows(B, "B", metric)
    if first.shape != second.shape:
        raise ValueError(f"B: expected the shape of A, {first.shape}, got {second.shape}")
    if first.shape[0] == 0:
        raise ValueError("A: expected at least one row")
    if callable(metric):
        from ..jit.retrieval import partner_ranks

        check_finite(first.data if sparse else first, "A")
        check_finite(second.data if sparse else second, "B")
        return partner_ranks(metric, first, second, threads)
    both = _core.true_ranks(first, second, metric, threads)
    return both.forward, both.backward


def gold_ranks(
    queries: npt.ArrayLike,
    corpus: npt.ArrayLike,
    gold: Gold,
    *,
    among: npt.ArrayLike | None = None,
    metric: Metric = "cosine",
    n_threads: int | None = None,
) -> tuple[Int64, Int64]:
    """Count the rows of a corpus that are nearer to a query than the rows that it ought to find.

    Parameters
    ----------
    queries, corpus, metric, n_threads
        As in `top_k`.
    gold : sequence of n row numbers, or of n sequences of row numbers
        What each query ought to find: at least one row of `corpus`.
    among : array-like of row numbers or None, default None
        The rivals: only these rows are counted, each once. None counts all.

    Returns
    -------
    nearer, tied : int64 arrays with an element for each gold row, those of the first query first
        How many rivals are nearer, and how many others are as near, within the margins of `true_ranks`. By cosine,
        both are -1 (no rank) if the gold row or its query is zero.

    Notes
    -----
    Other gold rows of the same query are rivals, too. The n x m scores are never in memory at once; bits do not
    depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.retrieval import gold_ranks
    >>> corpus = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> gold_ranks([[2.0, 1.0], [0.0, 1.0]], corpus, [[2, 3], [1]])
    (array([0, 1, 0]), array([0, 1, 0]))
    """
    threads = resolve_threads(n_threads)
    metric = check_metric(metric)
    left, right = _comparable(queries, corpus, metric)
    starts, rows = gold_rows(gold, len(left), len(right))
    rivals = len(right)
    if among is not None:
        chosen = np.unique(check_rows(among, "among", len(right)))
        rest = np.setdiff1d(rows, chosen)
        place = np.empty(len(right), np.int64)
        place[chosen] = np.arange(len(chosen))
        place[rest] = len(chosen) + np.arange(len(rest))
        rows, right, rivals = place[rows], right[np.concatenate([chosen, rest])], len(chosen)
    if callable(metric):
        from ..jit.retrieval import rival_counts

        return rival_counts(metric, left, right, rivals, starts, rows, threads)
    found = _core.gold_ranks(left, right, rivals, starts, rows, metric, threads)
    return found.nearer, found.tied


def _comparable(queries: npt.ArrayLike, corpus: npt.ArrayLike, metric: Metric) -> tuple[Float32, Float32]:
    """Check that both have as many columns and, for a function, are finite; compiled metrics check that."""
    left, right = as_rows(queries, "queries", metric), as_rows(corpus, "corpus", metric)
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"corpus: expected {left.shape[1]} columns, as queries has, got {right.shape[1]}")
    if callable(metric):
        check_finite(left, "queries")
        check_finite(right, "corpus")
    return left, right


def _comparable_sparse(queries: Any, corpus: Any, metric: Metric) -> tuple[Any, Any]:
    """The same for sparse rows, as CSR."""
    check_sparse_metric(metric)
    left, right = sparse_rows(queries, "queries"), sparse_rows(corpus, "corpus")
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"corpus: expected {left.shape[1]} columns, as queries has, got {right.shape[1]}")
    return left, right


def gold_rows(gold: Any, n_queries: int, n_rows: int) -> tuple[Int64, Int64]:
    """Return row numbers query by query, and where those of each query start."""
    if len(gold) != n_queries:
        raise ValueError(f"gold: expected an element for each of the {n_queries} queries, got {len(gold)}")
    found = [check_rows(np.atleast_1d(np.asarray(rows)), f"gold[{i}]", n_rows) for i, rows in enumerate(gold)]
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in found], dtype=np.int64)])
    return starts, np.concatenate([np.empty(0, np.int64), *found])


def check_rows(values: Any, name: str, n_rows: int) -> Int64:
    """Check that there is at least one row number, and that all are in range."""
    rows = np.asarray(values)
    if rows.ndim != 1 or len(rows) == 0:
        raise ValueError(f"{name}: expected at least one row number, got shape {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got dtype {rows.dtype}")
    if rows.min() < 0 or rows.max() >= n_rows:
        raise ValueError(f"{name}: expected rows from 0 to {n_rows - 1}, got {rows.min()} to {rows.max()}")
    return rows.astype(np.int64)


def check_metric(metric: Any) -> Metric:
    """Check that a metric is one of the names, or a function."""
    if not callable(metric) and (not isinstance(metric, str) or metric not in METRICS):
        names = ", ".join(map(repr, METRICS))
        raise ValueError(f"metric: expected one of {names} or a function, got {metric!r}")
    return cast(Metric, metric)


def as_rows(vectors: Any, name: str, metric: Metric) -> Float32:
    """Return a float32 matrix with contiguous rows; it is the caller's own memory if that is one already."""
    if hasattr(vectors, "toarray"):
        raise TypeError(f"{name}: expected a dense array, got a sparse one; pass its .toarray()")
    rows = np.asarray(vectors)
    if rows.ndim != 2:
        raise ValueError(f"{name}: expected a 2-dimensional array, got {rows.ndim} dimension(s)")
    if rows.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected an array of real numbers, got dtype {rows.dtype}")
    if rows.shape[1] == 0:
        raise ValueError(f"{name}: expected at least one column")
    if rows.dtype != np.float32:
        rows = _narrowed(rows, name, scaled=metric in ("cosine", "jensen_shannon"))
    contiguous = rows.shape[1] == 1 or rows.strides[1] == rows.itemsize
    if not (rows.dtype.isnative and rows.flags.aligned and contiguous):
        rows = np.array(rows, np.float32, order="C")
    return cast(Float32, rows)


def _narrowed(rows: Array, name: str, *, scaled: bool) -> Array:
    """Convert to float32. If the length of a row does not matter, neither does the range of float32."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = rows.astype(np.float32, order="C")
        if rows.dtype.kind != "f" or rows.dtype.itemsize < 8 or not rows.size:
            return narrow
        largest = np.abs(rows).max(axis=1)
        check_finite(largest, name)
        if scaled:
            outside = (largest > 1e30) | ((largest < 1e-30) & (largest > 0))
            narrow[outside] = rows[outside] / largest[outside, None]
        elif largest.max() > np.finfo(np.float32).max:
            raise ValueError(f"{name}: contains numbers outside of the range of float32")
    return narrow
