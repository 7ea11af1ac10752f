"""Tucker decomposition of dense arrays, by plain HOOI. Equations: section 4.2 of Chang, Yih and Meek 2013."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass
class Fit:
    core: np.ndarray
    factors: list[np.ndarray]
    fits: list[float]


def unfold(X: np.ndarray, mode: int) -> np.ndarray:
    """The mode along the rows, the others, in their order, along the columns."""
    return np.moveaxis(X, mode, 0).reshape(X.shape[mode], -1)


def multiply(X: np.ndarray, matrices: Sequence[np.ndarray | None]) -> np.ndarray:
    """Every mode of X times a matrix; None leaves a mode as it is."""
    for mode, matrix in enumerate(matrices):
        if matrix is not None:
            X = np.moveaxis(np.tensordot(matrix, X, axes=(1, mode)), 0, mode)
    return X


def leading(Y: np.ndarray, rank: int) -> np.ndarray:
    return np.linalg.svd(Y, full_matrices=False)[0][:, :rank]


def hooi(X: np.ndarray, ranks: Sequence[int], n_sweeps: int, factors: Sequence[np.ndarray] | None = None) -> Fit:
    """From the leading vectors of X's own unfoldings, or given factors: one mode after the other."""
    U = list(factors) if factors is not None else [leading(unfold(X, j), r) for j, r in enumerate(ranks)]
    fits = []
    for _ in range(n_sweeps):
        for j, rank in enumerate(ranks):
            Y = multiply(X, [None if i == j else U[i].T for i in range(X.ndim)])
            U[j] = leading(unfold(Y, j), rank)
        fits.append(fit(X, reconstruct(multiply(X, [u.T for u in U]), U)))
    return Fit(multiply(X, [u.T for u in U]), U, fits)


def reconstruct(core: np.ndarray, factors: Sequence[np.ndarray]) -> np.ndarray:
    """X_ijk = sum of G_abc U_ia V_jb T_kc."""
    return multiply(core, factors)


def fit(X: np.ndarray, approximation: np.ndarray) -> float:
    return float(1 - np.linalg.norm(X - approximation) / np.linalg.norm(X))


def largest_angle(A: np.ndarray, B: np.ndarray) -> float:
    """Sine of the largest principal angle between the column spaces of A and B, both orthonormal."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    return float(np.linalg.norm(A - B @ (B.T @ A), 2))
