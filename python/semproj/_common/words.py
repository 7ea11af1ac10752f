"""What models of words share: they find words, and say how similar words are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .persistence import Persistent, pack_strings, unpack_strings
from .types import Array
from .validation import check_choice

UNKNOWN = ("error", "skip")
_SPACES = re.compile(r"[\s_]+")


def normal_word(word: str) -> str:
    """Spell a word as thesauri here do: NFKC, lower case, single spaces for underscores and white space.

    Examples
    --------
    >>> from semproj.thesaurus import normal_word
    >>> normal_word("Take_a  breath")
    'take a breath'
    """
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", word).lower()).strip(" ,;:")


class UnknownWordError(KeyError):
    """A thesaurus, or a model of its words, does not have this word."""

    def __str__(self) -> str:  # KeyError would quote the message
        return str(self.args[0])


def find_word(vocabulary: Mapping[str, int], word: object) -> int | None:
    """The number of a word as it is spelt, or else in its normal spelling; None if neither is known."""
    if not isinstance(word, str):
        return None
    place = vocabulary.get(word)
    return vocabulary.get(normal_word(word)) if place is None else place


def refuse_no_words(words: object, name: str) -> None:
    """Refuse what is neither a word nor a sequence of them."""
    if isinstance(words, (bytes, set, frozenset)) or not isinstance(words, Iterable):
        raise TypeError(f"{name}: expected a word or a sequence of words, got {words!r}")


def cosines(left: Array, right: Array) -> Array:
    """Cosines of all pairs of unit rows. The bits of one do not depend on the other rows."""
    scores: Array = np.clip(np.einsum("ik,jk->ij", left, right, dtype=np.float64), -1, 1)
    return scores


def nearest_words(
    queries: Array, vectors: Array, k: int, *, prior: Array | None, n_threads: int
) -> list[list[tuple[int, float]]]:
    """The k rows with the highest cosine to each query plus their prior, as (row, cosine); unit vectors or zero.

    Zero rows are nobody's neighbours, and zero queries have none.
    """
    usable: Array = np.any(vectors != 0, axis=1)
    # One more column adds the prior; no sum of a usable row is as low as that of the others.
    column = np.zeros(len(vectors)) if prior is None else prior
    column = np.where(usable, column, column.min() - 4)
    left, right = (
        np.ascontiguousarray(np.column_stack([x, y]), np.float32)
        for x, y in ((queries, np.ones(len(queries))), (vectors, column))
    )
    best = _core.top_k(left, right, min(k, len(vectors)), "inner_product", n_threads)
    found = []
    for query, rows in zip(queries, best.indices, strict=True):
        near = rows[usable[rows]] if query.any() else rows[:0]
        found.append(list(zip(near.tolist(), cosines(query[None], vectors[near])[0].tolist(), strict=True)))
    return found


def of_words(scores: Array, a: str | Sequence[str], b: str | Sequence[str]) -> Any:
    """Drop the axis of a single word from a matrix of scores; a float if both are single words."""
    if isinstance(b, str):
        scores = scores[:, 0]
    if isinstance(a, str):
        scores = scores[0]
    return scores if np.ndim(scores) else float(scores)


class WordModel(Persistent, BaseEstimator):  # type: ignore[misc]
    """A model of the words of a thesaurus: it finds them, and saves them."""

    words_: list[str]
    vocabulary_: dict[str, int]
    word_vectors_: Any
    _words_required = True

    def __contains__(self, word: object) -> bool:
        check_is_fitted(self, "vocabulary_")
        return find_word(self.vocabulary_, word) is not None

    def _set_words(self, words: Sequence[str]) -> None:
        self.words_ = list(words)
        self.vocabulary_ = {word: place for place, word in enumerate(self.words_)}

    def _places(self, words: str | Sequence[str], name: str, unknown: str = "error") -> list[int]:
        """The numbers of words, or of one word. Unknown words of a sequence may be skipped."""
        check_choice(unknown, "unknown", UNKNOWN)
        refuse_no_words(words, name)
        places = []
        for word in [words] if isinstance(words, str) else words:
            place = find_word(self.vocabulary_, word)
            if place is not None:
                places.append(place)
            elif unknown == "error" or isinstance(words, str):
                raise UnknownWordError(f"{name}: {word!r} is not in the thesaurus")
        return places

    def _get_state(self) -> dict[str, Array]:
        if not hasattr(self, "words_"):
            return super()._get_state()
        words, offsets = pack_strings(self.words_)
        return {**super()._get_state(), "words": words, "word_offsets": offsets}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        if "words" not in arrays and not self._words_required:
            super()._set_state(arrays, scalars)
            return
        arrays = dict(arrays)
        words = unpack_strings(arrays.pop("words"), arrays.pop("word_offsets"))
        super()._set_state(arrays, scalars)
        self._set_words(words)
        if not len(self.vocabulary_) == len(words) == len(self.word_vectors_):
            raise ValueError(f"words: expected {len(self.word_vectors_)} different ones, got {len(words)}")


class SimilarityModel(WordModel):
    """A model that says how similar two words are. Subclasses define it for numbers of words."""

    def similarity(self, a: str | Sequence[str], b: str | Sequence[str], *, unknown: str = "error") -> Any:
        """How similar each word of `a` is to each of `b`: near 1 for synonyms, near -1 for antonyms.

        Parameters
        ----------
        a, b : str or sequence of str
        unknown : {"error", "skip"}, default "error"
            Words that the thesaurus lacks raise `UnknownWordError`, or get no row or column in the result.

        Returns
        -------
        float, or array of shape (len(a), len(b)) without the axis of a single word
        """
        check_is_fitted(self, "vocabulary_")
        rows, columns = self._places(a, "a", unknown), self._places(b, "b", unknown)
        return of_words(self._similarity(rows, columns), a, b)

    def _similarity(self, rows: list[int], columns: list[int]) -> Array:
        raise NotImplementedError
