"""Models remember what rows they were fitted on: counts or weights, and of which terms."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import semproj as sj

TEXTS = [" ".join(f"w{i}" for i in np.random.default_rng(seed).integers(0, 40, 30)) for seed in range(60)]
OTHERS = [text.replace("w", "v") for text in TEXTS]
TOPICS = {"max_iter": 2, "init": "random", "random_state": 0}


def counted(texts=TEXTS):
    counter = sj.TermCounter(max_features=30)
    return counter, counter.fit_transform(texts)


def weighted(X):
    return sj.LogTfIdf().fit_transform(X)


SINGLE = {
    "LSA": lambda X: sj.LSA(3, random_state=0).fit(X),
    "WTMF": lambda X: sj.WTMF(3, max_iter=2, random_state=0).fit(X),
    "PLSA": lambda X: sj.PLSA(3, **TOPICS).fit(X),
}
PAIRED = {
    "OPCA": lambda X: sj.OPCA(3, random_state=0).fit([X, X[::-1]]),
    "DDA": lambda X: sj.DDA(3, group_size=50, random_state=0).fit([X, X[::-1]]),
    "CLLSI": lambda X: sj.CLLSI(3, weighting=None, random_state=0).fit([X, X[::-1]]),
    "CCA": lambda X: sj.CCA(3, random_state=0).fit([X, X[::-1]]),
    "CCA view": lambda X: sj.CCA(3, random_state=0).fit([X, X[::-1]]).views_[0],
    "JPLSA": lambda X: sj.JPLSA(3, **TOPICS).fit([X, X[::-1]]),
    "CPLSA": lambda X: sj.CPLSA(3, **TOPICS).fit([X, X[::-1]]),
    "JPLSA view": lambda X: sj.JPLSA(3, vocabulary="separate", **TOPICS).fit([X, X[::-1]]).views_[0],
}
MODELS = {**SINGLE, **PAIRED}


@pytest.fixture(params=MODELS)
def fit(request):
    return MODELS[request.param]


def saved_too(model, path):
    model.save(path)
    return [model, sj.load(path)]


class TestKinds:
    def test_counts_for_a_model_of_weighted_rows(self, fit, tmp_path):
        _, X = counted()
        for model in saved_too(fit(weighted(X)), tmp_path / "model"):
            model.transform(weighted(X))
            with pytest.warns(sj.RowsWarning, match="X: expected weighted rows, as in fit, got counts"):
                model.transform(X[:5])

    @pytest.mark.filterwarnings("ignore:X. (OPCA|DDA|CCA) expects weighted rows")
    def test_weighted_rows_for_a_model_of_counts(self, fit, tmp_path):
        _, X = counted()
        for model in saved_too(fit(X), tmp_path / "model"):
            model.transform(X[:5])
            with pytest.warns(sj.RowsWarning, match="X: expected counts, as in fit, got weighted rows"):
                model.transform(weighted(X)[:5])

    def test_nothing_is_said_of_what_is_not_known(self, fit):
        """Counts as floats may be counts or weights; and rows without terms may be both."""
        _, X = counted()
        floats = X.astype(np.float64)
        for rows in (X, floats, weighted(X)):
            fit(floats).transform(rows)
        fit(weighted(X)).transform(floats)
        fit(weighted(X)).transform(sp.csr_matrix(X.shape, dtype=np.int32))

    def test_other_doors(self):
        _, X = counted()
        plsa = sj.PLSA(3, **TOPICS).fit(X)
        for method in (plsa.score, plsa.perplexity, plsa.fitted_perplexity):
            with pytest.warns(sj.RowsWarning, match="expected counts"):
                method(weighted(X))
        wtmf = sj.WTMF(3, max_iter=2, random_state=0).fit(weighted(X))
        with pytest.warns(sj.RowsWarning, match="expected weighted rows"):
            wtmf.similarity(X[:2])
        lsa = sj.LSA(3, random_state=0).fit(weighted(X))
        with pytest.warns(sj.RowsWarning, match="expected weighted rows"):
            lsa.partial_fit(X)

    def test_the_warning_points_to_the_callers_line(self):
        _, X = counted()
        model = sj.LSA(3, random_state=0).set_output(transform="default").fit(weighted(X))
        for call in (lambda: model.transform(X), lambda: make_pipeline("passthrough", model).transform(X)):
            with pytest.warns(sj.RowsWarning) as caught:
                call()
            assert caught[0].filename == __file__
            assert caught[0].lineno == inspect.getsourcelines(call)[1]


class TestTwoViews:
    @pytest.mark.parametrize("model", [sj.OPCA(3), sj.DDA(3), sj.CCA(3)])
    def test_counts_that_should_be_weighted(self, model):
        _, X = counted()
        with pytest.warns(sj.RowsWarning, match=f"X: {type(model).__name__} expects weighted rows, got counts"):
            model.fit([X, X[::-1]])
        for meant in (X.astype(np.float32), (X > 0).astype(np.int32)):  # as floats, or as ones
            model.fit([meant, meant[::-1]])
        model.fit([weighted(X), weighted(X)[::-1]])

    def test_integers_that_need_not_be_terms(self):
        rows = np.random.default_rng(0).integers(0, 9, (20, 4))
        sj.CCA(2).fit([rows, rows[:, ::-1]])

    def test_rows_that_cllsi_would_weight_again(self):
        _, X = counted()
        W = weighted(X)
        with pytest.warns(
            sj.RowsWarning, match=r"CLLSI weights counts itself, .* or write CLLSI\(weighting=None\)"
        ):
            sj.CLLSI(3, random_state=0).fit([W, W[::-1]])
        sj.CLLSI(3, weighting=None, random_state=0).fit([W, W[::-1]]).transform(W)
        model = sj.CLLSI(3, random_state=0).fit([X, X[::-1]])
        model.partial_fit([X, X[::-1]]).transform(X.astype(np.float64))
        with pytest.warns(sj.RowsWarning, match="CLLSI weights counts itself"):
            model.transform(W)
        with pytest.warns(sj.RowsWarning, match="CLLSI weights counts itself"):
            model.partial_fit([W, W])

    @pytest.mark.parametrize("model", [sj.CLLSI(2), sj.OPCA(2), sj.DDA(2), sj.CCA(2), sj.JPLSA(2), sj.CPLSA(2)])
    def test_one_view(self, model):
        _, X = counted()
        W = weighted(X)
        for one in (W, W.toarray()):
            with pytest.raises(TypeError, match=r"X: expected a list of matrices, .* write \[first, second\]"):
                model.fit(one)
        if not isinstance(model, sj.CLLSI):  # of which one language is LSA
            with pytest.raises(ValueError, match="X: expected at least two matrices, one per language, got 1"):
                model.fit([W])

    @pytest.mark.parametrize("model", [sj.CLLSI(2), sj.OPCA(2), sj.DDA(2), sj.JPLSA(2), sj.CPLSA(2)])
    def test_two_counters_where_columns_are_shared(self, model):
        """As many columns, of different words."""
        views = [counted(TEXTS)[1], counted(OTHERS)[1]]
        with pytest.raises(ValueError, match=r"X\[1\]: its columns are other terms .* by one MultiTermCounter"):
            model.fit(views)
        shared = sj.MultiTermCounter(max_features=60).fit_transform([TEXTS, OTHERS])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sj.RowsWarning)
            model.fit(shared)


class TestTerms:
    def test_a_model_of_another_corpus(self, fit, tmp_path):
        counter, X = counted()
        weighting = sj.LogTfIdf().fit(X)
        other, _ = counted(OTHERS)
        for model in saved_too(fit(weighting.transform(X)), tmp_path / "model"):
            with pytest.raises(ValueError, match="X: its columns are other terms"):
                model.transform(sj.LogTfIdf().fit_transform(other.transform(OTHERS)))
            if not isinstance(model, sj.CCA) and getattr(model, "weighting_", None) is None:
                sj.Encoder(counter, weighting, model).encode(TEXTS)
                with pytest.raises(ValueError, match=r"counter: its columns are other terms .* LogTfIdf was"):
                    sj.Encoder(other, weighting, model).encode(OTHERS)
                with pytest.raises(ValueError, match=f"counter: its columns .* the {type(model).__name__} was"):
                    sj.Encoder(other, sj.LogTfIdf().fit(other.transform(OTHERS)), model).encode(OTHERS)

    @pytest.mark.parametrize("weighting", [sj.LogTfIdf(), sj.TfIdf(), sj.BM25()])
    def test_a_weighting_of_another_corpus(self, weighting, tmp_path):
        _, X = counted()
        for each in saved_too(weighting.fit(X), tmp_path / "weighting"):
            each.transform(X)
            with pytest.raises(ValueError, match="X: its columns are other terms than those that the"):
                each.transform(counted(OTHERS)[1])

    def test_a_counter_that_was_fitted_again(self):
        counter, X = counted()
        model = sj.PLSA(3, **TOPICS).fit(X)
        sj.Encoder(counter, None, model).encode(TEXTS)
        counter.fit(OTHERS)
        with pytest.raises(ValueError, match="counter: its columns are other terms"):
            sj.Encoder(counter, None, model).encode(TEXTS)

    def test_the_same_vocabulary_by_another_way(self, tmp_path):
        """Terms count, not the counter: one that was loaded, that was given them, that counts other texts."""
        counter, X = counted()
        model = sj.PLSA(3, **TOPICS).fit(X)
        sj.Encoder(counter, None, model).save(tmp_path / "encoder")
        expected = model.transform(X)
        given = sj.TermCounter(vocabulary=counter.get_feature_names_out()).fit(TEXTS[::-1])
        for each in (sj.load(tmp_path / "encoder").counter, given):
            np.testing.assert_array_equal(model.transform(each.transform(TEXTS)), expected)
            np.testing.assert_array_equal(sj.Encoder(each, None, model).encode(TEXTS), expected)

    def test_what_was_made_from_rows_has_no_label(self):
        """Nothing is said of columns that were chosen, or put side by side."""
        _, X = counted()
        model = sj.LSA(3, random_state=0).fit(weighted(X))
        for other in (counted(OTHERS)[1].copy(), counted(OTHERS)[1][:, ::-1], sp.vstack([counted(OTHERS)[1]] * 2)):
            assert np.isfinite(model.transform(sj.LogTfIdf().fit_transform(other))).all()

    def test_separate_vocabularies(self):
        counter = sj.MultiTermCounter("separate", max_features=25)
        views = counter.fit_transform([TEXTS, OTHERS])
        model = sj.JPLSA(3, vocabulary="separate", **TOPICS).fit(views)
        for i, texts in enumerate((TEXTS, OTHERS)):
            expected = model.transform(counter.transform(texts, view=i), view=i)
            encoder = sj.Encoder(counter.counters_[i], None, model.views_[i])
            np.testing.assert_array_equal(encoder.encode(texts), expected)
            with pytest.raises(ValueError, match="X: its columns are other terms"):
                model.transform(views[i], view=1 - i)
            with pytest.raises(ValueError, match="counter: its columns are other terms"):
                sj.Encoder(counter.counters_[1 - i], None, model.views_[i]).encode(texts)
