"""The sparse projection against the dense one: every dtype, storage, shape, option and kind of bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import BM25, CustomWeighting, LogTfIdf, TfIdf, _core
from semproj.kernels import Projection, project
from tests.conftest import random_counts, random_rows, same_bits
from tests.reference.project import project as reference

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


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_every_type(dtype, index, storage):
    X = with_indices(random_rows(LENGTHS, TERMS, dtype=dtype), index)
    P = gaussian(TERMS, 130)
    assert_close(project(X, Projection(P, storage)), reference(X, P), storage)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("d", WIDTHS)
def test_every_width(d, storage):
    X, P = random_rows(LENGTHS, TERMS), gaussian(TERMS, d)
    Z, expected = project(X, Projection(P, storage)), reference(X, P)
    if d < 60:  # numbers that cancel out have no bounded relative error; whole vectors do
        assert relative_errors(Z.reshape(1, -1), expected.reshape(1, -1)) < TOLERANCE[storage]
        assert relative_errors(Z, expected).max() < 10 * TOLERANCE[storage]
    else:
        assert_close(Z, expected, storage)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("shape", [(0, 5, 3), (4, 0, 3), (4, 5, 0), (0, 0, 0), (1, 1, 1)])
def test_empty_shapes(shape, storage):
    n, t, d = shape
    Z = project(sp.csr_matrix((n, t), dtype=np.float32), Projection(np.ones((t, d)), storage))
    assert Z.shape == (n, d)
    assert not Z.any()


@pytest.mark.parametrize("storage", STORAGES)
def test_each_column_of_a_tile_is_its_own(storage):
    """Powers of two on a permuted diagonal are exact in every storage, so a column in a wrong place shows."""
    n = 200
    order = np.random.default_rng(0).permutation(n)
    P = np.zeros((n, n))
    P[np.arange(n), order] = 2.0 ** (np.arange(n) % 5)
    Z = project(sp.eye_array(n, format="csr", dtype=np.float32), Projection(P, storage))
    np.testing.assert_allclose(Z, P, rtol=1e-6 if storage == "int8" else 0)


@pytest.mark.parametrize("storage", STORAGES)
def test_columns_of_very_different_size(storage):
    """Each column has its own scale, so a small one beside a large one keeps its precision."""
    scale = 10.0 ** np.linspace(-20, 20, 90)
    X, P = random_rows([50] * 40, TERMS), gaussian(TERMS, 90) * scale
    Z, expected = project(X, Projection(P, storage)), reference(X, P)
    by_column = np.linalg.norm(Z - expected, axis=0) / np.linalg.norm(expected, axis=0)
    assert by_column.max() < TOLERANCE[storage]


def test_float16_halves_between_rows_of_a_column():
    """Within a column, elements down to 2^-14 of the largest keep 11 bits."""
    P = np.array([[1.0], [1.0 / 3], [1e-2 / 3], [1e-4 / 3 * 2.5], [-1e-3 / 7]])
    Z = project(sp.eye_array(5, format="csr", dtype=np.float32), Projection(P, "float16"))
    np.testing.assert_allclose(Z, P, rtol=2**-11)


def test_reported_shape_storage_and_size():
    P = Projection(gaussian(10, 70, dtype=np.float32))
    assert (P.shape, P.storage, P.dtype) == ((10, 70), "float32", np.float32)
    assert Projection(gaussian(10, 70)).storage == "float64"
    assert Projection(gaussian(10, 70), "float64").dtype == np.float64
    sizes = [Projection(gaussian(10, 128), s).nbytes for s in STORAGES]
    assert sizes == [10 * 128 * b for b in (8, 4, 2, 1)]
    assert "float32" in repr(P)
    assert "(10, 70)" in repr(P)


class TestInput:
    def setup_method(self):
        self.X = random_rows([3, 0, 40, 7], 50, dtype=np.float64)
        self.P = gaussian(50, 20)
        self.expected = reference(self.X, self.P)

    def check(self, X, P=None):
        np.testing.assert_allclose(project(X, self.P if P is None else P), self.expected, rtol=1e-13, atol=1e-13)

    def test_duplicates_add_up_in_any_order(self):
        X = sp.csr_matrix(([1.0, 2.0, 4.0], [3, 1, 3], [0, 3]), shape=(1, 5))
        assert project(X, np.arange(10.0).reshape(5, 2)).tolist() == [[5 * 6 + 2 * 2, 5 * 7 + 2 * 3]]

    @pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr"])
    def test_sparse_formats(self, form):
        self.check(self.X.asformat(form))

    def test_sparse_array_and_dense(self):
        self.check(sp.csr_array(self.X))
        self.check(self.X.toarray())
        self.check(np.asfortranarray(self.X.toarray()))
        self.check(self.X.toarray().tolist())

    def test_projection_of_any_strides(self):
        self.check(self.X, np.asfortranarray(self.P))
        self.check(self.X, np.repeat(self.P, 2, axis=1)[:, ::2])
        self.check(self.X, self.P[::-1].copy()[::-1])
        self.check(self.X, self.P[:, ::-1].copy()[:, ::-1])

    def test_read_only_arrays(self):
        X, P = self.X.copy(), self.P.copy()
        for array in (X.data, X.indices, X.indptr, P):
            array.flags.writeable = False
        self.check(X, P)

    def test_non_contiguous_arrays(self):
        X = self.X.copy()
        X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 3)[::3]
        assert not X.data.flags.c_contiguous
        self.check(X)

    def test_unaligned_and_foreign_byte_order(self):
        def shifted(array):
            buffer = np.zeros(array.nbytes + 1, np.uint8)
            view = buffer[1:].view(array.dtype)
            view[:] = array
            return view

        X = self.X.copy()
        X.data, X.indices = shifted(X.data), shifted(X.indices)
        assert not X.data.flags.aligned
        self.check(X)
        self.check(self.X, shifted(self.P.ravel()).reshape(self.P.shape))
        swapped = self.X.copy()
        swapped.data, swapped.indices = swapped.data.astype(">f8"), swapped.indices.astype(">i4")
        self.check(swapped, self.P.astype(">f8"))

    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.uint64, np.longdouble])
    def test_other_number_types(self, dtype):
        X = random_counts(9, 50).astype(dtype)
        np.testing.assert_allclose(project(X, self.P), reference(X, self.P), rtol=1e-13, atol=1e-13)

    def test_half_precision_rows(self):
        X = self.X.toarray().astype(np.float16)
        np.testing.assert_allclose(project(X, self.P), reference(X, self.P), rtol=1e-6, atol=1e-6)

    def test_counts_beyond_32_bits(self):
        X = sp.csr_matrix(np.array([[2**40, 1]]))
        assert project(X, np.eye(2)).tolist() == [[2.0**40, 1.0]]

    def test_no_copy_of_the_input(self):
        """The arrays of CSR input reach the kernel as they are."""
        from semproj._validation import as_csr

        assert as_csr(self.X).data is self.X.data
        before = [a.copy() for a in (self.X.data, self.X.indices, self.X.indptr)]
        project(self.X, self.P)
        for a, b in zip(before, (self.X.data, self.X.indices, self.X.indptr), strict=True):
            assert same_bits(a, b)

    def test_unused_entries_behind_the_last_row(self):
        X = self.X.copy()
        X.data = np.concatenate([X.data, [np.nan]])
        X.indices = np.concatenate([X.indices, np.array([-7], np.int32)])
        self.check(X)


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
        with pytest.raises(TypeError, match="X: expected numbers"):
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

    @pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, "2", 2**40])
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


class TestOut:
    def setup_method(self):
        self.X = random_rows([3, 0, 40, 7], 50)
        self.P = Projection(gaussian(50, 100, dtype=np.float32))
        self.expected = project(self.X, self.P)

    def test_given(self):
        out = np.full((4, 100), np.nan, np.float32)
        assert project(self.X, self.P, out=out) is out
        assert same_bits(out, self.expected)

    @pytest.mark.parametrize("storage", STORAGES)
    def test_strided(self, storage):
        P = Projection(gaussian(50, 100), storage)
        expected = project(self.X, P)
        wide = np.full((9, 107), 7, P.dtype)
        out = wide[1:9:2, 3:103]
        assert project(self.X, P, out=out) is out
        assert same_bits(np.ascontiguousarray(out), expected)
        wide[1:9:2, 3:103] = 7
        assert (wide == 7).all(), "written outside of out"

    def test_rows_in_reverse(self):
        out = np.zeros((4, 100), np.float32)[::-1]
        project(self.X, self.P, out=out)
        assert same_bits(np.ascontiguousarray(out), self.expected)

    def test_unaligned(self):
        out = np.zeros(4 * 100 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(4, 100)
        assert not out.flags.aligned
        project(self.X, self.P, out=out)
        assert same_bits(out.copy(), self.expected)

    def test_one_column_of_a_wider_array(self):
        P = Projection(gaussian(50, 1, dtype=np.float32))
        out = np.zeros((4, 5), np.float32)[:, 2:3]
        project(self.X, P, out=out)
        assert same_bits(out.copy(), project(self.X, P))

    @pytest.mark.parametrize(
        ("out", "error", "message"),
        [
            (np.zeros((4, 100)), TypeError, "out: expected dtype float32, got float64"),
            (np.zeros((4, 100), ">f4"), TypeError, "out: expected dtype"),
            (np.zeros((4, 99), np.float32), ValueError, r"out: expected shape \(4, 100\), got \(4, 99\)"),
            (np.zeros((5, 100), np.float32), ValueError, "out: expected shape"),
            (np.zeros(400, np.float32), ValueError, "out: expected shape"),
            (np.zeros((100, 4), np.float32).T, ValueError, "out: expected rows that are contiguous"),
            (np.zeros((4, 200), np.float32)[:, ::2], ValueError, "out: expected rows that are contiguous"),
            (np.broadcast_to(np.zeros(100, np.float32), (4, 100)), ValueError, "out: is read-only"),
            ([[0.0] * 100] * 4, TypeError, "out: expected a NumPy array"),
        ],
        ids=["dtype", "byte order", "narrow", "long", "flat", "transposed", "stepped", "read-only", "list"],
    )
    def test_refused(self, out, error, message):
        with pytest.raises(error, match=message):
            project(self.X, self.P, out=out)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("d", [64, 100])
    def test_accumulate(self, storage, d):
        P = Projection(gaussian(50, d), storage)
        start = gaussian(4, d, seed=5).astype(P.dtype)
        out = start.copy()
        project(self.X, P, out=out, accumulate=True)
        expected = start.astype(np.float64) + project(self.X, P)
        np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)
        assert same_bits(out[1], start[1])  # an empty row adds nothing


class TestNormalize:
    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("d", [1, 7, 8, 9, 64, 100])
    def test_unit_rows(self, storage, d):
        X, P = random_rows(LENGTHS, TERMS), Projection(gaussian(TERMS, d), storage)
        plain = project(X, P).astype(np.float64)
        Z = project(X, P, normalize=True)
        norms = np.linalg.norm(plain, axis=1, keepdims=True)
        np.testing.assert_allclose(Z, np.divide(plain, norms, out=plain * 0, where=norms > 0), rtol=1e-6)
        assert not Z[0].any(), "a zero row stays zero"

    def test_tiny_and_huge_rows(self):
        """The squares of 1e30 and 1e-30 do not fit float32; the length of the row must not be summed there."""
        X = sp.csr_matrix(np.array([[1e30, 0], [0, 1e-30]], np.float32))
        Z = project(X, np.array([[3.0, 4.0], [3.0, 4.0]], np.float32), normalize=True)
        np.testing.assert_allclose(Z, [[0.6, 0.8]] * 2, rtol=1e-6)


class TestFusedWeighting:
    def setup_method(self):
        self.X = random_counts(60, 50, 0.2)
        self.P = gaussian(50, 70)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
    @pytest.mark.parametrize(
        "weighting", [LogTfIdf(), TfIdf(), BM25(k1=1.7, b=0.4)], ids=lambda w: type(w).__name__
    )
    def test_same_as_weighting_first(self, weighting, dtype, storage):
        X = self.X.astype(dtype)
        weighting.fit(X)
        P = Projection(self.P, storage)
        expected = reference(weighting.transform(X.astype(np.float64)), self.P)
        assert_close(project(X, P, weighting=weighting), expected, storage)
        np.testing.assert_allclose(
            project(X, P, weighting=weighting), project(weighting.transform(X), P), rtol=1e-4, atol=2e-4
        )

    def test_users_own_function(self):
        weighting = CustomWeighting(lambda count, df, n, length: count * n / (df + length)).fit(self.X)
        expected = reference(weighting.transform(self.X), self.P)
        np.testing.assert_allclose(project(self.X, self.P, weighting=weighting), expected, rtol=1e-6, atol=1e-6)

    def test_width_of_the_weighting(self):
        weighting = LogTfIdf().fit(self.X[:, :-1])
        with pytest.raises(ValueError, match="weight"):
            project(self.X, self.P, weighting=weighting)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("weighting", [LogTfIdf(), TfIdf(), BM25()], ids=lambda w: type(w).__name__)
    def test_negative_counts(self, weighting, storage):
        """As ``weighting.transform`` would: an error. log2(-0.5 + 1) is a number, but no weight."""
        X = self.X.astype(np.float32)
        weighting.fit(X)
        X.data[3] = -0.5
        with pytest.raises(ValueError, match="X"):
            project(X, Projection(self.P, storage), weighting=weighting)

    @pytest.mark.parametrize("weighting", [LogTfIdf(), BM25()], ids=lambda w: type(w).__name__)
    def test_duplicates_are_one_count(self, weighting):
        """Two entries of one are a count of two, also where the weight is not linear."""
        joined = sp.csr_matrix(np.array([[2, 0, 1], [0, 3, 0], [1, 0, 0]]))
        split = sp.csr_matrix(([1, 1, 1, 2, 1, 1], [0, 2, 0, 1, 1, 0], [0, 3, 5, 6]), shape=(3, 3))
        assert (joined.toarray() == split.toarray()).all()
        weighting.fit(joined)
        expected = project(joined, np.eye(3), weighting=weighting)
        np.testing.assert_allclose(project(split, np.eye(3), weighting=weighting), expected, rtol=1e-12)

    def test_out_of_range_index_is_found_before_its_weight_is_read(self, run_python):
        """A far index would read far outside of the table of weights: in a process of its own."""
        done = run_python(
            """
            import numpy as np, scipy.sparse as sp, semproj as sj
            from semproj.kernels import Projection, project
            X = sp.csr_matrix(np.ones((4, 3), np.int32))
            weightings = [w.fit(X) for w in (sj.LogTfIdf(), sj.TfIdf(), sj.BM25())]
            for column in (3, 2**31 - 1, -1, -2**31):
                X.indices[7] = column
                for storage in ("float64", "float32", "float16", "int8"):
                    for weighting in weightings:
                        try:
                            project(X, Projection(np.ones((3, 2)), storage), weighting=weighting)
                        except ValueError as error:
                            assert "X: column index" in str(error), error
                        else:
                            raise AssertionError((column, storage, weighting))
        """,
            check=False,
        )
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-500:]}"


LONG = [0, 3, 40_001, 131_077, 2]


class TestLongRows:
    @pytest.mark.parametrize("dtype", [np.float32, np.int32])
    def test_int8_sums_do_not_overflow(self, dtype):
        """All extreme products have one sign: 131,077 x 127 x 127 x 128 would overflow 32 bits many times."""
        X = random_rows(LONG, 300, dtype=dtype)
        X.data[:] = 5
        P = np.abs(gaussian(300, 70)) + 3.0
        Z = project(X, Projection(P, "int8"))
        assert relative_errors(Z, reference(X, P)).max() < 5e-3
        Z = project(-X, Projection(P, "int8"))
        assert relative_errors(Z, -reference(X, P)).max() < 5e-3

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("weighting", [None, LogTfIdf(), BM25()], ids=lambda w: type(w).__name__)
    def test_rows_beyond_one_chunk(self, storage, weighting):
        """2^20 entries are converted at a time: rows of one less, exactly, one more, and several pieces."""
        chunk = 1 << 20
        lengths = [5, chunk - 1, chunk, 0, chunk + 1, 2 * chunk, 2 * chunk + 3, 4]
        n_terms = 2 * chunk + 9
        rng = np.random.default_rng(0)
        order = rng.permutation(n_terms).astype(np.int32)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        data = rng.integers(1, 6, indptr[-1]).astype(np.int32)
        data[indptr[-2] - chunk // 2 :] = 100  # pieces of a row differ in size, as do their quantisation steps
        X = sp.csr_matrix((data, np.concatenate([order[:n] for n in lengths]), indptr), shape=(8, n_terms))
        P = gaussian(n_terms, 3) + 1.0
        if weighting is not None:
            term_weight = rng.uniform(0.5, 2, n_terms)
            weighting.fit(sp.csr_matrix((3, n_terms), dtype=np.int32))
            weighting.term_weight_ = term_weight
        weighted = X.astype(np.float64) if weighting is None else weighting.transform(X.astype(np.float64))
        Z = project(X, Projection(P, storage), weighting=weighting)
        tolerance = {"float64": 1e-11, "float32": 2e-4, "float16": 5e-4, "int8": 3e-2}[storage]
        assert relative_errors(Z, weighted @ P).max() < tolerance

    def test_accumulate_over_pieces(self):
        X = random_rows([(1 << 21) + 5, 3], 20, dtype=np.int32)
        P = np.abs(gaussian(20, 3))
        out = np.full((2, 3), 1e6)
        project(X, P, out=out, accumulate=True)
        np.testing.assert_allclose(out, 1e6 + reference(X, P), rtol=1e-12)


class TestSameBits:
    """A row's bits depend neither on the number of threads nor on the other rows."""

    def setup_method(self):
        rng = np.random.default_rng(2)
        self.X = random_rows(rng.integers(0, 200, 3000).tolist(), TERMS, dtype=np.float32)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("dtype", [np.float32, np.int32])
    @pytest.mark.parametrize("d", [20, 300])
    def test_any_number_of_threads(self, storage, dtype, d):
        X = self.X if dtype == np.float32 else random_counts(3000, TERMS, 0.1)
        P = gaussian(TERMS, d)
        weighting = None if dtype == np.float32 else LogTfIdf().fit(X)
        results = [
            project(X, Projection(P, storage, n), weighting=weighting, normalize=True, n_threads=n)
            for n in (1, 2, 5)
        ]
        assert same_bits(results[0], results[1])
        assert same_bits(results[0], results[2])

    @pytest.mark.parametrize("storage", STORAGES)
    def test_any_batch(self, storage):
        P = Projection(gaussian(TERMS, 100), storage)
        whole = project(self.X, P, n_threads=2)
        for rows in (slice(0, 1), slice(7, 12), slice(1234, 2900), slice(2999, 3000)):
            assert same_bits(whole[rows], project(self.X[rows], P))

    def test_again(self):
        P = Projection(gaussian(TERMS, 100, dtype=np.float32))
        first = project(self.X, P, n_threads=2)
        assert all(same_bits(first, project(self.X, P, n_threads=2)) for _ in range(20))


VARIANT_SCRIPT = """
    import json
    import numpy as np
    from semproj import LogTfIdf, _core
    from semproj.kernels import Projection, project
    from tests.conftest import random_counts, random_rows
    from tests.models.test_project import LENGTHS, LONG, TERMS, gaussian, reference, relative_errors

    worst = {}
    rows, counts = random_rows(LENGTHS, TERMS), random_counts(60, TERMS, 0.1)
    long = random_rows(LONG, 300)
    long.data[:] = 5
    weighting = LogTfIdf().fit(counts)
    weighted = weighting.transform(counts.astype(np.float64))
    for storage in ("float64", "float32", "float16", "int8"):
        errors = []
        for d in (15, 16, 17, 32, 33, 48, 63, 64, 65, 100):
            P = gaussian(TERMS, d)
            packed = Projection(P, storage)
            few = 0.5 if d < 60 else 1
            errors.append(few * relative_errors(project(rows, packed), reference(rows, P)).max())
            Z = project(counts, packed, weighting=weighting)
            errors.append(few * relative_errors(Z, reference(weighted, P)).max())
            out = np.ones((len(LENGTHS), d + 3), packed.dtype)
            project(rows, packed, out=out[:, :d], accumulate=True)
            expected = reference(rows, P)
            errors.append(np.linalg.norm(out[:, :d] - 1 - expected) / np.linalg.norm(expected))
            assert (out[:, d:] == 1).all()
        P = np.abs(gaussian(300, 70)) + 3.0
        error = relative_errors(project(long, Projection(P, storage)), reference(long, P)).max()
        errors.append(error if storage == "int8" else error / 100)  # 131,077 terms of one sign in float32
        two = [project(counts, Projection(gaussian(TERMS, 100), storage), n_threads=n).tobytes() for n in (1, 5)]
        assert two[0] == two[1]
        worst[storage] = float(max(errors))
    print(json.dumps({"isa": _core.active_isa(), "worst": worst}))
"""


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(isa, run_python):
    if isa not in _core.supported_isas():
        done = run_python("import semproj", check=False, SEMPROJ_ISA=isa)
        assert done.returncode != 0
        assert f"SEMPROJ_ISA={isa}: this CPU cannot run it" in done.stderr
        return
    result = json.loads(run_python(VARIANT_SCRIPT, SEMPROJ_ISA=isa).stdout)
    assert result["isa"] == isa
    for storage, error in result["worst"].items():
        assert error < TOLERANCE[storage], storage


def test_unknown_instruction_set(run_python):
    done = run_python("import semproj", check=False, SEMPROJ_ISA="nonsense")
    assert done.returncode != 0
    assert "SEMPROJ_ISA=nonsense: expected baseline, avx2 or avx512" in done.stderr


@pytest.mark.slow
def test_more_than_two_to_the_31_nonzeros(tmp_path):
    """Offsets beyond 2^31: the entries before them lie in a hole of a sparse file and are never read.

    Only the binding sees such a matrix here; scipy would walk the whole of it.
    """
    hole, tail = 2**31 + 1000, 50
    rng = np.random.default_rng(0)

    def holey(name, dtype, values):
        path = tmp_path / name
        with open(path, "wb") as file:
            file.truncate((hole + tail) * np.dtype(dtype).itemsize)
        array = np.memmap(path, dtype, "r+")
        array[hole:] = values
        return array

    columns, values = rng.integers(0, 30, tail), rng.standard_normal(tail)
    indices = holey("indices", np.int32, columns)
    data = holey("data", np.float32, values)
    # indptr[0] is the hole's end: rows are [hole, hole + 20), nothing, [hole + 20, hole + 50).
    indptr = np.array([hole, hole + 20, hole + 20, hole + tail], np.int64)
    P = gaussian(30, 70)
    expected = reference(sp.csr_matrix((values, columns, indptr - hole), shape=(3, 30)), P)
    for storage in ("float32", "float16", "int8"):
        out = np.zeros((3, 70), np.float32)
        packed = _core.PackedProjection(P, storage, 2)
        _core.project(_core.Csr(indptr, indices, data, 30), packed, out, None, False, False, 2)
        assert_close(out, expected, storage)
