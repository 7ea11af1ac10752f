"""BPTF from the paper's model, slowly: its prior, the likelihood, and Gibbs conditionals by linear algebra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass
class State:
    """One draw of everything that is not observed."""

    alpha: float
    word_mean: np.ndarray
    word_precision: np.ndarray
    V: np.ndarray
    P: np.ndarray  # (n_slices, D); the rows of asymmetric slices are not used
    A: np.ndarray  # (n_slices, D, D); those of symmetric slices are not used


def maps(state: State, symmetric: list[bool]) -> list[np.ndarray]:
    """M of each slice: a cell is about V_i' M V_j."""
    return [np.diag(state.P[k]) if each else state.A[k] for k, each in enumerate(symmetric)]


def means(state: State, symmetric: list[bool], pairs: list[np.ndarray]) -> list[np.ndarray]:
    """What the cells are about; `pairs` has an array of shape (n, 2) for each slice."""
    return [
        np.array([state.V[i] @ M @ state.V[j] for i, j in cells])
        for M, cells in zip(maps(state, symmetric), pairs, strict=True)
    ]


def draw_normal_wishart(rng, n, total, outer, d, beta, freedom):
    """Precision and mean, given n vectors with this sum and sum of outer products (Gelman and others, 3.6)."""
    average = total / n if n else np.zeros(d)
    scatter = outer - n * np.outer(average, average)
    inverse_scale = np.eye(d) + scatter + beta * n / (beta + n) * np.outer(average, average)
    precision = np.atleast_2d(stats.wishart.rvs(freedom + n, np.linalg.inv(inverse_scale), random_state=rng))
    mean = rng.multivariate_normal(n * average / (beta + n), np.linalg.inv((beta + n) * precision))
    return precision, mean


def draw_prior(rng, n_words: int, d: int, symmetric: list[bool], extra_freedom: float) -> State:
    """Everything from the prior."""

    def vectors(n):
        precision, mean = draw_normal_wishart(rng, 0, np.zeros(d), np.zeros((d, d)), d, 1.0, d + extra_freedom)
        return precision, mean, rng.multivariate_normal(mean, np.linalg.inv(precision), n)

    precision, mean, V = vectors(n_words)
    _, _, P = vectors(len(symmetric))
    _, _, A = vectors(len(symmetric) * d)
    alpha = stats.wishart.rvs(d + extra_freedom, 1.0, random_state=rng)
    return State(float(alpha), mean, precision, V, P, A.reshape(-1, d, d))


def ones(pairs: list[np.ndarray]) -> list[np.ndarray]:
    """Weights of cells that all are as precise."""
    return [np.ones(len(cells)) for cells in pairs]


def draw_cells(rng, state: State, symmetric: list[bool], pairs: list[np.ndarray], weights=None):
    """Values of cells, given everything else; the precision of one is alpha times its weight."""
    return [
        mean + rng.standard_normal(len(mean)) / np.sqrt(state.alpha * w)
        for mean, w in zip(means(state, symmetric, pairs), weights or ones(pairs), strict=True)
    ]


def log_likelihood(state: State, symmetric: list[bool], pairs, values, weights) -> float:
    """Of normal cells."""
    return sum(
        stats.norm.logpdf(R, mean, 1 / np.sqrt(state.alpha * w)).sum()
        for R, mean, w in zip(values, means(state, symmetric, pairs), weights, strict=True)
    )


def word_system(state: State, symmetric: list[bool], pairs, values, word: int, weights=None):
    """Equation 4: the precision of a word's conditional, and its product with the mean."""
    weights = weights or ones(pairs)
    C = state.word_precision.copy()
    right = state.word_precision @ state.word_mean
    for M, cells, R, W in zip(maps(state, symmetric), pairs, values, weights, strict=True):
        for (i, j), r, w in zip(cells, R, W, strict=True):
            if word in (i, j):
                q = M @ state.V[j] if word == i else M.T @ state.V[i]
                C = C + state.alpha * w * np.outer(q, q)
                right = right + state.alpha * w * r * q
    return C, right


def sweep(rng, state: State, symmetric: list[bool], pairs, values, extra_freedom=0.0, weights=None) -> None:
    """Algorithm 1, for symmetric slices."""
    assert all(symmetric)
    weights = weights or ones(pairs)
    d = state.V.shape[1]
    squares = sum(
        (w * (R - mean) ** 2).sum()
        for R, mean, w in zip(values, means(state, symmetric, pairs), weights, strict=True)
    )
    n = sum(len(cells) for cells in pairs)
    state.alpha = float(stats.wishart.rvs(d + extra_freedom + n, 1 / (1 + squares), random_state=rng))
    freedom = d + extra_freedom
    V, P = state.V, state.P
    state.word_precision, state.word_mean = draw_normal_wishart(rng, len(V), V.sum(0), V.T @ V, d, 1.0, freedom)
    precision, mean = draw_normal_wishart(rng, len(P), P.sum(0), P.T @ P, d, 1.0, freedom)
    for word in range(len(V)):
        C, right = word_system(state, symmetric, pairs, values, word, weights)
        V[word] = rng.multivariate_normal(np.linalg.solve(C, right), np.linalg.inv(C))
    for k, (cells, R, w) in enumerate(zip(pairs, values, weights, strict=True)):
        X = V[cells[:, 0]] * V[cells[:, 1]]
        C = precision + state.alpha * X.T @ (w[:, None] * X)
        P[k] = rng.multivariate_normal(
            np.linalg.solve(C, precision @ mean + state.alpha * X.T @ (w * R)), np.linalg.inv(C)
        )
