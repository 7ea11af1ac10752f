"""Sentence completion: which of several options belongs into the blanks of a sentence."""

from __future__ import annotations

from ._completer import RankedOption, SentenceCompleter
from ._cooccurrence import PMI, NearestSentences
from ._index import SentenceIndex
from ._lsalm import LSALanguageModel
from ._method import CompletionMethod, LanguageModelScore
from ._questions import CompletionQuestion
from ._reconstruction import LSAReconstruction
from ._similarity import LSASimilarity

__all__ = [
    "PMI",
    "CompletionMethod",
    "CompletionQuestion",
    "LSALanguageModel",
    "LSAReconstruction",
    "LSASimilarity",
    "LanguageModelScore",
    "NearestSentences",
    "RankedOption",
    "SentenceCompleter",
    "SentenceIndex",
]
