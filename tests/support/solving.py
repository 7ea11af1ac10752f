"""What the tests of the weighted row solver share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tests.reference import wtmf as reference

# Of the largest element of the row, as the kernel's documentation promises for float32.
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-10}


def gaussian(rows: int, cols: int, *, seed: int = 1, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(dtype)


def sparse_rows(lengths: list[int], cols: int, *, seed: int = 0, dtype: type = np.float64) -> sp.csr_matrix:
    """Rows with the given numbers of entries, sorted, every column once, none of the values near zero."""
    rng = np.random.default_rng(seed)
    indices = [np.sort(rng.choice(cols, n, replace=False)) for n in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    data = rng.uniform(0.2, 4, indptr[-1]) * rng.choice([-1, 1, 1, 1], indptr[-1])
    columns = np.concatenate([*indices, []]).astype(np.int32)
    return sp.csr_matrix((data.astype(dtype), columns, indptr.astype(np.int32)), shape=(len(lengths), cols))


def cell_weights(X: sp.csr_matrix, missing_weight: float, *, seed: int = 2) -> sp.csr_matrix:
    """Of the sparsity of X: above and below the missing weight, a few equal to it or next to it, a few zero."""
    rng = np.random.default_rng(seed)
    W = X.copy()
    W.data = rng.uniform(0, 8, X.nnz).astype(X.dtype)
    kind = rng.integers(0, 12, X.nnz)
    W.data[kind == 0] = 0
    W.data[kind == 1] = missing_weight
    W.data[kind == 2] = missing_weight * (1 + 4 * np.finfo(X.dtype).eps)
    W.data[kind == 3] = missing_weight / 2
    return W


def row_lengths(k: int) -> list[int]:
    """From nothing to 3 k, dense about k: both ways to solve a row, and the switch between them wherever it is."""
    steps = {0, 1, 2, 5, 8, 13, k // 3, k // 2, 2 * k // 3, 3 * k // 4, k - 1, k, k + 1, 5 * k // 4, 3 * k // 2}
    steps |= {2 * k + 1, 3 * k}
    lengths = sorted(n for n in steps if 0 <= n <= max(3 * k, 5))
    return [*np.random.default_rng(k).permutation(lengths), 0]


def expected_rows(X, factors, *, missing_weight, reg, weights=None):
    """The reference's answer, in float64 and for all cells."""
    return reference.solve_rows(*reference.stored_cells(X, missing_weight, weights), factors, reg)


def row_errors(Z: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Of each row, in units of its largest element; zero rows must be exactly zero."""
    assert Z.shape == expected.shape
    peaks = np.abs(expected).max(axis=1, initial=0)
    errors = np.abs(Z.astype(np.float64) - expected).max(axis=1, initial=0)
    assert not errors[peaks == 0].any()
    return np.divide(errors, peaks, out=np.zeros_like(errors), where=peaks > 0)


def assert_solved(Z: np.ndarray, expected: np.ndarray, dtype: type, *, allowed: float | np.ndarray = 0.0) -> None:
    """Right to the tolerance of the dtype, or to what conditioning allows in float64."""
    assert Z.dtype == dtype
    errors, bound = row_errors(Z, expected), np.maximum(TOLERANCE[dtype], allowed)
    worst = int((errors / bound).argmax()) if len(errors) else 0
    assert (errors <= bound).all(), f"row {worst} is off by {errors[worst]:.1e} of its largest element"


def condition_numbers(X, factors, *, missing_weight, reg, weights=None) -> np.ndarray:
    """Of the K x K system of each row."""
    cells, W = reference.stored_cells(X, missing_weight, weights)
    Y = factors.astype(np.float64)
    systems = [reference.normal_equations(x, w, Y, reg)[0] for x, w in zip(cells, W, strict=True)]
    values = np.linalg.eigvalsh(np.array(systems).reshape(-1, factors.shape[1], factors.shape[1]))
    return values[:, -1] / np.maximum(values[:, 0], 1e-30 * values[:, -1])
