"""A metric over word vectors that are given: V_i' A V_j to be near what is known of words i and j."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_integer, check_positive, check_real
from .._solvers.lbfgs import minimize_lbfgs


def learn_metric(
    vectors: Any,
    i: Any,
    j: Any,
    values: Any,
    reg: float = 1e-4,
    *,
    center: Any = None,
    symmetric: bool = True,
    max_iter: int = 500,
    tol: float = 1e-6,
    n_threads: int | None = None,
) -> Array:
    """Learn a matrix A by which cells are about ``vectors[i] @ A @ vectors[j]``.

    The linear metric of Zhang and others 2014, section 4.4. A minimises the mean of the squares of
    ``values - vectors[i] @ A @ vectors[j]`` over the cells, plus `reg` times the sum of the squares of
    ``A - center``, by L-BFGS. A step costs ``n_cells D + n_words D^2`` multiply-adds, twice: the gradient is
    ``V' (E V)`` with the residuals as a sparse matrix E.

    Parameters
    ----------
    vectors : array of shape (n_words, n_components)
        For instance `word_vectors_` of a :class:`BPTF`, or one of its `samples_`.
    i, j : arrays of int of shape (n_cells,)
        Numbers of words.
    values : array of shape (n_cells,)
        What is known of each pair.
    reg : float, default 1e-4
        At least 0.
    center : array of shape (n_components, n_components) or None
        A starts here, and the ridge draws it here. None: zero. For a slice of BPTF, take the diagonal matrix of
        the slice's perspective vector.
    symmetric : bool, default True
        Whether A is to be symmetric. Then it does not matter in which order a pair is given.
    max_iter : int, default 500
    tol : float, default 1e-6
        The largest element of the gradient in the end, over that for ``A = 0``; over that at `center` if ``A = 0``
        has none. There is a warning when it stays larger.
    n_threads : int or None

    Returns
    -------
    float64 array of shape (n_components, n_components)

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.bptf import learn_metric
    >>> rng = np.random.default_rng(0)
    >>> V = rng.standard_normal((30, 2))
    >>> i, j = np.triu_indices(30, 1)
    >>> relatedness = V[i, 0] * V[j, 1] + V[i, 1] * V[j, 0]
    >>> A = learn_metric(V, i, j, relatedness, reg=0)
    >>> bool(np.allclose(A, [[0, 1], [1, 0]], atol=1e-4))
    True
    """
    V, rows, cols, known = _check_cells(vectors, i, j, values)
    d, n = V.shape[1], len(rows)
    reg, tol = check_real(reg, "reg", low=0), check_positive(tol, "tol")
    check_integer(max_iter, "max_iter", low=1)
    threads = resolve_threads(n_threads)
    zero = np.zeros((d, d)) if center is None else _check_center(center, d, symmetric)
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(V)))])
    rows, cols, known = rows[order], cols[order], known[order]
    wide = np.zeros((len(V), _core.padded(d)))
    wide[:, :d] = V
    mapped = np.zeros_like(wide)

    def objective(flat: Array) -> tuple[float, Array]:
        A = flat.reshape(d, d)
        mapped[:, :d] = V @ A.T
        left = known - _core.pair_products(wide, mapped, rows, cols, threads)
        off = A - zero
        gradient = V.T @ (sparse.csr_array((left, cols, indptr), shape=(len(V), len(V))) @ V)
        gradient = 2 * (reg * off - gradient / n)
        if symmetric:  # from a symmetric start all steps are then symmetric
            gradient = (gradient + gradient.T) / 2
        return float(left @ left) / n + reg * float(np.vdot(off, off)), gradient.ravel()

    with single_threaded_blas():
        nothing, at_start = (float(np.abs(objective(A)[1]).max()) for A in (np.zeros(d * d), zero.ravel()))
        scale, scale_name = (nothing, "for A = 0") if nothing else (at_start, "for A = center")
        try:
            learnt = minimize_lbfgs(
                objective, zero.ravel(), max_iter=max_iter, tol=tol, scale=scale, scale_name=scale_name
            )
        except ValueError:
            raise ValueError("values: the squared error is not finite; values or vectors are too large") from None
    return learnt.reshape(d, d)


def _check_cells(vectors: Any, i: Any, j: Any, values: Any) -> tuple[Array, Array, Array, Array]:
    V = np.asarray(vectors)
    if V.ndim != 2 or V.dtype.kind != "f" or not V.shape[1]:
        raise ValueError(f"vectors: expected a matrix of floats, got shape {V.shape} of {V.dtype}")
    if not np.isfinite(V).all():
        raise ValueError("vectors: expected finite values")
    known = np.asarray(values, np.float64)
    if known.ndim != 1 or not len(known) or not np.isfinite(known).all():
        raise ValueError(f"values: expected finite numbers, at least one, got shape {known.shape}")
    found = []
    for words, name in ((i, "i"), (j, "j")):
        numbers = check_word_numbers(words, name, len(V))
        if numbers.shape != known.shape:
            raise ValueError(f"{name}: expected a word for each of {len(known)} values, got shape {numbers.shape}")
        found.append(numbers.astype(np.int32))
    return V.astype(np.float64), found[0], found[1], known


def check_word_numbers(words: Any, name: str, n_words: int) -> Array:
    """Numbers of words that there are."""
    found = np.asarray(words)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected numbers of words, got {found.dtype}")
    if found.size and (found.min() < 0 or found.max() >= n_words):
        raise ValueError(f"{name}: expected numbers of words below {n_words}, got {found.min()} to {found.max()}")
    return found


def _check_center(center: Any, d: int, symmetric: bool) -> Array:
    found = np.array(center, np.float64)
    if found.shape != (d, d) or not np.isfinite(found).all():
        raise ValueError(f"center: expected finite numbers of shape {(d, d)}, got shape {found.shape}")
    if symmetric and not np.array_equal(found, found.T):
        raise ValueError("center: expected a symmetric matrix, or symmetric=False")
    return found
