"""Weighted row solves: the shared small factorisation, all factors whitened by it, and the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._threads import single_threaded_blas
from ._types import Array
from ._validation import core_csr

# Reciprocal condition of the shared matrix below which float32 factors are solved in double, and below which
# the matrix counts as singular. At the first, rounding a whitened factor to float32 costs about 1e-6.
_FLOAT32_ENOUGH = 1e-4
_SINGULAR = 1e-14


class RowSolver:
    """Solves rows against fixed factors: what all rows share is done once, here.

    Parameters
    ----------
    factors : contiguous array of shape (n_columns, n_components), float32 or float64
    missing_weight, reg : float
    n_threads : int
    longest_short : int
        For tests: overrides the number of entries up to which a row is solved through its own Gram matrix.
    """

    def __init__(
        self, factors: Array, missing_weight: float, reg: float, n_threads: int, longest_short: int = -1
    ) -> None:
        self.dtype = factors.dtype
        self._missing_weight, self._reg = missing_weight, reg
        self._n_threads, self._longest_short = n_threads, longest_short
        self._shared = missing_weight * _core.table_gram(factors, n_threads)
        self._shared.flat[:: len(self._shared) + 1] += reg
        if not np.isfinite(self._shared).all():
            raise ValueError("factors: values too large for their products; scale them down")
        self._whitened = self._inverse = None
        with single_threaded_blas():
            inverse, rcond = _inverse_factor(self._shared)
            if factors.dtype == np.float32 and rcond < _FLOAT32_ENOUGH:
                factors = factors.astype(np.float64)
            self._factors = factors
            if inverse is not None:
                self._whitened = _whitened(factors, inverse, n_threads)
                self._inverse = _padded_square(inverse, factors.dtype)

    def solve(self, X: Any, out: Array, weights: Array | None = None) -> float:
        """Solve all rows of the CSR matrix X into `out`; `weights` has one for each entry, None means 1.

        Returns the sum over rows of the least weighted squares with its ridge.
        """
        dtype = self._factors.dtype
        into = out if out.dtype == dtype else np.empty(out.shape, dtype)
        try:
            value = _core.solve_rows(
                core_csr(X.astype(dtype, copy=False)),
                None if weights is None else np.ascontiguousarray(weights, dtype),
                self._factors,
                self._whitened,
                self._inverse,
                self._shared,
                self._missing_weight,
                into,
                self._longest_short,
                self._n_threads,
            )
        except ArithmeticError as error:
            raise ValueError(
                f"reg: the system of row {error.args[0]} has no unique solution with reg={self._reg}; "
                "expected a larger reg"
            ) from None
        if into is not out:
            out[...] = into
        return value


def _inverse_factor(shared: Array) -> tuple[Array | None, float]:
    """L^-1 for S = L L', None when S is singular, and the reciprocal condition of S."""
    from scipy.linalg import lapack

    lower, info = lapack.dpotrf(shared, lower=1, clean=1)
    if info != 0:
        return None, 0.0
    rcond, _ = lapack.dpocon(lower, np.abs(shared).sum(axis=0).max(), uplo="L")
    if rcond < _SINGULAR:
        return None, 0.0
    inverse, _ = lapack.dtrtri(lower, lower=1)
    return np.ascontiguousarray(inverse), float(rcond)


def _whitened(factors: Array, inverse: Array, n_threads: int) -> Array:
    """Rows L^-1 y, with zeros behind them."""
    n, k = factors.shape
    rows = np.empty((n, _core.padded(k)), factors.dtype)
    rows[:, k:] = 0
    transposed = np.ascontiguousarray(inverse.T, factors.dtype)
    _core.tall_multiply(factors, transposed, 1.0, 0.0, rows[:, :k], n_threads)
    return rows


def _padded_square(matrix: Array, dtype: Any) -> Array:
    size = _core.padded(len(matrix))
    square = np.zeros((size, size), dtype)
    square[: len(matrix), : len(matrix)] = matrix
    return square
