"""Ranks of gold rows, TOPK and ATOP against brute force, and the rules for ties, zero vectors and samples."""

from functools import partial

import numba
import numpy as np
import pytest

from semproj.metrics import RecallCurve, atop, recall_curve
from semproj.retrieval import gold_ranks
from tests.reference import retrieval as reference


@numba.njit
def squared(u, v):
    return np.sum((u - v) ** 2)


METRICS = ["cosine", "inner_product", "l1", "jensen_shannon", squared]


def _task(n, m, d, seed=0):
    """Queries near to one to three rows of the corpus each, which also has duplicates; nothing is negative."""
    rng = np.random.default_rng(seed)
    corpus = rng.random((m, d)).astype(np.float32)
    corpus[m // 2 : m // 2 + 5] = corpus[:5]
    gold = [rng.choice(m, 1 + i % 3, replace=False).tolist() for i in range(n)]
    gold[0] = [3]
    queries = np.array([corpus[rows].mean(axis=0) for rows in gold]) + 0.8 * rng.random((n, d))
    return queries.astype(np.float32), corpus, gold


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: getattr(metric, "__name__", metric))
@pytest.mark.parametrize("sampled", [False, True])
def test_counts_are_those_of_brute_force(metric, sampled):
    queries, corpus, gold = _task(45, 701, 9)
    among = np.random.default_rng(1).choice(701, 200) if sampled else None
    expected = reference.gold_ranks(queries, corpus, gold, metric, among)
    assert expected[0].max() > 50
    assert sampled or expected[1][0] == 1  # row 3 has a copy
    for n_threads in (1, 2):
        nearer, tied = gold_ranks(queries, corpus, gold, among=among, metric=metric, n_threads=n_threads)
        assert nearer.dtype == tied.dtype == np.int64
        np.testing.assert_array_equal(nearer + tied, expected[0] + expected[1])  # in float32 a few more may tie
        assert np.abs(tied - expected[1]).max() <= 1
        assert np.count_nonzero(tied != expected[1]) <= 1


def test_blocks_and_threads_do_not_matter():
    queries, corpus, gold = _task(1000, 5003, 60)
    whole = gold_ranks(queries, corpus, gold, n_threads=2)
    np.testing.assert_array_equal(whole, gold_ranks(queries, corpus, gold, n_threads=1))
    parts = [gold_ranks(queries[i : i + 1], corpus, gold[i : i + 1]) for i in range(0, 1000, 97)]
    starts = np.cumsum([0] + [len(rows) for rows in gold])
    for number, part in zip(range(0, 1000, 97), parts, strict=True):
        np.testing.assert_array_equal(part, np.array(whole)[:, starts[number] : starts[number + 1]])
    np.testing.assert_array_equal(whole, gold_ranks(queries.astype(float), corpus.astype(float), gold))


def _atop_by_hand(queries, corpus, gold):
    """Equation 6: sort, and add up how many gold rows are among the first k, for all k."""
    scores = reference.scores(queries, corpus, "cosine")
    areas = []
    for query, rows in enumerate(gold):
        order = np.argsort(-scores[query], kind="stable")
        recall = np.cumsum(np.isin(order, rows)) / len(rows)
        areas.append(recall[:-1].mean())  # at the last rank all are found: a random order has 0.5
    return np.array(areas)


def test_atop_is_the_area_under_recall_at():
    queries, corpus, gold = _task(30, 400, 12, seed=3)
    corpus[200:205] += 0.01  # no ties
    curve = recall_curve(queries, corpus, gold)
    np.testing.assert_allclose(curve.outcomes, _atop_by_hand(queries, corpus, gold), atol=1e-12)
    assert curve.atop == atop(queries, corpus, gold) == pytest.approx(curve.outcomes.mean())
    assert 0.6 < curve.atop < 0.99
    midpoints = (np.arange(399) + 0.5) / 399
    assert curve.recall_at(midpoints).mean() == pytest.approx(curve.atop, abs=1e-12)
    assert (np.diff(curve.recall_at(midpoints)) >= 0).all()
    assert curve.recall_at(1.0) == 1
    assert curve.recall_at(0.0) == np.mean([np.mean(curve.best[a:b] == 0) for a, b in zip(
        curve.starts[:-1], curve.starts[1:], strict=True)])  # fmt: skip
    assert curve.recall_at([[0.1, 0.2], [0.3, 0.4]]).shape == (2, 2)


def test_a_random_order_has_one_half():
    rng = np.random.default_rng(0)
    queries, corpus = rng.standard_normal((500, 5)), rng.standard_normal((100, 5))
    assert atop(queries, corpus, np.arange(500) % 100) == pytest.approx(0.5, abs=0.04)  # three standard errors


def test_ties_share_their_places():
    corpus = np.array([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    curve = recall_curve([[1.0, 0.0]], corpus, [[0]])
    assert (curve.best, curve.worst) == (0, 0.5)
    assert curve.atop == 0.75
    np.testing.assert_allclose(curve.recall_at([0, 0.25, 0.5, 0.75]), [0, 0.5, 1, 1])
    # Everything ties with everything: no better than chance.
    assert atop(np.ones((2, 2)), np.ones((50, 2)), [0, [1, 49]]) == 0.5


def test_zero_vectors_do_not_profit():
    """A zero row has cosine 0, which would be above all rows that point away from the query."""
    corpus = np.array([[-1.0, 0.1], [-1.0, 0.2], [-1.0, 0.3], [0.0, 0.0]])
    assert gold_ranks([[1.0, 0.0]], corpus, [3])[0].tolist() == [-1]
    assert gold_ranks([[0.0, 0.0]], corpus, [[0, 3]])[1].tolist() == [-1, -1]
    curve = recall_curve([[1.0, 0.0], [0.0, 0.0]], corpus, [3, 0])
    assert curve.outcomes.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(curve.recall_at([0.1, 0.9]), [0.1, 0.9])
    # A row that is known keeps its place behind a zero one.
    assert gold_ranks([[1.0, 0.0]], corpus, [2])[0].tolist() == [1]


def test_a_sample_is_seeded_and_close():
    queries, corpus, gold = _task(400, 3000, 20, seed=5)
    exact = atop(queries, corpus, gold)
    sampled = partial(recall_curve, queries, corpus, gold, sample=500)
    curve = sampled(random_state=7)
    np.testing.assert_array_equal(curve.best, sampled(random_state=7, n_threads=1).best)
    assert not np.array_equal(curve.best, sampled(random_state=8).best)
    assert curve.atop == pytest.approx(exact, abs=0.005)
    assert curve.atop != exact
    assert recall_curve(queries, corpus, gold, sample=3000).atop == pytest.approx(exact, abs=1e-12)
    # The places are those among the sample alone, for rows that are in it and rows that are not.
    among = np.random.default_rng(7).choice(3000, 500, replace=False)
    nearer, tied = reference.gold_ranks(queries, corpus, gold, "cosine", among, tie=1e-6)
    others = 500 - np.isin(np.concatenate(gold), among)
    assert set(others) == {499, 500}
    expected = RecallCurve.from_counts(curve.starts, nearer, tied, others)
    np.testing.assert_allclose(curve.outcomes, expected.outcomes, atol=1 / 499 / 2)
    assert curve.atop == pytest.approx(expected.atop, abs=1e-5)


@pytest.mark.parametrize(
    ("gold", "options", "error", "message"),
    [
        ([0], {}, ValueError, r"gold: expected an element for each of the 2 queries, got 1"),
        ([0, []], {}, ValueError, r"gold\[1\]: expected at least one row number, got shape \(0,\)"),
        ([[0], [4]], {}, ValueError, r"gold\[1\]: expected rows from 0 to 3, got 4 to 4"),
        ([-1, 0], {}, ValueError, r"gold\[0\]: expected rows from 0 to 3, got -1 to -1"),
        ([0.5, 1], {}, TypeError, r"gold\[0\]: expected integers, got dtype float64"),
        ([0, 1], {"sample": 5}, ValueError, r"sample: expected between 2 and 4, got 5"),
        ([0, 1], {"metric": "l2"}, ValueError, r"metric: expected one of"),
    ],
)
def test_errors_name_the_argument(gold, options, error, message):
    with pytest.raises(error, match=message):
        recall_curve(np.ones((2, 3)), np.ones((4, 3)), gold, **options)


def test_more_errors():
    with pytest.raises(ValueError, match="corpus: expected 3 columns, as queries has, got 2"):
        gold_ranks(np.ones((1, 3)), np.ones((4, 2)), [0])
    with pytest.raises(ValueError, match="corpus: expected at least two rows, got 1"):
        atop(np.ones((1, 3)), np.ones((1, 3)), [0])
    with pytest.raises(ValueError, match=r"among: expected rows from 0 to 3, got 1 to 9"):
        gold_ranks(np.ones((1, 3)), np.ones((4, 3)), [0], among=[1, 9])
    with pytest.raises(ValueError, match="fraction: expected numbers from 0 to 1"):
        recall_curve(np.ones((1, 3)), np.ones((4, 3)), [0]).recall_at([0.5, 2])
    with pytest.raises(ValueError, match="corpus: contains NaN or infinity"):
        atop(np.ones((1, 3)), np.full((4, 3), np.nan), [0])
    with pytest.raises(ValueError, match="metric: the function returned NaN"):
        gold_ranks(np.ones((1, 3)), np.ones((4, 3)), [0], metric=numba.njit(lambda u, v: np.nan))
    distance = numba.njit(lambda u, v: np.nan if v[0] == 3 else 1.0)
    with pytest.raises(ValueError, match="metric: the function returned NaN"):  # for the gold row alone
        gold_ranks(np.ones((1, 1)), np.arange(4.0)[:, None], [3], among=[0, 1], metric=distance)
