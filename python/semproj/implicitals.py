"""Recommendations from what users did: a weighted factorisation of implicit feedback."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from ._common.base import RowTransformer
from ._common.fitting import Progress, check_loop_parameters, fit_by_sweeps
from ._common.layouts import layouts, numbers
from ._common.resources import resolve_threads
from ._common.types import Array
from ._common.validation import check_integer, check_real, keeps_previous_fit, without_duplicates, without_zeros
from ._solvers.alternating import AlternatingSolves, SolvesRows
from .retrieval import top_k

__all__ = ["ImplicitALS"]

_USERS_AT_ONCE, _SCORES_AT_ONCE = 1 << 12, 1 << 20


class ImplicitALS(SolvesRows, RowTransformer):
    """Vectors of users and items such that what a user did has a high score, and all else a low one.

    Hu, Koren and Volinsky 2008: minimises over user vectors q and item vectors p

        sum_ui c_ui (p_i . q_u - 1[x_ui > 0])^2 + reg (|P|^2 + |Q|^2)

    over all cells, with a confidence c of ``1 + alpha x`` where a user did something and 1 elsewhere, by exact
    solves of all items, then of all users, in turn. Another confidence than this, and another target than 1, are
    functions of yours: those of ratings, say.

    Parameters
    ----------
    n_components : int, default 100
    alpha : float, above 0, or None, default 40
        How fast confidence grows with x: 40 in the paper, for hours watched. None: the entries of X are
        confidences themselves, which need not be above 1.
    confidence : function ``(value) -> number`` or None
        c of an entry x, at least 0: a plain Python function or one of Numba's. X may then have negative values.
        None: by `alpha`.
    target : function ``(value) -> number`` or None
        The score that an entry x asks for. None: 1. All else stays 0, with confidence 1.
    reg : float, at least 0, default 0.1
    max_iter : int, default 15
        Sweeps over all items and all users.
    tol : float, default 0
        Stop when a sweep improves the objective by less than this part of it. 0: never.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`.
    random_state : int, numpy generator or None
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    item_vectors_ : array of shape (n_features, n_components)
        Sign rule: the entry of largest magnitude of each column is positive.
    components_ : array of shape (n_components, n_features)
        The same, transposed.
    user_vectors_ : array of shape (n_samples, n_components)
        Of the rows fitted on: what ``transform`` gives. Not saved with the model.
    objective_ : float64 array of shape (n_iter_,)
        After each sweep. Never rises, up to rounding.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    The same seed gives the same bits for any number of threads. float32 rows give a float32 model; its solves are
    as exact as float32 can hold. New users are solved as those of the fit were: ``transform`` and ``recommend``
    take rows of anybody. A user with n items costs about ``n^2 K / 2`` multiply-adds, or ``n K^2 / 2`` if n > K.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> plays = np.array([[5, 3, 0, 0], [4, 2, 0, 0], [0, 0, 3, 4], [0, 0, 2, 5], [6, 4, 0, 0]])
    >>> model = sj.ImplicitALS(n_components=2, random_state=0).fit(plays)
    >>> items, scores = model.recommend([[1, 0, 0, 0], [0, 0, 0, 1]], k=1)  # two new users
    >>> items
    array([[1],
           [2]])
    """

    _functions = ("confidence", "target")
    _arrays = layouts(item_vectors_="T p k", objective_="f8 sweeps")
    _scalars = numbers(n_features_in_="p", n_iter_="sweeps")

    item_vectors_: Array
    user_vectors_: Array

    def __init__(
        self,
        n_components: int = 100,
        *,
        alpha: float | None = 40.0,
        confidence: Callable[[float], float] | None = None,
        target: Callable[[float], float] | None = None,
        reg: float = 0.1,
        max_iter: int = 15,
        tol: float = 0.0,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.alpha, self.reg = n_components, alpha, reg
        self.confidence, self.target = confidence, target
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """Item vectors as columns, of shape (n_components, n_features)."""
        return self.item_vectors_.T

    @keeps_previous_fit
    def fit(self, X: Any, y: Any = None) -> ImplicitALS:
        """Learn the vectors of items and of the users of X.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            How much of each item (column) each user (row) took: not negative without a `confidence`. Zeros are no
            entries.
        """
        self._check_parameters()
        targets, weights = self._cells(self._validated(X, reset=True))
        sweeps = _HalfSweeps(self, targets, 1.0, ("alpha", "reg"), weights=weights)
        fit_by_sweeps(self, sweeps, max_iter=self.max_iter, tol=self.tol)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Same as ``fit(X).transform(X)``."""
        return self.fit(X).user_vectors_.copy()

    def recommend(
        self, X: Any, k: int = 10, *, exclude_seen: bool = True, exclude: npt.ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Return the items with the highest scores for each user.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            What users did, as in ``fit``: known users or new ones, whose vectors are solved first.
        k : int, default 10
        exclude_seen : bool, default True
            Leave out what a user has in X.
        exclude : array-like of column numbers or None
            Leave these out for all.

        Returns
        -------
        items : int64 array of shape (n_samples, k)
            Column numbers, the best first; -1 where no items are left.
        scores : float32 array of shape (n_samples, k)
            About 1 for what a user would take; NaN where no items are left.
        """
        check_is_fitted(self, "item_vectors_")
        k = check_integer(k, "k", low=1)
        X = self._validated(X, reset=False)
        n_items = len(self.item_vectors_)
        left = np.setdiff1d(np.arange(n_items), _columns(exclude, n_items))
        candidates = self.item_vectors_ if len(left) == n_items else self.item_vectors_[left]
        vectors = self.transform(X)
        lengths = np.diff(X.indptr) if exclude_seen else np.zeros(X.shape[0], np.int64)
        items = np.full((X.shape[0], k), -1)
        scores = np.full((X.shape[0], k), np.nan, np.float32)
        if len(left) == 0:
            return items, scores
        # What a user has is looked up, too, and left out then: users with about as many items go together.
        for users, found in _chunks(np.minimum(lengths + k, len(left))):
            best, score = top_k(
                vectors[users], candidates, found, metric="inner_product", n_threads=self.n_threads
            )
            best = left[best]
            is_new = np.ones(best.shape, bool)
            if exclude_seen:
                taken = X[users]
                owners = np.repeat(np.arange(len(users)), np.diff(taken.indptr))
                seen = owners * n_items + taken.indices
                is_new = np.isin(np.arange(len(users))[:, None] * n_items + best, seen, invert=True)
            first = np.argsort(~is_new, axis=1, kind="stable")[:, :k]
            kept = np.take_along_axis(is_new, first, axis=1)
            width = first.shape[1]
            items[users, :width] = np.where(kept, np.take_along_axis(best, first, axis=1), -1)
            scores[users, :width] = np.where(kept, np.take_along_axis(score, first, axis=1), np.nan)
        return items, scores

    def _validated(self, X: Any, reset: bool) -> Any:
        return self._taken(without_duplicates(super()._validated(X, reset)))

    def _taken(self, X: Any) -> Any:
        """What users took, as floating numbers: an Encoder has counts, and weights of which some may be zero."""
        if self.confidence is None and X.nnz and X.data.min() < 0:
            raise ValueError("Negative values in data passed to ImplicitALS: X: expected numbers of at least 0")
        return without_zeros(X if X.dtype.kind == "f" else X.astype(np.float64))

    def _cells(self, X: Any) -> tuple[Any, Array]:
        """The scores that the entries of X ask for, and their confidences."""
        targets, weights = None, None
        if self.confidence is not None or self.target is not None:
            from .jit.confidence import map_rows

            targets, weights = map_rows(X, self.confidence, self.target, resolve_threads(self.n_threads))
        return _liked(X) if targets is None else targets, self._by_alpha(X) if weights is None else weights

    def _by_alpha(self, X: Any) -> Array:
        if self.alpha is None:
            weights: Array = X.data
            return weights
        with np.errstate(over="ignore"):
            weights = 1 + X.dtype.type(self.alpha) * X.data
        if not np.isfinite(weights).all():
            raise ValueError(f"X: values times alpha are too large for {X.dtype}")
        return weights

    def _fill(self, X: Any, result: Array) -> None:
        targets, weights = self._cells(self._taken(X))
        self._solve(targets, result, self.item_vectors_, 1.0, weights)

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        if self.alpha is not None and check_real(self.alpha, "alpha", low=0) == 0:
            raise ValueError("alpha: expected a number above 0 or None, got 0")
        check_real(self.reg, "reg", low=0)
        if self.confidence is not None or self.target is not None:
            from .jit.confidence import check_functions

            check_functions(self.confidence, self.target)
        check_loop_parameters(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.confidence is None
        return tags


class _HalfSweeps(AlternatingSolves):
    """Exact solves of all items, then of all users."""

    columns_name, rows_name = "item_vectors_", "user_vectors_"


def _liked(X: Any) -> Any:
    """Ones where X has entries."""
    return type(X)((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)


def _columns(exclude: npt.ArrayLike | None, n_items: int) -> Array:
    columns = np.asarray([] if exclude is None else exclude)
    if columns.ndim != 1:
        raise ValueError(f"exclude: expected a list of column numbers, got shape {columns.shape}")
    if len(columns) == 0:
        return np.empty(0, np.int64)
    if columns.dtype.kind not in "iu":
        raise TypeError(f"exclude: expected integers, got dtype {columns.dtype}")
    if columns.min() < 0 or columns.max() >= n_items:
        what = f"expected columns from 0 to {n_items - 1}, got {columns.min()} to {columns.max()}"
        raise ValueError(f"exclude: {what}")
    return columns.astype(np.int64)


def _chunks(widths: Array) -> Iterator[tuple[Array, int]]:
    """Rows, the narrow ones first, and the width of the widest: so many at a time as have a bounded table."""
    order = np.argsort(widths, kind="stable")
    begin = 0
    while begin < len(order):
        rows = order[begin : begin + _USERS_AT_ONCE]
        sizes = np.arange(1, len(rows) + 1) * widths[rows]
        rows = rows[: max(1, int(np.searchsorted(sizes, _SCORES_AT_ONCE, side="right")))]
        yield rows, int(widths[rows[-1]])
        begin += len(rows)
