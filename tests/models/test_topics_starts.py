"""Where topics start: at clusters of documents by default."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import CPLSA, JPLSA, PLSA
from semproj._common.topic_starts import cluster_counts
from semproj._solvers.clusters import row_clusters
from tests.support import same_bits

CLASSES = [PLSA, JPLSA, CPLSA]
N_TOPICS, N_WORDS = 20, 600


def planted(seed=0, n=800, length=60):
    """Documents of two topics each, and topics whose words fall off as those of texts do."""
    rng = np.random.default_rng(seed)
    ranks = 1 / np.arange(1, N_WORDS + 1)
    topics = np.array([rng.permutation(ranks) * rng.gamma(0.3, size=N_WORDS) for _ in range(N_TOPICS)])
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(N_TOPICS, 0.08), n)
    return topics, sp.csr_matrix(np.array([rng.multinomial(length, p) for p in mixtures @ topics]))


def found(model, topics):
    """How much of each planted topic the nearest fitted one has, on average: 1 is all."""
    fitted = model.components_[:, : topics.shape[1]]
    return np.mean([max(np.minimum(p, q).sum() for q in fitted) for p in topics])


def data_of(cls, **options):
    X = planted(**options)[1]
    return X if cls is PLSA else [X, X[:, ::-1].tocsr()]


class TestClusters:
    def test_are_the_default(self):
        assert all(cls().init == "clusters" for cls in CLASSES)

    @pytest.mark.parametrize("seed", range(3))
    def test_defaults_find_planted_topics_in_few_sweeps(self, seed):
        topics, X = planted(seed)
        by_default = PLSA(N_TOPICS, random_state=seed).fit(X)
        papers = PLSA(N_TOPICS, init="frequency", tempering=1, max_iter=100, tol=0).fit(X)
        assert by_default.n_iter_ <= 15
        assert found(by_default, topics) > 0.8
        assert found(by_default, topics) > found(papers, topics) + 0.1

    @pytest.mark.parametrize("vocabulary", ["shared", "separate"])
    @pytest.mark.parametrize("cls", [JPLSA, CPLSA])
    def test_pairs_are_clustered_as_one(self, cls, vocabulary):
        """Rows of a pair have no word in common, and yet begin in one topic."""
        X = planted()[1]
        far = sp.csr_matrix(X.shape)
        views = [X, X[:, ::-1].tocsr()]
        if vocabulary == "shared":
            views = [sp.hstack([views[0], far], format="csr"), sp.hstack([far, views[1]], format="csr")]
        options = {"vocabulary": vocabulary, "max_iter": 5, "tol": 0, "random_state": 0, "fold_in_iter": 1}
        model = cls(N_TOPICS, **options).fit(views)
        a, b = model.fit_transform(views)
        nearest = np.abs(a[:200, None] - b[None, :200]).sum(axis=2).argmin(axis=1)
        assert np.mean(nearest == np.arange(200)) > 0.9

    @pytest.mark.parametrize("cls", CLASSES)
    def test_depend_on_the_seed_alone(self, cls):
        X = data_of(cls)
        first, again, other = (cls(7, max_iter=2, random_state=s).fit(X).word_topics_ for s in (3, 3, 4))
        assert same_bits(first, again)
        assert not same_bits(first, other)

    def test_no_seed_is_another_fit(self):
        X = planted()[1]
        first, second = (PLSA(7, max_iter=2).fit(X).word_topics_ for _ in range(2))
        assert not same_bits(first, second)

    def test_of_many_documents_some_are_clustered(self):
        n = 25_000
        X = sp.csr_matrix((np.ones(n, np.float32), np.arange(n, dtype=np.int32) % 5, np.arange(n + 1)), (n, 5))
        clusters = [cluster_counts(X, 5, 1, key, 2) for key in (0, 0, 1)]
        np.testing.assert_allclose([c.sum() for c in clusters], 10_000, rtol=1e-5)
        assert same_bits(clusters[0].toarray(), clusters[1].toarray())
        assert not np.array_equal(clusters[0].sum(axis=0), clusters[2].sum(axis=0))

    def test_a_long_document_says_no_more_than_a_short_one(self):
        X = sp.csr_matrix([[1000, 1000, 0]] + [[0, 1, 1]] * 10, dtype=np.float32)
        rows = cluster_counts(X, 1, 1, 0, 1).toarray()[0]
        assert rows[0] < rows[2] < rows[1]

    def test_a_document_far_from_its_centre_says_less(self):
        """The last one lies between two groups, and has a word of its own: 3 of its 8 tokens."""
        X = sp.csr_matrix([[4, 4, 0, 0, 0]] * 10 + [[0, 0, 4, 4, 0]] * 10 + [[3, 0, 2, 0, 3]], dtype=np.float32)
        assert 0 < cluster_counts(X, 2, 1, 0, 1).toarray()[:, 4].sum() < 0.9 * 3 / 8

    def test_groups_have_clusters_before_rows_like_no_other(self):
        """Twelve groups of twenty rows, and sixty rows apart from all, which take many centres if drawn alone."""
        rows = np.zeros((300, 72), np.float32)
        rows[:240, :12] = np.kron(np.eye(12), np.ones((20, 1)))
        rows[:240] += 0.1 * np.random.default_rng(0).random((240, 72), np.float32)
        rows[240:, 12:] = np.eye(60)
        rows = sp.csr_matrix(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        apart = []
        for key in range(6):
            labels, _ = row_clusters(rows, 14, dimensions=60, key=key, n_threads=2)
            apart.append(len({np.bincount(group).argmax() for group in labels[:240].reshape(12, 20)}))
        assert np.mean(apart) > 11


@pytest.mark.parametrize("cls", CLASSES)
class TestHardInput:
    """More topics than documents or words, empty and equal documents: finite, and topics that differ."""

    @pytest.mark.parametrize("case", ["few documents", "few words", "empty documents", "equal documents", "one"])
    def test_topics_are_distributions(self, cls, case):
        X = np.random.default_rng(0).poisson(1.0, (30, 12))
        if case == "few documents":
            X = X[:3]
        elif case == "few words":
            X = X[:, :2] + 1
        elif case == "empty documents":
            X[5:25] = 0
        elif case == "equal documents":
            X[:] = np.arange(12)
        else:
            X = np.array([[3]])
        model = cls(9, max_iter=4, tol=0, random_state=0).fit(X if cls is PLSA else [X, X])
        np.testing.assert_allclose(model.word_topics_.sum(axis=0), 1, rtol=1e-5)
        if case != "one":
            assert len(np.unique(model.word_topics_.T, axis=0)) == 9

    def test_fractions_and_extremes(self, cls):
        X = planted(n=60)[1].astype(np.float64)
        for scale in (1e-25, 0.3, 1e20):
            views = X * scale
            model = cls(5, max_iter=3, tol=0, random_state=0).fit(views if cls is PLSA else [views, views])
            assert np.isfinite(model.word_topics_).all()


@pytest.mark.parametrize("init", ["random", "frequency"])
def test_other_starts_are_not_ended_before_they_begin(init):
    """Their first sweeps gain little: the default `tol` lets them go on."""
    X = planted()[1]
    assert PLSA(N_TOPICS, init=init, random_state=0).fit(X).n_iter_ > 20


def test_tol_of_the_caller_counts():
    X = planted()[1]
    assert PLSA(5, tol=0, max_iter=40, random_state=0).fit(X).n_iter_ == 40
    assert PLSA(5, tol=0.5, random_state=0).fit(X).n_iter_ < 4
