"""Weighted textual matrix factorisation: vectors of short texts and of their words."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._common.base import RowTransformer, flip_signs
from ._common.checkpoint import check_state, rows_identity, seed_identity
from ._common.fitting import Progress, State, Sweeps, check_loop_parameters, fit_by_sweeps
from ._common.layouts import layouts, numbers
from ._common.resources import resolve_threads, single_threaded_blas
from ._common.types import Array
from ._common.validation import check_integer, check_real, keeps_previous_fit, kind_of_values, seed_key
from ._solvers.rowsolve import RowSolver

__all__ = ["WTMF"]


class WTMF(RowTransformer):
    """Vectors of short texts that explain their words, and, a little, the absence of all other words.

    Guo and Diab 2012: minimises over word vectors p and sentence vectors q

        sum_ij W_ij (p_i . q_j - X_ij)^2 + reg (|P|^2 + |Q|^2)

    where W_ij is 1 for the entries of X and `missing_weight` for all other cells, by exact solves of all words,
    then of all sentences, in turn (equation 4).

    Parameters
    ----------
    n_components : int, default 100
    missing_weight : float in [0, 1], default 0.01
        Weight of a word that a sentence does not have. The paper takes 0.01 for degrees of similarity and 0.0005
        for retrieval; 1 is close to LSA, 0 ignores missing words.
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

    _arrays = layouts(word_vectors_="T p k", objective_="f8 sweeps")
    _scalars = numbers(n_features_in_="p", n_iter_="sweeps", _fitted_on=None)

    word_vectors_: Array
    sentence_vectors_: Array

    def __init__(
        self,
        n_components: int = 100,
        *,
        missing_weight: float = 0.01,
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
        self._fitted_on = kind_of_values([given], [X])
        fit_by_sweeps(self, _HalfSweeps(self, X, previous), max_iter=self.max_iter, tol=self.tol)
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
        if X.nnz and not X.data.all():
            X = X.copy()
            X.eliminate_zeros()
        return X

    def _fill(self, X: Any, result: Array) -> None:
        self._solver().solve(X, result)
        if not np.isfinite(result).all():
            raise ValueError(f"X: the vectors are not finite; values are too large for {result.dtype}")

    def _output_dtype(self, storage: str | None) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.word_vectors_.dtype
        if storage not in (None, dtype.name):
            raise ValueError(f"storage: WTMF keeps its word vectors as {dtype.name}, got {storage!r}")
        return dtype

    def _solver(self) -> RowSolver:
        """What all rows share, made once for each fitted model."""
        cache = self.__dict__.setdefault("_solver_cache", {})
        words, settings = self.word_vectors_, (self.missing_weight, self.reg, resolve_threads(self.n_threads))
        if cache.get("words") is not words or cache["settings"] != settings:
            cache.update(words=words, settings=settings, solver=_solver_of(self, np.ascontiguousarray(words)))
        solver: RowSolver = cache["solver"]
        return solver

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_solver_cache", None)
        return state

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        check_real(self.missing_weight, "missing_weight", low=0, high=1)
        check_real(self.reg, "reg", low=0)
        check_real(self.orthogonality, "orthogonality", low=0)
        check_loop_parameters(self)


class _HalfSweeps(Sweeps):
    """Exact solves of all words, then of all sentences."""

    falls = True

    def __init__(self, model: WTMF, X: Any, previous: Array | None) -> None:
        self._model, self._X, self._previous = model, X, previous

    def identity(self) -> dict[str, Any]:
        model = self._model
        return {
            "n_components": int(model.n_components),
            **{name: float(getattr(model, name)) for name in ("missing_weight", "reg", "orthogonality")},
            "warm_start": bool(model.warm_start),
            "random_state": seed_identity(model.random_state),
            "X": rows_identity(self._X),
        }

    def memory(self) -> int:
        """Vectors and whitened vectors of both sides; five squares while a solver is made beside the other."""
        k, itemsize = int(self._model.n_components), int(self._X.dtype.itemsize)
        return 2 * itemsize * k * int(sum(self._X.shape)) + 5 * 8 * k * k

    def start(self, saved: State | None) -> None:
        self._words = self._first_words()
        if saved is not None:
            check_state(saved[0], {"words": (self._words.dtype, self._words.shape)})
            self._words = saved[0]["words"]
        self._by_word = self._X.T.tocsr()
        self._sentences = np.empty((self._X.shape[0], self._words.shape[1]), self._words.dtype)
        self._from_words = _solver_of(self._model, self._words)
        self._objective = self._solve_sentences()
        self._from_sentences: RowSolver | None = None

    def step(self, sweep: int) -> float:
        model, words = self._model, self._words
        self._from_sentences = _solver_of(model, self._sentences, self._from_sentences)
        self._from_sentences.solve(self._by_word, words)
        if model.orthogonality > 0:
            _towards_orthogonal(words, model.orthogonality, resolve_threads(model.n_threads))
        self._from_words = _solver_of(model, words, self._from_words)
        self._objective = self._solve_sentences()
        return self._objective

    def state(self) -> State:
        return {"words": self._words}, {}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        words, sentences = (x.copy() if going_on else x for x in (self._words, self._sentences))
        sentences *= flip_signs(words.T)
        for vectors in (words, sentences):
            vectors += 0.0  # a flipped zero is -0, what transform makes is 0
        return {"word_vectors_": words, "sentence_vectors_": sentences, "_solver_cache": {}}, self._objective

    def _solve_sentences(self) -> float:
        """All sentences, given the words; returns the objective."""
        return self._from_words.solve(self._X, self._sentences) + self._model.reg * _sum_of_squares(self._words)

    def _first_words(self) -> Array:
        shape = (self._X.shape[1], int(self._model.n_components))
        if self._previous is not None:
            if (before := self._previous.shape) != shape:
                raise ValueError(
                    f"warm_start: the fit before has word vectors of shape {before}, expected {shape}"
                )
            return self._previous.astype(self._X.dtype)
        words = np.empty(shape, self._X.dtype)
        _core.fill_normal(words, seed_key(self._model.random_state), 0, resolve_threads(self._model.n_threads))
        return words


def _solver_of(model: WTMF, factors: Array, before: RowSolver | None = None) -> RowSolver:
    """The solver of one side, in the memory of the one before."""
    try:
        if before is None:
            return RowSolver(factors, model.missing_weight, model.reg, resolve_threads(model.n_threads))
        before.use(factors)
    except OverflowError as error:
        raise ValueError(f"X: {error}; scale it down or use float64") from None
    return before


def _sum_of_squares(x: Array) -> float:
    return float(np.einsum("ij,ij->", x, x, dtype=np.float64))


def _towards_orthogonal(words: Array, step: float, n_threads: int) -> None:
    """P - step (P P' - a I) P, for P = words' and a the mean of the diagonal of P P'."""
    gram = _core.table_gram(words, n_threads)
    gram.flat[:: len(gram) + 1] -= np.trace(gram) / len(gram)
    change = np.empty_like(words)
    with single_threaded_blas():
        _core.tall_multiply(words, gram.astype(words.dtype), step, 0.0, change, n_threads)
    words -= change
