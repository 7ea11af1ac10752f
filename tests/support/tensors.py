"""Tensors, and the model of them, that the Tucker tests share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from semproj import SparseTensor, Tucker
from tests.reference.tucker import reconstruct


def model_of(ranks: Sequence[int], **parameters: Any) -> Tucker:
    """Run until nothing changes, unless told otherwise."""
    return Tucker(ranks, **{"tol": 1e-13, "max_iter": 500, "random_state": 0, **parameters})


def sparse(X: np.ndarray, dtype: type = np.float64) -> SparseTensor:
    where = np.array(np.nonzero(X))
    return SparseTensor(where, X[tuple(where)].astype(dtype), X.shape)


def planted(
    shape: Sequence[int], ranks: Sequence[int], *, noise: float = 0.0, density: float = 1.0, seed: int = 0
) -> np.ndarray:
    """A tensor of these ranks, up to noise, of which a part of the cells is kept."""
    rng = np.random.default_rng(seed)
    core = rng.standard_normal(ranks)
    factors = [np.linalg.qr(rng.standard_normal((n, r)))[0] for n, r in zip(shape, ranks, strict=True)]
    X = reconstruct(core, factors)
    X /= np.sqrt((X**2).mean())
    return (X + noise * rng.standard_normal(shape)) * (rng.random(shape) < density)


def slices_with_gaps(n: int, p: int, m: int, density: float = 0.1, seed: int = 0) -> np.ndarray:
    """Slices of which each has entries in its own part of the rows and columns only; some have none at all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p, m)) * (rng.random((n, p, m)) < density)
    for k in range(m):
        X[rng.random(n) < 0.8 * k / m, :, k] = 0
        X[:, rng.random(p) < 0.8 * (m - k) / m, k] = 0
    X[rng.random(n) < 0.1] = 0
    return X


def decaying(shape: Sequence[int], ratio: float, seed: int = 0) -> np.ndarray:
    """Slices with the same singular vectors, of singular values that fall by a ratio, up to a factor each."""
    rng = np.random.default_rng(seed)
    n, p, m = shape
    k = min(n, p)
    U, V = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (n, p))
    values = ratio ** np.arange(k) * rng.uniform(0.5, 1.5, (m, k))
    return np.stack([(U * each) @ V.T for each in values], axis=2)
