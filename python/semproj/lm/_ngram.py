"""The n-gram language model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._common.resources import memory_for
from .._common.validation import check_integer, keeps_previous_fit
from .._core import lm as _core
from ._queries import NGramQueries
from ._training import MAX_ORDER, check_settings, train, warn_of_discounts
from ._vocabulary import Sentence, Vocabulary

PathLike = str | os.PathLike[str]


class NGramLM(NGramQueries, BaseEstimator):  # type: ignore[misc]
    """Back-off n-gram language model, by interpolated modified Kneser-Ney or Good-Turing with Katz's back-off.

    Parameters
    ----------
    order : int from 1 to 6, default 3
        A word is predicted from ``order - 1`` words before it.
    smoothing : {"kneser_ney", "good_turing"}, default "kneser_ney"
        "kneser_ney": interpolated, modified (Chen and Goodman 1999), which predicts better. "good_turing": Katz
        1987.
    min_counts : sequence of int or None, default None
        Leave out n-grams that occur less often: ``(1, 1, 2)`` keeps bigrams, and trigrams that come twice. The
        first, for words, is 1; the last also counts for all higher orders; they do not fall. None: all are kept.
    katz_k : int from 1 to 60, default 5
        Good-Turing takes something from counts up to this one.
    min_count : int, default 1
        Words that occur less often are unknown words. So are those that are left out by the next two.
    max_words : int or None, default None
        Keep only this many of the most frequent words.
    vocabulary : iterable of str or None, default None
        The words of the model, whether they occur or not. None: those of the text.
    markers : {"error", "unknown"}, default "error"
        What ``<s>`` and ``</s>`` in the text are: the model adds them by itself.
    max_memory : int or None, default None
        Bytes that training may take, beside the words and the model itself. What does not fit is sorted on disk:
        the result is the same. None: half of what this process may use.
    temp_dir : path-like or None, default None
        Where that disk is. Nothing stays there, however the fit ends. None: the system's folder for such files.
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        ``<unk>``, ``<s>``, ``</s>``, then words by falling count, ties by their bytes.
    word_counts_ : int64 array of shape (n_words,)
        How often each occurred; of ``<unk>``, all words that were left out.
    ngram_counts_ : list of int
        How many n-grams of each order the model has.
    discounts_ : list of float64 arrays
        For each order. Kneser-Ney: what is taken from the counts 1, 2, and 3 or more. Good-Turing: what the counts
        1 to `katz_k` are multiplied by. Where a small text gives none, 0.5, 1 and 1.5 are taken, or a count stays
        as it is, and a ``DiscountWarning`` says so.
    n_words_seen_, n_sentences_seen_ : int
        Of the text.

    Notes
    -----
    The same bits for any number of threads and any `max_memory`. The unigrams of Kneser-Ney are interpolated with
    the uniform distribution over all words, ``<unk>`` and ``</s>``, as KenLM does it. Counts of counts are those
    before n-grams are left out. Cost: about 100 ns and 30 bytes for each n-gram of an order, order by order.

    Examples
    --------
    >>> import warnings
    >>> from semproj.lm import DiscountWarning, NGramLM
    >>> text = ["the cat sat", "the dog sat", "the cat ran"]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DiscountWarning)  # a text so small has no discounts of its own
    ...     model = NGramLM(order=2).fit(text)
    >>> model.ngram_counts_
    [8, 8]
    >>> model.score("the cat sat") > model.score("the sat cat")
    True
    """

    def _check_parameters(self) -> None:
        check_integer(self.order, "order", low=1, high=MAX_ORDER)

    def __init__(
        self,
        order: int = 3,
        *,
        smoothing: str = "kneser_ney",
        min_counts: Sequence[int] | None = None,
        katz_k: int = 5,
        min_count: int = 1,
        max_words: int | None = None,
        vocabulary: Iterable[str] | None = None,
        markers: str = "error",
        max_memory: int | None = None,
        temp_dir: PathLike | None = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.order, self.smoothing = order, smoothing
        self.min_counts, self.katz_k = min_counts, katz_k
        self.min_count, self.max_words, self.vocabulary = min_count, max_words, vocabulary
        self.markers = markers
        self.max_memory, self.temp_dir = max_memory, temp_dir
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(
        self,
        sentences: Iterable[Sentence] | None = None,
        y: Any = None,
        *,
        files: PathLike | Iterable[PathLike] | None = None,
    ) -> NGramLM:
        """Count n-grams and estimate their probabilities.

        Parameters
        ----------
        sentences : iterable of sentences
            Each a str, which ASCII white space divides into words, or a sequence of words. Read once, in batches.
        files : path-like or iterable of path-likes
            Instead: UTF-8 text with one sentence a line; ``.gz`` and ``.xz`` are unpacked while reading.

        Returns
        -------
        self
        """
        settings = check_settings(self)
        builder = _core.NGramTableBuilder(settings.n_threads, None, settings.max_memory // 4, settings.temp_dir)
        with memory_for(f"order={settings.order}", 0):
            found = train(settings, sentences, files, builder.sink())
            tables = builder.take(found.text, found.offsets)
        self._set_tables(tables, Vocabulary.from_arrays(found.text, found.offsets))
        self.word_counts_ = found.word_counts
        self.discounts_ = [np.array(each) for each in found.discounts]
        self.n_words_seen_, self.n_sentences_seen_ = found.n_words, found.n_sentences
        warn_of_discounts(settings.smoothing, found.fallen_back, 3)
        return self
