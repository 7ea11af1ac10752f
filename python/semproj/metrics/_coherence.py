"""Coherence of topics: how often their words are near each other in texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import as_documents, check_choice, check_integer
from ..text import Document, iter_batches

Word: TypeAlias = "str | tuple[str, float]"

_WINDOWS = {"npmi": 10, "c_v": 110}  # as gensim has them
_EPSILON = 1e-12  # so is this: of pairs that are never together
_WHOLE_TEXT = 1 << 40  # words in a window; no text is longer


def coherence(
    topics: Iterable[Iterable[Word]],
    texts: Iterable[Document],
    measure: Literal["npmi", "c_v"] = "npmi",
    *,
    window: int | None = None,
    forget_repeats: bool = True,
    lowercase: bool = False,
    nfc: bool = True,
    errors: Literal["strict", "replace"] = "strict",
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """Return how coherent the words of each topic are, by how often texts have them near each other.

    Parameters
    ----------
    topics : iterable of topics
        A topic is two words or more, each once: what `top_words` returns will do. All must occur in the texts.
    texts : iterable of str, bytes or lists of str
        The reference corpus, read once. Words are cut as `semproj.TermCounter` cuts them.
    measure : {"npmi", "c_v"}, default "npmi"
        "npmi"
            Mean normalised pointwise mutual information of all pairs of a topic's words, from -1 to 1: of
            probabilities to be in a window, ``log(p(a, b) / (p(a) p(b))) / -log p(a, b)``.
        "c_v"
            Röder, Both and Hinneburg 2015: a word's vector has its information with each word of the topic; the
            mean cosine of these vectors with their sum.
    window : int or None
        Words in a window, which slides by one; a text that is not longer is one window. None: 10 for "npmi", 110
        for "c_v". With a window longer than the texts, words are near when they are in the same text.
    forget_repeats : bool, default True
        A word that is in a window twice counts as gone when the first of the two leaves it, until it comes in
        anew: so gensim counts, and figures made with it compare. False: a word is in a window if it is anywhere
        there, as the measures are defined.
    lowercase, nfc, errors
        As in `semproj.TermCounter`: how the texts are read.
    n_threads : int or None

    Returns
    -------
    float64 array
        One for each topic. Their plain mean is the coherence of a model.

    Notes
    -----
    Equal to gensim's ``CoherenceModel`` ("c_npmi" and "c_v") for the same words. So it is for two words that are
    both in every window: their information has no value by the definition, and is -1 here as there.

    Counts are integers: the result is the same for any number of threads. A word of the text takes a step for each
    word that it shares a topic with, whatever the window.

    Examples
    --------
    >>> from semproj.metrics import coherence
    >>> texts = ["bank money loan", "money bank bank", "river water bank", "water river river", "loan money"]
    >>> coherence([["money", "loan"], ["loan", "river"]], texts).round(3)
    array([ 0.557, -0.934])
    """
    words = _checked(topics)
    check_choice(measure, "measure", tuple(_WINDOWS))
    check_choice(errors, "errors", ("strict", "replace"))
    width = _WINDOWS[measure] if window is None else min(check_integer(window, "window", low=1), _WHOLE_TEXT)
    reading = {"lowercase": bool(lowercase), "nfc": bool(nfc), "errors_replace": errors == "replace"}
    near = _Windows(words, width, bool(forget_repeats), resolve_threads(n_threads))
    near.read(as_documents(texts, "texts"), reading)
    value = _mean_of_pairs if measure == "npmi" else _mean_cosine
    return np.array([value(near.information(topic)) for topic in words], np.float64)


class _Windows:
    """How many windows have each word, and each pair of words of a topic."""

    def __init__(self, topics: list[list[str]], width: int, forget_repeats: bool, n_threads: int) -> None:
        self.columns = {word: i for i, word in enumerate(dict.fromkeys(w for topic in topics for w in topic))}
        pairs = dict.fromkeys(
            pair for topic in topics for pair in combinations(sorted(self.columns[w] for w in topic), 2)
        )
        self.slots = {pair: i for i, pair in enumerate(pairs)}
        self._width, self._forget_repeats, self._n_threads = width, forget_repeats, n_threads
        both = np.array([(a, b, i) for (a, b), i in self.slots.items()], np.int64).reshape(-1, 3)
        both = np.concatenate([both, both[:, [1, 0, 2]]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        self._starts = np.searchsorted(both[:, 0], np.arange(len(self.columns) + 1)).astype(np.int64)
        self._partners, self._numbers = (np.ascontiguousarray(both[:, i], np.int32) for i in (1, 2))
        self.n_windows, self.words = 0, np.zeros(len(self.columns), np.int64)
        self.pairs = np.zeros(len(self.slots), np.int64)

    def read(self, texts: Iterable[Document], reading: dict[str, bool]) -> None:
        spelled = [word.encode() for word in self.columns]
        vocabulary = _core.Vocabulary(
            np.frombuffer(b"".join(spelled), np.uint8), np.cumsum([0, *map(len, spelled)], dtype=np.int64)
        )
        number = 0
        for batch in iter_batches(texts):
            some = vocabulary.sequences(batch, first_document_number=number, n_threads=self._n_threads, **reading)
            number += len(batch)
            found = _core.count_windows(
                some.starts,
                some.ids,
                self._starts,
                self._partners,
                self._numbers,
                len(self.slots),
                self._width,
                self._forget_repeats,
                self._n_threads,
            )
            self.n_windows += found.windows
            self.words += found.words
            self.pairs += found.pairs
        if number == 0:
            raise ValueError("texts: expected at least one")
        absent = [word for word, i in self.columns.items() if self.words[i] == 0]
        if absent:
            others = f", nor do {len(absent) - 1} other words" if len(absent) > 1 else ""
            raise ValueError(f"topics: {absent[0]!r} does not occur in texts{others}")

    def information(self, topic: Sequence[str]) -> Array:
        """Normalised pointwise mutual information of all pairs of words, and of each with itself."""
        columns = [self.columns[word] for word in topic]
        counts = np.diag(self.words[columns])
        for (i, a), (j, b) in combinations(enumerate(columns), 2):
            counts[i, j] = counts[j, i] = self.pairs[self.slots[min(a, b), max(a, b)]]
        alone = self.words[columns] / self.n_windows
        joint = counts / self.n_windows + _EPSILON
        result: Array = np.log(joint / np.outer(alone, alone)) / -np.log(joint)
        return result


def _mean_of_pairs(information: Array) -> float:
    return float(information[np.triu_indices(len(information), 1)].mean())


def _mean_cosine(information: Array) -> float:
    together = information.sum(axis=0)
    lengths = np.linalg.norm(information, axis=1) * np.linalg.norm(together)
    products = information @ together
    return float(np.divide(products, lengths, out=np.zeros(len(products)), where=lengths > 0).mean())


def _checked(topics: Iterable[Iterable[Word]]) -> list[list[str]]:
    """The words of all topics, without their probabilities."""
    if isinstance(topics, str) or not isinstance(topics, Iterable):
        raise TypeError(f"topics: expected lists of words, got {topics!r}")
    found: list[list[str]] = []
    for number, topic in enumerate(topics):
        if isinstance(topic, str) or not isinstance(topic, Iterable):
            raise TypeError(f"topics[{number}]: expected a list of words, got {topic!r}")
        words: list[Any] = [word[0] if isinstance(word, tuple) and len(word) == 2 else word for word in topic]
        for word in words:
            if not isinstance(word, str) or not word:
                raise TypeError(f"topics[{number}]: expected words, got {word!r}")
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise ValueError(f"topics[{number}]: expected words without lone surrogates, got {word!r}")
        if len(words) < 2 or len(set(words)) < len(words):
            raise ValueError(f"topics[{number}]: expected two words or more, each once, got {words}")
        found.append(words)
    if not found:
        raise ValueError("topics: expected at least one")
    return found
