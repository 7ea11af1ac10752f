"""Oriented PCA by a dense generalised eigenproblem. Equation numbers: Platt, Toutanova and Yih 2010."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits


@dataclass
class Fit:
    """Rows v with v'Nv = 1, the peak of each positive; their eigenvalues; S and N."""

    components: np.ndarray
    eigenvalues: np.ndarray
    S: np.ndarray
    N: np.ndarray


def signal(views: list[np.ndarray]) -> np.ndarray:
    """S = sum_m D_m'D_m / n - mu_m'mu_m (equation 9)."""
    p = views[0].shape[1]
    S = np.zeros((p, p))
    for D in views:
        mu = D.mean(axis=0)
        S += D.T @ D / len(D) - np.outer(mu, mu)
    return S


def noise(views: list[np.ndarray], gamma: float) -> np.ndarray:
    """N = sum_m (D_m - D)'(D_m - D) / n + gamma I (equation 10), D the mean of the languages (equation 11)."""
    n, p = views[0].shape
    mean = sum(views) / len(views)
    N = gamma * np.eye(p)
    for D in views:
        N += (D - mean).T @ (D - mean) / n
    return N


def positive_peaks(V: np.ndarray) -> np.ndarray:
    return V * np.array([-1.0 if v[np.abs(v).argmax()] < 0 else 1.0 for v in V])[:, None]


def generalized(S: np.ndarray, N: np.ndarray, k: int) -> Fit:
    """The k largest of S v = lambda N v (equation 7)."""
    with threadpool_limits(1):  # many threads are slow beside those of other tests
        values, vectors = scipy.linalg.eigh(S, N)
    return Fit(positive_peaks(vectors[:, ::-1][:, :k].T), values[::-1][:k], S, N)


def opca(views: list[np.ndarray], k: int, gamma: float) -> Fit:
    views = [np.asarray(D, dtype=np.float64) for D in views]
    return generalized(signal(views), noise(views, gamma), k)


def residuals(fit: Fit, components: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    """|S v - lambda N v| / lambda in the metric of N, that is of N^-1, for rows v with v'Nv = 1."""
    V, values = components.astype(np.float64).T, eigenvalues.astype(np.float64)
    R = fit.S @ V - fit.N @ V * values
    return np.sqrt(np.einsum("ij,ij->j", R, np.linalg.solve(fit.N, R))) / values
