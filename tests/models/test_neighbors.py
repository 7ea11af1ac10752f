"""The nearest-neighbour classifier against scikit-learn's, its rule for tied votes, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier

import semproj as sj


def blobs(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    return rng.standard_normal((n, 12)) + 1.2 * np.eye(4, 12)[y], y


@pytest.mark.parametrize(("metric", "theirs"), [("cosine", "cosine"), ("l1", "cityblock")])
@pytest.mark.parametrize("k", [1, 7])
def test_as_scikit_learn(metric, theirs, k):
    X, y = blobs(500)
    Q, truth = blobs(300, 1)
    model = sj.NearestNeighborClassifier(k, metric=metric).fit(X, y)
    peer = KNeighborsClassifier(k, metric=theirs, algorithm="brute").fit(X, y)
    mine, others = model.predict(Q), peer.predict(Q)
    # Tied votes: scikit-learn takes the smallest label, ours the nearest neighbour's.
    votes = np.sort(peer.predict_proba(Q), axis=1)
    clear = votes[:, -1] > votes[:, -2]
    assert clear.mean() > 0.7
    np.testing.assert_array_equal(mine[clear], others[clear])
    assert 0.4 < np.mean(mine == truth) < 0.99


def test_tied_votes_go_to_the_nearest():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [9.0]])
    y = ["far", "near", "near", "far", "far"]
    query = [[1.9]]  # neighbours in order: 2, 1, 3, 4, 9
    expected = {1: "near", 2: "near", 3: "near", 4: "near", 5: "far"}
    for k, label in expected.items():
        assert sj.NearestNeighborClassifier(k, metric="l1").fit(X, y).predict(query).tolist() == [label]


def test_equally_near_the_earlier_one_wins():
    X, y = np.array([[1.0, 0.0], [2.0, 0.0]]), ["z", "a"]
    assert sj.NearestNeighborClassifier().fit(X, y).predict([[3.0, 0.0]]).tolist() == ["z"]


def test_own_distance():
    def second_column(u, v):
        return abs(u[1] - v[1])

    model = sj.NearestNeighborClassifier(metric=second_column).fit([[0.0, 5.0], [9.0, 1.0]], ["a", "b"])
    assert model.predict([[0.0, 2.0], [9.0, 4.0]]).tolist() == ["b", "a"]


def test_own_distance_cannot_be_saved(tmp_path):
    model = sj.NearestNeighborClassifier(metric=lambda u, v: 0.0).fit([[1.0]], ["a"])
    with pytest.raises(TypeError, match=r"metric: .* cannot be saved"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "^n_neighbors: expected at least 1"),
        ({"n_neighbors": 1.5}, TypeError, "^n_neighbors: expected an integer"),
        ({"n_neighbors": 4}, ValueError, "^n_neighbors: expected at most n_samples = 3, got 4"),
        ({"metric": "l2"}, ValueError, "^metric: expected one of"),
    ],
)
def test_errors_name_the_parameter(options, error, message):
    with pytest.raises(error, match=message):
        sj.NearestNeighborClassifier(**options).fit(np.eye(3), [0, 1, 2])


def test_bad_rows():
    model = sj.NearestNeighborClassifier().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.predict(sp.eye_array(3).tocsr())
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan, 0, 0]])
    with pytest.raises(ValueError, match="features"):
        model.predict(np.ones((1, 4)))
