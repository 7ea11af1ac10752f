"""A language model that prefers words similar to those before them, mixed with an n-gram model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._common.persistence import Persistent, saveable
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_integer, check_positive, check_real
from .._solvers.krylov import product
from ..lm import LanguageModel, Sentence, SentenceSums, WordScores, split_words
from ._index import SentenceIndex
from ._similarity import LSASimilarity

_BATCH = 256  # histories in one product


@saveable
class LSALanguageModel(LanguageModel, Persistent, BaseEstimator):  # type: ignore[misc]
    """An n-gram model mixed with one by latent semantic analysis, of Coccaro and Jurafsky.

    Section 4.3 of Zweig, Platt, Meek, Burges, Yessenalina and Liu 2012. Of a word w after a history h, which is
    the sum of the vectors before it, ``p_lsa(w|h)`` is proportional to ``(cos(h, w) - m) ** sharpness``, where m
    is the least cosine of any word with h. The model is ``(1 - weight) * p_ngram + weight * p_lsa``.

    Parameters
    ----------
    ngram : LanguageModel
        Fitted, or fitted by `fit`.
    similarity : LSASimilarity
        Whose vectors are taken; fitted, or fitted by `fit`.
    weight : float, default 0.1
        Of the model by latent semantic analysis.
    sharpness : float, default 1
        The paper has 1, which tells words apart a little only.
    n_threads : int or None

    Notes
    -----
    ``p_lsa`` is 0 for words without a vector, and for the end of the sentence; it is uniform where no word of the
    history has a vector. So all probabilities add up to 1 if the n-gram model knows the words of the vectors.
    Each word costs a product of its history with all vectors.

    Examples
    --------
    >>> from semproj.completion import LSALanguageModel
    >>> LSALanguageModel(weight=0.2).weight
    0.2
    """

    _parts = ("ngram", "similarity")

    def __init__(
        self,
        ngram: Any = None,
        similarity: LSASimilarity | None = None,
        *,
        weight: float = 0.1,
        sharpness: float = 1.0,
        n_threads: int | None = None,
    ) -> None:
        self.ngram, self.similarity = ngram, similarity
        self.weight, self.sharpness, self.n_threads = weight, sharpness, n_threads

    def fit(self, sentences: Any, y: Any = None) -> LSALanguageModel:
        """Fit both on sentences, which are read twice."""
        self._check_parameters()
        if isinstance(sentences, SentenceIndex) or iter(sentences) is sentences:
            what = f"expected sentences that can be read twice, got {type(sentences).__name__}"
            raise TypeError(f"sentences: {what}; pass a list")
        if self.similarity is None:
            raise TypeError("similarity: expected an LSASimilarity, got None")
        self.ngram.fit(sentences)
        self.similarity.fit(sentences)
        return self

    def _score_tokens(self, words: list[str], bos: bool, eos: bool) -> WordScores:
        return self._batch([words], bos, eos)[0]

    def _sum_sentences(
        self, sentences: Iterable[Sentence], bos: bool, eos: bool, n_threads: int | None
    ) -> SentenceSums:
        rows: list[tuple[float, int, float, int]] = []
        block: list[list[str]] = []

        def flush() -> None:
            for found in self._batch(block, bos, eos) if block else []:
                unknown = found.unknown.astype(bool)
                of_unknown = float(found.log_probs[unknown].sum())
                rows.append((float(found.log_probs.sum()), len(unknown), of_unknown, int(unknown.sum())))
            block.clear()

        for number, sentence in enumerate(sentences):
            block.append(split_words(sentence, f"sentences[{number}]"))
            if len(block) == _BATCH:
                flush()
        flush()
        columns = list(zip(*rows, strict=True)) or [()] * 4
        kinds = (np.float64, np.int64, np.float64, np.int64)
        return SentenceSums(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))

    def _batch(self, sentences: Sequence[list[str]], bos: bool, eos: bool) -> list[WordScores]:
        assert self.similarity is not None
        columns, vectors = self.similarity._columns(), self.similarity.vectors()
        histories: list[Array] = []
        wanted: list[int] = []
        for words in sentences:
            history = np.zeros(vectors.shape[1])
            for word in words:
                column = columns.get(word, -1)
                histories.append(history.astype(np.float32))
                wanted.append(column)
                if column >= 0:
                    history = history + vectors[column]
        lsa = self._probabilities(np.array(histories, np.float32), np.array(wanted, np.int64))
        result, at = [], 0
        for words in sentences:
            found = self.ngram._score_tokens(words, bos, eos)
            ours = np.concatenate([lsa[at : at + len(words)], [0.0] if eos else []])
            at += len(words)
            with np.errstate(divide="ignore"):
                mixed = np.log10((1 - self.weight) * 10.0**found.log_probs + self.weight * ours)
            result.append(WordScores(mixed, found.orders, found.unknown))
        return result

    def _probabilities(self, histories: Array, wanted: Array) -> Array:
        """``p_lsa`` of a word after each history; 0 for words without a vector, whose number is -1."""
        assert self.similarity is not None
        unit = self.similarity.unit_vectors()
        result = np.zeros(len(wanted))
        places = np.flatnonzero(wanted >= 0)
        threads = resolve_threads(self.n_threads)
        for begin in range(0, len(places), _BATCH):
            chosen = places[begin : begin + _BATCH]
            H = histories[chosen].astype(np.float64)
            lengths = np.linalg.norm(H, axis=1, keepdims=True)
            H = np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0)
            with single_threaded_blas():
                cosines = product(unit, np.ascontiguousarray(H.T), threads)
            result[chosen] = _shares(cosines, wanted[chosen], self.sharpness)
        return result

    def _check_parameters(self) -> None:
        check_real(self.weight, "weight", low=0, high=1)
        check_positive(self.sharpness, "sharpness")

    def _check_fitted(self) -> None:
        self._check_parameters()
        if not isinstance(self.ngram, LanguageModel):
            raise TypeError(f"ngram: expected a LanguageModel, got {type(self.ngram).__name__}")
        if not isinstance(self.similarity, LSASimilarity):
            raise TypeError(f"similarity: expected an LSASimilarity, got {type(self.similarity).__name__}")
        self.ngram._check_fitted()
        self.similarity._check_fitted()

    def _check_saveable(self) -> None:
        self._check_fitted()


def _shares(cosines: Array, wanted: Array, sharpness: float) -> Array:
    """Of each column of cosines the share of one row, after the least is taken off."""
    n_words = check_integer(len(cosines), "similarity", low=1)
    least = cosines.min(axis=0)
    here = np.arange(len(wanted))
    of_wanted = cosines[wanted, here].astype(np.float64) - least
    if sharpness == 1:
        total = cosines.sum(axis=0, dtype=np.float64) - n_words * least.astype(np.float64)
    else:
        total = ((cosines - least) ** sharpness).sum(axis=0, dtype=np.float64)
        of_wanted = of_wanted**sharpness
    # Where all cosines are equal there is nothing to tell words apart by.
    flat = total <= 1e-6 * n_words * 1e-6
    return np.where(flat, 1.0 / n_words, of_wanted / np.where(flat, 1.0, total))
