"""The weighted row solver against dense float64 solves of equation 4, and its promises about bits and layouts."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import semproj as sj
from semproj import _core
from semproj._solvers.rowsolve import RowSolver
from semproj.kernels import weighted_row_solve
from tests.reference import wtmf as reference
from tests.support import all_at_once, same_bits
from tests.support.projecting import with_indices
from tests.support.solving import (
    TOLERANCE,
    assert_solved,
    cell_weights,
    condition_numbers,
    expected_rows,
    gaussian,
    row_errors,
    row_lengths,
    sparse_rows,
)

DTYPES = [np.float32, np.float64]
EPS = np.finfo(np.float64).eps


@pytest.fixture(autouse=True, scope="module")
def _small_products_on_one_thread():
    """The reference's products are too small to share."""
    with threadpool_limits(1, "blas"):
        yield


@pytest.mark.parametrize("k", [1, 3, 16, 17, 50, 100, 130])
@pytest.mark.parametrize("missing_weight", [0, 1e-4, 0.01, 1, 5])
@pytest.mark.parametrize("reg", [1e-6, 0.01, 1.0, 20.0])
def test_equal_to_the_dense_solve(k, missing_weight, reg):
    lengths = row_lengths(k)
    terms = max(lengths) + k // 3 + 2
    for dtype in DTYPES:
        X, Y = sparse_rows(lengths, terms, seed=k, dtype=dtype), gaussian(terms, k, seed=k + 1, dtype=dtype)
        for weights in (None, cell_weights(X, missing_weight)):
            options = {"missing_weight": missing_weight, "reg": reg, "weights": weights}
            allowed = 30 * EPS * condition_numbers(X, Y, **options) if reg < 0.01 else 0.0
            Z = weighted_row_solve(X, Y, **options)
            assert_solved(Z, expected_rows(X, Y, **options), dtype, allowed=allowed)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [2, 8, 33])
def test_every_length(k, dtype):
    """All row lengths from 0 to 3 k and more: no remainder of an unrolled loop is left out."""
    lengths = list(range(3 * k + 5))
    X, Y = sparse_rows(lengths, 3 * k + 20, dtype=dtype), gaussian(3 * k + 20, k, dtype=dtype)
    for missing_weight in (0.01, 3.0):
        for weights in (None, cell_weights(X, missing_weight)):
            options = {"missing_weight": missing_weight, "reg": 0.5, "weights": weights}
            assert_solved(weighted_row_solve(X, Y, **options), expected_rows(X, Y, **options), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [5, 60])
def test_very_long_rows(k, dtype):
    """Many times more entries than components: several blocks of whatever size."""
    lengths = [4000, 1, 3999, 2049, 0, 1023, 2048, 4096]
    X, Y = sparse_rows(lengths, 4100, dtype=dtype), gaussian(4100, k, dtype=dtype)
    for missing_weight, weights in ((0.01, None), (0.01, cell_weights(X, 0.01)), (2, None)):
        options = {"missing_weight": missing_weight, "reg": 0.1, "weights": weights}
        assert_solved(weighted_row_solve(X, Y, **options), expected_rows(X, Y, **options), dtype)


def test_long_rows_are_refined():
    """Little more than the rounding of the result is left; float32 factors alone cost five times as much."""
    X = sparse_rows([200, 300, 400, 600, 1000] * 4, 1200, dtype=np.float32)
    Y = gaussian(1200, 100, dtype=np.float32)
    for missing_weight, reg in ((0.01, 20.0), (0.1, 5.0)):
        options = {"missing_weight": missing_weight, "reg": reg}
        errors = row_errors(weighted_row_solve(X, Y, **options), expected_rows(X, Y, **options))
        assert np.median(errors) < 2e-7
        assert errors.max() < 5e-7


@pytest.mark.parametrize("n", [2, 10, 32, 33, 90])
def test_short_rows_of_long_factors_are_refined(n):
    """Their systems are badly conditioned, and only the rounding of the result is left all the same."""
    X = sparse_rows([n] * 20, 1000, dtype=np.float32)
    Y = gaussian(1000, 100, dtype=np.float32)
    for missing_weight, reg in ((1e-4, 0.05), (0.001, 0.1), (1e-6, 0.02)):
        options = {"missing_weight": missing_weight, "reg": reg}
        errors = row_errors(weighted_row_solve(X, Y, **options), expected_rows(X, Y, **options))
        assert errors.max() < 2e-7


@pytest.mark.parametrize("spread", [0.1, 0.01, 0.001])
def test_almost_equal_factors_whose_sum_cancels(spread):
    """Factors are one of three directions with little of their own; values of both signs take them away."""
    rng = np.random.default_rng(3)
    Y = (spread * gaussian(500, 100) + gaussian(3, 100, seed=4)[rng.integers(0, 3, 500)]).astype(np.float32)
    X = sparse_rows([1, 2, 2, 3, 3, 10, 30, 33, 90] * 8, 500, dtype=np.float32)
    X.data = rng.choice([-1, 1], X.nnz).astype(np.float32)
    for missing_weight in (1e-6, 1e-4, 0.01):
        for reg in (20.0, 6.0, 2.0, 1.0, 0.1):
            options = {"missing_weight": missing_weight, "reg": reg}
            Z = weighted_row_solve(X, Y, **options)
            assert_solved(Z, expected_rows(X, Y, **options), np.float32)


def test_by_hand():
    """One word, one component: (w y^2 + reg) q = w y x; a missing cell adds its weight times y^2."""
    Y = np.array([[2.0], [3.0]])
    X = sp.csr_matrix([[5.0, 0.0]])
    q = weighted_row_solve(X, Y, missing_weight=0.5, reg=1.0)
    assert q[0, 0] == pytest.approx(2 * 5 / (4 + 0.5 * 9 + 1), rel=1e-14)
    weights = sp.csr_matrix([[7.0, 0.0]])
    q = weighted_row_solve(X, Y, missing_weight=0.5, reg=1.0, weights=weights)
    assert q[0, 0] == pytest.approx(7 * 2 * 5 / (7 * 4 + 0.5 * 9 + 1), rel=1e-14)
    q = weighted_row_solve(X, Y, missing_weight=0, reg=0)
    assert q[0, 0] == pytest.approx(2.5, rel=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_answer_is_the_minimum(dtype):
    """The gradient is zero: independent of how the reference solves."""
    X, Y = sparse_rows([3, 20, 45, 100], 120, dtype=dtype), gaussian(120, 30, dtype=dtype)
    weights = cell_weights(X, 0.2)
    Z = weighted_row_solve(X, Y, missing_weight=0.2, reg=2.0, weights=weights).astype(np.float64)
    cells, W = reference.stored_cells(X, 0.2, weights)
    Y = Y.astype(np.float64)
    for q, x, w in zip(Z, cells, W, strict=True):
        gradient = Y.T @ (w * (Y @ q - x)) + 2.0 * q
        assert np.abs(gradient).max() < 10 * TOLERANCE[dtype] * np.abs(Y.T @ (w * x)).max()


class TestIllConditioned:
    """float32 results have the accuracy of float64 where the system asks for it."""

    def check(self, X, Y, dtype, **options):
        X, Y = X.astype(dtype), Y.astype(dtype)
        cells, W = reference.stored_cells(X, options["missing_weight"], options.get("weights"))
        rows = zip(cells, W, strict=True)
        expected = np.array([reference.solve_row_finely(x, w, Y, options["reg"]) for x, w in rows])
        condition = condition_numbers(X, Y, **options)
        assert_solved(weighted_row_solve(X, Y, **options), expected, dtype, allowed=30 * EPS * condition)
        return condition.max()

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01, 1, 3])
    def test_almost_equal_components(self, missing_weight, dtype):
        Y = gaussian(100, 3) @ gaussian(3, 24, seed=5) + 1e-3 * gaussian(100, 24, seed=6)
        X = sparse_rows([1, 2, 5, 12, 23, 24, 25, 40, 90], 100)
        assert self.check(X, Y, dtype, missing_weight=missing_weight, reg=1e-5) > 1e5

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 1e-4, 1])
    def test_components_of_very_different_scale(self, missing_weight, dtype):
        Y = gaussian(100, 20) * np.logspace(-3, 2, 20)
        X = sparse_rows([1, 3, 10, 19, 20, 21, 35, 80], 100)
        assert self.check(X, Y, dtype, missing_weight=missing_weight, reg=1e-4) > 1e6

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01])
    def test_factors_of_very_different_length(self, missing_weight, dtype):
        """Frequent words have long vectors: one observed word dominates the sums."""
        Y = gaussian(100, 20) * np.logspace(-3, 2, 100)[:, None]
        X = sparse_rows([1, 3, 10, 19, 20, 21, 35, 80], 100)
        self.check(X, Y, dtype, missing_weight=missing_weight, reg=1e-3)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", [4, 19, 20, 60, 99, 100])
    def test_weights_far_below_the_missing_weight(self, n, dtype):
        """What all cells share is almost taken back where a row observes nearly all of them."""
        X, Y = sparse_rows([n, n], 100), gaussian(100, 20)
        weights = X.astype(dtype)
        weights.data[:] = np.random.default_rng(0).uniform(1e-4, 1e-3, X.nnz)
        weights.data[:2] = 0
        self.check(X, Y, dtype, missing_weight=5.0, reg=0.01, weights=weights)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 1e-4, 1])
    def test_weights_of_many_magnitudes(self, missing_weight, dtype):
        X, Y = sparse_rows([1, 5, 19, 20, 21, 60], 100), gaussian(100, 20)
        weights = X.astype(dtype)
        weights.data[:] = 10.0 ** np.random.default_rng(0).uniform(-5, 5, X.nnz)
        assert self.check(X, Y, dtype, missing_weight=missing_weight, reg=0.01, weights=weights) > 1e3

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_no_ridge_to_speak_of(self, dtype):
        X, Y = sparse_rows([1, 2, 10, 28, 29, 30, 31, 32, 40, 90], 100), gaussian(100, 30)
        for reg in (1e-6, 1e-9):  # just above 30 entries the components' system is the better one by far
            self.check(X, Y, dtype, missing_weight=0, reg=reg)
            self.check(X, Y, dtype, missing_weight=1e-6, reg=reg)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0.01, 0.5, 1])
    def test_fewer_terms_than_components(self, missing_weight, dtype):
        """What all rows share has the ridge alone in most directions."""
        for seed in range(12):
            X, Y = sparse_rows([1, 1, 2, 3], 3, seed=seed), gaussian(3, 17, seed=seed)
            for reg in (0.003, 0.01, 0.05):
                self.check(X, Y, dtype, missing_weight=missing_weight, reg=reg)


class TestWithoutRidge:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01, 2])
    def test_works_where_the_data_are_enough(self, missing_weight, dtype):
        X, Y = sparse_rows([40, 60, 50, 99], 100, dtype=dtype), gaussian(100, 20, dtype=dtype)
        for weights in (None, X.copy()):
            if weights is not None:
                weights.data = np.random.default_rng(0).uniform(0.5, 3, X.nnz).astype(dtype)
            options = {"missing_weight": missing_weight, "reg": 0, "weights": weights}
            assert_solved(weighted_row_solve(X, Y, **options), expected_rows(X, Y, **options), dtype)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_short_rows_work_where_missing_cells_carry_them(self, dtype):
        X, Y = sparse_rows([1, 5, 19, 0, 20], 100, dtype=dtype), gaussian(100, 20, dtype=dtype)
        Z = weighted_row_solve(X, Y, missing_weight=0.01, reg=0)
        assert_solved(Z, expected_rows(X, Y, missing_weight=0.01, reg=0), dtype)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", [1, 10, 19])
    def test_fewer_entries_than_components(self, n, dtype):
        X, Y = sparse_rows([50, n, 60], 100, dtype=dtype), gaussian(100, 20, dtype=dtype)
        with pytest.raises(ValueError, match=r"\breg\b"):
            weighted_row_solve(X, Y, missing_weight=0, reg=0)
        weighted_row_solve(X[[0, 2]], Y, missing_weight=0, reg=0)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01, 1])
    @pytest.mark.parametrize("kind", ["zero", "equal", "sum"])
    def test_dependent_components(self, kind, missing_weight, dtype):
        Y = np.round(8 * gaussian(100, 20, dtype=dtype)) / 8  # sums of such numbers are exact
        Y[:, 7] = {"zero": 0, "equal": Y[:, 3], "sum": Y[:, 3] + Y[:, 4]}[kind]
        assert np.linalg.matrix_rank(Y.astype(np.float64)) == 19
        for n in (5, 60):
            X = sparse_rows([n], 100, dtype=dtype)
            with pytest.raises(ValueError, match=r"\breg\b"):
                weighted_row_solve(X, Y, missing_weight=missing_weight, reg=0)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_fewer_terms_than_components(self, dtype):
        X, Y = sparse_rows([3, 10], 15, dtype=dtype), gaussian(15, 20, dtype=dtype)
        with pytest.raises(ValueError, match=r"\breg\b"):
            weighted_row_solve(X, Y, missing_weight=0.5, reg=0)
        assert np.isfinite(weighted_row_solve(X, Y, missing_weight=0.5, reg=1e-3)).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_weights_that_take_everything_back(self, dtype):
        """All missing cells together are regular, but this row gives nearly all cells no weight."""
        X, Y = sparse_rows([30], 30, dtype=dtype), gaussian(30, 10, dtype=dtype)
        weights = X.copy()
        weights.data[5:] = 0
        weights.data[:5] = 1
        with pytest.raises(ValueError, match=r"\breg\b"):
            weighted_row_solve(X, Y, missing_weight=1, reg=0, weights=weights)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 5, 16, 40])
def test_two_ways_to_solve_a_row(k, dtype):
    """Through the system of its entries, or that of the components: the same rows, wherever the switch is."""
    X, Y = sparse_rows(list(range(3 * k + 1)), 3 * k + 9, dtype=dtype), gaussian(3 * k + 9, k, dtype=dtype)
    expected = expected_rows(X, Y, missing_weight=0.05, reg=2.0)
    results = []
    for longest_short in (0, 1, k // 2, k, 10**6):
        results.append(np.full(expected.shape, np.nan, dtype))
        RowSolver(Y, 0.05, 2.0, 2, longest_short).solve(X, results[-1])
        assert_solved(results[-1], expected, dtype)
    if k > 1:
        assert not same_bits(results[0], results[-1]), "they are two"


class TestBits:
    """A row's bits depend neither on the other rows nor on the threads."""

    def setup_method(self):
        self.lengths = [int(n) for n in np.random.default_rng(3).integers(0, 120, 200)]

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(("missing_weight", "reg"), [(0, 1.0), (0.01, 20.0), (0.01, 1e-6), (2, 0.1)])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_rows_and_threads(self, weighted, missing_weight, reg, dtype):
        X, Y = sparse_rows(self.lengths, 300, dtype=dtype), gaussian(300, 37, dtype=dtype)
        weights = cell_weights(X, missing_weight) if weighted else None
        options = {"missing_weight": missing_weight, "reg": reg}
        whole = weighted_row_solve(X, Y, weights=weights, n_threads=1, **options)
        for n_threads in (2, 5, None):
            assert same_bits(weighted_row_solve(X, Y, weights=weights, n_threads=n_threads, **options), whole)
        for rows in ([7], [50], range(199, -1, -1), range(60, 63), range(0, 200, 9), [5, 5, 5]):
            rows = list(rows)
            part = weights if weights is None else weights[rows]
            Z = weighted_row_solve(X[rows], Y, weights=part, n_threads=2, **options)
            assert same_bits(Z, whole[rows])

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_one_difficult_row_among_easy_ones(self, dtype):
        """Wider arithmetic for one row does not touch the others."""
        Y = gaussian(300, 37, dtype=dtype)
        Y[:5] *= 1e4
        X = sparse_rows(self.lengths, 300, dtype=dtype)
        whole = weighted_row_solve(X, Y, missing_weight=0, reg=0.01)
        for row in range(0, 200, 7):
            assert same_bits(weighted_row_solve(X[row], Y, missing_weight=0, reg=0.01), whole[row : row + 1])

    def test_weights_of_one_are_no_weights(self):
        for dtype in DTYPES:
            X, Y = sparse_rows(self.lengths, 300, dtype=dtype), gaussian(300, 37, dtype=dtype)
            ones = X.copy()
            ones.data[:] = 1
            for missing_weight in (0.01, 0.7, 1, 3):
                options = {"missing_weight": missing_weight, "reg": 1.0}
                Z = weighted_row_solve(X, Y, weights=ones, **options)
                assert same_bits(Z, weighted_row_solve(X, Y, **options))

    def test_called_by_several_threads_at_once(self):
        X, Y = sparse_rows(self.lengths, 300), gaussian(300, 37)
        options = {"missing_weight": 0.01, "reg": 1.0, "n_threads": 2}
        expected = weighted_row_solve(X, Y, **options)
        results = all_at_once(lambda rows: weighted_row_solve(rows, Y, **options), [X] * 6)
        assert all(same_bits(result, expected) for result in results)


class TestLayouts:
    def setup_method(self):
        self.X = sparse_rows([3, 0, 40, 17, 16, 90], 100)
        self.Y = gaussian(100, 17)
        self.options = {"missing_weight": 0.1, "reg": 0.5}
        self.expected = weighted_row_solve(self.X, self.Y, **self.options)

    def test_any_layout_of_the_rows(self):
        X = self.X
        for other in (X.tocsc(), X.tocoo(), sp.csr_array(X), X.toarray(), np.asfortranarray(X.toarray())):
            assert same_bits(weighted_row_solve(other, self.Y, **self.options), self.expected)
        assert same_bits(weighted_row_solve(with_indices(X, np.int64), self.Y, **self.options), self.expected)
        frozen = X.copy()
        for array in (frozen.data, frozen.indices, frozen.indptr):
            array.flags.writeable = False
        assert same_bits(weighted_row_solve(frozen, self.Y, **self.options), self.expected)

    def test_dtypes_of_the_rows(self):
        """The result has the dtype of the factors, whatever that of X."""
        counts = self.X.copy()
        counts.data = np.arange(1, counts.nnz + 1) % 7 + 1.0
        for dtype in DTYPES:
            Y = self.Y.astype(dtype)
            expected = expected_rows(counts, Y, **self.options)
            for given in (np.float32, np.float64, np.int32, np.int64, np.uint8):
                Z = weighted_row_solve(counts.astype(given), Y, **self.options)
                assert_solved(Z, expected, dtype)
        thirds = self.X.copy()
        thirds.data /= 3  # not representable in float32
        Z = weighted_row_solve(thirds, self.Y.astype(np.float32), **self.options)
        assert_solved(Z, expected_rows(thirds, self.Y.astype(np.float32), **self.options), np.float32)

    def test_any_layout_of_the_factors(self):
        frozen = self.Y.copy()
        frozen.flags.writeable = False
        wide = np.repeat(np.repeat(self.Y, 2, axis=0), 3, axis=1)
        for other in (np.asfortranarray(self.Y), frozen, wide[::2, ::3], self.Y[::-1][::-1], self.Y.tolist()):
            assert same_bits(weighted_row_solve(self.X, other, **self.options), self.expected)
        narrow = self.Y.astype(np.float32)
        expected = weighted_row_solve(self.X, narrow, **self.options)
        assert same_bits(weighted_row_solve(self.X, np.asfortranarray(narrow), **self.options), expected)

    def test_inputs_do_not_change(self):
        X, Y, weights = self.X.copy(), self.Y.copy(), cell_weights(self.X, 0.1)
        shuffled = sp.csr_matrix((X.data[::-1], X.indices[::-1], [0, X.nnz]), shape=(1, 100))
        before = [a.copy() for a in (shuffled.data, shuffled.indices, X.data, Y, weights.data)]
        weighted_row_solve(X, Y, weights=weights, **self.options)
        weighted_row_solve(shuffled, Y, **self.options)
        after = (shuffled.data, shuffled.indices, X.data, Y, weights.data)
        assert all(same_bits(a, b) for a, b in zip(after, before, strict=True))

    def test_unsorted_indices(self):
        rng = np.random.default_rng(0)
        X, weights = self.X.copy(), cell_weights(self.X, 0.1)
        shuffled, shuffled_weights = X.copy(), weights.copy()
        for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
            for matrix, source in ((shuffled, X), (shuffled_weights, weights)):
                order = begin + rng.permutation(end - begin)
                matrix.indices[begin:end], matrix.data[begin:end] = source.indices[order], source.data[order]
        shuffled.has_sorted_indices = shuffled_weights.has_sorted_indices = False
        Z = weighted_row_solve(shuffled, self.Y, **self.options)
        assert row_errors(Z, self.expected).max() < 1e-12
        expected = weighted_row_solve(X, self.Y, weights=weights, **self.options)
        for rows in (X, shuffled):
            for w in (weights, shuffled_weights):  # aligned by column, not by place
                assert (
                    row_errors(weighted_row_solve(rows, self.Y, weights=w, **self.options), expected).max() < 1e-12
                )

    def test_duplicates_add_up(self):
        """Two halves of a cell are one observed cell, not two."""
        X = self.X
        halves = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert halves.nnz == 2 * X.nnz
        assert row_errors(weighted_row_solve(halves, self.Y, **self.options), self.expected).max() < 1e-12

    def test_explicit_zeros_are_observed(self):
        """A stored zero is an entry: the cell has the weight of an observed one."""
        X = self.X.copy()
        X.data[::3] = 0
        expected = expected_rows(X, self.Y, **self.options)
        dropped = X.copy()
        dropped.eliminate_zeros()
        assert row_errors(expected_rows(dropped, self.Y, **self.options), expected).max() > 0.01
        assert_solved(weighted_row_solve(X, self.Y, **self.options), expected, np.float64)

    def test_given_output(self):
        roomy = np.full((12, 30), np.nan)
        for out in (np.full((6, 17), np.nan), roomy[::2, :17], roomy[:6, 13:]):
            assert weighted_row_solve(self.X, self.Y, out=out, **self.options) is out
            assert same_bits(np.ascontiguousarray(out), self.expected)
        assert np.isnan(roomy[7::2, :13]).all()

    def test_small_shapes(self):
        for dtype in DTYPES:
            Y = gaussian(100, 17, dtype=dtype)
            Z = weighted_row_solve(sp.csr_matrix((0, 100)), Y, **self.options)
            assert (Z.shape, Z.dtype) == ((0, 17), dtype)
            assert not weighted_row_solve(sp.csr_matrix((3, 100)), Y, **self.options).any()
            assert not weighted_row_solve(sp.csr_matrix((3, 0)), Y[:0], **self.options).any()
            one = weighted_row_solve(np.array([[3.0]]), Y[:1], **self.options)
            assert_solved(one, expected_rows(sp.csr_matrix([[3.0]]), Y[:1], **self.options), dtype)


VARIANT_SCRIPT = """
import json
import numpy as np
from semproj.kernels import weighted_row_solve
from tests.support.solving import cell_weights, expected_rows, gaussian, row_errors, sparse_rows
worst = {}
for dtype in (np.float32, np.float64):
    for k in (1, 7, 17, 48):
        X = sparse_rows(list(range(0, 3 * k + 2, max(1, k // 9))), 3 * k + 9, dtype=dtype)
        Y = gaussian(3 * k + 9, k, dtype=dtype)
        for missing_weight, weights in ((0, None), (0.01, cell_weights(X, 0.01)), (3, None)):
            options = {"missing_weight": missing_weight, "reg": 0.3, "weights": weights}
            errors = row_errors(weighted_row_solve(X, Y, **options), expected_rows(X, Y, **options))
            worst[dtype.__name__] = max(worst.get(dtype.__name__, 0), float(errors.max()))
print(json.dumps(worst))
"""


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_variant(isa, run_python):
    if isa not in _core.supported_isas():
        pytest.skip(f"this CPU has no {isa}")
    worst = json.loads(run_python(VARIANT_SCRIPT, SEMPROJ_ISA=isa).stdout)
    for dtype in DTYPES:
        assert worst[dtype.__name__] < TOLERANCE[dtype]


def test_implicit_feedback():
    """The recommender's use: confidence 1 + alpha r, preference 1 (Hu, Koren and Volinsky 2008)."""
    counts = sparse_rows([4, 30, 12, 0, 60], 80, dtype=np.float32)
    counts.data = np.abs(counts.data)
    preference, confidence = counts.copy(), counts.copy()
    preference.data[:] = 1
    confidence.data = 1 + 40 * counts.data
    items = gaussian(80, 16, dtype=np.float32)
    users = sj.kernels.weighted_row_solve(preference, items, missing_weight=1.0, reg=0.1, weights=confidence)
    for row, user in enumerate(users):
        c = np.ones(80)
        c[counts[row].indices] = 1 + 40 * counts[row].data.astype(np.float64)
        p = (counts[row].toarray().ravel() > 0).astype(np.float64)
        Y = items.astype(np.float64)
        expected = np.linalg.solve(Y.T @ np.diag(c) @ Y + 0.1 * np.eye(16), Y.T @ np.diag(c) @ p)
        assert np.abs(user - expected).max() <= 1e-5 * np.abs(expected).max()
