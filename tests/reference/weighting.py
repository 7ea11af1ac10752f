"""Term weightings on dense counts. Equation numbers: Platt, Toutanova and Yih 2010."""

from __future__ import annotations

import numpy as np


def document_frequency(F: np.ndarray) -> np.ndarray:
    """d_j: documents that contain term j."""
    return (F != 0).sum(axis=0)


def inverse_document_frequency(F: np.ndarray) -> np.ndarray:
    """log2(n / d_j); zero for terms that no document has."""
    n, d = len(F), document_frequency(F)
    return np.array([np.log2(n / dj) if dj > 0 else 0.0 for dj in d])


def log_tfidf(F: np.ndarray, fitted_on: np.ndarray) -> np.ndarray:
    """D_ij = log2(f_ij + 1) log2(n / d_j): equation 4, and 8 for the documents of one language.

    n and d_j are those of `fitted_on`.
    """
    return np.log2(F.astype(np.float64) + 1) * inverse_document_frequency(fitted_on)


def log_tfidf_joined(Fs: list[np.ndarray]) -> np.ndarray:
    """D_ij = log2(sum_m f^m_ij + 1) log2(n / d_j): equation 5, n and d_j over the documents of all languages."""
    return log_tfidf(sum(Fs), np.concatenate(Fs))


def tfidf(F: np.ndarray, fitted_on: np.ndarray) -> np.ndarray:
    """f_ij log2(n / d_j)."""
    return F.astype(np.float64) * inverse_document_frequency(fitted_on)


def bm25(F: np.ndarray, fitted_on: np.ndarray, k1: float = 1.2, b: float = 0.75) -> np.ndarray:
    """g_j f (k1 + 1) / (f + k1 (1 - b + b L_i / mean L)), g_j = ln(1 + (n - d_j + 0.5) / (d_j + 0.5))."""
    n, d = len(fitted_on), document_frequency(fitted_on)
    mean_length = fitted_on.sum() / n
    result = np.zeros(F.shape)
    for i in range(F.shape[0]):
        length = F[i].sum()
        for j in np.flatnonzero(F[i]):
            if d[j] == 0:
                continue
            g = np.log(1 + (n - d[j] + 0.5) / (d[j] + 0.5))
            f = float(F[i, j])
            result[i, j] = g * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean_length))
    return result
