"""Aligned documents in several languages, for the tests of multi-view models."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def aligned_documents(
    n: int, p: int, languages: int = 2, *, topics: int = 12, seed: int = 0, dtype: type = np.float64
) -> list[sp.csr_matrix]:
    """Sparse rows, one matrix per language, with a mean that is far from zero.

    Documents mix topics of falling strength, so that the leading components are well apart. A fifth of the columns
    are in all languages; each of the others is in one.
    """
    rng = np.random.default_rng(seed)
    strength = 3.0 * 0.8 ** np.arange(topics)
    mixture = rng.exponential(1.0, (n, topics)) * strength
    owner = rng.integers(0, languages, p)
    owner[rng.random(p) < 0.2] = -1
    views = []
    for m in range(languages):
        words = rng.random((topics, p)) * (rng.random((topics, p)) < 0.15)
        D = (mixture @ words) * rng.uniform(0.7, 1.3, (n, p)) + (rng.random((n, p)) < 0.02)
        D[:, (owner != m) & (owner != -1)] = 0
        D[rng.random((n, p)) < 0.5] = 0
        views.append(sp.csr_matrix(D.astype(dtype)))
    return views


def dense(views: list[sp.csr_matrix]) -> list[np.ndarray]:
    return [view.toarray().astype(np.float64) for view in views]


def own_columns(views: list[sp.csr_matrix]) -> list[sp.csr_matrix]:
    """Each view with only the columns that it uses: a vocabulary of its own."""
    return [sp.csr_matrix(view[:, np.flatnonzero(view.getnnz(axis=0))]) for view in views]
