"""What every single-view transformer promises; scikit-learn's checks for classifiers too."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import semproj as sj
from tests.contract.estimators import CLASSIFIERS, ESTIMATORS
from tests.support import all_at_once, random_counts, same_bits


def dense(Z):
    return Z.toarray() if sp.issparse(Z) else Z


def fitted(estimator):
    """The fitted arrays, by name."""
    values = {k: v for k, v in vars(estimator).items() if k.endswith("_") and isinstance(v, np.ndarray)}
    assert values
    return values


def assert_same_fit(a, b):
    assert fitted(a).keys() == fitted(b).keys()
    for name, value in fitted(a).items():
        assert same_bits(value, fitted(b)[name]), name


def assert_saved(loaded, model):
    """All but what belongs to the training data alone."""
    assert fitted(model).keys() - fitted(loaded).keys() <= {"sentence_vectors_", "user_vectors_", "doc_topics_"}
    for name, value in fitted(loaded).items():
        assert same_bits(value, fitted(model)[name]), name


@parametrize_with_checks(ESTIMATORS + CLASSIFIERS)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.fixture(params=ESTIMATORS, ids=str)
def estimator(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def X():
    return random_counts(400, 330, 0.05, dtype=np.float64)


def test_fit_transform(estimator, X):
    together = estimator.fit_transform(X)
    apart = clone(estimator).fit(X).transform(X)
    assert same_bits(dense(together), dense(apart))


def test_same_seed_same_bits(estimator, X):
    assert_same_fit(clone(estimator).fit(X), clone(estimator).fit(X))


def test_one_thread_as_many(estimator, X):
    models = [clone(estimator).set_params(n_threads=n).fit(X) for n in (1, 2, 5)]
    for other in models[1:]:
        assert_same_fit(models[0], other)
        assert same_bits(dense(models[0].transform(X)), dense(other.transform(X)))


def test_float32_close_to_float64(estimator, X):
    wide = dense(clone(estimator).fit_transform(X))
    narrow = dense(clone(estimator).fit_transform(X.astype(np.float32)))
    if isinstance(estimator, sj.PLSA):  # counts, which both hold exactly; kept as float32
        assert wide.dtype == np.float32
        assert same_bits(narrow, wide)
        return
    assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(narrow, wide, atol=2e-3 * np.abs(wide).max())
    assert not np.array_equal(narrow.astype(np.float64), wide)


def test_counts_as_integers(estimator, X):
    counts = dense(clone(estimator).fit_transform(X.astype(np.int32)))
    expected = dense(clone(estimator).fit_transform(X))
    np.testing.assert_allclose(counts, expected, atol=2e-3 * np.abs(expected).max())


def test_int64_indices(estimator, X):
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    a, b = clone(estimator).fit(X), clone(estimator).fit(wide)
    assert_same_fit(a, b)
    assert same_bits(dense(a.transform(X)), dense(b.transform(wide)))


def test_any_layout(estimator, X):
    model = clone(estimator).fit(X)
    Z = dense(model.transform(X))
    for other in (X.tocsc(), X.tocoo(), sp.csr_array(X), X.toarray(), np.asfortranarray(X.toarray())):
        assert_same_fit(model, clone(estimator).fit(other))
        assert same_bits(dense(model.transform(other)), Z)


def test_strided_input(estimator, X):
    wide = np.repeat(X.toarray(), 2, axis=1)[:, ::2]
    assert not wide.flags.c_contiguous
    model = clone(estimator).fit(X)
    assert_same_fit(model, clone(estimator).fit(wide))
    sparse = X.copy()
    sparse.data, sparse.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]
    assert_same_fit(model, clone(estimator).fit(sparse))
    assert same_bits(dense(model.transform(wide)), dense(model.transform(X)))
    assert same_bits(dense(model.transform(sparse)), dense(model.transform(X)))


def test_read_only_input(estimator, X):
    frozen = X.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.flags.writeable = False
    rows = X.toarray()
    rows.flags.writeable = False
    model = clone(estimator).fit(X)
    for other in (frozen, rows):
        assert_same_fit(model, clone(estimator).fit(other))
        assert same_bits(dense(model.transform(other)), dense(model.transform(X)))


def test_unsorted_and_duplicate_indices(estimator, X):
    """The same matrix written in another order, each entry as two halves."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = rng.permutation(2 * X.nnz)
    order = order[np.argsort(np.tile(rows, 2)[order], kind="stable")]
    data = np.concatenate([X.data / 4, X.data * 3 / 4])[order]
    other = sp.csr_matrix((data, np.tile(X.indices, 2)[order], 2 * X.indptr), shape=X.shape)
    assert abs(other - X).max() < 1e-12
    other = sp.csr_matrix((data, np.tile(X.indices, 2)[order], 2 * X.indptr), shape=X.shape)
    model, second = clone(estimator).fit(X), clone(estimator).fit(other.copy())
    for name, value in fitted(model).items():
        np.testing.assert_allclose(fitted(second)[name], value, rtol=1e-6, atol=1e-6, err_msg=name)
    expected = dense(model.transform(X))
    np.testing.assert_allclose(dense(model.transform(other)), expected, atol=1e-9 * np.abs(expected).max())


def test_input_does_not_change(estimator, X):
    given = X.copy()
    estimator.fit(given).transform(given)
    for name in ("data", "indices", "indptr"):
        assert same_bits(getattr(given, name), getattr(X, name))


def test_empty_rows(estimator, X):
    model = estimator.fit(X)
    Z = dense(model.transform(sp.csr_matrix((4, X.shape[1]))))
    assert np.isfinite(Z).all()
    assert (Z[0] == Z).all()
    if isinstance(model, sj.PLSA):
        assert (np.float32(1 / Z.shape[1]) == Z).all()
    elif getattr(model, "mean_", None) is None:
        assert not Z.any()


def test_rows_do_not_depend_on_each_other(estimator, X):
    model = estimator.fit(X)
    Z = dense(model.transform(X))
    assert same_bits(dense(model.transform(X[37:39])), Z[37:39])


def test_clone_and_pickle(estimator, X):
    model = estimator.fit(X)
    Z = dense(model.transform(X))
    again = pickle.loads(pickle.dumps(model))
    assert same_bits(dense(again.transform(X)), Z)
    assert_same_fit(again, model)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not [name for name in vars(fresh) if name.endswith("_")]
    assert same_bits(dense(fresh.fit(X).transform(X)), Z)


def test_save_and_load(estimator, X, tmp_path):
    path = tmp_path / "model.safetensors"
    model = estimator.fit(X)
    if isinstance(model, sj.CustomWeighting):
        with pytest.raises(TypeError, match="saved"):
            model.save(path)
        return
    model.save(path)
    loaded = sj.load(path)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert_saved(loaded, model)
    assert same_bits(dense(loaded.transform(X)), dense(model.transform(X)))
    assert loaded.n_features_in_ == model.n_features_in_
    assert_same_fit(loaded.fit(X), model)


def test_fresh_refit(estimator, X):
    other = random_counts(200, 50, 0.2, seed=7, dtype=np.float64)
    expected = clone(estimator).fit(other)
    again = estimator.fit(X)
    again.transform(X)
    again.fit(other)
    assert_same_fit(again, expected)
    assert same_bits(dense(again.transform(other)), dense(expected.transform(other)))


def test_concurrent_fits(estimator, X):
    expected = clone(estimator).fit(X)
    models = [clone(estimator).set_params(n_threads=2) for _ in range(4)]

    def work(model):
        for _ in range(2):
            model.fit(X).transform(X)

    all_at_once(work, models)
    for model in models:
        assert_same_fit(model, expected)


def test_one_model_used_by_several_threads(estimator, X):
    model = estimator.fit(X)
    expected = dense(clone(estimator).fit(X).transform(X))
    results = all_at_once(lambda rows: dense(model.transform(rows)), [X] * 4)
    assert all(same_bits(result, expected) for result in results)


def test_in_a_pipeline(estimator, X):
    expected = dense(clone(estimator).fit(X).transform(X))
    assert same_bits(dense(make_pipeline("passthrough", estimator).fit(X).transform(X)), expected)


def test_set_output(estimator, X):
    estimator = clone(estimator).set_output(transform="pandas").fit(X)
    if isinstance(estimator, (sj.LSA, sj.PLSA, sj.WTMF, sj.ImplicitALS)):
        name = type(estimator).__name__.lower()
        assert list(estimator.transform(X).columns) == [f"{name}0", f"{name}1"]
    else:  # scikit-learn makes no data frames of sparse rows, and says so
        with pytest.raises(ValueError, match="sparse"):
            estimator.transform(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(estimator, value):
    """In sparse rows, in fit and in transform."""
    good = random_counts(40, 33, 0.2, dtype=np.float64)
    bad = good.copy()
    bad.data[5] = value
    with pytest.raises(ValueError, match="X"):
        clone(estimator).fit(bad)
    with pytest.raises(ValueError, match="X"):
        clone(estimator).fit(good).transform(bad)
