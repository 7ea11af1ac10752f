"""Ridge CCA by a dense generalised eigenproblem. Equation numbers: Platt, Toutanova and Yih 2010."""

from __future__ import annotations

import numpy as np

from tests.reference.opca import Fit, generalized


def cca(views: list[np.ndarray], k: int, gamma: float) -> Fit:
    """S of the covariances between views (equation 12), N of those within and a ridge (equation 13)."""
    centred = [np.asarray(X, dtype=np.float64) - np.mean(X, axis=0, dtype=np.float64) for X in views]
    n, widths = len(centred[0]), [X.shape[1] for X in centred]
    starts = np.concatenate([[0], np.cumsum(widths)])
    S, N = np.zeros((sum(widths), sum(widths))), np.zeros((sum(widths), sum(widths)))
    for i, Xi in enumerate(centred):
        for j, Xj in enumerate(centred):
            C = Xi.T @ Xj / n
            part = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            if i == j:
                N[part] = C + gamma * np.eye(len(C))
            else:
                S[part] = C
    return generalized(S, N, k)
