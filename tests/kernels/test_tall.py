"""The dense kernels behind the solvers, with the real BLAS; the random numbers against Philox in Python."""

from __future__ import annotations

import numpy as np
import pytest

from semproj import _core
from semproj._common.resources import single_threaded_blas
from tests.reference.philox import normals
from tests.support import same_bits


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (513, 7), (2000, 300)])
def test_products(shape, dtype):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((shape[0], shape[1] + 2)).astype(dtype)[:, :-2]
    B, C = rng.standard_normal((shape[0], 5)).astype(dtype), rng.standard_normal((shape[1], 4)).astype(dtype)
    tolerance = 1e-10 if dtype == np.float64 else 2e-2
    results = []
    with single_threaded_blas():
        for n_threads in (1, 2, 5):
            out = np.ones((shape[0], 4), dtype)
            _core.tall_multiply(A, C, 2.0, -1.0, out, n_threads)
            results.append((_core.tall_cross(A, B, n_threads), _core.tall_cross(A, A, n_threads), out))
    cross, gram, product = results[0]
    wide = A.astype(np.float64)
    np.testing.assert_allclose(cross, wide.T @ B, atol=tolerance)
    np.testing.assert_allclose(gram, wide.T @ wide, atol=tolerance)
    np.testing.assert_allclose(product, 2 * wide @ C - 1, atol=tolerance)
    for other in results[1:]:
        assert all(same_bits(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_single_row_of_any_stride(dtype):
    """The stride of the only row means nothing to NumPy, which may give it any."""
    rng = np.random.default_rng(1)
    a, C = rng.standard_normal((5, 1)).astype(dtype), rng.standard_normal((5, 4)).astype(dtype)
    row, out = a.T, np.empty((4, 1), dtype).T
    assert row.strides[0] < row.shape[1] * row.itemsize
    with single_threaded_blas():
        _core.tall_multiply(row, C, 1.0, 0.0, out, 1)
        gram = _core.tall_cross(row, row, 1)
    np.testing.assert_allclose(out, row @ C, rtol=1e-5)
    np.testing.assert_allclose(gram, a @ row, rtol=1e-6)


@pytest.mark.parametrize("cols", [1, 2, 7])
@pytest.mark.parametrize("key", [0, 2**64 - 1])
def test_normals(cols, key):
    out = np.empty((20, cols))
    _core.fill_normal(out, key, 3, 2)
    np.testing.assert_allclose(out, normals(20, cols, key, 3), rtol=1e-12)
    narrow = np.empty((20, cols), np.float32)
    _core.fill_normal(narrow, key, 3, 1)
    assert same_bits(narrow, out.astype(np.float32))


def test_wrong_shapes():
    A = np.zeros((5, 2))
    with pytest.raises(ValueError, match="b: expected as many rows"):
        _core.tall_cross(A, np.zeros((4, 2)), 1)
    with pytest.raises(ValueError, match="c: expected as many rows"):
        _core.tall_multiply(A, np.zeros((3, 2)), 1.0, 0.0, np.zeros((5, 2)), 1)
    with pytest.raises(ValueError, match="out: wrong shape"):
        _core.tall_multiply(A, np.zeros((2, 2)), 1.0, 0.0, np.zeros((5, 3)), 1)
    with pytest.raises(TypeError, match="b: unexpected dtype"):
        _core.tall_cross(A, A.astype(np.float32), 1)
    frozen = np.zeros((3, 3))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out: is read-only"):
        _core.fill_normal(frozen, 0, 0, 1)
