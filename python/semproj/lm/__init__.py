"""Language models: probabilities of sentences, word by word."""

from __future__ import annotations

from ._classes import WordClasses
from ._model import LanguageModel, WordScore
from ._modelm import ModelM
from ._ngram import NGramLM
from ._rnnlm import RNNLM
from ._training import DiscountWarning
from ._vocabulary import Vocabulary

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
