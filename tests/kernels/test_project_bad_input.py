"""The sparse projection on broken matrices and wrong arguments: an error that names the argument."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj.kernels import Projection, project
from tests.reference.project import project as reference
from tests.support import random_rows
from tests.support.projecting import (
    STORAGES,
    TOLERANCE,
    gaussian,
    relative_errors,
    with_indices,
)


class TestBadInput:
    """Right or refused with the name of the argument; never a crash, never a silent wrong result."""

    def setup_method(self):
        self.X = random_rows([3, 0, 40, 7], 50)
        self.P = gaussian(50, 20, dtype=np.float32)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("index", [np.int32, np.int64])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, value, index, storage):
        X = with_indices(self.X, index)
        X.data[-1] = value
        with pytest.raises(ValueError, match="X: row 3 holds NaN"):
            project(X, Projection(self.P, storage))

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("position", [0, 20, 49])
    def test_each_position_is_checked(self, storage, position):
        X = self.X.copy()
        X.data[position] = np.nan
        with pytest.raises(ValueError, match="X"):
            project(X, Projection(self.P, storage))
        X = self.X.copy()
        X.indices[position] = 50
        with pytest.raises(ValueError, match="X: column index 50"):
            project(X, Projection(self.P, storage))

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("index", [np.int32, np.int64])
    @pytest.mark.parametrize("column", [-1, 50, -(2**31), 2**31 - 1])
    def test_index_out_of_range(self, column, index, storage):
        X = with_indices(self.X, index)
        X.indices[5] = column
        with pytest.raises(ValueError, match=f"X: column index {column} in row 2"):
            project(X, Projection(self.P, storage))

    @pytest.mark.parametrize("column", [2**32, 2**32 + 1, 2**62, -(2**32)])
    def test_index_that_would_wrap_around(self, column):
        X = with_indices(self.X, np.int64)
        X.indices[5] = column
        with pytest.raises(ValueError, match=f"X: column index {column} in row 2"):
            project(X, self.P)

    @pytest.mark.parametrize(
        "indptr", [[0, 30, 20, 43, 50], [0, 3, 3, 43, 51], [0, -3, 3, 43, 50], [0, 3, 3, 2**31 - 1, 50]]
    )
    @pytest.mark.parametrize("storage", STORAGES)
    def test_broken_indptr(self, indptr, storage):
        X = self.X.copy()
        X.indptr = np.array(indptr, X.indptr.dtype)
        with pytest.raises(ValueError, match="X: indptr"):
            project(X, Projection(self.P, storage))

    def test_indices_shorter_than_data(self):
        X = self.X.copy()
        X.indices = X.indices[:-1]
        with pytest.raises(ValueError, match="X: indptr points outside"):
            project(X, self.P)

    def test_wrong_width(self):
        with pytest.raises(ValueError, match="X: has 50 columns, the projection has 49"):
            project(self.X, self.P[:-1])

    @pytest.mark.parametrize("X", [np.zeros(5), np.zeros((2, 2, 2)), sp.coo_array(np.ones(5))])
    def test_not_a_matrix(self, X):
        with pytest.raises(ValueError, match="X: expected a matrix"):
            project(X, self.P)

    @pytest.mark.parametrize(
        "X", [np.array([["a"] * 50]), np.zeros((2, 50), complex), sp.csr_matrix((2, 50), dtype=complex)]
    )
    def test_not_numbers(self, X):
        with pytest.raises(TypeError, match=r"X: expected (a matrix of )?numbers"):
            project(X, self.P)

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
    @pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
    def test_projection_that_its_storage_cannot_hold(self, storage, value):
        P = gaussian(50, 20)
        P[7, 11] = value
        with pytest.raises(ValueError, match="projection: not finite in its storage at term 7, component 11"):
            Projection(P, storage)

    def test_bad_projection(self):
        with pytest.raises(ValueError, match="matrix: expected 2 dimensions"):
            Projection(np.ones(3))
        with pytest.raises(TypeError, match="matrix: expected numbers"):
            Projection(np.array([["a"]]))
        with pytest.raises(ValueError, match="storage: expected one of"):
            Projection(np.ones((2, 2)), "float8")

    @pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
    def test_values_too_large_for_float32_sums(self, storage):
        """1e39 is finite in X, not in float32: the product 1e29 is what comes, or an error that names X."""
        X = sp.csr_matrix(np.array([[1e39, 0.0]]))
        try:
            Z = project(X, Projection(np.full((2, 3), 1e-10), storage))
        except ValueError as error:
            assert "X" in str(error)  # noqa: PT017
        else:
            np.testing.assert_allclose(Z, 1e29, rtol=1e-2)

    @pytest.mark.parametrize("storage", STORAGES)
    def test_large_and_small_values(self, storage):
        for scale in (1e30, 1e-30):
            X = self.X.copy()
            X.data *= np.float32(scale)
            expected = reference(X, self.P)
            assert relative_errors(project(X, Projection(self.P, storage)), expected).max() < TOLERANCE[storage]

    @pytest.mark.parametrize("n_threads", [0, -2, 1.5, True, "2", 2**40])
    def test_n_threads(self, n_threads):
        with pytest.raises((TypeError, ValueError), match="n_threads"):
            project(self.X, self.P, n_threads=n_threads)

    def test_arguments_that_exclude_each_other(self):
        out = np.zeros((4, 20), np.float32)
        with pytest.raises(ValueError, match="out: accumulate"):
            project(self.X, self.P, accumulate=True)
        with pytest.raises(ValueError, match="normalize"):
            project(self.X, self.P, out=out, accumulate=True, normalize=True)

    def test_refused_input_with_a_given_out_raises_too(self):
        X = self.X.copy()
        X.data[0] = np.nan
        with pytest.raises(ValueError, match="X: row 0"):
            project(X, self.P, out=np.zeros((4, 20), np.float32))
