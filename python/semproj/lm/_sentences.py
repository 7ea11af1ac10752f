"""Sentences as numbers of words, kept in one array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .._common.types import Array
from ._vocabulary import BEGIN, END, UNKNOWN_ID, Sentence, Vocabulary, split_words


class NumberedText(NamedTuple):
    """Numbers of the words of all sentences; sentence i is ids[starts[i] : starts[i + 1]]."""

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


def number_sentences(sentences: Iterable[Sentence], vocabulary: Vocabulary, *, eos: bool = True) -> NumberedText:
    """Sentences in the numbers of a vocabulary. A start within one is an unknown word."""
    rows = [split_words(each, f"sentences[{i}]") for i, each in enumerate(sentences)]
    end = [END] if eos else []
    ids, starts = vocabulary.encode([*row, *end] for row in rows)
    if vocabulary[BEGIN] != UNKNOWN_ID:
        ids[ids == vocabulary[BEGIN]] = UNKNOWN_ID
    return NumberedText(ids, starts)
