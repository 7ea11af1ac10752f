"""BPTF of the words of a thesaurus: its relations as slices, and what is asked by words."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._common.resources import half_of_memory, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_integer
from .._common.words import WordModel
from ..thesaurus import Thesaurus
from ._chain import apply
from ._metric import check_word_numbers
from ._slices import zeros_of_slices

_POLES = ("synonym", "antonym")  # of one slice
_BYTES_OF_A_PAIR, _MANY = 40, 1e6  # while pairs are found; so many never matter


def slices_of(
    thesaurus: Thesaurus, zeros: Any, asymmetric: Sequence[int]
) -> tuple[list[str], list[str], list[Any]]:
    """Names of relations, words that are in any, and the slices of these words.

    Words are related as `Thesaurus.related` has it: those of an entry to its synonyms, its antonyms and so on.
    """
    given = thesaurus.relations
    relations = [*(name for name in _POLES if name in given), *(name for name in given if name not in _POLES)]
    if "synonym" not in given:
        what = "expected the relation 'synonym', which has the words of entries"
        raise ValueError(f"thesaurus: {what}, got {', '.join(map(repr, relations)) or 'none'}")
    names = [name for name in relations if name != "antonym"]
    cells = [_pairs(thesaurus, name, symmetric=k not in asymmetric) for k, name in enumerate(names)]
    if "antonym" in given:
        opposed = _pairs(thesaurus, "antonym", symmetric=0 not in asymmetric)
        cells[0] = cells[0] - cells[0].multiply(opposed) - opposed  # what is said to be both is an antonym
    related = sum(abs(each) for each in cells)
    used = np.flatnonzero(np.asarray((related + related.T).sum(axis=0)).ravel())
    if len(used) == 0:
        raise ValueError("thesaurus: no two words are related")
    for name, each, share in zip(names, cells, zeros_of_slices(zeros, [False] * len(cells)), strict=True):
        if share == 0 and not (each.data < 0).any():
            what = f"{name!r} has only words that are related, by which all would be"
            raise ValueError(f"zeros: {what}; expected a number above 0, or a thesaurus.select of other relations")
    return relations, [thesaurus.words[i] for i in used], [each.tocsr()[used][:, used] for each in cells]


def _pairs(thesaurus: Thesaurus, relation: str, *, symmetric: bool) -> Any:
    """Ones for pairs of words that are in a relation, but for a word with itself."""
    entries, related = (_ones(thesaurus[name]) for name in ("synonym", relation))
    n_pairs = float(np.diff(entries.indptr).astype(np.float64) @ np.diff(related.indptr))
    if n_pairs > _MANY and n_pairs * _BYTES_OF_A_PAIR > half_of_memory():
        raise MemoryError(
            f"thesaurus: {relation!r} has {n_pairs:.0f} pairs of words, more than there is memory for"
        )
    pairs = (entries.T @ related).tocsr()
    pairs = _ones(pairs + pairs.T if symmetric else pairs)
    pairs.setdiag(0)
    pairs.eliminate_zeros()
    return pairs


def _ones(matrix: Any) -> Any:
    found = matrix.copy()
    found.data = np.ones_like(found.data)
    return found


class RelatedWords(WordModel):
    """What a BPTF of a thesaurus knows by words. One of slices without words is asked by numbers."""

    _words_required = False
    relations_: list[str] | None
    samples_: Array
    perspective_samples_: Array

    def most_similar(self, words: str | Sequence[str], k: int = 10, *, unknown: str = "error") -> Any:
        """The k words that a word, or each of several, most likely is a synonym of; never the word itself.

        Parameters
        ----------
        words : str or sequence of str
            Of the thesaurus that the model was fitted on.
        k : int, default 10
            Fewer if there are not so many other words.
        unknown : {"error", "skip"}, default "error"
            Words that the model lacks raise `UnknownWordError`, or are left out of a sequence.

        Returns
        -------
        list of (word, prediction), best first; a list of such lists for a sequence of words
        """
        return self._nearest(words, k, "synonym", unknown)

    def most_opposite(self, words: str | Sequence[str], k: int = 10, *, unknown: str = "error") -> Any:
        """The k words that a word most likely is an antonym of; otherwise like `most_similar`."""
        return self._nearest(words, k, "antonym", unknown)

    def predict(self, i: Any, j: Any, slice: int | str = 0, *, return_std: bool = False) -> Any:
        raise NotImplementedError

    def _nearest(self, words: str | Sequence[str], k: int, relation: str, unknown: str) -> Any:
        check_is_fitted(self, "samples_")
        k = check_integer(k, "k", low=1)
        number, sign = self._slice_number(relation)
        places = self._places(words, "words", unknown)
        scores = sign * self._scores(places, number)
        found = []
        for place, row in zip(places, scores, strict=True):
            row[place] = -np.inf
            best = np.argsort(-row, kind="stable")[: min(k, len(row) - 1)]
            values = self.predict(place, best, relation)
            order = np.argsort(-values, kind="stable")
            found.append([(self.words_[best[i]], float(values[i])) for i in order])
        return found[0] if isinstance(words, str) else found

    @single_threaded_blas()
    def _scores(self, places: list[int], number: int) -> Array:
        """Predictions for some words with all, of shape (words, all words)."""
        total = np.zeros((len(places), self.samples_.shape[1]))
        for m, V in enumerate(self.samples_):
            perspective, matrix = self._perspective(m, number)
            total += apply(V[places], perspective, None if matrix is None else matrix.T) @ V.T
        return total / len(self.samples_)

    def _perspective(self, draw: int, number: int) -> tuple[Array, Array | None]:
        raise NotImplementedError

    def _places(self, words: str | Sequence[str], name: str, unknown: str = "error") -> list[int]:
        if getattr(self, "relations_", None) is None:
            raise ValueError(
                f"{name}: expected numbers, as the model was fitted on slices without words; fit it on a Thesaurus"
            )
        return super()._places(words, name, unknown)

    def __contains__(self, word: object) -> bool:
        check_is_fitted(self, "samples_")
        return getattr(self, "relations_", None) is not None and super().__contains__(word)

    def _numbers(self, words: Any, name: str) -> Array:
        """Numbers of words, given as such or as words."""
        if isinstance(words, str):
            return np.array(self._places(words, name)[0])
        several = isinstance(words, (list, tuple)) or (isinstance(words, np.ndarray) and words.ndim == 1)
        if several and len(words) and isinstance(words[0], str):
            return np.array(self._places(list(words), name))
        return check_word_numbers(words, name, self.samples_.shape[1])

    def _slice_number(self, slice: int | str) -> tuple[int, int]:
        """The number of a slice, and -1 if it is asked for its other pole, antonyms instead of synonyms."""
        if not isinstance(slice, str):
            return check_integer(slice, "slice", low=0, high=self.perspective_samples_.shape[1] - 1), 1
        names = getattr(self, "relations_", None) or []
        if slice not in names:
            known = ", ".join(map(repr, names)) or "none, as it was fitted on slices without names"
            raise ValueError(f"slice: expected a relation of the model ({known}), got {slice!r}")
        if slice == "antonym":
            return 0, -1
        return [name for name in names if name != "antonym"].index(slice), 1

    def _set_thesaurus(self, relations: list[str] | None, words: list[str] | None) -> None:
        """Remember the words of the slices, or that they have none."""
        self.relations_ = relations
        if words is not None:
            self._set_words(words)
        else:
            for name in ("words_", "vocabulary_"):
                self.__dict__.pop(name, None)

    def _names(self) -> dict[str, Any]:
        """Copies of the names, for a model of their own."""
        names = ("relations_", "words_", "vocabulary_")
        return {name: copy(getattr(self, name)) for name in names if hasattr(self, name)}

    def _check_words(self, n_slices: int) -> None:
        """Whether words and relations of a file belong to its slices."""
        names = getattr(self, "relations_", None)
        self.relations_ = names
        if (names is None) != (not hasattr(self, "words_")):
            raise ValueError("relations_: expected them with words, and only with words")
        if names is not None and (
            not isinstance(names, list)
            or not all(isinstance(name, str) for name in names)
            or len(set(names)) != len(names)
            or "synonym" not in names
            or len([name for name in names if name != "antonym"]) != n_slices
        ):
            raise ValueError("relations_: expected a name for each slice")


def check_new_words(words: Sequence[str] | None, model: RelatedWords, count: int) -> list[str] | None:
    """Names of words that are added to a model, which has names for all words or for none."""
    if getattr(model, "relations_", None) is None:
        if words is not None:
            raise ValueError("words: expected None, as the known words have no names")
        return None
    if words is None or isinstance(words, str) or len(words) != count:
        raise ValueError(f"words: expected the names of {count} new words, got {words!r:.60}")
    known = next((word for word in words if word in model.vocabulary_), None)
    if known is not None or len(set(words)) != count:
        raise ValueError(f"words: expected new and different ones, got {known or list(words)!r:.60}")
    return [*model.words_, *words]
