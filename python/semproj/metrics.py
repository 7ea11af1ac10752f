"""Retrieval measures over two sets of vectors whose rows belong together."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

__all__ = ["mrr", "top1"]

Float32 = npt.NDArray[np.float32]

# The same two vectors may get scores some units in the last place apart, depending on where they fall in a
# block of a matrix product. Without a margin, rounding would settle ties, and not always against us.
_TIE = np.float32(1e-6)
_BLOCK_ELEMENTS = 1 << 22  # scores held at a time: 16 MiB


def _unit_rows(name: str, vectors: Any) -> Float32:
    if hasattr(vectors, "toarray"):
        raise TypeError(f"{name}: expected a dense array, got a sparse one; pass its .toarray()")
    rows = np.asarray(vectors)
    if rows.ndim != 2:
        raise ValueError(f"{name}: expected a 2-dimensional array, got {rows.ndim} dimension(s)")
    if rows.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected an array of real numbers, got dtype {rows.dtype}")
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
    # Scaled by the largest element first: the squares of very small or large ones leave a float's range.
    largest = np.abs(rows).max(axis=1, initial=0)
    if not np.isfinite(largest).all():
        raise ValueError(f"{name}: contains NaN or infinity")
    largest[largest == 0] = 1
    unit: Float32 = (rows / largest[:, None]).astype(np.float32, copy=False)
    norms = np.sqrt(np.einsum("ij,ij->i", unit, unit, dtype=np.float64))
    norms[norms == 0] = 1
    unit /= norms[:, None].astype(np.float32)
    return unit


def _reciprocal_ranks(A: Any, B: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of each row of A among the rows of B, and of each row of B among those of A; 0 for zero vectors."""
    first, second = _unit_rows("A", A), _unit_rows("B", B)
    if first.shape != second.shape:
        raise ValueError(f"B: expected the shape of A, {first.shape}, got {second.shape}")
    n = len(first)
    if n == 0:
        raise ValueError("A: expected at least one row")
    threshold = np.einsum("ij,ij->i", first, second) - _TIE
    row_ranks, column_ranks = np.empty(n, np.int64), np.zeros(n, np.int64)
    step = max(1, _BLOCK_ELEMENTS // n)
    for start in range(0, n, step):
        block = slice(start, start + step)
        scores = first[block] @ second.T
        # The true one is counted too, whatever rounding does to it, which makes the count the rank.
        mine = np.arange(start, min(start + step, n))
        scores[mine - start, mine] = np.inf
        row_ranks[block] = np.count_nonzero(scores >= threshold[block, None], axis=1)
        column_ranks += np.count_nonzero(scores >= threshold, axis=0)
    scored = first.any(axis=1) & second.any(axis=1)
    return np.where(scored, 1 / row_ranks, 0.0), np.where(scored, 1 / column_ranks, 0.0)


def _report(forward: float, backward: float, directions: bool) -> float | tuple[float, float]:
    return (forward, backward) if directions else (forward + backward) / 2


@overload
def top1(A: npt.ArrayLike, B: npt.ArrayLike, *, directions: Literal[False] = False) -> float: ...
@overload
def top1(A: npt.ArrayLike, B: npt.ArrayLike, *, directions: Literal[True]) -> tuple[float, float]: ...
def top1(A: npt.ArrayLike, B: npt.ArrayLike, *, directions: bool = False) -> float | tuple[float, float]:
    """Return how often the nearest vector by cosine is the right one.

    Row i of `A` and row i of `B` belong together. Each row of `A` looks for its partner in `B` and
    each row of `B` in `A`.

    Parameters
    ----------
    A, B : array-like of shape (n, d)
        Finite numbers, compared in float32. The n x n scores are never in memory at once.
    directions : bool, default=False
        Return (A to B, B to A) and not their mean.

    Returns
    -------
    float or (float, float)
        Fractions from 0 to 1.

    Notes
    -----
    Ties (scores within 1e-6) count as errors, and so does a pair in which one of the vectors is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import top1
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> B = np.array([[2.0, 0.1], [0.0, 3.0], [0.0, 0.0]])
    >>> round(top1(A, B), 4)
    0.6667
    """
    forward, backward = (float(np.mean(ranks == 1)) for ranks in _reciprocal_ranks(A, B))
    return _report(forward, backward, directions)


@overload
def mrr(A: npt.ArrayLike, B: npt.ArrayLike, *, directions: Literal[False] = False) -> float: ...
@overload
def mrr(A: npt.ArrayLike, B: npt.ArrayLike, *, directions: Literal[True]) -> tuple[float, float]: ...
def mrr(A: npt.ArrayLike, B: npt.ArrayLike, *, directions: bool = False) -> float | tuple[float, float]:
    """Return the mean reciprocal rank of the right vector by cosine.

    The rank is pessimistic: one plus the number of other vectors that score at least as high. Otherwise as
    `top1`.

    Parameters
    ----------
    A, B : array-like of shape (n, d)
        Finite numbers, compared in float32. The n x n scores are never in memory at once.
    directions : bool, default=False
        Return (A to B, B to A) and not their mean.

    Returns
    -------
    float or (float, float)
        Numbers from 0 to 1.

    Notes
    -----
    Scores within 1e-6 are ties. A pair in which one of the vectors is zero adds 0.

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
    forward, backward = (float(np.mean(ranks)) for ranks in _reciprocal_ranks(A, B))
    return _report(forward, backward, directions)
