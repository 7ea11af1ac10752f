"""What helps to read topics: how prevalent they are, relevant words, and data for pyLDAvis."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import CPLSA, JPLSA, PLSA
from tests.support import same_bits
from tests.support.topics import corpus, data_of, dense, documents, make, of_vocabulary, paired

CLASSES = [PLSA, JPLSA, CPLSA]
NAMES = [f"w{i}" for i in range(30)]


class TestPrevalence:
    @pytest.mark.parametrize("cls", CLASSES)
    def test_is_the_share_of_tokens(self, cls):
        X = data_of(cls)
        model = make(cls).fit(X)
        if cls is CPLSA:
            sides = [(x.sum(axis=1).A1, theta) for x, theta in zip(X, model.doc_topics_, strict=True)]
        else:
            lengths = X.sum(axis=1).A1 if cls is PLSA else sum(x.sum(axis=1).A1 for x in X)
            sides = [(lengths, model.doc_topics_)]
        expected = sum(lengths @ theta for lengths, theta in sides) / sum(lengths.sum() for lengths, _ in sides)
        np.testing.assert_allclose(model.topic_prevalence_, expected, rtol=1e-6)
        assert model.topic_prevalence_.sum() == pytest.approx(1)

    def test_is_saved(self, tmp_path):
        model = make().fit(corpus())
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert loaded.topic_prevalence_.tolist() == model.topic_prevalence_.tolist()
        assert loaded.top_words(NAMES, 5, relevance=0.3) == model.top_words(NAMES, 5, relevance=0.3)


class TestRelevance:
    @pytest.mark.parametrize("relevance", [0.0, 0.4, 1.0])
    def test_is_as_defined(self, relevance):
        model = make().fit(corpus())
        phi = model.word_topics_.astype(np.float64)
        overall = phi @ model.topic_prevalence_
        ranking = relevance * np.log(phi) + (1 - relevance) * np.log(phi / overall[:, None])
        expected = [[NAMES[i] for i in np.argsort(-column, kind="stable")[:6]] for column in ranking.T]
        found = model.top_words(NAMES, 6, relevance=relevance)
        assert [[word for word, _ in topic] for topic in found] == expected
        for topic, column in zip(found, model.word_topics_.T, strict=True):
            assert [p for _, p in topic] == [column[NAMES.index(word)] for word, _ in topic]

    def test_one_is_probability_and_less_shuns_common_words(self):
        rng = np.random.default_rng(0)
        own = np.kron(np.eye(2), np.full((30, 4), 2)).astype(int) * rng.integers(1, 4, (60, 8))
        X = np.hstack([np.full((60, 1), 30), own])
        names = ["the", *"abcdefgh"]
        model = PLSA(2, random_state=0).fit(X)
        assert model.top_words(names, 4, relevance=1.0) == model.top_words(names, 4)
        assert all(topic[0][0] == "the" for topic in model.top_words(names, 4))
        relevant = model.top_words(names, 4, relevance=0.2)
        assert sorted("".join(sorted(w for w, _ in topic)) for topic in relevant) == ["abcd", "efgh"]

    @pytest.mark.parametrize("cls", [JPLSA, CPLSA])
    def test_of_views(self, cls):
        separate = make(cls, vocabulary="separate").fit(of_vocabulary(paired(), "separate"))
        assert all(len(topic) == 3 for topic in separate.top_words(NAMES, 3, view=1, relevance=0.5))
        shared = make(cls).fit(of_vocabulary(paired(), "shared"))
        names = [f"w{i}" for i in range(shared.n_features_in_)]
        words = {w for topic in shared.top_words(names, 5, view=1, relevance=0.0) for w, _ in topic}
        assert words <= {names[i] for i in np.flatnonzero(shared.view_words_[1])}

    def test_words_that_a_topic_lacks_come_last(self):
        model = PLSA(2, alpha=1, beta=1, init="frequency", max_iter=5, tol=0).fit(corpus())
        phi = model.word_topics_
        phi[phi < np.median(phi)] = 0
        for topic, column in zip(model.top_words(NAMES, 30, relevance=0.0), phi.T, strict=True):
            assert all(p > 0 for _, p in topic[: np.count_nonzero(column)])

    @pytest.mark.parametrize(("value", "error"), [(-0.1, ValueError), (1.5, ValueError), ("0.5", TypeError)])
    def test_wrong(self, value, error):
        with pytest.raises(error, match="relevance"):
            make().fit(corpus()).top_words(NAMES, relevance=value)


class TestPyldavis:
    @pytest.mark.parametrize("cls", CLASSES)
    def test_distributions(self, cls):
        X = corpus() if cls is PLSA else of_vocabulary(paired(), "separate")
        model = make(cls, **({} if cls is PLSA else {"vocabulary": "separate"})).fit(X)
        rows, which = (X, {}) if cls is PLSA else (X[1], {"view": 1})
        data = model.pyldavis_data(rows, NAMES, **which)
        counts = dense(rows)
        used, there = counts.sum(axis=0) > 0, counts.sum(axis=1) > 0
        assert set(data) == {"topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency"}
        assert data["vocab"] == [NAMES[i] for i in np.flatnonzero(used)]
        assert data["topic_term_dists"].shape == (4, used.sum())
        np.testing.assert_allclose(data["topic_term_dists"].sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(data["doc_topic_dists"], model.transform(rows, **which)[there], rtol=1e-5)
        np.testing.assert_array_equal(data["doc_lengths"], counts[there].sum(axis=1))
        np.testing.assert_array_equal(data["term_frequency"], counts.sum(axis=0)[used])
        begin = 0 if cls is PLSA else 30
        phi = model.components_[:, begin : begin + 30][:, used]
        np.testing.assert_allclose(data["topic_term_dists"], phi / phi.sum(axis=1, keepdims=True), rtol=1e-5)

    def test_bad_input(self):
        model = make().fit(corpus())
        with pytest.raises(ValueError, match="names: expected 30 words"):
            model.pyldavis_data(corpus(), NAMES[1:])
        with pytest.raises(ValueError, match="X: has no tokens"):
            model.pyldavis_data(sp.csr_matrix((3, 30)), NAMES)


class TestSavedDocuments:
    @pytest.mark.parametrize("cls", CLASSES)
    def test_on_request(self, cls, tmp_path):
        X = data_of(cls)
        model = make(cls).fit(X)
        model.save(tmp_path / "with", documents=True)
        loaded = sj.load(tmp_path / "with")
        for mine, other in zip(documents(model), documents(loaded), strict=True):
            assert same_bits(mine, other)
        assert loaded.objective(X) == model.objective(X)
        loaded.save(tmp_path / "again", documents=True)
        assert (tmp_path / "again").read_bytes() == (tmp_path / "with").read_bytes()

    @pytest.mark.parametrize("cls", CLASSES)
    def test_not_by_default(self, cls, tmp_path):
        X = data_of(cls)
        make(cls).fit(X).save(tmp_path / "without")
        loaded = sj.load(tmp_path / "without")
        assert not hasattr(loaded, "doc_topics_")
        for call in (lambda: loaded.objective(X), lambda: loaded.save(tmp_path / "with", documents=True)):
            with pytest.raises(ValueError, match="doc_topics_: was not saved"):
                call()
        assert not (tmp_path / "with").exists()
