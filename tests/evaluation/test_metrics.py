"""Top-1, MRR and the best set against the obvious computation, and the rules for ties and zero vectors."""

import numpy as np
import pytest

from semproj.metrics import best_set, mrr, reciprocal_ranks, top1
from semproj.retrieval import true_ranks
from tests.reference import retrieval as reference


def reference_ranks(A, B):
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    B = B / np.linalg.norm(B, axis=1, keepdims=True)
    scores = A @ B.T
    return (scores >= np.diag(scores)[:, None] - 1e-9).sum(axis=1)


@pytest.fixture
def vectors():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((61, 7))
    return A, A + 0.8 * rng.standard_normal(A.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_to_reference(vectors, dtype):
    A, B = vectors
    forward, backward = reference_ranks(A, B), reference_ranks(B, A)
    assert 0.2 < np.mean(forward == 1) < 0.8  # otherwise the data test nothing
    assert not np.array_equal(forward, backward)
    A, B = A.astype(dtype), B.astype(dtype)
    assert top1(A, B, directions=True) == (np.mean(forward == 1), np.mean(backward == 1))
    assert mrr(A, B, directions=True) == pytest.approx((np.mean(1 / forward), np.mean(1 / backward)), abs=1e-12)
    assert top1(A, B) == pytest.approx((np.mean(forward == 1) + np.mean(backward == 1)) / 2)
    assert mrr(A, B) == pytest.approx((np.mean(1 / forward) + np.mean(1 / backward)) / 2)


@pytest.mark.parametrize("metric", ["inner_product", "l1", "jensen_shannon"])
def test_other_metrics(vectors, metric):
    A, B = (np.abs(each) for each in vectors)
    forward, backward = reference.true_ranks(A, B, metric)
    assert 0.05 < np.mean(forward == 1) < 0.95
    assert top1(A, B, metric=metric, directions=True) == (np.mean(forward == 1), np.mean(backward == 1))
    expected = np.mean(1 / forward), np.mean(1 / backward)
    assert mrr(A, B, metric=metric, directions=True, n_threads=2) == pytest.approx(expected, abs=1e-12)


def test_outcomes_of_each_query(vectors):
    A, B = vectors
    for values, ranks in zip(reciprocal_ranks(A, B), true_ranks(A, B), strict=True):
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, 1 / ranks)
    assert mrr(A, B) == pytest.approx(np.mean(reciprocal_ranks(A, B)))
    B[3] = 0
    assert reciprocal_ranks(A, B)[0][3] == reciprocal_ranks(A, B)[1][3] == 0


def test_ties_are_errors():
    A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert top1(A, A) == pytest.approx(1 / 3)
    assert mrr(A, A) == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


def test_duplicates_tie_wherever_they_fall_in_a_block():
    rows = np.random.default_rng(0).standard_normal((400, 333)).astype(np.float32)
    A = np.repeat(rows, 2, axis=0)
    assert top1(A, A) == 0
    assert mrr(A, A) == 0.5


def test_zero_vectors_are_errors():
    A = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    B = A.copy()
    B[2] = 0  # scores 0, above the -0.7 of the others: still an error
    assert top1(A, B, directions=True) == pytest.approx((2 / 3, 2 / 3))
    assert mrr(A, B, directions=True) == pytest.approx((2 / 3, 2 / 3))
    assert top1(np.zeros((1, 3)), np.zeros((1, 3))) == mrr(np.zeros((1, 3)), np.ones((1, 3))) == 0


def test_lengths_do_not_matter():
    A = np.eye(3) * np.array([[1e-30], [1.0], [1e30]])
    assert top1(A, np.eye(3, dtype=np.int64)) == 1
    assert mrr(A.astype(np.float32), np.eye(3, dtype=bool)) == 1


@pytest.mark.parametrize("measure", [top1, mrr])
@pytest.mark.parametrize(
    ("A", "B", "error", "message"),
    [
        (np.ones(3), np.ones((1, 3)), ValueError, r"^A: expected a 2-dim"),
        (
            np.ones((2, 3)),
            np.ones((3, 3)),
            ValueError,
            r"^B: expected the shape of A, \(2, 3\), got \(3, 3\)",
        ),
        (np.ones((0, 3)), np.ones((0, 3)), ValueError, r"^A: expected at least one row"),
        (np.ones((1, 2)), np.array([[1.0, np.nan]]), ValueError, r"^B: contains NaN"),
        (np.array([[np.inf, 1]]), np.ones((1, 2)), ValueError, r"^A: contains NaN or inf"),
        (np.array([["a"]]), np.ones((1, 1)), TypeError, r"^A: expected an array of real"),
        (np.ones((1, 1)), np.array([[1j]]), TypeError, r"^B: expected an array of real"),
    ],
)
def test_errors_name_the_argument(measure, A, B, error, message):
    with pytest.raises(error, match=message):
        measure(A, B)


def test_sparse_is_refused_by_name():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"^B: expected a dense array"):
        top1(np.eye(2), sparse.eye(2))


class TestBestSet:
    def outcomes(self, **hits):
        """1,000 queries each, that many of them right."""
        return {name: (np.arange(1000) < n).astype(float) for name, n in hits.items()}

    def test_p_values_are_those_of_scipy(self):
        from scipy.stats import ttest_ind

        rng = np.random.default_rng(1)
        outcomes = {
            name: rng.normal(mean, 1, n) for name, mean, n in (("a", 0, 40), ("b", 0.3, 55), ("c", 0.9, 30))
        }
        found = best_set(outcomes)
        order = sorted(outcomes, key=lambda name: -outcomes[name].mean())
        assert list(found.means) == list(found.p_values) == order
        assert found.n_comparisons == 3
        assert found.p_values[order[0]] == 1
        for name in order[1:]:
            expected = min(1, 3 * ttest_ind(outcomes[order[0]], outcomes[name]).pvalue)
            assert found.p_values[name] == pytest.approx(expected, rel=1e-9)
            assert 1e-4 < expected < 1  # otherwise the data test nothing

    def test_one_clear_winner(self):
        assert best_set(self.outcomes(a=700, b=900, c=800)).names == ("b",)

    def test_two_that_cannot_be_told_apart(self):
        assert best_set(self.outcomes(a=700, b=900, c=895)).names == ("b", "c")

    def test_a_chain_has_no_smaller_set(self):
        """The first differs from the last, but the one between them from neither."""
        outcomes = self.outcomes(a=900, b=880, c=860)
        assert best_set(outcomes).p_values["c"] < 0.05 < best_set(outcomes).p_values["b"]
        assert best_set(outcomes).names == ("a", "b", "c")

    def test_the_correction_counts_all_pairs(self):
        """p = 0.02 for one pair: significant alone, not among three methods."""
        two = self.outcomes(a=900, b=867)
        assert 0.017 < best_set(two).p_values["b"] < 0.05
        assert best_set(two).names == ("a",)
        three = best_set({**two, "c": np.arange(1000) < 500})
        assert three.p_values["b"] == pytest.approx(3 * best_set(two).p_values["b"])
        assert three.names == ("a", "b")

    def test_alpha(self):
        outcomes = self.outcomes(a=900, b=867)
        assert best_set(outcomes, alpha=0.01).names == ("a", "b")

    def test_no_variance(self):
        found = best_set({"a": np.ones(5), "b": np.ones(7), "c": np.zeros(4)})
        assert found.names == ("a", "b")
        assert found.p_values == {"a": 1.0, "b": 1.0, "c": 0.0}
        assert best_set({"only": [1, 0]}).names == ("only",)

    @pytest.mark.parametrize(
        ("outcomes", "error", "message"),
        [
            ({}, ValueError, r"^outcomes: expected at least one"),
            ({"a": [1.0]}, ValueError, r"^outcomes\['a'\]: expected a vector of at least two"),
            ({"a": [[1.0, 2.0]]}, ValueError, r"^outcomes\['a'\]: expected a vector"),
            ({"a": [1.0, np.nan]}, ValueError, r"^outcomes\['a'\]: contains NaN"),
            ({"a": ["x", "y"]}, TypeError, r"^outcomes\['a'\]: expected real numbers"),
        ],
    )
    def test_errors(self, outcomes, error, message):
        with pytest.raises(error, match=message):
            best_set(outcomes)

    def test_bad_alpha(self):
        with pytest.raises(ValueError, match=r"^alpha: expected"):
            best_set({"a": [1, 2]}, alpha=2)
