"""What several rooms of tests use: seeded data, comparisons, and work on several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp


def random_counts(
    rows: int, cols: int, density: float = 0.05, *, seed: int = 0, dtype: type = np.int32
) -> sp.csr_matrix:
    """Counts from 1 to 5, sorted indices; the first and the middle row are empty."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 6, (rows, cols)) * (rng.random((rows, cols)) < density)
    if rows > 2:
        dense[0] = dense[rows // 2] = 0
    return sp.csr_matrix(dense.astype(dtype))


def random_rows(lengths: list[int], cols: int, *, seed: int = 0, dtype: type = np.float32) -> sp.csr_matrix:
    """Rows with the given numbers of entries, unsorted and with duplicates where they are long."""
    rng = np.random.default_rng(seed)
    total = sum(lengths)
    indices = rng.integers(0, max(cols, 1), total).astype(np.int32)
    data = rng.integers(1, 6, total).astype(dtype)
    if np.dtype(dtype).kind == "f":
        data = rng.standard_normal(total).astype(dtype)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return sp.csr_matrix((data, indices, indptr), shape=(len(lengths), cols))


def planted_low_rank(n: int, p: int, rank: int, *, seed: int = 0, dtype: type = np.float64) -> sp.csr_matrix:
    """A sparse matrix of exactly this rank: blocks of rows and columns that do not overlap."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, p))
    rows, cols = rng.permutation(np.arange(n) % rank), rng.permutation(np.arange(p) % rank)
    for i in range(rank):
        block = np.outer(rng.uniform(1, 2, (rows == i).sum()), rng.uniform(1, 2, (cols == i).sum()))
        dense[np.ix_(rows == i, cols == i)] = block * (rank - i)
    return sp.csr_matrix(dense.astype(dtype))


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def all_at_once(work: Callable[[object], object], items: list) -> list:
    """work(item) for all items, each on a thread of its own; what they return, or the first exception."""
    with ThreadPoolExecutor(len(items)) as pool:
        return [done.result() for done in [pool.submit(work, item) for item in items]]
