"""Leading singular vectors of a sparse matrix.

Let M (long x short) be the matrix or its transpose, perhaps centred. We find the eigenvectors of the short side's
Gram operator A = M'M in a block Krylov space (``krylov``), and turn them into right singular vectors.

A product with A of b columns costs 4 z b flops for z non-zeros. As M V is formed for a chunk of rows at a time, we
need memory for 2 chunk b elements and a transposed copy of the matrix, beside the basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from .._common.types import Array
from .._common.validation import core_csr
from .krylov import complete, leading_eigenvectors, product

CHUNK_ROWS = 8192  # rows of M V at a time, so that the product with M' finds them in the cache


@dataclass
class SingularVectors:
    """Singular values (largest first), right vectors as rows, relative residuals, whether tol was reached."""

    singular_values: Array
    components: Array
    residuals: Array
    converged: bool
    n_restarts: int


class SparseOperator:
    """The Gram operator M'M of M = S - A B' (long x short): S is sparse, a few rank-one terms A B' centre it.

    `shift` is (A, B) for X as it comes, in double. `transposed` says that M is X'; None chooses what makes M
    longer than wide. M V is formed for `chunk_rows` at a time.
    """

    def __init__(
        self,
        X: Any,
        shift: tuple[Array, Array] | None,
        *,
        n_threads: int,
        transposed: bool | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> None:
        self.transposed = X.shape[0] < X.shape[1] if transposed is None else transposed
        S = X.T.tocsr() if self.transposed else X
        self.long, self.size = S.shape
        self.dtype, self.n_threads = X.dtype, n_threads
        self.shift = shift if shift is None or not self.transposed else shift[::-1]
        self._chunks = []
        for begin in range(0, self.long, chunk_rows):
            part = _rows_of(S, begin, min(self.long, begin + chunk_rows))
            self._chunks.append((begin, part, part.T.tocsr()))

    def apply(self, V: Array, out: Array) -> Array:
        """out = M'M V, without ever holding all of M V."""
        packed, along = self._pack(V), self._along(V)
        weight: Any = 0.0
        for i, (begin, part, part_t) in enumerate(self._chunks):
            Y = np.empty((part.shape[0], V.shape[1]), self.dtype)
            self._right(begin, part, packed, along, Y)
            if self.shift is not None:
                weight = weight + self.shift[0][begin : begin + len(Y)].T @ Y
            self._multiply(part_t, self._pack(Y), out, accumulate=i > 0)
        if self.shift is not None:
            out -= (self.shift[1] @ weight).astype(self.dtype)
        return out

    def right(self, V: Array) -> Array:
        """M V (long x width)."""
        packed, along = self._pack(V), self._along(V)
        Y = np.empty((self.long, V.shape[1]), self.dtype)
        for begin, part, _ in self._chunks:
            self._right(begin, part, packed, along, Y[begin : begin + part.shape[0]])
        return Y

    def left(self, U: Array) -> Array:
        """M'U (short x width)."""
        out = np.empty((self.size, U.shape[1]), self.dtype)
        for i, (begin, part, part_t) in enumerate(self._chunks):
            self._multiply(part_t, self._pack(U[begin : begin + part.shape[0]]), out, accumulate=i > 0)
        if self.shift is not None:
            out -= (self.shift[1] @ (self.shift[0].T @ U)).astype(self.dtype)
        return out

    def dense(self) -> Array:
        """M'M in double, if the short side is small enough."""
        G = np.zeros((self.size, self.size))
        SA: Any = 0.0
        for begin, part, _ in self._chunks:
            part = part.astype(np.float64)
            G += (part.T @ part).toarray()
            if self.shift is not None:
                SA = SA + part.T @ self.shift[0][begin : begin + part.shape[0]]
        if self.shift is not None:
            A, B = self.shift
            G -= SA @ B.T + B @ SA.T - B @ (A.T @ A) @ B.T
        return G

    def _along(self, V: Array) -> Array | None:
        return None if self.shift is None else self.shift[1].T @ V

    def _right(self, begin: int, part: Any, packed: _core.PackedProjection, along: Array | None, Y: Array) -> None:
        self._multiply(part, packed, Y)
        if self.shift is not None and along is not None:
            Y -= (self.shift[0][begin : begin + len(Y)] @ along).astype(self.dtype)

    def _pack(self, V: Array) -> _core.PackedProjection:
        return _core.PackedProjection(V, self.dtype.name, self.n_threads)

    def _multiply(self, S: Any, packed: _core.PackedProjection, out: Array, accumulate: bool = False) -> None:
        _core.project(core_csr(S), packed, out, None, False, accumulate, self.n_threads)


def column_mean(X: Any) -> Array:
    """The mean of the rows of a CSR matrix, in double."""
    mean: Array = np.bincount(X.indices, weights=X.data, minlength=X.shape[1]) / X.shape[0]
    return mean


def _rows_of(S: Any, begin: int, end: int) -> Any:
    """S[begin:end] without a copy of its entries."""
    at = slice(S.indptr[begin], S.indptr[end])
    offsets = S.indptr[begin : end + 1] - S.indptr[begin]
    return sp.csr_matrix((S.data[at], S.indices[at], offsets), shape=(end - begin, S.shape[1]), copy=False)


def leading_vectors(operator: SparseOperator, k: int, *, key: int, **options: Any) -> SingularVectors:
    """The k leading right singular vectors of the matrix behind `operator`, as rows.

    If the solver found left vectors U, these are M'U, made orthonormal by one more small eigenproblem.
    """
    found = leading_eigenvectors(operator, k, key=key, **options)
    values, vectors = found.values, found.vectors
    if operator.transposed:
        Z = operator.right(vectors)
        g, E = np.linalg.eigh(_core.tall_cross(Z, Z, operator.n_threads))
        values, E = np.maximum(g[::-1], 0.0), E[:, ::-1]
        # Directions of singular value 0 become zero vectors here; `complete` replaces them.
        present = values > values.max(initial=0.0) * np.finfo(Z.dtype).eps ** 2
        scale = np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=present & (values > 0))
        vectors, values = complete(product(Z, E * scale, operator.n_threads), values, key)
    return SingularVectors(
        np.sqrt(values), np.ascontiguousarray(vectors.T), found.residuals, found.converged, found.n_restarts
    )
