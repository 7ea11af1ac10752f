"""Classes that cross the binding: named parts, no copies, nothing that points outside of memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import _core


def csr(matrix):
    return _core.Csr(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, matrix.shape[1])


def test_csr_shows_the_arrays_it_was_given():
    indptr, indices, data = np.array([0, 2, 3]), np.array([0, 4, 1], np.int32), np.ones(3, np.float32)
    rows = _core.Csr(indptr, indices, data, 5)
    assert (rows.indptr is indptr, rows.indices is indices, rows.data is data, rows.n_cols) == (True,) * 3 + (5,)
    for name in ("indptr", "indices", "data", "n_cols"):
        with pytest.raises(AttributeError):
            setattr(rows, name, getattr(rows, name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_product(dtype):
    left = sp.random(30, 20, 0.3, "csr", dtype, random_state=0)
    right = sp.random(20, 40, 0.2, "csr", np.float32, random_state=1)
    found = _core.multiply_sparse(csr(left), csr(right), 2)
    assert found.n_cols == 40
    assert found.data.dtype == dtype
    product = sp.csr_matrix((found.data, found.indices, found.indptr), shape=(30, 40))
    np.testing.assert_allclose(product.toarray(), (left @ right).toarray(), rtol=1e-5)


@pytest.mark.parametrize(
    ("indptr", "indices", "n_cols", "message"),
    [
        ([0, 1, 3], [0, 1, 2], 3, "matrix: expected a row for each column of X"),
        ([0, 1, 3, 3], [0, 1, 3], 3, "matrix: column indices out of range"),
        ([0, 1, 3, 3], [0, -1, 2], 3, "matrix: column indices out of range"),
        ([0, 2, 1, 3], [0, 1, 2], 3, "matrix: indptr must not be negative or decrease"),
        ([-1, 1, 3, 3], [0, 1, 2], 3, "matrix: indptr must not be negative or decrease"),
        ([0, 1, 3, 4], [0, 1, 2], 3, "matrix: indptr points outside of indices and data"),
    ],
)
def test_sparse_product_checks_the_right_factor(indptr, indices, n_cols, message):
    data = np.ones(len(indices), np.float32)
    matrix = _core.Csr(np.array(indptr), np.array(indices, np.int32), data, n_cols)
    with pytest.raises(ValueError, match=message):
        _core.multiply_sparse(csr(sp.eye(3, format="csr", dtype=np.float32)), matrix, 1)


def test_rows_before_there_is_a_vocabulary():
    session = _core.CountSession(1, True, False, keep_rows=True, n_threads=1, vocabulary=None, nfc=True)
    session.add(["a b"], 0)
    with pytest.raises(ValueError, match="rows: expected a vocabulary"):
        session.rows()


def test_the_side_of_a_pair_keeps_its_words():
    counts = sp.csr_matrix(np.array([[4, 1]], np.float32))
    theta, phi = np.array([[0.5, 0.5]], np.float32), np.array([[0.6, 0.2], [0.4, 0.8]], np.float32)
    sides, others, fractions = [], [], [np.empty((1, 2), np.float32) for _ in range(2)]
    for each in fractions:
        sides.append(_core.PairSide(csr(counts), _core.TopicWords(phi.copy(), 1), theta, each))
        gc.collect()
        others.append(_core.TopicWords(np.full_like(phi, 0.5), 1))  # where freed ones would have been
    coupling = _core.Coupling(weight=0.0, l2=False, tol=1e-6, max_evaluations=9)
    multipliers, gaps, evaluations = np.zeros((1, 2), np.float32), np.empty(1), np.empty(1, np.int64)
    _core.project_posteriors(*sides, multipliers, gaps, evaluations, coupling, 1)
    posterior = theta * phi / (theta * phi).sum(axis=1, keepdims=True)  # of each word, given both topics
    for each in fractions:
        np.testing.assert_allclose(each[0], [4, 1] @ posterior / 5, rtol=1e-6)


def test_shared_system_wants_both_or_neither():
    Y = np.eye(2)
    padded = np.zeros((2, _core.padded(2)))
    system = _core.SharedSystem(Y, padded, None, Y, 1.0, 0.1)
    with pytest.raises(ValueError, match="inverse: expected with whitened, or neither"):
        _core.solve_rows(csr(sp.eye(2, format="csr")), None, system, np.empty((2, 2)), -1, 1)
