"""The sparse projection against the dense one: every dtype, storage, shape and option."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import BM25, CustomWeighting, LogTfIdf, TfIdf
from semproj.kernels import Projection, project
from tests.reference.project import project as reference
from tests.support import random_counts, random_rows, same_bits
from tests.support.projecting import (
    LENGTHS,
    STORAGES,
    TERMS,
    TOLERANCE,
    WIDTHS,
    assert_close,
    gaussian,
    relative_errors,
    with_indices,
)


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
        from semproj._common.validation import as_csr

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
        with pytest.raises(ValueError, match="out: is misaligned"):
            project(self.X, self.P, out=out)
        assert not out.any()

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
