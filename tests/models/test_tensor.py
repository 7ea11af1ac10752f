"""Sparse tensors: entries in, the same cells out, or an error that names the argument."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import SparseTensor
from semproj.tensor import as_tensor
from tests.support import same_bits


def dense(shape=(5, 4, 3), density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * (rng.random(shape) < density)


def test_entries_come_back_in_order():
    X = dense()
    where = np.array(np.nonzero(X))
    shuffled = np.random.default_rng(1).permutation(where.shape[1])
    tensor = SparseTensor(where[:, shuffled], X[tuple(where)][shuffled], X.shape)
    assert (tensor.shape, tensor.ndim, tensor.nnz, tensor.dtype) == (X.shape, 3, where.shape[1], np.float64)
    np.testing.assert_array_equal(tensor.coords, where)
    np.testing.assert_array_equal(tensor.to_dense(), X)


def test_duplicates_add_up_and_zeros_go():
    coords = [[0, 1, 0, 2, 2], [1, 0, 1, 0, 0], [0, 1, 0, 1, 1]]
    tensor = SparseTensor(coords, [1.0, 5.0, 2.0, 4.0, -4.0], (3, 2, 2))
    np.testing.assert_array_equal(tensor.coords, [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(tensor.values, [3.0, 5.0])


def test_duplicates_are_added_in_double():
    values = np.array([1.0, *[2.0**-26] * 64], np.float32)  # each lost beside 1 in float32, together they are not
    tensor = SparseTensor(np.zeros((2, 65), int), values)
    assert tensor.values[0] == np.float32(1 + 2.0**-20)
    assert tensor.dtype == np.float32


def test_more_cells_than_a_word_can_count():
    size = 1 << 40
    coords = [[size - 1, 0, size - 1], [0, size - 1, 0], [3, 3, 3]]
    tensor = SparseTensor(coords, [1.0, 2.0, 4.0], (size, size, 5))
    np.testing.assert_array_equal(tensor.coords, [[0, size - 1], [size - 1, 0], [3, 3]])
    np.testing.assert_array_equal(tensor.values, [2.0, 5.0])


@pytest.mark.parametrize(
    ("given", "dtype"),
    [(np.float32, np.float32), (np.float64, np.float64), (np.int32, np.float64), (bool, np.float64)],
)
def test_dtypes(given, dtype):
    assert SparseTensor([[0], [1]], np.ones(1, given)).dtype == dtype


def test_shape_by_default():
    assert SparseTensor([[0, 3], [2, 1]], [1, 1]).shape == (4, 3)


class TestSlices:
    def test_stacked_along_the_third_mode(self):
        X = dense()
        slices = [sp.csr_matrix(X[:, :, 0]), sp.coo_matrix(X[:, :, 1]), X[:, :, 2]]
        tensor = SparseTensor.from_slices(slices)
        assert tensor.shape == X.shape
        np.testing.assert_array_equal(tensor.to_dense(), X)

    def test_duplicates_and_empty_slices(self):
        twice = sp.csr_matrix((np.ones(2), [1, 1], [0, 2, 2]), shape=(2, 3))
        tensor = SparseTensor.from_slices([twice, sp.csr_matrix((2, 3))])
        assert tensor.shape == (2, 3, 2)
        np.testing.assert_array_equal(tensor.coords, [[0], [1], [0]])
        np.testing.assert_array_equal(tensor.values, [2.0])

    def test_float32_stays(self):
        X = sp.csr_matrix(np.eye(3, dtype=np.float32))
        assert SparseTensor.from_slices([X, X]).dtype == np.float32

    @pytest.mark.parametrize(
        ("slices", "error", "message"),
        [
            ([], ValueError, "slices: expected at least one"),
            (np.ones((3, 4, 2)), TypeError, "slices: expected a list of matrices, got ndarray"),
            (sp.eye(3).tocsr(), TypeError, "slices: expected a list"),
            ([sp.eye(3).tocsr(), sp.eye(4).tocsr()], ValueError, r"slices\[1\]: has shape \(4, 4\)"),
            ([np.ones(3)], ValueError, r"slices\[0\]: expected a matrix"),
            ([np.full((2, 2), np.nan)], ValueError, "values: contain NaN"),
        ],
        ids=["none", "dense", "one matrix", "shapes", "vector", "nan"],
    )
    def test_errors(self, slices, error, message):
        with pytest.raises(error, match=message):
            SparseTensor.from_slices(slices)


class TestAsTensor:
    def test_same_object(self):
        tensor = SparseTensor([[0], [0]], [1.0])
        assert as_tensor(tensor) is tensor

    def test_scipy(self):
        X = dense((4, 5))
        for matrix in (sp.csr_matrix(X), sp.coo_array(X), sp.csc_array(X)):
            np.testing.assert_array_equal(as_tensor(matrix).to_dense(), X)

    def test_pydata(self):
        """Its COO class by what it has: coords, data, shape and fill_value."""
        X = dense()
        where = np.array(np.nonzero(X))
        lookalike = SimpleNamespace(coords=where, data=X[tuple(where)], shape=X.shape, fill_value=0.0)
        np.testing.assert_array_equal(as_tensor(lookalike).to_dense(), X)
        lookalike.fill_value = 1.0
        with pytest.raises(ValueError, match="tensor: expected a fill value of 0"):
            as_tensor(lookalike)

    @pytest.mark.parametrize("given", [np.ones((2, 2, 2)), "abc", 3, None])
    def test_others(self, given):
        with pytest.raises(TypeError, match="tensor: expected a SparseTensor, a list of sparse matrices"):
            as_tensor(given)


@pytest.mark.parametrize(
    ("coords", "values", "shape", "error", "message"),
    [
        ([0, 1], [1.0, 2.0], None, ValueError, r"coords: expected an array of shape \(ndim, nnz\)"),
        ([[0.5], [1.0]], [1.0], None, TypeError, "coords: expected integers"),
        ([[0], [1]], [1.0, 2.0], None, ValueError, "values: expected one for each of 1 entries"),
        ([[0], [1]], ["a"], None, TypeError, "values: expected numbers"),
        ([[0], [1]], [np.inf], None, ValueError, "values: contain NaN or infinity"),
        ([[0], [1]], [1.0], (2,), ValueError, "shape: expected 2 modes"),
        ([[0], [1]], [1.0], 5, TypeError, "shape: expected one integer for each of 2 modes, got 5"),
        ([[0], [1]], [1.0], (2, 0), ValueError, r"shape\[1\]: expected at least 1"),
        ([[0], [1]], [1.0], (2, 2.0), TypeError, r"shape\[1\]: expected an integer"),
        ([[0], [3]], [1.0], (2, 3), ValueError, r"coords\[1\]: index 3 is out of range for a dimension of 3"),
        ([[-1], [0]], [1.0], (2, 3), ValueError, r"coords\[0\]: expected 0 or more, got -1"),
        ([[0, 1], [-2, -1]], [1.0, 2.0], None, ValueError, r"coords\[1\]: expected 0 or more, got -2"),
        (np.zeros((3, 0), int), [], None, ValueError, "shape: cannot be told"),
    ],
)
def test_errors(coords, values, shape, error, message):
    with pytest.raises(error, match=message):
        SparseTensor(coords, values, shape)


def test_without_entries():
    tensor = SparseTensor(np.zeros((3, 0)), [], (2, 3, 4))
    assert tensor.nnz == 0
    assert not tensor.to_dense().any()


def test_order_of_the_entries_does_not_matter():
    rng = np.random.default_rng(0)
    coords, values = rng.integers(0, 4, (3, 200)), rng.standard_normal(200).astype(np.float32)
    order = rng.permutation(200)
    a, b = SparseTensor(coords, values, (4, 4, 4)), SparseTensor(coords[:, order], values[order], (4, 4, 4))
    assert same_bits(a.coords, b.coords)
    np.testing.assert_allclose(a.values, b.values, rtol=1e-6)
