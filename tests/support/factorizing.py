"""What the tests of WTMF share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from semproj import WTMF
from tests.reference import wtmf as reference
from tests.support import same_bits


def corpus(n: int = 60, m: int = 40, *, seed: int = 0, dtype: type = np.float64) -> sp.csr_matrix:
    """Weights of words in sentences; sentence 0 and the middle one are empty, words 3 and 17 unused, 2 in most."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 4, (n, m)) * (rng.random((n, m)) < 0.15)
    X[:, 2] = rng.uniform(0.1, 0.3, n) * (rng.random(n) < 0.9)
    X[[0, n // 2]] = 0
    X[:, [3, 17]] = 0
    return sp.csr_matrix(X.astype(dtype))


def low_rank(n: int, m: int, rank: int, *, seed: int = 0) -> np.ndarray:
    """Of this rank, with singular values that halve from one to the next."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for size in (n, m))
    return (U * 16 * 0.5 ** np.arange(rank)) @ V.T


def make(**changes: object) -> WTMF:
    """A small model, with these parameters changed."""
    options = {"n_components": 5, "missing_weight": 0.01, "reg": 1.0, "max_iter": 7, "random_state": 0}
    return WTMF(**{**options, **changes})


FITTED = ("components_", "sentence_vectors_", "objective_")
SAVED = ("components_", "objective_")


def assert_same_fit(a: WTMF, b: WTMF, *, names: tuple[str, ...] = FITTED) -> None:
    for name in names:
        assert same_bits(getattr(a, name), getattr(b, name)), name
    assert a.n_iter_ == b.n_iter_


def dense_objective(model: WTMF, X: sp.csr_matrix) -> float:
    """Equation 3 over all cells, at the fitted vectors."""
    cells = X.toarray().astype(np.float64)
    W = reference.cell_weights(cells, model.missing_weight)
    return reference.objective(cells, W, model.components_, model.sentence_vectors_.T, model.reg)


def history(model: WTMF, X: sp.csr_matrix) -> list[tuple[int, np.ndarray, float]]:
    """Sweeps, word vectors and objectives, as a callback is told of them during the fit."""
    seen = []

    def note(progress):
        seen.append((progress.sweep, progress.model.word_vectors_, progress.objective))

    model.set_params(callback=note).fit(X)
    return seen


def relative_error(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(np.float64) - b).max() / np.abs(b).max())
