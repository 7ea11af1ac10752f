"""The weighted row solver on broken matrices, wrong arguments and extreme values: errors name the argument."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj.kernels import weighted_row_solve
from tests.support.projecting import with_indices
from tests.support.solving import condition_numbers, expected_rows, gaussian, row_errors, sparse_rows


class TestBadInput:
    """Right or refused with the name of the argument; never a crash, never a silent wrong result."""

    def setup_method(self):
        self.X = sparse_rows([3, 0, 40, 7], 50, dtype=np.float32)
        self.Y = gaussian(50, 20, dtype=np.float32)
        self.weights = self.X.copy()
        self.weights.data[:] = 2

    def refused(self, error, message, **changes):
        arguments = {"X": self.X, "factors": self.Y, "missing_weight": 0.01, "reg": 1.0, **changes}
        with pytest.raises(error, match=message):
            weighted_row_solve(arguments.pop("X"), arguments.pop("factors"), **arguments)

    @pytest.mark.parametrize("name", ["missing_weight", "reg"])
    @pytest.mark.parametrize(
        ("value", "error"),
        [
            (-1, ValueError),
            (-1e-30, ValueError),
            (np.nan, ValueError),
            (np.inf, ValueError),
            ("1", TypeError),
            (None, TypeError),
            (True, TypeError),
            (np.ones(2), TypeError),
            (1j, TypeError),
        ],
        ids=str,
    )
    def test_numbers(self, name, value, error):
        self.refused(error, f"^{name}: expected", **{name: value})

    def test_numbers_have_no_default(self):
        with pytest.raises(TypeError, match="missing_weight"):
            weighted_row_solve(self.X, self.Y, reg=1.0)
        with pytest.raises(TypeError, match="reg"):
            weighted_row_solve(self.X, self.Y, missing_weight=1.0)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("position", [0, 20, 49])
    def test_not_finite_rows(self, position, value, dtype):
        X = self.X.astype(dtype)
        X.data[position] = value
        for factors in (self.Y, self.Y.astype(np.float64)):
            self.refused(ValueError, "X", X=X, factors=factors)
        for index in (np.int32, np.int64):
            self.refused(ValueError, "X", X=with_indices(X, index))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite_factors(self, value, dtype):
        """Also where no row uses the factor, and where missing cells have no weight."""
        used = set(self.X.indices)
        unused = next(i for i in range(50) if i not in used) if len(used) < 50 else 49
        for row in (int(self.X.indices[0]), unused, 0, 49):
            for missing_weight in (0, 0.01):
                Y = self.Y.astype(dtype)
                Y[row, 19] = value
                self.refused(ValueError, "factors", factors=Y, missing_weight=missing_weight)

    def test_shapes(self):
        self.refused(ValueError, r"\b(X|factors)\b.*50.*49", factors=self.Y[:-1])
        self.refused(ValueError, "factors: expected", factors=self.Y[0])
        self.refused(ValueError, "factors: expected", factors=self.Y[None])
        self.refused(ValueError, "factors: expected", factors=self.Y[:, :0])
        for X in (np.zeros(50), np.zeros((2, 2, 50)), sp.coo_array(np.ones(50))):
            self.refused(ValueError, "X: expected a matrix", X=X)

    def test_not_numbers(self):
        for X in (np.array([["a"] * 50]), np.zeros((2, 50), complex), sp.csr_matrix((2, 50), dtype=complex)):
            self.refused(TypeError, "X: expected (a matrix of )?numbers", X=X)
        for factors in (self.Y.astype(str), self.Y.astype(complex), self.Y.astype(object)):
            self.refused(TypeError, "factors: expected", factors=factors)

    @pytest.mark.parametrize("index", [np.int32, np.int64])
    @pytest.mark.parametrize("column", [-1, 50, -(2**31), 2**31 - 1])
    @pytest.mark.parametrize("name", ["X", "weights"])
    def test_index_out_of_range(self, name, column, index):
        broken = with_indices(self.X, index)
        broken.indices[5] = column
        self.refused(ValueError, rf"\b{name}\b", **{"weights": self.weights, name: broken})
        if name == "X":
            self.refused(ValueError, r"\bX\b", X=broken)

    @pytest.mark.parametrize("column", [2**32, 2**32 + 1, 2**62, -(2**32)])
    def test_index_that_would_wrap_around(self, column):
        X = with_indices(self.X, np.int64)
        X.indices[5] = column
        self.refused(ValueError, r"\bX\b", X=X)

    @pytest.mark.parametrize(
        "indptr", [[0, 30, 20, 43, 50], [0, 3, 3, 43, 51], [0, -3, 3, 43, 50], [0, 3, 3, 2**31 - 1, 50]]
    )
    @pytest.mark.parametrize("name", ["X", "weights"])
    def test_broken_indptr(self, name, indptr):
        broken = self.X.copy()
        broken.indptr = np.array(indptr, broken.indptr.dtype)
        self.refused(ValueError, f"{name}: indptr", **{"weights": self.weights, name: broken})

    def test_weights_that_are_no_weights(self):
        for value in (-1, -1e-30, np.nan, np.inf, -np.inf):
            for position in (0, 25, 49):
                weights = self.weights.copy()
                weights.data[position] = value
                self.refused(ValueError, "^weights: ", weights=weights)
        for weights in (3.0, "x", np.ones(50), self.weights.astype(complex)):
            self.refused((TypeError, ValueError), "^weights: ", weights=weights)

    def test_weights_of_another_sparsity(self):
        moved = self.weights.copy()
        free = next(i for i in range(50) if i not in moved[0].indices)
        moved.indices[0] = free
        fewer, more = self.weights[:, :].tolil(), self.weights.tolil()
        row, column = self.X.nonzero()
        fewer[row[9], column[9]] = 0
        more[1, 4] = 1.0
        shifted = sp.csr_matrix((self.weights.data, self.weights.indices, [0, 3, 4, 43, 50]), shape=(4, 50))
        for weights in (moved, fewer.tocsr(), more.tocsr(), shifted, self.weights[:3], self.weights[:, :-1]):
            self.refused(ValueError, "^weights: ", weights=weights)

    def test_output(self):
        for out, error in (
            (np.zeros((4, 19), np.float32), ValueError),
            (np.zeros((3, 20), np.float32), ValueError),
            (np.zeros(80, np.float32), ValueError),
            (np.zeros((4, 20), np.float64), TypeError),
            (np.zeros((20, 4), np.float32).T, ValueError),
            (np.zeros((4, 40), np.float32)[:, ::2], ValueError),
            ([[0.0] * 20] * 4, TypeError),
        ):
            self.refused(error, "^out: ", out=out)
        frozen = np.zeros((4, 20), np.float32)
        frozen.flags.writeable = False
        self.refused(ValueError, "^out: ", out=frozen)

    @pytest.mark.parametrize("n_threads", [0, -2, 1.5, True, "2", 2**40])
    def test_n_threads(self, n_threads):
        self.refused((TypeError, ValueError), "n_threads", n_threads=n_threads)

    def test_the_next_call_works(self):
        """Refused arguments leave nothing behind."""
        expected = expected_rows(self.X, self.Y, missing_weight=0.01, reg=1.0)
        for reg in (0, -1):
            with pytest.raises(ValueError, match="reg"):
                weighted_row_solve(self.X, self.Y, missing_weight=0, reg=reg)
            Z = weighted_row_solve(self.X, self.Y, missing_weight=0.01, reg=1.0)
            assert row_errors(Z, expected).max() < 1e-5


class TestExtremeValues:
    """The right finite numbers, or an error that names what is too large: never NaN or infinity."""

    def right_or_refused(self, X, Y, **options):
        with np.errstate(all="ignore"):
            try:
                Z = weighted_row_solve(X, Y, **options)
            except ValueError as error:
                assert any(name in str(error) for name in ("X", "factors", "weights", "reg"))  # noqa: PT017
                return None
        assert np.isfinite(Z).all()
        known = 1e-15 * condition_numbers(X, Y, **options) < 1e-6  # the reference has float64 too
        assert (row_errors(Z, expected_rows(X, Y, **options))[known] < 1e-5).all()
        return Z

    @pytest.mark.parametrize("missing_weight", [0, 0.01, 2])
    @pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-10, 1e10, 1e19, 1e30])
    def test_scale_of_the_factors(self, scale, missing_weight):
        """Squares of 1e-30 and 1e30 are no float32 numbers, but the answers are."""
        X, Y = sparse_rows([3, 20, 50], 80, dtype=np.float32), gaussian(80, 20) * scale
        self.right_or_refused(X, Y.astype(np.float32), missing_weight=missing_weight, reg=1.0)
        self.right_or_refused(X, Y.astype(np.float32), missing_weight=missing_weight, reg=scale**2)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    def test_scale_of_the_rows(self, scale):
        X, Y = sparse_rows([3, 20, 50], 80, dtype=np.float32), gaussian(80, 20, dtype=np.float32)
        X.data *= np.float32(scale)
        Z = self.right_or_refused(X, Y, missing_weight=0.01, reg=1.0)
        assert Z is not None, "the answers are float32 numbers"

    def test_answers_that_float32_does_not_hold(self):
        X, Y = np.array([[3e38, 0.0]]), np.array([[1e-3, 0.0], [0.0, 1.0]])
        for missing_weight in (0, 0.01):
            with pytest.raises(ValueError, match=r"\b(X|factors)\b"), np.errstate(all="ignore"):
                weighted_row_solve(X, Y.astype(np.float32), missing_weight=missing_weight, reg=1e-7)
            Z = weighted_row_solve(X, Y, missing_weight=missing_weight, reg=1e-7)
            assert Z[0, 0] == pytest.approx(3e35 / (1e-6 + 1e-7), rel=1e-10)

    def test_rows_beyond_float32_for_float32_factors(self):
        X, Y = np.array([[1e39, 0.0]]), np.full((2, 1), 1e5, np.float32)
        Z = self.right_or_refused(sp.csr_matrix(X), Y, missing_weight=0, reg=1.0)
        if Z is not None:
            assert Z[0, 0] == pytest.approx(1e34, rel=1e-5)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_huge_and_tiny_weights(self, dtype):
        X, Y = sparse_rows([3, 20, 50], 80, dtype=dtype), gaussian(80, 20, dtype=dtype)
        for value in (1e-30, 1e30):
            weights = X.copy()
            weights.data[:] = value
            self.right_or_refused(X, Y, missing_weight=0.01, reg=1.0, weights=weights)
        self.right_or_refused(X, Y, missing_weight=1e30, reg=1.0)
        self.right_or_refused(X, Y, missing_weight=0.01, reg=1e30)

    def test_float64_overflow(self):
        X, Y = sp.csr_matrix([[1e300, 1.0]]), np.array([[1e200, 1.0], [1.0, 1e200]])
        self.right_or_refused(X, Y, missing_weight=1.0, reg=1.0)
