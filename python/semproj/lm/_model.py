"""What all language models have in common: sentences in, logarithms of probabilities to base 10 out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._common.rows import is_ours
from .._common.types import Array
from ._vocabulary import END, Sentence, split_words


class WordScore(NamedTuple):
    """The probability of a word after those before it."""

    word: str
    log_prob: float
    """Its logarithm to base 10."""
    order: int
    """How many words, this one among them, the n-gram had that gave the probability; 0 where there are none."""
    unknown: bool
    """Whether the model does not know the word."""


class WordScores(NamedTuple):
    """Of each word that is scored: arrays of one length."""

    log_probs: Array
    orders: Array
    unknown: Array


class SentenceSums(NamedTuple):
    """Of each sentence: sums over all words that are scored, and over those that are unknown."""

    log_probs: Array
    words: Array
    unknown_log_probs: Array
    unknown_words: Array


class LanguageModel(ABC):
    """A model of sentences. Subclasses have `_score_tokens`, and `_sum_sentences` where a batch can be faster.

    All logarithms are to base 10, as in ARPA files.
    """

    def score(self, sentence: Sentence, *, bos: bool = True, eos: bool = True) -> float:
        """The logarithm of the probability of a sentence.

        Parameters
        ----------
        sentence : str or sequence of str
            A str is cut at ASCII white space; a sequence has one word an item.
        bos : bool, default True
            Begin at the start of a sentence; otherwise without a context.
        eos : bool, default True
            End with the probability of the end of the sentence.

        Returns
        -------
        float
            To base 10.
        """
        self._check_fitted()
        return float(self._score_tokens(split_words(sentence), bool(bos), bool(eos)).log_probs.sum())

    def scores(
        self, sentences: Iterable[Sentence], *, bos: bool = True, eos: bool = True, n_threads: int | None = None
    ) -> Array:
        """What `score` returns, of many sentences.

        Returns
        -------
        float64 array of shape (n_sentences,)
        """
        self._check_fitted()
        return self._sum_sentences(as_sentences(sentences), bool(bos), bool(eos), n_threads).log_probs

    def score_words(self, sentence: Sentence, *, bos: bool = True, eos: bool = True) -> list[WordScore]:
        """The probability of each word, and with `eos` of the end of the sentence.

        Returns
        -------
        list of WordScore
            Named tuples of word, log_prob, order and unknown.
        """
        self._check_fitted()
        words = split_words(sentence)
        found = self._score_tokens(words, bool(bos), bool(eos))
        columns = (each.tolist() for each in found)
        return [WordScore(*row) for row in zip([*words, END] if eos else words, *columns, strict=True)]

    def perplexity(
        self, sentences: Iterable[Sentence], *, unknown: bool = True, n_threads: int | None = None
    ) -> float:
        """10 to the power of the negative mean logarithm over all words and ends of sentences.

        Parameters
        ----------
        sentences : iterable of sentences
        unknown : bool, default True
            Count unknown words, with the probability that the model gives them; otherwise leave them out.
        n_threads : int or None

        Returns
        -------
        float
        """
        self._check_fitted()
        sums = self._sum_sentences(as_sentences(sentences), True, True, n_threads)
        log_prob, words = sums.log_probs.sum(), int(sums.words.sum())
        if not unknown:
            log_prob -= sums.unknown_log_probs.sum()
            words -= int(sums.unknown_words.sum())
        if words == 0:
            raise ValueError("sentences: expected at least one")
        return float(10.0 ** (-log_prob / words))

    @abstractmethod
    def _check_fitted(self) -> None:
        """Raise scikit-learn's NotFittedError if there is no model yet."""

    @abstractmethod
    def _score_tokens(self, words: list[str], bos: bool, eos: bool) -> WordScores:
        """Scores of all words of one sentence, and of its end."""

    def _sum_sentences(
        self, sentences: Iterable[Sentence], bos: bool, eos: bool, n_threads: int | None
    ) -> SentenceSums:
        """Sums of each sentence, one after the other."""
        rows: list[tuple[float, int, float, int]] = []
        for number, sentence in enumerate(sentences):
            found = self._score_tokens(split_words(sentence, f"sentences[{number}]"), bos, eos)
            unknown = found.unknown.astype(bool)
            of_unknown = float(found.log_probs[unknown].sum())
            rows.append((float(found.log_probs.sum()), len(unknown), of_unknown, int(unknown.sum())))
        log_probs, words, unknown_log_probs, unknown_words = zip(*rows, strict=True) if rows else ((),) * 4
        return SentenceSums(
            np.array(log_probs, np.float64),
            np.array(words, np.int64),
            np.array(unknown_log_probs, np.float64),
            np.array(unknown_words, np.int64),
        )


def as_sentences(sentences: Any, name: str = "sentences") -> Iterable[Any]:
    """An iterable of sentences; what is one sentence, or has no order, is refused."""
    if isinstance(sentences, (str, bytes)) or not isinstance(sentences, Iterable):
        what = f"expected an iterable of sentences, got {type(sentences).__name__}"
        raise TypeError(f"{name}: {what}; write [sentence] for one")
    if isinstance(sentences, (Mapping, set, frozenset)) or is_ours(sentences) or sp.issparse(sentences):
        raise TypeError(f"{name}: expected an iterable of sentences, got {type(sentences).__name__}; write a list")
    return sentences
