"""What every classifier promises."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import semproj as sj
from tests.contract.estimators import CLASSIFIERS
from tests.support import all_at_once, same_bits


@pytest.fixture(params=CLASSIFIERS, ids=str)
def classifier(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def data():
    """Three overlapping classes: no classifier is right about all of them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 700)
    X = rng.standard_normal((700, 20)) + 1.5 * np.eye(3, 20)[y]
    return X[:400], y[:400], X[400:], y[400:]


def test_better_than_chance_and_not_perfect(classifier, data):
    X, y, X_test, y_test = data
    assert 0.5 < classifier.fit(X, y).score(X_test, y_test) < 0.95


@pytest.mark.parametrize(
    "labels", [["a", "bb", "ccc"], [-5, 7, 2**40], [0.5, 1.5, 2.5], np.array(["x", "y", "zz"], object)], ids=str
)
def test_labels_of_any_kind(classifier, data, labels, tmp_path):
    X, y, X_test, _ = data
    labels = np.asarray(labels)
    if labels.dtype.kind == "f":  # fractions are not labels, says scikit-learn
        with pytest.raises(ValueError, match="Unknown label type"):
            classifier.fit(X, labels[y])
        return
    expected = labels[clone(classifier).fit(X, y).predict(X_test)]
    model = classifier.fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    assert np.array_equal(model.predict(X_test), expected)
    model.save(tmp_path / "m")
    loaded = sj.load(tmp_path / "m")
    assert loaded.classes_.dtype == labels.dtype
    assert np.array_equal(loaded.classes_, model.classes_)
    assert np.array_equal(loaded.predict(X_test), expected)
    assert loaded.get_params() == model.get_params()


def test_booleans(classifier, data, tmp_path):
    X, y, X_test, _ = data
    model = classifier.fit(X, y == 1)
    assert model.predict(X_test).dtype == bool
    model.save(tmp_path / "m")
    assert same_bits(sj.load(tmp_path / "m").predict(X_test), model.predict(X_test))


def test_same_for_any_threads_batch_and_type(classifier, data):
    X, y, X_test, _ = data
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    expected = classifier.fit(X, y).predict(X_test)
    for n in (1, 2, 5):
        assert same_bits(clone(classifier).set_params(n_threads=n).fit(X, y).predict(X_test), expected)
    assert same_bits(classifier.predict(X_test[17:19]), expected[17:19])
    wide = clone(classifier).fit(X.astype(np.float64), y)
    assert same_bits(wide.predict(np.asfortranarray(X_test.astype(np.float64))), expected)


def test_input_neither_changes_nor_is_kept(classifier, data):
    X, y, X_test, _ = data
    mine = X.astype(np.float32)
    before = mine.copy()
    model = classifier.fit(mine, y)
    expected = model.predict(X_test)
    assert same_bits(mine, before)
    mine[:] = 0
    assert same_bits(model.predict(X_test), expected)


def test_a_failed_fit_keeps_the_previous_one(classifier, data):
    X, y, X_test, _ = data
    expected = classifier.fit(X, y).predict(X_test)
    for bad in (X[:, :3] * np.nan, X[:5]):
        with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn's words
            classifier.fit(bad, y)
    assert same_bits(classifier.predict(X_test), expected)
    other = clone(classifier).fit(X[:50, :4], y[:50])
    assert same_bits(classifier.fit(X[:50, :4], y[:50]).predict(X_test[:, :4]), other.predict(X_test[:, :4]))


def test_pickle_and_threads(classifier, data):
    X, y, X_test, _ = data
    model = classifier.fit(X, y)
    expected = model.predict(X_test)
    assert same_bits(pickle.loads(pickle.dumps(model)).predict(X_test), expected)
    results = all_at_once(model.predict, [X_test] * 4)
    assert all(same_bits(result, expected) for result in results)


def test_not_fitted(classifier, tmp_path):
    with pytest.raises(NotFittedError):
        classifier.predict([[1.0]])
    with pytest.raises(NotFittedError):
        classifier.save(tmp_path / "m")
