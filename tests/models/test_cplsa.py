"""CPLSA against its dense reference: the coupling from nothing to exact agreement, and what it is for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj import CPLSA, JPLSA, PLSA
from semproj.kernels import project_posteriors
from semproj.metrics import top1
from tests.reference import plsa as reference
from tests.support.topics import (
    PRIORS,
    assert_climbs,
    assert_close,
    assert_distributions,
    dense,
    drawn,
    expected_cplsa,
    expected_plsa,
    make,
    merged,
    objectives_with_start,
    of_vocabulary,
    paired,
    planted_topics,
    true_objective,
)

VOCABULARIES = ["shared", "separate"]
EXACT = {"projection_tol": 1e-8, "max_projection_iter": 2000}
# Gaps in float32 end at about 1.5e-5 nats a pair, which is up to 1.8e-3 in the posteriors of 9 tokens (Pinsker).
TOLERANCE = 1e-3
EXACTLY = 5e-5  # with infinite coupling the gap is in the fractions themselves
LANGUAGES = {"words": (30, 20), "lengths": (20, 60)}


def views_of(vocabulary, n=14, **options):
    return of_vocabulary(paired(n, **LANGUAGES, **options), vocabulary)


def tokens(views):
    return sum(x.sum() for x in views)


def assert_climbs_to_the_end(model, views):
    """From the start of the fit to its last projection, which is more exact than that of `objective_`."""
    values = objectives_with_start(model, views)
    assert_climbs(np.append(values, model.objective(views)), tokens(views))


class TestAgainstTheReference:
    @pytest.mark.parametrize("n_sweeps", [1, 5, 30])
    @pytest.mark.parametrize(("coupling", "norm"), [(3, "l1"), (30, "l1"), (3, "l2"), (30, "l2"), (np.inf, "l1")])
    @pytest.mark.parametrize("vocabulary", VOCABULARIES)
    def test_after_so_many_sweeps(self, vocabulary, coupling, norm, n_sweeps):
        views = views_of(vocabulary)
        options = {"coupling": coupling, "norm": norm}
        model = make(CPLSA, vocabulary=vocabulary, max_iter=n_sweeps, **options, **EXACT).fit(views)
        theta, phi, history = expected_cplsa(views, vocabulary, n_sweeps, **options)
        assert_close(model, theta, phi, EXACTLY if coupling == np.inf else TOLERANCE)
        np.testing.assert_allclose(model.objective_, history, rtol=1e-5)
        assert_distributions(model)

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_tokens_that_are_sure_of_their_topics(self, norm):
        """Hardly any words: posteriors move all at once, from where their curvature says nothing of it."""
        first, second = np.zeros((6, 4)), np.zeros((6, 6))
        first[3, 2], first[5, 1] = 0.25, 17
        second[2, 0], second[4, 3], second[5, 2] = 0.25, 17, 17
        options = {"coupling": 5, "norm": norm}
        precise = {"projection_tol": 1e-7, "max_projection_iter": 2000}
        model = make(CPLSA, n_components=3, vocabulary="separate", max_iter=4, **options, **precise)
        model.fit([first, second])
        counts, blocks = reference.placed([first, second], "separate")
        theta, phi, history = reference.coupled_fit(tuple(counts), 3, 4, **PRIORS, **options, blocks=blocks)
        assert_close(model, theta, phi, TOLERANCE)
        np.testing.assert_allclose(model.objective_, history, rtol=1e-5)

    @pytest.mark.parametrize("n_topics", [2, 17, 100])
    def test_one_sweep_of_any_width(self, n_topics):
        """From the parameters after one sweep; topics of random words."""
        views = views_of("shared")
        options = {"n_components": n_topics, "coupling": 10, "init": "random", "random_state": 0, **EXACT}
        before, after = (make(CPLSA, max_iter=n, **options).fit(views) for n in (1, 2))
        theta = tuple(t.astype(np.float64) for t in before.doc_topics_)
        phi, counts = before.components_.astype(np.float64), tuple(dense(views))
        dual = reference.project(theta, phi, counts, 10)[0]
        theta, phi = reference.coupled_sweep(counts, theta, phi, **PRIORS, blocks=[0, phi.shape[1]], dual=dual)
        assert_close(after, theta, phi, TOLERANCE)


class TestWithoutCoupling:
    def test_shared_vocabulary_is_plsa_of_all_documents(self):
        views = views_of("shared", n=40)
        for n_sweeps in (1, 30):
            model = make(CPLSA, coupling=0, max_iter=n_sweeps).fit(views)
            plain = make(PLSA, max_iter=n_sweeps).fit(sp.vstack(views))
            np.testing.assert_allclose(model.components_, plain.components_, atol=1e-6)
            np.testing.assert_allclose(np.vstack(model.doc_topics_), plain.doc_topics_, atol=1e-5)
            np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-7)

    def test_separate_vocabularies_are_two_plsas(self):
        views = views_of("separate", n=40)
        model = make(CPLSA, vocabulary="separate", coupling=0, max_iter=30).fit(views)
        for i, (view, borders) in enumerate(zip(views, ((0, 30), (30, 50)), strict=True)):
            plain = make(PLSA, max_iter=30).fit(view)
            np.testing.assert_allclose(model.components_[:, slice(*borders)], plain.components_, atol=1e-6)
            np.testing.assert_allclose(model.doc_topics_[i], plain.doc_topics_, atol=1e-5)

    def test_a_small_coupling_is_nearly_none(self):
        views = views_of("shared", n=40)
        none, little = (make(CPLSA, coupling=c, max_iter=3, **EXACT).fit(views) for c in (0, 1e-3))
        assert 0 < np.abs(none.components_ - little.components_).max() < 1e-3


class TestExactAgreement:
    @pytest.mark.parametrize("vocabulary", VOCABULARIES)
    def test_equal_fractions(self, vocabulary):
        """Without a prior of documents theta is the expected fractions: both sides have the same."""
        views = views_of(vocabulary, n=40)
        model = make(CPLSA, vocabulary=vocabulary, coupling=np.inf, alpha=1, max_iter=10, projection_tol=1e-7).fit(
            views
        )
        coupled = [i for i in range(40) if i not in (1, 2, 4)]
        assert np.abs(model.doc_topics_[0] - model.doc_topics_[1])[coupled].max() < 1e-6
        assert model.gaps_.shape == (40,)
        assert model.gaps_.max() <= 1e-6

    def test_the_more_coupling_the_nearer(self):
        views, apart = views_of("shared", n=40), []
        for coupling in (0, 1, 10, 100):
            first, second = make(CPLSA, coupling=coupling, max_iter=20).fit(views).doc_topics_
            apart.append(np.abs(first - second).sum(axis=1)[5:].mean())
        assert (np.diff(apart) < 0).all()


class TestObjective:
    @pytest.mark.parametrize("coupling", [0, 3, 30, np.inf])
    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_is_the_regularised_one(self, norm, coupling):
        views = views_of("shared")
        model = make(CPLSA, coupling=coupling, norm=norm, **EXACT).fit(views)
        for value in (model.objective(views), model.objective_[-1]):
            assert value == pytest.approx(true_objective(model, views), rel=2e-6)

    @pytest.mark.parametrize("vocabulary", VOCABULARIES)
    @pytest.mark.parametrize(("coupling", "norm"), [(3, "l1"), (30, "l1"), (30, "l2"), (np.inf, "l1")])
    def test_never_falls(self, coupling, norm, vocabulary):
        """Neither as reported, nor at the parameters after each sweep, with the reference's projection."""
        views = views_of(vocabulary)
        options = {"vocabulary": vocabulary, "coupling": coupling, "norm": norm, **EXACT}
        assert_climbs_to_the_end(make(CPLSA, max_iter=40, **options), views)
        stopped = [make(CPLSA, max_iter=n, **options).fit(views) for n in (1, 2, 3, 4, 8, 16, 32)]
        assert_climbs(np.array([true_objective(m, views) for m in stopped]), tokens(views))

    @pytest.mark.parametrize("seed", [480, 1420, 1534, 1607, 1717, *range(20)])
    def test_never_falls_by_default(self, seed):
        """Documents of many words, all alike in length or nearly so, whose posteriors are sure of few topics:
        with projections that are less exact, some of these fits fall and stop after three sweeps."""
        rng = np.random.default_rng(seed)
        n_words, n_topics, n = (int(rng.integers(*bounds)) for bounds in ((3, 25), (2, 25), (1, 12)))
        views = [
            sp.csr_matrix(rng.poisson(rng.choice([0.1, 0.5, 3.0]), (n, n_words)) * rng.choice([1, 10, 100]))
            for _ in range(2)
        ]
        model = CPLSA(n_topics, init="frequency")
        assert_climbs_to_the_end(model, views)
        assert all(sweep["gap"] <= 3e-4 or sweep["unconverged"] for sweep in model.projection_)

    @pytest.mark.parametrize("fault", ["none", "sign", "half", "few steps", "other length"])
    def test_a_wrong_projection_is_seen(self, fault):
        """The check above can fail: from where the right sweeps end, wrong ones lead down."""
        counts = tuple(dense(views_of("shared")))
        options = {**PRIORS, "coupling": np.inf}

        def wrong(theta, phi, counts, coupling):
            if fault == "few steps":
                return reference.project(theta, phi, counts, coupling, max_iter=2)[0]
            dual = reference.project(theta, phi, counts, coupling)[0]
            longer = counts[1].sum(axis=1, keepdims=True) / np.maximum(1, counts[0].sum(axis=1, keepdims=True))
            return {"none": 0, "sign": -1, "half": 0.5, "other length": longer}[fault] * dual

        theta, phi, right = reference.coupled_fit(counts, 4, 60, **options)
        assert_climbs(np.array(right), tokens(counts))
        values = []
        for _ in range(2):
            values.append(reference.coupled_objective(counts, theta, phi, **options))
            dual = wrong(theta, phi, counts, np.inf)
            theta, phi = reference.coupled_sweep(counts, theta, phi, **PRIORS, blocks=[0, phi.shape[1]], dual=dual)
        with pytest.raises(AssertionError):
            assert_climbs(np.array(values), tokens(counts))


class TestProjectionReports:
    def test_records(self):
        views = views_of("shared", n=40)
        model = make(CPLSA, coupling=30, projection_tol=1e-6, max_projection_iter=2000).fit(views)
        assert len(model.projection_) == model.n_iter_ == 7
        assert model.gaps_.shape == (40,)
        assert (model.gaps_[[1, 2, 4]] == 0).all(), "a pair with an empty side has nothing to agree on"
        assert (model.gaps_ >= -1e-6 * 30).all(), "below zero by rounding only"
        assert [record["unconverged"] for record in model.projection_] == [0] * 7
        assert 0 < model.projection_[-1]["gap"] < 1e-3
        assert all(record["evaluations"] >= 37 for record in model.projection_), (
            "one for each coupled pair at least"
        )

    def test_warm_starts(self):
        """Pairs that hardly move between sweeps need fewer evaluations than from nothing."""
        views = views_of("shared", n=40)
        options = {"tol": 1e-6, "max_iter": 2000}
        model = make(CPLSA, coupling=30, max_iter=60, projection_tol=1e-6, max_projection_iter=2000).fit(views)
        phi = model.components_
        cold = project_posteriors(*model.doc_topics_, phi, phi, *views, 30.0, **options)[4]
        assert model.projection_[-1]["evaluations"] < 0.7 * np.abs(cold).sum()

    def test_not_converged(self):
        """One step is not enough: it is reported, and the gap tells."""
        views = views_of("shared", n=40)
        short = make(CPLSA, coupling=np.inf, max_iter=2, projection_tol=1e-7, max_projection_iter=1)
        told = r"^37 of 40 pairs did not reach projection_tol, in 3 of 3 rounds .* is 1\.0e\+00\. .*max_projection"
        with pytest.warns(ConvergenceWarning, match=told) as warnings:
            short.fit(views)
        assert len(warnings) == 1, "not one for each sweep"
        assert warnings[0].filename == __file__
        with pytest.warns(ConvergenceWarning, match="^37 of 40 pairs"):
            short.objective(views)
        whole = make(CPLSA, coupling=np.inf, max_iter=2, projection_tol=1e-7, max_projection_iter=2000).fit(views)
        assert short.gaps_.max() > 1e-3 > 1e-6 >= whole.gaps_.max()
        assert short.projection_[-1]["unconverged"] > 20


class TestFoldIn:
    @pytest.mark.parametrize("n_iter", [1, 10])
    @pytest.mark.parametrize("vocabulary", VOCABULARIES)
    def test_is_that_of_plsa(self, vocabulary, n_iter):
        views = views_of(vocabulary, n=40)
        model = make(CPLSA, vocabulary=vocabulary, coupling=10, fold_in_iter=n_iter).fit(views)
        starts = [0, 0] if vocabulary == "shared" else [0, 30]
        for i, (view, begin) in enumerate(zip(views, starts, strict=True)):
            phi = model.components_[:, begin : begin + view.shape[1]].astype(np.float64)
            found = model.transform(view) if vocabulary == "shared" else model.transform(view, view=i)
            np.testing.assert_allclose(found, reference.fold_in(dense(view), phi, 1.1, n_iter), atol=2e-6)

    def test_top_words_and_perplexity(self):
        views = views_of("shared", n=40)
        model = make(CPLSA, coupling=10).fit(views)
        phi = model.components_
        names = [f"w{i}" for i in range(phi.shape[1])]
        best = [words[0][0] for words in model.top_words(names, k=1)]
        assert best == [names[i] for i in phi.argmax(axis=1)]
        expected = reference.perplexity(dense(views[0]), phi.astype(np.float64), 1.1, 10)
        assert model.perplexity(views[0]) == pytest.approx(expected, rel=1e-5)


class TestWhatItIsFor:
    """Comparable documents of very different lengths: one theta explains the longer one."""

    def retrieval(self, model, views):
        return top1(*(model.transform(x[300:]) for x in views), metric="l1")

    def test_short_documents_beside_long_ones(self):
        rng = np.random.default_rng(0)
        theta = rng.dirichlet(np.full(8, 0.4), 400)
        lengths = (rng.integers(30, 60, 400), rng.integers(300, 900, 400))
        views = [
            drawn(theta, planted_topics(8, 80, seed=s), n, seed=s) for s, n in zip((1, 2), lengths, strict=True)
        ]
        views = merged(views)
        options = {"n_components": 8, "max_iter": 60, "init": "random"}
        found = {JPLSA: [], CPLSA: []}
        for seed in range(3):
            for cls, more in ((JPLSA, {}), (CPLSA, {"coupling": np.inf})):
                model = make(cls, random_state=seed, **options, **more).fit([x[:300] for x in views])
                found[cls].append(self.retrieval(model, views))
        assert np.mean(found[CPLSA]) > 0.3, "by chance: 0.01"
        assert np.mean(found[CPLSA]) > np.mean(found[JPLSA]) - 0.02


class TestCorners:
    @pytest.mark.parametrize("coupling", [10, np.inf])
    def test_pairs_with_an_empty_side(self, coupling):
        """Not coupled: the other side has what PLSA would give it; the empty one is uniform."""
        views = views_of("shared", n=40)
        model = make(CPLSA, coupling=coupling, max_iter=5).fit(views)
        first, second = model.doc_topics_
        np.testing.assert_allclose(first[[1, 4]], 0.25, rtol=1e-5)
        np.testing.assert_allclose(second[[2, 4]], 0.25, rtol=1e-5)
        assert first[2].max() > 0.3
        assert second[1].max() > 0.3

    def test_no_pair_is_coupled(self):
        views = merged(paired(corners=False))
        sides = [
            sp.vstack([views[0], sp.csr_matrix(views[0].shape)]),
            sp.vstack([sp.csr_matrix(views[1].shape), views[1]]),
        ]
        model = make(CPLSA, coupling=np.inf).fit(sides)
        _, phi, _ = expected_plsa(sp.vstack(views), 7)
        np.testing.assert_allclose(model.components_, phi, atol=2e-5)

    def test_more_topics_than_words(self):
        views = views_of("shared")
        model = make(CPLSA, n_components=60, coupling=10, max_iter=10)
        assert_climbs_to_the_end(model, views)
        assert_distributions(model)

    @pytest.mark.parametrize("coupling", [1e-30, 1e30, 1e300])
    def test_extreme_couplings(self, coupling):
        views = views_of("shared")
        model = make(CPLSA, coupling=coupling, max_iter=10).fit(views)
        assert_distributions(model)
        assert np.isfinite(model.objective_).all()

    def test_sides_that_share_no_topic(self):
        """Without priors: one side's topics are impossible for the other; nothing becomes NaN."""
        views = [
            sp.csr_matrix(np.kron(np.eye(2), np.ones((3, 4))) * 50),
            sp.csr_matrix(np.kron(np.eye(2)[::-1], np.ones((3, 4))) * 5),
        ]
        model = make(CPLSA, n_components=2, alpha=1, beta=1, coupling=np.inf, max_iter=50).fit(views)
        assert_distributions(model)
        assert np.isfinite(model.objective_).all()

    @pytest.mark.parametrize("projection_tol", [None, 0.5])
    def test_documents_beside_far_longer_ones(self, projection_tol):
        """1e-25 tokens, by which posteriors are divided twice, weigh nothing: all is as without a coupling."""
        views = [np.zeros((2, 6)), np.zeros((2, 6))]
        views[0][[0, 1], [5, 0]] = 1e-25
        views[1][0, [0, 2, 3, 5]] = 2e8, 1e15, 2e9, 5e9
        views[1][1, [2, 3, 4]] = 3e8, 1e15, 1e11
        options = {"n_components": 3, "alpha": 101, "beta": 1, "max_iter": 8, "projection_tol": projection_tol}
        coupled, apart = (make(CPLSA, coupling=coupling, **options) for coupling in (np.inf, 0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # no tilt in reach makes fractions equal
            for model in (coupled, apart):
                model.fit([sp.csr_matrix(view) for view in views])
        assert np.isfinite(coupled.multipliers_).all()
        np.testing.assert_allclose(coupled.objective_, apart.objective_, rtol=1e-3)
        np.testing.assert_allclose(coupled.doc_topics_[1], apart.doc_topics_[1], atol=1e-5)
        np.testing.assert_allclose(coupled.components_, apart.components_, atol=1e-5)
