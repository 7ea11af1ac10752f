"""HDLR: low-rank metrics by LogDet divergences, in a fixed basis (Davis and Dhillon 2008).

The metric of d columns is B L B' with a basis B of k columns that stays. L starts as the identity and is the
nearest to it, by the LogDet divergence, that holds pairs which belong together within a distance and others beyond
another, up to slack: Bregman projections onto one pair after the other, as in information-theoretic metric
learning (Davis and others 2007), algorithm 1.
"""

from __future__ import annotations

import numpy as np

LEAST = 1e-12  # of a distance that is one


def learn_metric(
    first: np.ndarray, second: np.ndarray, together: np.ndarray, *, slack: float = 1.0, passes: int = 5
) -> np.ndarray:
    """L of shape (k, k), symmetric and positive definite.

    Parameters
    ----------
    first, second : arrays of shape (n, k)
        The two rows of each pair, projected.
    together : array of bool of shape (n,)
    slack : float
        How much bounds weigh against the start: the gamma of the papers, infinite for bounds that must hold.
    """
    differences = (first - second).astype(np.float64)
    distances = np.einsum("ij,ij->i", differences, differences)
    near, far = np.percentile(distances, [5, 95])
    bounds = np.maximum(np.where(together, near, far), LEAST)
    signs = np.where(together, 1.0, -1.0)
    share = 1.0 if np.isinf(slack) else slack / (slack + 1)
    L, duals = np.eye(first.shape[1]), np.zeros(len(first))
    for _ in range(passes):
        for i, difference in enumerate(differences):
            image = L @ difference
            distance = float(difference @ image)
            if distance <= LEAST:
                continue
            alpha = min(duals[i], share * signs[i] * (1 / distance - 1 / bounds[i]))
            duals[i] -= alpha
            if not np.isinf(slack):
                bounds[i] = slack * bounds[i] / (slack + signs[i] * alpha * bounds[i])
            L += signs[i] * alpha / (1 - signs[i] * alpha * distance) * np.outer(image, image)
    return np.asarray((L + L.T) / 2)
