"""The sentences that methods learn from, as numbers of words, and in which of them each word is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._common.layouts import layouts
from .._common.persistence import Persistent, check_strings, pack_strings, saveable, unpack_strings
from .._common.types import Array
from .._common.validation import check_integer, keeps_previous_fit
from ..lm import Sentence, as_sentences, split_words

_BATCH = 1 << 14  # sentences


@saveable
class SentenceIndex(Persistent):
    """Sentences as numbers of words, and for each word the sentences that have it.

    Several methods can be fitted on one index: text is read once, and kept once.

    Parameters
    ----------
    min_count : int, default 3
        Words that are rarer are not known; they keep their places.
    max_words : int or None, default None
        Only so many of the most frequent words are known.

    Attributes
    ----------
    words_ : list of str
        By falling count, ties by their UTF-8 bytes.
    counts_ : int64 array of shape (n_words,)
        How often each word comes.
    document_counts_ : int64 array of shape (n_words,)
        In how many sentences.
    n_sentences_ : int

    Examples
    --------
    >>> from semproj.completion import SentenceIndex
    >>> index = SentenceIndex(min_count=1).fit(["the cat sat", "the cat ran", "a dog ran"])
    >>> index.words_
    ['cat', 'ran', 'the', 'a', 'dog', 'sat']
    >>> index.sentences_with("ran")
    array([1, 2], dtype=int32)
    """

    _arrays = layouts(
        ids_="i4 TOKENS",
        starts_="i8 ends",
        postings_="i4 POSTINGS",
        posting_starts_="i8 places",
        counts_="i8 words",
        text_="u1 bytes",
        offsets_="i8 places",
    )

    def __init__(self, min_count: int = 3, max_words: int | None = None) -> None:
        self.min_count, self.max_words = min_count, max_words

    @keeps_previous_fit
    def fit(self, sentences: Iterable[Sentence]) -> SentenceIndex:
        """Read sentences, once.

        Parameters
        ----------
        sentences : iterable of str or sequences of str
            White space divides the words of a str.
        """
        self._check_parameters()
        ids, starts, words = _numbered(sentences)
        if not len(ids):
            raise ValueError("sentences: expected words, got none")
        counts = np.bincount(ids, minlength=len(words))
        order = sorted(range(len(words)), key=lambda i: (-counts[i], words[i].encode()))
        kept = [i for i in order if counts[i] >= self.min_count][: self.max_words]
        if not kept:
            raise ValueError(f"min_count: no word comes {self.min_count} times")
        renumbered = np.full(len(words), len(kept), np.int32)
        renumbered[kept] = np.arange(len(kept))
        self.__dict__ = {"min_count": self.min_count, "max_words": self.max_words}
        self.ids_, self.starts_, self.counts_ = renumbered[ids], starts, counts[kept].astype(np.int64)
        self.text_, self.offsets_ = pack_strings(words[i] for i in kept)
        self.postings_, self.posting_starts_ = _postings(self.ids_, starts, len(kept))
        return self

    @cached_property
    def words_(self) -> list[str]:
        return unpack_strings(self.text_, self.offsets_)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words_)}

    @cached_property
    def document_counts_(self) -> Array:
        return np.diff(self.posting_starts_)

    @property
    def n_sentences_(self) -> int:
        return len(self.starts_) - 1

    @cached_property
    def idf(self) -> Array:
        """Natural logarithms of the number of sentences over those with a word; 0 for punctuation."""
        weights: Array = np.log(self.n_sentences_ / self.document_counts_)
        weights[~self.is_word] = 0.0
        return weights

    @cached_property
    def is_word(self) -> Array:
        """Which words have a letter or a digit; the others are punctuation."""
        return np.array([any(map(str.isalnum, word)) for word in self.words_])

    @cached_property
    def lengths(self) -> Array:
        """Euclidean lengths of the sentences, as idf of their different words."""
        squares = np.concatenate([self.idf**2, [0.0]])
        numbers = np.repeat(np.arange(len(self.document_counts_)), self.document_counts_)
        return np.sqrt(np.bincount(self.postings_, squares[numbers], self.n_sentences_))

    def number(self, word: str) -> int | None:
        """The number of a word, or None."""
        return self._numbers.get(word)

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Those of the words that are known, in their order."""
        return [number for word in words if (number := self._numbers.get(word)) is not None]

    def sentences_with(self, word: str | int) -> Array:
        """The numbers of the sentences that have a word, rising."""
        number = self.number(word) if isinstance(word, str) else word
        if number is None:
            return np.empty(0, np.int32)
        return self.postings_[self.posting_starts_[number] : self.posting_starts_[number + 1]]

    def tokens_of(self, sentences: Array) -> tuple[Array, Array]:
        """The tokens of some sentences one after another, and to which of them each belongs."""
        begins = self.starts_[sentences]
        lengths = self.starts_[np.asarray(sentences, np.int64) + 1] - begins
        rows = np.repeat(np.arange(len(lengths)), lengths)
        shifts = begins - np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return self.ids_[np.arange(len(rows)) + shifts[rows]], rows

    def presence(self, word: int, others: Sequence[int]) -> tuple[Array, Array]:
        """The sentences with a word, and which other words each of them has: a row of bool for each."""
        sentences = self.sentences_with(word)
        found = np.zeros((len(sentences), len(others)), bool)
        columns = np.full(len(self.counts_) + 1, -1, np.int32)
        columns[list(others)] = np.arange(len(others))
        tokens, rows = self.tokens_of(sentences)
        hits = columns[tokens]
        found[rows[hits >= 0], hits[hits >= 0]] = True
        return sentences, found

    def counts(self, columns: Array, sentences: Array | None = None) -> Any:
        """CSR counts of some words, one column each, in some sentences or in all."""
        place = np.full(len(self.counts_) + 1, -1, np.int32)
        place[columns] = np.arange(len(columns))
        if sentences is None:
            tokens, rows, n_rows = self.ids_, np.repeat(np.arange(self.n_sentences_), np.diff(self.starts_)), None
        else:
            tokens, rows = self.tokens_of(sentences)
            n_rows = len(sentences)
        hits = place[tokens]
        rows, hits = rows[hits >= 0], hits[hits >= 0]
        n_rows = self.n_sentences_ if n_rows is None else n_rows
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        matrix = sp.csr_matrix((np.ones(len(hits), np.float32), hits, indptr), shape=(n_rows, len(columns)))
        matrix.sum_duplicates()
        return matrix

    def _check_parameters(self) -> None:
        check_integer(self.min_count, "min_count", low=1)
        if self.max_words is not None:
            check_integer(self.max_words, "max_words", low=1)

    def _check_saveable(self) -> None:
        check_fitted(self, "ids_")

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {"min_count": self.min_count, "max_words": self.max_words}

    def _restored(self) -> None:
        check_strings(self.text_, self.offsets_)
        n_words = len(self.counts_)
        for starts, values, high, name in (
            (self.starts_, self.ids_, n_words + 1, "ids_"),
            (self.posting_starts_, self.postings_, len(self.starts_) - 1, "postings_"),
        ):
            if starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
                raise ValueError(f"{name}: the places where its parts begin do not fit")
            if len(values) and not (values.min() >= 0 and values.max() < high):
                raise ValueError(f"{name}: expected numbers from 0 to {high - 1}")
        if len(self.posting_starts_) != n_words + 1 or (np.diff(self.posting_starts_) < 1).any():
            raise ValueError("posting_starts_: expected a sentence for each word")


def check_fitted(model: Any, attribute: str) -> None:
    from sklearn.exceptions import NotFittedError

    if not hasattr(model, attribute):
        raise NotFittedError(f"This {type(model).__name__} is not fitted yet. Call fit first.")


def as_index(sentences: Any, min_count: int) -> SentenceIndex:
    """The index of sentences, which may be one already."""
    if isinstance(sentences, SentenceIndex):
        check_fitted(sentences, "ids_")
        return sentences
    return SentenceIndex(min_count).fit(sentences)


def _numbered(sentences: Iterable[Sentence]) -> tuple[Array, Array, list[str]]:
    """All words by number, in the order in which they came first; where each sentence begins; the words."""
    # Words are bytes here: most come from the bytes of a sentence, and are never needed as str.
    numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
    blocks: list[Array] = []
    lengths: list[int] = []
    block: list[int] = []
    for place, sentence in enumerate(as_sentences(sentences)):
        words = _encoded(sentence, place)
        block.extend(map(numbers.__getitem__, words))
        lengths.append(len(words))
        if place % _BATCH == _BATCH - 1:
            blocks.append(np.array(block, np.int32))
            block = []
    blocks.append(np.array(block, np.int32))
    starts = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)
    return np.concatenate(blocks), starts, [word.decode() for word in numbers]


def _encoded(sentence: Sentence, place: int) -> list[bytes]:
    """The words of a sentence as bytes, cut as language models cut them."""
    try:
        if isinstance(sentence, str):
            return sentence.encode().split()
        return [word.encode() for word in split_words(sentence, f"sentences[{place}]")]
    except UnicodeEncodeError as error:
        raise ValueError(f"sentences[{place}]: cannot be written as UTF-8 ({error})") from None


def _postings(ids: Array, starts: Array, n_words: int) -> tuple[Array, Array]:
    """Of each word the sentences that have it, once each."""
    marks = np.ones(len(ids), np.int8)
    rows = sp.csr_matrix((marks, ids, starts), shape=(len(starts) - 1, n_words + 1))
    columns = rows.tocsc()  # a counting sort: sentences rise within a word
    sentences = columns.indices[: columns.indptr[n_words]].astype(np.int32)
    words = np.repeat(np.arange(n_words), np.diff(columns.indptr[: n_words + 1]))
    first = np.ones(len(sentences), bool)
    first[1:] = (sentences[1:] != sentences[:-1]) | (words[1:] != words[:-1])
    places = np.concatenate([[0], np.cumsum(np.bincount(words[first], minlength=n_words))]).astype(np.int64)
    return sentences[first], places
