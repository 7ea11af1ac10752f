"""IBM Model 1 and the HMM alignment model: dense tables, every state written out, no scaling.

Tables are (n_source + 1) x n_target, the null word last. A pair is (source ids, target ids).
"""

from __future__ import annotations

import numpy as np

Pairs = "list[tuple[list[int], list[int]]]"


def cooccurring(pairs, n_source: int, n_target: int, least: int) -> np.ndarray:
    """Which cells of the table exist: words together in enough pairs; the null word with all."""
    together = np.zeros((n_source + 1, n_target))
    for source, target in pairs:
        together[np.ix_(sorted(set(source)), sorted(set(target)))] += 1
    exists = together >= least
    exists[n_source] = np.isin(np.arange(n_target), [t for _, target in pairs for t in target])
    return exists


def normalised(counts: np.ndarray, exists: np.ndarray) -> np.ndarray:
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(exists, np.maximum(counts / np.where(totals > 0, totals, 1), 1e-12), 0)


def start(exists: np.ndarray) -> np.ndarray:
    return exists / exists.shape[1]


def model1(pairs, table: np.ndarray) -> tuple[float, np.ndarray]:
    """Brown et al. 1993: log likelihood, and the next table."""
    counts, log_likelihood, null = np.zeros_like(table), 0.0, len(table) - 1
    for source, target in pairs:
        words = [null, *source]
        for t in target:
            p = table[words, t]
            log_likelihood += np.log(p.sum() / len(words))
            for word, share in zip(words, p / p.sum(), strict=True):
                counts[word, t] += share
    return log_likelihood, normalised(counts, table > 0)


def jump_class(d: int, max_jump: int) -> int:
    return int(np.clip(d, -max_jump - 1, max_jump + 1)) + max_jump + 1


def transitions(source, weights: np.ndarray, max_jump: int, p_null: float) -> tuple[np.ndarray, np.ndarray]:
    """Och and Ney's 2 (I + 1) states: position i, and the null word after position i; position 0 is the beginning.

    The second result is the sum of weights at each position.
    """
    n = len(source) + 1
    words = [len(weights) - 1, *source]
    a = np.zeros((2 * n, 2 * n))
    totals = np.array([sum(weights[words[i], jump_class(k - i, max_jump)] for k in range(1, n)) for i in range(n)])
    for i in range(n):
        for origin in (i, n + i):
            for k in range(1, n):
                a[origin, k] = (1 - p_null) * weights[words[i], jump_class(k - i, max_jump)] / totals[i]
            a[origin, n + i] = p_null
    return a, totals


def hmm(pairs, table: np.ndarray, weights: np.ndarray, max_jump: int, p_null: float):
    """Log likelihood, next table, expected jumps of each word and class, and their exposure.

    `weights` has a row for each source word and, last, for the beginning.
    """
    counts, jumps, exposure = np.zeros_like(table), np.zeros_like(weights), np.zeros_like(weights)
    log_likelihood, null = 0.0, len(table) - 1
    for source, target in pairs:
        n = len(source) + 1
        words = [null, *source]
        a, totals = transitions(source, weights, max_jump, p_null)
        emits = np.zeros((2 * n, len(target)))
        emits[1:n] = table[np.ix_(source, target)]
        emits[n:] = table[null, target]
        before = np.zeros(2 * n)
        before[0] = 1
        alpha = [before]
        for j in range(len(target)):
            alpha.append((alpha[-1] @ a) * emits[:, j])
        beta = [np.ones(2 * n)]
        for j in range(len(target) - 1, 0, -1):
            beta.insert(0, a @ (emits[:, j] * beta[0]))
        probability = alpha[-1].sum()
        log_likelihood += np.log(probability)
        for j, t in enumerate(target):
            posterior = alpha[j + 1] * beta[j] / probability
            for i in range(1, n):
                counts[source[i - 1], t] += posterior[i]
            counts[null, t] += posterior[n:].sum()
            moves = alpha[j][:, None] * a * (emits[:, j] * beta[j])[None, :] / probability
            for i in range(n):
                moved = moves[i, 1:n] + moves[n + i, 1:n]
                for k in range(1, n):
                    jumps[words[i], jump_class(k - i, max_jump)] += moved[k - 1]
                    exposure[words[i], jump_class(k - i, max_jump)] += moved.sum() / totals[i]
    return log_likelihood, normalised(counts, table > 0), jumps, exposure


def shared_weights(jumps: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    weights = jumps.sum(axis=0) / np.maximum(exposure.sum(axis=0), 1e-300)
    weights = np.maximum(weights, 1e-6 * weights.max())
    return weights / weights.sum()


def word_weights(jumps: np.ndarray, exposure: np.ndarray, smoothing: float) -> np.ndarray:
    """The mode with a gamma prior whose mean is the shared weight, worth `smoothing` jumps over all classes."""
    shared = shared_weights(jumps, exposure)
    prior = smoothing * np.maximum(jumps.sum(axis=0) / jumps.sum(), 1e-6)
    return (jumps + prior) / (exposure + prior / shared)
