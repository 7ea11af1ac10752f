"""PLSA against its dense reference, closed forms and planted topics."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import PLSA
from tests.reference import plsa as reference
from tests.support import same_bits
from tests.support.topics import (
    PRIORS,
    assert_climbs,
    assert_close,
    assert_distributions,
    corpus,
    dense,
    drawn,
    expected_plsa,
    make,
    matched_distance,
    objectives_with_start,
    planted_topics,
    true_objective,
)

# float32 parameters, rounded in each sweep; EM may widen a difference before it narrows it.
TOLERANCE = {1: 2e-6, 5: 2e-5, 30: 5e-4}


class TestAgainstTheReference:
    @pytest.mark.parametrize("n_sweeps", [1, 5, 30])
    @pytest.mark.parametrize("n_topics", [1, 2, 4, 7, 33])
    def test_after_so_many_sweeps(self, n_topics, n_sweeps):
        X = corpus()
        model = make(n_components=n_topics, max_iter=n_sweeps).fit(X)
        theta, phi, history = expected_plsa(X, n_sweeps, n_topics)
        assert_close(model, theta, phi, TOLERANCE[n_sweeps])
        np.testing.assert_allclose(model.objective_, history, rtol=1e-6)
        assert_distributions(model)

    @pytest.mark.parametrize("alpha", [1, 1.1, 3])
    @pytest.mark.parametrize("beta", [1, 1.01, 2])
    def test_priors(self, alpha, beta):
        """From the parameters after two sweeps, one more leads to those of the reference."""
        X = corpus()
        before, after = (make(alpha=alpha, beta=beta, max_iter=n).fit(X) for n in (2, 3))
        theta, phi = before.doc_topics_.astype(np.float64), before.components_.astype(np.float64)
        theta, phi = reference.sweep(dense(X), theta, phi, alpha, beta, [0, 30])
        assert_close(after, theta, phi, 2e-6)

    @pytest.mark.parametrize("n_topics", [3, 17, 64, 100, 257])
    def test_one_sweep_of_any_width(self, n_topics):
        """Numbers of topics that no vector register divides, from random topics."""
        X = corpus(n_words=200, length=60)
        before, after = (make(n_components=n_topics, init="random", random_state=0, max_iter=n) for n in (1, 2))
        theta, phi = before.fit(X).doc_topics_.astype(np.float64), before.components_.astype(np.float64)
        theta, phi = reference.sweep(dense(X), theta, phi, 1.1, 1.01, [0, 200])
        assert_close(after.fit(X), theta, phi, 3e-6)

    def test_weights_that_are_not_integers(self):
        X = corpus()
        X.data *= np.random.default_rng(0).uniform(0.1, 2, X.nnz).astype(np.float32)
        model = make(max_iter=5).fit(X)
        theta, phi, history = expected_plsa(X, 5)
        assert_close(model, theta, phi, TOLERANCE[5])
        np.testing.assert_allclose(model.objective_, history, rtol=1e-6)

    @pytest.mark.parametrize("scale", [2, 1024])
    def test_a_count_is_as_many_tokens(self, scale):
        """As many times the tokens, with priors that weigh as many times more, are the same distributions."""
        X = corpus()
        once = make().fit(X)
        often = make(alpha=1 + 0.1 * scale, beta=1 + 0.01 * scale).fit(scale * X)
        np.testing.assert_allclose(often.components_, once.components_, atol=1e-6)
        np.testing.assert_allclose(often.objective_, scale * once.objective_, rtol=1e-6)

    @pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float32, np.float64])
    def test_dtypes_of_counts(self, dtype):
        model = make().fit(corpus().astype(dtype))
        expected = make().fit(corpus())
        assert same_bits(model.doc_topics_, expected.doc_topics_)
        assert model.word_topics_.dtype == model.doc_topics_.dtype == np.float32
        assert model.objective_.dtype == np.float64


class TestStart:
    """Words by falling frequency, in blocks of equal mass, each in one topic."""

    # 12 tokens in each of four blocks: one word of 12 tokens, two of 6, three of 4, four of 3.
    FREQUENCIES = np.array([3, 6, 4, 3, 12, 4, 6, 3, 4, 3])
    TOPICS = np.array([3, 1, 2, 3, 0, 2, 1, 3, 2, 3])

    def test_the_reference_deals_them_so(self):
        assert (reference.frequency_topics(self.FREQUENCIES, 4) == self.TOPICS).all()

    def test_blocks_of_equal_mass(self):
        """In one document whose words are evenly many topics' own, the first sweep tells the blocks."""
        X = sp.csr_matrix(self.FREQUENCIES[None].astype(np.float32))
        model = make(max_iter=1, beta=1.001).fit(X)
        assert (model.components_.argmax(axis=0) == self.TOPICS).all()
        assert (model.components_.max(axis=0) > 100 * np.sort(model.components_, axis=0)[-2]).all()
        np.testing.assert_allclose(model.doc_topics_, 0.25, rtol=1e-3)

    def test_ties_go_by_column(self):
        X = sp.csr_matrix(np.ones((1, 6), np.float32))
        model = make(n_components=3, max_iter=1, beta=1.001).fit(X)
        assert (model.components_.argmax(axis=0) == [0, 0, 1, 1, 2, 2]).all()

    def test_no_topic_is_empty(self):
        """One word is half of all tokens. Topics without words would be alike for ever."""
        frequencies = np.array([500, *range(100, 60, -1)], np.float32)
        X = sp.csr_matrix(np.diag(frequencies))
        model = make(n_components=20, max_iter=1).fit(X)
        assert len(np.unique(model.components_.argmax(axis=0))) == 20

    def test_seeds(self):
        X = corpus()
        first, same, other = (make(init="random", random_state=seed).fit(X) for seed in (3, 3, 4))
        assert same_bits(first.components_, same.components_)
        assert not same_bits(first.components_, other.components_)
        generator = np.random.default_rng(5)
        a, b = (make(init="random", random_state=generator).fit(X).components_ for _ in range(2))
        assert not same_bits(a, b), "a generator moves on"
        frequency = [make(random_state=seed).fit(X).components_ for seed in (3, 4, None)]
        assert same_bits(frequency[0], frequency[1])
        assert same_bits(frequency[0], frequency[2]), "the start by frequency draws nothing"

    def test_random_topics_are_alike_on_average(self):
        """Each word is spread over all topics by a draw of its own: no topic is ahead by design."""
        X = sp.csr_matrix(np.ones((1, 3000), np.float32))
        model = make(n_components=5, init="random", random_state=0, max_iter=1, alpha=1, beta=1).fit(X)
        # With one document, phi after a sweep is the posterior of the start: a Dirichlet(1) draw for each word.
        shares = model.components_ * model.doc_topics_[0][:, None] * 3000
        np.testing.assert_allclose(shares.sum(axis=0), 1, rtol=1e-4)
        np.testing.assert_allclose(shares.mean(axis=1), 0.2, atol=0.02)
        np.testing.assert_allclose(shares.var(axis=1), 4 / (25 * 6), rtol=0.15)
        assert np.abs(np.corrcoef(shares)[~np.eye(5, dtype=bool)] + 0.25).max() < 0.1


class TestObjective:
    @pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (1.1, 1.01), (1, 1.01), (1.1, 1), (4, 3)])
    def test_is_the_log_posterior(self, alpha, beta):
        X = corpus()
        model = make(alpha=alpha, beta=beta).fit(X)
        assert model.objective(X) == pytest.approx(true_objective(model, X), rel=1e-6)

    @pytest.mark.parametrize("init", ["frequency", "random"])
    @pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (1.1, 1.01), (1, 1.01), (1.1, 1), (4, 3)])
    def test_never_falls(self, alpha, beta, init):
        X = corpus()
        for n_topics in (2, 10, 40):
            model = make(n_components=n_topics, alpha=alpha, beta=beta, init=init, random_state=0, max_iter=60)
            assert_climbs(objectives_with_start(model, X), X.sum())

    def test_a_wrong_step_is_seen(self):
        """The check above can fail: with phi from the posteriors of other words, the reference falls."""
        X = dense(corpus())
        theta, phi, _ = reference.fit(X, 4, 20, **PRIORS)
        values = []
        for _ in range(5):
            values.append(reference.objective(X, theta, phi, **PRIORS))
            q = reference.posteriors(theta, phi)[:, ::-1]
            theta, phi = reference.maximised(X, q, **PRIORS, blocks=[0, 30])
        with pytest.raises(AssertionError):
            assert_climbs(np.array(values), X.sum())

    def test_after_each_sweep(self):
        X = corpus()
        whole = make().fit(X)
        assert whole.objective_.shape == (7,)
        for n in (1, 4, 7):
            stopped = make(max_iter=n).fit(X)
            assert same_bits(stopped.objective_, whole.objective_[:n])
            assert stopped.objective(X) == whole.objective_[n - 1]

    def test_a_fixed_point(self):
        """Long after convergence the parameters are where the reference would stay."""
        X = corpus(corners=False)
        model = make(max_iter=3000).fit(X)
        theta, phi = model.doc_topics_.astype(np.float64), model.components_.astype(np.float64)
        moved = reference.sweep(dense(X), theta, phi, **PRIORS, blocks=[0, 30])
        assert_close(model, *moved, 1e-5)


class TestPlantedTopics:
    def planted(self, seed):
        rng = np.random.default_rng(seed)
        truth, theta = planted_topics(5, 60, seed=seed), rng.dirichlet(np.full(5, 0.1), 300)
        return truth, theta, drawn(theta, truth, np.full(300, 100), seed=seed)

    @pytest.mark.parametrize("seed", range(3))
    def test_recovered(self, seed):
        """From the best of a few random starts. Distances of counts themselves are about 0.04."""
        truth, theta, X = self.planted(seed)
        models = [make(n_components=5, max_iter=100, init="random", random_state=s).fit(X) for s in range(3)]
        best = max(models, key=lambda model: model.objective(X))
        assert matched_distance(best.components_, truth).max() < 0.08
        expected, found = theta @ truth, best.doc_topics_ @ best.components_
        assert np.abs(expected - found).sum(axis=1).mean() < 0.15
        assert matched_distance(np.full((5, 60), 1 / 60), truth).min() > 0.5, "far from knowing nothing"

    def test_new_documents(self):
        truth, _, X = self.planted(1)
        model = make(n_components=5, max_iter=100, init="random", random_state=0).fit(X)
        rng = np.random.default_rng(9)
        theta = rng.dirichlet(np.full(5, 0.2), 50)
        found = model.transform(drawn(theta, truth, np.full(50, 200), seed=9))
        assert np.abs(found @ model.components_ - theta @ truth).sum(axis=1).mean() < 0.2


class TestTransform:
    @pytest.mark.parametrize("n_iter", [1, 2, 10])
    @pytest.mark.parametrize("alpha", [1, 1.1, 2])
    def test_is_fold_in(self, alpha, n_iter):
        X, new = corpus(), corpus(60, seed=7)
        model = make(alpha=alpha, fold_in_iter=n_iter, max_iter=10).fit(X)
        expected = reference.fold_in(dense(new), model.components_.astype(np.float64), alpha, n_iter)
        found = model.transform(new)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=2e-6)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)

    @pytest.mark.parametrize("n_topics", [1, 3, 64, 100, 257])
    def test_of_any_width(self, n_topics):
        X = corpus(n_words=200, length=60)
        model = make(n_components=n_topics, init="random", random_state=0, max_iter=3, fold_in_iter=3).fit(X)
        expected = reference.fold_in(dense(X), model.components_.astype(np.float64), 1.1, 3)
        np.testing.assert_allclose(model.transform(X), expected, atol=2e-6)

    def test_rows_do_not_depend_on_each_other(self):
        X = corpus(90)
        model = make().fit(X)
        whole = model.transform(X)
        for rows in ([5], [0, 1], list(range(40, 90))):
            assert same_bits(model.transform(X[rows]), whole[rows])

    def test_documents_without_words_are_uniform(self):
        model = make(alpha=1).fit(corpus())
        np.testing.assert_array_equal(model.transform(sp.csr_matrix((2, 30))), np.full((2, 4), 0.25))
        np.testing.assert_allclose(model.doc_topics_[1], 0.25)

    @pytest.mark.parametrize("n_iter", [1, 10])
    def test_words_that_training_has_not(self, n_iter):
        """With a prior of words they have its probability; without, they are left out."""
        X = corpus()  # words 3 and 17 do not occur
        row = np.zeros((3, 30))
        row[0, 3], row[1, [3, 8]], row[2, 8] = 2, 1, 1
        smoothed = make(fold_in_iter=n_iter).fit(X)
        expected = reference.fold_in(row, smoothed.components_.astype(np.float64), 1.1, n_iter)
        np.testing.assert_allclose(smoothed.transform(row), expected, atol=2e-6)
        assert (smoothed.components_[:, 3] > 0).all()
        plain = make(beta=1, fold_in_iter=n_iter).fit(X)
        assert (plain.components_[:, 3] == 0).all()
        found = plain.transform(row)
        np.testing.assert_array_equal(found[0], np.full(4, 0.25, np.float32))
        np.testing.assert_allclose(found[1], found[2], rtol=1e-5)

    def test_iterations_can_be_changed_later(self):
        X = corpus()
        model = make(fold_in_iter=1).fit(X)
        ten = make(fold_in_iter=10).fit(X).transform(X)
        assert not same_bits(model.transform(X), ten)
        assert same_bits(model.set_params(fold_in_iter=10).transform(X), ten)


class TestPerplexity:
    @pytest.mark.parametrize("n_iter", [1, 10])
    def test_is_the_reference(self, n_iter):
        model, new = make(fold_in_iter=n_iter).fit(corpus()), corpus(seed=7)
        expected = reference.fitted_perplexity(dense(new), model.components_.astype(np.float64), 1.1, n_iter)
        assert model.fitted_perplexity(new) == pytest.approx(expected, rel=1e-5)

    def test_of_one_topic(self):
        """exp of the cross entropy of the words, whatever the documents."""
        X = corpus(corners=False)
        p = (0.01 + X.sum(axis=0)) / (0.01 * 30 + X.sum())
        expected = np.exp(-(X.sum(axis=0) @ np.log(p).T).item() / X.sum())
        assert make(n_components=1).fit(X).perplexity(X) == pytest.approx(expected, rel=1e-5)

    def test_true_topics_are_better(self):
        truth = planted_topics(5, 60)
        theta = np.random.default_rng(0).dirichlet(np.full(5, 0.1), 400)
        X = drawn(theta, truth, np.full(400, 60), seed=0)
        values = [
            make(n_components=t, init="random", random_state=0, max_iter=60).fit(X[:300]).perplexity(X[300:])
            for t in (1, 2, 5)
        ]
        assert values[0] > values[1] > values[2]
        entropy = -np.log((theta @ truth)[300:]) * X[300:].toarray()
        assert values[2] == pytest.approx(np.exp(entropy[X[300:].toarray() > 0].sum() / X[300:].sum()), rel=0.1)

    def test_without_a_word(self):
        with pytest.raises(ValueError, match="X"):
            make().fit(corpus()).perplexity(sp.csr_matrix((3, 30)))


class TestTopWords:
    NAMES = tuple(f"w{i}" for i in range(30))

    def test_sorted_by_probability(self):
        model = make().fit(corpus())
        topics = model.top_words(list(self.NAMES), k=6)
        assert [len(words) for words in topics] == [6] * 4
        for words, phi in zip(topics, model.components_, strict=True):
            order = np.lexsort((np.arange(30), -phi))[:6]
            assert [word for word, _ in words] == [self.NAMES[i] for i in order]
            np.testing.assert_allclose([p for _, p in words], phi[order], rtol=1e-6)

    def test_as_many_as_there_are(self):
        model = make().fit(corpus())
        assert len(model.top_words(np.array(self.NAMES))[0]) == 10
        for words in model.top_words(self.NAMES, k=100):
            assert sorted(word for word, _ in words) == sorted(self.NAMES)

    @pytest.mark.parametrize(
        ("names", "k", "argument"), [(NAMES[:-1], 5, "names"), (NAMES, 0, "k"), (NAMES, 1.5, "k")]
    )
    def test_wrong_arguments(self, names, k, argument):
        with pytest.raises((ValueError, TypeError), match=rf"^{argument}: expected"):
            make().fit(corpus()).top_words(names, k=k)


class TestCorners:
    def test_more_topics_than_words(self):
        X = corpus()
        for beta in (1, 1.01):
            model = make(n_components=50, beta=beta, max_iter=20)
            assert_climbs(objectives_with_start(model, X), X.sum())
            assert_distributions(model)

    def test_one_document_of_one_word(self):
        model = make(n_components=2).fit(np.array([[3.0]]))
        np.testing.assert_allclose(model.components_, 1)
        np.testing.assert_allclose(model.doc_topics_.sum(), 1, rtol=1e-6)

    def test_probabilities_that_float32_cannot_hold(self):
        """Topics that share no word, no priors: zeros are right, NaN is not."""
        X = np.kron(np.eye(4), np.ones((5, 6))) * 100
        model = make(alpha=1, beta=1, max_iter=300)
        assert_climbs(objectives_with_start(model, X), X.sum())
        assert_distributions(model)
        assert np.isfinite(model.transform(X)).all()

    def test_large_counts(self):
        """Sums far beyond where float32 could still add one."""
        X = corpus() * np.float32(3e6)
        theta, phi, history = expected_plsa(X, 5)
        model = make(max_iter=5).fit(X)
        assert_close(model, theta, phi, TOLERANCE[5])
        np.testing.assert_allclose(model.objective_, history, rtol=1e-6)

    def test_zeros_that_are_stored(self):
        X = corpus()
        stored = X.copy()
        stored.data[::3] = 0
        clean = stored.copy()
        clean.eliminate_zeros()
        assert same_bits(make().fit(stored).components_, make().fit(clean).components_)

    def test_entries_of_one_cell_add_up(self):
        X = corpus()
        halves = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
        theta, phi, _ = expected_plsa(X, 7)
        assert_close(make().fit(halves), theta, phi, TOLERANCE[5])

    def test_all_documents_alike(self):
        """Topics that start apart may stay so, but the documents' distribution is the words' frequencies."""
        X = np.tile(np.arange(1.0, 11), (20, 1))
        model = make(alpha=1, beta=1, max_iter=50).fit(X)
        np.testing.assert_allclose(
            model.doc_topics_ @ model.components_, X / X.sum(axis=1, keepdims=True), atol=1e-5
        )


class TestNames:
    def test_encoder(self, tmp_path):
        texts = ["a bank lends money", "a bank takes money", "the river bank", "water of the river"]
        counter = sj.TermCounter()
        model = PLSA(2, max_iter=20, random_state=0).fit(counter.fit_transform(texts))
        model.save(tmp_path / "model")
        assert same_bits(
            sj.load(tmp_path / "model").transform(counter.transform(texts)),
            model.transform(counter.transform(texts)),
        )

    def test_attributes(self):
        model = make().fit(corpus())
        assert (model.components_.shape, model.word_topics_.shape, model.doc_topics_.shape) == (
            (4, 30),
            (30, 4),
            (40, 4),
        )
        assert same_bits(np.ascontiguousarray(model.components_.T), np.ascontiguousarray(model.word_topics_))
        assert (model.n_iter_, model.n_features_in_) == (7, 30)
        assert list(model.get_feature_names_out()) == [f"plsa{i}" for i in range(4)]


def test_integer_counts_with_a_stored_zero():
    X = corpus().astype(np.int32)
    X.data[0] = 0
    expected = X.copy()
    expected.eliminate_zeros()
    one, other = (make(max_iter=2, random_state=0).fit(x) for x in (X, expected))
    assert same_bits(one.word_topics_, other.word_topics_)


@pytest.mark.parametrize("huge", [1e38, 1e300])
def test_counts_too_large_for_float32(huge):
    """An error, and no warning of the comparison."""
    with pytest.raises(ValueError, match=r"^X: contains values that are too large for float32"):
        make().fit(np.full((4, 5), huge))
