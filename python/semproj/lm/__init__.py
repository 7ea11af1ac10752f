"""Language models: probabilities of sentences, word by word."""

from __future__ import annotations

from ._classes import WordClasses
from ._model import LanguageModel, WordScore
from ._modelm import ModelM
from ._rnnlm import RNNLM
from ._vocabulary import Vocabulary

__all__ = ["RNNLM", "LanguageModel", "ModelM", "Vocabulary", "WordClasses", "WordScore"]
