"""Translate weighted rows word by word, with probabilities learnt from documents and their translations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._common.base import progress_bar
from ._common.fitting import has_converged
from ._common.layouts import layouts, numbers
from ._common.persistence import Persistent, pack_csr, unpack_csr
from ._common.resources import resolve_threads
from ._common.types import Array
from ._common.validation import (
    as_csr,
    check_integer,
    check_real,
    core_csr,
    csr_kind,
    keeps_previous_fit,
    scipy_csr,
)
from .alignment import SentenceAlignment, SentenceDocument, align_sentences
from .text import MultiTermCounter, TermCounter, iter_batches

__all__ = ["WordByWord"]

CHUNK_CELLS = 1 << 24  # how many word pairs have their expectations in memory at once: 64 MB


class _Words(NamedTuple):
    """The sentences of one language, as ids of all its words."""

    terms: list[str]
    starts: npt.NDArray[np.int64]  # of each sentence among the ids
    ids: npt.NDArray[np.int32]


class WordByWord(Persistent, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Translate rows of weights word by word (section 3.2 of Platt, Toutanova and Yih 2010).

    ``fit`` finds sentence pairs in documents and their translations, and learns from them the probability that a
    target word translates a source word: by EM for IBM Model 1 (Brown et al. 1993), then for an HMM of word
    alignments (Vogel, Ney and Tillmann 1996) whose jumps depend on the word that they start from (He 2007).
    ``transform`` multiplies weighted rows of the source language by these probabilities. Compare the result with
    weighted rows of the target language, or project both by an LSA of the target language first. Bits do not
    depend on the number of threads.

    Parameters
    ----------
    counter : TermCounter, MultiTermCounter or None
        Says how text is cut into words, and which terms have which columns. A fitted one is used as it is. One
        that is not fitted, or None (all words), is cloned and fitted on the documents of both languages. The
        alignment also uses words without a column: frequent words show how the others correspond.
    model1_iter, hmm_iter : int, default 5
        Maximum number of iterations of EM. 0 leaves a model out; one of them must stay.
    model1_tol, hmm_tol : float, default 1e-4
        Stop when the log likelihood grows by less than this share.
    word_dependent : bool, default True
        Whether jumps depend on the source word.
    smoothing : float, default 100
        With this many jumps of its own, a word's distribution of jumps weighs as much as that of all words.
    max_jump : int, default 5
        Jumps over up to this many words have a probability each; all longer ones in a direction share one.
    null_probability : float, default 0.2
        In the HMM, the probability that a target word translates no source word.
    min_cooccurrence : int, default 2
        Words can only translate each other if they occur together in this many sentence pairs. Each pair of words
        takes 16 bytes; a larger number saves memory.
    min_probability : float, default 0.01
        Leave out less probable translations; the others are scaled to add up to one.
    min_score : float or None, default None
        Leave out sentence pairs with a lower score; see :class:`semproj.alignment.SentenceAlignment`.
    max_length : int, default 100
        Leave out sentence pairs with more words on a side: the cost of the HMM grows with the third power.
    skip_probability : float, default 0.01
        Prior probability that a sentence has no counterpart; raise it for loosely comparable documents.
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    translation_ : csr_matrix of float32, shape (n_source_terms, n_target_terms)
        p(target term | source term). Target words without a column keep their share, so a row may add up to less
        than one. A term about which the alignment says nothing (never seen, or without any partner) is translated
        by itself, if the target has it.
    model1_log_likelihood_, hmm_log_likelihood_ : float64 arrays
        At the beginning of each iteration, summed over all sentence pairs. They never decrease, up to rounding
        and, with `word_dependent`, the effect of the smoothing on the HMM.
    jump_weights_ : float64 array of shape (2 max_jump + 3,)
        Weights of the jumps of all words together: all beyond the left end, -max_jump, ..., max_jump, all beyond
        the right end. They add up to one.
    source_counter_, target_counter_ : TermCounter
        The columns of both languages.
    n_pairs_, n_skipped_ : int
        How many sentence pairs were used, and how many were too long or had no words on a side.
    n_cells_ : int
        How many word pairs are in the table.
    n_features_in_ : int

    Examples
    --------
    >>> import semproj as sj
    >>> english = ["the house. a red house.", "the tree. a green tree.", "the red tree.", "a green house."]
    >>> spanish = ["la casa. una casa roja.", "el árbol. un árbol verde.", "el árbol rojo.", "una casa verde."]
    >>> model = sj.WordByWord().fit(spanish, english)
    >>> row = model.translation_[model.source_counter_.vocabulary_["casa"]]
    >>> model.target_counter_.get_feature_names_out()[row.indices[row.data.argmax()]]
    'house'
    >>> counts = model.source_counter_.transform(["casa verde"])
    >>> model.transform(counts).shape == (1, len(model.target_counter_.vocabulary_))
    True
    """

    _parts = ("source_counter_", "target_counter_")
    _arrays = layouts(
        model1_log_likelihood_="f8 MODEL1",
        hmm_log_likelihood_="f8 HMM",
        jump_weights_="f8 jumps",
    )
    _scalars = numbers(n_pairs_=int, n_skipped_=int, n_cells_=int, n_features_in_=int)

    def __init__(
        self,
        counter: Any = None,
        *,
        model1_iter: int = 5,
        hmm_iter: int = 5,
        model1_tol: float = 1e-4,
        hmm_tol: float = 1e-4,
        word_dependent: bool = True,
        smoothing: float = 100.0,
        max_jump: int = 5,
        null_probability: float = 0.2,
        min_cooccurrence: int = 2,
        min_probability: float = 0.01,
        min_score: float | None = None,
        max_length: int = 100,
        skip_probability: float = 0.01,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.counter = counter
        self.model1_iter, self.model1_tol = model1_iter, model1_tol
        self.hmm_iter, self.hmm_tol, self.null_probability = hmm_iter, hmm_tol, null_probability
        self.word_dependent, self.smoothing, self.max_jump = word_dependent, smoothing, max_jump
        self.min_cooccurrence, self.min_probability = min_cooccurrence, min_probability
        self.min_score, self.max_length, self.skip_probability = min_score, max_length, skip_probability
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(
        self, source_documents: Iterable[SentenceDocument], target_documents: Iterable[SentenceDocument]
    ) -> WordByWord:
        """Learn to translate from documents and their translations.

        Parameters
        ----------
        source_documents, target_documents : iterables of str or of lists of str
            Document i of one is the translation of document i of the other: a text, or the list of its sentences.
            Parts that only one of them has are skipped.
        """
        self._check_parameters()
        threads = resolve_threads(self.n_threads)
        aligned = align_sentences(
            source_documents, target_documents, skip_probability=self.skip_probability, n_threads=threads
        )
        texts = [list(chain.from_iterable(side)) for side in (aligned.source, aligned.target)]
        counters = self._fitted_counters(texts)
        words = [_read_words(counter, side, threads) for counter, side in zip(counters, texts, strict=True)]
        source_begin, source_end, target_begin, target_end = self._pairs(aligned, words)
        del aligned, texts
        aligner = _core.WordAligner(
            words[0].ids,
            words[1].ids,
            source_begin,
            source_end,
            target_begin,
            target_end,
            n_source=len(words[0].terms),
            n_target=len(words[1].terms),
            min_cooccurrence=self.min_cooccurrence,
            chunk_cells=CHUNK_CELLS,
            n_threads=threads,
        )
        self._run(aligner, len(words[0].terms))
        self.n_cells_ = int(aligner.n_cells)
        self.source_counter_, self.target_counter_ = counters
        self.translation_ = _restricted(aligner.cells(self.min_probability), words, counters)
        self.n_features_in_ = int(self.translation_.shape[0])
        return self

    def fit_transform(self, X: Any, y: Any = None, **parameters: Any) -> Any:
        """Always raises TypeError: ``fit`` takes documents, ``transform`` rows of weights."""
        raise TypeError("fit_transform: WordByWord is fitted on documents but transforms rows; call both methods")

    def transform(self, X: Any) -> Any:
        """Translate weighted rows: ``X @ translation_``.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_source_terms)
            Usually log(tf)-idf weights: the paper found them better than counts.

        Returns
        -------
        csr_matrix of shape (n_documents, n_target_terms); of a sparse array, a csr_array
            float64 for float64 rows, otherwise float32; indices are sorted. The bits of a row depend neither on
            the number of threads nor on the other rows.
        """
        check_is_fitted(self, "translation_")
        X = as_csr(X, ranges=False)
        n, n_out = self.translation_.shape
        if X.shape[1] != n:
            raise ValueError(f"X: has {X.shape[1]} columns, the model translates {n} terms")
        matrix = _core.Csr(
            np.ascontiguousarray(self.translation_.indptr, np.int64),
            np.ascontiguousarray(self.translation_.indices, np.int32),
            np.ascontiguousarray(self.translation_.data, np.float32),
            n_out,
        )
        product = _core.multiply_sparse(core_csr(X), matrix, resolve_threads(self.n_threads))
        return scipy_csr(product, csr_kind(X))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the target terms in the order of their columns; `input_features` is ignored."""
        check_is_fitted(self, "translation_")
        names: npt.NDArray[np.object_] = self.target_counter_.get_feature_names_out()
        return names

    def _run(self, aligner: _core.WordAligner, n_source: int) -> None:
        """The iterations of both models."""
        with progress_bar(self.progress, "WordByWord", self.model1_iter + self.hmm_iter, "iteration") as bar:
            likelihoods: list[float] = []
            while len(likelihoods) < self.model1_iter and not has_converged(likelihoods, self.model1_tol):
                likelihoods.append(_finite(aligner.model1(), "Model 1", len(likelihoods)))
                bar.update(1)
            self.model1_log_likelihood_ = np.array(likelihoods)
            likelihoods = []
            k = 2 * self.max_jump + 3
            shared = np.full(k, 1.0 / k)
            jumps = np.broadcast_to(shared.astype(np.float32), (n_source + 1, k))
            while len(likelihoods) < self.hmm_iter and not has_converged(likelihoods, self.hmm_tol):
                found = aligner.hmm(np.ascontiguousarray(jumps), self.null_probability)
                likelihoods.append(_finite(found.log_likelihood, "HMM", len(likelihoods)))
                shared = _shared_jumps(found.counts, found.exposure)
                smoothing = self.smoothing if self.word_dependent else None
                jumps = _word_jumps(shared, found.counts, found.exposure, smoothing)
                bar.update(1)
            self.hmm_log_likelihood_ = np.array(likelihoods)
            self.jump_weights_ = shared

    def _fitted_counters(self, texts: list[list[str]]) -> tuple[TermCounter, TermCounter]:
        given = TermCounter(n_threads=self.n_threads) if self.counter is None else self.counter
        if not isinstance(given, (TermCounter, MultiTermCounter)):
            raise TypeError(
                f"counter: expected a TermCounter, a MultiTermCounter or None, got {type(given).__name__}"
            )
        if not _is_fitted(given):
            given = clone(given)
            given._learn(texts, keep_rows=False)
        counters = given.counters_ if isinstance(given, MultiTermCounter) else [given, given]
        if len(counters) != 2:
            raise ValueError(f"counter: expected a counter of 2 languages, got {len(counters)}")
        return counters[0], counters[1]

    def _pairs(self, aligned: SentenceAlignment, words: list[_Words]) -> list[npt.NDArray[np.int64]]:
        """Return the first and the end word of both sides of the sentence pairs to learn from."""
        document, *bounds = aligned.beads.T
        used = (bounds[0] < bounds[1]) & (bounds[2] < bounds[3])
        if self.min_score is not None:
            used &= aligned.scores >= self.min_score
        ranges = []
        for side, sentences in enumerate((aligned.source, aligned.target)):
            before = np.cumsum([0, *map(len, sentences)])[document]
            ranges += [words[side].starts[before + bound] for bound in bounds[2 * side : 2 * side + 2]]
        n_beads = int(used.sum())
        for begin, end in (ranges[:2], ranges[2:]):
            used &= (begin < end) & (end - begin <= self.max_length)
        self.n_pairs_ = int(used.sum())
        self.n_skipped_ = n_beads - self.n_pairs_
        if self.n_pairs_ == 0:
            raise ValueError(
                f"source_documents: no sentence pair with 1 to max_length={self.max_length} words on both sides"
            )
        return [np.ascontiguousarray(bound[used]) for bound in ranges]

    def _check_parameters(self) -> None:
        check_integer(self.model1_iter, "model1_iter", low=0)
        check_integer(self.hmm_iter, "hmm_iter", low=0 if self.model1_iter else 1)
        check_real(self.model1_tol, "model1_tol", low=0)
        check_real(self.hmm_tol, "hmm_tol", low=0)
        check_real(self.smoothing, "smoothing", low=1e-3)
        check_integer(self.max_jump, "max_jump", low=0, high=100)
        check_real(self.null_probability, "null_probability", low=1e-6, high=1 - 1e-6)
        check_integer(self.min_cooccurrence, "min_cooccurrence", low=1)
        check_real(self.min_probability, "min_probability", low=0, high=1)
        if self.min_score is not None:
            check_real(self.min_score, "min_score", high=0)
        check_integer(self.max_length, "max_length", low=1)

    @classmethod
    def _blank(cls, **parameters: Any) -> WordByWord:
        renamed = {"vocabulary": "counter", "skip": "skip_probability"}  # in files of 0.1.0
        return cls(**{renamed.get(name, name): value for name, value in parameters.items()})

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        if self.counter is not None:  # the fitted counters are saved, and only once
            fitted = "fitted" if _is_fitted(self.counter) else "new"
            parameters["counter"] = f"{fitted} {type(self.counter).__name__}"
        return parameters

    def _get_state(self) -> dict[str, Array]:
        return {**super()._get_state(), **pack_csr(self.translation_, "translation_")}

    def _get_scalars(self) -> dict[str, Any]:
        shared = self.source_counter_ is self.target_counter_
        return {**super()._get_scalars(), "n_terms_out": self.translation_.shape[1], "shared": shared}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        arrays, scalars = dict(arrays), dict(scalars)
        self.translation_ = unpack_csr(
            {name: arrays.pop(name) for name in list(arrays) if name.startswith("translation_")},
            "translation_",
            (scalars["n_features_in_"], scalars.pop("n_terms_out")),
        )
        self._shared = bool(scalars.pop("shared"))
        super()._set_state(arrays, scalars)

    def _restored(self) -> None:
        shared = self.__dict__.pop("_shared")
        if shared:
            self.target_counter_ = self.source_counter_
        for counter, width in zip(
            (self.source_counter_, self.target_counter_), self.translation_.shape, strict=True
        ):
            if not isinstance(counter, TermCounter) or len(counter.term_counts_) != width:
                raise ValueError("translation_: expected terms of the counters")
        if self.counter is None:
            return
        fitted, name = self.counter.split()
        counter = self.source_counter_
        if name == MultiTermCounter.__name__:
            parameters = {k: v for k, v in self.source_counter_.get_params().items() if k != "vocabulary"}
            counter = MultiTermCounter("shared" if shared else "separate", **parameters)
            counter.counters_ = [self.source_counter_, self.target_counter_]
        self.counter = counter if fitted == "fitted" else clone(counter)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_fitted(counter: TermCounter | MultiTermCounter) -> bool:
    return hasattr(counter, "counters_" if isinstance(counter, MultiTermCounter) else "term_counts_")


def _read_words(counter: TermCounter, texts: list[str], threads: int) -> _Words:
    """Read all words of the sentences, as the counter cuts them."""
    options = {"n_threads": threads, **counter._reading()}
    session = _core.CountSession(ngram_max=1, keep_rows=False, vocabulary=None, **options)
    for batch in iter_batches(texts):
        session.add(batch, session.n_documents)
    session.choose(0, None, 1)
    vocabulary = session.vocabulary
    starts, ids, n, number = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0, 0
    for batch in iter_batches(texts):
        some = vocabulary.sequences(batch, first_document_number=number, **options)
        starts.append(some.starts[1:] + n)
        ids.append(some.ids)
        n += len(some.ids)
        number += len(batch)
    return _Words(vocabulary.term_list(), np.concatenate(starts), np.concatenate(ids))


def _finite(value: float, model: str, iteration: int) -> float:
    if not np.isfinite(value):
        raise ValueError(f"{model}: the log likelihood is {value} in iteration {iteration + 1}")
    return value


def _shared_jumps(counts: Array, exposure: Array) -> Array:
    """Take one step towards the best weights for the jumps of all words; the likelihood never falls."""
    expected, possible = counts.sum(axis=0), exposure.sum(axis=0)
    weights = np.divide(expected, possible, out=np.zeros_like(expected), where=possible > 0)
    weights = np.maximum(weights, 1e-6 * weights.max()) if weights.max() > 0 else np.ones_like(weights)
    shared: Array = weights / weights.sum()
    return shared


def _word_jumps(shared: Array, counts: Array, exposure: Array, smoothing: float | None) -> Array:
    """Take the same step for each word, with a gamma prior around `shared`; without `smoothing`, keep `shared`."""
    if smoothing is None:
        return np.broadcast_to(shared.astype(np.float32), counts.shape)
    share = counts.sum(axis=0)
    prior = smoothing * np.maximum(share / max(share.sum(), 1e-300), 1e-6)
    weights: Array = ((counts + prior) / (exposure + prior / shared)).astype(np.float32)
    return weights


def _columns(terms: list[str], counter: TermCounter) -> npt.NDArray[np.int64]:
    """Return the column of each term, or -1 if it has none."""
    column = counter.vocabulary_
    return np.fromiter((column.get(term, -1) for term in terms), np.int64, len(terms))


def _restricted(cells: _core.Csr, words: list[_Words], counters: tuple[TermCounter, ...]) -> Any:
    """Keep the translations between terms that have columns, out of those between all words."""
    lengths = np.diff(cells.indptr)[: len(words[0].terms)]  # leaves out the null word's
    values = cells.data[: lengths.sum()].astype(np.float64)
    source_of, target_of = (_columns(w.terms, counter) for w, counter in zip(words, counters, strict=True))
    sources = np.repeat(np.arange(len(lengths)), lengths)
    values /= np.bincount(sources, values, len(lengths))[sources]
    row, column = source_of[sources], target_of[cells.indices[: len(values)]]
    kept = (row >= 0) & (column >= 0)
    told = np.zeros(len(counters[0].vocabulary_), bool)
    told[source_of[(lengths > 0) & (source_of >= 0)]] = True
    terms = counters[0].get_feature_names_out()
    silent = np.flatnonzero(~told)
    itself = _columns(list(terms[silent]), counters[1])
    row = np.concatenate([row[kept], silent[itself >= 0]])
    column = np.concatenate([column[kept], itself[itself >= 0]])
    data = np.concatenate([values[kept], np.ones(len(row) - kept.sum())]).astype(np.float32)
    matrix = sp.csr_matrix((data, (row, column)), shape=(len(told), len(counters[1].vocabulary_)))
    matrix.sort_indices()
    return matrix
