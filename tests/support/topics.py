"""What the tests of topic models share: documents with known topics, and comparisons with the dense reference."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from semproj import CPLSA, PLSA, _core
from tests.reference import plsa as reference
from tests.support import same_bits

PRIORS = {"alpha": 1.1, "beta": 1.01}


def planted_topics(n_topics: int, n_words: int, *, seed: int = 0) -> np.ndarray:
    """Distributions over words, topics x words: each topic has words of its own, and all share a few."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((n_topics, n_words))
    common = n_words // 10
    owner = rng.permutation(np.arange(n_words - common) % n_topics)
    weights[:, :common] = rng.uniform(0.5, 1.5, common)
    weights[owner, np.arange(common, n_words)] = rng.uniform(0.5, 3.0, n_words - common)
    return weights / weights.sum(axis=1, keepdims=True)


def drawn(theta: np.ndarray, phi: np.ndarray, lengths: np.ndarray, *, seed: int) -> sp.csr_matrix:
    """Counts of documents of these lengths."""
    rng = np.random.default_rng(seed)
    rows = [rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, theta @ phi, strict=True)]
    return sp.csr_matrix(np.array(rows, np.float32))


def corpus(
    n: int = 40, n_words: int = 30, *, topics: int = 4, length: int = 30, seed: int = 0, corners: bool = True
) -> sp.csr_matrix:
    """Counts of documents; unless without `corners`, document 1 is empty and words 3 and 17 do not occur."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(topics, 0.3), n)
    X = drawn(
        theta, planted_topics(topics, n_words, seed=seed), rng.integers(5, 2 * length, n), seed=seed
    ).toarray()
    if corners:
        X[1] = 0
        X[:, [3, 17]] = 0
    return sp.csr_matrix(X)


def paired(
    n: int = 40,
    words: tuple[int, ...] = (30, 30),
    *,
    topics: int = 4,
    lengths: tuple[int, ...] = (20, 60),
    seed: int = 0,
    corners: bool = True,
) -> list[sp.csr_matrix]:
    """Aligned documents of one topic mixture, with a vocabulary for each view.

    Unless without `corners`, pair 1 has an empty first side, pair 2 an empty last one, and pair 4 is empty.
    """
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(topics, 0.3), n)
    views = []
    for i, (n_words, length) in enumerate(zip(words, lengths, strict=True)):
        phi = planted_topics(topics, n_words, seed=seed + 100 * (i + 1))
        views.append(drawn(theta, phi, rng.integers(5, 2 * length, n), seed=seed + i).toarray())
    if corners:
        views[0][1] = views[-1][2] = 0
        for view in views:
            view[4] = 0
    return [sp.csr_matrix(view) for view in views]


def merged(views: list[sp.csr_matrix], overlap: int = 5) -> list[sp.csr_matrix]:
    """The views with one vocabulary: as many columns as the widest, moved apart but for some shared columns."""
    width = sum(view.shape[1] for view in views) - overlap * (len(views) - 1)
    out, begin = [], 0
    for view in views:
        wide = np.zeros((view.shape[0], width), np.float32)
        wide[:, begin : begin + view.shape[1]] = view.toarray()
        out.append(sp.csr_matrix(wide))
        begin += view.shape[1] - overlap
    return out


def of_vocabulary(views: list[sp.csr_matrix], vocabulary: str) -> list[sp.csr_matrix]:
    return merged(views) if vocabulary == "shared" else views


def sharp_rows(rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    """Distributions of all kinds: with zeros, with parts of 1e-30, over thirty orders of magnitude."""
    rows = rng.dirichlet(np.full(width, rng.choice([0.02, 0.1, 1.0, 5.0])), n)
    chosen, kind = rng.random((n, width)) < 0.4, rng.integers(5)
    if kind in (1, 2):
        rows[chosen] = 0 if kind == 1 else 1e-30
    elif kind == 3:
        rows = np.where(chosen, 10 ** rng.uniform(-30, 0, rows.shape), rows)
    elif kind == 4:
        rows += 1e-6
    rows[rows.sum(axis=1) <= 0] = 1
    return (rows / rows.sum(axis=1, keepdims=True)).astype(np.float32)


def harsh_counts(rng: np.random.Generator, n: int, width: int) -> sp.csr_matrix:
    """Weights of tokens from a thousandth to a thousand, and empty documents."""
    counts = (
        10 ** rng.uniform(-3, 3, (n, width)) if rng.random() < 0.5 else rng.choice([0.25, 1, 17, 300], (n, width))
    )
    return sp.csr_matrix((counts * (rng.random((n, width)) < rng.choice([0.2, 0.5, 1]))).astype(np.float32))


def harsh_pairs(rng: np.random.Generator, n: int = 8, most_topics: int = 60) -> tuple[Any, Any, Any, float]:
    """Mixtures, topics and counts of both sides of pairs, and a coupling of 1e-3 to 1e4."""
    n_topics = int(rng.choice([t for t in (1, 2, 3, 5, 8, 20, 60) if t <= most_topics]))
    widths = [int(rng.integers(1, 12)) for _ in range(2)]
    theta = [sharp_rows(rng, n, n_topics) for _ in widths]
    phi = [sharp_rows(rng, n_topics, width) for width in widths]
    return theta, phi, [harsh_counts(rng, n, width) for width in widths], float(10 ** rng.uniform(-3, 4))


def make(cls: type = PLSA, **changes: Any) -> Any:
    """A small model that runs all its sweeps from the papers' start, with these parameters changed."""
    options = {"n_components": 4, "max_iter": 7, "tol": 0.0, "fold_in_iter": 10, "init": "frequency", **PRIORS}
    if cls is PLSA:
        options["tempering"] = 1.0
    return cls(**{**options, **changes})


def data_of(cls: type, **options: Any) -> Any:
    """What this class is fitted on."""
    return corpus(**options) if cls is PLSA else merged(paired(**options))


def dense(X: Any) -> Any:
    """float64 arrays of a matrix, or of each of a list."""
    return [dense(x) for x in X] if isinstance(X, list) else X.toarray().astype(np.float64)


def documents(model: Any) -> list[np.ndarray]:
    """Topic mixtures of the fitted documents: one array, or one for each side."""
    return list(model.doc_topics_) if isinstance(model, CPLSA) else [model.doc_topics_]


def assert_same_fit(a: Any, b: Any) -> None:
    for first, second in zip(documents(a), documents(b), strict=True):
        assert same_bits(first, second)
    assert same_bits(np.ascontiguousarray(a.word_topics_), np.ascontiguousarray(b.word_topics_))
    assert same_bits(a.objective_, b.objective_)
    assert a.n_iter_ == b.n_iter_


def assert_distributions(model: Any) -> None:
    """Everything sums to one, and nothing is negative."""
    borders = [*getattr(model, "view_starts_", [0]), model.word_topics_.shape[0]]
    for begin, end in itertools.pairwise(borders):
        block = model.word_topics_[begin:end].astype(np.float64)
        assert (block >= 0).all()
        np.testing.assert_allclose(block.sum(axis=0), 1, rtol=2e-5)
    for theta in documents(model):
        assert (theta >= 0).all()
        np.testing.assert_allclose(theta.astype(np.float64).sum(axis=1), 1, rtol=2e-5)


def assert_close(model: Any, theta: Any, phi: np.ndarray, tolerance: float) -> None:
    """Parameters equal to the reference's, as parts of the largest probability of a document or topic."""
    for ours, expected in zip(documents(model), theta if isinstance(theta, tuple) else [theta], strict=True):
        assert (np.abs(ours - expected).max(axis=1) <= tolerance * expected.max(axis=1)).all()
    error = np.abs(model.components_ - phi).max(axis=1)
    assert (error <= tolerance * phi.max(axis=1)).all(), error.max()


def assert_climbs(values: np.ndarray, tokens: float) -> None:
    """Never falls by more than float32 parameters may lose: half a unit in the last place of a token's log."""
    assert (np.diff(values) >= -1e-6 * tokens).all(), np.diff(values).min() / tokens
    assert values[-1] > values[0]


def objectives_with_start(model: Any, X: Any) -> np.ndarray:
    """Fit, and return the objective before the first sweep, which only the kernel tells, and after each."""
    name = "cplsa_sweep" if isinstance(model, CPLSA) else "plsa_sweep"
    kernel, results = getattr(_core, name), []

    def noted(*arguments):
        results.append(kernel(*arguments))
        return results[-1]

    with mock.patch.object(_core, name, noted):
        model.fit(X)
    return np.array([results[0].log_likelihood + results[0].log_prior, *model.objective_])


def matched_distance(phi: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """L1 distance of each planted topic from the topic that goes with it, in the best matching."""
    distances = np.abs(truth[:, None, :] - phi[None, :, :]).sum(axis=2)
    rows, columns = linear_sum_assignment(distances)
    return distances[rows, columns]


def expected_plsa(X: Any, n_sweeps: int, n_topics: int = 4, **priors: float):
    return reference.fit(dense(X), n_topics, n_sweeps, **{**PRIORS, **priors})


def expected_jplsa(views: Any, vocabulary: str, n_sweeps: int, n_topics: int = 4, **priors: float):
    wide, blocks = reference.placed(dense(views), vocabulary)
    return reference.fit(sum(wide), n_topics, n_sweeps, blocks=blocks, **{**PRIORS, **priors})


def expected_cplsa(views: Any, vocabulary: str, n_sweeps: int, n_topics: int = 4, **options: Any):
    wide, blocks = reference.placed(dense(views), vocabulary)
    return reference.coupled_fit(tuple(wide), n_topics, n_sweeps, blocks=blocks, **{**PRIORS, **options})


def true_objective(model: Any, X: Any) -> float:
    """By the reference, at the fitted parameters; for CPLSA with an exact projection."""
    phi, priors = model.components_.astype(np.float64), (model.alpha, model.beta)
    theta = [t.astype(np.float64) for t in documents(model)]
    if isinstance(model, PLSA):
        return reference.objective(dense(X), theta[0], phi, *priors)
    wide, _ = reference.placed(dense(X), model.vocabulary)
    if isinstance(model, CPLSA):
        return reference.coupled_objective(tuple(wide), tuple(theta), phi, *priors, model.coupling, model.norm)
    return reference.objective(sum(wide), theta[0], phi, *priors)
