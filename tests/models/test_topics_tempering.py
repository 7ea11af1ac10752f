"""PLSA whose words are tempered in the E step, and the prior that it has by default."""

from __future__ import annotations

import numpy as np
import pytest

import semproj as sj
from semproj import PLSA
from tests.models.test_topics_starts import planted
from tests.reference import plsa as reference
from tests.support import same_bits
from tests.support.topics import assert_close, assert_distributions, corpus, dense, make

POWERS = [0.3, 0.9, 1.0]


@pytest.mark.parametrize("power", POWERS)
def test_a_sweep_is_that_of_the_reference_by_tempered_words(power):
    X = corpus()
    before, after = (make(tempering=power, max_iter=n).fit(X) for n in (2, 3))
    theta, phi = before.doc_topics_.astype(np.float64), before.components_.astype(np.float64)
    theta, phi = reference.sweep(dense(X), theta, phi**power, 1.1, 1.01, [0, 30])
    assert_close(after, theta, phi, 3e-6)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (1.1, 1.01), (4, 3)])
@pytest.mark.parametrize("power", POWERS)
def test_the_objective_is_what_is_maximised(power, alpha, beta):
    X = corpus()
    model = make(tempering=power, alpha=alpha, beta=beta, max_iter=40).fit(X)
    assert (np.diff(model.objective_) >= -1e-6 * np.abs(model.objective_[1:])).all()
    theta, phi = model.doc_topics_.astype(np.float64), model.components_.astype(np.float64)
    expected = reference.objective(dense(X), theta, phi**power, alpha, beta)
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-5)
    assert model.objective(X) == model.objective_[-1]
    assert_distributions(model)


def test_looking_at_the_objective_leaves_the_words():
    """A callback looks between sweeps, and a checkpoint keeps the words that are not tempered."""
    X = corpus()
    seen = []
    looked = make(tempering=0.8, callback=lambda progress: seen.append(progress.model.word_topics_)).fit(X)
    plain = make(tempering=0.8).fit(X)
    assert same_bits(looked.word_topics_, plain.word_topics_)
    assert same_bits(seen[-1], plain.word_topics_)
    assert same_bits(make(tempering=0.8, n_threads=3).fit(X).word_topics_, plain.word_topics_)


def test_checkpoints_know_it(tmp_path):
    X = corpus()
    make(tempering=0.8, max_iter=3, checkpoint=tmp_path / "state").fit(X)
    went_on = make(tempering=0.8, max_iter=7, checkpoint=tmp_path / "state").fit(X)
    assert same_bits(went_on.word_topics_, make(tempering=0.8).fit(X).word_topics_)
    with pytest.raises(ValueError, match="tempering"):
        make(tempering=0.7, checkpoint=tmp_path / "state").fit(X)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (1.01, ValueError), (np.nan, ValueError), ("1", TypeError)]
)
def test_bad_values(value, error):
    with pytest.raises(error, match="tempering"):
        make(tempering=value).fit(corpus())


@pytest.mark.parametrize(("n_topics", "alpha"), [(4, 1.1), (50, 1.1), (100, 1.05), (400, 1.0125)])
def test_the_prior_of_all_topics_is_five_tokens_at_most(n_topics, alpha):
    X = corpus()
    options = {"max_iter": 3, "tol": 0, "init": "random", "random_state": 0}
    by_default, given = (PLSA(n_topics, alpha=a, **options).fit(X) for a in (None, alpha))
    assert same_bits(by_default.word_topics_, given.word_topics_)
    assert same_bits(by_default.transform(X), given.transform(X))


@pytest.mark.parametrize("seed", range(2))
def test_short_documents_and_many_topics_are_not_fitted_word_by_word(seed):
    """More topics than there are, of short documents: by default new documents are predicted better."""
    X = planted(seed, n=1500, length=20)[1]
    plain = PLSA(80, alpha=1.1, tempering=1, tol=1e-3, random_state=seed).fit(X[:1000])
    by_default = PLSA(80, random_state=seed).fit(X[:1000])
    assert by_default.perplexity(X[1000:]) < 0.95 * plain.perplexity(X[1000:])


def test_saved_models_keep_both(tmp_path):
    X = corpus()
    model = PLSA(60, tempering=0.8, max_iter=2, random_state=0).fit(X)
    model.save(tmp_path / "model")
    loaded = sj.load(tmp_path / "model")
    assert (loaded.alpha, loaded.tempering) == (None, 0.8)
    assert same_bits(loaded.transform(X), model.transform(X))
