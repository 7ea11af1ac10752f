"""Sparse rows times a dense projection, with everything made dense and double."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def project(X: Any, P: Any, *, normalize: bool = False) -> np.ndarray:
    """X P, each row scaled to unit length when asked; zero rows stay zero."""
    dense = X.astype(np.float64).toarray() if sp.issparse(X) else np.asarray(X)
    result = dense.astype(np.float64) @ np.asarray(P, dtype=np.float64)
    if normalize:
        norms = np.sqrt((result**2).sum(axis=1, keepdims=True))
        result = np.divide(result, norms, out=np.zeros_like(result), where=norms > 0)
    return result
