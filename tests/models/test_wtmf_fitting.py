"""How WTMF is fitted: early stopping, callbacks, warm starts, seeds, files and wrong arguments."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import semproj as sj
from semproj import WTMF
from tests.support import same_bits
from tests.support.factorizing import SAVED, assert_same_fit, corpus, make, relative_error

DTYPES = [np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
class TestResults:
    def test_shapes_and_dtypes(self, dtype):
        model = make().fit(corpus(dtype=dtype))
        assert (model.components_.shape, model.components_.dtype) == ((5, 40), dtype)
        assert (model.sentence_vectors_.shape, model.sentence_vectors_.dtype) == ((60, 5), dtype)
        assert (model.objective_.shape, model.objective_.dtype) == ((7,), np.float64)
        assert (model.n_iter_, model.n_features_in_) == (7, 40)
        assert same_bits(np.ascontiguousarray(model.word_vectors_), np.ascontiguousarray(model.components_.T))
        assert list(model.get_feature_names_out()) == [f"wtmf{i}" for i in range(5)]

    def test_three_ways_to_the_sentence_vectors(self, dtype):
        X = corpus(dtype=dtype)
        model = make().fit(X)
        assert same_bits(model.transform(X), model.sentence_vectors_)
        assert same_bits(make().fit_transform(X), model.sentence_vectors_)
        assert same_bits(model.transform(X[7:9]), model.sentence_vectors_[7:9])

    @pytest.mark.parametrize("options", [{}, {"orthogonality": 1e-3}, {"missing_weight": 0}, {"n_components": 45}])
    def test_any_number_of_threads(self, options, dtype):
        X = corpus(300, 200, dtype=dtype)
        models = [make(n_threads=n, **options).fit(X) for n in (1, 2, 5)]
        for other in models[1:]:
            assert_same_fit(models[0], other)
            assert same_bits(models[0].transform(X), other.transform(X))
            assert same_bits(models[0].similarity(X[:9]), other.similarity(X[:9]))

    def test_seeds(self, dtype):
        X = corpus(dtype=dtype)
        assert_same_fit(make(random_state=3).fit(X), make(random_state=3).fit(X))
        ends = [make(random_state=seed).fit(X).components_ for seed in (3, 4, None, None)]
        assert not any(same_bits(a, b) for i, a in enumerate(ends) for b in ends[:i])
        generator = np.random.default_rng(5)
        first, second = (make(random_state=generator).fit(X).components_ for _ in range(2))
        assert not same_bits(first, second), "a generator moves on"
        assert same_bits(first, make(random_state=np.random.default_rng(5)).fit(X).components_)

    def test_similarity(self, dtype):
        X, other = corpus(dtype=dtype), corpus(seed=4, dtype=dtype)
        model = make().fit(X)
        Z, V = (model.transform(rows).astype(np.float64) for rows in (X, other))
        for vectors in (Z, V):
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            np.divide(vectors, norms, out=vectors, where=norms > 0)
        assert not Z[0].any()
        np.testing.assert_allclose(model.similarity(X), Z @ Z.T, atol=1e-5)
        np.testing.assert_allclose(model.similarity(X, other), (Z * V).sum(axis=1), atol=1e-5)
        assert model.similarity(X).shape == (60, 60)
        assert model.similarity(X, other).shape == (60,)
        assert not model.similarity(X)[0].any(), "nothing is similar to the empty sentence"
        assert model.similarity(X).dtype == dtype

    def test_float32_near_float64(self, dtype):
        """The random start is the same in both."""
        X = corpus(dtype=dtype)
        other = make().fit(X.astype(np.float64))
        model = make().fit(X)
        assert relative_error(model.components_, other.components_) < 1e-4
        np.testing.assert_allclose(model.objective_, other.objective_, rtol=1e-5)


class TestWarmStart:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("options", [{}, {"orthogonality": 1e-3}, {"missing_weight": 0}], ids=str)
    def test_three_and_four_are_seven(self, options, dtype):
        X = corpus(dtype=dtype)
        whole = make(**options).fit(X)
        model = make(max_iter=3, warm_start=True, **options).fit(X)
        assert same_bits(model.components_, make(max_iter=3, **options).fit(X).components_)
        model.set_params(max_iter=4).fit(X)
        assert same_bits(model.components_, whole.components_)
        assert same_bits(model.sentence_vectors_, whole.sentence_vectors_)
        assert model.objective_[-4:].tolist() == whole.objective_[3:].tolist()
        assert len(model.objective_) == model.n_iter_

    def test_only_when_asked(self):
        X = corpus()
        model = make(max_iter=3).fit(X)
        before = pickle.loads(pickle.dumps(model))
        assert_same_fit(model.fit(X), before)

    def test_new_sentences_from_known_words(self):
        A, B = corpus(), corpus(25, seed=8)
        cold = make(max_iter=1).fit(B)
        warm = make(warm_start=True).fit(A).set_params(max_iter=1).fit(B)
        assert warm.sentence_vectors_.shape == (25, 5)
        assert not same_bits(warm.components_, cold.components_)
        assert same_bits(warm.sentence_vectors_, warm.transform(B))

    def test_from_a_loaded_model(self, tmp_path):
        X = corpus()
        make(max_iter=3).fit(X).save(tmp_path / "m")
        model = sj.load(tmp_path / "m").set_params(max_iter=4, warm_start=True).fit(X)
        assert same_bits(model.components_, make().fit(X).components_)

    def test_of_another_vocabulary_or_width(self):
        """Nothing to continue from: an error that names what differs, and the old fit is kept."""
        model = make(warm_start=True).fit(corpus())
        before = pickle.loads(pickle.dumps(model))
        with pytest.raises(ValueError, match=r"warm_start|\bX\b"):
            model.fit(corpus(60, 41))
        with pytest.raises(ValueError, match=r"warm_start|n_components"):
            model.set_params(n_components=6).fit(corpus())
        assert_same_fit(model, before)


class TestFiles:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_save_and_load(self, dtype, tmp_path):
        X = corpus(dtype=dtype)
        model = make(tol=1e-4, orthogonality=1e-4).fit(X)
        model.save(tmp_path / "m")
        loaded = sj.load(tmp_path / "m")
        assert isinstance(loaded, WTMF)
        assert loaded.get_params() == model.get_params()
        assert_same_fit(loaded, model, names=SAVED)
        assert same_bits(loaded.transform(X), model.transform(X))
        assert same_bits(loaded.similarity(X), model.similarity(X))
        assert same_bits(np.array(loaded.word_vectors_), np.array(model.word_vectors_))
        assert_same_fit(loaded.fit(X), model)

    def test_not_fitted(self, tmp_path):
        model = make()
        for call in (
            lambda: model.transform(corpus()),
            lambda: model.similarity(corpus()),
            lambda: model.save(tmp_path / "m"),
        ):
            with pytest.raises(NotFittedError):
                call()
        assert not hasattr(model, "word_vectors_")


PARAMETERS = [
    ({"n_components": 0}, ValueError),
    ({"n_components": 2.0}, TypeError),
    ({"n_components": True}, TypeError),
    ({"missing_weight": -0.1}, ValueError),
    ({"missing_weight": 1.1}, ValueError),
    ({"missing_weight": np.nan}, ValueError),
    ({"missing_weight": "0.1"}, TypeError),
    ({"missing_weight": None}, TypeError),
    ({"reg": -1}, ValueError),
    ({"reg": np.inf}, ValueError),
    ({"reg": "1"}, TypeError),
    ({"max_iter": 0}, ValueError),
    ({"max_iter": 1.5}, TypeError),
    ({"tol": -1e-9}, ValueError),
    ({"tol": np.nan}, ValueError),
    ({"tol": None}, TypeError),
    ({"orthogonality": -1}, ValueError),
    ({"orthogonality": np.inf}, ValueError),
    ({"orthogonality": "a"}, TypeError),
    ({"checkpoint": 3}, TypeError),
    ({"checkpoint_every": 0}, ValueError),
    ({"checkpoint_every": 1.5}, TypeError),
    ({"callback": 3}, TypeError),
    ({"random_state": -1}, ValueError),
    ({"random_state": 2**64}, ValueError),
    ({"random_state": "0"}, TypeError),
    ({"n_threads": 0}, ValueError),
    ({"n_threads": 1.5}, TypeError),
]


@pytest.mark.parametrize(("parameters", "error"), PARAMETERS, ids=str)
def test_wrong_parameters(parameters, error):
    """Named in the error; the previous fit is kept, and usable when the parameter is right again."""
    X = corpus()
    model = make().fit(X)
    before = pickle.loads(pickle.dumps(model))
    (name,) = parameters
    with pytest.raises(error, match=rf"^{name}: expected"):
        model.set_params(**parameters).fit(corpus(30, 40, seed=2))
    assert_same_fit(model, before)
    model.set_params(**{name: getattr(before, name)})
    assert same_bits(model.transform(X), before.transform(X))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite(value):
    X = corpus()
    model = make().fit(X)
    before = pickle.loads(pickle.dumps(model))
    bad = X.copy()
    bad.data[9] = value
    for call in (model.fit, model.transform, model.similarity, model.fit_transform):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(bad)
    assert_same_fit(model, before)


def test_rows_of_another_width():
    model = make().fit(corpus())
    for call in (model.transform, model.similarity, lambda X: model.similarity(corpus(), X)):
        with pytest.raises(ValueError, match="39 features"):
            call(corpus()[:, :-1])
    with pytest.raises(ValueError, match=r"\bY\b"):
        model.similarity(corpus(), corpus(59))


def test_failed_fit_of_singular_systems_keeps_the_previous_one():
    X = corpus()
    model = make().fit(X)
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=r"\breg\b"):
        model.set_params(reg=0, missing_weight=0, n_components=20).fit(X)
    assert_same_fit(model, before)


def test_transform_uses_the_new_words():
    """What is prepared once for all rows is not kept across a refit, or a change of the parameters."""
    A, B = corpus(), corpus(seed=9)
    model = make().fit(A)
    model.transform(A)
    model.fit(B)
    assert same_bits(model.transform(A), make().fit(B).transform(A))
    changed = model.transform(A)
    model.set_params(missing_weight=0.5, reg=3.0)
    expected = pickle.loads(pickle.dumps(model)).transform(A)
    assert same_bits(model.transform(A), expected)
    assert not same_bits(expected, changed)


def test_refits_between_transforms():
    """Word vectors of an earlier fit are gone, and others may lie where they lay."""
    data = [corpus(seed=seed, dtype=np.float32) for seed in range(5)]
    model = make(n_components=39, missing_weight=1e-3, reg=1e-5, max_iter=2)
    for i in range(60):
        X = data[i * i % 5]
        model.fit(X)
        if i % 3 != 1:
            assert np.array_equal(model.transform(X), model.sentence_vectors_), i


@pytest.mark.parametrize("scale", [1e30, 3e38])
def test_rows_too_large_for_the_model(scale):
    """The vectors, or an error that names X; never NaN."""
    X = corpus(dtype=np.float32)
    model = make(reg=1e-3).fit(X)
    rows = np.full((2, 40), scale, np.float32)
    with np.errstate(all="ignore"):
        try:
            Z = model.transform(rows)
        except ValueError as error:
            assert "X" in str(error)  # noqa: PT017
            return
    expected = model.transform(np.ones((2, 40), np.float32)).astype(np.float64) * float(np.float32(scale))
    np.testing.assert_allclose(Z, expected, rtol=1e-3)


class TestEncoder:
    TEXTS = ("a bank lends money", "a bank takes deposits of money", "the river bank", "water of the river")

    def setup_method(self):
        self.counter, self.weighting = sj.TermCounter(), sj.TfIdf()
        self.rows = self.weighting.fit_transform(self.counter.fit_transform(self.TEXTS))
        self.model = WTMF(3, reg=0.1, random_state=0).fit(self.rows)

    def test_texts_to_vectors(self, tmp_path):
        encoder = sj.Encoder(self.counter, self.weighting, self.model)
        vectors = encoder.encode(self.TEXTS)
        assert same_bits(vectors, self.model.transform(self.rows))
        assert not encoder.encode(["nothing known"]).any()
        unit = sj.Encoder(self.counter, self.weighting, self.model, normalize=True).encode(self.TEXTS)
        np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(unit @ unit.T, self.model.similarity(self.rows), atol=1e-6)
        encoder.save(tmp_path / "encoder")
        assert same_bits(sj.load(tmp_path / "encoder").encode(self.TEXTS), vectors)

    def test_no_other_storage(self):
        with pytest.raises(ValueError, match="storage"):
            sj.Encoder(self.counter, self.weighting, self.model, storage="int8").encode(self.TEXTS)


@pytest.mark.slow
def test_memory_is_given_back():
    import resource

    X = corpus(2000, 500)
    for _ in range(3):
        make().fit(X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(15):
        make().fit(X)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes
