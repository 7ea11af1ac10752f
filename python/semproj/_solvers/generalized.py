"""Generalised eigenproblems S v = lambda N v, with S = M'M sparse and N positive definite.

Each class turns one into a symmetric problem that ``krylov`` can solve:

    Whitened       A = L^-1 S L^-T with N = L L', and v = L^-T w: 2 p^2 flops a column, for p terms
    Crossed        the same for an S that only links two views, solved on the side of one
    DocumentSide   B = M N^-1 M' and v = N^-1 M'u / sqrt(lambda), with N = E'E + ridge I solved by
      Woodbury            a factor of E E' + ridge I, where there are fewer rows than terms
      ConjugateGradient   products alone, where neither matrix fits in memory

All give v'Nv = 1. Dense matrices are summed in double (``kernels/gram``); factors and products have the dtype of
the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._common.types import Array
from .._common.validation import check_positive, core_csr
from .krylov import Eigenpairs, Operator, check_parameters, leading_eigenvectors, product
from .svd import SparseOperator


class Eigensolving:
    """OPCA, CCA and DDA share these parameters, their checks, and the call of the solver."""

    gamma: float
    tol: float
    max_iter: int

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_positive(self.gamma, "gamma")

    def _leading(self, operator: Operator, rank: int, **options: Any) -> Eigenpairs:
        return leading_eigenvectors(
            operator, rank, solver="lanczos", tol=self.tol, max_restarts=self.max_iter, **options
        )


def ridged_gram(X: Any, ridge: float, n_threads: int, columns: Any = None) -> Array:
    """The lower triangle of X'X + ridge I, dense. `columns` is X' as CSR, if the caller has it."""
    size = X.shape[1]
    out = np.zeros((size, size), X.dtype)
    columns = X.T.tocsr() if columns is None else columns
    _core.sparse_gram(core_csr(X), core_csr(columns), 1.0, out, n_threads)
    out[np.arange(size), np.arange(size)] += X.dtype.type(ridge)
    return out


class BlockFactor:
    """L of a block-diagonal N = L L'. Factors the blocks in place, and never reads their upper triangles."""

    def __init__(self, blocks: Sequence[Array], n_threads: int) -> None:
        self.blocks, self.n_threads = list(blocks), n_threads
        ends = np.cumsum([len(block) for block in self.blocks]).tolist()
        self.slices = [slice(end - len(block), end) for end, block in zip(ends, self.blocks, strict=True)]
        for block in self.blocks:
            if _core.cholesky(block, n_threads) < len(block):
                raise ValueError(
                    f"gamma: too small for {block.dtype} input, the noise covariance is singular to its precision"
                )

    def solve(self, X: Array, *, transpose: bool) -> Array:
        """X = L^-1 X or L^-T X, in place."""
        for part, block in zip(self.slices, self.blocks, strict=True):
            _core.solve_lower(block, transpose, X[part], self.n_threads)
        return X


class DenseOperator:
    """The Gram operator M'M of a dense M."""

    def __init__(self, M: Array, n_threads: int) -> None:
        self.M, self.transposed = M, np.ascontiguousarray(M.T)
        self.size, self.dtype, self.n_threads = M.shape[1], M.dtype, n_threads

    def apply(self, V: Array, out: Array) -> Array:
        """out = M'M V."""
        out[:] = self.left(self.right(V))
        return out

    def right(self, V: Array) -> Array:
        """M V."""
        return product(self.M, V, self.n_threads)

    def left(self, U: Array) -> Array:
        """M'U."""
        return product(self.transposed, U, self.n_threads)

    def dense(self) -> Array:
        """M'M, in double."""
        M = self.M.astype(np.float64)
        G: Array = M.T @ M
        return G


class SymmetricOperator:
    """A dense symmetric matrix, positive semi-definite."""

    def __init__(self, A: Array, n_threads: int) -> None:
        self.A, self.size, self.dtype, self.n_threads = A, len(A), A.dtype, n_threads

    def apply(self, V: Array, out: Array) -> Array:
        """out = A V."""
        out[:] = product(self.A, V, self.n_threads)
        return out

    def dense(self) -> Array:
        """A, in double."""
        return self.A.astype(np.float64)


class Whitened:
    """A = L^-1 (S + ridge I) L^-T."""

    def __init__(self, signal: Operator, factor: BlockFactor, ridge: float = 0.0) -> None:
        self.signal, self.factor, self.ridge = signal, factor, ridge
        self.size, self.dtype, self.n_threads = signal.size, signal.dtype, signal.n_threads

    def apply(self, V: Array, out: Array) -> Array:
        """out = A V."""
        X = self.factor.solve(np.array(V, order="C"), transpose=True)
        self.signal.apply(X, out)
        if self.ridge:
            out += self.dtype.type(self.ridge) * X
        return self.factor.solve(out, transpose=False)

    def dense(self) -> Array:
        """A, in double."""
        from scipy.linalg import solve_triangular

        A = self.signal.dense()
        A[np.arange(self.size), np.arange(self.size)] += self.ridge
        for _ in range(2):  # the columns, then the rows, as A is symmetric
            for part, block in zip(self.factor.slices, self.factor.blocks, strict=True):
                A[part] = solve_triangular(block.astype(np.float64), A[part], lower=True)
            A = A.T.copy()
        return (A + A.T) / 2

    def vectors(self, W: Array, values: Array) -> Array:
        """The v of eigenvectors w, as columns."""
        return self.factor.solve(np.array(W, order="C"), transpose=True)


class Crossed:
    """A = K'K for K = L_1^-1 M_1'M_2 L_2^-T: the correlations between two views are the singular values of K.

    The eigenvalues of S = [0 M_1'M_2; M_2'M_1 0] come in pairs of either sign. A has each pair once, squared, on
    the side of one view: this halves the basis and the steps.
    """

    def __init__(
        self, views: Sequence[SparseOperator | DenseOperator], blocks: Sequence[Array], n_threads: int
    ) -> None:
        self.first, self.second = views
        self.size, self.dtype, self.n_threads = self.second.size, self.second.dtype, n_threads
        self.factors = [BlockFactor([block], n_threads) for block in blocks]

    def apply(self, V: Array, out: Array) -> Array:
        """out = A V."""
        Y = self._cross(self.factors[1].solve(np.array(V, order="C"), transpose=True))
        X = self.second.left(self.first.right(self.factors[0].solve(Y, transpose=True)))
        out[:] = self.factors[1].solve(X, transpose=False)
        return out

    def dense(self) -> Array:
        """A, in double."""
        return _by_products(self)

    def vectors(self, W: Array, values: Array) -> Array:
        """The v of eigenvectors w, as columns: one view above the other, each with half of v'Nv."""
        X = self.factors[1].solve(np.array(W, order="C"), transpose=True)
        Y = self._cross(X) * _inverse_roots(values, self.dtype)
        self.factors[0].solve(Y, transpose=True)
        both: Array = np.concatenate([Y, X]) / self.dtype.type(np.sqrt(2))
        return both

    def _cross(self, X: Array) -> Array:
        return self.factors[0].solve(self.first.left(self.second.right(X)), transpose=False)


class NoiseSolver(Protocol):
    """Solves with N for a block of right-hand sides."""

    def solve(self, X: Array) -> Array:
        """N^-1 X, in new memory."""


class DocumentSide:
    """B = M N^-1 M', where the rows of M are documents."""

    def __init__(self, documents: SparseOperator, noise: NoiseSolver) -> None:
        self.documents, self.noise = documents, noise
        self.size, self.dtype, self.n_threads = documents.long, documents.dtype, documents.n_threads

    def apply(self, V: Array, out: Array) -> Array:
        """out = B V."""
        out[:] = self.documents.right(self.noise.solve(self.documents.left(V)))
        return out

    def dense(self) -> Array:
        """B, in double."""
        return _by_products(self)

    def vectors(self, U: Array, values: Array) -> Array:
        """The v of eigenvectors u, as columns; zero where the eigenvalue is zero."""
        vectors: Array = self.noise.solve(self.documents.left(U)) * _inverse_roots(values, self.dtype)
        return vectors


class Woodbury:
    """N^-1 X = (X - E' (E E' + ridge I)^-1 E X) / ridge, for N = E'E + ridge I."""

    def __init__(self, E: Any, ridge: float, n_threads: int) -> None:
        self.E = _whole(E, n_threads)
        self.ridge = ridge
        self.factor = BlockFactor([ridged_gram(E.T.tocsr(), ridge, n_threads, columns=E)], n_threads)

    def solve(self, X: Array) -> Array:
        """N^-1 X, in new memory."""
        Y = self.factor.solve(self.E.right(X), transpose=False)
        Z: Array = X - self.E.left(self.factor.solve(Y, transpose=True))
        Z /= X.dtype.type(self.ridge)
        return Z


class ConjugateGradient:
    """N^-1 by conjugate gradients, preconditioned with the diagonal, for N = E'E + ridge I.

    Takes about sqrt(condition) products with E and with E'. Columns go together until all have converged.
    """

    MAX_STEPS = 500

    def __init__(self, E: Any, ridge: float, tol: float, n_threads: int) -> None:
        self.E = _whole(E, n_threads)
        self.ridge = E.dtype.type(ridge)
        self.tol = max(tol, 4 * float(np.finfo(E.dtype).eps))
        squares = np.bincount(E.indices, weights=E.data.astype(np.float64) ** 2, minlength=E.shape[1])
        self.inverse_diagonal = (1.0 / (squares + ridge)).astype(E.dtype)[:, None]

    def solve(self, X: Array) -> Array:
        """N^-1 X, in new memory."""
        Z, _, excess = self._steps(X, self.MAX_STEPS)
        if excess > 1:
            worst = excess * self.tol
            raise ValueError(
                f"gamma: too small, conjugate gradients stopped at a relative residual of {worst:.1e}"
            )
        return Z

    def steps(self, most: int) -> int:
        """How many steps a solve takes, or more than `most`: tried with a few columns."""
        X = np.empty((self.E.size, 4), self.E.dtype)
        _core.fill_normal(X, 0, 0, self.E.n_threads)
        _, steps, excess = self._steps(X, most)
        return steps if excess <= 1 else most + 1

    def _steps(self, X: Array, most: int) -> tuple[Array, int, float]:
        """N^-1 X, the steps taken, and the largest residual that is left, over the tolerance."""
        Z = np.zeros_like(X)
        residual = X.copy()
        P = self.inverse_diagonal * residual
        rho = _dots(residual, P)
        goal = self.tol**2 * rho
        for step in range(most):
            if (rho <= goal).all():
                return Z, step, 1.0
            Q = self.E.apply(P, np.empty_like(P))
            Q += self.ridge * P
            # For a column that is done this would be 0 / 0.
            length = np.divide(rho, _dots(P, Q), out=np.zeros_like(rho), where=rho > 0).astype(X.dtype)
            Z += length * P
            residual -= length * Q
            preconditioned = self.inverse_diagonal * residual
            previous, rho = rho, _dots(residual, preconditioned)
            P *= np.divide(rho, previous, out=np.zeros_like(rho), where=previous > 0).astype(X.dtype)
            P += preconditioned
        return Z, most, float(np.sqrt(np.max(rho / np.maximum(goal, np.finfo(np.float64).tiny))))


def _by_products(operator: Any) -> Array:
    """An operator as a dense matrix in double."""
    A = np.empty((operator.size, operator.size), operator.dtype)
    for begin in range(0, operator.size, 256):
        unit = np.eye(operator.size, min(256, operator.size - begin), -begin, dtype=operator.dtype)
        operator.apply(unit, A[:, begin : begin + unit.shape[1]])
    wide: Array = A.astype(np.float64)
    return (wide + wide.T) / 2


def _inverse_roots(values: Array, dtype: np.dtype[Any]) -> Array:
    """1 / sqrt(values), or 0 where a value is only rounding."""
    present = values > values.max(initial=0.0) * np.finfo(dtype).eps
    roots = np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=present)
    return roots.astype(dtype)


def _whole(E: Any, n_threads: int) -> SparseOperator:
    return SparseOperator(E, None, n_threads=n_threads, transposed=False)


def _dots(X: Array, Y: Array) -> Array:
    """Inner products of columns, in double."""
    products: Array = np.einsum("ij,ij->j", X, Y, dtype=np.float64)
    return products
