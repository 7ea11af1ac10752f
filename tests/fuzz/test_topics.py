"""Topic models on hostile counts and parameters: always distributions, and what the reference says of them."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj import CPLSA, JPLSA, PLSA
from semproj.kernels import project_posteriors
from tests.reference import plsa as reference
from tests.support.topics import dense, documents, harsh_pairs, objectives_with_start

SCALES = (1e-25, 1e-9, 1e-3, 1, 1, 1, 1e3, 1e12)
MINUS_ONE = (0, 1e-9, 0.01, 1, 100)  # priors, less one


def hostile_counts(rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    """Small and large, whole and not, with empty documents and words; at least one token."""
    counts = rng.poisson(rng.choice([0.1, 1, 5]), (n, width)).astype(np.float64)
    if rng.random() < 0.3:
        counts *= 10 ** rng.uniform(-4, 4, counts.shape)
    counts[rng.random(n) < 0.2] = 0
    counts[rng.integers(n), rng.integers(width)] += 1
    return counts * float(rng.choice(SCALES))


def hostile_model(rng: np.random.Generator, cls: type):
    options = {
        "n_components": int(rng.choice([1, 2, 3, 7, 40])),
        "alpha": 1 + float(rng.choice(MINUS_ONE)),
        "beta": 1 + float(rng.choice(MINUS_ONE)),
        "init": str(rng.choice(["frequency", "random"])),
        "random_state": 0,
        "max_iter": int(rng.integers(1, 6)),
        "tol": 0.0,
    }
    if cls is PLSA:
        options["tempering"] = float(rng.choice([0.1, 0.9, 1]))
    else:
        options["vocabulary"] = str(rng.choice(["shared", "separate"]))
    if cls is CPLSA:
        options["coupling"] = float(rng.choice([0, 1e-3, 1, 30, 1e4, np.inf]))
        options["norm"] = str(rng.choice(["l1", "l2"]))
    return cls(**options)


def assert_sums_to_one(rows: np.ndarray) -> None:
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=-1, dtype=np.float64), 1, atol=1e-6)


def fitted(rng: np.random.Generator, cls: type):
    n, width = int(rng.integers(1, 9)), int(rng.integers(1, 12))
    model = hostile_model(rng, cls)
    if cls is PLSA:
        X = sp.csr_matrix(hostile_counts(rng, n, width))
    else:
        widths = (width, width if model.vocabulary == "shared" else int(rng.integers(1, 12)))
        X = [sp.csr_matrix(hostile_counts(rng, n, w)) for w in widths]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model, X, objectives_with_start(model, X)


def lopsided(first: sp.csr_matrix, second: sp.csr_matrix) -> bool:
    """Whether a document has next to no tokens beside its translation."""
    sizes = np.sort(np.stack([np.asarray(x.sum(axis=1)).ravel() for x in (first, second)]), axis=0)
    return bool((sizes[0] < 1e-6 * sizes[1]).any())


def check_fit(rng: np.random.Generator, cls: type) -> None:
    """Distributions, an objective that does not fall, and the mixtures of new documents."""
    model, X, values = fitted(rng, cls)
    views = X if isinstance(X, list) else [X]
    for theta in documents(model):
        assert_sums_to_one(theta)
    for begin, end in zip(model.view_starts_, [*model.view_starts_[1:], model.n_features_in_], strict=True):
        assert_sums_to_one(model.components_[:, begin:end])
    assert np.isfinite(values).all()
    tokens = sum(float(x.sum()) for x in views)
    if not (isinstance(model, CPLSA) and any(each["unconverged"] for each in model.projection_)):
        # Parameters are rounded to float32, tokens and those of the priors alike.
        size = sum(theta.size for theta in documents(model)), model.components_.size
        tokens += (model.alpha - 1) * size[0] + (model.beta - 1) * size[1]
        allowed = 1e-6 * tokens + 1e-7 * np.abs(values).max()
        if isinstance(model, CPLSA):  # by default, projections leave so much
            allowed += 1e-5 * tokens if np.isinf(model.coupling) else 5e-7 * model.coupling * views[0].shape[0]
            if np.isinf(model.coupling) and lopsided(*views):  # all that fractions may differ by is on one side
                allowed += 3e-4 * tokens * 20
        assert (np.diff(values) >= -allowed).all(), (np.diff(values).min(), allowed)
    separate = getattr(model, "vocabulary", "shared") == "separate"
    for i, view in enumerate(views):
        which = {"view": i} if separate else {}
        begin = int(model.view_starts_[i]) if separate else 0
        phi = model.components_[:, begin : begin + view.shape[1]].astype(np.float64)
        theta = model.transform(view, **which)
        assert_sums_to_one(theta)
        likely = theta.astype(np.float64) @ phi >= 1e-29
        if likely[view.toarray() > 0].any():
            assert np.isfinite(model.perplexity(view, **which))
        # Tokens of next to no probability are left out by the kernels alone, from the first iteration on.
        likely &= phi.mean(axis=0) >= 1e-29
        same = (likely | (view.toarray() == 0)).all(axis=1)
        expected = reference.fold_in(dense(view), phi, model.alpha, 10)
        np.testing.assert_allclose(theta[same], expected[same], atol=1e-5)


def check_objective(rng: np.random.Generator, cls: type) -> None:
    """Of the fitted parameters, beside the reference's, which must not be zeros for a prior."""
    model, X, _ = fitted(rng, cls)
    theta, phi = documents(model)[0].astype(np.float64), model.components_.astype(np.float64)
    counts = dense(X) if cls is PLSA else sum(reference.placed(dense(X), model.vocabulary)[0])
    if (theta > 0).all() and (phi > 0).all():
        want = reference.objective(counts, theta, phi**model.tempering, model.alpha, model.beta)
        np.testing.assert_allclose(model.objective(X), want, rtol=2e-6, atol=1e-6 * counts.sum())


def test_plsa(fuzz):
    fuzz(lambda rng: check_fit(rng, PLSA), cases=60)


def test_jplsa(fuzz):
    fuzz(lambda rng: check_fit(rng, JPLSA), cases=60)


def test_cplsa(fuzz):
    fuzz(lambda rng: check_fit(rng, CPLSA), cases=80)


def test_objectives(fuzz):
    fuzz(lambda rng: check_objective(rng, PLSA if rng.random() < 0.5 else JPLSA), cases=60)


def check_projection(rng: np.random.Generator) -> None:
    """Every pair with a finite coupling is done, but for few that are told, and its gap is true, but for rounding
    lambda to float32."""
    theta, phi, counts, coupling = harsh_pairs(rng)
    norm = str(rng.choice(["l1", "l2"]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dual, *fractions, gap, evaluations = project_posteriors(
            *theta, *phi, *counts, coupling, norm=norm, tol=1e-7, max_iter=2000
        )
    assert [each.category for each in told] == [ConvergenceWarning] * bool((evaluations < 0).any())
    assert (evaluations < 0).sum() <= 1
    for i in range(len(dual)):
        pair = reference.HarshPair([t[i] for t in theta], phi, [n[i].toarray()[0] for n in counts])
        if pair.on_the_edge:
            continue
        if not pair.coupled:
            assert not dual[i].any()
            continue
        for side in fractions:
            assert_sums_to_one(side[i])
        if evaluations[i] < 0:
            continue
        allowed = 1e-7 * sum(pair.masses) + 5e-7 * coupling
        assert gap[i] <= allowed
        rounding = 6e-8 * np.abs(dual[i]).max() * sum(1 / n for n in pair.masses)
        true = pair.gap(dual[i].astype(np.float64), coupling, norm)
        assert true <= 2 * allowed + (1e-6 + 2 * rounding) * coupling


def test_project_posteriors(fuzz):
    fuzz(check_projection, cases=60)


def check_unreachable(rng: np.random.Generator) -> None:
    """An infinite coupling: done, with equal fractions, or said not to be."""
    theta, phi, counts, _ = harsh_pairs(rng)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dual, first, second, gap, evaluations = project_posteriors(*theta, *phi, *counts, np.inf)
    assert len(told) == (evaluations < 0).any()
    assert np.isfinite(dual).all()
    apart = np.abs(first.astype(np.float64) - second).max(axis=1)
    done = evaluations > 0
    coupled = dual.any(axis=1)
    assert (gap[done] <= 1e-6).all()
    np.testing.assert_allclose(gap[coupled], apart[coupled], atol=1e-6)


def test_infinite_coupling(fuzz):
    fuzz(check_unreachable, cases=60)
