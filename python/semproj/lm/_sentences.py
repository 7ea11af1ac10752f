"""Sentences as numbers of words, kept in one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._common.files import PathLike, numbered_lines
from .._common.types import Array
from ._model import as_sentences
from ._vocabulary import BEGIN, END, END_ID, SPECIAL, UNKNOWN_ID, Sentence, Vocabulary, split_words

_AT_ONCE = 1 << 20  # words that are numbers of Python, and not yet of an array


class NumberedText(NamedTuple):
    """Words of all sentences, and the end of each; sentence i is ids[starts[i] : starts[i + 1]]."""

    ids: Array  # int32
    starts: Array  # int64

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, sentences: Array) -> NumberedText:
        """Some sentences, in this order."""
        lengths = np.diff(self.starts)[sentences]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1][sentences] - starts[:-1], lengths)
        return NumberedText(self.ids[places], starts)


class RawText(NamedTuple):
    """A text whose words are numbered as they come, after the three that every vocabulary has."""

    text: NumberedText
    words: list[str]

    def vocabulary(self, sentences: Array, min_count: int) -> Vocabulary:
        """The words that are so often in these sentences."""
        counts = np.bincount(self.text.take(sentences).ids, minlength=len(self.words))
        return Vocabulary.from_counts(
            {w: int(n) for w, n in zip(self.words, counts, strict=True) if n >= min_count}
        )

    def numbered_by(self, vocabulary: Vocabulary) -> NumberedText:
        """The same text in the numbers of a vocabulary."""
        numbers = np.array([vocabulary[word] for word in self.words], np.int32)
        return NumberedText(numbers[self.text.ids], self.text.starts)


def read_sentences(sentences: Any, name: str = "sentences") -> RawText:
    """Number the words of all sentences."""
    return _number(
        (split_words(each, f"{name}[{i}]") for i, each in enumerate(as_sentences(sentences, name))), name
    )


def read_files(paths: Iterable[PathLike], name: str = "paths") -> RawText:
    """The same, of files with a sentence a line."""
    if isinstance(paths, (str, bytes)) or not isinstance(paths, Iterable):
        raise TypeError(f"{name}: expected a list of paths, got {type(paths).__name__}")
    return _number((line.split() for path in paths for _, line in numbered_lines(path)), name)


def _number(sentences: Iterator[list[str]], name: str) -> RawText:
    numbers = {word: i for i, word in enumerate(SPECIAL)}
    parts: list[Array] = []
    ids: list[int] = []
    lengths: list[int] = []
    for words in sentences:
        if BEGIN in words or END in words:
            what = BEGIN if BEGIN in words else END
            raise ValueError(
                f"{name}: sentence {len(lengths)} has {what}, which stands for its start or end; leave it out"
            )
        before = len(ids)
        ids.extend([numbers.setdefault(word, len(numbers)) for word in words])
        ids.append(END_ID)
        lengths.append(len(ids) - before)
        if len(ids) >= _AT_ONCE:
            parts.append(np.array(ids, np.int32))
            ids.clear()
    parts.append(np.array(ids, np.int32))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return RawText(NumberedText(np.concatenate(parts), starts), list(numbers))


def number_sentences(sentences: Iterable[Sentence], vocabulary: Vocabulary, *, eos: bool = True) -> NumberedText:
    """Sentences in the numbers of a vocabulary. A start within one is an unknown word."""
    rows = [split_words(each, f"sentences[{i}]") for i, each in enumerate(sentences)]
    end = [END] if eos else []
    ids, starts = vocabulary.encode([*row, *end] for row in rows)
    if vocabulary[BEGIN] != UNKNOWN_ID:
        ids[ids == vocabulary[BEGIN]] = UNKNOWN_ID
    return NumberedText(ids, starts)
