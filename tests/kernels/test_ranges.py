"""Numbers near the ends of their range, and rows so long that roundings add up."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj._common.base import unit_rows
from semproj.kernels import Projection, project
from semproj.retrieval import top_k
from tests.support import same_bits
from tests.support.projecting import relative_errors

# From where a square leaves the range of float32, or of float64, to the last number of float32.
FLOAT32 = [1e-45, 1e-41, 2e-39, 1e-30, 1.0, 1e25, 2e38]
FLOAT64 = [5e-324, 1e-310, 1e-200, 1e-155, 1.0, 1e153, 1e200, 1e307]


def of_size(size: float, shape: tuple[int, int], dtype: type, seed: int = 0) -> np.ndarray:
    """Numbers of both signs, the largest of a row about `size`: what a row of any other scale would look like."""
    return (np.random.default_rng(seed).uniform(-1, 1, shape) * size).astype(dtype)


def unit(rows: np.ndarray) -> np.ndarray:
    """Scaled twice, so that no square leaves the range of long doubles."""
    wide = rows.astype(np.longdouble)
    return wide / np.sqrt((wide**2).sum(axis=1, keepdims=True))


class TestUnitRows:
    CASES = [(np.float32, size) for size in FLOAT32] + [(np.float64, size) for size in FLOAT64]

    @pytest.mark.parametrize(("dtype", "size"), CASES)
    def test_projected_rows(self, dtype, size):
        P = of_size(size, (5, 70), dtype)
        Z = project(sp.eye(5, format="csr", dtype=dtype), P, normalize=True)
        np.testing.assert_allclose(Z, unit(P).astype(dtype), atol=4 * np.finfo(dtype).eps)

    @pytest.mark.parametrize(("dtype", "size"), CASES)
    def test_rows_in_place(self, dtype, size):
        Z = of_size(size, (5, 70), dtype)
        expected = unit(Z).astype(dtype)
        unit_rows(Z)
        np.testing.assert_allclose(Z, expected, atol=4 * np.finfo(dtype).eps)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_large_and_small_numbers_side_by_side(self, dtype):
        tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        Z = np.array([[tiny, 0, 0], [huge, huge, tiny], [0, 0, 0], [3, 0, 4]], dtype)
        unit_rows(Z)
        half = np.sqrt(0.5)
        expected = np.array([[1, 0, 0], [half, half, 0], [0, 0, 0], [0.6, 0, 0.8]])
        np.testing.assert_allclose(Z, expected.astype(dtype), atol=2 * np.finfo(dtype).eps)

    @pytest.mark.parametrize("size", [1e-41, 1e30])
    def test_centred_lsa(self, size):
        """Vectors of a centred model are scaled after the mean is taken off."""
        X = of_size(1.0, (40, 30), np.float32)
        model = sj.LSA(5, center=True, random_state=0).fit(X)
        model.components_ = model.components_ * np.float32(size)
        Z = model._project(sp.csr_matrix(X), normalize=True)
        assert np.linalg.norm(Z.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)


class TestWeights:
    @pytest.mark.parametrize("weighting", [sj.TfIdf(), sj.BM25(k1=1e40, b=0.0)], ids=["tfidf", "bm25"])
    def test_a_weight_that_float32_cannot_hold_is_refused(self, weighting):
        counts = np.array([[3e38, 0], [1, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]], np.float32)
        weighting.fit(counts.astype(np.float64))
        assert np.isfinite(weighting.transform(counts.astype(np.float64)).data).all()
        with pytest.raises(ValueError, match=r"X: NaN, infinity or a weight too large for float32.*row 0"):
            weighting.transform(counts)


class TestInt8:
    @pytest.mark.parametrize("size", [1e-45, 2e-43, 1e-41, 2e-38, 1e-30, 1e30, 3e38])
    def test_columns_keep_their_signs(self, size):
        P = np.array([[size, -size], [-size, size], [size / 4, 0]], np.float32)
        Z = project(sp.eye(3, format="csr", dtype=np.float32), Projection(P, "int8"))
        np.testing.assert_allclose(Z, P, rtol=0.02, atol=np.finfo(np.float32).smallest_subnormal)

    @pytest.mark.parametrize("d", [3, 64])
    @pytest.mark.parametrize("size", [1e-45, 3e-44, 1e-41, 2e-38, 1e-30, 1e30, 3e38])
    def test_rows_keep_their_values(self, size, d):
        X = sp.csr_matrix(np.array([[size, -size, size / 3]], np.float32))
        P = np.eye(3, d, dtype=np.float32)
        Z = project(X, Projection(P, "int8"))
        expected = X.toarray() @ P
        np.testing.assert_allclose(Z, expected, rtol=0.01, atol=np.finfo(np.float32).smallest_subnormal)

    @pytest.mark.parametrize("d", [3, 64])
    def test_small_columns_of_large_rows(self, d):
        """Neither the step of a row nor the scale of a column may vanish before the other has its say."""
        X = sp.csr_matrix(np.array([[1e30, 0, 0], [0, 1e-30, 0]], np.float32))
        P = np.array([[1e-42], [1e30], [0]], np.float32) * np.ones((1, d), np.float32)
        P[1] = 0
        Z = project(X, Projection(P, "int8"))
        np.testing.assert_allclose(Z[0], 1e-12, rtol=0.02)


class TestLongRows:
    """Three million entries of one sign: sums in one float32 register are off by 1e-3."""

    N = 3_000_000

    @pytest.mark.parametrize("storage", ["float32", "float16", "int8", "float64"])
    @pytest.mark.parametrize("d", [1, 20, 64, 100])
    def test_sums_are_right(self, storage, d):
        rng = np.random.default_rng(3)
        n_terms = 50
        X = sp.csr_matrix(
            (
                rng.uniform(0.5, 1.5, self.N).astype(np.float32),
                rng.integers(0, n_terms, self.N).astype(np.int32),
                np.array([0, self.N]),
            ),
            shape=(1, n_terms),
        )
        P = rng.uniform(0.5, 1.5, (n_terms, d)).astype(np.float32)
        totals = np.bincount(X.indices, X.data.astype(np.float64), n_terms)
        expected = totals[None] @ P.astype(np.float64)
        Z = project(X, Projection(P, storage))
        bound = {"float32": 1e-6, "float16": 3e-4, "int8": 1e-2, "float64": 1e-14}[storage]
        assert relative_errors(Z, expected).max() < bound

    def test_the_same_for_converted_rows(self):
        rng = np.random.default_rng(4)
        data, columns = rng.integers(1, 6, self.N).astype(np.int32), rng.integers(0, 50, self.N)
        X = sp.csr_matrix((data, columns, np.array([0, self.N])), shape=(1, 50))
        P = rng.uniform(0.5, 1.5, (50, 30)).astype(np.float32)
        expected = np.bincount(columns, data, 50)[None] @ P.astype(np.float64)
        assert relative_errors(project(X, P), expected).max() < 1e-6


class TestTies:
    def test_jensen_shannon_in_the_order_of_rows(self):
        """Rows that are equal up to their sum have distance 0, whatever the rounding of their quotients."""
        rng = np.random.default_rng(5)
        row = rng.random(40).astype(np.float32)
        corpus = row * rng.uniform(0.1, 10, (200, 1)).astype(np.float32)
        ids, distances = top_k(row[None], corpus, k=200, metric="jensen_shannon")
        zeros = distances[0] == 0
        assert zeros.sum() > 20
        assert (np.diff(ids[0, zeros]) > 0).all()
        assert (np.diff(distances[0]) >= 0).all()

    @pytest.mark.parametrize("metric", ["cosine", "inner_product", "l1", "jensen_shannon"])
    def test_equal_scores_are_in_the_order_of_rows(self, metric):
        rng = np.random.default_rng(6)
        corpus = rng.integers(1, 3, (500, 4)).astype(np.float32)
        ids, scores = top_k(corpus[:9], corpus, k=500, metric=metric, n_threads=1)
        again, same = top_k(corpus[:9], corpus, k=500, metric=metric, n_threads=2)
        assert same_bits(ids, again)
        assert same_bits(scores, same)
        ties = scores[:, 1:] == scores[:, :-1]
        assert ties.any()
        assert (np.diff(ids, axis=1)[ties] > 0).all()
