"""Loops around a user's function beside the function called from Python, one pair or non-zero after the other."""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse as sp

from semproj import CustomWeighting
from semproj.retrieval import gold_ranks, top_k, true_ranks
from tests.reference import retrieval as reference
from tests.support import same_bits


@numba.njit
def distance(u, v):
    """Of whole numbers it is exact; negative for some, and not symmetric."""
    total = 0.0
    for i in range(len(u)):
        total += max(u[i] - v[i], 3 * (v[i] - u[i])) - 2
    return total


@numba.njit
def weight(count, df, n, length):
    return np.sqrt(count) * n / (df + 1) - length


def vectors(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Small whole numbers, so that there are ties, in memory of all sorts."""
    rows = rng.integers(-3, 4, (n, d)).astype(rng.choice([np.float32, np.float64]))
    if rng.random() < 0.3:
        rows = np.asfortranarray(rows)
    elif rng.random() < 0.3:
        rows = np.repeat(rows, 2, axis=1)[:, ::2]
    rows.flags.writeable = rng.random() < 0.5
    return rows


def test_distances(fuzz):
    def check(rng: np.random.Generator) -> None:
        d, threads = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        n, m = (int(rng.choice([1, 2, 7, 8, 9, 40, 63, 64, 65, 130])) for _ in range(2))
        A, B, C = vectors(rng, n, d), vectors(rng, n, d), vectors(rng, m, d)
        k = int(rng.integers(1, m + 1))
        plain = distance.py_func
        for found, expected in zip(
            top_k(A, C, k, metric=distance, n_threads=threads), reference.top_k(A, C, k, plain), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        for found, expected in zip(
            true_ranks(A, B, metric=distance, n_threads=threads), reference.true_ranks(A, B, plain), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        gold = [rng.integers(0, m, rng.integers(1, 4)).tolist() for _ in range(n)]
        among = rng.integers(0, m, rng.integers(1, 9)).tolist() if rng.random() < 0.5 else None
        counts = gold_ranks(A, C, gold, among=among, metric=distance, n_threads=threads)
        for found, expected in zip(counts, reference.gold_ranks(A, C, gold, plain, among), strict=True):
            np.testing.assert_array_equal(found, expected)

    fuzz(check, cases=20)


def test_weights(fuzz):
    dtypes = [np.int8, np.uint16, np.int64, np.uint64, np.float32, np.float64, np.longdouble]

    def check(rng: np.random.Generator) -> None:
        n, p = (int(x) for x in rng.integers(1, 40, 2))
        dense = rng.integers(0, 100, (n, p)) * (rng.random((n, p)) < rng.random())
        X = sp.csr_matrix(dense.astype(dtypes[rng.integers(len(dtypes))]))
        weighting = CustomWeighting(weight, n_threads=int(rng.integers(1, 5))).fit(X)
        found = weighting.transform(X)
        df, lengths = (dense > 0).sum(axis=0), dense.sum(axis=1)
        rows, columns = dense.nonzero()
        counts = dense[rows, columns].astype(np.float64)  # of whatever rows
        cells = zip(counts, df[columns], lengths[rows].astype(float), strict=True)
        expected = np.array([weight.py_func(count, d, n, length) for count, d, length in cells])
        assert same_bits(found.data, expected.astype(found.dtype))
        assert np.array_equal(found.indices, columns)

    fuzz(check, cases=40)
