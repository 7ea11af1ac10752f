"""Weightings and LSA on random small counts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semproj import BM25, LSA, LogTfIdf, TfIdf
from tests.reference import weighting as reference

counts = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.int32, shape, elements=st.integers(0, 6))
)


@settings(max_examples=100, deadline=None)
@given(F=counts)
def test_weightings(F):
    for weighting, formula in (
        (LogTfIdf(), reference.log_tfidf),
        (TfIdf(), reference.tfidf),
        (BM25(), reference.bm25),
    ):
        if weighting.__class__ is BM25 and not F.any():
            continue
        W = weighting.fit_transform(sp.csr_matrix(F.astype(np.float64)))
        np.testing.assert_allclose(W.toarray(), formula(F, F), rtol=1e-12, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(F=counts, center=st.booleans(), data=st.data())
def test_lsa(F, center, data):
    """Any rank, ties included: what is unique must be equal, the rest orthonormal."""
    k = data.draw(st.integers(1, min(F.shape)))
    X = F.astype(np.float64)
    model = LSA(k, center=center, random_state=0).fit(X)
    values = np.linalg.svd(X - X.mean(axis=0) if center else X, compute_uv=False)[:k]
    scale = max(1.0, values.max(initial=0))
    np.testing.assert_allclose(model.singular_values_, values, atol=2e-7 * scale)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-9)
    Z = model.transform(X)
    np.testing.assert_allclose((Z**2).sum(), (values**2).sum(), atol=1e-6 * scale**2)
    if k == min(F.shape) and not center:
        np.testing.assert_allclose(model.inverse_transform(Z), X, atol=1e-6 * scale)
