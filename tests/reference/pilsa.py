"""Polarity inducing LSA, dense: Yih, Zweig and Platt 2012."""

from __future__ import annotations

import numpy as np


def signed_tfidf(relations: dict[str, np.ndarray], weights: dict[str, float]) -> np.ndarray:
    """Section 4: tf-idf weights, negative for antonyms."""
    W = sum(weights[name] * matrix for name, matrix in relations.items() if name in weights)
    frequency = (W != 0).sum(axis=0)
    return W * np.log2(len(W) / np.maximum(frequency, 1))


def cosines(W: np.ndarray, k: int, power: float) -> np.ndarray:
    """Cosines of the columns of S^power V' of rank k; section 4 has power 1."""
    _, s, Vt = np.linalg.svd(W, full_matrices=False)
    X = s[:k, None] ** power * Vt[:k]
    lengths = np.linalg.norm(X, axis=0)
    X = X / np.where(lengths > 1e-9 * lengths.max(), lengths, np.inf)
    return X.T @ X
