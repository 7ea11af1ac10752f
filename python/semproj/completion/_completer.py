"""Several methods of completion, and a combination of them that is learnt from questions with answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._common.persistence import Persistent
from .._common.types import Array
from .._common.validation import check_integer, check_positive, keeps_previous_fit, seed_key
from ..lm import LanguageModel
from ._index import SentenceIndex
from ._method import CompletionMethod, LanguageModelScore
from ._questions import BLANK, CompletionQuestion, as_question
from ._ranking import (
    RIDGES,
    cross_validated,
    differences,
    first,
    fit_ranknet,
    folds,
    scales_of,
    tuned_ridge,
)

MOST_METHODS = 32


@dataclass(frozen=True)
class RankedOption:
    """An option of a question: its words, its number among the options, and its scores."""

    text: str
    option: int
    score: float
    by_method: Mapping[str, float]


class SentenceCompleter(Persistent, BaseEstimator):  # type: ignore[misc]
    """Fills the blanks of a sentence with the best of several options.

    Methods score the options. A linear combination of what they say is learnt from questions with known answers,
    by the RankNet loss of Burges and others 2005, as in section 5.5 of Zweig, Platt, Meek, Burges, Yessenalina
    and Liu 2012.

    Parameters
    ----------
    methods : mapping of str to methods
        Of this module, language models, or anything with ``fit(sentences)`` and ``scores(question)``.
    blank : str, default "_____"
        How a text marks a blank; by default three underscores or more.
    lowercase : bool, default False
        Map questions and options to lower case, as the sentences were.
    ridge : float or None, default None
        Of the weights, on inputs of unit scale. None: the best of several by cross-validation.
    n_folds : int, default 5
        At least 3.
    random_state : int, NumPy generator or None, default 0
        Cuts the folds.

    Attributes
    ----------
    input_names_ : list of str
        What is combined: ``method`` or ``method.input``.
    weights_ : float64 array
        Of the inputs, divided by `scales_`.
    scales_ : float64 array
    ridge_ : float

    Notes
    -----
    Until `fit_combination` the first method ranks the options. A question is a `CompletionQuestion`, a pair of
    text and options, or text with the options beside it.

    Examples
    --------
    >>> from semproj import SentenceCompleter
    >>> from semproj.completion import LSASimilarity, PMI
    >>> sentences = ["the cat drank milk", "a cat drank", "a man read news", "the man read"] * 3
    >>> completer = SentenceCompleter({"pmi": PMI(stop_words=0), "lsa": LSASimilarity(2)}).fit(sentences)
    >>> [each.text for each in completer.complete("the man _____ news", ["drank", "read"])]
    ['read', 'drank']
    """

    _parts = tuple(f"method_{i}" for i in range(MOST_METHODS))

    def __init__(
        self,
        methods: Mapping[str, Any] | None = None,
        *,
        blank: str = BLANK,
        lowercase: bool = False,
        ridge: float | None = None,
        n_folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.methods, self.blank, self.lowercase = methods, blank, lowercase
        self.ridge, self.n_folds, self.random_state = ridge, n_folds, random_state

    @keeps_previous_fit
    def fit(self, sentences: Any, y: Any = None) -> SentenceCompleter:
        """Fit the methods that are not fitted yet. A combination is forgotten.

        Parameters
        ----------
        sentences : list or other iterable of sentences
            Read once for all methods that keep an index, and once for each language model. An iterator will do if
            there is one reader only.
        """
        methods = self._checked_methods()
        unfitted = {name: method for name, method in methods.items() if not _is_fitted(method)}
        readers = [name for name, method in unfitted.items() if not _takes_index(method)]
        indexed = [name for name in unfitted if name not in readers]
        if len(readers) + bool(indexed) > 1 and iter(sentences) is sentences:
            raise TypeError("sentences: several methods read them, so an iterator will not do; pass a list")
        for name in readers:
            methods[name].fit(sentences)
        if indexed:
            index = sentences
            if not isinstance(sentences, SentenceIndex):
                least = min(getattr(methods[name], "min_count", 3) for name in indexed)
                index = SentenceIndex(least).fit(sentences)
            for name in indexed:
                methods[name].fit(index)
        for name in ("weights_", "scales_", "ridge_", "input_names_"):
            self.__dict__.pop(name, None)
        return self

    @keeps_previous_fit
    def fit_combination(self, questions: Iterable[Any], answers: Iterable[Any]) -> SentenceCompleter:
        """Learn the weights of all inputs from questions with known answers.

        Parameters
        ----------
        questions : iterable of questions, each with two options or more
        answers : iterable of int or str
            The number of the right option, or the option itself.
        """
        asked, right = self._checked_questions(questions, answers)
        inputs = [self._inputs(question) for question in asked]
        scales = scales_of(inputs)
        scaled = [x / scales for x in inputs]
        ridge = self.ridge
        if ridge is None:
            if len(asked) < self.n_folds:
                what = f"expected at least {self.n_folds} to choose a ridge by cross-validation, got {len(asked)}"
                raise ValueError(f"questions: {what}; or give a ridge")
            parts = folds(len(asked), self.n_folds, seed_key(self.random_state))
            ridge = tuned_ridge(scaled, right, RIDGES, parts)
        self.weights_ = fit_ranknet(differences(scaled, right), ridge)
        self.scales_, self.ridge_ = scales, float(ridge)
        self.input_names_ = self._input_names()
        return self

    def cross_validate(self, questions: Iterable[Any], answers: Iterable[Any]) -> Array:
        """Which questions a combination answers rightly that has not learnt from them.

        As in section 5.6 of the paper: the questions are cut into folds. Weights for one fold are learnt from all
        others but one, which chooses the ridge. What was learnt by `fit_combination` stays as it is.

        Returns
        -------
        array of bool, shape (n_questions,)
        """
        asked, right = self._checked_questions(questions, answers)
        if len(asked) < self.n_folds:
            raise ValueError(f"questions: expected at least {self.n_folds}, one for each fold, got {len(asked)}")
        ridges = RIDGES if self.ridge is None else (self.ridge,)
        inputs = [self._inputs(question) for question in asked]
        return cross_validated(inputs, right, ridges, self.n_folds, seed_key(self.random_state))

    def complete(self, question: Any, options: Any = None) -> list[RankedOption]:
        """The options from the best to the worst, with the scores of all methods.

        Returns
        -------
        list of RankedOption
            Equal options keep their order.
        """
        asked = self._question(question, options)
        by_method = self.scores(asked)
        total = self._total(asked, by_method)
        ranked = []
        for option in np.argsort(-total, kind="stable").tolist():
            text = " .. ".join(" ".join(words) for words in asked.options[option])
            each = {name: float(values[option]) for name, values in by_method.items()}
            ranked.append(RankedOption(text, option, float(total[option]), each))
        return ranked

    def scores(self, question: Any, options: Any = None) -> dict[str, Array]:
        """What each method says of each option."""
        asked = self._question(question, options)
        return {name: _scored(method, asked) for name, method in self._checked_methods().items()}

    def predict(self, questions: Iterable[Any]) -> Array:
        """The number of the best option of each question, the first of equal ones."""
        return np.array([int(np.argmax(self._total(self._question(each)))) for each in questions], np.int64)

    def correct(self, questions: Iterable[Any], answers: Iterable[Any], method: str | None = None) -> Array:
        """Which questions are answered rightly, by the combination or by one method; a tie is no answer."""
        asked, right = self._checked_questions(questions, answers, least=1)
        methods = self._checked_methods()
        if method is not None and method not in methods:
            raise ValueError(f"method: expected one of {', '.join(methods)}, got {method!r}")
        chosen = [self._total(each) if method is None else _scored(methods[method], each) for each in asked]
        return np.array([first(scores, answer) for scores, answer in zip(chosen, right, strict=True)], bool)

    def score(self, questions: Iterable[Any], answers: Iterable[Any]) -> float:
        """The share of questions that are answered rightly."""
        return float(self.correct(questions, answers).mean())

    def _total(self, question: CompletionQuestion, by_method: Mapping[str, Array] | None = None) -> Array:
        if hasattr(self, "weights_"):
            if self.input_names_ != self._input_names():
                raise ValueError("methods: are not those of the combination; call fit_combination again")
            total: Array = self._inputs(question) @ (self.weights_ / self.scales_)
            return total
        name, method = next(iter(self._checked_methods().items()))
        return by_method[name] if by_method else _scored(method, question)

    def _inputs(self, question: CompletionQuestion) -> Array:
        columns = []
        for name, method in self._checked_methods().items():
            found = method.inputs(question) if hasattr(method, "inputs") else _scored(method, question)[:, None]
            found = np.asarray(found, np.float64)
            if not np.isfinite(found).all():
                raise ValueError(f"methods[{name!r}]: scores are not finite, of {question.options}")
            columns.append(found)
        return np.concatenate(columns, axis=1)

    def _input_names(self) -> list[str]:
        names = []
        for name, method in self._checked_methods().items():
            own = getattr(method, "input_names", ("score",))
            names += [name] if len(own) == 1 else [f"{name}.{each}" for each in own]
        return names

    def _question(self, question: Any, options: Any = None) -> CompletionQuestion:
        return as_question(question, options, blank=self.blank, lowercase=bool(self.lowercase))

    def _checked_questions(
        self, questions: Iterable[Any], answers: Iterable[Any], least: int = 2
    ) -> tuple[list[CompletionQuestion], list[int]]:
        self._check_parameters()
        asked = [self._question(each) for each in questions]
        given = list(answers)
        if len(asked) != len(given):
            raise ValueError(f"answers: expected one for each of {len(asked)} questions, got {len(given)}")
        if not asked:
            raise ValueError("questions: expected at least one, got none")
        right = []
        for i, (question, answer) in enumerate(zip(asked, given, strict=True)):
            if len(question.options) < least:
                raise ValueError(f"questions[{i}]: expected {least} options or more, got {len(question.options)}")
            right.append(self._answer(question, answer, f"answers[{i}]"))
        return asked, right

    def _answer(self, question: CompletionQuestion, answer: Any, name: str) -> int:
        if isinstance(answer, Integral) and not isinstance(answer, bool):
            return check_integer(answer, name, low=0, high=len(question.options) - 1)
        text = " ".join(BLANK for _ in question.parts[1:])
        wanted = CompletionQuestion.read(text, [answer], lowercase=bool(self.lowercase)).options[0]
        if wanted not in question.options:
            raise ValueError(f"{name}: expected one of the options, got {answer!r:.80}")
        return question.options.index(wanted)

    def _checked_methods(self) -> dict[str, Any]:
        if not isinstance(self.methods, Mapping) or not self.methods:
            raise TypeError(f"methods: expected a mapping of names to methods, got {self.methods!r:.80}")
        if len(self.methods) > MOST_METHODS:
            raise ValueError(f"methods: expected at most {MOST_METHODS}, got {len(self.methods)}")
        methods = {}
        for name, method in self.methods.items():
            if not isinstance(name, str) or not name:
                raise TypeError(f"methods: expected names, got {name!r}")
            if not isinstance(method, LanguageModel) and not hasattr(method, "scores"):
                raise TypeError(f"methods[{name!r}]: expected a method of completion, got {type(method).__name__}")
            methods[name] = LanguageModelScore(method) if isinstance(method, LanguageModel) else method
        return methods

    def _check_parameters(self) -> None:
        check_integer(self.n_folds, "n_folds", low=3)
        if self.ridge is not None:
            check_positive(self.ridge, "ridge")

    def _check_saveable(self) -> None:
        for name, method in self._checked_methods().items():
            if not isinstance(method, Persistent):
                raise TypeError(f"methods[{name!r}]: {type(method).__name__} cannot be saved")
            method._check_saveable()

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters = super()._get_parameters_to_save()
        del parameters["methods"]
        return parameters

    def _get_scalars(self) -> dict[str, Any]:
        scalars: dict[str, Any] = {"method_names": list(self._checked_methods())}
        if hasattr(self, "weights_"):
            scalars |= {
                "ridge_": self.ridge_,
                "weights_": self.weights_.tolist(),
                "scales_": self.scales_.tolist(),
            }
        return scalars

    def __getattr__(self, name: str) -> Any:
        # The parts of a file are the methods by their places.
        if name in type(self)._parts and isinstance(self.__dict__.get("methods"), Mapping):
            methods = list(self._checked_methods().values())
            if (place := int(name.removeprefix("method_"))) < len(methods):
                return methods[place]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def _blank(cls, **parameters: Any) -> SentenceCompleter:
        parts = {name: parameters.pop(name) for name in cls._parts if name in parameters}
        completer = cls(**parameters)
        completer._loaded = [part for part in parts.values() if part is not None]
        return completer

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        if arrays:
            raise ValueError(f"{next(iter(arrays))}: is not an array of this class")
        names = scalars.pop("method_names", None)
        loaded: list[Any] = self.__dict__.pop("_loaded", [])
        if not isinstance(names, list) or len(set(names)) != len(names) or len(names) != len(loaded):
            raise ValueError("method_names: expected one for each method")
        self.methods = dict(zip(names, loaded, strict=True))
        if scalars:
            self.ridge_ = check_positive(scalars.pop("ridge_"), "ridge_")
            self.input_names_ = self._input_names()
            for name in ("weights_", "scales_"):
                values = np.array(scalars.pop(name), np.float64)
                if values.shape != (len(self.input_names_),) or not np.isfinite(values).all():
                    raise ValueError(f"{name}: expected a number for each input")
                setattr(self, name, values)
            if not (self.scales_ > 0).all() or scalars:
                raise ValueError("scales_: expected numbers above 0, and nothing else")

    def _restored(self) -> None:
        for name in self._parts:  # they are in `methods`
            self.__dict__.pop(name, None)


def _is_fitted(method: Any) -> bool:
    from sklearn.exceptions import NotFittedError

    if not hasattr(method, "_check_fitted"):
        return bool(getattr(method, "is_fitted_", False))
    try:
        method._check_fitted()
    except NotFittedError:
        return False
    return True


def _takes_index(method: Any) -> bool:
    return isinstance(method, CompletionMethod) and not isinstance(method, LanguageModelScore)


def _scored(method: Any, question: CompletionQuestion) -> Array:
    scores = np.asarray(method.scores(question), np.float64)
    if scores.shape != (len(question.options),):
        raise ValueError(f"scores: expected one for each of {len(question.options)} options, got {scores.shape}")
    return scores
