"""New rows of a fitted Tucker model: the least squares of their entries."""

from __future__ import annotations

import numpy as np
import pytest

from semproj import SparseTensor, Tucker
from tests.reference.tucker import multiply
from tests.support.tensors import planted, sparse

CASES = [((50, 40, 4), (5, 6, 4)), ((15, 14, 13, 12), (3, 2, 4, 3)), ((20, 5, 18), (4, 5, 3)), ((30, 25), (4, 4))]


def compressed_modes(model):
    return [j for j, (rank, size) in enumerate(zip(model.core_.shape, model.shape_, strict=True)) if rank < size]


def new_rows(shape, mode, n, seed):
    """A tensor of new indices, of which the last has no entries."""
    rng = np.random.default_rng(seed)
    shape = tuple(n if j == mode else size for j, size in enumerate(shape))
    dense = np.where(rng.random(shape) < 0.2, rng.standard_normal(shape), 0.0)
    np.moveaxis(dense, mode, 0)[-1] = 0
    return dense


@pytest.mark.parametrize(("shape", "ranks"), CASES)
def test_least_squares(shape, ranks):
    model = Tucker(ranks, max_iter=3, random_state=0).fit(sparse(planted(shape, ranks, noise=0.3)))
    for mode in compressed_modes(model):
        dense = new_rows(shape, mode, 6, seed=mode)
        rows = model.fold_in(sparse(dense), mode)
        # All cells of an index are u times the core with the other factors.
        others = [np.eye(ranks[mode]) if j == mode else factor for j, factor in enumerate(model.factors_)]
        design = np.moveaxis(multiply(model.core_, others), mode, 0).reshape(ranks[mode], -1)
        expected = np.linalg.lstsq(design.T, np.moveaxis(dense, mode, 0).reshape(6, -1).T, rcond=None)[0].T
        np.testing.assert_allclose(rows, expected, atol=1e-10 * np.abs(expected).max())
        assert not rows[-1].any()


@pytest.mark.parametrize(("shape", "ranks"), CASES)
def test_rows_of_the_fit(shape, ranks):
    tensor = sparse(planted(shape, ranks, noise=0.3))
    model = Tucker(ranks, tol=1e-14, max_iter=500, random_state=0).fit(tensor)
    for mode in compressed_modes(model):
        np.testing.assert_allclose(model.fold_in(tensor, mode), model.factors_[mode], atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_core_of_lower_rank(dtype):
    """Where the core has only rounding, new rows have no noise from it, and are the shortest solution."""
    tensor = planted((30, 25, 20), (2, 2, 2))
    model = Tucker((4, 4, 4), random_state=0).fit(sparse(tensor, dtype))
    exact = Tucker((2, 2, 2), random_state=0).fit(sparse(tensor))
    rounding = np.finfo(dtype).eps
    for mode in range(3):
        noisy = tensor + 1e-2 * new_rows(tensor.shape, mode, tensor.shape[mode], seed=mode)
        rows, few = model.fold_in(sparse(noisy, dtype), mode), exact.fold_in(sparse(noisy), mode)
        assert rows.dtype == dtype
        np.testing.assert_allclose(np.abs(rows[:, :2]), np.abs(few), atol=100 * rounding)
        assert np.abs(rows[:, 2:]).max() < 100 * rounding


@pytest.mark.parametrize(("shape", "ranks"), CASES)
def test_no_entries(shape, ranks):
    model = Tucker(ranks, max_iter=3, random_state=0).fit(sparse(planted(shape, ranks, noise=0.3)))
    for mode in compressed_modes(model):
        sizes = tuple(3 if j == mode else size for j, size in enumerate(shape))
        rows = model.fold_in(SparseTensor(np.empty((len(shape), 0), np.int64), np.empty(0), sizes), mode)
        assert rows.shape == (3, ranks[mode])
        assert not rows.any()


@pytest.mark.parametrize(("dtype", "huge"), [(np.float32, 1e38), (np.float64, 1e308)])
def test_values_too_large(dtype, huge):
    tensor = 1e-3 * planted((30, 20, 3), (4, 4, 3), noise=0.3)
    model = Tucker((4, 4, 3), random_state=0).fit(sparse(tensor, dtype))
    with pytest.raises(ValueError, match=f"tensor: its values are too large for rows of {np.dtype(dtype)}"):
        model.fold_in(sparse(np.full((2, 20, 3), huge), dtype))


def test_dtype_and_slices():
    tensor = planted((30, 20, 3), (4, 4, 3), noise=0.3).astype(np.float32)
    slices = [tensor[:, :, k] for k in range(3)]
    model = Tucker((4, 4, 3), random_state=0).fit(slices)
    rows = model.fold_in([each[:5] for each in slices])
    assert rows.dtype == np.float32
    assert rows.shape == (5, 4)


def test_bad_input():
    tensor = planted((30, 20, 3), (4, 4, 3), noise=0.3)
    model = Tucker((4, 4, 3), random_state=0).fit(sparse(tensor))
    with pytest.raises(ValueError, match="mode: 2 is not compressed"):
        model.fold_in(sparse(tensor), 2)
    with pytest.raises(ValueError, match="mode: expected"):
        model.fold_in(sparse(tensor), 3)
    with pytest.raises(ValueError, match=r"tensor: expected shape \(30, 20, 3\), got \(30, 19, 3\)"):
        model.fold_in(sparse(tensor[:, :19]))
    with pytest.raises(ValueError, match="tensor: expected shape"):
        model.fold_in(SparseTensor([[0], [0]], [1.0], (30, 20)))
