"""256 values for all probabilities of an order, and 256 for all back-offs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._common.types import Array
from .._core import lm as _core

_ROUNDS = 20


class QuantizationError(NamedTuple):
    """How far numbers of one order are from what 8 bits made of them, as logarithms to base 10."""

    order: int
    log_prob_rms: float
    log_prob_max: float
    backoff_rms: float
    backoff_max: float


def make_codebooks(store: _core.StoredNGrams, order: int) -> tuple[Array, tuple[QuantizationError, ...]]:
    """The values of each order above 1, and their errors.

    Returns
    -------
    codebooks : float32 array of shape (order - 1, 2, 256)
        The first two back-offs are -0, where nothing goes on, and 0: these are exact.
    errors : tuple of QuantizationError
    """
    codebooks = np.zeros((order - 1, 2, 256), np.float32)
    errors = []
    for k in range(2, order + 1):
        log_probs, backoffs = store.values(k)
        codebooks[k - 2, 0], rms, most = _fit(log_probs, 256)
        codebooks[k - 2, 1, 0] = -0.0
        codebooks[k - 2, 1, 2:], backoff_rms, backoff_most = _fit(backoffs[backoffs != 0], 254)
        errors.append(QuantizationError(k, rms, most, backoff_rms, backoff_most))
    return codebooks, tuple(errors)


def _fit(values: Array, n: int) -> tuple[Array, float, float]:
    """`n` values, rising, by Lloyd's algorithm from quantiles; their mean square and largest error."""
    if len(values) == 0:
        return np.ones(n, np.float32), 0.0, 0.0
    ordered = np.sort(values).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    cuts = np.linspace(0, len(ordered), n + 1).astype(np.int64)
    centers = _means(ordered, sums, cuts)
    for _ in range(_ROUNDS):
        cuts = np.concatenate([[0], np.searchsorted(ordered, (centers[1:] + centers[:-1]) / 2), [len(ordered)]])
        centers = _means(ordered, sums, cuts)
    stored = np.sort(centers.astype(np.float32))
    middles = (stored[1:].astype(np.float64) + stored[:-1]) / 2
    gaps = np.abs(ordered - stored[np.searchsorted(middles, ordered)])
    return stored, float(np.sqrt((gaps**2).mean())), float(gaps.max())


def _means(ordered: Array, sums: Array, cuts: Array) -> Array:
    """The mean of each piece; of an empty one, the number that is next."""
    sizes = np.diff(cuts)
    nearest = ordered[np.minimum(cuts[:-1], len(ordered) - 1)]
    means: Array = np.where(sizes > 0, np.diff(sums[cuts]) / np.maximum(sizes, 1), nearest)
    return np.maximum.accumulate(means)
