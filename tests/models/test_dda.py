"""DDA against its dense reference and OPCA."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj import DDA, OPCA
from tests.reference.dda import dda
from tests.reference.opca import opca, residuals
from tests.support import planted_low_rank, same_bits
from tests.support.multiview import aligned_documents, dense

K = 5
# (documents, terms, languages, group_size, group_components)
CASES = [
    (60, 40, 2, 20, 8),
    (60, 41, 3, 14, 6),
    (50, 60, 4, 9, 5),
    (40, 90, 2, 45, 12),
    (330, 600, 2, 300, 9),
    (300, 620, 2, 10, 5),  # the second stage too is solved by iteration
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_equal_to_reference(case, dtype):
    n, p, languages, group_size, group_components = case
    views = aligned_documents(n, p, languages)
    tight = 1e-9 if dtype == np.float64 else 1e-4
    model = DDA(K, group_size=group_size, group_components=group_components, tol=tight, random_state=0)
    model.fit([x.astype(dtype) for x in views])
    expected = dda(dense(views), K, 0.1, model.groups_, group_components)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=tight)
    size = np.abs(expected.components).max()
    np.testing.assert_allclose(model.components_, expected.components, atol=100 * tight * size)  # signs too
    V = model.components_.astype(np.float64)
    np.testing.assert_allclose(V @ expected.N @ V.T, np.eye(K), atol=10 * tight)
    np.testing.assert_allclose(
        np.diag(V @ expected.S @ V.T), model.eigenvalues_, rtol=100 * tight
    )  # Rayleigh quotients of the whole problem
    assert model.components_.dtype == model.eigenvalues_.dtype == dtype
    sizes = np.bincount(model.groups_)
    assert len(sizes) == -(-p // group_size)
    assert sizes.max() <= group_size
    assert sizes.max() - sizes.min() <= len(sizes)


@pytest.mark.parametrize("gamma", [0.01, 5.0])
def test_gamma(gamma):
    views = aligned_documents(60, 40)
    model = DDA(K, gamma=gamma, group_size=20, group_components=8, tol=1e-9, random_state=0).fit(views)
    expected = dda(dense(views), K, gamma, model.groups_, 8)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(model.components_, expected.components, atol=1e-6)


@pytest.mark.parametrize("group_size", [40, 20, 3])
def test_all_directions_are_opca(group_size):
    """With every direction passed on, the span is everything."""
    views = aligned_documents(60, 40)
    expected = opca(dense(views), K, 0.1)
    model = DDA(K, group_size=group_size, group_components=group_size, tol=1e-9, random_state=0).fit(views)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(model.components_, expected.components, atol=1e-7)


def test_one_group_is_opca():
    views = aligned_documents(300, 280)
    model, whole = DDA(K, random_state=0).fit(views), OPCA(K, random_state=0).fit(views)
    assert not model.groups_.any()
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=5e-3)


def test_never_above_opca():
    views = aligned_documents(60, 40)
    whole = opca(dense(views), K, 0.1)
    for size in (1, 7, 20):
        model = DDA(K, group_size=size, random_state=0).fit(views)
        assert (model.eigenvalues_ <= whole.eigenvalues * (1 + 1e-9)).all()
        assert model.eigenvalues_[0] > 0.3 * whole.eigenvalues[0]
    assert residuals(whole, model.components_, model.eigenvalues_).max() < 1


def test_more_documents_than_a_chunk():
    """Documents go through the second stage 512 at a time."""
    views = aligned_documents(1100, 24)
    model = DDA(K, group_size=8, group_components=4, tol=1e-9, random_state=0).fit(views)
    expected = dda(dense(views), K, 0.1, model.groups_, 4)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues, rtol=1e-9)


def test_too_few_directions():
    views = aligned_documents(60, 40)
    with pytest.raises(ValueError, match="n_components: 5 are more than the 4 directions of the first stage"):
        DDA(5, group_size=20, group_components=2).fit(views)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 80), (330, 620)])
def test_more_components_than_rank(shape, dtype):
    views = [planted_low_rank(*shape, 3, seed=seed, dtype=dtype) for seed in (0, 1)]
    model = DDA(10, group_size=shape[1] // 2, random_state=0).fit(views)
    expected = opca(dense(views), 5, 0.1)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.eigenvalues_[:5], expected.eigenvalues, rtol=1e-2)
    # In float32 the reduced problem has rounding at this level where the groups' directions overlap.
    rounding = 1e-9 if dtype == np.float64 else 2e-2
    assert (model.eigenvalues_[6:] <= rounding * model.eigenvalues_[0]).all()


def test_fewer_documents_than_directions():
    """Groups of many terms and few documents have fewer directions with a signal than they are asked for."""
    views = aligned_documents(10, 90)
    model = DDA(20, group_size=45, random_state=0).fit(views)
    whole = opca(dense(views), 20, 0.1)
    assert np.isfinite(model.components_).all()
    assert (model.eigenvalues_ <= whole.eigenvalues.clip(0) + 1e-9).all()


def test_convergence_warning():
    """Of the first stage as of the second."""
    views = [sp.random(320, 620, 0.05, format="csr", random_state=seed) for seed in (0, 1)]
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        DDA(10, group_size=310, tol=1e-14, max_iter=1, random_state=0).fit(views)


def test_seeds():
    views = [sp.random(320, 620, 0.05, format="csr", random_state=seed) for seed in (0, 1)]
    a, b, c = (DDA(K, group_size=310, random_state=seed).fit(views).components_ for seed in (1, 1, 2))
    assert same_bits(a, b)
    assert not same_bits(a, c)
    DDA(K, group_size=310, random_state=2**64 - 1).fit(views)


def test_translations_share_a_group():
    """Words of two invented languages that always translate each other: most pairs are in one group."""
    rng = np.random.default_rng(0)
    topics = rng.integers(10, size=600)
    first = (rng.random((600, 100)) < np.where(np.arange(100) % 10 == topics[:, None], 0.4, 0.02)).astype(float)
    empty = np.zeros_like(first)
    views = [np.concatenate([first, empty], axis=1), np.concatenate([empty, first], axis=1)]
    groups = DDA(4, group_size=100, random_state=0).fit(views).groups_
    assert np.mean(groups[:100] == groups[100:]) > 0.9
