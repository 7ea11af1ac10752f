"""Classes of words that follow each other alike, by the exchange algorithm."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._common.checkpoint import check_state, seed_identity
from .._common.files import PathLike
from .._common.fitting import Progress, State, Sweeps, check_loop_parameters, fit_by_sweeps
from .._common.layouts import layouts, numbers
from .._common.persistence import Persistent, checksum, saveable
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import check_integer, keeps_previous_fit, seed_key
from .._core import lm as _core
from ._reading import read_text
from ._sentences import NumberedText
from ._vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, Sentence, Vocabulary


@saveable
class WordClasses(Persistent, BaseEstimator):  # type: ignore[misc]
    """Word classes that make the class bigram model of a text as likely as they can.

    Each word has one class. The exchange algorithm takes words in turn, frequent ones first, and puts each in the
    class where the likelihood of ``p(class | class before) p(word | class)`` is largest, until no word moves.

    Parameters
    ----------
    n_classes : int, default 150
        Of words. The ends of sentences have one more, the last.
    max_iter : int, default 20
    tol : float, default 1e-5
        The fit ends when a sweep improves the objective by less than this part of it; 0: after `max_iter` sweeps.
    min_count : int, default 1
        Words that come less often are unknown, and are one word together.
    random_state : int, RandomState instance or None
        Where words are at first. None deals them to the classes in turn, by falling count. With a seed those of
        about the same count are dealt in another order: that leads to another local optimum.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`.
    n_threads : int or None
    progress : bool

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The words and their numbers.
    classes_ : int32 array of shape (len(vocabulary_),)
        The class of each word by its number: below `n_classes`, or `n_classes` for ``<s>`` and ``</s>``.
    objective_ : array of shape (n_iter_,)
        After each sweep, the mean log likelihood (to base 10) of all words and ends of sentences.
    n_iter_ : int

    Notes
    -----
    The same bits for any number of threads. A sweep costs about a step for each different pair of
    neighbors, and ``n_classes`` for each class that is beside a word. Memory: 4 bytes a token while pairs are
    counted, 16 for each different pair, ``16 n_classes ** 2``.

    References
    ----------
    Kneser and Ney, "Improved clustering techniques for class-based statistical language modelling", Eurospeech
    1993. Martin, Liermann and Ney, "Algorithms for bigram and trigram word clustering", Speech Communication 1998.

    Examples
    --------
    >>> from semproj.lm import WordClasses
    >>> sentences = ["a cat sleeps", "a dog sleeps", "a cat runs", "a dog runs"] * 5
    >>> classes = WordClasses(3).fit(sentences)
    >>> classes.class_of("cat") == classes.class_of("dog")
    True
    >>> classes.words_of(classes.class_of("runs"))
    ['runs', 'sleeps']
    """

    _arrays = layouts(classes_="i4 words", objective_="f8 sweeps")
    _scalars = numbers(n_iter_="sweeps")
    _parts = ("vocabulary_",)

    def __init__(
        self,
        n_classes: int = 150,
        *,
        max_iter: int = 20,
        tol: float = 1e-5,
        min_count: int = 1,
        random_state: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_classes, self.max_iter, self.tol, self.min_count = n_classes, max_iter, tol, min_count
        self.random_state = random_state
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(
        self,
        sentences: Iterable[Sentence] | None = None,
        y: Any = None,
        *,
        files: PathLike | Iterable[PathLike] | None = None,
    ) -> WordClasses:
        """Find classes of the words of a text.

        Parameters
        ----------
        sentences : iterable of sentences
            Each a str, which ASCII white space divides into words, or a sequence of words. Read once, in batches.
            Models add ``<s>`` and ``</s>`` by themselves: the text must not have them.
        files : path-like or iterable of path-likes
            Instead: UTF-8 text with one sentence a line; ``.gz`` and ``.xz`` are unpacked while reading.

        Returns
        -------
        self
        """
        self._check_parameters()
        threads = resolve_threads(self.n_threads)
        return self._fit_numbers(*read_text(sentences, files, min_count=int(self.min_count), n_threads=threads))

    def _fit_numbers(self, text: NumberedText, vocabulary: Vocabulary) -> WordClasses:
        """Fit on words that are numbers already."""
        sweeps = _ExchangeSweeps(self, text, vocabulary)
        fit_by_sweeps(self, sweeps, max_iter=int(self.max_iter), tol=float(self.tol))
        return self

    def class_of(self, word: str) -> int:
        """The class of a word; of one that is not known, that of ``<unk>``."""
        check_is_fitted(self, "classes_")
        number: int = self.vocabulary_[word]
        return int(self.classes_[number])

    def get(self, word: str, default: int | None = None) -> int | None:
        """The class of a word, or `default` if it is not known: for models that take a mapping."""
        check_is_fitted(self, "classes_")
        return int(self.classes_[self.vocabulary_[word]]) if word in self.vocabulary_ else default

    def words_of(self, number: int) -> list[str]:
        """The words of a class, by falling count."""
        check_is_fitted(self, "classes_")
        check_integer(number, "number", low=0, high=int(self.n_classes))
        words: list[str] = self.vocabulary_.word(np.flatnonzero(self.classes_ == number).tolist())
        return words

    def _check_parameters(self) -> None:
        check_integer(self.n_classes, "n_classes", low=1, high=2**15)
        check_integer(self.min_count, "min_count", low=1)
        check_loop_parameters(self)

    def _restored(self) -> None:
        if not isinstance(self.vocabulary_, Vocabulary) or len(self.vocabulary_) != len(self.classes_):
            raise ValueError("classes_: expected one for each word of the vocabulary")
        ends = self.classes_[[BEGIN_ID, END_ID]] == self.n_classes
        if not ends.all() or self.classes_.min() < 0 or int((self.classes_ >= self.n_classes).sum()) != 2:
            raise ValueError("classes_: expected classes below n_classes, and that of ends of sentences")


class _ExchangeSweeps(Sweeps):
    argument = "sentences"
    sized_by = ("n_classes",)

    def __init__(self, model: WordClasses, text: NumberedText, vocabulary: Vocabulary) -> None:
        self.model, self.text, self.vocabulary = model, text, vocabulary
        self.n_words, self.n_tokens = len(vocabulary), len(text.ids) + len(text)
        self.n_classes = int(model.n_classes)
        self.threads = resolve_threads(model.n_threads)

    def identity(self) -> dict[str, Any]:
        return {
            "n_classes": self.n_classes,
            "random_state": seed_identity(self.model.random_state),
            "words": self.n_words,
            "sentences": [checksum(self.text.ids), checksum(self.text.starts)],
        }

    def memory(self) -> int:
        return 16 * (self.n_classes + 1) ** 2 + 16 * self.n_words

    def start(self, saved: State | None) -> None:
        if saved is None:
            self.classes = self._dealt()
        else:
            check_state(saved[0], {"classes": (np.int32, (self.n_words,))})
            self.classes = saved[0]["classes"]
        self.pairs = _core.count_word_pairs(self.text.starts, self.text.ids, self.n_words, END_ID, self.threads)

    def _dealt(self) -> Array:
        """Words dealt to classes in turn; <unk> has no count of its own here, and is first."""
        order = np.array([UNKNOWN_ID, *range(END_ID + 1, self.n_words)])
        if self.model.random_state is not None:
            generator = np.random.Generator(np.random.Philox(seed_key(self.model.random_state)))
            rounds = np.arange(len(order)) // self.n_classes
            order = order[np.lexsort((generator.random(len(order)), rounds))]
        classes = np.full(self.n_words, self.n_classes, np.int32)
        classes[order] = np.arange(len(order)) % self.n_classes
        return classes

    def step(self, sweep: int) -> float:
        found = _core.exchange_words(self.pairs, self.classes, self.n_classes + 1, self.n_classes, self.threads)
        return found.log_likelihood / (math.log(10) * self.n_tokens)

    def state(self) -> State:
        return {"classes": self.classes}, {}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        return {"classes_": self.classes.copy(), "vocabulary_": self.vocabulary}, np.nan
