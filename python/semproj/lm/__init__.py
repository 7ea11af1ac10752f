"""Language models: probabilities of sentences, word by word."""

from __future__ import annotations

from ._model import LanguageModel, WordScore
from ._vocabulary import Vocabulary

__all__ = ["LanguageModel", "Vocabulary", "WordScore"]
