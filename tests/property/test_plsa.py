"""Topic models on random small counts, found by hypothesis, against the dense reference."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from semproj import CPLSA, JPLSA, PLSA
from tests.reference import plsa as reference
from tests.support import same_bits
from tests.support.topics import assert_distributions, dense, make, objectives_with_start, true_objective

priors = st.sampled_from([1.0, 1.01, 1.1, 3.0])


@st.composite
def counts(draw, *, rows=None, cols=None):
    """CSR with empty rows and columns, indices in any order, weights that are not integers."""
    n = draw(st.integers(1, 10)) if rows is None else rows
    m = draw(st.integers(1, 20)) if cols is None else cols
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(0, m), min_size=n, max_size=n))
    indices = np.concatenate([rng.permutation(m)[:length] for length in lengths])
    data = rng.choice([0.25, 1, 1, 2, 3, 17], sum(lengths)).astype(np.float32)
    return sp.csr_matrix((data, indices.astype(np.int32), np.concatenate([[0], np.cumsum(lengths)])), shape=(n, m))


@st.composite
def pairs(draw, vocabulary):
    n, m = draw(st.integers(1, 8)), draw(st.integers(1, 15))
    other = m if vocabulary == "shared" else draw(st.integers(1, 15))
    return [draw(counts(rows=n, cols=m)), draw(counts(rows=n, cols=other))]


def same_direction(found, expected, tolerance):
    assert np.abs(found - expected).max(initial=0) <= tolerance


@settings(max_examples=150, deadline=None)
@given(
    X=counts(),
    k=st.integers(1, 20),
    alpha=priors,
    beta=priors,
    init=st.sampled_from(["frequency", "random"]),
    seed=st.integers(0, 2**64 - 1),
    threads=st.integers(1, 4),
)
def test_plsa(X, k, alpha, beta, init, seed, threads):
    if not X.nnz:
        return
    options = {"n_components": k, "alpha": alpha, "beta": beta, "init": init, "random_state": seed}
    before = make(PLSA, max_iter=3, n_threads=threads, **options).fit(X)
    after = make(PLSA, max_iter=4, **options)
    values = objectives_with_start(after, X)
    assert values[-1] == after.objective(X)
    assert_distributions(after)
    assert (np.diff(values) >= -2e-6 * X.sum() - 1e-7 * np.abs(values[1:])).all()
    theta, phi = before.doc_topics_.astype(np.float64), before.components_.astype(np.float64)
    theta, phi = reference.sweep(dense(X), theta, phi, alpha, beta, [0, X.shape[1]])
    same_direction(after.doc_topics_, theta, 1e-5)
    if beta > 1:
        same_direction(after.components_, phi, 1e-5)
        assert abs(after.objective(X) - true_objective(after, X)) <= 1e-5 * abs(after.objective(X)) + 1e-5
    expected = reference.fold_in(dense(X), after.components_.astype(np.float64), alpha, 10)
    same_direction(after.transform(X), expected, 2e-5)
    row = seed % X.shape[0]
    assert same_bits(after.transform(X[[row]]), after.transform(X)[[row]])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), k=st.integers(1, 12), vocabulary=st.sampled_from(["shared", "separate"]))
def test_jplsa(data, k, vocabulary):
    views = data.draw(pairs(vocabulary))
    if not all(x.nnz for x in views):
        return
    before, after = (make(JPLSA, n_components=k, vocabulary=vocabulary, max_iter=n).fit(views) for n in (3, 4))
    assert_distributions(after)
    wide, blocks = reference.placed(dense(views), vocabulary)
    theta, phi = before.doc_topics_.astype(np.float64), before.components_.astype(np.float64)
    theta, phi = reference.sweep(sum(wide), theta, phi, 1.1, 1.01, blocks)
    same_direction(after.doc_topics_, theta, 1e-5)
    same_direction(after.components_, phi, 1e-5)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    k=st.integers(1, 12),
    vocabulary=st.sampled_from(["shared", "separate"]),
    coupling=st.sampled_from([0.0, 0.3, 5.0, 100.0, np.inf]),
    norm=st.sampled_from(["l1", "l2"]),
)
def test_cplsa(data, k, vocabulary, coupling, norm):
    views = data.draw(pairs(vocabulary))
    if not all(x.nnz for x in views):
        return
    options = {"n_components": k, "vocabulary": vocabulary, "coupling": coupling, "norm": norm}
    options |= {"projection_tol": 1e-7, "max_projection_iter": 2000}
    before, after = make(CPLSA, max_iter=3, **options).fit(views), make(CPLSA, max_iter=4, **options)
    values = np.append(objectives_with_start(after, views), after.objective(views))
    assert_distributions(after)
    wide, blocks = reference.placed(dense(views), vocabulary)
    theta = tuple(t.astype(np.float64) for t in before.doc_topics_)
    phi = before.components_.astype(np.float64)
    dual = reference.project(theta, phi, tuple(wide), coupling, norm)[0]
    (first, second), phi = reference.coupled_sweep(tuple(wide), theta, phi, 1.1, 1.01, blocks, dual)
    same_direction(after.doc_topics_[0], first, 1e-3)
    same_direction(after.doc_topics_[1], second, 1e-3)
    same_direction(after.components_, phi, 1e-3)
    tokens = sum(x.sum() for x in views)
    assert (np.diff(values) >= -1e-5 * tokens - 1e-7 * np.abs(values[1:])).all()
