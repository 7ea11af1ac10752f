"""Language models: probabilities of sentences, word by word."""

from __future__ import annotations

from ._classes import WordClasses
from ._model import LanguageModel, WordScore
from ._model import SentenceSums as SentenceSums
from ._model import WordScores as WordScores
from ._model import as_sentences as as_sentences
from ._modelm import ModelM
from ._ngram import NGramLM
from ._rnnlm import RNNLM
from ._training import DiscountWarning
from ._vocabulary import Sentence as Sentence
from ._vocabulary import Vocabulary
from ._vocabulary import split_words as split_words

__all__ = [
    "RNNLM",
    "DiscountWarning",
    "LanguageModel",
    "ModelM",
    "NGramLM",
    "Vocabulary",
    "WordClasses",
    "WordScore",
]
