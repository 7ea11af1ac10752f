"""Hu, Koren and Volinsky 2008, dense and in double: equations 3 to 5."""

from __future__ import annotations

import numpy as np


def confidence(X: np.ndarray, alpha: float | None) -> np.ndarray:
    """c_ui: one where nothing was observed."""
    return 1 + alpha * X if alpha is not None else np.where(X > 0, X, 1.0)


def loss(X: np.ndarray, users: np.ndarray, items: np.ndarray, alpha: float | None, reg: float) -> float:
    """Equation 3."""
    errors = (X > 0) - users @ items.T
    return float((confidence(X, alpha) * errors**2).sum() + reg * ((users**2).sum() + (items**2).sum()))


def solve(X: np.ndarray, factors: np.ndarray, alpha: float | None, reg: float) -> np.ndarray:
    """Equation 4 for all rows; of the transpose, equation 5."""
    found = []
    for row, c in zip(X, confidence(X, alpha), strict=True):
        A = factors.T @ (c[:, None] * factors) + reg * np.eye(factors.shape[1])
        found.append(np.linalg.solve(A, factors.T @ (c * (row > 0))))
    return np.array(found)
