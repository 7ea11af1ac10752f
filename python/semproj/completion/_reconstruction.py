"""How well a completed sentence is reconstructed from the leading components of the sentences with its answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .._common.persistence import saveable
from .._common.resources import single_threaded_blas
from .._common.types import Array
from .._common.validation import check_integer, check_positive, keeps_previous_fit
from ._index import as_index
from ._method import IndexedMethod
from ._questions import CompletionQuestion


@saveable
class LSAReconstruction(IndexedMethod):
    """The error of a completed sentence after projection on the leading components of related sentences.

    Section 4.2 of Zweig, Platt, Meek, Burges, Yessenalina and Liu 2012: the score is ``-|(U U' - I) w|^2``, where
    w has the tf-idf weights of the completed sentence. U has ``fraction`` times as many components as the sentence
    has words. It is found anew for each option, from the sentences that have a word of it (section 4.4).

    Parameters
    ----------
    fraction : float, default 1.2
    ngrams : int, default 1
        Terms are runs of 1 to so many words, at most 3. Punctuation is no word.
    max_sentences : int, default 300
        Of the sentences with an option take at most so many, at even distances. The time of an option grows with
        its square to its cube.
    min_count : int, default 3
        Rarer words are not known. An index that is given has its own.

    Notes
    -----
    The weight of a run of words is the sum of those of its words. An option without a word that is known has no
    sentences: nothing of its sentence is reconstructed.

    Examples
    --------
    >>> from semproj.completion import LSAReconstruction
    >>> sentences = ["the cat drank milk", "a cat drank milk", "a man read news", "the man read", "a cat sat"]
    >>> method = LSAReconstruction(0.5, min_count=1).fit(sentences)
    >>> drank, read = method.scores("the cat _____ milk", ["drank", "read"])
    >>> bool(drank > read)
    True
    """

    def __init__(
        self, fraction: float = 1.2, *, ngrams: int = 1, max_sentences: int = 300, min_count: int = 3
    ) -> None:
        self.fraction, self.ngrams = fraction, ngrams
        self.max_sentences, self.min_count = max_sentences, min_count

    @keeps_previous_fit
    def fit(self, sentences: Any, y: Any = None) -> LSAReconstruction:
        self._check_parameters()
        self.index_ = as_index(sentences, self.min_count)
        return self

    def _scores(self, question: CompletionQuestion) -> Array:
        return np.array([self._score(question, option) for option in range(len(question.options))])

    def _score(self, question: CompletionQuestion, option: int) -> float:
        index = self.index_
        completed = question.completed(option)
        numbers = np.array(index.numbers(completed), np.int64)
        numbers = numbers[index.is_word[numbers]]
        with_answer = [index.sentences_with(word) for word in index.numbers(question.answer_words(option))]
        related = np.unique(np.concatenate([*with_answer, np.empty(0, np.int32)]))
        if len(related) > self.max_sentences:
            related = related[np.linspace(0, len(related) - 1, self.max_sentences).round().astype(int)]
        tokens, rows = index.tokens_of(related)
        words = tokens < len(index.counts_)
        words[words] = index.is_word[tokens[words]]
        # The sentence itself is the last row.
        tokens = np.concatenate([tokens[words], numbers]).astype(np.int64)
        rows = np.concatenate([rows[words], np.full(len(numbers), len(related))])
        table = _weighted_terms(tokens, rows, len(related) + 1, index.idf, self.ngrams)
        w, others = table[len(related)], table[: len(related)]
        squared = float((w @ w.T).toarray()[0, 0])
        return min(self._captured(others, w, round(self.fraction * len(completed))) - squared, 0.0)

    def _captured(self, X: Any, w: Any, n_components: int) -> float:
        """``|U' w|^2`` for the leading right singular vectors U of the rows X, which are few."""
        k = min(n_components, X.shape[0])
        if k < 1:
            return 0.0
        with single_threaded_blas():
            values, left = scipy.linalg.eigh((X @ X.T).toarray(), subset_by_index=(X.shape[0] - k, X.shape[0] - 1))
            along = left.T @ (X @ w.T).toarray().ravel()
        kept = values > 1e-9 * max(float(values[-1]), np.finfo(np.float64).tiny)
        return float((along[kept] ** 2 / values[kept]).sum())

    def _check_parameters(self) -> None:
        check_positive(self.fraction, "fraction")
        check_integer(self.ngrams, "ngrams", low=1, high=3)
        check_integer(self.max_sentences, "max_sentences", low=1)
        check_integer(self.min_count, "min_count", low=1)


def _weighted_terms(tokens: Array, rows: Array, n_rows: int, idf: Array, ngrams: int) -> Any:
    """Counts of runs of words of each row times their idf; a column for each run that there is."""
    parts, places, weights = [], [], []
    keys, of_run = tokens, idf[tokens]
    first = 0
    for n in range(1, ngrams + 1):
        if n > 1:
            last = tokens[n - 1 :]
            # Runs of n - 1 words have become numbers: with the next word they make one of n.
            keys, of_run = keys[: len(last)] * np.int64(len(idf)) + last, of_run[: len(last)] + idf[last]
        whole = rows[: len(keys)] == rows[n - 1 :]
        distinct, numbers = np.unique(keys, return_inverse=True)
        parts.append(first + numbers.reshape(-1)[whole])
        places.append(rows[: len(keys)][whole])
        weights.append(of_run[whole])
        first += len(distinct)
        keys = numbers.reshape(-1).astype(np.int64)
    columns, at, values = (np.concatenate(each) for each in (parts, places, weights))
    return sp.coo_matrix((values, (at, columns)), shape=(n_rows, first)).tocsr()
