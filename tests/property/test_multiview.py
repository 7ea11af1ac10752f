"""OPCA, CCA and DDA on random small views."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semproj import CCA, DDA, OPCA
from tests.reference.cca import cca
from tests.reference.opca import opca


def views(count, shape):
    return st.lists(arrays(np.float64, shape, elements=st.integers(0, 6)), min_size=count, max_size=count)


shapes = st.tuples(st.integers(2, 4), st.tuples(st.integers(2, 10), st.integers(1, 10)))
data = shapes.flatmap(lambda s: views(*s))
gammas = st.sampled_from([0.01, 0.1, 3.0])


@settings(max_examples=40, deadline=None)
@given(X=data, gamma=gammas, solver=st.sampled_from(["cholesky", "dual", "cg"]), draw=st.data())
def test_opca(X, gamma, solver, draw):
    """Any rank, ties included: eigenvalues are equal, components have v'Nv = 1 where there is a signal."""
    assume(all(x.any() for x in X))
    n, p = X[0].shape
    k = draw.draw(st.integers(1, min(len(X) * n, p)))
    expected = opca(X, k, gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # views that are equal
        model = OPCA(k, gamma=gamma, solver=solver, tol=1e-9, random_state=0).fit(X)
    scale = max(1.0, expected.eigenvalues[0])
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, atol=1e-7 * scale)
    signal = model.eigenvalues_ > 1e-6 * scale
    V = model.components_[signal]
    np.testing.assert_allclose(V @ expected.N @ V.T, np.eye(len(V)), atol=1e-5)
    np.testing.assert_allclose(V @ expected.S @ V.T, np.diag(model.eigenvalues_[signal]), atol=1e-5 * scale)


@settings(max_examples=40, deadline=None)
@given(X=data, gamma=gammas, draw=st.data())
def test_cca(X, gamma, draw):
    assume(all(x.any() for x in X))
    k = draw.draw(st.integers(1, min(X[0].shape)))
    expected = cca(X, k, gamma)
    model = CCA(k, gamma=gamma, solver="cholesky", tol=1e-9, random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues.clip(0), atol=1e-6)
    V = np.concatenate([view.components_ for view in model.views_], axis=1)
    signal = model.eigenvalues_ > 1e-4
    np.testing.assert_allclose((V @ expected.N @ V.T)[np.ix_(signal, signal)], np.eye(signal.sum()), atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(X=data, gamma=gammas, draw=st.data())
def test_dda(X, gamma, draw):
    """All directions passed on, in groups of any size: OPCA."""
    assume(all(x.any() for x in X))
    n, p = X[0].shape
    assume(p <= n)  # fewer documents than directions: see the tests of the model
    k, size = draw.draw(st.integers(1, p)), draw.draw(st.integers(1, p))
    expected = opca(X, k, gamma)
    model = DDA(k, gamma=gamma, group_size=size, group_components=size, tol=1e-9, random_state=0).fit(X)
    scale = max(1.0, expected.eigenvalues[0])
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues.clip(0), atol=1e-7 * scale)
