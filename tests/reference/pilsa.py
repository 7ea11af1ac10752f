"""Polarity inducing LSA with dense matrices. Sections: Yih, Zweig and Platt 2012."""

from __future__ import annotations

import numpy as np


def signed_tfidf(
    relations: dict[str, np.ndarray], weights: dict[str, float], row_scaling: float = 0.0
) -> np.ndarray:
    """Section 4: documents are entries, and the weights of antonyms are negated (tables 2 and 3)."""
    W = sum(weights[name] * relations[name] for name in weights if name in relations)
    n_entries = len(W)
    for word in range(W.shape[1]):
        entries = np.count_nonzero(W[:, word])
        W[:, word] *= np.log2(n_entries / entries) if entries else 0.0
    for row in W:
        if row.any():
            row /= np.linalg.norm(row) ** row_scaling
    return W


def word_vectors(W: np.ndarray, k: int, power: float) -> np.ndarray:
    """Section 3: the columns of S V' for a power of 1, each of length one; zero where there is nothing."""
    _, values, components = np.linalg.svd(W, full_matrices=False)
    vectors = (values[:k, None] ** power * components[:k]).T
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-10)


def lookup(W: np.ndarray, a: int, b: int) -> int:
    """Entries that have both words on the same side, minus those that have them on opposite sides."""
    total = 0
    for row in W:
        total += int(np.sign(row[a]) * np.sign(row[b]))
    return total


def closest_opposite(similarity: dict[tuple[str, str], float], known: set[str], questions: list) -> tuple:
    """Section 7.2: precision, recall and F1."""
    right = attempted = 0
    for target, choices, answer in questions:
        candidates = [choice for choice in choices if choice in known]
        if target in known and candidates:
            attempted += 1
            right += min(candidates, key=lambda choice: similarity[target, choice]) == answer
    precision, recall = right / attempted, right / len(questions)
    return precision, recall, 2 * precision * recall / (precision + recall)
