"""What code that was written for the ``kenlm`` module calls: ``from semproj.lm import kenlm``.

The same names and the same numbers. Differences: batches are `NGramLM.scores`, by `Model.model`; a model is an
ARPA file (also ``.gz`` and ``.xz``) or one that `NGramLM.save` wrote, not KenLM's own binary.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from .._common.persistence import load
from .._core import lm as _core
from ._ngram import NGramLM

__all__ = ["Config", "FullScoreReturn", "LanguageModel", "Model", "State"]

_BINARY = b"mmap lm http://kheafield.com/code"


class FullScoreReturn(NamedTuple):
    """What `Model.BaseFullScore` returns."""

    log_prob: float
    ngram_length: int
    oov: bool


class Config:
    """Settings of KenLM's loader: they are accepted, and none is needed."""

    def __init__(self) -> None:
        self.load_method: Any = None
        self.show_progress = False
        self.arpa_complain: Any = None


class State:
    """The words before, as much as the model needs of them."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __copy__(self) -> State:
        return State(self.value)

    def __deepcopy__(self, memo: Any = None) -> State:
        return State(self.value)


class Model:
    """A model with the methods of ``kenlm.Model``.

    Parameters
    ----------
    path : path-like
        An ARPA file, or one that `NGramLM.save` wrote, which is mapped.
    config : Config, optional
    """

    def __init__(self, path: str | bytes | os.PathLike[str], config: Config | None = None) -> None:
        name = os.fsdecode(path)
        with open(name, "rb") as file:
            head = file.read(len(_BINARY))
        if head == _BINARY:
            raise ValueError(f"path: {name} is KenLM's own binary; give the ARPA file that it was made of")
        if head[8:9] == b"{":
            model = load(name, verify=False)
            if not isinstance(model, NGramLM):
                raise TypeError(f"path: expected an NGramLM, got a {type(model).__name__}")
        else:
            model = NGramLM.from_arpa(name)
        self.path = name
        self.model: NGramLM = model
        self._store = model._store

    @property
    def order(self) -> int:
        """The longest n-grams."""
        return self._store.order()

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """The logarithm of a sentence's probability to base 10."""
        return self._store.score(_text(sentence), bool(bos), bool(eos))

    def perplexity(self, sentence: str | bytes) -> float:
        """10 to the power of the negative score by word, the end of the sentence being one."""
        text = _text(sentence)
        return float(10.0 ** (-self.score(text) / (len(text.encode().split()) + 1)))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """Of each word, and the end: the logarithm, the length of the n-gram, and whether it is unknown."""
        found = self._store.score_words(_text(sentence), bool(bos), bool(eos))
        yield from zip(found.log_probs.tolist(), found.orders.tolist(), found.unknown.tolist(), strict=True)

    def __contains__(self, word: str | bytes) -> bool:
        return self._store.find_word(_text(word)) != 0

    def BeginSentenceWrite(self, state: State) -> None:
        """Make a state that of the start of a sentence."""
        state.value = _core.ngram_begin_state(self._store)

    def NullContextWrite(self, state: State) -> None:
        """Make a state that without any words."""
        state.value = _core.ngram_empty_state(self._store)

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """The logarithm of a word's probability in a state; writes the state after it."""
        step = _core.ngram_advance(self._store, self._value(in_state), _text(word))
        out_state.value = step.state
        return step.log_prob

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """The same, with the length of the n-gram, and whether the word is unknown."""
        step = _core.ngram_advance(self._store, self._value(in_state), _text(word))
        out_state.value = step.state
        return FullScoreReturn(step.log_prob, step.order, step.unknown)

    def __repr__(self) -> str:
        return f"<Model from {os.path.basename(self.path)}>"

    def __reduce__(self) -> tuple[type[Model], tuple[str]]:
        return Model, (self.path,)

    def _value(self, state: State) -> Any:
        return _core.ngram_empty_state(self._store) if state.value is None else state.value


def _text(text: str | bytes) -> str:
    if isinstance(text, bytes):
        return text.decode()
    if not isinstance(text, str):
        raise TypeError(f"sentence: expected str or bytes, got {type(text).__name__}")
    return text


LanguageModel = Model
