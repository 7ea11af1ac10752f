"""Model M: an exponential n-gram model of words and their classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .._common.checkpoint import seed_identity
from .._common.files import PathLike
from .._common.fitting import Progress, check_loop_parameters, fit_by_sweeps
from .._common.layouts import layouts, numbers
from .._common.persistence import Persistent, saveable
from .._common.resources import resolve_threads
from .._common.validation import check_integer, check_positive, check_real, keeps_previous_fit
from .._core import lm as _core
from ._classes import WordClasses
from ._contexts import Trie
from ._model import LanguageModel, SentenceSums, WordScores
from ._modelm_training import ModelMSweeps
from ._reading import read_text
from ._sentences import NumberedText
from ._vocabulary import UNKNOWN_ID, Sentence, Vocabulary, split_words

_BATCH = 1 << 14  # sentences that are scored at a time
_TRIES = ("class_contexts", "word_contexts", "contexts")


@saveable
class ModelM(Persistent, LanguageModel, BaseEstimator):  # type: ignore[misc]
    """Model M, a class-based exponential n-gram model (Chen 2009).

    The probability of a word is that of its class and that of the word in its class, each of them
    ``exp(sum of weights) / Z``. For order 3, the class has weights for itself, for itself behind the class and the
    two classes before it, and behind the word and the two words before it; the word has weights for itself, and
    behind the word and the two words before it. There is a weight for all that comes in the text.

    Parameters
    ----------
    order : int, default 3
        Of the n-grams, at least 2.
    classes : int or WordClasses, default 150
        A number of classes, which are found on the same text; or classes that are fitted, whose vocabulary the
        model has; or classes that are not, which are fitted on the same text, with their parameters.
    alpha : float, default 0.5
        Of the penalty ``alpha * sum(abs(weights))``. It makes many weights zero, which are not kept.
    variance : float, default 6
        Of the penalty ``sum(weights ** 2) / (2 * variance)``. Both defaults are the published ones.
    max_iter : int, default 25
    tol : float, default 1e-4
        The fit ends when a sweep improves the objective by less than this part of it; 0: after `max_iter` sweeps.
    min_count : int, default 1
        Words that come less often are unknown. A WordClasses has a parameter of its own for it.
    random_state : int, RandomState instance or None
        Of the classes, if `classes` is a number: see WordClasses. There is no other chance in the model.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`.
    n_threads : int or None
    progress : bool

    Attributes
    ----------
    classes_ : WordClasses
    vocabulary_ : Vocabulary
    objective_ : array of shape (n_iter_,)
        After each sweep, the natural log likelihood without the penalties, by the number of words and ends of
        sentences.
    n_iter_ : int
    n_features_ : int
        Weights that are not zero.

    Notes
    -----
    The same bits for any number of threads. Weights are float32 when they are kept, float64 while they are fitted.
    A word's history is Z of its shorter history and what changes for the words that it has weights for: a sweep
    costs a step for each weight, whatever the vocabulary. Memory for each different n-gram of the text: about
    50 bytes.

    References
    ----------
    Chen, "Shrinking exponential language models", NAACL 2009.

    Examples
    --------
    >>> from semproj.lm import ModelM
    >>> sentences = ["the cat sleeps", "the dog sleeps", "the cat runs", "a dog barks"] * 5
    >>> model = ModelM(classes=3).fit(sentences)
    >>> model.score("a cat sleeps") > model.score("sleeps a cat")
    True
    """

    _arrays = layouts(
        objective_="f8 sweeps",
        _words="i4 words",
        _class_starts="i8 classes",
        _class_contexts_children="i8 a",
        _class_contexts_symbols="i4 b",
        _class_contexts_features="i8 a",
        _class_contexts_labels="i4 C",
        _class_contexts_weights="f4 C",
        _word_contexts_children="i8 d",
        _word_contexts_symbols="i4 e",
        _word_contexts_features="i8 d",
        _word_contexts_labels="i4 F",
        _word_contexts_weights="f4 F",
        _contexts_children="i8 g",
        _contexts_symbols="i4 h",
        _contexts_features="i8 g",
        _contexts_labels="i4 I",
        _contexts_weights="f4 I",
    )
    _scalars = numbers(n_iter_="sweeps")
    _parts = ("classes_",)

    def __init__(
        self,
        order: int = 3,
        *,
        classes: int | WordClasses = 150,
        alpha: float = 0.5,
        variance: float = 6.0,
        max_iter: int = 25,
        tol: float = 1e-4,
        min_count: int = 1,
        random_state: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.order, self.classes, self.alpha, self.variance = order, classes, alpha, variance
        self.max_iter, self.tol, self.min_count, self.random_state = max_iter, tol, min_count, random_state
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(
        self,
        sentences: Iterable[Sentence] | None = None,
        y: Any = None,
        *,
        files: PathLike | Iterable[PathLike] | None = None,
    ) -> ModelM:
        """Fit the model to a text.

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
        classes = self.classes
        if isinstance(classes, WordClasses) and hasattr(classes, "classes_"):
            text = read_text(sentences, files, n_threads=threads).numbered_by(classes.vocabulary_)
        else:
            if isinstance(classes, WordClasses):
                classes = clone(classes)
            else:
                classes = WordClasses(
                    int(classes),
                    min_count=self.min_count,
                    random_state=seed_identity(self.random_state),
                    n_threads=self.n_threads,
                    progress=self.progress,
                )
            text, vocabulary = read_text(sentences, files, min_count=int(classes.min_count), n_threads=threads)
            classes._fit_numbers(text, vocabulary)
            classes.set_params(n_threads=None, progress=False)  # they were of this fit
        self.classes_ = classes
        fit_by_sweeps(self, ModelMSweeps(self, text, classes), max_iter=int(self.max_iter), tol=float(self.tol))
        return self

    @property
    def vocabulary_(self) -> Vocabulary:
        self._check_fitted()
        vocabulary: Vocabulary = self.classes_.vocabulary_
        return vocabulary

    @property
    def n_features_(self) -> int:
        self._check_fitted()
        return sum(len(getattr(self, f"_{name}_weights")) for name in _TRIES)

    def _check_fitted(self) -> None:
        check_is_fitted(self, "_contexts_weights")

    def _score_tokens(self, words: list[str], bos: bool, eos: bool) -> WordScores:
        ids = self.vocabulary_.ids(words)
        found = self._score_ids(NumberedText(ids, np.array([0, len(ids)], np.int64)), bos, eos, 1)
        unknown = np.concatenate([ids == UNKNOWN_ID, np.zeros(int(eos), bool)])
        return WordScores(found, np.zeros(len(found), np.int32), unknown)

    def _sum_sentences(
        self, sentences: Iterable[Sentence], bos: bool, eos: bool, n_threads: int | None
    ) -> SentenceSums:
        threads = resolve_threads(self.n_threads if n_threads is None else n_threads)
        rest, sums = iter(sentences), list[SentenceSums]()
        number = 0
        while batch := list(islice(rest, _BATCH)):
            words = [split_words(each, f"sentences[{number + i}]") for i, each in enumerate(batch)]
            number += len(batch)
            text = NumberedText(*self.vocabulary_.encode(words))
            found = self._score_ids(text, bos, eos, threads)
            unknown = text.ids == UNKNOWN_ID
            if eos:
                unknown = np.insert(unknown, text.starts[1:], False)
            lengths = np.diff(text.starts) + int(eos)
            sums.append(
                SentenceSums(
                    _sums(found, lengths),
                    lengths,
                    _sums(np.where(unknown, found, 0.0), lengths),
                    _sums(unknown, lengths).astype(np.int64),
                )
            )
        if not sums:
            return SentenceSums(np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
        return SentenceSums(*(np.concatenate(each) for each in zip(*sums, strict=True)))

    def _score_ids(self, text: NumberedText, bos: bool, eos: bool, n_threads: int) -> Any:
        if getattr(self, "_scorer", None) is None:
            self._scorer = self._make_scorer()
        return self._scorer.score(text.starts, text.ids, bos, eos, n_threads)

    def _make_scorer(self) -> _core.ModelMScorer:
        classes, words, of_words = (
            _core.ContextTrie(*(getattr(self, f"_{name}_{part}") for part in Trie._fields)) for name in _TRIES
        )
        return _core.ModelMScorer(self._words, self._class_starts, classes, words, of_words, int(self.order))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_scorer": None} if "_scorer" in state else state

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters = super()._get_parameters_to_save()
        if isinstance(self.classes, WordClasses):
            parameters["classes"] = int(self.classes.n_classes)
        return parameters

    def _check_parameters(self) -> None:
        check_integer(self.order, "order", low=2)
        if isinstance(self.classes, WordClasses):
            self.classes._check_parameters()
        else:
            check_integer(self.classes, "classes", low=1, high=2**15)
        check_real(self.alpha, "alpha", low=0)
        check_positive(self.variance, "variance")
        check_integer(self.min_count, "min_count", low=1)
        check_loop_parameters(self)

    def _restored(self) -> None:
        if not isinstance(self.classes_, WordClasses) or len(self.classes_.classes_) != len(self._words):
            raise ValueError("classes_: expected those of all words")
        self._scorer = self._make_scorer()


def _sums(values: Any, lengths: Any) -> Any:
    """Of consecutive pieces, some of which may be empty."""
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(sentences, values, minlength=len(lengths))
