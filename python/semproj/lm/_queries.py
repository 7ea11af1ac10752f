"""What a model of n-grams can be asked, and how it is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError

from .._common.layouts import layouts, numbers
from .._common.persistence import Persistent
from .._common.resources import resolve_threads
from .._common.tensorfile import Arrays
from .._common.types import Array
from .._common.validation import check_integer
from .._core import lm as _core
from .._core import take_batch
from ._arpa import read_arpa, write_arpa
from ._model import LanguageModel, SentenceSums, WordScores, as_sentences
from ._quantize import QuantizationError, make_codebooks
from ._training import MAX_ORDER
from ._vocabulary import Sentence, Vocabulary

Queries = TypeVar("Queries", bound="NGramQueries")

_BATCH = 1 << 24  # characters of sentences that are scored at a time
_TABLES = tuple(f"grams{order}_" for order in range(2, MAX_ORDER + 1))


class NGramQueries(Persistent, LanguageModel):
    """The stored n-grams of a model and their probabilities. Subclasses have parameters, and may be fitted."""

    _parts = ("vocabulary_",)
    _arrays = layouts(
        word_slots_="i8 slots 2",
        unigrams_="f4 words 2",
        word_counts_="i8 words ?",
        codebooks_="f4 tables 2 256 ?",
        **{name: f"i8 lines{name} 8 ?" for name in _TABLES},
    )
    _scalars = numbers(
        word_seed_=int,
        bits_=int,
        lines_=list,
        ngram_counts_=list,
        discounts_=list,
        n_words_seen_=None,
        n_sentences_seen_=None,
    )

    vocabulary_: Vocabulary
    codebooks_: Array | None
    _store: _core.StoredNGrams
    discounts_: list[Array]
    word_counts_: Array | None
    n_threads: int | None

    @classmethod
    def from_arpa(cls: type[Queries], path: str | os.PathLike[str], *, n_threads: int | None = None) -> Queries:
        """Read a model from an ARPA file, as KenLM, SRILM and others write it.

        Parameters
        ----------
        path : path-like
            ``.gz`` and ``.xz`` are unpacked.
        n_threads : int or None

        Returns
        -------
        The model.

        Raises
        ------
        ValueError
            With the number of the line that is not as it should be.
        """
        text, offsets, tables = read_arpa(path, resolve_threads(n_threads))
        model: Queries = cls._blank(order=len(tables.counts), n_threads=n_threads)
        model._set_tables(tables, Vocabulary.from_arrays(text, offsets))
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

    def quantize(self: Queries, bits: int = 8) -> Queries:
        """A model in half the memory, with 256 probabilities and 256 back-offs for each order above 1.

        Parameters
        ----------
        bits : int, default 8
            Of a number; only 8.

        Returns
        -------
        A model of the same class.
            Its `quantization_error` says how far its numbers are from those of this model.
        """
        self._check_fitted()
        check_integer(bits, "bits", low=8, high=8)
        if self.codebooks_ is not None:
            raise ValueError("bits: the model has been quantized already")
        codebooks, error = make_codebooks(self._store, len(self.ngram_counts_))
        builder = _core.NGramTableBuilder(resolve_threads(self.n_threads), codebooks.reshape(-1))
        self._store.send_to(builder.sink())
        model: Queries = self._blank(**self._get_parameters_to_save())
        text, offsets = self.vocabulary_.text_, self.vocabulary_.offsets_
        model._set_tables(builder.take(text, offsets), self.vocabulary_)
        for name in ("discounts_", "word_counts_", "n_words_seen_", "n_sentences_seen_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
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

    def score(self, sentence: Sentence, *, bos: bool = True, eos: bool = True) -> float:
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
        return _core.ngram_begin_state(self._store)

    def empty_state(self) -> _core.NGramState:
        """The state without any words before."""
        self._check_fitted()
        return _core.ngram_empty_state(self._store)

    def continue_state(self, state: _core.NGramState, word: str) -> tuple[float, _core.NGramState]:
        """The logarithm of a word's probability in a state, and the state after it.

        States are small, can be compared, hashed and pickled, and belong to the model that gave them. Two that are
        equal give the same probabilities from there on.
        """
        self._check_fitted()
        step = _core.ngram_advance(self._store, state, word)
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
        while batch := take_batch(iterator, _BATCH, _BATCH // 16):
            sums = self._store.score_batch(batch, n, bos, eos, threads)
            parts.append(SentenceSums(sums.log_probs, sums.words, sums.unknown_log_probs, sums.unknown_words))
            n += len(batch)
        if not parts:
            return SentenceSums(np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
        return parts[0] if len(parts) == 1 else SentenceSums(*map(np.concatenate, zip(*parts, strict=True)))

    def _check_fitted(self) -> None:
        if "_store" not in self.__dict__:
            what = type(self).__name__
            raise NotFittedError(f"This {what} instance is not fitted yet: call fit, or {what}.from_arpa")

    def _check_saveable(self) -> None:
        self._check_fitted()

    def __sklearn_is_fitted__(self) -> bool:
        return "_store" in self.__dict__

    def _set_tables(self, tables: _core.NGramTables, vocabulary: Vocabulary) -> None:
        """Become the model that these arrays are."""
        self.vocabulary_ = vocabulary
        self.word_slots_, self.word_seed_ = tables.word_slots, tables.seed
        self.unigrams_, self.ngram_counts_ = tables.unigrams, list(tables.counts)
        for name in _TABLES:
            setattr(self, name, None)
        for name, table in zip(_TABLES, tables.tables, strict=False):
            setattr(self, name, table)
        coded = len(tables.codebooks) > 0
        self.codebooks_ = tables.codebooks.reshape(-1, 2, 256) if coded else None
        self.bits_ = 8 if coded else 32
        self.discounts_, self.word_counts_ = [], None
        self.lines_ = [len(table) for table in tables.tables]
        self.quantization_error = None
        self._open()

    def _open(self) -> None:
        arrays = [getattr(self, name) for name in _TABLES]
        n_tables = len(self.ngram_counts_) - 1
        if any(array is None for array in arrays[:n_tables]) or any(
            array is not None for array in arrays[n_tables:]
        ):
            raise ValueError("ngram_counts_: expected one for each table, and for the words")
        if self.bits_ != (32 if self.codebooks_ is None else 8):
            raise ValueError("bits_: expected 8 with codebooks, 32 without")
        if self.lines_ != [len(array) for array in arrays[:n_tables]]:
            raise ValueError("lines_: expected the lengths of the tables")
        codebooks = np.zeros(0, np.float32) if self.codebooks_ is None else self.codebooks_.reshape(-1)
        tables = _core.NGramTables(
            self.word_slots_, self.word_seed_, self.unigrams_, arrays[:n_tables], self.ngram_counts_, codebooks
        )
        self._store = _core.StoredNGrams(tables, self.vocabulary_.text_, self.vocabulary_.offsets_)

    def _get_scalars(self) -> dict[str, Any]:
        return {**super()._get_scalars(), "discounts_": [each.tolist() for each in self.discounts_]}

    def _set_state(self, arrays: Arrays, scalars: dict[str, Any]) -> None:
        super()._set_state(arrays, scalars)
        counts = self.ngram_counts_
        if not 1 <= len(counts) <= MAX_ORDER or not all(type(n) is int and 0 <= n < 2**63 for n in counts):
            raise ValueError(f"ngram_counts_: expected 1 to {MAX_ORDER} numbers of n-grams")
        self.discounts_ = [np.array(each, np.float64) for each in scalars["discounts_"]]
        for name in ("n_words_seen_", "n_sentences_seen_"):
            if name in scalars and not (type(scalars[name]) is int and scalars[name] >= 0):
                raise ValueError(f"{name}: expected a number of them")
        if self.word_seed_ >= 2**64:
            raise ValueError("word_seed_: expected 64 bits")

    def _restored(self) -> None:
        if getattr(self, "vocabulary_", None) is None:
            raise ValueError("vocabulary_: is missing")
        if self.ngram_counts_[0] != len(self.vocabulary_):
            raise ValueError("ngram_counts_: expected as many words as the vocabulary has")
        self._open()

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_store"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if "vocabulary_" in self.__dict__:
            self._open()
