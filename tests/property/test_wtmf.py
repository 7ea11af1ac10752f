"""WTMF and its row solver on random small matrices, found by hypothesis, against the dense reference."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from semproj import WTMF
from semproj.kernels import weighted_row_solve
from tests.reference import wtmf as reference
from tests.support import same_bits
from tests.support.factorizing import dense_objective, history, relative_error
from tests.support.solving import TOLERANCE, condition_numbers, expected_rows, row_errors

dtypes = st.sampled_from([np.float32, np.float64])
missing_weights = st.sampled_from([0.0, 1e-4, 0.01, 0.5, 1.0])
ridges = st.sampled_from([0.01, 1.0, 20.0])


@st.composite
def matrices(draw, *, rows=12, cols=25):
    """CSR with empty rows, indices in any order, zeros and negative numbers among the values."""
    n, m = draw(st.integers(1, rows)), draw(st.integers(1, cols))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(0, m), min_size=n, max_size=n))
    indices = np.concatenate([rng.permutation(m)[:length] for length in lengths])
    data = rng.integers(-12, 13, sum(lengths)).astype(draw(dtypes)) / 4
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_matrix((data, indices.astype(np.int32), indptr), shape=(n, m))


@settings(max_examples=150, deadline=None)
@given(
    X=matrices(),
    k=st.integers(1, 20),
    missing_weight=st.one_of(missing_weights, st.floats(0, 8)),
    reg=st.floats(1e-3, 30),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    threads=st.integers(1, 4),
)
def test_row_solve(X, k, missing_weight, reg, weighted, seed, threads):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((X.shape[1], k)).astype(X.dtype)
    weights = None
    if weighted:
        weights = X.copy()
        weights.data = (rng.integers(0, 9, X.nnz) / 2).astype(X.dtype)
    options = {"missing_weight": missing_weight, "reg": reg, "weights": weights}
    Z = weighted_row_solve(X, Y, n_threads=threads, **options)
    allowed = 1e-14 * condition_numbers(X, Y, **options)
    assert (row_errors(Z, expected_rows(X, Y, **options)) <= np.maximum(TOLERANCE[X.dtype.type], allowed)).all()
    row = seed % X.shape[0]
    one = None if weights is None else weights[[row]]
    alone = weighted_row_solve(X[[row]], Y, **{**options, "weights": one})
    assert same_bits(alone, Z[[row]])


@settings(max_examples=60, deadline=None)
@given(
    X=matrices(rows=15, cols=15),
    k=st.integers(1, 20),
    missing_weight=missing_weights,
    reg=ridges,
    orthogonality=st.sampled_from([0.0, 1e-3]),
    seed=st.integers(0, 2**64 - 1),
)
def test_wtmf(X, k, missing_weight, reg, orthogonality, seed):
    options = {"missing_weight": missing_weight, "reg": reg, "orthogonality": orthogonality}
    model = WTMF(k, max_iter=4, random_state=seed, **options)
    cells = X.toarray().astype(np.float64)
    if not cells.any():
        return
    seen = history(model, X)
    narrow = X.dtype == np.float32
    rel = 1e-5 if narrow else 1e-9
    total = (cells**2).sum()
    assert abs(model.objective_[-1] - dense_objective(model, X)) <= rel * total
    if not orthogonality:
        assert (np.diff(model.objective_) <= rel * total).all()
        # Sentences are the best for these words: zero vectors would have this objective.
        without_sentences = total + reg * float((model.components_.astype(np.float64) ** 2).sum())
        assert model.objective_[-1] <= without_sentences * (1 + rel)
    assert same_bits(model.transform(X), model.sentence_vectors_)
    assert not model.sentence_vectors_[~cells.any(axis=1)].any()
    assert not model.components_[:, ~cells.any(axis=0)].any()
    P, Q = reference.oriented(*reference.sweep(cells, seen[2][1].T.astype(np.float64), **options)[:2])
    if np.abs(P).max() > 1e-3:  # smaller ones are what is left of a random start that fades away
        assert relative_error(model.components_, P) < 1e3 * rel
        assert np.abs(model.sentence_vectors_ - Q.T).max() < 1e3 * rel * max(1, np.abs(Q).max())
