"""JPLSA against its dense reference: two and three languages, shared and separate vocabularies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import JPLSA, PLSA
from semproj.metrics import top1
from tests.reference import plsa as reference
from tests.support.topics import (
    assert_climbs,
    assert_close,
    assert_distributions,
    dense,
    drawn,
    expected_jplsa,
    make,
    matched_distance,
    merged,
    objectives_with_start,
    of_vocabulary,
    paired,
    planted_topics,
    true_objective,
)

TOLERANCE = {1: 2e-6, 5: 2e-5, 30: 5e-4}
VOCABULARIES = ["shared", "separate"]
LANGUAGES = {2: {"words": (30, 20), "lengths": (20, 60)}, 3: {"words": (30, 20, 25), "lengths": (20, 60, 5)}}


def views_of(vocabulary, languages=2, **options):
    return of_vocabulary(paired(**LANGUAGES[languages], **options), vocabulary)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
class TestAgainstTheReference:
    @pytest.mark.parametrize("n_sweeps", [1, 5, 30])
    @pytest.mark.parametrize("languages", [2, 3])
    @pytest.mark.parametrize("n_topics", [4, 33])
    def test_after_so_many_sweeps(self, n_topics, languages, n_sweeps, vocabulary):
        views = views_of(vocabulary, languages)
        model = make(JPLSA, n_components=n_topics, vocabulary=vocabulary, max_iter=n_sweeps).fit(views)
        theta, phi, history = expected_jplsa(views, vocabulary, n_sweeps, n_topics)
        assert_close(model, theta, phi, TOLERANCE[n_sweeps])
        np.testing.assert_allclose(model.objective_, history, rtol=1e-6)
        assert_distributions(model)

    def test_objective(self, vocabulary):
        views = views_of(vocabulary, 3)
        model = make(JPLSA, vocabulary=vocabulary, max_iter=60)
        assert_climbs(objectives_with_start(model, views), sum(x.sum() for x in views))
        assert model.objective(views) == pytest.approx(true_objective(model, views), rel=1e-6)
        assert model.objective_[-1] == model.objective(views)

    @pytest.mark.parametrize("n_iter", [1, 10])
    def test_fold_in(self, n_iter, vocabulary):
        """Documents of one language, with that language's part of the topics."""
        views, new = views_of(vocabulary, 3), views_of(vocabulary, 3, n=15, seed=8)
        model = make(JPLSA, vocabulary=vocabulary, fold_in_iter=n_iter).fit(views)
        starts = [0, 0, 0] if vocabulary == "shared" else [0, 30, 50]
        for i, (view, begin) in enumerate(zip(new, starts, strict=True)):
            phi = model.components_[:, begin : begin + view.shape[1]].astype(np.float64)
            found = model.transform(view) if vocabulary == "shared" else model.transform(view, view=i)
            np.testing.assert_allclose(found, reference.fold_in(dense(view), phi, 1.1, n_iter), atol=2e-6)

    def test_perplexity(self, vocabulary):
        views = views_of(vocabulary)
        model = make(JPLSA, vocabulary=vocabulary).fit(views)
        for i, (view, begin) in enumerate(zip(views, [0, 0] if vocabulary == "shared" else [0, 30], strict=True)):
            phi = model.components_[:, begin : begin + view.shape[1]].astype(np.float64)
            found = model.perplexity(view) if vocabulary == "shared" else model.perplexity(view, view=i)
            assert found == pytest.approx(reference.perplexity(dense(view), phi, 1.1, 10), rel=1e-5)

    def test_translations_are_found(self, vocabulary):
        """Documents that were not trained on, by topics alone."""
        rng = np.random.default_rng(0)
        theta = rng.dirichlet(np.full(6, 0.5), 260)
        views = [drawn(theta, planted_topics(6, 90, seed=s), np.full(260, 150), seed=s) for s in (1, 2)]
        views = of_vocabulary(views, vocabulary)
        model = make(
            JPLSA, n_components=6, vocabulary=vocabulary, init="random", random_state=0, max_iter=100
        ).fit([x[:200] for x in views])
        sides = [
            model.transform(x[200:]) if vocabulary == "shared" else model.transform(x[200:], view=i)
            for i, x in enumerate(views)
        ]
        for metric in ("l1", "jensen_shannon"):
            assert top1(*sides, metric=metric) > 0.8, "by chance: 0.017"


class TestSharedVocabulary:
    def test_is_plsa_of_joined_documents(self):
        """The paper: a pair is one bigger document."""
        views = merged(paired())
        joint, plain = make(JPLSA).fit(views), make(PLSA).fit(views[0] + views[1])
        np.testing.assert_allclose(joint.components_, plain.components_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(joint.doc_topics_, plain.doc_topics_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(joint.objective_, plain.objective_, rtol=1e-7)

    def test_order_of_languages(self):
        views = merged(paired())
        first, second = make(JPLSA).fit(views), make(JPLSA).fit(views[::-1])
        np.testing.assert_allclose(first.components_, second.components_, rtol=1e-4, atol=1e-6)

    def test_the_default(self):
        assert JPLSA().vocabulary == "shared"


class TestSeparateVocabularies:
    def test_each_language_has_distributions_of_its_own(self):
        views = paired(words=(30, 20))
        model = make(JPLSA, vocabulary="separate").fit(views)
        assert list(model.view_starts_) == [0, 30]
        assert model.word_topics_.shape == (50, 4)
        np.testing.assert_allclose(model.components_[:, :30].sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_allclose(model.components_[:, 30:].sum(axis=1), 1, rtol=1e-5)

    def test_differs_from_one_vocabulary_side_by_side(self):
        """Of lengths 20 and 60, a topic's distribution over both languages is not one over each."""
        views = paired(words=(30, 20))
        wide = [sp.csr_matrix(x.astype(np.float32)) for x in reference.placed(dense(views), "separate")[0]]
        separate, shared = make(JPLSA, vocabulary="separate").fit(views), make(JPLSA).fit(wide)
        assert np.abs(separate.doc_topics_ - shared.doc_topics_).max() > 0.01

    def test_planted_topics_of_both_languages(self):
        rng = np.random.default_rng(0)
        theta = rng.dirichlet(np.full(5, 0.1), 300)
        truth = [planted_topics(5, w, seed=s) for w, s in ((60, 1), (40, 2))]
        views = [drawn(theta, phi, np.full(300, 80), seed=s) for s, phi in enumerate(truth)]
        models = [
            make(JPLSA, n_components=5, vocabulary="separate", init="random", random_state=s, max_iter=100).fit(
                views
            )
            for s in range(3)
        ]
        best = max(models, key=lambda model: model.objective(views))
        # One matching for both: topic t of one language is topic t of the other.
        assert matched_distance(best.components_, np.hstack(truth)).max() < 0.16

    def test_top_words(self):
        views = paired(words=(30, 20))
        model = make(JPLSA, vocabulary="separate").fit(views)
        names = [f"es{i}" for i in range(20)]
        for words, phi in zip(model.top_words(names, k=3, view=1), model.components_[:, 30:], strict=True):
            assert [word for word, _ in words] == [names[i] for i in np.lexsort((np.arange(20), -phi))[:3]]
        with pytest.raises(ValueError, match="names"):
            model.top_words(names, view=0)

    def test_top_words_of_a_language_in_a_shared_vocabulary(self, tmp_path):
        first, second = (sp.csr_matrix(each) for each in (np.eye(4, 6) * 5, np.eye(4, 6, 2) * 4))
        model = make(JPLSA).fit([first, second])
        model.save(tmp_path / "model")
        for each in (model, sj.load(tmp_path / "model")):
            found = [{word for word, _ in topic} for topic in each.top_words("abcdef", view=1)]
            assert found == [set("cdef")] * len(found)
            assert [len(topic) for topic in each.top_words("abcdef", view=0)] == [4] * len(found)
            assert each.top_words("abcdef", k=1) == each.top_words("abcdef", k=1, view=None)
            with pytest.raises(ValueError, match="view"):
                each.top_words("abcdef", view=2)

    @pytest.mark.parametrize("view", [None, 2, -1, "1"])
    def test_the_view_must_be_named(self, view):
        views = paired(words=(30, 20))
        model = make(JPLSA, vocabulary="separate").fit(views)
        with pytest.raises((ValueError, TypeError), match="view"):
            model.transform(views[1], view=view)

    def test_rows_of_another_language(self):
        views = paired(words=(30, 20))
        model = make(JPLSA, vocabulary="separate").fit(views)
        with pytest.raises(ValueError, match="30"):
            model.transform(views[0], view=1)


class TestCorners:
    @pytest.mark.parametrize("vocabulary", VOCABULARIES)
    def test_empty_sides(self, vocabulary):
        """A document with one side is explained by it alone; a pair of nothing is uniform."""
        views = views_of(vocabulary)
        model = make(JPLSA, vocabulary=vocabulary, max_iter=30).fit(views)
        np.testing.assert_allclose(model.doc_topics_[4], 0.25, rtol=1e-5)
        assert model.doc_topics_[1].max() > 0.3
        theta, _, _ = expected_jplsa(views, vocabulary, 30)
        np.testing.assert_allclose(model.doc_topics_[[1, 2]], theta[[1, 2]], atol=5e-4)

    def test_one_language_is_not_enough(self):
        with pytest.raises(ValueError, match=r"^X: expected at least two matrices"):
            make(JPLSA).fit([merged(paired())[1]])

    def test_a_view_without_words(self):
        views = merged(paired())
        with pytest.raises(ValueError, match=r"^X\[1\]: has no non-zero entries"):
            make(JPLSA).fit([views[0], sp.csr_matrix(views[1].shape)])
