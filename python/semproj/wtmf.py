"""Weighted textual matrix factorisation: vectors of short texts and of their words."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._common.base import RowTransformer
from ._common.fitting import Progress, check_loop_parameters, fit_by_sweeps
from ._common.layouts import layouts, numbers
from ._common.resources import resolve_threads, single_threaded_blas
from ._common.rows import REMEMBERED
from ._common.types import Array
from ._common.validation import check_integer, check_real, keeps_previous_fit, without_zeros
from ._solvers.alternating import AlternatingSolves, SolvesRows

__all__ = ["WTMF"]


class WTMF(SolvesRows, RowTransformer):
    """Vectors of short texts that explain their words, and, a little, the absence of all other words.

    Guo and Diab 2012: minimises over word vectors p and sentence vectors q

        sum_ij W_ij (p_i . q_j - X_ij)^2 + reg (|P|^2 + |Q|^2)

    where W_ij is 1 for the entries of X and `missing_weight` for all other cells, by exact solves of all words,
    then of all sentences, in turn (equation 4). Other weights of entries, and other values than theirs, are
    functions of yours.

    Parameters
    ----------
    n_components : int, default 100
    missing_weight : float in [0, 1], default 0.01
        Weight of a word that a sentence does not have. The paper takes 0.01 for degrees of similarity and 0.0005
        for retrieval; 1 is close to LSA, 0 ignores missing words.
    confidence : function ``(value) -> number`` or None
        W of an entry, at least 0: a plain Python function or one of Numba's. None: 1.
    target : function ``(value) -> number`` or None
        What takes the place of an entry in X. None: the entry. Missing words stay 0.
    reg : float, at least 0, default 20
    max_iter : int, default 20
        Sweeps over all words and all sentences.
    tol : float, default 0
        Stop when a sweep improves the objective by less than this part of it. 0: never.
    orthogonality : float, at least 0, default 0
        OrMF (Guo, Liu and Diab 2014): after the words of a sweep, one gradient step of this size towards
        dimensions that are orthogonal and of equal length, ``P - orthogonality (P P' - a I) P`` with a the mean
        diagonal element of P P'. A step that is too large diverges.
    warm_start : bool, default False
        Start from the word vectors of the fit before, which must be of the same words and `n_components`.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`.
    random_state : int, numpy generator or None
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    word_vectors_ : array of shape (n_features, n_components)
        Sign rule: the entry of largest magnitude of each column is positive.
    components_ : array of shape (n_components, n_features)
        The same, transposed.
    sentence_vectors_ : array of shape (n_samples, n_components)
        Of the rows fitted on: what ``transform`` gives. Not saved with the model.
    objective_ : float64 array of shape (n_iter_,)
        After each sweep. Never rises, up to rounding, without `orthogonality`.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    The same seed gives the same bits for any number of threads. float32 rows give a float32 model; its solves are
    as exact as float32 can hold. A sweep costs about ``n^2 K / 2`` multiply-adds for a sentence of n words, and
    ``n K^2 / 2`` for a word of n > K sentences. Memory: the vectors of words and sentences, those of the larger
    side once more, and a transposed copy of X.

    Examples
    --------
    >>> import semproj as sj
    >>> texts = ["a bank lends money", "a bank takes deposits of money", "the river bank", "water of the river"]
    >>> W = sj.TfIdf().fit_transform(sj.TermCounter().fit_transform(texts))
    >>> model = sj.WTMF(n_components=3, reg=0.1, random_state=0)
    >>> model.fit_transform(W).shape
    (4, 3)
    >>> bool((model.objective_[1:] <= model.objective_[:-1] * (1 + 1e-6)).all())
    True
    """

    _functions = ("confidence", "target")
    _arrays = layouts(word_vectors_="T p k", objective_="f8 sweeps")
    _scalars = numbers(n_features_in_="p", n_iter_="sweeps", **REMEMBERED)

    word_vectors_: Array
    sentence_vectors_: Array

    def __init__(
        self,
        n_components: int = 100,
        *,
        missing_weight: float = 0.01,
        confidence: Callable[[float], float] | None = None,
        target: Callable[[float], float] | None = None,
        reg: float = 20.0,
        max_iter: int = 20,
        tol: float = 0.0,
        orthogonality: float = 0.0,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.missing_weight, self.reg = n_components, missing_weight, reg
        self.confidence, self.target = confidence, target
        self.max_iter, self.tol, self.orthogonality = max_iter, tol, orthogonality
        self.warm_start, self.random_state = warm_start, random_state
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """Word vectors as columns, of shape (n_components, n_features)."""
        return self.word_vectors_.T

    @keeps_previous_fit
    def fit(self, X: Any, y: Any = None) -> WTMF:
        """Learn the vectors of words and of the rows of X.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), float32 or float64
            Weighted rows, as a rule by :class:`TfIdf`. Zeros are missing words, also explicit ones.
        """
        self._check_parameters()
        previous = getattr(self, "word_vectors_", None) if self.warm_start else None
        given, X = X, self._validated(X, reset=True)
        self._remember([given], [X])
        own = ("missing_weight", "reg", "orthogonality")
        targets, weights = self._cells(X)
        sweeps = _HalfSweeps(self, targets, self.missing_weight, own, weights, start_from=previous)
        fit_by_sweeps(self, sweeps, max_iter=self.max_iter, tol=self.tol)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Same as ``fit(X).transform(X)``."""
        return self.fit(X).sentence_vectors_.copy()

    def similarity(self, X: Any, Y: Any = None) -> Array:
        """Cosines between the vectors of rows.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
        Y : the same, with as many rows, or None

        Returns
        -------
        array of shape (n_samples,): row i of X with row i of Y; without Y, of shape (n_samples, n_samples): all
        rows of X with each other. A row without known words has cosine 0 with everything.
        """
        check_is_fitted(self, "word_vectors_")
        first = self._project(self._validated(X, reset=False), normalize=True)
        if Y is None:
            with single_threaded_blas():
                cosines: Array = first @ first.T
            return cosines
        second = self._project(self._validated(Y, reset=False), normalize=True)
        if len(first) != len(second):
            raise ValueError(f"Y: expected as many rows as X, {len(first)}, got {len(second)}")
        pairs: Array = np.einsum("ij,ij->i", first, second)
        return pairs

    def _validated(self, X: Any, reset: bool) -> Any:
        X = super()._validated(X, reset)
        return without_zeros(X)

    def _fill(self, X: Any, result: Array) -> None:
        targets, weights = self._cells(without_zeros(X))
        self._solve(targets, result, self.word_vectors_, self.missing_weight, weights)

    def _cells(self, X: Any) -> tuple[Any, Array | None]:
        """What is to be explained of the entries of X, and how much it weighs: None where all weigh 1."""
        if self.confidence is None and self.target is None:
            return X, None
        from .jit.confidence import map_rows

        targets, weights = map_rows(X, self.confidence, self.target, resolve_threads(self.n_threads))
        return X if targets is None else targets, weights

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        check_real(self.missing_weight, "missing_weight", low=0, high=1)
        check_real(self.reg, "reg", low=0)
        check_real(self.orthogonality, "orthogonality", low=0)
        if self.confidence is not None or self.target is not None:
            from .jit.confidence import check_functions

            check_functions(self.confidence, self.target)
        check_loop_parameters(self)


class _HalfSweeps(AlternatingSolves):
    """Exact solves of all words, then of all sentences."""

    columns_name, rows_name = "word_vectors_", "sentence_vectors_"

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "warm_start": bool(self._model.warm_start)}

    def _change_columns(self, columns: Array) -> None:
        if self._model.orthogonality > 0:
            _towards_orthogonal(columns, self._model.orthogonality, resolve_threads(self._model.n_threads))


def _towards_orthogonal(words: Array, step: float, n_threads: int) -> None:
    """P - step (P P' - a I) P, for P = words' and a the mean of the diagonal of P P'."""
    gram = _core.table_gram(words, n_threads)
    gram.flat[:: len(gram) + 1] -= np.trace(gram) / len(gram)
    change = np.empty_like(words)
    with single_threaded_blas():
        _core.tall_multiply(words, gram.astype(words.dtype), step, 0.0, change, n_threads)
    words -= change
