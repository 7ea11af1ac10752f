"""RankNet: weights of a linear score by which right answers come before wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from .._common.types import Array
from .._solvers.lbfgs import minimize_lbfgs

RIDGES = tuple(10.0**exponent for exponent in range(-4, 2))


def differences(inputs: Sequence[Array], answers: Sequence[int]) -> Array:
    """The inputs of each wrong option minus those of the right one of its question."""
    parts = [np.delete(x, answer, axis=0) - x[answer] for x, answer in zip(inputs, answers, strict=True)]
    return np.concatenate(parts)


def scales_of(inputs: Sequence[Array]) -> Array:
    """Of each input the standard deviation among the options of a question; 1 where it never differs."""
    centered = np.concatenate([x - x.mean(axis=0) for x in inputs])
    scales: Array = np.sqrt((centered**2).mean(axis=0))
    # What is left of equal inputs is rounding.
    largest = np.abs(np.concatenate(list(inputs))).max(axis=0)
    return np.where(scales > 1e-12 * largest, scales, 1.0)


def fit_ranknet(pairs: Array, ridge: float, *, max_iter: int = 1000) -> Array:
    """Weights w where ``mean log(1 + exp(pairs @ w)) + ridge |w|^2`` is least."""

    def objective(w: Array) -> tuple[float, Array]:
        z = pairs @ w
        value = float(np.logaddexp(0.0, z).mean() + ridge * (w @ w))
        return value, pairs.T @ expit(z) / len(z) + 2 * ridge * w

    start = np.zeros(pairs.shape[1])
    scale = float(np.abs(objective(start)[1]).max())
    if scale == 0:
        return start
    return minimize_lbfgs(objective, start, max_iter=max_iter, tol=1e-6, scale=scale, scale_name="of no weights")


def folds(n: int, n_folds: int, key: int) -> list[Array]:
    """Disjoint parts of n questions, as equal as they can be."""
    return np.array_split(np.random.default_rng(key).permutation(n), n_folds)


def right(inputs: Sequence[Array], answers: Sequence[int], weights: Array) -> Array:
    """Which questions are answered rightly. A tie with another option is not."""
    return np.array([first(x @ weights, answer) for x, answer in zip(inputs, answers, strict=True)])


def first(scores: Array, answer: int) -> bool:
    """Whether the right option has a higher score than all others."""
    return bool((np.delete(scores, answer) < scores[answer]).all())


def mean_loss(inputs: Sequence[Array], answers: Sequence[int], weights: Array) -> float:
    """Of RankNet, without the ridge."""
    return float(np.logaddexp(0.0, differences(inputs, answers) @ weights).mean())


def tuned_ridge(
    inputs: Sequence[Array], answers: Sequence[int], ridges: Sequence[float], parts: Sequence[Array]
) -> float:
    """The ridge whose weights, of the other parts, have the least loss on each part in turn.

    The loss tells ridges apart better than the share of right answers, which moves in steps.
    """
    losses = []
    for ridge in ridges:
        loss = 0.0
        for part in parts:
            rest = np.setdiff1d(np.arange(len(inputs)), part)
            weights = fit_ranknet(differences(*_some(inputs, answers, rest)), ridge)
            loss += mean_loss(*_some(inputs, answers, part), weights) * len(part)
        losses.append(loss)
    return ridges[int(np.argmin(losses))]


def cross_validated(
    inputs: Sequence[Array], answers: Sequence[int], ridges: Sequence[float], n_folds: int, key: int
) -> Array:
    """Which questions are answered rightly by weights of the other folds.

    Section 5.6 of the paper: for each fold, weights are of all others but one, and this one chooses the ridge.
    """
    parts = folds(len(inputs), n_folds, key)
    correct = np.zeros(len(inputs), bool)
    for i, test in enumerate(parts):
        tune = parts[(i + 1) % n_folds]
        train = np.concatenate([parts[(i + j) % n_folds] for j in range(2, n_folds)])
        scales = scales_of([inputs[k] for k in train])
        scaled = [x / scales for x in inputs]
        candidates = [fit_ranknet(differences(*_some(scaled, answers, train)), ridge) for ridge in ridges]
        losses = [mean_loss(*_some(scaled, answers, tune), weights) for weights in candidates]
        correct[test] = right(*_some(scaled, answers, test), candidates[int(np.argmin(losses))])
    return correct


def _some(inputs: Sequence[Array], answers: Sequence[int], which: Array) -> tuple[list[Array], list[int]]:
    return [inputs[i] for i in which], [answers[i] for i in which]
