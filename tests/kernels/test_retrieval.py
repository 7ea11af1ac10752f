"""Nearest rows and true ranks against all scores sorted: every metric, ragged shapes, ties, bad input."""

from __future__ import annotations

import json

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from semproj import _core
from semproj.retrieval import METRICS, top_k, true_ranks
from tests.reference import retrieval as reference
from tests.support import same_bits

# Queries, corpus rows, columns, k. Tiles are 12 x 32, 6 x 16 and 6 x 8, columns are walked 256 at a time and
# corpus rows come in blocks of 256: the shapes are one more, one less and far from all of these.
SHAPES = [
    (1, 1, 1, 1),
    (1, 2, 3, 2),
    (5, 7, 2, 7),
    (11, 31, 15, 3),
    (12, 32, 16, 1),
    (13, 33, 17, 33),
    (24, 255, 9, 10),
    (7, 257, 255, 100),
    (3, 300, 257, 5),
    (2, 40, 600, 4),
    (400, 90, 5, 8),
]
# float32 sums of up to 600 terms of size one, in steps of 256.
TOLERANCE = {"cosine": 4e-7, "inner_product": 5e-5, "l1": 5e-4, "jensen_shannon": 6e-7}


@numba.njit
def chebyshev(u, v):
    largest = 0.0
    for i in range(len(u)):
        largest = max(largest, abs(u[i] - v[i]))
    return largest


def gaussian(n, d, seed=0, metric=""):
    rows = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return np.abs(rows) + np.float32(0.01) if metric == "jensen_shannon" else rows


def assert_nearest(found, queries, corpus, k, metric, tolerance):
    """The scores are the reference's and the rows have them; the order may differ within rounding."""
    ids, scores = found
    _, expected = reference.top_k(queries, corpus, k, metric)
    assert (ids.dtype, scores.dtype, ids.shape, scores.shape) == (np.int64, np.float32, *[(len(queries), k)] * 2)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)
    own = np.take_along_axis(reference.scores(queries, corpus, metric), ids, axis=1)
    np.testing.assert_allclose(scores, own, rtol=0, atol=tolerance)
    assert all(len(set(row)) == k for row in ids.tolist())
    steps = np.diff(scores, axis=1)
    assert (steps <= 0).all() if metric in ("cosine", "inner_product") else (steps >= 0).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nearest_of_every_shape(shape, metric):
    n, m, d, k = shape
    queries, corpus = gaussian(n, d, 1, metric), gaussian(m, d, 2, metric)
    assert_nearest(top_k(queries, corpus, k, metric=metric), queries, corpus, k, metric, TOLERANCE[metric])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 2, 11, 33, 257, 400])
def test_ranks_of_every_shape(n, metric):
    A = gaussian(n, 9, 1, metric)
    B = A + 0.5 * gaussian(n, 9, 2, metric)
    expected = reference.true_ranks(A, B, metric)
    if n > 100:
        assert len(set(expected[0])) >= 10  # otherwise the data test nothing
        assert not np.array_equal(*expected)
    for ranks, reference_ranks in zip(true_ranks(A, B, metric=metric, n_threads=2), expected, strict=True):
        assert ranks.dtype == np.int64
        np.testing.assert_array_equal(ranks, reference_ranks)


@pytest.mark.parametrize("k", [1, 2, 64, 65, 150, 3000])
def test_many_candidates(k):
    """Rows that come in the order of their score fill the reservoir again and again."""
    scores = np.concatenate([np.arange(1500), np.arange(1500)]).astype(np.float32)[:, None]
    ids, found = top_k(np.ones((3, 1)), scores, k, metric="inner_product")
    order = np.lexsort((np.arange(3000), -scores[:, 0]))[:k]
    assert (ids == order).all()
    assert (found == scores[order, 0]).all()


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("metric", [*METRICS, chebyshev], ids=[*METRICS, "own"])
def test_smaller_index_first_among_equals(metric, n_threads):
    distinct = gaussian(40, 8, 0, "jensen_shannon")
    distinct /= np.linalg.norm(
        distinct, axis=1, keepdims=True
    )  # so that each is nearest to itself by every metric
    corpus = np.tile(distinct, (150, 1))
    ids, scores = top_k(distinct[:7], corpus, 150, metric=metric, n_threads=n_threads)
    assert (ids == np.arange(7)[:, None] + 40 * np.arange(150)).all()
    assert (scores == scores[:, :1]).all()


def test_minus_zero_and_zero_are_equal():
    ids, _ = top_k([[1.0, 0.0]], [[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0], [-0.0, -1.0]], 4, metric="inner_product")
    assert ids.tolist() == [[0, 1, 2, 3]]
    assert not np.signbit(top_k([[1.0]], [[1.0]], 1, metric="l1")[1]).any()


@pytest.mark.parametrize("metric", [*METRICS, chebyshev], ids=[*METRICS, "own"])
def test_same_bits_for_any_threads_and_batch(metric):
    queries, corpus = gaussian(900, 40, 1, metric), gaussian(3001, 40, 2, "jensen_shannon")
    ids, scores = top_k(queries, corpus, 20, metric=metric, n_threads=1)
    for n_threads in (2, 5):
        other = top_k(queries, corpus, 20, metric=metric, n_threads=n_threads)
        assert same_bits(other[0], ids)
        assert same_bits(other[1], scores)
    for rows in (slice(0, 1), slice(5, 18), slice(383, 386), slice(100, 700)):
        other = top_k(queries[rows], corpus, 20, metric=metric, n_threads=2)
        assert same_bits(other[0], ids[rows])
        assert same_bits(other[1], scores[rows])
    partners = corpus[: len(queries)]
    ranks = [true_ranks(queries, partners, metric=metric, n_threads=n) for n in (1, 2, 5)]
    for other in ranks[1:]:
        assert same_bits(other[0], ranks[0][0])
        assert same_bits(other[1], ranks[0][1])


def test_more_queries_than_a_batch():
    """Queries are taken some thousands at a time."""
    queries = np.eye(3, dtype=np.float32)[np.random.default_rng(0).integers(0, 3, 30_000)]
    ids, scores = top_k(queries, np.eye(3), 1, n_threads=1)
    assert (ids[:, 0] == queries.argmax(axis=1)).all()
    assert (scores == 1).all()


class TestOwnDistance:
    def test_nearest(self):
        queries, corpus = gaussian(21, 6, 1), gaussian(150, 6, 2)
        for k in (1, 10, 150):
            found = top_k(queries, corpus, k, metric=chebyshev)
            ids, scores = reference.top_k(queries, corpus, k, chebyshev.py_func)
            np.testing.assert_array_equal(found[0], ids)
            np.testing.assert_allclose(found[1], scores, rtol=1e-6)

    def test_ranks(self):
        A = gaussian(130, 6, 1)
        B = A + 0.5 * gaussian(130, 6, 2)
        expected = reference.true_ranks(A, B, chebyshev.py_func)
        assert len(set(expected[0])) > 10
        for found, ranks in zip(true_ranks(A, B, metric=chebyshev), expected, strict=True):
            np.testing.assert_array_equal(found, ranks)

    def test_a_plain_function_is_compiled(self):
        def first_column(u, v):
            return abs(u[0] - v[0])

        ids, scores = top_k([[2.0, 9.0]], [[5.0, 0.0], [1.0, 0.0]], 2, metric=first_column)
        assert ids.tolist() == [[1, 0]]
        assert scores.tolist() == [[1.0, 3.0]]

    def test_ties_count_against_the_partner(self):
        A = np.array([[1.0], [1.0], [3.0]])
        forward, backward = true_ranks(A, A, metric=chebyshev)
        assert forward.tolist() == backward.tolist() == [2, 2, 1]

    def test_nan_is_refused(self):
        def broken(u, v):
            return np.nan if u[0] > 2 else abs(u[0] - v[0])

        rows = np.arange(30.0)[:, None]
        with pytest.raises(ValueError, match=r"^metric: the function returned NaN"):
            top_k(rows, rows, 1, metric=broken)
        with pytest.raises(ValueError, match=r"^metric: the function returned NaN"):
            true_ranks(rows, rows, metric=broken)


class TestTiesOfRanks:
    @pytest.mark.parametrize("metric", METRICS)
    def test_duplicates_wherever_they_fall(self, metric):
        A = np.repeat(gaussian(400, 33, 0, "jensen_shannon"), 2, axis=0)
        B = A + np.float32(0.25) * np.abs(A[::-1])
        first, second = true_ranks(A, B, metric=metric)
        assert first.min() >= 2
        assert second.min() >= 2

    def test_equal_up_to_length(self):
        """Three times as long is the same direction, though its unit vector is rounded differently."""
        rows = gaussian(300, 50)
        A = np.concatenate([rows, 3 * rows, 0.1 * rows])
        for ranks in true_ranks(A, A):
            assert (ranks == 3).all()

    def test_zero_vectors_have_no_cosine(self):
        A = gaussian(40, 5)
        B = A.copy()
        B[3] = 0
        A[20] = 0
        for ranks in true_ranks(A, B):
            assert np.flatnonzero(ranks == 0).tolist() == [3, 20]
        assert (true_ranks(A, B, metric="l1")[0] >= 1).all()


class TestNumerics:
    def test_divergence_is_in_bits_of_rows_that_sum_to_one(self):
        rows = np.array([[4.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0], [3e-20, 1e-20, 0.0]])
        ids, scores = top_k(rows[:1], rows, 4, metric="jensen_shannon")
        assert ids.tolist() == [[0, 3, 2, 1]]
        expected = [0.0, reference.scores(rows[:1], rows, "jensen_shannon")[0, 3], 0.31127812, 1.0]
        np.testing.assert_allclose(scores[0], expected, atol=2e-7)

    @pytest.mark.parametrize("d", [256, 300, 2000])
    def test_divergence_of_many_equal_columns(self, d):
        """Their terms are all rounded the same way, when they are added to that of one column with most of it."""
        shares = np.linspace(0.3, 0.99, 50)[:, None]
        queries = np.hstack([shares, np.repeat((1 - shares) / (d - 1), d - 1, axis=1)]).astype(np.float32)
        rows = np.ones((1, d), np.float32)
        _, scores = top_k(queries, rows, 1, metric="jensen_shannon")
        np.testing.assert_allclose(scores, reference.scores(queries, rows, "jensen_shannon"), rtol=0, atol=1.5e-6)

    def test_close_distributions_keep_their_digits(self):
        """A divergence of 1e-5 bits, where the entropies are 11: their difference would be lost in float32."""
        rng = np.random.default_rng(0)
        p = rng.uniform(0.5, 1.5, (1, 2000))
        q = p * (1 + 0.01 * rng.standard_normal((30, 2000)))
        _, expected = reference.top_k(p, q, 30, "jensen_shannon")
        assert expected.max() < 3e-5
        _, scores = top_k(p, q, 30, metric="jensen_shannon")
        np.testing.assert_allclose(scores, expected, atol=1e-7)
        assert top_k(q, q, 1, metric="jensen_shannon")[1].max() < 5e-8

    def test_distance_to_itself_is_zero(self):
        rows = gaussian(50, 700) + 100
        ids, scores = top_k(rows, rows, 1, metric="l1")
        assert (ids[:, 0] == np.arange(50)).all()
        assert not scores.any()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_lengths_do_not_matter_for_cosine(self, dtype):
        rows = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
        sizes = [1e-44, 1e-30, 1.0, 1e37] + ([1e-300, 1e300] if dtype == np.float64 else [])
        for size in sizes:
            ids, scores = top_k((rows * size).astype(dtype), rows, 3)
            assert ids[0].tolist() == [0, 2, 1]
            np.testing.assert_allclose(scores[0], [1, 0.8, 0.6], rtol=2e-6 if size > 1e-40 else 0.2)

    @pytest.mark.parametrize("metric", ["inner_product", "l1"])
    def test_scores_outside_of_float32_are_refused(self, metric):
        rows = np.full((3, 4), 3e38, np.float32)
        with pytest.raises(ValueError, match=r"^queries: too large"):
            top_k(rows, rows, 1, metric=metric)
        with pytest.raises(ValueError, match=r"^A: too large"):
            true_ranks(rows, rows, metric=metric)
        with pytest.raises(ValueError, match=r"^queries: contains numbers outside of the range"):
            top_k(rows.astype(np.float64) * 10, rows, 1, metric=metric)


class TestInput:
    def setup_method(self):
        self.queries, self.corpus = np.round(gaussian(9, 12, 1) * 8), np.round(gaussian(70, 12, 2) * 8)
        self.expected = top_k(self.queries, self.corpus, 5)

    def check(self, queries, corpus):
        for found, expected in zip(top_k(queries, corpus, 5), self.expected, strict=True):
            assert same_bits(found, expected)

    @pytest.mark.parametrize("dtype", [np.float64, np.int8, np.int64, np.float16, ">f4", ">f8"])
    def test_other_types(self, dtype):
        self.check(self.queries.astype(dtype), self.corpus.astype(dtype))

    def test_lists_and_any_strides(self):
        self.check(self.queries.tolist(), self.corpus.tolist())
        self.check(np.asfortranarray(self.queries), np.asfortranarray(self.corpus))
        self.check(np.repeat(self.queries, 2, axis=0)[::2], np.repeat(self.corpus, 3, axis=1)[:, ::3])
        self.check(self.queries[::-1].copy()[::-1], self.corpus[:, ::-1].copy()[:, ::-1])

    def test_read_only_and_unaligned(self):
        raw = np.zeros(self.corpus.nbytes + 1, np.uint8)
        shifted = raw[1:].view(np.float32).reshape(self.corpus.shape)
        shifted[:] = self.corpus
        assert not shifted.flags.aligned
        queries = self.queries.copy()
        queries.flags.writeable = shifted.flags.writeable = False
        self.check(queries, shifted)

    def test_input_is_not_written_to(self):
        before = self.corpus.copy()
        top_k(self.queries, self.corpus, 5)
        true_ranks(self.queries, self.queries)
        assert same_bits(self.corpus, before)

    def test_no_queries(self):
        ids, scores = top_k(np.empty((0, 12)), self.corpus, 5)
        assert ids.shape == scores.shape == (0, 5)


@pytest.mark.parametrize("metric", [*METRICS, chebyshev], ids=[*METRICS, "own"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_not_finite(value, metric, dtype):
    good = np.ones((40, 300), dtype)
    for row, column in ((0, 0), (39, 299), (17, 290)):
        bad = good.copy()
        bad[row, column] = value
        for queries, corpus, name in ((bad, good, "queries"), (good, bad, "corpus")):
            with pytest.raises(ValueError, match=f"^{name}: contains NaN or infinity"):
                top_k(queries, corpus, 1, metric=metric)
        for A, B, name in ((bad, good, "A"), (good, bad, "B")):
            with pytest.raises(ValueError, match=f"^{name}: contains NaN or infinity"):
                true_ranks(A, B, metric=metric)


@pytest.mark.parametrize(
    ("queries", "corpus", "options", "error", "message"),
    [
        (np.ones(3), np.ones((2, 3)), {}, ValueError, "^queries: expected a 2-dim"),
        (np.ones((1, 3)), np.ones((2, 4)), {}, ValueError, "^corpus: expected 3 columns, as queries has, got 4"),
        (np.ones((1, 3)), np.ones((0, 3)), {}, ValueError, "^corpus: expected at least one row"),
        (np.ones((1, 0)), np.ones((1, 0)), {}, ValueError, "^queries: expected at least one column"),
        (np.ones((1, 3)), np.ones((2, 3)), {"k": 0}, ValueError, "^k: expected at least 1, got 0"),
        (
            np.ones((1, 3)),
            np.ones((2, 3)),
            {"k": 3},
            ValueError,
            "^k: expected at most the 2 rows of corpus, got 3",
        ),
        (np.ones((1, 3)), np.ones((2, 3)), {"k": 1.0}, TypeError, "^k: expected an integer"),
        (np.ones((1, 3)), np.ones((2, 3)), {"k": True}, TypeError, "^k: expected an integer"),
        (np.ones((1, 3)), np.ones((2, 3)), {"metric": "l2"}, ValueError, "^metric: expected one of 'cosine'"),
        (np.ones((1, 3)), np.ones((2, 3)), {"metric": None}, ValueError, "^metric: expected one of"),
        (np.ones((1, 3)), np.ones((2, 3)), {"n_threads": 0}, ValueError, "^n_threads: expected"),
        (np.array([["a"]]), np.ones((2, 1)), {}, TypeError, "^queries: expected an array of real"),
        (np.ones((1, 1)), np.array([[1j]]), {}, TypeError, "^corpus: expected an array of real"),
        (sp.eye_array(2), np.ones((2, 2)), {}, TypeError, "^queries: expected a dense array"),
        (np.ones((1, 2)), sp.csr_matrix((2, 2)), {}, TypeError, "^corpus: expected a dense array"),
        (
            np.ones((1, 2)),
            -np.ones((2, 2)),
            {"metric": "jensen_shannon"},
            ValueError,
            "^corpus: expected numbers that are not negative",
        ),
        (
            np.zeros((1, 2)),
            np.ones((2, 2)),
            {"metric": "jensen_shannon"},
            ValueError,
            r"^queries: expected rows with a sum above 0 .* \(row 0\)",
        ),
    ],
)
def test_errors_name_the_argument(queries, corpus, options, error, message):
    with pytest.raises(error, match=message):
        top_k(queries, corpus, **{"k": 1, **options})


def test_the_kernel_checks_shapes_itself():
    rows = np.ones((3, 2), np.float32)
    with pytest.raises(TypeError, match="queries: unexpected dtype"):
        _core.top_k(rows.astype(float), rows, 1, "l1", 1)
    with pytest.raises(ValueError, match="corpus: expected as many columns"):
        _core.top_k(rows, rows[:, :1].copy(), 1, "l1", 1)
    for k in (0, 4):
        with pytest.raises(ValueError, match="k: expected between 1"):
            _core.top_k(rows, rows, k, "l1", 1)
    with pytest.raises(ValueError, match="metric: expected 'cosine'"):
        _core.top_k(rows, rows, 1, "l3", 1)
    with pytest.raises(ValueError, match="b: expected the shape of a"):
        _core.true_ranks(rows, rows[:2], "l1", 1)


VARIANT_SCRIPT = """
    import json
    import numpy as np
    from semproj import _core
    from semproj.retrieval import METRICS, top_k, true_ranks
    from tests.kernels.test_retrieval import SHAPES, TOLERANCE, assert_nearest, gaussian
    from tests.reference import retrieval as reference

    bits = {}
    for metric in METRICS:
        for n, m, d, k in SHAPES[1::2]:
            queries, corpus = gaussian(n, d, 1, metric), gaussian(m, d, 2, metric)
            one, many = (top_k(queries, corpus, k, metric=metric, n_threads=t) for t in (1, 5))
            assert_nearest(one, queries, corpus, k, metric, TOLERANCE[metric])
            assert one[0].tobytes() == many[0].tobytes() and one[1].tobytes() == many[1].tobytes()
        A = gaussian(300, 9, 1, metric)
        B = A + 0.5 * gaussian(300, 9, 2, metric)
        found, expected = true_ranks(A, B, metric=metric), reference.true_ranks(A, B, metric)
        assert all(np.array_equal(f, e) for f, e in zip(found, expected, strict=True)), metric
        bits[metric] = one[1].tobytes().hex()
    print(json.dumps({"isa": _core.active_isa(), "bits": bits}))
"""


def test_every_instruction_set(run_python):
    """The variants with fused multiply-add sum in the same order, so they even agree in every bit."""
    results = {
        isa: json.loads(run_python(VARIANT_SCRIPT, SEMPROJ_ISA=isa).stdout) for isa in _core.supported_isas()
    }
    assert all(result["isa"] == isa for isa, result in results.items())
    if {"avx2", "avx512"} <= set(results):
        assert results["avx2"]["bits"] == results["avx512"]["bits"]
