"""Weighted textual matrix factorization, every cell written out. Equation numbers: Guo and Diab 2012.

The paper's X has a word per row; here, as in the library, a sentence per row. P (K x words) and Q (K x sentences)
are the paper's. The orthogonal step is that of OrMF (Guo, Liu and Diab 2014).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp


def cell_weights(X: np.ndarray, missing_weight: float) -> np.ndarray:
    """W of section 3.2 (equation 5): one where a word is observed, `missing_weight` elsewhere."""
    return np.where(X != 0, 1.0, missing_weight)


def stored_cells(
    X: sp.csr_matrix, missing_weight: float, weights: sp.csr_matrix | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """X and W as dense arrays; the stored entries of X are the observed ones, zeros among them too.

    Entries of one cell add up. `weights` has its entries where X has.
    """
    cells, W = np.zeros(X.shape), np.full(X.shape, float(missing_weight))
    for row in range(X.shape[0]):
        for k in range(X.indptr[row], X.indptr[row + 1]):
            cells[row, X.indices[k]] += X.data[k]
            W[row, X.indices[k]] = 1.0
    if weights is not None:
        for row in range(X.shape[0]):
            for k in range(weights.indptr[row], weights.indptr[row + 1]):
                W[row, weights.indices[k]] = weights.data[k]
    return cells, W


def mapped_cells(
    X: np.ndarray,
    missing_weight: float,
    confidence: Callable[[float], float] | None,
    target: Callable[[float], float] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """X and W where functions say what an observed cell asks for and weighs; None: the cell itself, and one."""
    cells, W = np.zeros(X.shape), np.full(X.shape, float(missing_weight))
    for cell in zip(*np.nonzero(X), strict=True):
        value = float(X[cell])
        cells[cell] = value if target is None else target(value)
        W[cell] = 1.0 if confidence is None else confidence(value)
    return cells, W


def normal_equations(x: np.ndarray, w: np.ndarray, Y: np.ndarray, reg: float) -> tuple[np.ndarray, np.ndarray]:
    """A and b of equation 4, A q = b: A = Y' diag(w) Y + reg I, b = Y' diag(w) x; y_i are the rows of Y."""
    weighted = Y * w[:, None]
    return Y.T @ weighted + reg * np.eye(Y.shape[1], dtype=Y.dtype), weighted.T @ x


def solve_row(x: np.ndarray, w: np.ndarray, Y: np.ndarray, reg: float) -> np.ndarray:
    """Equation 4: the q that minimises sum_i w_i (y_i . q - x_i)^2 + reg |q|^2."""
    return np.linalg.solve(*normal_equations(x, w, Y.astype(np.float64), reg))


def solve_rows(X: np.ndarray, W: np.ndarray, Y: np.ndarray, reg: float) -> np.ndarray:
    return np.array([solve_row(x, w, Y, reg) for x, w in zip(X, W, strict=True)]).reshape(len(X), Y.shape[1])


def solve_row_finely(x: np.ndarray, w: np.ndarray, Y: np.ndarray, reg: float) -> np.ndarray:
    """Equation 4 where conditioning is bad: the residuals in long double correct the solution."""
    x, w, Y = (a.astype(np.longdouble) for a in (x, w, Y))
    A, b = normal_equations(x, w, Y, np.longdouble(reg))
    q = np.zeros_like(b)
    for _ in range(10):
        q += np.linalg.solve(A.astype(np.float64), (b - A @ q).astype(np.float64))
    return q.astype(np.float64)


def objective(X: np.ndarray, W: np.ndarray, P: np.ndarray, Q: np.ndarray, reg: float) -> float:
    """Equation 3, over all cells."""
    P, Q = P.astype(np.float64), Q.astype(np.float64)
    return float((W * (Q.T @ P - X) ** 2).sum() + reg * (P**2).sum() + reg * (Q**2).sum())


def orthogonal_step(P: np.ndarray, rate: float) -> np.ndarray:
    """OrMF: one step down the gradient of |PP' - a I|^2, a the mean squared length of a dimension."""
    gram = P @ P.T
    return P - rate * (gram - np.diag(gram).mean() * np.eye(len(P))) @ P


def oriented(P: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The library's sign rule: the entry of largest magnitude of each dimension of the words is positive."""
    signs = np.array([-1.0 if row[np.abs(row).argmax()] < 0 else 1.0 for row in P])[:, None]
    return signs * P, signs * Q


def sweep(
    X: np.ndarray, P: np.ndarray, *, missing_weight: float, reg: float, orthogonality: float = 0.0
) -> tuple[np.ndarray, np.ndarray, float]:
    """The next P, its Q and equation 3, from the P before: sentences, words, sentences again."""
    return sweep_of_cells(X, cell_weights(X, missing_weight), P, reg=reg, orthogonality=orthogonality)


def sweep_of_cells(
    X: np.ndarray, W: np.ndarray, P: np.ndarray, *, reg: float, orthogonality: float = 0.0
) -> tuple[np.ndarray, np.ndarray, float]:
    """The same for any W."""
    Q = solve_rows(X, W, P.T, reg).T
    P = solve_rows(X.T, W.T, Q.T, reg).T
    if orthogonality:
        P = orthogonal_step(P, orthogonality)
    Q = solve_rows(X, W, P.T, reg).T
    return P, Q, objective(X, W, P, Q, reg)


def fit(
    X: np.ndarray, P: np.ndarray, n_sweeps: int, **options: float
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """P, Q and the objective after each sweep, from initial word vectors P."""
    history = []
    for _ in range(n_sweeps):
        P, Q, value = sweep(X, P, **options)
        history.append(value)
    return P, Q, history
