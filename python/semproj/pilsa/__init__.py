"""Polarity inducing LSA: word vectors from a thesaurus in which antonyms point in opposite directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._common.layouts import layouts, numbers
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import check_choice, check_integer, check_real, keeps_previous_fit, seed_key
from .._common.words import SimilarityModel, cosines, nearest_words
from ..lsa import LSA
from ..thesaurus import Thesaurus, check_thesaurus
from ._refinement import GIVEN, entry_components, signed_pairs, trained_vectors

__all__ = ["DEFAULT_WEIGHTS", "PILSA", "SignedTfIdf", "ThesaurusLookup", "signed_matrix", "signed_tfidf"]

DEFAULT_WEIGHTS = {
    "synonym": 1.0,
    "antonym": -1.0,
    "contrast": -0.25,
    "similar": 0.5,
    "derived": 0.5,
    "hypernym": 0.25,
    "related": 0.05,
}


def signed_matrix(
    thesaurus: Thesaurus, weights: Mapping[str, float] | None = None, dtype: Any = np.float32
) -> Any:
    """Add up the relations of a thesaurus, times their weights: a row for each entry, a column for each word.

    Parameters
    ----------
    thesaurus : Thesaurus
    weights : mapping of str to float, or None
        The weight of each relation that counts. None: `DEFAULT_WEIGHTS`. Relations that the thesaurus lacks are
        ignored, but it must have one of them.
    dtype : float32 or float64, default float32
    """
    if not check_thesaurus(thesaurus).entries:
        raise ValueError("thesaurus: has no entries")
    weights = DEFAULT_WEIGHTS if weights is None else weights
    used = {name: check_real(weight, f"weights[{name!r}]") for name, weight in weights.items()}
    used = {name: weight for name, weight in used.items() if name in thesaurus.relations and weight != 0}
    if not used:
        have = ", ".join(map(repr, thesaurus.relations)) or "none"
        raise ValueError(f"weights: expected one of the thesaurus's relations ({have}), got {dict(weights)}")
    total = sp.csr_matrix((len(thesaurus.entries), len(thesaurus.words)), dtype=dtype)
    for name, weight in used.items():
        total = total + thesaurus[name].astype(dtype) * np.dtype(dtype).type(weight)
    total = total.tocsr()
    total.eliminate_zeros()
    total.sort_indices()
    return total


def signed_tfidf(
    thesaurus: Thesaurus,
    weights: Mapping[str, float] | None = None,
    *,
    row_scaling: float = 0.0,
    dtype: Any = np.float32,
) -> Any:
    """The document-term matrix of PILSA: `signed_matrix` times ``log2(n / d)`` for a word in d of n entries.

    Section 4 of Yih, Zweig and Platt 2012: a synonym of an entry has its tf-idf weight, an antonym its negative.

    Parameters
    ----------
    thesaurus, weights, dtype
        As for `signed_matrix`.
    row_scaling : float, default 0
        Divide rows by this power of their lengths, from 0 (the paper's) to 1 (all become equally long).

    Examples
    --------
    >>> from semproj.pilsa import signed_tfidf
    >>> from semproj.thesaurus import Thesaurus
    >>> relations = {"synonym": [[1, 1, 0], [0, 1, 0]], "antonym": [[0, 0, 1], [0, 0, 0]]}
    >>> signed_tfidf(Thesaurus(["hot", "warm", "cold"], ["hot", "warm"], relations)).toarray()
    array([[ 1.,  0., -1.],
           [ 0.,  0.,  0.]], dtype=float32)
    """
    check_real(row_scaling, "row_scaling", low=0, high=1)
    W = signed_matrix(thesaurus, weights, dtype)
    frequency = np.bincount(W.indices, minlength=W.shape[1])
    idf = np.log2(W.shape[0] / np.maximum(frequency, 1))
    values = W.data * idf[W.indices]
    entry = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    lengths = np.sqrt(np.bincount(entry, values**2, W.shape[0]))
    W.data[:] = values / np.where(lengths > 0, lengths, 1.0)[entry] ** row_scaling
    return W


class PILSA(SimilarityModel):
    """Polarity inducing latent semantic analysis (Yih, Zweig and Platt 2012).

    The entries of a thesaurus are documents, in which antonyms have negative weights (`signed_tfidf`). In the
    truncated singular value decomposition U S V' of this matrix, a word's vector is its row of V times powers of
    the singular values, scaled to length one. The cosine of synonyms is near 1, that of antonyms near -1.

    Parameters
    ----------
    n_components : int, default 500
    power : float, default 2.5
        Power of the singular values. With 1, the paper's, vectors have the inner products of the columns of the
        rank-k matrix. More brings in synonyms of synonyms, and makes the choice of `n_components` matter less.
    taper : bool, default True
        Let the components fade out: an inner product is the mean of what all numbers of components up to
        `n_components` give. The singular values of a thesaurus are nearly equal where they are cut off: a hard cut
        (False, the paper's) drops components that matter as much as those it keeps.
    weights : mapping of str to float, or None
        Weights of the thesaurus's relations. None: `DEFAULT_WEIGHTS`, {"synonym": 1, "antonym": -1, "contrast":
        -0.25, "similar": 0.5, "derived": 0.5, "hypernym": 0.25, "related": 0.05}, as far as the thesaurus has
        them. The paper has {"synonym": 1, "antonym": -1}.
    row_scaling : float, default 0.5
        As in `signed_tfidf`: how much to hold back long entries, from 0 (the paper's) to 1.
    tol : float, default 1e-4
        A component has converged when its relative residual is at most this, as in `LSA`.
    dtype : {"float32", "float64"}, default "float32"
    max_iter, max_memory, random_state, n_threads, progress
        As in `LSA`.

    Attributes
    ----------
    word_vectors_ : array of shape (n_words, n_components)
        Rows of length one; zero for a word that the components say nothing about.
    word_norms_ : array of shape (n_words,)
        Their lengths before.
    singular_values_, residuals_, n_iter_
        As in `LSA`.
    entry_counts_ : int64 array of shape (n_words,)
        In how many entries of the thesaurus a word is. None in files of earlier versions.
    refined_ : bool
        Whether vectors were trained by `refined`.
    words_ : list of str
    vocabulary_ : dict of str to int
        The row of each word.

    Notes
    -----
    The same seed gives the same bits for any number of threads.

    Examples
    --------
    >>> from semproj import PILSA
    >>> from semproj.thesaurus import Thesaurus
    >>> words = ["acrimony", "rancor", "goodwill", "affection", "table"]
    >>> syn = [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    >>> ant = [[0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    >>> thesaurus = Thesaurus(words, ["acrimony", "affection", "table"], {"synonym": syn, "antonym": ant})
    >>> model = PILSA(n_components=2, random_state=0).fit(thesaurus)
    >>> round(model.similarity("rancor", "affection"), 4)
    -1.0
    >>> [word for word, _ in model.most_opposite("goodwill", 2)]
    ['acrimony', 'rancor']
    """

    _arrays = layouts(
        word_vectors_="T words k",
        word_norms_="f8 words",
        singular_values_="T k",
        residuals_="f8 k",
        entry_counts_="i8 words ?",
    )
    _scalars = numbers(n_iter_=int, refined_=None)

    def __init__(
        self,
        n_components: int = 500,
        *,
        power: float = 2.5,
        taper: bool = True,
        weights: Mapping[str, float] | None = None,
        row_scaling: float = 0.5,
        tol: float = 1e-4,
        max_iter: int = 100,
        dtype: str = "float32",
        max_memory: int | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.power, self.taper = n_components, power, taper
        self.weights, self.row_scaling, self.dtype = weights, row_scaling, dtype
        self.tol, self.max_iter, self.max_memory = tol, max_iter, max_memory
        self.random_state, self.n_threads, self.progress = random_state, n_threads, progress

    @keeps_previous_fit
    def fit(self, thesaurus: Thesaurus, y: Any = None) -> PILSA:
        """Find vectors for the words of a thesaurus.

        Parameters
        ----------
        thesaurus : Thesaurus
        """
        self._check_parameters()
        power, dtype = float(self.power), np.dtype(self.dtype)
        W = signed_tfidf(thesaurus, self.weights, row_scaling=self.row_scaling, dtype=dtype)
        check_integer(self.n_components, "n_components", low=1, high=min(W.shape))
        if not W.data.any():
            raise ValueError("thesaurus: all tf-idf weights are zero: every word is in every entry, or in none")
        lsa = LSA(
            self.n_components,
            solver="lanczos",
            tol=self.tol,
            max_iter=self.max_iter,
            max_memory=self.max_memory,
            random_state=self.random_state,
            n_threads=self.n_threads,
            progress=self.progress,
        ).fit(W)
        self.word_vectors_, self.word_norms_ = _unit_words(
            lsa.components_, lsa.singular_values_, power, self.taper
        )
        self.singular_values_, self.residuals_, self.n_iter_ = lsa.singular_values_, lsa.residuals_, lsa.n_iter_
        self.entry_counts_ = np.bincount(W.indices, minlength=W.shape[1])
        self.refined_ = False
        self._set_words(thesaurus.words)
        return self

    def reduced(self, n_components: int, *, power: float | None = None, taper: bool | None = None) -> PILSA:
        """This model in fewer dimensions, or with another power of the singular values, without fitting again.

        Parameters
        ----------
        n_components : int
            At most those of this model; the first are kept.
        power : float or None
        taper : bool or None
            None: what this model has.

        Returns
        -------
        PILSA
            The same, up to rounding, as a fit with these parameters.
        """
        check_is_fitted(self, "word_vectors_")
        if self.refined_:
            raise ValueError("reduced: a refined model has no singular values; reduce it before it is refined")
        whole = len(self.singular_values_)
        k = check_integer(n_components, "n_components", low=1, high=whole)
        power = self.power if power is None else check_real(power, "power", low=0)
        taper = self.taper if taper is None else taper
        values = self.singular_values_[:k]
        scale = values.astype(np.float64) ** self.power * _fading(whole, self.taper)[:k]
        components = (self.word_vectors_[:, :k] * self.word_norms_[:, None]).T
        components /= np.where(scale > 0, scale, 1)[:, None]
        model: PILSA = clone(self).set_params(n_components=k, power=power, taper=taper)
        model.word_vectors_, model.word_norms_ = _unit_words(
            components.astype(self.word_vectors_.dtype), values, power, taper
        )
        model.singular_values_, model.residuals_ = values.copy(), self.residuals_[:k].copy()
        model.n_iter_, model.entry_counts_, model.refined_ = self.n_iter_, self.entry_counts_, False
        model._set_words(self.words_)
        return model

    def refined(self, thesaurus: Thesaurus, *, synonyms: float = 1.0, **training: Any) -> PILSA:
        """This model with vectors trained by :class:`S2Net` on pairs of antonyms and of synonyms.

        Section 5 of the paper: a word is its column of `signed_tfidf`, and the projection of entries onto
        components, from which training begins, is this model's. The cosines of antonyms are trained with their
        sign flipped: the second word of such a pair is negated, and then looked for like a synonym.

        Parameters
        ----------
        thesaurus : Thesaurus
            The one that this model was fitted on. Each of its entries with antonyms gives a pair of a synonym and
            an antonym, drawn at random.
        synonyms : float, at least 0, default 1
            Pairs of synonyms for each pair of antonyms, as far as there are entries for them.
        **training
            Parameters of :class:`S2Net`, besides its start. Two epochs of "adam" with a rate of 0.05, if not said.

        Returns
        -------
        PILSA
            A new model, which is neither reduced nor refined again.

        Examples
        --------
        >>> from semproj import PILSA
        >>> from semproj.thesaurus import Thesaurus
        >>> relations = {"synonym": [[1, 1, 0, 0], [0, 0, 0, 1]], "antonym": [[0, 0, 1, 0], [0, 0, 0, 0]]}
        >>> thesaurus = Thesaurus(["hot", "warm", "cold", "table"], ["hot", "table"], relations)
        >>> model = PILSA(n_components=2, random_state=0).fit(thesaurus).refined(thesaurus, random_state=0)
        >>> round(model.similarity("hot", "cold"), 4)
        -1.0
        """
        check_is_fitted(self, "word_vectors_")
        if self.refined_:
            raise ValueError("refined: this model is; refine the model that it was made of, for longer")
        if check_thesaurus(thesaurus).words != self.words_:
            raise ValueError("thesaurus: expected the one that this model was fitted on, its words are others")
        check_real(synonyms, "synonyms", low=0)
        if given := [name for name in GIVEN if name in training]:
            raise TypeError(f"{given[0]}: is what this model has, and no parameter of its refinement")
        dtype = self.word_vectors_.dtype
        W = signed_tfidf(thesaurus, self.weights, row_scaling=self.row_scaling, dtype=dtype)
        training = {"random_state": self.random_state, "n_threads": self.n_threads, **training}
        pairs = signed_pairs(thesaurus, synonyms, seed_key(training["random_state"]))
        norms = self.word_norms_ / (self.word_norms_.max() or 1.0)
        start = entry_components(W, self.word_vectors_ * norms[:, None], self.singular_values_)
        vectors = trained_vectors(W, start, pairs, **training)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        lengths[self.word_norms_ == 0] = 0  # what the components say nothing about is left so
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        model: PILSA = clone(self)
        model.word_vectors_, model.word_norms_ = vectors * scale.astype(vectors.dtype)[:, None], lengths
        model.singular_values_, model.residuals_ = self.singular_values_.copy(), self.residuals_.copy()
        model.n_iter_, model.entry_counts_, model.refined_ = self.n_iter_, self.entry_counts_, True
        model._set_words(self.words_)
        return model

    def vectors(self, words: Sequence[str], *, unknown: str = "error") -> Array:
        """The unit vector of each word, as rows; `unknown` as in `similarity`."""
        check_is_fitted(self, "word_vectors_")
        if isinstance(words, str):
            raise TypeError(f"words: expected a sequence of words, got the string {words!r}")
        rows: Array = self.word_vectors_[self._places(words, "words", unknown)]
        return rows

    def most_similar(
        self, words: str | Sequence[str], k: int = 10, *, commonness: float = 0.0, unknown: str = "error"
    ) -> Any:
        """The k words with the highest cosine to a word, or to each of several; never the word itself.

        Parameters
        ----------
        words : str or sequence of str
        k : int, default 10
            Fewer if there are not so many other words.
        commonness : float, at least 0, default 0
            How much words that are in many entries of the thesaurus come first: this times the logarithm of one
            plus their number is added to the cosine that orders them, not to the one that is returned.
        unknown : {"error", "skip"}, default "error"
            Words that the thesaurus lacks raise `UnknownWordError`, or are left out of a sequence.

        Returns
        -------
        list of (word, cosine), best first; a list of such lists for a sequence of words
            A word that the components say nothing about has no neighbours, and is nobody's.
        """
        return self._nearest(words, k, 1, commonness, unknown)

    def most_opposite(
        self, words: str | Sequence[str], k: int = 10, *, commonness: float = 0.1, unknown: str = "error"
    ) -> Any:
        """The k words with the lowest cosine to a word; otherwise like `most_similar`.

        By default, those that one would name come first: of *hot*, *cold* before *nonradioactive*, though both
        have a cosine of about -1.
        """
        return self._nearest(words, k, -1, commonness, unknown)

    def _nearest(self, words: str | Sequence[str], k: int, sign: int, commonness: float, unknown: str) -> Any:
        check_is_fitted(self, "word_vectors_")
        places = self._places(words, "words", unknown)
        k = check_integer(k, "k", low=1)
        if not places:
            return []
        commonness = check_real(commonness, "commonness", low=0)
        prior = commonness * np.log1p(self.entry_counts_) if self.entry_counts_ is not None else None
        rows = nearest_words(
            sign * self.word_vectors_[places],
            self.word_vectors_,
            k + 1,
            prior=prior,
            n_threads=resolve_threads(self.n_threads),
        )
        found = []
        for place, near in zip(places, rows, strict=True):
            found.append([(self.words_[i], sign * cosine) for i, cosine in near if i != place][:k])
        return found[0] if isinstance(words, str) else found

    def _similarity(self, rows: list[int], columns: list[int]) -> Array:
        return cosines(self.word_vectors_[rows], self.word_vectors_[columns])

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        check_real(self.power, "power", low=0)
        check_choice(self.dtype, "dtype", ("float32", "float64"))

    def _restored(self) -> None:
        super()._restored()
        if not hasattr(self, "refined_"):  # files of earlier versions
            self.refined_ = False
        if not isinstance(self.refined_, bool):
            raise ValueError(f"refined_: expected a bool, got {self.refined_!r:.40}")

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters = super()._get_parameters_to_save()
        return {**parameters, "weights": None if self.weights is None else dict(self.weights)}


def _fading(k: int, taper: bool) -> Array:
    """Weights of k components: their squares fall from 1 in steps of 1 / k, or all are 1."""
    return np.sqrt(1 - np.arange(k) / k) if taper else np.ones(k)


def _unit_words(components: Array, values: Array, power: float, taper: bool) -> tuple[Array, Array]:
    """The columns of S^power V', its rows faded out if `taper`, scaled to length one; and their lengths.

    If a word is outside of the span of the components, its column has only rounding errors; it becomes zero.
    """
    resolution = 100 * np.finfo(components.dtype).eps
    inside = np.sqrt(np.einsum("ki,ki->i", components, components, dtype=np.float64)) > resolution
    weights = (values.astype(np.float64) / float(values[0])) ** power * _fading(len(values), taper)
    scaled = components * weights.astype(components.dtype)[:, None]
    lengths = np.sqrt(np.einsum("ki,ki->i", scaled, scaled, dtype=np.float64))
    inside &= lengths > 0
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=inside).astype(components.dtype)
    lengths = np.where(inside, lengths, 0.0) * float(values[0]) ** power
    return np.ascontiguousarray((scaled * scale).T), lengths


class _SignedColumns(SimilarityModel):
    """Compares the columns of a thesaurus's signed matrix as they are."""

    def __init__(self, *, weights: Mapping[str, float] | None = None) -> None:
        self.weights = weights

    def fit(self, thesaurus: Thesaurus, y: Any = None) -> _SignedColumns:
        """Take the columns of the thesaurus.

        Parameters
        ----------
        thesaurus : Thesaurus
        """
        self._rows = self._columns(thesaurus).T.tocsr()
        self._set_words(thesaurus.words)
        return self

    def _columns(self, thesaurus: Thesaurus) -> Any:
        raise NotImplementedError

    def _similarity(self, rows: list[int], columns: list[int]) -> Array:
        products: Array = (self._rows[rows] @ self._rows[columns].T).toarray()
        return products

    def _check_saveable(self) -> None:
        raise TypeError(f"{type(self).__name__} is the thesaurus itself, which can be saved")


class SignedTfIdf(_SignedColumns):
    """The paper's baseline without LSA: cosines of the columns of `signed_tfidf`, 0 for words without weight.

    Parameters
    ----------
    weights : mapping of str to float, or None
        As in `PILSA`.
    """

    def _columns(self, thesaurus: Thesaurus) -> Any:
        W = signed_tfidf(thesaurus, self.weights, dtype=np.float64)
        lengths = np.sqrt(np.bincount(W.indices, W.data**2, W.shape[1]))
        W.data /= np.where(lengths > 0, lengths, 1.0)[W.indices]  # a word that is in all entries has no weight
        return W


class ThesaurusLookup(_SignedColumns):
    """The paper's baseline without vectors: entries that make two words synonyms minus those that oppose them.

    Parameters
    ----------
    weights : mapping of str to float, or None
        As in `PILSA`; only their signs count.
    """

    def _columns(self, thesaurus: Thesaurus) -> Any:
        W = signed_matrix(thesaurus, self.weights, np.float64)
        W.data = np.sign(W.data)
        return W
