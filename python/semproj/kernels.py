"""The low-level entry points: arrays in, arrays out, no estimator around them.

Everything here is a plain function on NumPy and SciPy arrays, for users who embed one kernel in their own
pipeline. Sparse input is taken without a copy when it is CSR with int32 or int64 indices and float32, float64
or int32 values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._rowsolve import RowSolver
from ._threads import resolve_threads
from ._types import Array
from ._validation import as_csr, check_choice, check_out, check_real, check_sparse, core_csr, without_duplicates

if TYPE_CHECKING:
    from .weighting import TermWeighting

__all__ = ["Projection", "project", "weighted_row_solve"]

STORAGES = ("float32", "float16", "int8", "float64")


class Projection:
    """A dense projection, packed once for :func:`project`.

    Parameters
    ----------
    matrix : array of shape (n_features, n_components)
        float32 or float64; any strides, so a transposed ``components_`` is fine.
    storage : {"float32", "float16", "int8", "float64"} or None
        How elements are kept. float16 and int8 carry one scale per column; their relative error on a
        projected row is about 2e-4 and 1e-2. None keeps the matrix's own precision.
    n_threads : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.kernels import Projection
    >>> P = Projection(np.eye(3, 2, dtype=np.float32), storage="int8")
    >>> P.shape, P.storage
    ((3, 2), 'int8')
    """

    def __init__(self, matrix: Any, storage: str | None = None, n_threads: int | None = None) -> None:
        array = np.asarray(matrix)
        if array.ndim != 2:
            raise ValueError(f"matrix: expected 2 dimensions, got {array.ndim}")
        if array.dtype.kind not in "biuf":
            raise TypeError(f"matrix: expected numbers, got dtype {array.dtype}")
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
        if storage is None:
            storage = array.dtype.name
        check_choice(storage, "storage", STORAGES)
        self._packed = _core.PackedProjection(array, storage, resolve_threads(n_threads))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_features, n_components)."""
        return self._packed.n_terms, self._packed.n_components

    @property
    def storage(self) -> str:
        """How elements are kept."""
        return self._packed.storage

    @property
    def nbytes(self) -> int:
        """Bytes of the packed table."""
        return self._packed.nbytes

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of projected rows."""
        return np.dtype(np.float64 if self.storage == "float64" else np.float32)

    def __repr__(self) -> str:
        return f"Projection(shape={self.shape}, storage={self.storage!r})"


def project(
    X: Any,
    projection: Any,
    *,
    out: Array | None = None,
    weighting: TermWeighting | None = None,
    normalize: bool = False,
    accumulate: bool = False,
    n_threads: int | None = None,
) -> Array:
    """Sparse rows times a dense projection.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, n_features)
        Indices need not be sorted; duplicates add up.
    projection : Projection or array of shape (n_features, n_components)
        An array is packed on the way in: pack it once yourself when it is used more than once.
    out : array of shape (n, n_components), optional
        Where the result goes; rows must be contiguous. Fresh memory by default.
    weighting : fitted term weighting, optional
        Applied to the non-zeros on the fly, as ``weighting.transform(X)`` would.
    normalize : bool
        Scale each row of the result to unit length; zero rows stay zero.
    accumulate : bool
        Add to ``out`` instead of overwriting it.
    n_threads : int or None

    Returns
    -------
    array of shape (n, n_components)
        float64 for float64 storage, otherwise float32. A row's bits depend neither on the number of threads
        nor on the other rows.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from semproj.kernels import project
    >>> project(sp.csr_matrix([[0, 2], [1, 0]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[6., 8.],
           [1., 2.]])
    """
    threads = resolve_threads(n_threads)
    if not isinstance(projection, Projection):
        projection = Projection(projection, n_threads=threads)
    X = as_csr(X)
    if X.shape[1] != projection.shape[0]:
        raise ValueError(f"X: has {X.shape[1]} columns, the projection has {projection.shape[0]} rows")
    if accumulate and out is None:
        raise ValueError("out: accumulate=True needs the array to add to")
    if accumulate and normalize:
        raise ValueError("normalize: cannot be combined with accumulate=True")
    fused = None
    if weighting is not None:
        X = without_duplicates(X)
        fused = weighting._fused()
        if fused is None:  # a user's own function: weighted first, in its own loop
            X = weighting.transform(X)
    result = check_out(out, (X.shape[0], projection.shape[1]), projection.dtype)
    _core.project(core_csr(X), projection._packed, result, fused, normalize, accumulate, threads)
    return result


def weighted_row_solve(
    X: Any,
    factors: Any,
    *,
    missing_weight: float,
    reg: float,
    weights: Any = None,
    out: Array | None = None,
    n_threads: int | None = None,
) -> Array:
    """Weighted ridge regressions of sparse rows on dense factors: the half-sweep of weighted factorisations.

    Row r of the result is the q that minimises ``sum_i W_ri (factors[i] @ q - X_ri)^2 + reg |q|^2``, where W is
    given for the cells of X that have an entry and ``missing_weight`` for all others, whose X is 0. WTMF
    alternates this over sentences and words; factorisations of implicit feedback over users and items.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, n_columns)
        Entries are observed even where they are zero; of an array, the non-zeros. Duplicates add up.
    factors : array of shape (n_columns, n_components), float32 or float64
    missing_weight, reg : float, at least 0
    weights : sparse matrix of the same shape and entries as X, or None
        Weights of the observed cells, at least 0. None: all 1.
    out : array of shape (n, n_components), optional
    n_threads : int or None

    Returns
    -------
    array of shape (n, n_components), of the dtype of `factors`
        Exact solutions. float32 ones agree with a solve in double to about 1e-6 of the row's largest element, and
        to 1e-5 where factors are nearly collinear. An empty row's is zero. A row's bits depend neither on the
        number of threads nor on the other rows.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from semproj.kernels import weighted_row_solve
    >>> factors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> weighted_row_solve(sp.csr_matrix([[3.0, 0.0, 0.0]]), factors, missing_weight=0.0, reg=0.5)
    array([[2., 0.]])
    """
    threads = resolve_threads(n_threads)
    table = _checked_factors(factors)
    missing_weight = check_real(missing_weight, "missing_weight", low=0)
    reg = check_real(reg, "reg", low=0)
    X, values = _checked_entries(X, weights)
    if X.shape[1] != len(table):
        raise ValueError(f"X: has {X.shape[1]} columns, factors has {len(table)} rows")
    result = check_out(out, (X.shape[0], table.shape[1]), table.dtype)
    try:
        solver = RowSolver(table, missing_weight, reg, threads)
    except OverflowError as error:
        raise ValueError(f"factors: {error}; scale them down") from None
    solver.solve(X, result, values)
    if not np.isfinite(result).all():
        raise ValueError(f"X: the solution is not finite; values are too large for {table.dtype}")
    return result


def _checked_factors(factors: Any) -> Array:
    table = np.asarray(factors)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"factors: expected a matrix with at least one column, got shape {table.shape}")
    if table.dtype not in (np.float32, np.float64):
        raise TypeError(f"factors: expected float32 or float64, got dtype {table.dtype}")
    if not np.isfinite(table).all():
        raise ValueError("factors: contains NaN or infinity")
    return np.ascontiguousarray(table)


def _checked_entries(X: Any, weights: Any) -> tuple[Any, Array | None]:
    """X as CSR without duplicates, and the weights of its entries in their order."""
    check_sparse(X)
    X = without_duplicates(as_csr(X))
    if not np.isfinite(X.data).all():
        raise ValueError("X: contains NaN or infinity")
    if weights is None:
        return X, None
    check_sparse(weights, "weights")
    weights = as_csr(weights, "weights")
    if weights.shape != X.shape:
        raise ValueError(f"weights: expected the shape of X, {X.shape}, got {weights.shape}")
    X, weights = (x if x.has_sorted_indices else x.sorted_indices() for x in (X, without_duplicates(weights)))
    if not (np.array_equal(X.indptr, weights.indptr) and np.array_equal(X.indices, weights.indices)):
        raise ValueError("weights: expected an entry for each entry of X and no others")
    if not (np.isfinite(weights.data).all() and (weights.data >= 0).all()):
        raise ValueError("weights: expected finite numbers, at least 0")
    return X, weights.data
