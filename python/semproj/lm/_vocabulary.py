"""The words that a language model knows, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

import numpy as np

from .._common.layouts import layouts
from .._common.persistence import Persistent, check_strings, pack_strings, saveable, unpack_strings
from .._common.types import Array
from .._common.validation import check_integer

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
SPECIAL = (UNKNOWN, BEGIN, END)
UNKNOWN_ID, BEGIN_ID, END_ID = range(3)

Sentence = str | Sequence[str]


def split_words(sentence: Sentence, name: str = "sentence") -> list[str]:
    """The words of a sentence: of a str what ASCII white space divides, as kenlm does; of a sequence its items.

    >>> split_words(" to be,  or not")
    ['to', 'be,', 'or', 'not']
    """
    if isinstance(sentence, str):
        try:
            return [word.decode() for word in sentence.encode().split()]
        except UnicodeEncodeError as error:
            raise ValueError(f"{name}: cannot be written as UTF-8 ({error})") from None
    if isinstance(sentence, (bytes, Mapping, set, frozenset)) or not isinstance(sentence, Sequence):
        raise TypeError(f"{name}: expected a str or a sequence of words, got {type(sentence).__name__}")
    for place, word in enumerate(sentence):
        if not isinstance(word, str):
            raise TypeError(f"{name}: expected words, got {type(word).__name__} at {place}")
    return list(sentence)


@saveable
class Vocabulary(Persistent):
    """Words and their numbers: 0 is ``<unk>``, 1 ``<s>``, 2 ``</s>``, then come the words of the model.

    Parameters
    ----------
    words : iterable of str
        Those after the three, without duplicates. Models number words by falling count, ties by their bytes: see
        `from_counts`.

    Attributes
    ----------
    text_ : uint8 array
        The UTF-8 bytes of all words, one after another.
    offsets_ : int64 array of shape (n_words + 1,)
        Where each word begins in them, and the last ends.

    Examples
    --------
    >>> from semproj.lm import Vocabulary
    >>> vocabulary = Vocabulary(["the", "cat"])
    >>> len(vocabulary), vocabulary["cat"], vocabulary["dog"], vocabulary.word(3)
    (5, 4, 0, 'the')
    """

    _arrays = layouts(text_="u1 bytes", offsets_="i8 ends")

    def __init__(self, words: Iterable[str] = ()) -> None:
        if isinstance(words, str):
            raise TypeError("words: expected an iterable of words, got a str")
        self._words: list[str] | None = [*SPECIAL, *words]
        for word in self._words:
            if not isinstance(word, str):
                raise TypeError(f"words: expected str, got {type(word).__name__}")
        self._numbers: dict[str, int] | None = None
        self._number_them()
        self.text_, self.offsets_ = pack_strings(self._words)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Vocabulary:
        """Number words by falling count, ties by their UTF-8 bytes. The three are left out."""
        known = [word for word in counts if word not in SPECIAL]
        return cls(sorted(known, key=lambda word: (-counts[word], word.encode())))

    @classmethod
    def from_arrays(cls, text: Array, offsets: Array) -> Vocabulary:
        """Of the bytes of all words, the three among them, and where each begins. They are not copied."""
        vocabulary: Vocabulary = cls.__new__(cls)
        vocabulary._set_state({"text_": text, "offsets_": offsets}, {})
        return vocabulary

    def __len__(self) -> int:
        return len(self.offsets_) - 1

    def __contains__(self, word: object) -> bool:
        return word in self._number_them()

    def __getitem__(self, word: str) -> int:
        """The number of a word; 0 of one that is not known."""
        return self._number_them().get(word, UNKNOWN_ID)

    def __iter__(self) -> Iterator[str]:
        return iter(self._list_them())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.offsets_, other.offsets_) and np.array_equal(self.text_, other.text_)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} words>"

    @property
    def words(self) -> list[str]:
        """All words, by number."""
        return list(self._list_them())

    @overload
    def word(self, numbers: int) -> str: ...
    @overload
    def word(self, numbers: Iterable[int]) -> list[str]: ...
    def word(self, numbers: int | Iterable[int]) -> str | list[str]:
        """The word of a number, or a list of those of several."""
        if isinstance(numbers, Iterable):
            return [self.word(int(each)) for each in numbers]
        number = check_integer(numbers, "numbers", low=0, high=len(self) - 1)
        return self.text_[self.offsets_[number] : self.offsets_[number + 1]].tobytes().decode()

    def ids(self, sentence: Sentence) -> Array:
        """The numbers of the words of a sentence, as int32."""
        find = self._number_them().get
        return np.array([find(word, UNKNOWN_ID) for word in split_words(sentence)], np.int32)

    def encode(self, sentences: Iterable[Sentence]) -> tuple[Array, Array]:
        """The numbers of the words of all sentences, and where each sentence begins and the last ends.

        Returns
        -------
        ids : int32 array
        starts : int64 array of shape (n_sentences + 1,)
        """
        find = self._number_them().get
        ids: list[int] = []
        starts = [0]
        for sentence in sentences:
            ids.extend(find(word, UNKNOWN_ID) for word in split_words(sentence))
            starts.append(len(ids))
        return np.array(ids, np.int32), np.array(starts, np.int64)

    def _list_them(self) -> list[str]:
        if self._words is None:
            self._words = unpack_strings(self.text_, self.offsets_)
        return self._words

    def _number_them(self) -> dict[str, int]:
        if self._numbers is None:
            words = self._list_them()
            self._numbers = {word: number for number, word in enumerate(words)}
            if len(self._numbers) < len(words):
                twice = next(word for number, word in enumerate(words) if self._numbers[word] != number)
                raise ValueError(f"words: {twice!r} comes twice")
        return self._numbers

    def _check_saveable(self) -> None:
        pass

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {}

    def _set_state(self, arrays: Mapping[str, Array], scalars: dict[str, Any]) -> None:
        super()._set_state(dict(arrays), scalars)
        check_strings(self.text_, self.offsets_)
        self._words = self._numbers = None
        first = [self.word(number) for number in islice(range(len(self)), len(SPECIAL))]
        if first != list(SPECIAL):
            raise ValueError(f"words: expected {', '.join(SPECIAL)} first, got {', '.join(first)}")
