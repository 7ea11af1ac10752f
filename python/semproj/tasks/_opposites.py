"""Closest opposites: which of several words is most nearly opposite in meaning to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._common.files import PathLike, numbered_lines


class ClosestOppositeQuestion(NamedTuple):
    """Which of the choices is most nearly opposite in meaning to the target?"""

    target: str
    choices: tuple[str, ...]
    answer: str


class ClosestOppositeResult(NamedTuple):
    """The share of right answers among answered questions, that among all questions, and their harmonic mean."""

    precision: float
    recall: float
    f1: float
    n_right: int
    n_answered: int
    n_questions: int


class SupportsSimilarity(Protocol):
    """A model that knows some words, and how similar they are."""

    def __contains__(self, word: object) -> bool: ...

    def similarity(self, a: Any, b: Any) -> Any: ...


def read_closest_opposite(path: PathLike) -> list[ClosestOppositeQuestion]:
    """Read closest-opposite questions, one on each line: ``target: choice choice ... :: answer``.

    The GRE questions of Mohammad, Dorr and Hirst 2008 have this format. Empty lines are skipped.

    Parameters
    ----------
    path : path-like
        UTF-8 text; ``.gz`` and ``.xz`` are unpacked.

    Returns
    -------
    list of ClosestOppositeQuestion

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.tasks import read_closest_opposite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "questions.txt")
    ...     _ = path.write_text("hot: warm cold red :: cold\\n")
    ...     read_closest_opposite(path)
    [ClosestOppositeQuestion(target='hot', choices=('warm', 'cold', 'red'), answer='cold')]
    """
    questions = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        question, found, answer = line.partition("::")
        target, colon, choices = question.partition(":")
        each = ClosestOppositeQuestion(target.strip(), tuple(choices.split()), answer.strip())
        if not (found and colon and each.target) or each.answer not in each.choices:
            raise ValueError(
                f"{path}, line {number}: expected 'target: choice choice ... :: answer' with the answer among the "
                f"choices, got {line!r}"
            )
        questions.append(each)
    return questions


def closest_opposite(
    model: SupportsSimilarity, questions: Iterable[ClosestOppositeQuestion | Sequence[Any]]
) -> ClosestOppositeResult:
    """Answer each question with the choice least similar to the target, and score the answers.

    The rules are those of Yih, Zweig and Platt 2012: a question is not answered if the model does not know its
    target or knows none of its choices. Unknown choices are ignored. Of equal choices the first is taken.

    Parameters
    ----------
    model : PILSA, or anything with ``similarity(word, words)`` and ``word in model``
    questions : iterable of (target, choices, answer)

    Returns
    -------
    ClosestOppositeResult

    Examples
    --------
    >>> from semproj import tasks
    >>> class Letters:  # words are as similar as they have letters in common
    ...     def __contains__(self, word):
    ...         return word != "unheard"
    ...     def similarity(self, word, words):
    ...         return [len(set(word) & set(other)) for other in words]
    >>> scores = tasks.closest_opposite(Letters(), [("hot", ("hat", "cold"), "cold"), ("unheard", ("a",), "a")])
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    """
    n_right = n_answered = n_questions = 0
    for target, choices, answer in questions:
        n_questions += 1
        known = [choice for choice in choices if choice in model]
        if target not in model or not known:
            continue
        n_answered += 1
        n_right += known[int(np.argmin(model.similarity(target, known)))] == answer
    if n_questions == 0:
        raise ValueError("questions: expected at least one")
    precision = n_right / n_answered if n_answered else 0.0
    recall = n_right / n_questions
    f1 = 2 * n_right / (n_answered + n_questions)
    return ClosestOppositeResult(precision, recall, f1, n_right, n_answered, n_questions)
