"""Perplexity and score by document completion: what one half of a document tells about the other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV

from semproj import CPLSA, JPLSA, PLSA
from tests.reference import plsa as reference
from tests.support.topics import corpus, dense, drawn, make, of_vocabulary, paired, planted_topics

PLANTED = 6


def planted(n=900, length=40):
    theta = np.random.default_rng(1).dirichlet(np.full(PLANTED, 0.1), n)
    return drawn(theta, planted_topics(PLANTED, 150), np.full(n, length), seed=2)


def scaled(X, scale):
    X = X.astype(np.float64)
    X.data *= scale
    return X


class TestReference:
    @pytest.mark.parametrize("n_iter", [1, 10])
    @pytest.mark.parametrize("scale", [1, 0.37, 2.5, 90, 1e-20])
    def test_of_counts_and_fractions(self, n_iter, scale):
        model, new = make(fold_in_iter=n_iter).fit(corpus()), scaled(corpus(seed=7), scale)
        counts = dense(new).astype(np.float32).astype(np.float64)
        expected = reference.perplexity(counts, model.components_.astype(np.float64), 1.1, n_iter)
        assert model.perplexity(new) == pytest.approx(expected, rel=1e-5)
        assert model.score(new) == pytest.approx(-math.log(expected), rel=1e-5)

    @pytest.mark.parametrize("cls", [JPLSA, CPLSA])
    @pytest.mark.parametrize("vocabulary", ["shared", "separate"])
    def test_of_views(self, cls, vocabulary):
        views = of_vocabulary(paired(), vocabulary)
        model = make(cls, vocabulary=vocabulary).fit(views)
        for number, view in enumerate(views):
            begin = 0 if vocabulary == "shared" else [0, views[0].shape[1]][number]
            phi = model.components_[:, begin : begin + view.shape[1]].astype(np.float64)
            expected = reference.perplexity(dense(view), phi, 1.1, 10)
            assert model.perplexity(view, view=number) == pytest.approx(expected, rel=1e-5)
            assert model.score(view, view=number) == pytest.approx(-math.log(expected), rel=1e-5)
            assert model.fitted_perplexity(view, view=number) < expected

    def test_halves_are_even_and_differ(self):
        counts = np.random.default_rng(0).integers(1, 5, (200, 50))
        first, second = reference.halves(counts)
        assert abs(first.sum() / counts.sum() - 0.5) < 0.02
        assert np.array_equal(first + second, counts)
        assert len(np.unique(first, axis=0)) == 200

    def test_the_order_of_rows_does_not_count(self):
        """Nor do the other rows: a document is halved by what it has."""
        model, new = make().fit(corpus()), corpus(seed=7, n=90)
        assert model.score(new[::-1]) == pytest.approx(model.score(new), rel=1e-12)
        lengths = np.asarray(new.sum(axis=1)).ravel()
        alone = [model.score(new[d]) for d in range(90) if lengths[d]]
        assert np.average(alone, weights=lengths[lengths > 0]) == pytest.approx(model.score(new), rel=1e-6)


class TestChoosesModels:
    def test_grid_search_finds_the_planted_number(self):
        """The flat part begins there; perplexity of words already seen falls on and on."""
        X, numbers = planted(), [1, 2, 4, PLANTED, 12, 24, 48]

        def chosen(scoring):
            search = GridSearchCV(PLSA(random_state=0), {"n_components": numbers}, cv=3, scoring=scoring).fit(X)
            scores = search.cv_results_["mean_test_score"]
            return search.best_params_["n_components"], dict(zip(numbers, scores, strict=True))

        best, scores = chosen(None)
        assert best in (PLANTED, 12)
        assert scores[PLANTED] > scores[4] + 0.05
        assert scores[48] < scores[best] - 0.01
        before, _ = chosen(lambda model, X, y=None: -model.fitted_perplexity(X))
        assert before > best + 6

    def test_more_topics_do_not_always_win(self):
        X = planted(300)
        few, many = (PLSA(n, tol=0, max_iter=60, random_state=0).fit(X[:200]) for n in (PLANTED, 60))
        assert few.perplexity(X[200:]) < many.perplexity(X[200:])
        assert few.fitted_perplexity(X[200:]) > many.fitted_perplexity(X[200:])


class TestOddDocuments:
    def test_words_that_a_mixture_excludes_are_not_forgiven(self):
        """Without priors, two topics have no word in common: who has seen one does not expect the other."""
        apart = np.kron(np.eye(2), np.full((4, 3), 5))
        model = PLSA(2, alpha=1, beta=1, max_iter=60, tol=0, fold_in_iter=60, random_state=0).fit(apart)
        assert model.perplexity(apart) == pytest.approx(3, rel=1e-3)
        both = np.hstack([np.repeat(np.eye(3), 3, axis=0), np.tile(np.eye(3), (3, 1))])
        assert model.perplexity(both) > 1e8

    def test_words_that_no_topic_has_are_left_out(self):
        X = np.hstack([np.full((4, 3), 5), np.zeros((4, 1), int)])
        model = PLSA(1, alpha=1, beta=1, random_state=0, max_iter=1, tol=0, init="frequency").fit(X)
        new = X.copy()
        new[:, 3] = 7
        assert model.word_topics_[3, 0] == 0
        assert model.perplexity(X) == pytest.approx(3)
        assert model.perplexity(new) == pytest.approx(3)

    def test_a_document_of_one_token_is_scored_by_all_topics(self):
        X = planted(200)
        model = PLSA(PLANTED, random_state=0).fit(X)
        one = sp.csr_matrix(([1.0], ([0], [4])), (1, 150))
        assert model.score(one) == pytest.approx(math.log(model.word_topics_[4].mean()), rel=1e-5)

    def test_without_a_word(self):
        with pytest.raises(ValueError, match="X: has no tokens"):
            make().fit(corpus()).score(sp.csr_matrix((3, 30)))

    @pytest.mark.parametrize("threads", [2, 5])
    def test_any_number_of_threads(self, threads):
        model, new = make().fit(corpus()), corpus(seed=3, n=200)
        alone = model.set_params(n_threads=1).score(new)
        assert model.set_params(n_threads=threads).score(new) == alone
