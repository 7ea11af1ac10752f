"""S2Net with all cosines in one dense matrix. Equation numbers: Yih, Toutanova, Platt and Meek 2011.

The appendix prints dL/dA = -gamma / (1 + exp(-gamma Delta)) dDelta/dA. The derivative of equation 2 has
exp(+gamma Delta), which is what is written here.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

# From differences of cosines to a loss for each, and its slope.
PairLoss = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def logistic(scale: float) -> PairLoss:
    """Equation 2: log(1 + exp(-gamma Delta)) of the difference of two cosines."""

    def of(difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = scale * difference
        return np.logaddexp(0.0, -z), -scale * np.exp(-np.logaddexp(0.0, z))

    return of


def smooth_norms(G: np.ndarray, floor: float) -> np.ndarray:
    """sqrt(|g|^2 + floor^2) of each row: the paper's |g| for a floor of 0."""
    return np.sqrt((G**2).sum(axis=1) + floor**2)


def inverses(norms: np.ndarray) -> np.ndarray:
    """1 / norm; 0 for a row that has none, whose cosines are 0."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def one_direction(C: np.ndarray, loss: str | PairLoss, scale: float) -> tuple[float, np.ndarray]:
    """Row i asks for column i among all columns: the loss, and its derivative by each cosine."""
    m = len(C)
    value, W = 0.0, np.zeros_like(C)
    of = logistic(scale) if isinstance(loss, str) else loss
    for i in range(m):
        if loss == "softmax":  # the mean of -log share
            log_shares = scale * C[i] - np.logaddexp.reduce(scale * C[i])
            value -= log_shares[i] / m
            W[i] += scale * np.exp(log_shares) / m
            W[i, i] -= scale / m
        elif m > 1:  # the mean over all j != i
            others = np.flatnonzero(np.arange(m) != i)
            losses, slopes = of(C[i, i] - C[i, others])
            value += losses.sum() / (m * (m - 1))
            W[i, others] -= slopes / (m * (m - 1))
            W[i, i] += slopes.sum() / (m * (m - 1))
    return value, W


def weights(
    C: np.ndarray, loss: str | PairLoss, scale: float, forward: float, backward: float
) -> tuple[float, np.ndarray]:
    """Both directions with a weight each; backwards, column i asks for row i."""
    there, W = one_direction(C, loss, scale)
    back, V = one_direction(C.T, loss, scale)
    return forward * there + backward * back, forward * W + backward * V.T


def objective(
    views: list[np.ndarray],
    matrices: list[np.ndarray],
    *,
    loss: str | PairLoss = "logistic",
    scale: float = 10.0,
    forward: float = 0.5,
    backward: float = 0.5,
    floors: list[float] | None = None,
) -> tuple[float, list[np.ndarray]]:
    """The mean of all pairs of views, and its gradient by each view's matrix A: its rows f become g = A'f.

    Where views share a matrix, it is given for each, and the gradients are added.
    """
    G = [X @ A for X, A in zip(views, matrices, strict=True)]
    b = [inverses(smooth_norms(g, floor)) for g, floor in zip(G, floors or [0.0] * len(G), strict=True)]
    value, gradients = 0.0, [np.zeros_like(A) for A in matrices]
    pairs = list(combinations(range(len(views)), 2))
    for p, q in pairs:
        C = b[p][:, None] * (G[p] @ G[q].T) * b[q]
        part, W = weights(C, loss, scale, forward, backward)
        value += part / len(pairs)
        # The appendix: grad cos = b c (f_p g_q' + f_q g_p') - a c b^3 f_p g_p' - a b c^3 f_q g_q', cos = a b c.
        for one, other, V, D in ((p, q, W, C), (q, p, W.T, C.T)):
            across = (b[one][:, None] * V * b[other]) @ G[other]
            along = (b[one] ** 2 * (V * D).sum(axis=1))[:, None] * G[one]
            gradients[one] += views[one].T @ (across - along) / len(pairs)
    return value, gradients


def pull(A: np.ndarray, start: np.ndarray, reg: float) -> tuple[float, np.ndarray]:
    """Section 3.2: reg / 2 |A - A0|^2."""
    return reg / 2 * float(((A - start) ** 2).sum()), reg * (A - start)
