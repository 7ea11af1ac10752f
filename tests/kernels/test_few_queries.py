"""A few queries read the corpus in one pass: the same bits as in a batch, the same errors; zero vectors."""

from __future__ import annotations

import json

import numpy as np
import pytest

import semproj as sj
from semproj import _core
from semproj.retrieval import METRICS, top_k
from tests.kernels.test_retrieval import TOLERANCE, assert_nearest, gaussian
from tests.support import same_bits

# Rows are read in one pass from 16 columns on, a vector or two at a time; scores are summed 256 columns at a time.
DEPTHS = [15, 16, 17, 31, 33, 64, 67, 200, 257, 515]
ONE_PASS = ("cosine", "inner_product", "l1")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", DEPTHS)
def test_the_bits_of_a_batch(d, metric):
    queries, corpus = gaussian(40, d, 1, metric), gaussian(301, d, 2, metric)
    ids, scores = top_k(queries, corpus, 301, metric=metric)
    for rows in (slice(0, 1), slice(3, 10), slice(3, 11)):
        few = top_k(queries[rows], corpus, 301, metric=metric)
        assert same_bits(few[0], ids[rows])
        assert same_bits(few[1], scores[rows])
    assert_nearest((ids[:1, :9], scores[:1, :9]), queries[:1], corpus, 9, metric, 2 * TOLERANCE[metric])


@pytest.mark.parametrize("metric", ONE_PASS)
def test_threads_and_strides(metric):
    queries, corpus = gaussian(1, 100, 1, metric), gaussian(5001, 100, 2, metric)
    ids, scores = top_k(queries, corpus, 20, metric=metric, n_threads=1)
    wide = np.zeros((5001, 131), np.float32)
    wide[:, 7:107] = corpus
    for rows, n_threads in ((corpus, 3), (wide[:, 7:107], 1), (np.repeat(corpus, 2, axis=0)[::2], 2)):
        found = top_k(queries, rows, 20, metric=metric, n_threads=n_threads)
        assert same_bits(found[0], ids)
        assert same_bits(found[1], scores)


@pytest.mark.parametrize("metric", ONE_PASS)
@pytest.mark.parametrize("size", [1e-44, 1e-30, 1e-17, 1e14, 1e16, 1e25])
def test_lengths_whose_squares_float32_does_not_have(size, metric):
    """All rows, or some: what cannot be bounded is scored."""
    corpus = gaussian(301, 90, 2, metric).astype(np.float64)
    queries = gaussian(9, 90, 1, metric) / np.float32(1e4)
    for some in (slice(None), slice(0, None, 3)):
        rows = corpus.copy()
        rows[some] *= size
        rows = rows.astype(np.float32)
        ids, scores = top_k(queries, rows, 20, metric=metric)
        one = top_k(queries[:1], rows, 20, metric=metric)
        assert same_bits(one[0], ids[:1])
        assert same_bits(one[1], scores[:1])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value, metric):
    queries = np.zeros((1, 90), np.float32) + (metric == "jensen_shannon")
    queries[0, 0] = 1
    for row, column in ((0, 0), (39, 89), (300, 65)):
        corpus = np.ones((301, 90), np.float32)
        corpus[row, column] = value
        with pytest.raises(ValueError, match=r"^corpus: contains NaN or infinity"):
            top_k(queries, corpus, 1, metric=metric)


@pytest.mark.parametrize("metric", ["inner_product", "l1"])
def test_the_range_of_float32(metric):
    """Refused if a score could leave it, whatever the scores are: as in a batch."""
    corpus = np.zeros((20, 80), np.float32)
    corpus[7, 3] = 3e38
    queries = np.zeros((9, 80), np.float32)
    queries[:, 5] = 2.0 if metric == "inner_product" else 1e37
    for n in (1, 9):
        with pytest.raises(ValueError, match=r"^queries: too large"):
            top_k(queries[:n], corpus, 1, metric=metric)
    corpus[7, 3] = 8e37  # near the end of the range, but in it
    one, all_of_them = (top_k(queries[:n] / 2, corpus, 20, metric=metric) for n in (1, 9))
    assert same_bits(one[1], all_of_them[1][:1])


@pytest.mark.parametrize("d", [3, 80])
@pytest.mark.parametrize("n", [1, 9])
class TestZeroVectors:
    """By cosine they have no direction."""

    def test_they_find_nothing_and_are_not_found(self, n, d):
        rng = np.random.default_rng(0)
        corpus, queries = rng.standard_normal((2, 600, d)).astype(np.float32)
        corpus[[0, 1, 300, 599]] = 0
        queries = queries[:n]
        asked = np.flatnonzero((corpus != 0).any(axis=1))
        expected = top_k(queries, corpus[asked], 596)
        ids, scores = top_k(queries, corpus, 600)
        assert same_bits(ids[:, :596], asked[expected[0]])
        assert same_bits(scores[:, :596], expected[1])
        assert (ids[:, 596:] == -1).all()
        assert np.isnan(scores[:, 596:]).all()
        queries[-1] = 0
        again, with_zero = top_k(queries, corpus, 600)
        assert same_bits(again[:-1], ids[:-1])
        assert (again[-1] == -1).all()
        assert np.isnan(with_zero[-1]).all()

    def test_by_other_metrics_they_are_rows_as_others(self, n, d):
        zeros, corpus = np.zeros((n, d)), np.vstack([np.ones((2, d)), np.zeros((2, d))])
        assert (top_k(zeros, corpus, 4, metric="l1")[0] == [2, 3, 0, 1]).all()
        ids, scores = top_k(zeros, corpus, 4, metric="inner_product")
        assert (ids == range(4)).all()
        assert not scores.any()


def test_a_classifier_gives_zero_vectors_the_most_frequent_label():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.1, 1.0], [0.0, 2.0]])
    labels = ["none", "east", "north", "north", "north"]
    for n_neighbors in (1, 5):
        model = sj.NearestNeighborClassifier(n_neighbors).fit(rows, labels)
        assert model.predict([[0.0, 0.0], [0.0, 3.0]]).tolist() == ["north", "north"]
    assert sj.NearestNeighborClassifier().fit(rows, labels).predict([[2.0, 0.1]]).tolist() == ["east"]


VARIANT_SCRIPT = """
    import json
    import numpy as np
    from semproj import _core
    from semproj.retrieval import top_k

    bits, rng = {}, np.random.default_rng(0)
    for metric in ("cosine", "inner_product", "l1"):
        for d in (15, 16, 19, 33, 200, 257, 515):
            queries, corpus = (rng.standard_normal((n, d), np.float32) for n in (9, 70))
            batch, one = top_k(queries, corpus, 70, metric=metric), top_k(queries[:1], corpus, 70, metric=metric)
            assert batch[0][:1].tobytes() == one[0].tobytes() and batch[1][:1].tobytes() == one[1].tobytes()
            bits[f"{metric} {d}"] = one[1].tobytes().hex()
    print(json.dumps({"isa": _core.active_isa(), "bits": bits}))
"""


def test_every_instruction_set(run_python):
    results = {
        isa: json.loads(run_python(VARIANT_SCRIPT, SEMPROJ_ISA=isa).stdout) for isa in _core.supported_isas()
    }
    assert all(result["isa"] == isa for isa, result in results.items())
    if {"avx2", "avx512"} <= set(results):
        assert results["avx2"]["bits"] == results["avx512"]["bits"]
