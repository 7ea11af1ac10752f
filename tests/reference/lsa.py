"""Latent semantic analysis by a dense eigendecomposition. Equation numbers: Platt, Toutanova and Yih 2010."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Fit:
    components: np.ndarray
    singular_values: np.ndarray
    explained_variance: np.ndarray
    explained_variance_ratio: np.ndarray
    mean: np.ndarray


def lsa(D: np.ndarray, k: int, *, center: bool = False) -> Fit:
    """The k leading eigenvectors of C = D'D (equations 1 and 3), the peak of each made positive."""
    D = np.asarray(D, dtype=np.float64)
    mean = D.mean(axis=0) if center else np.zeros(D.shape[1])
    _, values, components = np.linalg.svd(D - mean, full_matrices=False)
    components = components[:k] * np.array([np.sign(v[np.abs(v).argmax()]) for v in components[:k]])[:, None]
    variance = ((D - mean) @ components.T).var(axis=0)
    return Fit(components, values[:k], variance, variance / D.var(axis=0).sum(), mean)


def largest_angle(A: np.ndarray, B: np.ndarray) -> float:
    """Sine of the largest principal angle between the row spaces of A and B, both orthonormal."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    return float(np.linalg.norm(A - (A @ B.T) @ B, 2))
