"""Weighted row solves: factor the small matrix that all rows share, whiten all factors by it, solve the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._common.resources import single_threaded_blas
from .._common.types import Array
from .._common.validation import core_csr

# Reciprocal conditions of the shared matrix. Whitening in float32 loses accuracy by its condition, whitening in
# double and rounding the result only by the root of it. Below the second we solve the rows in double, below the
# third the matrix counts as singular.
_WHITEN_IN_FLOAT32 = 1e-1
_SOLVE_IN_FLOAT32 = 1e-3
_SINGULAR = 1e-14
_CHUNK_ROWS = 1 << 14


class RowSolver:
    """Solves rows against fixed factors, and does once what all rows share.

    Parameters
    ----------
    factors : contiguous array of shape (n_columns, n_components), float32 or float64
    missing_weight, reg : float
    n_threads : int
    longest_short : int, default -1
        For tests: solve rows with up to so many entries through their own Gram matrix. -1: the kernel decides.
    """

    def __init__(
        self, factors: Array, missing_weight: float, reg: float, n_threads: int, longest_short: int = -1
    ) -> None:
        self._missing_weight, self._reg = missing_weight, reg
        self._n_threads, self._longest_short = n_threads, longest_short
        self._whitened: Array | None = None
        self.use(factors)

    def use(self, factors: Array) -> None:
        """Take new factors, and use the memory of the old ones' table again.

        Raises OverflowError if products of factors are not finite.
        """
        shared = self._missing_weight * _core.table_gram(factors, self._n_threads)
        shared.flat[:: len(shared) + 1] += self._reg
        if not np.isfinite(shared).all():
            raise OverflowError("values too large for their products")
        with single_threaded_blas():
            inverse, rcond = _inverse_factor(shared)
            if factors.dtype == np.float32 and rcond < _SOLVE_IN_FLOAT32:
                factors = factors.astype(np.float64)
            self._factors, self._shared = factors, shared
            self._least_eigenvalue = rcond * _norm(shared)
            if inverse is None:
                self._whitened = self._inverse = None
            else:
                wide = rcond < _WHITEN_IN_FLOAT32
                self._whitened = _whitened(factors, inverse, wide, self._n_threads, self._whitened)
                self._inverse = _padded_square(inverse, factors.dtype)

    def solve(self, X: Any, out: Array, weights: Array | None = None) -> float:
        """Solve all rows of the CSR matrix X into `out`; `weights` has one for each entry, None: all 1.

        Returns the sum over rows of the least weighted squares with their ridge.
        """
        dtype = self._factors.dtype
        into = out if out.dtype == dtype else np.empty(out.shape, dtype)
        try:
            system = _core.SharedSystem(
                factors=self._factors,
                whitened=self._whitened,
                inverse=self._inverse,
                matrix=self._shared,
                least_eigenvalue=self._least_eigenvalue,
                missing_weight=self._missing_weight,
            )
            rows = core_csr(X.astype(dtype, copy=False))
            weights = None if weights is None else np.ascontiguousarray(weights, dtype)
            value = _core.solve_rows(rows, weights, system, into, self._longest_short, self._n_threads)
        except ArithmeticError as error:
            raise ValueError(
                f"reg: the system of row {error.args[0]} has no unique solution with reg={self._reg}; "
                "expected a larger reg"
            ) from None
        if into is not out:
            out[...] = into
        return value


def _norm(matrix: Array) -> float:
    return float(np.abs(matrix).sum(axis=0).max())


def _inverse_factor(shared: Array) -> tuple[Array | None, float]:
    """L^-1 for S = L L', None when S is singular, and the reciprocal condition of S."""
    from scipy.linalg import lapack

    lower, info = lapack.dpotrf(shared, lower=1, clean=1)
    if info != 0:
        return None, 0.0
    inverse, _ = lapack.dtrtri(lower, lower=1)
    # We do not take LAPACK's estimate, as it changes with the signs of components: a fitted model has turned them,
    # and must solve its rows to the same bits.
    with np.errstate(over="ignore", invalid="ignore"):
        rcond = 1.0 / (_norm(shared) * _norm(inverse.T @ inverse))
    if not rcond >= _SINGULAR:
        return None, 0.0
    return np.ascontiguousarray(inverse), rcond


def _whitened(factors: Array, inverse: Array, wide: bool, n_threads: int, memory: Array | None) -> Array:
    """Rows L^-1 y with zeros behind them, computed in double if `wide`, and put into `memory` if it fits."""
    n, k = factors.shape
    shape = (n, _core.padded(k))
    if memory is None or memory.shape != shape or memory.dtype != factors.dtype:
        memory = np.empty(shape, factors.dtype)
        memory[:, k:] = 0
    rows = memory[:, :k]
    dtype = np.dtype(np.float64) if wide else factors.dtype
    transposed = np.ascontiguousarray(inverse.T, dtype)
    if dtype == factors.dtype:
        _core.tall_multiply(factors, transposed, 1.0, 0.0, rows, n_threads)
        return memory
    for begin in range(0, n, _CHUNK_ROWS):
        chunk = factors[begin : begin + _CHUNK_ROWS].astype(dtype)
        product = np.empty_like(chunk)
        _core.tall_multiply(chunk, transposed, 1.0, 0.0, product, n_threads)
        rows[begin : begin + _CHUNK_ROWS] = product
    return memory


def _padded_square(matrix: Array, dtype: Any) -> Array:
    size = _core.padded(len(matrix))
    square = np.zeros((size, size), dtype)
    square[: len(matrix), : len(matrix)] = matrix
    return square
