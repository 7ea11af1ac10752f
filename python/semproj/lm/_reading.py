"""Sentences of a training text to numbers of words, before it is known which words a model will have."""

from __future__ import annotations

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._common.files import PathLike, numbered_lines
from .._common.types import Array
from ._model import as_sentences
from ._vocabulary import BEGIN, END, SPECIAL, UNKNOWN, UNKNOWN_ID, Vocabulary, split_words


class Sentences(NamedTuple):
    """Sentence s is ``ids[starts[s] : starts[s + 1]]``, numbers of a vocabulary."""

    ids: Array
    starts: Array

    @property
    def n_tokens(self) -> int:
        """Words and ends of sentences."""
        return len(self.ids) + len(self.starts) - 1


def number_words(
    sentences: Iterable[Any], vocabulary: Vocabulary | None, min_count: int = 1
) -> tuple[Sentences, Vocabulary]:
    """All sentences as numbers, and the vocabulary: the one that is given, or all words that come often enough."""
    numbers: defaultdict[bytes, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # the next number, when it is asked for
    ids, starts = array("i"), array("q", [0])
    number_of = numbers.__getitem__
    for sentence in sentences:
        ids.extend(map(number_of, _encoded(sentence, len(starts) - 1)))
        starts.append(len(ids))
    found = Sentences(np.array(ids, np.int32), np.array(starts, np.int64))
    del ids, starts
    if len(found.starts) == 1:
        raise ValueError("sentences: expected at least one")
    for each in (BEGIN, END):
        if (number := numbers.get(each.encode())) is not None:
            at = int(np.flatnonzero(found.ids == number)[0])
            where = int(np.searchsorted(found.starts, at, "right")) - 1
            raise ValueError(f"sentences[{where}]: {each} is a word, expected it nowhere in the text")
    words = [word.decode() for word in numbers]
    if vocabulary is None:
        counts = np.bincount(found.ids, minlength=len(words)).tolist()
        vocabulary = Vocabulary.from_counts(
            {word: n for word, n in zip(words, counts, strict=True) if n >= min_count or word in SPECIAL}
        )
    if words:
        renumbered = np.array([UNKNOWN_ID if word == UNKNOWN else vocabulary[word] for word in words], np.int32)
        found = found._replace(ids=renumbered[found.ids])
    return found, vocabulary


def _encoded(sentence: Any, number: int) -> list[bytes]:
    if isinstance(sentence, str):
        try:
            return sentence.encode().split()
        except UnicodeEncodeError as error:
            raise ValueError(f"sentences[{number}]: cannot be written as UTF-8 ({error})") from None
    return [word.encode() for word in split_words(sentence, f"sentences[{number}]")]


def lines_of(paths: PathLike | Sequence[PathLike]) -> Iterator[str]:
    """The lines of text files, one sentence each; ``.gz`` and ``.xz`` are unpacked."""
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        for _, line in numbered_lines(path):
            yield line


def checked_sentences(sentences: Any) -> Iterable[Any]:
    """What can be gone over: an iterable of sentences."""
    return as_sentences(sentences)


Reader = Callable[[], Iterable[Any]]
