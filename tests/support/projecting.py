"""What the tests of the sparse projection share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

STORAGES = ("float64", "float32", "float16", "int8")
# Relative error of a projected row, by the storage; float32 and float64 as the sums of a few thousand terms.
TOLERANCE = {"float64": 1e-14, "float32": 2e-6, "float16": 5e-4, "int8": 1.5e-2}
WIDTHS = (1, 15, 16, 17, 63, 64, 65, 100, 127, 128, 2000)
# One and more than one step of every unrolled loop, and rows that are empty at the ends and in the middle.
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 0, 31, 100, 5000, 0]
TERMS = 700


def gaussian(rows: int, cols: int, *, seed: int = 1, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(dtype)


def relative_errors(Z: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """One for each row; zero rows must be exactly zero."""
    norms = np.linalg.norm(expected, axis=1)
    errors = np.linalg.norm(Z.astype(np.float64) - expected, axis=1)
    assert not errors[norms == 0].any()
    return errors[norms > 0] / norms[norms > 0]


def assert_close(Z: np.ndarray, expected: np.ndarray, storage: str) -> None:
    assert Z.shape == expected.shape
    assert Z.dtype == (np.float64 if storage == "float64" else np.float32)
    assert relative_errors(Z, expected).max(initial=0) < TOLERANCE[storage]


def with_indices(X: sp.csr_matrix, dtype: type) -> sp.csr_matrix:
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X
