"""The encoder is the counter, the weighting and the model, one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import semproj as sj
from tests.support import same_bits


def documents(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    ids = np.minimum(rng.zipf(1.4, (n, 40)), 300)
    return [" ".join(f"w{i}" for i in row[: 1 + k % 40]) for k, row in enumerate(ids)]


TEXTS, NEW = documents(400), [*documents(60, seed=1), "", "nothing known here", "w1"]


@pytest.fixture(scope="module", params=["lsa", "centred", "bm25", "float64", "counts", "cllsi"])
def parts(request):
    """A fitted counter, weighting and model, and the vectors of NEW made step by step."""
    kind = request.param
    counter = sj.TermCounter(drop_top=1, max_features=150).fit(TEXTS)
    X, X_new = counter.transform(TEXTS), counter.transform(NEW)
    if kind == "cllsi":
        model = sj.CLLSI(12, random_state=0).fit([X, X])
        return counter, None, model, model.transform(X_new)
    if kind == "counts":
        model = sj.LSA(12, random_state=0).fit(X.astype(np.float32))
        return counter, None, model, model.transform(X_new.astype(np.float32))
    if kind == "float64":
        X, X_new = X.astype(np.float64), X_new.astype(np.float64)
    weighting = sj.BM25() if kind == "bm25" else sj.LogTfIdf()
    model = sj.LSA(12, center=kind == "centred", random_state=0).fit(weighting.fit_transform(X))
    return counter, weighting, model, model.transform(weighting.transform(X_new))


def test_same_as_step_by_step(parts):
    *steps, expected = parts
    Z = sj.Encoder(*steps).encode(NEW)
    assert Z.dtype == expected.dtype
    tolerance = 1e-12 if Z.dtype == np.float64 else 2e-5
    np.testing.assert_allclose(Z, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(("storage", "tolerance"), [("float64", 1e-5), ("float16", 1e-3), ("int8", 4e-2)])
def test_storages(parts, storage, tolerance):
    *steps, expected = parts
    Z = sj.Encoder(*steps, storage=storage).encode(NEW)
    assert Z.dtype == (np.float64 if storage == "float64" else np.float32)
    total = np.linalg.norm(Z - expected) / np.linalg.norm(expected)
    assert total < tolerance
    if storage == "int8":
        assert total > 1e-5, "int8 was not used"


def test_normalize(parts):
    *steps, expected = parts
    Z = sj.Encoder(*steps, normalize=True).encode(NEW)
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    known = norms[:, 0] > 1e-6
    assert known.sum() > 50
    np.testing.assert_allclose(Z[known], expected[known] / norms[known], atol=1e-5)
    assert np.isfinite(Z).all()


@pytest.fixture
def encoder():
    counter, weighting = sj.TermCounter().fit(TEXTS), sj.LogTfIdf()
    W = weighting.fit_transform(counter.transform(TEXTS))
    return sj.Encoder(counter, weighting, sj.LSA(12, random_state=0).fit(W))


class TestDocuments:
    def test_kinds(self, encoder):
        expected = encoder.encode(NEW)
        assert encoder.n_components == 12
        assert same_bits(encoder.encode(tuple(NEW)), expected)
        assert same_bits(encoder.encode(iter(NEW)), expected)
        assert same_bits(encoder.encode(text for text in NEW), expected)
        assert same_bits(encoder.encode([text.encode() for text in NEW]), expected)
        assert same_bits(encoder.encode([text.split() for text in NEW]), expected)
        assert same_bits(encoder.encode(np.array(NEW, dtype=object)), expected)

    def test_several_batches(self, encoder):
        """More text than one batch holds: a document's vector does not depend on its neighbours."""
        one = encoder.encode(NEW)
        many = NEW * 3000
        expected = np.tile(one, (3000, 1))
        assert same_bits(encoder.encode(many), expected)
        assert same_bits(encoder.encode(iter(many)), expected)

    def test_none(self, encoder):
        for empty in ([], iter(()), ()):
            Z = encoder.encode(empty)
            assert Z.shape == (0, 12)
            assert Z.dtype == np.float32

    def test_unknown_words_are_zero(self, encoder):
        assert not encoder.encode(["", "unheard of", "..."]).any()

    def test_a_string_is_not_a_collection(self, encoder):
        with pytest.raises(TypeError):
            encoder.encode("one document")

    def test_bad_document_is_named(self, encoder):
        with pytest.raises(TypeError, match="document 2"):
            encoder.encode(["a", "b", 3])
        with pytest.raises(ValueError, match="document 1"):
            encoder.encode(["a", b"\xff"])

    def test_threads(self, encoder):
        Z = []
        for n in (1, 2, 5):
            encoder.counter.n_threads = encoder.model.n_threads = n
            Z.append(encoder.encode(NEW))
        assert same_bits(Z[0], Z[1])
        assert same_bits(Z[0], Z[2])


class TestOut:
    def test_given(self, encoder):
        out = np.full((len(NEW), 12), np.nan, np.float32)
        assert encoder.encode(NEW, out=out) is out
        assert same_bits(out, encoder.encode(NEW))

    def test_refused(self, encoder):
        good = np.zeros((len(NEW), 12), np.float32)
        with pytest.raises(ValueError, match="out: expected shape"):
            encoder.encode(NEW, out=good[1:])
        with pytest.raises(TypeError, match="out: expected dtype"):
            encoder.encode(NEW, out=good.astype(np.float64))
        with pytest.raises(ValueError, match="out: documents without a length"):
            encoder.encode(iter(NEW), out=good)
        good.flags.writeable = False
        with pytest.raises(ValueError, match="out: is read-only"):
            encoder.encode(NEW, out=good)

    def test_collection_that_lies_about_its_length(self, encoder):
        class Liar(list):
            def __len__(self):
                return 5

        for texts in (NEW[:4], NEW[:6]):
            with pytest.raises(ValueError, match="documents"):
                encoder.encode(Liar(texts))


class TestParts:
    def test_widths(self, encoder):
        other = sj.TermCounter(max_features=20).fit(TEXTS)
        with pytest.raises(ValueError, match="counter: has 20 terms"):
            sj.Encoder(other, encoder.weighting, encoder.model).encode(NEW)
        weighting = sj.LogTfIdf().fit(other.transform(TEXTS))
        with pytest.raises(ValueError, match="weighting: has 20 terms"):
            sj.Encoder(encoder.counter, weighting, encoder.model).encode(NEW)

    def test_weighted_twice(self, encoder):
        X = encoder.counter.transform(TEXTS)
        model = sj.CLLSI(3, random_state=0).fit([X, X])
        with pytest.raises(ValueError, match="weighting: the model weights by itself"):
            sj.Encoder(encoder.counter, encoder.weighting, model).encode(NEW)

    @pytest.mark.parametrize("part", ["counter", "weighting", "model"])
    def test_wrong_type_and_not_fitted(self, encoder, part):
        fresh = {"counter": sj.TermCounter(), "weighting": sj.LogTfIdf(), "model": sj.LSA()}
        kept = getattr(encoder, part)
        setattr(encoder, part, 3)
        with pytest.raises(TypeError, match=f"{part}: expected"):
            encoder.encode(NEW)
        setattr(encoder, part, fresh[part])
        with pytest.raises(NotFittedError):
            encoder.encode(NEW)
        setattr(encoder, part, kept)

    def test_storage(self, encoder):
        with pytest.raises(ValueError, match="storage: expected one of"):
            sj.Encoder(encoder.counter, encoder.weighting, encoder.model, storage="float8").encode(NEW)

    def test_normalize(self, encoder):
        for wrong in (1, "yes", (), None):
            with pytest.raises(TypeError, match=r"^normalize: expected a bool, got"):
                sj.Encoder(encoder.counter, encoder.weighting, encoder.model, normalize=wrong).encode(NEW)


@pytest.mark.parametrize("storage", [None, "float16", "int8"])
@pytest.mark.parametrize("normalize", [False, True])
def test_save_and_load(parts, storage, normalize, tmp_path):
    *steps, _ = parts
    encoder = sj.Encoder(*steps, storage=storage, normalize=normalize)
    encoder.save(tmp_path / "model.safetensors")
    loaded = sj.load(tmp_path / "model.safetensors")
    assert isinstance(loaded, sj.Encoder)
    assert (loaded.storage, loaded.normalize) == (storage, normalize)
    assert same_bits(loaded.encode(NEW), encoder.encode(NEW))
    assert type(loaded.model) is type(encoder.model)
    assert loaded.counter.get_params() == encoder.counter.get_params()


def test_parts_that_do_not_fit_are_not_saved(encoder, tmp_path):
    encoder.counter = sj.TermCounter(max_features=20).fit(TEXTS)
    with pytest.raises(ValueError, match="counter"):
        encoder.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_clone_keeps_the_fitted_parts(parts):
    *steps, _ = parts
    encoder = sj.Encoder(*steps)
    other = clone(encoder).set_params(normalize=True)
    assert (other.counter, other.weighting, other.model) == tuple(steps)
    assert not encoder.normalize, "the clone has parameters of its own"
    assert same_bits(clone(encoder).fit(NEW).transform(NEW), encoder.encode(NEW))
    assert encoder.get_feature_names_out().tolist() == [f"encoder{i}" for i in range(12)]


def test_in_a_pipeline_and_a_grid_search(parts):
    """Every copy that the search makes encodes; texts are told apart by whether they have a word."""
    *steps, _ = parts
    encoder = sj.Encoder(*steps)
    labels = np.array(["w1" in text.split() for text in TEXTS])
    pipeline = make_pipeline(encoder, LogisticRegression())
    search = GridSearchCV(pipeline, {"encoder__normalize": [False, True], "logisticregression__C": [1.0]}, cv=2)
    search.fit(TEXTS, labels)
    vectors = clone(encoder).set_params(normalize=search.best_params_["encoder__normalize"]).encode(TEXTS)
    expected = LogisticRegression(C=1.0).fit(vectors, labels).predict(vectors)
    np.testing.assert_array_equal(search.predict(TEXTS), expected)


class TestRowsOfAnotherKind:
    """Models remember whether they were fitted on counts or on weighted rows."""

    def models(self, X):
        return [
            sj.LSA(3, random_state=0).fit(X),
            sj.WTMF(3, max_iter=2, random_state=0).fit(X),
            sj.OPCA(3, random_state=0).fit([X, X[::-1]]),
            sj.DDA(3, group_size=50, random_state=0).fit([X, X[::-1]]),
            sj.CCA(3, random_state=0).fit([X, X[::-1]]).views_[0],
        ]

    def counted(self):
        counter = sj.TermCounter(max_features=150)
        return counter, counter.fit_transform(TEXTS)

    def test_a_weighting_that_is_missing(self, tmp_path):
        counter, X = self.counted()
        weighting = sj.LogTfIdf().fit(X)
        for model in self.models(weighting.transform(X)):
            sj.Encoder(counter, weighting, model).encode(NEW)
            model.save(tmp_path / "model")
            for each in (model, sj.load(tmp_path / "model")):
                with pytest.raises(ValueError, match="weighting: the model was fitted on weighted rows"):
                    sj.Encoder(counter, None, each).encode(NEW)

    @pytest.mark.filterwarnings("ignore:X. (OPCA|DDA|CCA) expects weighted rows")
    def test_a_weighting_that_was_not_there(self, tmp_path):
        counter, X = self.counted()
        weighting = sj.LogTfIdf().fit(X)
        for model in self.models(X):
            sj.Encoder(counter, None, model).encode(NEW)
            model.save(tmp_path / "model")
            for each in (model, sj.load(tmp_path / "model")):
                with pytest.warns(UserWarning, match="weighting: the model was fitted on counts"):
                    sj.Encoder(counter, weighting, each).encode(NEW)

    def test_a_weighting_of_another_corpus(self):
        """Of rows without a label, by their numbers."""
        counter, X = self.counted()
        other = sj.LogTfIdf().fit(sj.TermCounter(max_features=150).fit_transform(documents(900, seed=5)).copy())
        model = sj.LSA(3, random_state=0).fit(other.transform(X.copy()))
        with pytest.warns(sj.RowsWarning, match="weighting: the weighting has seen '.*' in more documents"):
            sj.Encoder(counter, other, model).encode(NEW)
