"""What every model of several aligned views promises."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import semproj as sj
from tests.contract.estimators import MULTIVIEW
from tests.support import all_at_once, same_bits
from tests.support.multiview import aligned_documents

# Mixtures of topics: not a product with a matrix, and kept as float32 whatever comes.
TOPICS = (sj.JPLSA, sj.CPLSA)

CLASSES = [sj.OPCA, sj.CCA, sj.DDA, sj.S2Net]
SHARED_COLUMNS = [sj.OPCA, sj.DDA, sj.S2Net]  # one vocabulary for all views


def fitted(model):
    """The fitted arrays, by name."""
    values = {k: v for k, v in vars(model).items() if k.endswith("_") and isinstance(v, np.ndarray)}
    for i, view in enumerate(getattr(model, "views_", [])):
        values[f"views_[{i}].components_"] = view.components_
    assert values
    return values


def assert_same_fit(a, b):
    assert fitted(a).keys() == fitted(b).keys()
    for name, value in fitted(a).items():
        assert same_bits(value, fitted(b)[name]), name


def has_views(model):
    return hasattr(model, "views_") or getattr(model, "vocabulary", "shared") == "separate"


def projected(model, views):
    if has_views(model):
        return [model.transform(x, view=m) for m, x in enumerate(views)]
    return [model.transform(x) for x in views]


def assert_same_vectors(a, b, views):
    for x, y in zip(projected(a, views), projected(b, views), strict=True):
        assert same_bits(x, y)


@pytest.fixture(params=MULTIVIEW, ids=str)
def estimator(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def X():
    """Small: solved whole."""
    return aligned_documents(90, 60)


@pytest.fixture(scope="module")
def large():
    """Too large to be solved whole by any solver."""
    return aligned_documents(280, 300)


def test_fit_transform(estimator, X):
    together = estimator.fit_transform(X)
    model = clone(estimator).fit(X)
    assert isinstance(together, list)
    for a, b in zip(together, projected(model, X), strict=True):
        assert same_bits(a, b)
        assert a.shape == (90, 3)


def test_transform_is_a_product(estimator, X):
    model = estimator.fit(X)
    if isinstance(model, TOPICS):
        for Z in projected(model, X):
            np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=1e-6)
        return
    for m, (Z, x) in enumerate(zip(projected(model, X), X, strict=True)):
        V = model.views_[m].components_ if hasattr(model, "views_") else model.components_
        np.testing.assert_allclose(Z, x @ V.T, rtol=1e-9, atol=1e-9 * np.abs(Z).max())


def test_threads_and_seeds(estimator, large):
    """Two fits with one seed are one fit, however many threads they have."""
    first = clone(estimator).set_params(n_threads=1).fit(large)
    for n_threads in (2, 5):
        other = clone(estimator).set_params(n_threads=n_threads).fit(large)
        assert_same_fit(first, other)
        assert_same_vectors(first, other, large)


def test_concurrent_fits(estimator, large):
    expected = clone(estimator).fit(large)
    models = [clone(estimator).set_params(n_threads=2) for _ in range(2)]
    all_at_once(lambda model: model.fit(large), models)
    for model in models:
        assert_same_fit(model, expected)


def test_float32_close_to_float64(estimator, X):
    if isinstance(estimator, TOPICS):
        for Z in estimator.fit_transform(X):
            assert Z.dtype == np.float32
        return
    wide = clone(estimator).set_params(tol=1e-6).fit_transform(X)
    narrow = clone(estimator).set_params(tol=1e-6).fit_transform([x.astype(np.float32) for x in X])
    for a, b in zip(wide, narrow, strict=True):
        assert (a.dtype, b.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(b, a, atol=1e-3 * np.abs(a).max())
        assert not np.array_equal(b.astype(np.float64), a)


def test_mixed_dtypes_are_double(estimator, X):
    model = estimator.fit([X[0], X[1].astype(np.float32).astype(np.float64)])
    other = clone(estimator).fit([X[0], X[1].astype(np.float32)])
    assert_same_fit(model, other)


def test_any_layout(estimator, X):
    model = clone(estimator).fit(X)
    wide = [x.copy() for x in X]
    for x in wide:
        x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    frozen = [x.copy() for x in X]
    for x in frozen:
        for array in (x.data, x.indices, x.indptr):
            array.flags.writeable = False
    frozen_rows = [x.toarray() for x in X]
    for x in frozen_rows:
        x.flags.writeable = False
    others = {
        "int64 indices": wide,
        "csc": [x.tocsc() for x in X],
        "coo": [x.tocoo() for x in X],
        "csr_array": [sp.csr_array(x) for x in X],
        "dense": [x.toarray() for x in X],
        "fortran": [np.asfortranarray(x.toarray()) for x in X],
        "strided": [np.repeat(x.toarray(), 2, axis=1)[:, ::2] for x in X],
        "read-only": frozen,
        "read-only rows": frozen_rows,
        "tuple": tuple(X),
        "mixed": [X[0].tocsc(), X[1].toarray()],
    }
    for name, other in others.items():
        assert_same_fit(model, clone(estimator).fit(other))
        for a, b in zip(projected(model, X), projected(model, other), strict=True):
            assert same_bits(a, b), name


def test_unsorted_and_duplicate_indices(estimator, X):
    others = []
    for x in X:
        halves = sp.coo_matrix(
            (np.tile(x.data / 2, 2), (np.tile(x.tocoo().row, 2), np.tile(x.indices, 2))), shape=x.shape
        )
        order = np.lexsort((np.random.default_rng(0).random(halves.nnz), halves.row))
        others.append(
            sp.csr_matrix((halves.data[order], halves.col[order].astype(np.int32), 2 * x.indptr), shape=x.shape)
        )
    assert not others[0].has_sorted_indices
    model, second = clone(estimator).fit(X), clone(estimator).fit(others)
    for a, b in zip(projected(model, X), projected(second, others), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8 * np.abs(a).max())


def test_input_does_not_change(estimator, X):
    given = [x.copy() for x in X]
    projected(estimator.fit(given), given)
    for x, y in zip(given, X, strict=True):
        for name in ("data", "indices", "indptr"):
            assert same_bits(getattr(x, name), getattr(y, name))


def test_empty_rows(estimator, X):
    model = estimator.fit(X)
    for Z in projected(model, [sp.csr_matrix((4, x.shape[1])) for x in X]):
        assert Z.shape == (4, 3)
        if isinstance(model, TOPICS):
            assert (np.float32(1 / 3) == Z).all()
        else:
            assert not Z.any()


def test_clone_and_pickle(estimator, X):
    model = estimator.fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert_same_fit(again, model)
    assert_same_vectors(again, model, X)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not [name for name in vars(fresh) if name.endswith("_")]
    assert fresh.set_params(n_components=2).get_params()["n_components"] == 2
    assert projected(fresh.fit(X), X)[0].shape == (90, 2)


def test_not_fitted(estimator, X):
    with pytest.raises(NotFittedError):
        estimator.transform(X[0])


def test_save_and_load(estimator, X, tmp_path):
    if isinstance(estimator, sj.CLLSI):
        estimator.set_params(weighting="log_tfidf")
        X = [abs(x).ceil() for x in X]  # counts, which it weights
    model = estimator.fit(X)
    model.save(tmp_path / "model.safetensors")
    loaded = sj.load(tmp_path / "model.safetensors")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    there, expected = fitted(loaded), fitted(model)
    assert expected.keys() - there.keys() <= {
        "doc_topics_",
        "multipliers_",
        "converged_",
    }  # of the training data alone
    assert all(same_bits(value, expected[name]) for name, value in there.items())
    assert_same_vectors(loaded, model, X)
    assert_same_fit(loaded.fit(X), model)


def test_encoder(estimator, tmp_path):
    texts = ["red apple pie", "green apple tree", "blue sea", "deep blue sea", "green red sea"]
    other = ["rot apfel kuchen", "gruen apfel baum", "blau meer", "tief blau meer", "gruen rot meer"]
    separate = getattr(estimator, "vocabulary", "shared") == "separate"
    counter = sj.MultiTermCounter("separate" if separate else "shared")
    counts = counter.fit_transform([texts, other])
    weightings = [sj.LogTfIdf().fit(x if separate else sp.vstack(counts, format="csr")) for x in counts]
    weighted = [weighting.transform(x) for weighting, x in zip(weightings, counts, strict=True)]
    model = estimator.set_params(n_components=2).fit(weighted)
    if separate:
        with pytest.raises(ValueError, match="model: has a vocabulary for each language"):
            sj.Encoder(counter.counters_[0], weightings[0], model).encode(texts)
    for m, documents in enumerate((texts, other)):
        part = model.views_[m] if hasattr(model, "views_") else model
        encoder = sj.Encoder(counter.counters_[m], weightings[m], part)
        Z = encoder.encode(documents)
        np.testing.assert_allclose(Z, part.transform(weighted[m]), atol=1e-5)
        if has_views(model):
            np.testing.assert_allclose(Z, model.transform(weighted[m], view=m), atol=1e-5)
        encoder.save(tmp_path / "encoder.safetensors")
        assert same_bits(sj.load(tmp_path / "encoder.safetensors").encode(documents), Z)


def test_failed_fit_keeps_the_previous_one(estimator, X):
    model = estimator.fit(X)
    expected = clone(estimator).fit(X)
    for bad in ([X[0], X[1][:-1]], [x[:2, :2] for x in X], 5):
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad)
        assert_same_fit(model, expected)
        assert_same_vectors(model, expected, X)


def test_interrupted_fit_keeps_the_previous_one(estimator, X, large, monkeypatch):
    model = estimator.fit(X)
    expected = clone(estimator).fit(X)

    def interrupt(*args):
        raise KeyboardInterrupt

    kernels = {
        sj.JPLSA: "semproj._core.plsa_sweep",
        sj.CPLSA: "semproj._core.cplsa_sweep",
        sj.S2Net: "semproj._core.contrast_gradient",
    }
    monkeypatch.setattr(kernels.get(type(model), "semproj._solvers.krylov.interruptible"), interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(large)
    monkeypatch.undo()
    assert_same_fit(model, expected)
    assert_same_vectors(model, expected, X)


def test_refit_is_fresh(estimator, X):
    other = aligned_documents(50, 40, seed=5)
    expected = clone(estimator).fit(other)
    model = estimator.fit(X)
    projected(model, X)
    model.fit(other)
    assert_same_fit(model, expected)
    assert_same_vectors(model, expected, other)


def test_progress(estimator, large, capsys):
    silent = clone(estimator).fit(large)
    assert capsys.readouterr().err == ""
    shown = clone(estimator).set_params(progress=True).fit(large)
    name = "LSA" if isinstance(estimator, sj.LSA) else type(estimator).__name__
    assert name in capsys.readouterr().err
    assert_same_fit(silent, shown)


@pytest.mark.parametrize("model", CLASSES, ids=lambda c: c.__name__)
class TestErrors:
    @pytest.mark.parametrize("bad", [5, None, "words", np.zeros((4, 4)), sp.eye(4, format="csr")])
    def test_not_a_list(self, model, bad):
        with pytest.raises((TypeError, ValueError), match="X"):
            model(1).fit(bad)

    def test_number_of_views(self, model, X):
        with pytest.raises(ValueError, match="X: expected at least one"):
            model(1).fit([])
        with pytest.raises(ValueError, match="X: expected at least two matrices"):
            model(1).fit(X[:1])

    def test_rows(self, model, X):
        with pytest.raises(ValueError, match=r"X\[1\]: has shape \(89, 60\), X\[0\] has \(90, 60\)"):
            model(1).fit([X[0], X[1][1:]])

    def test_columns(self, model, X):
        other = [X[0], X[1][:, 1:]]
        if model in SHARED_COLUMNS:
            with pytest.raises(ValueError, match=r"X\[1\]: has shape \(90, 59\)"):
                model(1).fit(other)
        else:
            model(1).fit(other)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, model, X, bad):
        x = X[1].copy()
        x.data[7] = bad
        with pytest.raises(ValueError, match=r"X\[1\]: contains NaN or infinity"):
            model(1).fit([X[0], x])
        with pytest.raises(ValueError, match=r"X\[1\]: contains NaN or infinity"):
            model(1).fit([X[0], x.toarray()])

    def test_empty_and_zero_views(self, model, X):
        with pytest.raises(ValueError, match=r"X\[0\]: is empty"):
            model(1).fit([x[:0] for x in X])
        with pytest.raises(ValueError, match=r"X\[1\]: has no non-zero entries"):
            model(1).fit([X[0], sp.csr_matrix(X[0].shape)])
        with pytest.raises(ValueError, match=r"X\[1\]: has no non-zero entries"):
            model(1).fit([X[0], np.zeros(X[0].shape)])

    @pytest.mark.parametrize("bad", ["words", np.zeros(3), np.full((90, 60), 1j), np.full((90, 60), "a"), None])
    def test_views_that_are_no_matrices(self, model, X, bad):
        with pytest.raises((TypeError, ValueError), match=r"X\[1\]"):
            model(1).fit([X[0], bad])

    def test_complex_sparse_views(self, model, X):
        with pytest.raises(TypeError, match=r"X\[1\]"):
            model(1).fit([X[0], X[1].astype(complex)])

    @pytest.mark.parametrize("change", ["x.indices[5] = 60", "x.indices[5] = -1", "x.indptr[3] = 2**31 - 1"])
    def test_broken_matrices(self, model, X, change):
        x = X[1].copy()
        exec(change, {"x": x})
        with pytest.raises(ValueError, match=r"X\[1\]"):
            model(1).fit([X[0], x])

    @pytest.mark.parametrize(
        ("name", "value", "error"),
        [
            ("gamma", 0, ValueError),
            ("gamma", -1.0, ValueError),
            ("gamma", np.nan, ValueError),
            ("gamma", np.inf, ValueError),
            ("gamma", "1", TypeError),
            ("gamma", None, TypeError),
            ("tol", -1e-3, ValueError),
            ("tol", np.nan, ValueError),
            ("tol", None, TypeError),
            ("n_components", 0, ValueError),
            ("n_components", 1.5, TypeError),
            ("n_components", True, TypeError),
            ("n_components", 10_000, ValueError),
            ("max_iter", 0, ValueError),
            ("max_iter", 2.5, TypeError),
            ("max_memory", 0, ValueError),
            ("max_memory", -1, ValueError),
            ("max_memory", "1GB", TypeError),
            ("max_memory", 1.5, TypeError),
            ("max_memory", 5000, ValueError),
            ("random_state", -1, ValueError),
            ("random_state", "seed", TypeError),
            ("n_threads", 0, ValueError),
            ("solver", "qr", ValueError),
            ("solver", None, ValueError),
            ("group_size", 0, ValueError),
            ("group_size", 2.0, TypeError),
            ("group_components", 0, ValueError),
        ],
    )
    def test_parameters(self, model, X, name, value, error):
        estimator = model(1, random_state=0)
        if name not in estimator.get_params():
            return
        with pytest.raises(error, match=f"^{name}: "):
            estimator.set_params(**{name: value}).fit(X)
        estimator.set_params(**{name: model().get_params()[name], "n_components": 1}).fit(X)

    def test_width_of_new_rows(self, model, X):
        fit = model(1, random_state=0).fit(X)
        with pytest.raises(ValueError, match="59 features"):
            fit.transform(X[0][:, 1:])


@pytest.mark.parametrize("solver", ["cg", "auto"])
def test_cg_is_the_solver_of_opca_only(solver, X):
    if solver == "cg":
        with pytest.raises(ValueError, match="solver: expected one of"):
            sj.CCA(1, solver=solver).fit(X)
    assert sj.OPCA(1, solver=solver, random_state=0).fit(X).solver_ in ("cholesky", "dual", "cg")


def test_cllsi_without_weighting_is_loaded_whole(X, tmp_path):
    model = sj.CLLSI(2, weighting=None, random_state=0).fit(X)
    model.save(tmp_path / "model.safetensors")
    assert_same_vectors(sj.load(tmp_path / "model.safetensors"), model, X)
