"""Which words are in sentences together: pointwise mutual information, and the sentences nearest to a question."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._common.persistence import saveable
from .._common.types import Array
from .._common.validation import check_integer, check_positive, check_real, keeps_previous_fit
from ._index import as_index
from ._method import IndexedMethod, known_context
from ._questions import CompletionQuestion


@saveable
class PMI(IndexedMethod):
    """Pointwise mutual information of an option and the words around the blank, summed.

    Of an option w and a word c, with n_w, n_c and n_wc of N sentences that have them, it is
    ``log((n_wc + smoothing) / (e_wc + smoothing))``, where ``e_wc = n_w p_c`` is what chance would give: p_c is
    n_c / N, and with a `context_exponent` proportional to n_c to that power.

    Parameters
    ----------
    smoothing : float, default 1
        How many sentences are added to what is counted and to what is expected: rare words have less to say.
    context_exponent : float, default 1
        Below 1, rare words around the blank count for less.
    positive : bool, default False
        Raise negative information to 0.
    stop_words : int, default 50
        So many of the most frequent words are left out around the blank: they are in most sentences.
    min_count : int, default 3
        Rarer words are not known. An index that is given has its own.

    Notes
    -----
    Pairs are counted when they are asked for, exactly, in the sentences that have the option. Of an option of
    several words, and of two blanks, all words are summed; unknown ones add 0.

    Examples
    --------
    >>> from semproj.completion import PMI
    >>> sentences = ["the cat drank milk", "the cat drank milk", "a man read news", "a man read news"]
    >>> method = PMI(stop_words=0, min_count=1).fit(sentences)
    >>> method.scores("the cat _____ milk", ["drank", "read"]).round(2)
    array([ 1.22, -2.08])
    """

    def __init__(
        self,
        smoothing: float = 1.0,
        *,
        context_exponent: float = 1.0,
        positive: bool = False,
        stop_words: int = 50,
        min_count: int = 3,
    ) -> None:
        self.smoothing, self.context_exponent, self.positive = smoothing, context_exponent, positive
        self.stop_words, self.min_count = stop_words, min_count

    @keeps_previous_fit
    def fit(self, sentences: Any, y: Any = None) -> PMI:
        self._check_parameters()
        self.index_ = as_index(sentences, self.min_count)
        return self

    def _scores(self, question: CompletionQuestion) -> Array:
        index = self.index_
        context = known_context(question, index, self.stop_words)
        in_sentences = index.document_counts_[context].astype(np.float64)
        if self.context_exponent == 1:
            chance = in_sentences / index.n_sentences_
        else:
            powers = index.document_counts_**self.context_exponent
            total = index.document_counts_.sum() / index.n_sentences_
            chance = in_sentences**self.context_exponent * (total / powers.sum())
        scores = np.zeros(len(question.options))
        for option in range(len(question.options)):
            for word in index.numbers(question.answer_words(option)):
                sentences, found = index.presence(word, context)
                expected = len(sentences) * chance
                scores[option] += self._information(found.sum(axis=0), expected).sum()
        return scores

    def _information(self, counted: Array, expected: Array) -> Array:
        if self.smoothing > 0:
            information: Array = np.log((counted + self.smoothing) / (expected + self.smoothing))
        else:  # what was never seen together says nothing
            information = np.log(np.where(counted > 0, counted, expected) / expected)
        return np.maximum(information, 0.0) if self.positive else information

    def _check_parameters(self) -> None:
        check_real(self.smoothing, "smoothing", low=0)
        check_positive(self.context_exponent, "context_exponent")
        check_integer(self.stop_words, "stop_words", low=0)
        check_integer(self.min_count, "min_count", low=1)


@saveable
class NearestSentences(IndexedMethod):
    """How near the sentences that have an option come to the question.

    The score of an option is ``log mean exp(sharpness * cosine)`` over all sentences with its word. The cosine is
    that of idf vectors of different words: of the sentence, and of the question without its blanks. Unlike sums
    over pairs of words, this sees that several words of the question are in one sentence together.

    Parameters
    ----------
    sharpness : float, default 20
        Towards 0 all sentences count alike, towards infinity only the nearest does.
    min_count : int, default 3
        Rarer words are not known. An index that is given has its own.

    Notes
    -----
    The words of an option are scored each, and summed; one that is not known scores 0, as if no sentence with it
    had a word of the question.

    Examples
    --------
    >>> from semproj.completion import NearestSentences
    >>> sentences = ["the cat drank milk", "a cat drank", "a man read news", "the news of milk"]
    >>> method = NearestSentences(min_count=1).fit(sentences)
    >>> method.scores("the cat _____ milk", ["drank", "read"]).round(2)
    array([16.63,  0.  ])
    """

    def __init__(self, sharpness: float = 20.0, *, min_count: int = 3) -> None:
        self.sharpness, self.min_count = sharpness, min_count

    @keeps_previous_fit
    def fit(self, sentences: Any, y: Any = None) -> NearestSentences:
        self._check_parameters()
        self.index_ = as_index(sentences, self.min_count)
        return self

    def _scores(self, question: CompletionQuestion) -> Array:
        index = self.index_
        context = [number for number in known_context(question, index, 0) if index.idf[number] > 0]
        weights = index.idf[context] ** 2
        length = float(np.sqrt(weights.sum()))
        scores = np.zeros(len(question.options))
        if not context:
            return scores
        for option in range(len(question.options)):
            for word in index.numbers(question.answer_words(option)):
                sentences, found = index.presence(word, context)
                lengths = np.maximum(index.lengths[sentences], np.finfo(np.float64).tiny)
                cosines = np.where(found.any(axis=1), found @ weights / (length * lengths), 0.0)
                largest = float(cosines.max())
                mean = np.exp(self.sharpness * (cosines - largest)).mean()
                scores[option] += self.sharpness * largest + np.log(mean)
        return scores

    def _check_parameters(self) -> None:
        check_positive(self.sharpness, "sharpness")
        check_integer(self.min_count, "min_count", low=1)
