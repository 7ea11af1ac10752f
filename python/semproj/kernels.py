"""The low-level entry points: arrays in, arrays out, no estimator around them.

For users who want one kernel in a pipeline of their own: plain functions on NumPy and SciPy arrays. Sparse input
is not copied if it is CSR with int32 or int64 indices and float32, float64 or int32 values; so other threads must
not write to it, nor to dense arrays, during a call.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._common.resources import resolve_threads
from ._common.types import Array
from ._common.validation import (
    as_counts,
    as_csr,
    check_choice,
    check_coupling,
    check_finite,
    check_integer,
    check_out,
    check_positive,
    check_real,
    core_csr,
    native,
    without_duplicates,
)
from ._solvers.rowsolve import RowSolver

if TYPE_CHECKING:
    from .weighting import TermWeighting

__all__ = ["Projection", "project", "project_posteriors", "weighted_row_solve"]

_WEIGHED_AT_ONCE = 1 << 20  # non-zeros: 8 MB of weights and indices, for which a projection is read once
EQUAL_FRACTIONS = 1e-6  # how far an infinite coupling lets fractions differ
STORAGES = ("float32", "float16", "int8", "float64")


class Projection:
    """A dense projection, packed once for :func:`project`.

    Parameters
    ----------
    matrix : array of shape (n_features, n_components)
        float32 or float64, with any strides: a transposed ``components_`` is fine.
    storage : {"float32", "float16", "int8", "float64"} or None
        How to keep elements. float16 and int8 have a scale per column, and relative errors of about 2e-4 and 1e-2
        on a projected row. None: the precision of the matrix.
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
        array = native(np.asarray(matrix))
        if array.ndim != 2:
            raise ValueError(f"matrix: expected 2 dimensions, got {array.ndim}")
        if array.dtype.kind not in "biuf":
            raise TypeError(f"matrix: expected numbers, got dtype {array.dtype}")
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
        storage = check_choice(array.dtype.name if storage is None else storage, "storage", STORAGES)
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
    """Multiply sparse rows by a dense projection.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, n_features)
        Indices may be in any order; duplicates add up.
    projection : Projection or array of shape (n_features, n_components)
        An array is packed at each call: to use it more than once, pack it yourself.
    out : array of shape (n, n_components) or None
        Where the result goes; rows must be contiguous. None: new memory.
    weighting : fitted term weighting or None
        Applied to the non-zeros on the fly, as ``weighting.transform(X)`` would.
    normalize : bool, default False
        Scale each row of the result to unit length; zero rows stay zero.
    accumulate : bool, default False
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
    X = as_csr(X, ranges=False)
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
    result = check_out(out, (X.shape[0], projection.shape[1]), projection.dtype)
    if weighting is None or fused is not None:
        _core.project(core_csr(X), projection._packed, result, fused, normalize, accumulate, threads)
        return result
    # A function of the user has a loop of its own: a block of rows is weighted, then projected.
    if X.shape[0]:
        X = weighting._validated(X, reset=False)
    for first, last in _row_blocks(X.indptr):
        rows = weighting._weighted(X[first:last], threads, first_row=first)
        _core.project(core_csr(rows), projection._packed, result[first:last], None, normalize, accumulate, threads)
    return result


def _row_blocks(indptr: Array) -> Iterator[tuple[int, int]]:
    """First and last rows of what is weighted at once: little enough for a cache, for one look at the table."""
    first = 0
    while first < len(indptr) - 1:
        last = int(np.searchsorted(indptr, indptr[first] + _WEIGHED_AT_ONCE, side="right")) - 1
        last = min(max(first + 1, last), len(indptr) - 1)
        yield first, last
        first = last


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
    """Regress sparse rows on dense factors, with weights and a ridge: the half-sweep of weighted factorisations.

    Row r of the result is the q that minimises ``sum_i W_ri (factors[i] @ q - X_ri)^2 + reg |q|^2``. Where X has
    an entry, W is its weight; elsewhere X is 0 and W is ``missing_weight``. WTMF alternates between sentences and
    words, factorisations of implicit feedback between users and items.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, n_columns)
        Its entries are observed, even those that are zero; of an array, the non-zeros. Duplicates add up.
    factors : array of shape (n_columns, n_components), float32 or float64
    missing_weight, reg : float, at least 0
    weights : sparse matrix of the same shape and entries as X, or None
        Weights of the observed cells, at least 0. None: all 1.
    out : array of shape (n, n_components) or None
    n_threads : int or None

    Returns
    -------
    array of shape (n, n_components), of the dtype of `factors`
        Exact solutions, zero for an empty row. In float32 they agree with a solve in double to about 1e-6 of the
        row's largest element, and to 1e-5 where factors are nearly collinear. A row's bits depend neither on the
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


def project_posteriors(
    theta1: Any,
    theta2: Any,
    phi1: Any,
    phi2: Any,
    counts1: Any,
    counts2: Any,
    coupling: float,
    *,
    norm: str = "l1",
    start: Any = None,
    tol: float = 2e-6,
    max_iter: int = 100,
    n_threads: int | None = None,
) -> tuple[Array, Array, Array, Array, Array]:
    """CPLSA's projection: the nearest posteriors over topics whose expected fractions agree in pairs of documents.

    For each pair, find the posteriors q of its tokens that minimise ``KL(q || p) + coupling * norm(f1 - f2)``.
    Here p is proportional to ``theta_t phi_tw``, and f are the expected fractions of topics: means of q over the
    tokens of a side. Dual variables lambda, one for each topic, determine q: ``q1(t | w)`` is proportional to
    ``theta1_t exp(-lambda_t / n1) phi1_tw``, and ``q2(t | w)`` to ``theta2_t exp(lambda_t / n2) phi2_tw``.

    Parameters
    ----------
    theta1, theta2 : arrays of shape (n_pairs, n_topics)
        Topic mixtures of the documents of each side, at least 0.
    phi1, phi2 : arrays of shape (n_topics, n_words) and (n_topics, n_words2)
        Topics as rows, like ``components_``, at least 0. Both sides may share them.
    counts1, counts2 : sparse matrices or arrays of shape (n_pairs, n_words) and (n_pairs, n_words2)
        Tokens of the documents, at least 0. Those of probability zero are ignored.
    coupling : float, at least 0, or infinity
        With an infinite one, lambda stays within 20 for each token of the shorter document, which moves tokens
        against odds of e^40. A pair that needs more is not done.
    norm : {"l1", "l2"}, default "l1"
    start : array of shape (n_pairs, n_topics) or None
        Where lambda starts. None: at zero.
    tol : float, above 0, default 2e-6
        A pair is done when it is within this many nats for each token of the best, or within 5e-7 of the coupling:
        then fractions are as float32 has them. With an infinite coupling it is done when no fractions differ by
        more than this, nor by more than 1e-6. Pairs that are not done give a ``ConvergenceWarning``.
    max_iter : int, default 100
        Evaluate a pair at most so often, and once more if the last step must be taken back. A pair that has not
        got there with half of them, or with 60, goes on by Newton's method in double precision.
    n_threads : int or None

    Returns
    -------
    lambda : float32 array of shape (n_pairs, n_topics)
        Zero for a pair with an empty side, which is not coupled. Fractions and gaps of pairs that Newton's method
        has done are those of lambda before it was rounded to float32.
    fractions1, fractions2 : float32 arrays of shape (n_pairs, n_topics)
    gap : float64 array of shape (n_pairs,)
        ``coupling * norm(f1 - f2) - lambda @ (f1 - f2)``: the minimum is at most this much lower. With an infinite
        coupling, the largest of ``abs(f1 - f2)``.
    evaluations : int64 array of shape (n_pairs,)
        Negative for pairs that are not done.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.kernels import project_posteriors
    >>> theta = np.array([[0.5, 0.5]])
    >>> phi = np.array([[0.6, 0.4], [0.2, 0.8]])
    >>> counts = np.array([[4, 1]]), np.array([[1, 3]])
    >>> free = project_posteriors(theta, theta, phi, phi, *counts, coupling=0)
    >>> np.round(free[1], 3), np.round(free[2], 3)
    (array([[0.667, 0.333]], dtype=float32), array([[0.438, 0.562]], dtype=float32))
    >>> tied = project_posteriors(theta, theta, phi, phi, *counts, coupling=np.inf)
    >>> bool(abs(tied[1] - tied[2]).max() < 1e-6)
    True
    """
    threads = resolve_threads(n_threads)
    coupling = check_coupling(coupling)
    check_choice(norm, "norm", ("l1", "l2"))
    tol = check_positive(tol, "tol")
    check_integer(max_iter, "max_iter", low=1)
    thetas = [_checked_probabilities(x, name) for x, name in ((theta1, "theta1"), (theta2, "theta2"))]
    phis = [_checked_probabilities(x, name) for x, name in ((phi1, "phi1"), (phi2, "phi2"))]
    counts = []
    shape = thetas[0].shape
    for i, x in enumerate((counts1, counts2)):
        x = as_counts(without_duplicates(as_csr(x, f"counts{i + 1}")), f"counts{i + 1}")
        if thetas[i].shape != shape:
            raise ValueError(f"theta{i + 1}: expected the shape of theta1, {shape}, got {thetas[i].shape}")
        if phis[i].shape[0] != shape[1]:
            raise ValueError(f"phi{i + 1}: expected a row for each of {shape[1]} topics, got {phis[i].shape[0]}")
        if x.shape != (expected := (shape[0], phis[i].shape[1])):
            raise ValueError(f"counts{i + 1}: expected shape {expected}, got {x.shape}")
        counts.append(core_csr(x))
    multipliers = np.zeros(shape, np.float32)
    if start is not None:
        multipliers[:] = _checked_start(start, shape)
    words1, words2 = (_core.TopicWords(np.ascontiguousarray(phi.T), threads) for phi in phis)
    fractions1, fractions2 = np.empty(shape, np.float32), np.empty(shape, np.float32)
    gaps, evaluations = np.empty(shape[0]), np.empty(shape[0], np.int64)
    _core.project_posteriors(
        _core.PairSide(counts[0], words1, thetas[0], fractions1),
        _core.PairSide(counts[1], words2, thetas[1], fractions2),
        multipliers,
        gaps,
        evaluations,
        _core.Coupling(
            weight=coupling,
            l2=norm == "l2",
            tol=min(tol, EQUAL_FRACTIONS) if np.isinf(coupling) else tol,
            max_evaluations=max_iter,
        ),
        threads,
    )
    if (short := evaluations < 0).any():
        warnings.warn(
            f"{short.sum()} of {len(short)} pairs did not reach tol={tol:g}: their largest gap is "
            f"{gaps[short].max():.1e}. A larger tol or max_iter may help, or a smaller coupling",
            ConvergenceWarning,
            stacklevel=2,
        )
    return multipliers, fractions1, fractions2, gaps, evaluations


def _checked_probabilities(x: Any, name: str) -> Array:
    table = np.asarray(x)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"{name}: expected a matrix with at least one column, got shape {table.shape}")
    if table.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected numbers, got dtype {table.dtype}")
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(native(table), np.float32)
    if not (np.isfinite(narrow).all() and (narrow >= 0).all()):
        raise ValueError(f"{name}: expected finite numbers, at least 0, that float32 can hold")
    return narrow


def _checked_start(start: Any, shape: tuple[int, ...]) -> Array:
    table = np.asarray(start)
    if table.shape != shape:
        raise ValueError(f"start: expected shape {shape}, got {table.shape}")
    if table.dtype.kind not in "biuf" or not (np.abs(table) < np.finfo(np.float32).max).all():
        raise ValueError("start: expected finite numbers that float32 can hold")
    return table


def _checked_factors(factors: Any) -> Array:
    table = native(np.asarray(factors))
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"factors: expected a matrix with at least one column, got shape {table.shape}")
    if table.dtype not in (np.float32, np.float64):
        raise TypeError(f"factors: expected float32 or float64, got dtype {table.dtype}")
    check_finite(table, "factors")
    return np.ascontiguousarray(table)


def _checked_entries(X: Any, weights: Any) -> tuple[Any, Array | None]:
    """X as CSR without duplicates, and the weights of its entries in their order."""
    X = without_duplicates(as_csr(X))
    check_finite(X.data, "X")
    if weights is None:
        return X, None
    weights = as_csr(weights, "weights")
    if weights.shape != X.shape:
        raise ValueError(f"weights: expected the shape of X, {X.shape}, got {weights.shape}")
    X, weights = (x if x.has_sorted_indices else x.sorted_indices() for x in (X, without_duplicates(weights)))
    if not (np.array_equal(X.indptr, weights.indptr) and np.array_equal(X.indices, weights.indices)):
        raise ValueError("weights: expected an entry for each entry of X and no others")
    if not (np.isfinite(weights.data).all() and (weights.data >= 0).all()):
        raise ValueError("weights: expected finite numbers, at least 0")
    return X, weights.data
