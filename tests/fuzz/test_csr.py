"""Sparse matrices of every layout against dense NumPy, and broken ones, which must be refused."""

from __future__ import annotations

import functools
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp

import semproj as sj
from semproj._common.validation import as_csr
from semproj.kernels import Projection, project, project_posteriors, weighted_row_solve
from tests.reference import weighting as reference
from tests.support import same_bits
from tests.support.layouts import BROKEN, LAYOUTS
from tests.support.projecting import STORAGES, TOLERANCE

COLUMNS = 12
DTYPES = [*"?bBhHiIlLfdg", "e"]
HOSTILE = (-(2**63), -(2**31), -(10**6), -1, 1, 2, COLUMNS, 10**3, 2**31 - 1, 2**31, 2**32 + 1, 2**62, 2**63 - 1)


def drawn(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A CSR matrix, and what it holds, added up by NumPy: unsorted, with duplicates, zeros and empty rows."""
    n = int(rng.integers(0, 9))
    lengths = rng.integers(0, 15, n) * (rng.random(n) < 0.8)
    rows, columns = np.repeat(np.arange(n), lengths), rng.integers(0, rng.integers(1, COLUMNS + 1), lengths.sum())
    values = rng.integers(0 if rng.random() < 0.3 else 1, 6, len(rows))
    dtype = np.dtype(rng.choice(DTYPES))
    if dtype.kind == "b" or rng.random() < 0.4:  # each cell once: scipy and NumPy do not agree on sums of booleans
        first = np.unique(rows * COLUMNS + columns, return_index=True)[1]
        rows, columns, values = rows[first], columns[first], values[first]
        lengths = np.bincount(rows, minlength=n)
    values = values.astype(dtype)
    X = sp.csr_matrix((n, COLUMNS))
    X.data, X.indices = values, columns.astype(rng.choice([np.int32, np.int64]))
    X.indptr = np.append(0, np.cumsum(lengths)).astype(X.indices.dtype)
    dense = np.zeros((n, COLUMNS))
    np.add.at(dense, (rows, columns), values.astype(np.float64))
    return X, dense


def laid_out(X: Any, rng: np.random.Generator) -> Any:
    """The matrix in any layout. What has no place for duplicates, or for these numbers, is left out."""
    name = rng.choice([*LAYOUTS, "bsr of blocks"])
    canonical = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape) if X.dtype != np.float16 else None
    if canonical is None or (not canonical.has_canonical_format and rng.random() < 0.7):
        name = rng.choice(["room", "waste", "misaligned", "swapped", "strided", "read-only", "unsigned"])
    if name == "bsr of blocks":
        sizes = [r for r in (1, 2, 3) if X.shape[0] % r == 0]
        return X.tobsr((int(rng.choice(sizes)), int(rng.choice([1, 2, 3, 4]))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        return LAYOUTS[name](X)


def projection(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((COLUMNS, int(rng.choice([1, 5, 16, 70]))))


@functools.cache
def fitted() -> Any:
    """Of whole numbers given as floats, which may be counts or weights."""
    rows = np.random.default_rng(0).integers(0, 9, (30, COLUMNS)).astype(np.float64)
    return sj.LSA(4, random_state=0, n_threads=1).fit(rows)


def check_products(X: Any, dense: np.ndarray, rng: np.random.Generator) -> None:
    P, storage = projection(rng), rng.choice(STORAGES)
    Z = project(X, Projection(P, storage))
    room = TOLERANCE[storage] * np.linalg.norm(dense, axis=1, keepdims=True) * np.linalg.norm(P) + 1e-300
    assert (np.abs(Z - dense @ P) <= room).all()
    twice = project(X, Projection(P, storage), out=Z.copy(), accumulate=True)
    assert (np.abs(twice - 2 * dense @ P) <= 2 * room).all()
    lengths = np.linalg.norm(project(X, Projection(P, storage), normalize=True), axis=1)
    assert (np.abs(lengths - Z.any(axis=1)) < 1e-5).all()  # narrow entries may cancel
    if len(dense):
        vectors = fitted().transform(X)
        np.testing.assert_allclose(vectors, dense @ fitted().components_.T, rtol=1e-5, atol=1e-5)


def check_weightings(X: Any, dense: np.ndarray, rng: np.random.Generator) -> None:
    if not len(dense):
        return
    kind, by_hand = [(sj.LogTfIdf, reference.log_tfidf), (sj.TfIdf, reference.tfidf), (sj.BM25, reference.bm25)][
        rng.integers(3)
    ]
    if not dense.any():
        return
    weighting = kind(n_threads=1).fit(X)
    assert (weighting.document_frequency_ == reference.document_frequency(dense)).all()
    expected = by_hand(dense, dense)
    np.testing.assert_allclose(weighting.transform(X).toarray(), expected, rtol=1e-5, atol=1e-5)
    P = projection(rng)
    np.testing.assert_allclose(project(X, P, weighting=weighting), expected @ P, rtol=1e-5, atol=1e-4)


def check_solves(X: Any, dense: np.ndarray, rng: np.random.Generator) -> None:
    """With one weight for all cells, so that it does not matter which zeros a layout keeps."""
    factors = rng.standard_normal((COLUMNS, 3))
    found = weighted_row_solve(X, factors, missing_weight=1.0, reg=0.5)
    expected = np.linalg.solve(factors.T @ factors + 0.5 * np.eye(3), factors.T @ dense.T).T
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def same_memory(X: Any, before: Any) -> None:
    for name, value in vars(before).items():
        if isinstance(value, np.ndarray):
            now = vars(X)[name]
            assert now.dtype == value.dtype
            assert now.tolist() == value.tolist() or same_bits(now, value)


def test_every_layout(fuzz):
    def check(rng):
        X, dense = drawn(rng)
        X = laid_out(X, rng)
        before = deepcopy(X)
        check_products(X, dense, rng)
        check_weightings(X, dense, rng)
        check_solves(X, dense, rng)
        same_memory(X, before)

    fuzz(check, cases=120)


def by_hand(X: Any) -> np.ndarray | None:
    """The dense matrix, element by element from lists; None if an element is missing, or has no place."""
    dense = np.zeros(X.shape)
    try:
        if X.format == "coo":
            rows, columns, values = X.row.tolist(), X.col.tolist(), X.data.tolist()
            if not len(rows) == len(columns) == len(values):
                return None
        else:
            starts, columns, values = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
            major = X.shape[0] if X.format == "csr" else X.shape[1]
            if len(starts) != major + 1 or starts[0] != 0 or starts != sorted(starts):
                return None
            if starts[-1] > min(len(columns), len(values)):
                return None
            rows = [i for i in range(major) for _ in range(starts[i], starts[i + 1])]
            columns, values = [columns[i] for i in range(len(rows))], [values[i] for i in range(len(rows))]
            rows, columns = (rows, columns) if X.format == "csr" else (columns, rows)
        for i, j, value in zip(rows, columns, values, strict=True):
            if i < 0 or j < 0:
                return None
            dense[i, j] += value
    except (IndexError, MemoryError, OverflowError):
        return None
    return dense


def corrupted(X: Any, rng: np.random.Generator) -> Any:
    """One array with a number that should not be there, or too short, or too long."""
    X = deepcopy(X)
    name = rng.choice(["row", "col", "data"] if X.format == "coo" else ["indptr", "indptr", "indices", "data"])
    array = getattr(X, name).copy()
    how = rng.integers(4)
    if how == 0 and len(array):
        array = array[: rng.integers(len(array))]
    elif how == 1:
        array = np.concatenate([array, array[: rng.integers(1, 3)]])
    elif len(array) and name != "data":
        limits = np.iinfo(array.dtype)
        array[rng.integers(len(array))] = np.clip(int(rng.choice(HOSTILE)), limits.min, limits.max)
    setattr(X, name, array)
    return X


def calls(X: Any, rng: np.random.Generator) -> list[Any]:
    P, factors = projection(rng), rng.standard_normal((COLUMNS, 3))
    theta, phi = np.full((X.shape[0], 2), 0.5), np.full((2, COLUMNS), 1 / COLUMNS)
    weighting = sj.LogTfIdf(n_threads=1).fit(np.ones((2, COLUMNS)))
    return [
        lambda: as_csr(X),
        lambda: project(X, P),
        lambda: project(X, Projection(P, "int8")),
        lambda: project(X, P, weighting=weighting),
        lambda: sj.BM25().fit(X),
        lambda: weighting.transform(X),
        lambda: weighted_row_solve(X, factors, missing_weight=0.1, reg=1.0),
        lambda: fitted().transform(X),
        lambda: project_posteriors(theta, theta, phi, phi, X, X, 1.0),
        lambda: sj.SparseTensor.from_slices([X]),
        lambda: sj.PLSA(2, max_iter=1, random_state=0).fit(X),
        lambda: sj.OPCA(1, random_state=0).fit([X, np.full(X.shape, 0.5)]),
    ]


def test_broken_matrices(fuzz):
    """Refused by every function, or read as it stands."""

    def check(rng):
        X, _ = drawn(rng)
        if X.dtype == np.float16:
            return
        X = corrupted([X, X.tocsc(), X.tocoo(), sp.csr_array(X)][rng.integers(4)], rng)
        dense = by_hand(X)
        for call in calls(X, rng):  # models may refuse values of a good matrix, too
            try:
                call()
            except (TypeError, ValueError):
                continue
            assert dense is not None, "accepted"
        if dense is not None:
            np.testing.assert_array_equal(as_csr(X).astype(np.float64).toarray(), dense)
            np.testing.assert_allclose(project(X, np.eye(COLUMNS)), dense)

    fuzz(check, cases=120)


def test_everything_that_can_be_broken(fuzz):
    def check(rng):
        X = sp.csr_matrix(rng.integers(1, 5, (6, COLUMNS)) * (rng.random((6, COLUMNS)) < 0.9), dtype=np.float64)
        X.data += 1.0
        for name, broken in BROKEN.items():
            for call in calls(broken(X), rng)[:4]:
                try:
                    call()
                except (TypeError, ValueError):
                    continue
                raise AssertionError(f"{name}: accepted")

    fuzz(check, cases=3)
