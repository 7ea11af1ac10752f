"""Back-off models of n-grams."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .. import _core
from .._common.layouts import layouts, numbers
from .._common.persistence import Persistent
from .._common.resources import resolve_threads
from .._common.tensorfile import Arrays
from .._common.types import Array
from .._common.validation import check_integer, keeps_previous_fit
from ._arpa import read_arpa, write_arpa
from ._model import LanguageModel, SentenceSums, WordScores, as_sentences
from ._quantize import QuantizationError, make_codebooks
from ._training import MAX_ORDER, Trained, check_settings, train, warn_of_discounts
from ._vocabulary import Sentence, Vocabulary

_BATCH = 1 << 24  # characters of sentences that are scored at a time
_TABLES = tuple(f"grams{order}_" for order in range(2, MAX_ORDER + 1))


class NGramLM(Persistent, LanguageModel, BaseEstimator):  # type: ignore[misc]
    """An n-gram language model with back-off: trained here, or read from an ARPA file.

    Parameters
    ----------
    order : int, default 3
        The longest n-grams, from 1 to 6.
    smoothing : {"kneser_ney", "good_turing"}, default "kneser_ney"
        Interpolated modified Kneser-Ney, or Good-Turing discounts with Katz back-off.
    min_counts : sequence of int or None
        The least count of an n-gram, by order, the first being 1; the last one goes on for higher orders.
    katz_k : int, default 5
        Counts above it are not discounted by Good-Turing.
    min_count : int, default 1
        Words that are rarer become ``<unk>``.
    max_words : int or None
        At most so many words, the most frequent ones.
    vocabulary : iterable of str or None
        The words, if they are given.
    markers : {"error", "unknown"}, default "error"
        What ``<s>``, ``</s>`` and ``<unk>`` in training text are.
    max_memory : int or None
        Bytes that training may use; None: half of the memory.
    temp_dir : path-like or None
        Where counts go that do not fit.
    n_threads : int or None
        The model does not depend on it.
    progress : bool, default False
        Show a progress bar while training.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    counts_ : list of int
        How many n-grams of each order the model has, from order 1.
    discounts_ : list of lists of float
        The discounts of each order; empty if it was read from a file.
    unigrams_ : float32 array of shape (n_words, 2)
        The logarithm of the probability and of the back-off of each word.

    Notes
    -----
    A word's n-grams are found by hashing, and exactly: what is not in the model is never found. `score` of a str
    cuts it as kenlm does, at ASCII white space. In a sentence, ``<s>`` and ``</s>`` are the model's own words.

    Examples
    --------
    >>> from semproj import NGramLM
    >>> text = ["the cat sat", "the dog sat", "a cat saw the dog", "the dog saw a bird"] * 5
    >>> model = NGramLM(order=2, smoothing="good_turing", min_counts=(1, 1)).fit(text)  # doctest: +SKIP
    >>> model.score("the cat saw the bird") < model.score("the cat sat")  # doctest: +SKIP
    True
    """

    _parts = ("vocabulary_",)
    _arrays = layouts(
        word_slots_="i8 slots 2",
        unigrams_="f4 words 2",
        codebooks_="f4 tables 2 256 ?",
        **{name: f"i8 lines{name} 8 ?" for name in _TABLES},
    )
    _scalars = numbers(word_seed_=int, counts_=list, discounts_=list)

    vocabulary_: Vocabulary
    codebooks_: Array | None
    _store: _core.StoredNGrams
    _passing: ClassVar[tuple[str, ...]] = ("_store",)

    def __init__(
        self,
        order: int = 3,
        smoothing: str = "kneser_ney",
        min_counts: Any = None,
        katz_k: int = 5,
        min_count: int = 1,
        max_words: int | None = None,
        vocabulary: Any = None,
        markers: str = "error",
        max_memory: int | None = None,
        temp_dir: str | os.PathLike[str] | None = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.order, self.smoothing, self.min_counts, self.katz_k = order, smoothing, min_counts, katz_k
        self.min_count, self.max_words, self.vocabulary, self.markers = min_count, max_words, vocabulary, markers
        self.max_memory, self.temp_dir, self.n_threads, self.progress = max_memory, temp_dir, n_threads, progress

    @keeps_previous_fit
    def fit(self, sentences: Any = None, y: Any = None, *, files: Any = None) -> NGramLM:
        """Count the n-grams of a text and smooth them.

        Parameters
        ----------
        sentences : iterable of sentences
            Each a str, cut at ASCII white space, or a list of words. It is read once.
        y : ignored
        files : path-like or list of them
            Instead of sentences: one sentence a line; ``.gz`` and ``.xz`` are unpacked.
        """
        settings = check_settings(self)
        memory, folder = settings.max_memory, settings.temp_dir
        builder = _core.NGramTableBuilder(settings.n_threads, None, memory // 4, folder)
        found: Trained = train(settings, sentences, files, builder.sink())
        self._take(found.text, found.offsets, builder.take(found.text, found.offsets))
        self.discounts_ = found.discounts
        warn_of_discounts(settings.smoothing, found.fallen_back, stacklevel=3)
        return self

    @classmethod
    def from_arpa(cls, path: str | os.PathLike[str], *, n_threads: int | None = None) -> NGramLM:
        """Read a model from an ARPA file, as KenLM, SRILM and others write it.

        Parameters
        ----------
        path : path-like
            ``.gz`` and ``.xz`` are unpacked.
        n_threads : int or None

        Returns
        -------
        NGramLM

        Raises
        ------
        ValueError
            With the number of the line that is not as it should be.
        """
        text, offsets, tables = read_arpa(path, resolve_threads(n_threads))
        model = cls(order=len(tables.counts), n_threads=n_threads)
        model._take(text, offsets, tables)
        return model

    def to_arpa(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an ARPA file, replacing an existing one in a single step.

        Parameters
        ----------
        path : path-like
            Compressed if it ends in ``.gz`` or ``.xz``.
        """
        self._check_fitted()
        write_arpa(path, self._store, resolve_threads(self.n_threads))

    def quantize(self, bits: int = 8) -> NGramLM:
        """A model in half the memory, with 256 probabilities and 256 back-offs for each order above 1.

        Parameters
        ----------
        bits : int, default 8
            Of a number; only 8.

        Returns
        -------
        NGramLM
            Its `quantization_error` says how far its numbers are from those of this model.
        """
        self._check_fitted()
        check_integer(bits, "bits", low=8, high=8)
        if self.codebooks_ is not None:
            raise ValueError("bits: the model has been quantized already")
        codebooks, error = make_codebooks(self._store, len(self.counts_))
        builder = _core.NGramTableBuilder(resolve_threads(self.n_threads), codebooks.reshape(-1))
        self._store.send_to(builder.sink())
        model: NGramLM = type(self)(**self.get_params())
        text, offsets = self.vocabulary_.text_, self.vocabulary_.offsets_
        model._take(text, offsets, builder.take(text, offsets))
        model.discounts_ = self.discounts_
        model.quantization_error = error
        return model

    quantization_error: tuple[QuantizationError, ...] | None = None
    """Of each order above 1, after `quantize`."""

    @property
    def n_bytes(self) -> int:
        """Bytes of the model in memory, words and all."""
        self._check_fitted()
        arrays = (*self._get_state().values(), self.vocabulary_.text_, self.vocabulary_.offsets_)
        return sum(array.nbytes for array in arrays)

    def __contains__(self, word: object) -> bool:
        """Whether the model knows a word."""
        self._check_fitted()
        return isinstance(word, str) and self._store.find_word(word) != 0

    def score(self, sentence: Sentence, *, bos: bool = True, eos: bool = True) -> float:  # noqa: D102
        try:
            store = self._store
        except AttributeError:
            self._check_fitted()
            raise
        return store.score(sentence, bool(bos), bool(eos))

    score.__doc__ = LanguageModel.score.__doc__

    def begin_state(self) -> _core.NGramState:
        """The state at the start of a sentence."""
        self._check_fitted()
        return self._store.begin_state()

    def empty_state(self) -> _core.NGramState:
        """The state without any words before."""
        self._check_fitted()
        return self._store.empty_state()

    def continue_state(self, state: _core.NGramState, word: str) -> tuple[float, _core.NGramState]:
        """The logarithm of a word's probability in a state, and the state after it.

        States are small, can be compared, hashed and pickled, and belong to the model that gave them. Two that are
        equal give the same probabilities from there on.
        """
        self._check_fitted()
        step = self._store.advance(state, word)
        return step.log_prob, step.state

    def _score_tokens(self, words: list[str], bos: bool, eos: bool) -> WordScores:
        found = self._store.score_words(words, bos, eos)
        return WordScores(found.log_probs, found.orders, found.unknown)

    def _sum_sentences(
        self, sentences: Iterable[Sentence], bos: bool, eos: bool, n_threads: int | None
    ) -> SentenceSums:
        threads = resolve_threads(self.n_threads if n_threads is None else n_threads)
        iterator = iter(as_sentences(sentences))
        parts, n = [], 0
        while batch := _core.take_batch(iterator, _BATCH, _BATCH // 16):
            sums = self._store.score_batch(batch, n, bos, eos, threads)
            parts.append(SentenceSums(sums.log_probs, sums.words, sums.unknown_log_probs, sums.unknown_words))
            n += len(batch)
        if not parts:
            return SentenceSums(np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
        return parts[0] if len(parts) == 1 else SentenceSums(*map(np.concatenate, zip(*parts, strict=True)))

    def _check_fitted(self) -> None:
        if "_store" not in self.__dict__:
            raise NotFittedError("This NGramLM instance is not fitted yet: call fit, or NGramLM.from_arpa")

    def _check_saveable(self) -> None:
        self._check_fitted()

    def __sklearn_is_fitted__(self) -> bool:
        return "_store" in self.__dict__

    def _check_parameters(self) -> None:
        check_integer(self.order, "order", low=1, high=MAX_ORDER)

    def _take(self, text: Array, offsets: Array, tables: _core.NGramTables) -> None:
        """Become the model that these arrays are."""
        self.vocabulary_ = Vocabulary.from_arrays(text, offsets)
        self.word_slots_, self.word_seed_ = tables.word_slots, tables.seed
        self.unigrams_, self.counts_ = tables.unigrams, list(tables.counts)
        for name in _TABLES:
            setattr(self, name, None)
        for name, table in zip(_TABLES, tables.tables, strict=False):
            setattr(self, name, table)
        coded = len(tables.codebooks) > 0
        self.codebooks_ = tables.codebooks.reshape(-1, 2, 256) if coded else None
        self.discounts_: list[list[float]] = []
        self.quantization_error = None
        self._open()

    def _open(self) -> None:
        arrays = [getattr(self, name) for name in _TABLES]
        n_tables = len(self.counts_) - 1
        if any(array is None for array in arrays[:n_tables]) or any(array is not None for array in arrays[n_tables:]):
            raise ValueError("counts_: expected one for each table, and for the words")
        codebooks = np.zeros(0, np.float32) if self.codebooks_ is None else self.codebooks_.reshape(-1)
        tables = _core.NGramTables(
            self.word_slots_, self.word_seed_, self.unigrams_, arrays[:n_tables], self.counts_, codebooks
        )
        self._store = _core.StoredNGrams(tables, self.vocabulary_.text_, self.vocabulary_.offsets_)

    def _set_state(self, arrays: Arrays, scalars: dict[str, Any]) -> None:
        super()._set_state(arrays, scalars)
        counts = self.counts_
        if not 1 <= len(counts) <= MAX_ORDER or not all(type(n) is int and 0 <= n < 2**63 for n in counts):
            raise ValueError(f"counts_: expected 1 to {MAX_ORDER} numbers of n-grams")
        if self.word_seed_ >= 2**64:
            raise ValueError("word_seed_: expected 64 bits")

    def _restored(self) -> None:
        if getattr(self, "vocabulary_", None) is None:
            raise ValueError("vocabulary_: is missing")
        if self.counts_[0] != len(self.vocabulary_):
            raise ValueError("counts_: expected as many words as the vocabulary has")
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in self._passing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "vocabulary_" in self.__dict__:
            self._open()
