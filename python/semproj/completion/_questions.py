"""Questions: a sentence with one or two blanks, and what may stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Words: TypeAlias = tuple[str, ...]

BLANK = "_____"
_MORE_UNDERSCORES = re.compile("_{3,}")
_TWO_WORDS = re.compile(r"\s*\.\.+\s*")
MOST_BLANKS = 2


@dataclass(frozen=True)
class CompletionQuestion:
    """A sentence with one or two blanks and the options to fill them, cut into words.

    Parameters
    ----------
    parts : tuple of tuples of str
        The words before, between and after the blanks.
    options : tuple of tuples of tuples of str
        Of each option the words of each blank.

    Examples
    --------
    >>> from semproj.completion import CompletionQuestion
    >>> question = CompletionQuestion.read("We got off , _____ our fare .", ["paid", "naming"])
    >>> question.parts
    (('We', 'got', 'off', ','), ('our', 'fare', '.'))
    >>> " ".join(question.completed(0))
    'We got off , paid our fare .'
    """

    parts: tuple[Words, ...]
    options: tuple[tuple[Words, ...], ...]

    @classmethod
    def read(
        cls, text: str, options: Iterable[str | Sequence[str]], *, blank: str = BLANK, lowercase: bool = False
    ) -> CompletionQuestion:
        """A question from text.

        Parameters
        ----------
        text : str
            Words are divided by white space, as in the sentences that models learn from.
        options : iterable of str or pairs of str
            What fills the blanks. For two blanks a pair, or a str as in ``"mild .. benign"``. A blank may take
            several words.
        blank : str, default "_____"
            How the text marks a blank; by default three underscores or more.
        lowercase : bool, default False
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, got {type(text).__name__}")
        if not isinstance(blank, str) or not blank.strip():
            raise ValueError(f"blank: expected how the text marks a blank, got {blank!r}")
        pieces = _MORE_UNDERSCORES.split(text) if blank == BLANK else text.split(blank)
        n_blanks = len(pieces) - 1
        if not 1 <= n_blanks <= MOST_BLANKS:
            raise ValueError(f"text: expected one or two blanks ({blank!r}), got {n_blanks} in {text!r:.80}")
        if isinstance(options, (str, bytes, Mapping, set, frozenset)) or not isinstance(options, Iterable):
            raise TypeError(f"options: expected a list, got {type(options).__name__}")
        filled = [_fillers(option, n_blanks, f"options[{i}]") for i, option in enumerate(options)]
        if not filled:
            raise ValueError("options: expected at least one, got none")
        parts = [piece.split() for piece in pieces]
        if lowercase:
            parts = [[word.lower() for word in part] for part in parts]
            filled = [[[word.lower() for word in words] for words in option] for option in filled]
        return cls(tuple(map(tuple, parts)), tuple(tuple(map(tuple, option)) for option in filled))

    @property
    def context(self) -> Words:
        """The words around the blanks."""
        return tuple(word for part in self.parts for word in part)

    def answer_words(self, option: int) -> Words:
        """The words of an option, of all blanks."""
        return tuple(word for words in self.options[option] for word in words)

    def completed(self, option: int) -> list[str]:
        """The sentence with an option in its blanks."""
        sentence = list(self.parts[0])
        for words, part in zip(self.options[option], self.parts[1:], strict=True):
            sentence += [*words, *part]
        return sentence


def as_question(
    question: Any, options: Any = None, *, blank: str = BLANK, lowercase: bool = False
) -> CompletionQuestion:
    """A question that is one already, a pair of text and options, or text with options beside it."""
    if isinstance(question, CompletionQuestion):
        if options is not None:
            raise TypeError("options: the question has its own; expected None")
        return question
    if options is None:
        if isinstance(question, str) or not isinstance(question, Sequence) or len(question) != 2:
            raise TypeError("question: expected a CompletionQuestion, or text and options")
        question, options = question
    return CompletionQuestion.read(question, options, blank=blank, lowercase=lowercase)


def _fillers(option: Any, n_blanks: int, name: str) -> list[list[str]]:
    if isinstance(option, str):
        fillers: Sequence[Any] = _TWO_WORDS.split(option) if n_blanks > 1 else [option]
    elif isinstance(option, Sequence) and not isinstance(option, bytes):
        fillers = option
    else:
        raise TypeError(f"{name}: expected a str or a pair of them, got {type(option).__name__}")
    if len(fillers) != n_blanks:
        raise ValueError(f"{name}: expected words for {n_blanks} blanks, got {option!r:.80}")
    for filler in fillers:
        if not isinstance(filler, str):
            raise TypeError(f"{name}: expected a str for each blank, got {type(filler).__name__}")
        if not filler.split():
            raise ValueError(f"{name}: expected words, got {option!r:.80}")
    return [filler.split() for filler in fillers]
