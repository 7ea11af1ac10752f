"""Language models: probabilities of sentences, word by word."""

from __future__ import annotations

from ._model import LanguageModel, WordScore
from ._rnnlm import RNNLM
from ._vocabulary import Vocabulary

__all__ = ["RNNLM", "LanguageModel", "Vocabulary", "WordScore"]
