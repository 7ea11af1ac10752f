"""What a fit costs with each solver, by the shapes of its matrices: solvers are chosen by it.

The unit is a flop of a dense factorisation in float32. What a flop of other kernels takes in it was measured
on shapes of several sizes, with one thread: their ratios hardly depend on the machine, and a choice that is wrong
where two solvers are about equal costs little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DOUBLE = 2.0  # numbers twice as wide: half as many in a vector
_GRAM = 33.0
_SOLVE = 3.3
_SPARSE = 10.5
_BASIS = 3.7
_PRODUCT = 1.1
_ELEMENT = 300.0  # of numbers, not of flops: several passes over memory


def pairs_in_rows(X: Any) -> float:
    """Pairs of entries that share a row of a CSR matrix: the multiply-adds of the lower half of X'X."""
    return float(np.square(np.diff(X.indptr), dtype=np.float64).sum()) / 2


def pairs_in_columns(X: Any) -> float:
    """Pairs of entries that share a column: the multiply-adds of the lower half of X X'."""
    return float(np.square(np.bincount(X.indices, minlength=X.shape[1]), dtype=np.float64).sum()) / 2


def factoring(size: int, pairs: float) -> float:
    """A dense Gram matrix of a sparse one, with so many multiply-adds, and its Cholesky factor."""
    return 2 * _GRAM * pairs + size**3 / 3


def solving(size: int, columns: int) -> float:
    """Solves with both triangles of a factor."""
    return _SOLVE * 2 * size**2 * columns


def multiplying(entries: int, columns: int) -> float:
    """A product of a sparse matrix."""
    return _SPARSE * 2 * entries * columns


def multiplying_dense(rows: int, inner: int, columns: int) -> float:
    """A product of a dense matrix."""
    return _PRODUCT * 2 * rows * inner * columns


def orthogonalizing(rows: int, columns: int) -> float:
    """A Krylov basis with so many columns."""
    return _BASIS * 2 * rows * columns**2


def updating(elements: int) -> float:
    """A step of conjugate gradients, but for its products."""
    return _ELEMENT * elements
