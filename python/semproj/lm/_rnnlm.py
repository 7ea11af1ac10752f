"""A recurrent language model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._common.files import PathLike
from .._common.fitting import check_loop_parameters, fit_by_sweeps
from .._common.layouts import layouts
from .._common.layouts import numbers as layouts_numbers
from .._common.persistence import Persistent, checksum
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_choice, check_integer, check_positive, check_real, keeps_previous_fit
from .._core import lm as _core
from ._model import LanguageModel, SentenceSums, WordScores
from ._network import Classing, of_kernel
from ._reading import RawText, read_text
from ._rnn_training import RnnSweeps
from ._sentences import NumberedText, number_sentences
from ._vocabulary import BEGIN_ID, UNKNOWN_ID, Sentence, Vocabulary

ACTIVATIONS = ("sigmoid", "tanh", "relu")
_LARGEST_BLOCK = 2**20  # words that are trained on at once
_LARGEST_CLIP, _LARGEST_RATE = 1e30, 1e6
_AT_ONCE = 20_000  # sentences that are scored together


class RNNLM(Persistent, LanguageModel, BaseEstimator):  # type: ignore[misc]
    """A recurrent network that reads a sentence word by word and says how probable the next word is.

    The network of Mikolov and others 2010: a hidden layer that sees the last word and itself one word ago, and two
    softmaxes, over classes of words and over the words of a class. Unlike an n-gram model it can use a word from
    the beginning of a sentence at its end. It is trained by back-propagation through `n_steps` words, and steps of
    Adagrad.

    Parameters
    ----------
    n_components : int, default 256
        Units of the hidden layer.
    n_slow : int, default 0
        More units, that are averages of what words so far have for them, recent ones more: they remember what a
        sentence is about. With 0 it is Mikolov's network of 2010.
    decay : float, default 0.9
        What the next word leaves of such an average.
    n_classes : int or None
        Classes of words, by frequency. None: about the square root of the number of words, which is fastest.
    classes : mapping from words to integers, or None
        Classes to use instead, such as those of a fitted `WordClasses`. They are not saved as a parameter.
    min_count : int, default 1
        Words that are seen less often become ``<unk>``.
    activation : {"sigmoid", "tanh", "relu"}, default "sigmoid"
    epochs : float, default 5
        How often training goes through the text. The learning rate falls evenly, to a fiftieth.
    learning_rate : float, default 0.4
    n_streams : int or None
        So many places of the text are read side by side. None: 128, or fewer for texts below 256,000 words.
    n_steps : int, default 20
        Words that errors go back through, and after which weights change.
    clip : float, default 15
        Each element of the gradient by what goes into a unit is cut to plus or minus this.
    across_sentences : bool, default False
        Keep the state of the hidden layer at the end of a sentence in training, and the order of sentences.
        Scores are always of single sentences.
    held_out : float, iterable of sentences, or None, default 0.01
        The share of sentences, or the sentences, whose perplexity is the objective; they are not learnt from. The
        model of the sweep with the least is kept. With None, the objective is the perplexity of what is learnt
        from, just before it is learnt.
    patience : int or None, default 5
        Training ends when the perplexity of held-out text has not fallen for so many sweeps.
    sweep_words : int, default 2_000_000
        An epoch has so many parts that each has about so many words. Each is a sweep: progress, callbacks and
        checkpoints come after it.
    max_iter : int or None
        Sweeps after which training ends, whatever `epochs` plans. None: as planned.
    tol : float, default 0
        Training ends when a sweep lowers the objective by less than this share of it. 0: never.
    random_state : int, numpy generator or None
    callback, checkpoint, checkpoint_every
        See :mod:`semproj.stopping`.
    n_threads : int or None
    progress : bool, default False

    Attributes
    ----------
    vocabulary_ : Vocabulary
    objective_ : array of shape (n_iter_,)
        The perplexity after each sweep.
    n_iter_ : int
    input_, recurrent_, hidden_bias_, classes_, class_bias_, words_, word_bias_ : arrays
        The weights. Rows of `input_` are numbered as words are, rows of `words_` by `place_of_`.
    class_begin_, place_of_, class_of_ : arrays
        The place and class of each word, and where each class begins.

    Examples
    --------
    >>> from semproj.lm import RNNLM
    >>> text = ["the dog barks", "the cat purrs", "a dog barks", "a cat purrs"] * 50
    >>> model = RNNLM(8, epochs=20, random_state=0).fit(text)
    >>> model.score("the cat purrs") > model.score("the cat barks")
    True
    """

    _arrays = layouts(
        input_="f4 ids k",
        recurrent_="f4 units k",
        classes_="f4 classes k",
        words_="f4 words k",
        hidden_bias_="f4 units",
        class_bias_="f4 classes",
        word_bias_="f4 words",
        class_begin_="i8 ends",
        place_of_="i4 ids",
        class_of_="i4 ids",
        objective_="f8 sweeps",
    )
    _scalars = layouts_numbers(n_iter_="sweeps", activation_=str, decay_=float)
    _parts = ("vocabulary_",)

    vocabulary_: Vocabulary
    input_: Array
    recurrent_: Array
    classes_: Array
    words_: Array
    class_begin_: Array
    place_of_: Array
    class_of_: Array
    activation_: str
    decay_: float

    def __init__(
        self,
        n_components: int = 256,
        *,
        n_slow: int = 0,
        decay: float = 0.9,
        n_classes: int | None = None,
        classes: Any = None,
        min_count: int = 1,
        activation: str = "sigmoid",
        epochs: float = 5.0,
        learning_rate: float = 0.4,
        n_streams: int | None = None,
        n_steps: int = 20,
        clip: float = 15.0,
        across_sentences: bool = False,
        held_out: Any = 0.01,
        patience: int | None = 5,
        sweep_words: int = 2_000_000,
        max_iter: int | None = None,
        tol: float = 0.0,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 1,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_slow, self.decay = n_slow, decay
        self.n_components, self.n_classes, self.classes = n_components, n_classes, classes
        self.min_count, self.activation, self.epochs = min_count, activation, epochs
        self.learning_rate, self.n_streams, self.n_steps, self.clip = learning_rate, n_streams, n_steps, clip
        self.across_sentences, self.held_out, self.patience = across_sentences, held_out, patience
        self.sweep_words, self.max_iter, self.tol, self.random_state = sweep_words, max_iter, tol, random_state
        self.callback, self.checkpoint, self.checkpoint_every = callback, checkpoint, checkpoint_every
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(
        self,
        sentences: Iterable[Sentence] | None = None,
        y: Any = None,
        *,
        files: PathLike | Iterable[PathLike] | None = None,
    ) -> RNNLM:
        """Train on sentences.

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
        raw = read_text(sentences, files, ends=True, n_threads=threads)
        held_out = None
        if not isinstance(self.held_out, (float, int, type(None))):
            held_out = HeldOut(read_text(self.held_out, None, ends=True, n_threads=threads, name="held_out"))
        sweeps = RnnSweeps(self, raw, held_out)
        parts = sweeps.parts_of(len(raw.text.ids))
        planned = max(1, round(float(self.epochs) * parts))
        fit_by_sweeps(
            self, sweeps, max_iter=planned if self.max_iter is None else int(self.max_iter), tol=self.tol
        )
        return self

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1, high=2**20)
        check_integer(self.n_slow, "n_slow", low=0, high=2**20)
        check_real(self.decay, "decay", low=0, high=1)
        if self.n_classes is not None:
            check_integer(self.n_classes, "n_classes", low=1)
        if self.classes is not None and not hasattr(self.classes, "get"):
            raise TypeError(
                f"classes: expected a mapping from words to integers or None, got {self.classes!r:.40}"
            )
        check_integer(self.min_count, "min_count", low=1)
        check_choice(self.activation, "activation", ACTIVATIONS)
        check_positive(self.epochs, "epochs")
        check_positive(self.learning_rate, "learning_rate")
        check_real(self.learning_rate, "learning_rate", high=_LARGEST_RATE)
        check_integer(self.n_steps, "n_steps", low=1, high=_LARGEST_BLOCK)
        if self.n_streams is not None:
            check_integer(self.n_streams, "n_streams", low=1, high=_LARGEST_BLOCK // int(self.n_steps))
        check_positive(self.clip, "clip")
        check_real(self.clip, "clip", high=_LARGEST_CLIP)
        if isinstance(self.held_out, (float, int)):
            check_real(self.held_out, "held_out", low=0, high=0.9)
        if self.patience is not None:
            check_integer(self.patience, "patience", low=1)
        check_integer(self.sweep_words, "sweep_words", low=1)
        check_loop_parameters(self, max_iter=1 if self.max_iter is None else self.max_iter)

    def _check_fitted(self) -> None:
        check_is_fitted(self, "words_")

    def _score_tokens(self, words: list[str], bos: bool, eos: bool) -> WordScores:
        text = number_sentences([words], self.vocabulary_, eos=eos)
        found = self._log_probs(text, bos, 1)
        return WordScores(found, np.zeros(len(found), np.int32), text.ids == UNKNOWN_ID)

    def _sum_sentences(
        self, sentences: Iterable[Sentence], bos: bool, eos: bool, n_threads: int | None
    ) -> SentenceSums:
        text = number_sentences(sentences, self.vocabulary_, eos=eos)
        found = self._log_probs(text, bos, resolve_threads(self.n_threads if n_threads is None else n_threads))
        n, unknown = len(text), text.ids == UNKNOWN_ID
        of = np.repeat(np.arange(n), np.diff(text.starts))
        return SentenceSums(
            np.bincount(of, found, minlength=n),
            np.diff(text.starts),
            np.bincount(of[unknown], found[unknown], minlength=n),
            np.bincount(of[unknown], minlength=n),
        )

    def _log_probs(self, text: NumberedText, bos: bool, n_threads: int) -> Array:
        """Of each word, to base 10. Without a start, the word before the first is taken as unknown."""
        with single_threaded_blas():
            found: Array = _core.rnn_score(
                text.ids,
                text.starts,
                of_kernel(lambda name: getattr(self, f"{name}_")),
                Classing(self.class_begin_, self.place_of_, self.class_of_).of_kernel(),
                self.activation_,
                self.decay_,
                BEGIN_ID if bos else UNKNOWN_ID,
                n_threads,
            )
        found /= np.log(10)
        return found

    def _get_parameters_to_save(self) -> dict[str, Any]:
        """Without what belonged to the fit: classes and sentences that were given."""
        parameters = super()._get_parameters_to_save() | {"classes": None}
        if not isinstance(self.held_out, (float, int, type(None))):
            parameters["held_out"] = 0.01
        return parameters

    def _restored(self) -> None:
        check_choice(self.activation_, "activation", ACTIVATIONS)
        check_real(self.decay_, "decay", low=0, high=1)
        if self.recurrent_.shape[0] > self.recurrent_.shape[1]:
            raise ValueError("recurrent: expected at least as many columns as rows")
        if len(self.vocabulary_) != len(self.input_):
            raise ValueError("vocabulary: expected as many words as the network has rows of input")
        places = np.sort(self.place_of_)
        begin, known = self.class_begin_, self.place_of_ >= 0
        fits = len(begin) == len(self.classes_) + 1 and begin[0] == 0 and begin[-1] == len(self.words_)
        fits = fits and self.place_of_[BEGIN_ID] == -1 and np.array_equal(places, np.arange(-1, len(self.words_)))
        if not fits or (np.diff(begin) < 1).any():
            raise ValueError("class_begin: expected classes of all words")
        classes = np.repeat(np.arange(len(self.classes_)), np.diff(begin))
        if not np.array_equal(self.class_of_[known], classes[self.place_of_[known]]):
            raise ValueError("class_of: expected the classes of the words' places")


class HeldOut:
    """Sentences that were given to measure perplexity by."""

    def __init__(self, raw: RawText) -> None:
        self._raw = raw

    def identity(self) -> list[int]:
        return [checksum(self._raw.text.ids), checksum(self._raw.words.text_)]

    def text(self, vocabulary: Vocabulary) -> NumberedText:
        return self._raw.numbered_by(vocabulary)
