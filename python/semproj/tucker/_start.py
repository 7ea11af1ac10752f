"""Where the sweeps over a sparse tensor begin: the first factors, and the memory that all of it takes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from .._common.types import Array
from .._solvers.krylov import block_width, complete, product
from .._solvers.svd import SparseOperator, leading_vectors
from ._fibres import Relabelled
from ._hooi import DOUBLE_ROWS, EXACT, FEW


def leading_of_unfolding(data: Relabelled, j: int, rank: int, *, key: int, n_threads: int, progress: Any) -> Array:
    """HOSVD: the leading left vectors of the unfolding of the tensor itself, which stays sparse."""
    others = [i for i in range(len(data.shape)) if i != j]
    column = np.zeros(len(data.values), np.int64)
    n_columns = 1
    for i in others:
        if n_columns * data.shape[i] > max(1 << 20, 4 * len(column)):  # leave out columns without entries
            column = np.unique(column, return_inverse=True)[1]
            n_columns = int(column.max(initial=0)) + 1
        column = column * data.shape[i] + data.coords[i]
        n_columns *= data.shape[i]
    if n_columns > max(1 << 20, 4 * len(column)):
        column = np.unique(column, return_inverse=True)[1]
        n_columns = int(column.max(initial=0)) + 1
    M = sp.csr_matrix((data.values, (column, data.coords[j])), shape=(n_columns, data.n_rows[j]))
    k = min(rank, *M.shape)
    found = leading_vectors(
        SparseOperator(M, None, n_threads=n_threads),
        k,
        size=start_basis(k),
        solver="randomized",
        tol=0.0,
        max_restarts=0,
        key=key,
        progress=progress,
    )
    vectors, values = found.components.T, found.singular_values
    missing = rank - k
    factor = complete(np.pad(vectors, ((0, 0), (0, missing))), np.pad(values, (0, missing)), key)[0]
    return np.ascontiguousarray(factor)


def start_basis(rank: int) -> int:
    """Columns of the Krylov basis: the sweeps improve what it finds, so it need not be large."""
    return rank + rank // 2 + 4 * block_width(rank)


def random_factor(n: int, rank: int, dtype: Any, *, key: int, stream: int, n_threads: int) -> Array:
    """Orthonormal columns in a random direction."""
    out = np.empty((n, rank), dtype)
    _core.fill_normal(out, key, stream, n_threads)
    return orthonormal(out, n_threads)


def orthonormal(Z: Array, n_threads: int) -> Array:
    """An orthonormal basis of linearly independent columns; LinAlgError for others."""
    for _ in range(2):
        lengths, Q = np.linalg.eigh(_core.tall_cross(Z, Z, n_threads))
        if not lengths[0] > 100 * np.finfo(Z.dtype).eps * lengths[-1]:
            raise np.linalg.LinAlgError("columns are linearly dependent")
        Z = product(Z, (Q / np.sqrt(lengths)) @ Q.T, n_threads)
    return Z


def needed_memory(data: Relabelled, ranks: tuple[int, ...], hosvd: bool) -> tuple[int, int]:
    """Bytes that a fit takes besides blocks of unfoldings, and the least that such a block takes."""
    item, nnz, core = data.values.dtype.itemsize, len(data.values), prod(ranks)
    modes = [j for j in range(len(ranks)) if ranks[j] < data.shape[j]]
    factors = [data.n_rows[j] * ranks[j] * item for j in modes]
    # The entries in the user's order and once for each mode; the factors, their result, one packed, one kept.
    fixed = nnz * (8 * len(ranks) + (len(modes) + 1) * (item + 4)) + 2 * sum(factors) + 2 * max(factors)
    fixed += 16 * 8 * core  # the core, what is derived from it, and the partial sums it is made of
    # Where the entries of each row and uncompressed index begin; while they are sorted, two and a half times more.
    n_whole = prod(size for size, rank in zip(data.shape, ranks, strict=True) if rank == size)
    offsets = [8 * data.n_rows[j] * n_whole for j in modes]
    fixed += sum(offsets) + 5 * max(offsets) // 2
    columns = [core // ranks[j] for j in modes]
    exact = [
        _exact_memory(data.n_rows[j], c, item)
        for j, c in zip(modes, columns, strict=True)
        if min(data.n_rows[j], c) <= max(FEW, EXACT * ranks[j])
    ]
    starts = [
        2 * nnz * (item + 4) + data.n_rows[j] * (start_basis(ranks[j]) + 4 * block_width(ranks[j])) * item
        for j in modes[1:]
    ]
    fixed += max([*exact, *(starts if hosvd else []), 0])
    return fixed, max(256 * c * item for c in columns)


def _exact_memory(n_rows: int, columns: int, item: int) -> int:
    """Bytes of an exact solve: Gram matrices, eigenvectors, rows in double; where rows are few, all of them."""
    short = min(n_rows, columns)
    whole = n_rows * columns * item if n_rows <= columns else 0
    return 8 * short * (8 * short + 2 * DOUBLE_ROWS) + whole
