"""What all methods of completion have in common, and the scores of language models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._common.persistence import Persistent, saveable
from .._common.types import Array
from .._common.validation import check_choice
from ..lm import LanguageModel
from ._index import SentenceIndex, check_fitted
from ._questions import CompletionQuestion, as_question


class CompletionMethod(Persistent, BaseEstimator, ABC):  # type: ignore[misc]
    """Scores the options of a question. Subclasses have `fit` and `_scores`, and `_inputs` if they have several.

    A method of your own for `SentenceCompleter` needs no more than `fit`, `scores` and `inputs`.
    """

    def fit(self, sentences: Any, y: Any = None) -> CompletionMethod:
        """Learn from sentences, or from a `SentenceIndex` of them."""
        raise NotImplementedError

    def scores(self, question: Any, options: Any = None) -> Array:
        """A score for each option, more is better.

        Parameters
        ----------
        question : CompletionQuestion, pair of text and options, or str
        options : list, optional
            As of `CompletionQuestion.read`, beside a str.

        Returns
        -------
        float64 array of shape (n_options,)
        """
        self._check_fitted()
        return self._scores(as_question(question, options))

    def inputs(self, question: Any, options: Any = None) -> Array:
        """What a combination weighs: one column for each name in `input_names`, a row for each option."""
        self._check_fitted()
        return self._inputs(as_question(question, options))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The columns of `inputs`; the first are the scores."""
        return ("score",)

    @abstractmethod
    def _scores(self, question: CompletionQuestion) -> Array: ...

    def _inputs(self, question: CompletionQuestion) -> Array:
        return self._scores(question)[:, None]

    @abstractmethod
    def _check_fitted(self) -> None: ...

    def _check_saveable(self) -> None:
        self._check_fitted()


class IndexedMethod(CompletionMethod):
    """A method that looks sentences up when it is asked."""

    _parts = ("index_",)
    index_: SentenceIndex

    def _check_fitted(self) -> None:
        check_fitted(self, "index_")


def known_context(question: CompletionQuestion, index: SentenceIndex, stop_words: int) -> list[int]:
    """The different words around the blanks, without punctuation and the most frequent."""
    numbers = sorted(set(index.numbers(question.context)))
    return [number for number in numbers if number >= stop_words and index.is_word[number]]


PARTS = ("sentence", "blank", "before", "after")


@saveable
class LanguageModelScore(CompletionMethod):
    """The logarithm of the probability of the completed sentence, or of parts of it.

    Parameters
    ----------
    model : LanguageModel
        Fitted, or fitted by `fit` on the sentences.
    parts : tuple of {"sentence", "before", "blank", "after"}, default ("sentence",)
        What is summed, one input for each: all words, those before the first blank, those in the blanks, and all
        others behind the first blank, with the end of the sentence. The first gives the scores.
    lowercase : bool, default False
        Ask the model for words in lower case.

    Examples
    --------
    >>> from semproj.completion import LanguageModelScore
    >>> LanguageModelScore(None).input_names
    ('sentence',)
    """

    _parts = ("model",)

    def __init__(
        self, model: Any = None, *, parts: tuple[str, ...] = ("sentence",), lowercase: bool = False
    ) -> None:
        self.model, self.parts, self.lowercase = model, parts, lowercase

    def fit(self, sentences: Iterable[Any], y: Any = None) -> LanguageModelScore:
        """Fit the model; of a `SentenceIndex` rare words are gone, so it is refused."""
        if isinstance(sentences, SentenceIndex):
            raise TypeError("sentences: a language model needs the sentences themselves, got a SentenceIndex")
        self.model.fit(sentences)
        return self

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(self.parts)

    def _scores(self, question: CompletionQuestion) -> Array:
        return self._inputs(question)[:, 0]

    def _inputs(self, question: CompletionQuestion) -> Array:
        self._check_parameters()
        sentences = [question.completed(i) for i in range(len(question.options))]
        if self.lowercase:
            sentences = [[word.lower() for word in sentence] for sentence in sentences]
        if tuple(self.parts) == ("sentence",):
            return np.asarray(self.model.scores(sentences), np.float64)[:, None]
        rows = []
        for option, sentence in enumerate(sentences):
            log_probs = np.array([each.log_prob for each in self.model.score_words(sentence)])
            places = blank_places(question, option)
            begin = places[0]
            blank = log_probs[places].sum()
            sums = {
                "sentence": log_probs.sum(),
                "before": log_probs[:begin].sum(),
                "blank": blank,
                "after": log_probs[begin:].sum() - blank,
            }
            rows.append([sums[part] for part in self.parts])
        return np.array(rows, np.float64)

    def _check_parameters(self) -> None:
        if isinstance(self.parts, str) or not len(self.parts):
            raise ValueError(f"parts: expected a tuple of {', '.join(PARTS)}, got {self.parts!r}")
        for part in self.parts:
            check_choice(part, "parts", PARTS)

    def _check_fitted(self) -> None:
        if not isinstance(self.model, LanguageModel):
            raise TypeError(f"model: expected a LanguageModel, got {type(self.model).__name__}")
        self.model._check_fitted()


def blank_places(question: CompletionQuestion, option: int) -> list[int]:
    """Which words of the completed sentence are in the blanks."""
    places: list[int] = []
    at = len(question.parts[0])
    for words, part in zip(question.options[option], question.parts[1:], strict=True):
        places += range(at, at + len(words))
        at += len(words) + len(part)
    return places
