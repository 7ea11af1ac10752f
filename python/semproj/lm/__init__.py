"""Language models: probabilities of sentences, word by word."""

from __future__ import annotations

from ._model import LanguageModel, WordScore
from ._ngram import NGramLM
from ._training import DiscountWarning
from ._vocabulary import Vocabulary

__all__ = ["DiscountWarning", "LanguageModel", "NGramLM", "Vocabulary", "WordScore"]
