"""Leading eigenvectors of a symmetric operator, by block Krylov iteration.

We grow an orthonormal basis V of the block Krylov space span{Q, AQ, A^2 Q, ...}, solve the small eigenproblem of T
= V'AV and take the best Ritz vectors. ``randomized`` stops when the basis is full (Musco and Musco 2015);
``lanczos`` restarts it with the Ritz vectors (thick restart) until ``|A v - theta v| <= tol * theta`` for all.

For an operator of size p and a basis of m columns in blocks of b this costs m/b products with A of b columns,
about 2 p m^2 flops to orthogonalise by matrix products, and O(m^3) for T. Memory: p m + 4 p b elements and A.

Products are in the operator's dtype, but T, Gram matrices and every sum over the long dimension are double. All
products run in fixed blocks, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._common.resources import interruptible, resolve_threads
from .._common.types import Array
from .._common.validation import check_integer, check_real

DENSE = 256  # solve operators up to this size whole: it takes milliseconds


def block_width(rank: int) -> int:
    """How many columns to multiply at a time: many blocks make a good Krylov space, wide ones are fast."""
    return min(64, max(16, -(-rank // 128) * 16))


def basis_size(rank: int) -> int:
    """How many columns the basis has: enough to capture, of flat spectra, what six power iterations would."""
    return max(5 * rank // 2 + 2 * block_width(rank), rank + 12 * block_width(rank))


def check_parameters(model: Any) -> None:
    """Check the parameters that all models of this solver have."""
    check_integer(model.n_components, "n_components", low=1)
    check_real(model.tol, "tol", low=0)
    check_integer(model.max_iter, "max_iter", low=1)
    if model.max_memory is not None:
        check_integer(model.max_memory, "max_memory", low=1)
    resolve_threads(model.n_threads)


class Operator(Protocol):
    """A symmetric positive semi-definite matrix A, known by its products."""

    size: int
    dtype: np.dtype[Any]
    n_threads: int

    def apply(self, V: Array, out: Array) -> Array:
        """out = A V."""

    def dense(self) -> Array:
        """A itself, in double. Called only if it is small."""


@dataclass
class Eigenpairs:
    """Eigenvalues (largest first), vectors as columns, relative residuals, whether tol was reached."""

    values: Array
    vectors: Array
    residuals: Array
    converged: bool
    n_restarts: int


class KrylovBasis:
    """An orthonormal basis V (p x m) that grows by blocks, with T = V'AV and the residual block behind it."""

    def __init__(self, operator: Operator, size: int, block: int, key: int) -> None:
        self.op, self.key, self.stream = operator, key, 0
        self.V = np.empty((operator.size, size), operator.dtype)
        self.T = np.zeros((size, size))
        self.filled = 0  # columns of V
        self.expanded = 0  # of these, columns whose product with A is in T
        self.neighbor = 0  # first column of V to which A times the newest block may not be orthogonal
        self.coupling = np.zeros((0, 0))  # R of A V = V T + Q R [0 .. 0 I]
        self._append(self._random(block))

    def grow(self) -> bool:
        """Multiply the newest block by A. False when the basis is full or A maps it into itself."""
        V, start, end = self.V, self.expanded, self.filled
        W = self.op.apply(V[:, start:end], np.empty((len(V), end - start), V.dtype))
        size = float(np.sqrt(np.max(np.einsum("ij,ij->j", W, W, dtype=np.float64), initial=0.0)))
        # A V is in the span of V and the newest block, so A times that block is orthogonal to all but the block
        # and its neighbour (all of V after a restart). A second pass, over all of V, removes what rounding left.
        H = np.zeros((end, end - start))
        H[self.neighbor :] = self._orthogonalize(W, self.neighbor, end)
        H += self._orthogonalize(W, 0, end)
        self.neighbor = start
        self.T[:end, start:end] = H
        self.T[start:end, :end] = H.T
        self.expanded = end
        Q, self.coupling = self._orthonormal(W, size)
        if len(self.coupling) and np.linalg.norm(self.coupling, axis=1).min() < 1e-2 * size:
            # Scaling up a short direction scales up its rounding errors, which are not orthogonal to V.
            self._orthogonalize(Q, 0, end)
            Q, R = self._orthonormal(Q, 1.0)
            self.coupling = R @ self.coupling
        room = V.shape[1] - end
        if Q.shape[1] == 0 or Q.shape[1] > room:
            self._next = Q
            return False
        self._append(Q)
        return True

    def ritz(self, k: int) -> tuple[Array, Array, Array]:
        """The k largest Ritz values, their coefficients in V, and their residual norms."""
        e = self.expanded
        values, S = interruptible(np.linalg.eigh, self.T[:e, :e])
        values, S = values[::-1][:k], S[:, ::-1][:, :k]
        last = self.coupling.shape[1]
        residuals = np.linalg.norm(self.coupling @ S[e - last :], axis=0)
        return np.maximum(values, 0.0), S, residuals

    def restart(self, values: Array, S: Array) -> None:
        """Keep only the Ritz vectors S, and continue from the residual block."""
        kept = S.shape[1]
        self.V[:, :kept] = self.combine(S)
        self.T[:] = 0.0
        self.T[np.arange(kept), np.arange(kept)] = values
        self.filled = self.expanded = kept
        self.neighbor = 0
        self._append(self._next)

    def combine(self, S: Array) -> Array:
        """V S."""
        return product(self.V[:, : len(S)], S, self.op.n_threads)

    def _append(self, Q: Array) -> None:
        self.V[:, self.filled : self.filled + Q.shape[1]] = Q
        self.filled += Q.shape[1]

    def _random(self, width: int) -> Array:
        out = np.empty((len(self.V), width), self.V.dtype)
        _core.fill_normal(out, self.key, self.stream, self.op.n_threads)
        self.stream += 1
        return self._orthonormal(out, np.inf)[0]

    def _orthogonalize(self, W: Array, begin: int, end: int) -> Array:
        """W -= V V'W for these columns of V; returns V'W."""
        V = self.V[:, begin:end]
        H: Array = _core.tall_cross(V, W, self.op.n_threads)
        _core.tall_multiply(V, H.astype(V.dtype), -1.0, 1.0, W, self.op.n_threads)
        return H

    def _orthonormal(self, W: Array, size: float) -> tuple[Array, Array]:
        """W = Q R with orthonormal Q, in double. Directions lost in rounding, relative to `size`, are dropped."""
        n_threads = self.op.n_threads
        Q, R = W.astype(np.float64), np.eye(W.shape[1])
        for _ in range(4):
            g, E = np.linalg.eigh(_core.tall_cross(Q, Q, n_threads))
            largest = g[-1]
            if not largest > 0:
                return np.empty((len(W), 0), W.dtype), np.empty((0, W.shape[1]))
            # A Gram matrix sees only the upper half of the digits, so we lift weak directions step by step.
            lengths = np.sqrt(np.maximum(g, 1e-13 * largest))
            Q = product(Q, E / lengths, n_threads)
            R = (E * lengths).T @ R
            if g[0] > 1e-6 * largest:
                break
        U, lengths, Vt = np.linalg.svd(R)
        keep = lengths > (0.0 if np.isinf(size) else 100 * np.finfo(W.dtype).eps * size)
        return product(Q, U[:, keep], n_threads).astype(W.dtype), lengths[keep, None] * Vt[keep]


def product(A: Array, C: Array, n_threads: int) -> Array:
    """Tall A times small C."""
    out = np.empty((len(A), C.shape[1]), A.dtype)
    _core.tall_multiply(A, np.ascontiguousarray(C, dtype=A.dtype), 1.0, 0.0, out, n_threads)
    return out


def leading_eigenvectors(
    operator: Operator,
    k: int,
    *,
    size: int,
    solver: str,
    tol: float,
    max_restarts: int,
    key: int,
    progress: Any,
    offset: float = 0.0,
) -> Eigenpairs:
    """The k leading eigenvectors, from a basis of `size` columns that grows in blocks.

    `offset` was added to the eigenvalues to make them positive: residuals are relative to eigenvalues without it.
    """
    if operator.size <= max(size, DENSE):
        values, vectors = interruptible(np.linalg.eigh, operator.dense())
        values, vectors = np.maximum(values[::-1][:k], 0.0), vectors[:, ::-1][:, :k]
        vectors, values = complete(vectors.astype(operator.dtype), values, key)
        return Eigenpairs(values, np.ascontiguousarray(vectors), np.zeros(k), True, 0)

    basis = KrylovBasis(operator, size, block_width(k), key)
    restarts = 0
    # If the spectrum falls fast, we are done before the basis is full.
    look_at = 7 * k // 4 if solver == "lanczos" else size
    while True:
        growing = basis.grow()
        progress.update(1)
        if growing and basis.expanded < look_at:
            continue
        look_at = size
        values, S, residuals = basis.ritz(min(basis.expanded, k + max(16, (size - k) // 4)))
        sizes = np.maximum(values[:k] - offset, 0.0)
        relative = residuals[:k] / np.maximum(sizes, np.finfo(np.float64).tiny)
        exact = not growing and basis._next.shape[1] == 0
        reachable = np.finfo(operator.dtype).eps * values[0]  # rounding in A V leaves this much
        converged = exact or bool((residuals[:k] <= np.maximum(tol * sizes, reachable)).all())
        if converged or (not growing and (solver == "randomized" or restarts >= max_restarts)):
            break
        if not growing:
            room = size - basis._next.shape[1]
            basis.restart(values[:room], S[:, :room])
            restarts += 1
    missing = k - min(k, len(values))  # if A has a lower rank
    vectors = np.pad(basis.combine(S[:, :k]), ((0, 0), (0, missing)))
    values, relative = np.pad(values[:k], (0, missing)), np.pad(relative, (0, missing))
    vectors, values = complete(vectors, values, key)
    return Eigenpairs(values, vectors, relative, converged, restarts)


def complete(vectors: Array, values: Array, key: int) -> tuple[Array, Array]:
    """Directions of eigenvalue zero are arbitrary: replace what rounding left there by orthonormal ones."""
    k = len(values)
    norms = np.sqrt(np.einsum("ij,ij->j", vectors, vectors, dtype=np.float64))
    eps = np.finfo(vectors.dtype).eps
    weak = (values <= values.max(initial=0.0) * eps * 8) | (np.abs(norms - 1) > 1e-2)
    if not weak.any():
        return vectors, values
    good = vectors[:, ~weak].astype(np.float64)
    fill = np.random.default_rng(key).standard_normal((len(vectors), int(weak.sum())))
    for _ in range(2):
        fill -= good @ (good.T @ fill)
        fill = np.linalg.qr(fill)[0]
    # The kernels want contiguous rows, which chosen or single columns may not have.
    completed = np.ascontiguousarray(np.concatenate([good, fill], axis=1), dtype=vectors.dtype)
    return completed, np.concatenate([values[~weak], np.zeros(k - good.shape[1])])
