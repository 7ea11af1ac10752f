"""Word vectors from several kinds of relatedness, by Bayesian probabilistic tensor factorisation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._common.fitting import Progress, fit_by_sweeps
from .._common.layouts import ArrayLayouts, layouts, numbers
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.tensorfile import Arrays
from .._common.types import Array
from .._common.validation import (
    check_integer,
    check_range,
    keeps_previous_fit,
    seed_key,
)
from ..thesaurus import Thesaurus
from ._chain import Chain, apply
from ._metric import learn_metric
from ._newwords import NewWords
from ._observed import Observation
from ._parameters import check_parameters, identity, plain_sequences
from ._sampling import ChainSweeps, effective_sample_size
from ._slices import CellSampler, CosineSlice, ObservedSlice, as_slices
from ._words import RelatedWords, check_new_words, slices_of

__all__ = ["BPTF", "CosineSlice", "effective_sample_size", "learn_metric"]


class BPTF(RelatedWords):
    """Bayesian probabilistic tensor factorisation of word relatedness, by Gibbs sampling.

    Slices of a tensor say how words are related from several perspectives, each in part: cells that are not there
    are missing, not zero. A cell is normal about ``sum(V[i] * V[j] * P[k])``, with one vector for each word and
    one for each slice. Predictions are averaged over draws from the posterior.

    Parameters
    ----------
    n_components : int, default 40
    burn_in : int, default 30
        Sweeps that are not kept.
    n_samples : int, default 200
        Draws that are kept, one in each `thin` sweeps. They take about ``4 n_words n_components`` bytes each in
        float32; see the notes.
    thin : int, default 1
    zeros : float or sequence of float, default 0
        For each observed cell of a slice, so many of its missing cells are taken for zeros, others in every sweep.
        It keeps a slice that has only strong relations from making everything related. Words without cells in the
        slice get none. All missing cells are zeros if there are no more.
    cells : sequence of (int, "match" or None), optional
        How many cells of each slice to use in a sweep, drawn anew each time. None: all of them. "match": as many
        as the first slice has in that sweep, so that it weighs as much. Slices of cosines match by default. A
        slice that has fewer gives all.
    asymmetric : sequence of int, default ()
        Slices where cell (i, j) is not (j, i): they have a matrix A and cells about ``V[i] @ A @ V[j]``.
    held_out : float, default 0
        Share of the observed cells of each slice to keep out, for `held_out_mae_`.
    precision : callable or None
        ``precision(value, slice)``, above 0: what alpha is multiplied by for a cell of this value in the slice of
        this number. None: 1. A function of numbers, compiled by Numba: see docs/functions.md.
    target : callable or None
        ``target(value, slice)``: what is observed, and predicted, instead of the value. None: the value. Both
        functions are applied to cosines too, and to missing cells that are taken for zeros.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`. A fit without a seed goes on
        by the one in the file. In a callback, the model has the draws kept so far, or the present one in the
        burn-in; its `word_vectors_` are those of the present one.
    dtype : "float32" or "float64"
    random_state : int, RandomState instance or None
    n_threads : int or None
    progress : bool

    Attributes
    ----------
    samples_ : array of shape (n_draws, n_words, n_components)
        Word vectors of the draws that are kept.
    perspective_samples_ : array of shape (n_draws, n_slices, n_components)
        P of symmetric slices; of asymmetric ones the diagonal of A.
    matrix_samples_ : array of shape (n_draws, n_slices, n_components, n_components)
        A of asymmetric slices; empty without any.
    alpha_ : array of shape (n_iter_,)
        Precision of the cells, sweep by sweep; with a function, what its numbers are multiplied by.
    train_mae_ : array of shape (n_iter_,)
        Mean absolute error of the cells of each sweep, before it.
    held_out_mae_ : array of shape (n_iter_,)
        That of the cells held out, if any, by the mean of the draws kept so far, or by the present one in the
        burn-in.
    objective_ : array of shape (n_iter_,)
        Log likelihood after each sweep, of the cells that the next one uses. A chain does not maximise it.
    n_iter_ : int
        Sweeps done.
    words_, vocabulary_ : list of str, dict of str to int
        The words of a thesaurus, if the model was fitted on one, and their numbers.
    relations_ : list of str or None
        Its relations.

    Notes
    -----
    Words that share a cell are never drawn at the same time, and every random number is a function of the seed,
    the sweep and the word: the chain is an exact Gibbs chain, the same for any number of threads. The hyper-priors
    are the paper's: normal-Wishart with mean 0, beta 1, scale I and D degrees of freedom, and a Wishart for the
    precision.

    A chain starts with slices that take every dimension for likeness, and hardly ever turns the sign of one that
    words have settled in: with few dimensions, none to spare, some seeds stay in a worse mode. Their
    `train_mae_` shows it.

    A sweep over n cells costs about ``3/2 n D^2`` multiply-adds, an asymmetric slice ``n_words D^4 / 4 + D^6 / 3``
    more.

    What is stored, in bytes, with b = 4 for float32 and 8 for float64:

    - of each draw that is kept ``b n_words D`` for the words and, in double, ``8 K D`` for K slices, ``8 K D^2``
      for their matrices if one is asymmetric, and ``8 (D^2 + D + 1)`` for the precision and the prior that new
      words are drawn with. A saved model has these and up to four numbers a sweep.
    - while fitting, ``16 + b`` for each observed cell, ``8 + b`` for each that is drawn, and for the neighbours of
      all words ``2 (4 + b)`` a cell and 8 a word and slice; with a `precision`, b more each. A CosineSlice has
      ``4 n_words`` a dimension.
    - while an asymmetric slice is drawn about ``40 D^4`` for its system, or ``7e4 D^2`` for the sums over words if
      that is more.
    - in a checkpoint all draws kept so far, the last state and 8 for each held-out cell, written as a whole.

    References
    ----------
    Zhang, Salwen, Glass and Gliozzo, "Word Semantic Representations using Bayesian Probabilistic Tensor
    Factorization", EMNLP 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import coo_array
    >>> from semproj import BPTF
    >>> camps = np.array([1, 1, 1, -1, -1, -1])  # happy joyful lucky sad gloomy wretched
    >>> i, j = np.triu_indices(6, 1)
    >>> known = np.arange(15) != 7  # all but joyful - gloomy
    >>> relatedness = coo_array(((camps[i] * camps[j])[known], (i[known], j[known])), shape=(6, 6))
    >>> model = BPTF(2, burn_in=50, n_samples=100, random_state=0).fit([relatedness])
    >>> bool(model.predict(1, 4) < -0.5)
    True

    Of a thesaurus, by words:

    >>> from semproj import Thesaurus
    >>> words = ["hot", "warm", "boiling", "cold", "cool", "icy"]
    >>> hot, cold = [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]
    >>> thesaurus = Thesaurus(words, ["hot", "cold"], {"synonym": [hot, cold], "antonym": [cold, hot]})
    >>> model = BPTF(2, burn_in=50, n_samples=100, random_state=0).fit(thesaurus)
    >>> bool(model.predict("hot", "cold", "antonym") > 0.5)
    True
    >>> sorted(word for word, _ in model.most_similar("hot", 2))
    ['boiling', 'warm']
    >>> sorted(word for word, _ in model.most_opposite("hot", 3))
    ['cold', 'cool', 'icy']
    """

    _arrays = layouts(
        samples_="T draws words d",
        perspective_samples_="f8 draws slices d",
        matrix_samples_="f8 draws SLICES",
        alpha_="f8 sweeps",
        train_mae_="f8 sweeps",
        held_out_mae_="f8 HELD_OUT",
        objective_="f8 sweeps ?",  # files of 0.1.0 lack it
        _priors="f8 draws prior",
        _sweeps_kept="i8 draws",
        _last_words="T words d ?",
        _last_slices="f8 slices d ?",
    )
    _functions = ("precision", "target")
    _scalars = numbers(n_iter_="sweeps", _symmetric=list, _key=int, relations_=None)

    def __init__(
        self,
        n_components: int = 40,
        *,
        burn_in: int = 30,
        n_samples: int = 200,
        thin: int = 1,
        zeros: float | Sequence[float] = 0.0,
        cells: Sequence[int | str | None] | None = None,
        asymmetric: Sequence[int] = (),
        held_out: float = 0.0,
        precision: Callable[[float, int], float] | None = None,
        target: Callable[[float, int], float] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        callback: Callable[[Progress], object] | None = None,
        dtype: str = "float32",
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.dtype, self.random_state = n_components, dtype, random_state
        self.burn_in, self.n_samples, self.thin = burn_in, n_samples, thin
        self.zeros, self.cells, self.asymmetric, self.held_out = zeros, cells, asymmetric, held_out
        self.precision, self.target = precision, target
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(self, slices: Sequence[Any] | Thesaurus, y: Any = None) -> BPTF:
        """Run the chain.

        Parameters
        ----------
        slices : list of sparse matrices of shape (n_words, n_words) or CosineSlice
            Relatedness. Stored values are observed, also zeros. In a symmetric slice a pair may be given in one
            order or in both. Or a Thesaurus, whose words and relations then have names: the first slice has 1 for
            synonyms and -1 for antonyms, as in the paper, and each other relation has a slice of its own, of ones.
            Words that are related to no other are left out. ``thesaurus.select`` chooses relations.
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        if isinstance(slices, Thesaurus):
            relations, words, slices = slices_of(slices, self.zeros, tuple(self.asymmetric))
            self._set_thesaurus(relations, words)
        else:
            self._set_thesaurus(None, None)
        observed = as_slices(slices, tuple(self.asymmetric), np.dtype(self.dtype))
        sampler = CellSampler(observed, self.zeros, self.cells, self._observation())
        symmetric = [not (isinstance(each, ObservedSlice) and not each.symmetric) for each in observed]
        key = seed_key(self.random_state)
        sweeps = ChainSweeps(self, sampler, symmetric, key, lambda: identity(self, slices, key))
        with single_threaded_blas():
            fit_by_sweeps(self, sweeps, max_iter=self.burn_in + self.n_samples * self.thin)
        return self

    @property
    def word_vectors_(self) -> Array:
        """Those after the last sweep. Draws differ by signs and order of dimensions: they are not averaged."""
        check_is_fitted(self, "samples_")
        last = getattr(self, "_last_words", None)  # none if it was kept
        vectors: Array = self.samples_[-1] if last is None else last
        return vectors

    @property
    def perspective_vectors_(self) -> Array:
        """Those after the last sweep, of shape (n_slices, n_components); for an asymmetric slice A's diagonal."""
        check_is_fitted(self, "samples_")
        last = getattr(self, "_last_slices", None)
        vectors: Array = self.perspective_samples_[-1] if last is None else last
        return vectors

    def predict(self, i: Any, j: Any, slice: int | str = 0, *, return_std: bool = False) -> Any:
        """What cells are about, averaged over the draws.

        Parameters
        ----------
        i, j : int or arrays of int; str or sequences of str
            Numbers of words; or words, of a model that was fitted on a thesaurus.
        slice : int or str, default 0
            Its number, or a relation of the thesaurus. "antonym" is minus "synonym".
        return_std : bool, default False
            Also return the standard deviation over the draws.

        Returns
        -------
        float64 number or array of the common shape of `i` and `j`; or two of them
        """
        check_is_fitted(self, "samples_")
        n_draws = len(self.samples_)
        number, sign = self._slice_number(slice)
        rows, cols = np.broadcast_arrays(self._numbers(i, "i"), self._numbers(j, "j"))
        # Only the words that are asked for are taken from the draws.
        words, places = np.unique(np.concatenate([rows.ravel(), cols.ravel()]), return_inverse=True)
        first, second = np.split(places.astype(np.int32), 2)
        total, squares = np.zeros(rows.size), np.zeros(rows.size)
        for m in range(n_draws):
            V = self.samples_[m][words]
            mapped = apply(V, *self._perspective(m, number))
            found = _core.pair_products(
                _padded(V), _padded(mapped), first, second, resolve_threads(self.n_threads)
            )
            total += found
            squares += found.astype(np.float64) ** 2
        mean = sign * (total / n_draws).reshape(rows.shape)[()]
        if not return_std:
            return mean
        variance = squares / n_draws - (total / n_draws) ** 2
        return mean, np.sqrt(np.maximum(variance, 0)).reshape(rows.shape)[()]

    def _perspective(self, draw: int, number: int) -> tuple[Array, Array | None]:
        matrix = None if self._symmetric[number] else self.matrix_samples_[draw][number]
        return self.perspective_samples_[draw][number], matrix

    def perspective_correlations(self) -> Array:
        """How much slices have to do with each other: cosines of their vectors, averaged over the draws.

        Of an asymmetric slice the whole matrix A is taken, and of a symmetric one beside it the diagonal matrix of
        its vector, which has the same cosines: that of matrices M and N is ``sum(M * N) / |M| |N|``.

        Returns
        -------
        float64 array of shape (n_slices, n_slices)
        """
        check_is_fitted(self, "samples_")
        total = np.zeros((len(self._symmetric), len(self._symmetric)))
        for m, vectors in enumerate(self.perspective_samples_.astype(np.float64)):
            flat = vectors
            if not all(self._symmetric):
                flat = np.array(
                    [
                        np.diag(vectors[k]).ravel() if symmetric else self.matrix_samples_[m, k].ravel()
                        for k, symmetric in enumerate(self._symmetric)
                    ]
                )
            unit = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), np.finfo(np.float64).tiny)
            total += np.einsum("ik,jk->ij", unit, unit)
        return total / len(self.samples_)

    @single_threaded_blas()
    def add_words(
        self,
        slices: Sequence[Any],
        *,
        words: Sequence[str] | None = None,
        zeros: float | Sequence[float] = 0.0,
        n_neighbors: int = 100,
    ) -> BPTF:
        """Draw vectors of new words against the known ones (section 3.2.1), which stay as they are.

        The other way to cover words that a slice lacks is to fit them with all others, which takes longer.

        Parameters
        ----------
        slices : list of (sparse matrix of shape (n_new, n_words), pair of matrices, CosineSlice or None)
            For each slice what is known of the new words. In an asymmetric slice the matrix has the cells from new
            words to known ones; a pair has those and, in a matrix of shape (n_words, n_new), the ones from known
            words to new ones, and may have None for one of them. A CosineSlice has the known words first, then
            the new ones.
        words : sequence of str or None
            Names of the new words, of a model that was fitted on a thesaurus.
        zeros : float or sequence of float, default 0
            For each observed cell of a new word in a slice, so many of the known words that it has no cell with
            are taken for zeros, others in every draw. The `zeros` of the fit are not used.
        n_neighbors : int, default 100
            Known words that a new one is compared with in each draw, by a slice of cosines.

        Returns
        -------
        A fitted model with the new words behind the old ones.
        """
        check_is_fitted(self, "samples_")
        check_integer(n_neighbors, "n_neighbors", low=1)
        n_draws, n_words, d = self.samples_.shape
        new = NewWords(slices, self._symmetric, n_words, self.samples_.dtype, zeros, self._observation())
        names = check_new_words(words, self, new.count)
        threads = resolve_threads(self.n_threads)
        chain = Chain(
            n_words + new.count, d, self._symmetric, seed=self._key, n_threads=threads, dtype=self.samples_.dtype
        )
        samples = np.empty((n_draws, n_words + new.count, d), self.samples_.dtype)
        added = np.arange(n_words, n_words + new.count, dtype=np.int32)
        everything = _core.WordClasses(added, np.array([0, new.count]))
        for m in range(n_draws):
            sweep = int(self._sweeps_kept[m])
            chain.words[:n_words] = self.samples_[m]
            chain.slices[:] = self.perspective_samples_[m]
            if self.matrix_samples_.size:
                chain.matrices[:] = self.matrix_samples_[m]
            chain.alpha = self._priors[m, -1]
            cells = new.draw(n_neighbors, chain.numbers, sweep, threads)
            lists = chain.lists(cells)
            prior = self._priors[m, : d * d].reshape(d, d), self._priors[m, d * d : -1]
            chain.draw_words(lists, prior, everything, sweep)
            samples[m] = chain.words
        if not np.isfinite(samples).all():
            raise ValueError("slices: vectors of new words are not finite; values are too large")
        extended = BPTF(**self.get_params(deep=False))
        for name in (*self._arrays, *self._scalars):
            if hasattr(self, name):  # files of earlier versions lack the objective
                setattr(extended, name, getattr(self, name))
        extended.samples_, extended._last_words, extended._last_slices = samples, None, None
        extended._set_thesaurus(getattr(self, "relations_", None), names)
        return extended

    def _observation(self) -> Observation:
        return Observation(self.precision, self.target, resolve_threads(self.n_threads))

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {**super()._get_parameters_to_save(), **plain_sequences(self)}

    def _layouts(self, arrays: Arrays, scalars: dict[str, Any]) -> ArrayLayouts:
        symmetric, d = scalars["_symmetric"], arrays["samples_"].shape[-1]
        if not isinstance(symmetric, list) or not all(isinstance(each, bool) for each in symmetric):
            raise ValueError("_symmetric: expected a list of bool")
        slices, sweeps = len(symmetric), len(arrays["alpha_"])
        return {
            **self._arrays,
            "perspective_samples_": f"f8 draws {slices} d",
            "matrix_samples_": "f8 draws 0" if all(symmetric) else f"f8 draws {slices} d d",
            "held_out_mae_": f"f8 {sweeps if len(arrays['held_out_mae_']) else 0}",
            "_priors": f"f8 draws {d * d + d + 1}",
            "_last_slices": f"f8 {slices} d ?",
        }

    def _restored(self) -> None:
        self._check_words(len(self._symmetric))
        seed_key(self._key)
        check_range(self._sweeps_kept, self.n_iter_ + 1, "_sweeps_kept")


def _padded(vectors: Array) -> Array:
    wide = np.zeros((len(vectors), _core.padded(vectors.shape[1])), vectors.dtype)
    wide[:, : vectors.shape[1]] = vectors
    return wide
