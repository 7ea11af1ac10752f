"""Related words that were planted, and small BPTFs of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from semproj import BPTF
from tests.support import same_bits


def planted(n_words=60, d=3, share=0.6, noise=0.05, seed=0):
    """Vectors, two slices with some of their cells, and the whole matrices."""
    rng = np.random.default_rng(seed)
    V, P = rng.standard_normal((n_words, d)), rng.uniform(0.5, 1.5, (2, d)) * [[1], [-1]]
    wholes, slices = [], []
    i, j = np.triu_indices(n_words, 1)
    for k in range(2):
        whole = (V * P[k]) @ V.T
        kept = rng.random(len(i)) < share
        values = whole[i[kept], j[kept]] + noise * rng.standard_normal(kept.sum())
        wholes.append(whole)
        slices.append(sp.coo_array((values, (i[kept], j[kept])), shape=(n_words, n_words)))
    return V, wholes, slices


def model_of(d=3, **parameters):
    return BPTF(d, **{"burn_in": 60, "n_samples": 40, "random_state": 0, **parameters})


def same_fit(one, other):
    """Whether two models have the same bits in all arrays, whichever of them each stores."""
    for name in (*BPTF._arrays, "word_vectors_", "perspective_vectors_"):
        a, b = getattr(one, name), getattr(other, name)
        if (a is None) != (b is None) or (a is not None and not same_bits(a, b)):
            return False
    return True


def every_pair(n):
    return np.triu_indices(n, 1)


def whitened(vectors, priors):
    """Vectors of draws, each less its mean and scaled by its deviation, by the priors of a model."""
    d = vectors.shape[2]
    found = []
    for V, prior in zip(vectors.astype(np.float64), priors, strict=True):
        precision = prior[: d * d].reshape(d, d)
        mean = np.linalg.solve(precision, prior[d * d : -1])
        found.append((V - mean) @ np.linalg.cholesky(precision))
    return np.array(found)


def surprise(z):
    """How many deviations the mean and the mean square of numbers are off those of standard normals, at most."""
    return max(abs(z.mean()) * np.sqrt(z.size), abs((z**2).mean() - 1) * np.sqrt(z.size / 2))
