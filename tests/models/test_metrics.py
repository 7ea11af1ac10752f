"""Top-1 and MRR against the obvious n x n computation, and the rules for ties and zero vectors."""

import numpy as np
import pytest

from semproj import metrics
from semproj.metrics import mrr, top1


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


@pytest.mark.parametrize("elements", [1, 61, 200, 1 << 22], ids=["row", "one_row", "few_rows", "whole"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_to_reference_for_any_block(vectors, elements, dtype, monkeypatch):
    monkeypatch.setattr(metrics, "_BLOCK_ELEMENTS", elements)
    A, B = vectors
    forward, backward = reference_ranks(A, B), reference_ranks(B, A)
    assert 0.2 < np.mean(forward == 1) < 0.8  # otherwise the data test nothing
    assert not np.array_equal(forward, backward)
    A, B = A.astype(dtype), B.astype(dtype)
    assert top1(A, B, directions=True) == (np.mean(forward == 1), np.mean(backward == 1))
    assert mrr(A, B, directions=True) == pytest.approx((np.mean(1 / forward), np.mean(1 / backward)), abs=1e-12)
    assert top1(A, B) == pytest.approx((np.mean(forward == 1) + np.mean(backward == 1)) / 2)
    assert mrr(A, B) == pytest.approx((np.mean(1 / forward) + np.mean(1 / backward)) / 2)


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
