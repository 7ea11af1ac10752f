"""Find vectors for words that a word space lacks, from words that it has and that are like them.

After Yih, Zweig and Platt 2012, section 6: first by spelling, then by the contexts of words in a corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._common.layouts import check_arrays, check_numbers, layouts, numbers
from ._common.persistence import Persistent, pack_strings, unpack_strings
from ._common.resources import resolve_threads
from ._common.types import Array
from ._common.validation import check_integer, check_real
from ._common.words import cosines, nearest_words, of_words, refuse_no_words
from .contextspace import ContextSpace, check_words
from .retrieval import top_k
from .stem import stem
from .thesaurus import normal_word

__all__ = ["Embedding", "ExtendedWordSpace"]

_JOINTS = re.compile(r"[ _-]+")
_SHORTEST_PART = 4  # of a compound written as one word; shorter ones are too common
_MOST_SUBSETS = 100_000
# The rest of a compound with one of these means the opposite of the whole.
_NEGATIONS = {"anti", "counter", "less", "mis", "no", "non", "not", "un"}


class Embedding(NamedTuple):
    """Vectors of words, and where they come from.

    `rules` has "known", "lemma", "stem", "hyphen", "compound", "context" or "none" for each word, and `matches`
    the words of the space whose centroid is its vector.
    """

    vectors: Array
    rules: list[str]
    matches: list[tuple[str, ...]]


class _NotSaved:
    """Stands for a lemmatizer that a loaded space had, which is code and not in its file."""

    def __call__(self, words: list[str]) -> list[str]:
        write = "space.lemmatizer = semproj.Lemmatizer(wordnet), or None to do without"
        raise ValueError(f"lemmatizer: is not saved with a space; write {write}")


class ExtendedWordSpace(Persistent):
    """A space of word vectors that finds vectors for other words, too.

    The vector of a word is the centroid, scaled to unit length, of the words that the first of these rules finds:

    known
        The word itself, as `normal_word` spells it: case does not matter, and underscores count as spaces.
    lemma
        Its lemma.
    stem
        Words with the Porter stem of the word or of its lemma: "corruptible", "corruption" for "corruptibility".
    hyphen
        Words that differ only in hyphens and spaces.
    compound
        Words joined by hyphens or spaces that contain it; else its own parts, if the space has them all and none
        of them negates. If the context does not help either, a word is cut into two words of four letters or more,
        as evenly as possible.
    context
        Its `n_neighbors` nearest words in the context space, among those that this space has; of these, the
        `n_consistent` words that are all positively similar to each other in this space, so that antonyms, which
        share contexts, are not mixed. Of several such sets, the one with the largest sum of context similarities
        is taken. If there is none, smaller sets are tried, down to the nearest neighbor alone.
    none
        Nothing was found; the vector is zero.

    The rules ignore words whose vector is zero, and centroids that are zero.

    Parameters
    ----------
    words : sequence of str
        All different, and spelt as `normal_word` spells them, like those of a `Thesaurus`.
    vectors : array-like of shape (n_words, n_components)
        Their cosine is the similarity.
    lemmatizer : callable or None, default None
        Returns the lemmas of a list of words, as `Lemmatizer` does. Without it, the rule "lemma" is not used. It
        is not saved: set the attribute of a space that was loaded.
    context : ContextSpace or None, default None
        Without it, the rule "context" is not used.
    n_neighbors : int, default 10
    n_consistent : int, default 3
    entry_counts : array-like of shape (n_words,) or None, default None
        How common words are, as `PILSA.entry_counts_` says: for the order of `most_similar` and `most_opposite`.
    n_threads : int or None

    Attributes
    ----------
    words : list of str
    vectors : array of shape (n_words, n_components)
        They have unit length, or are zero.
    vocabulary : dict of str to int

    Notes
    -----
    ``save`` writes words, vectors and the context space to a file that :func:`semproj.load` reads.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.contextspace import ContextSpace
    >>> from semproj.oov import ExtendedWordSpace
    >>> words = ["hot", "burning", "scorching", "cold", "corruptible"]
    >>> vectors = np.array([[1, 0.1], [1, 0], [1, 0.2], [-1, 0], [0, 1]])
    >>> heat = ContextSpace(["sweltering", *words[:4]], [[1, 0], [3, 1], [3, 2], [3, 2], [4, 1]])
    >>> space = ExtendedWordSpace(words, vectors, context=heat)
    >>> found = space.embed(["corruptibility", "sweltering", "xyzzy"])
    >>> list(zip(found.rules, found.matches))
    [('stem', ('corruptible',)), ('context', ('hot', 'burning', 'scorching')), ('none', ())]
    >>> round(space.similarity("sweltering", "Cold"), 2)
    -1.0
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: npt.ArrayLike,
        *,
        lemmatizer: Callable[[list[str]], list[str]] | None = None,
        context: ContextSpace | None = None,
        n_neighbors: int = 10,
        n_consistent: int = 3,
        entry_counts: npt.ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.words = list(words)
        dtype = np.float64 if np.asarray(vectors).dtype == np.float64 else np.float32
        self.vectors, self.vocabulary = check_words(self.words, vectors, dtype)
        self._usable = _make_unit(self.vectors)
        self.lemmatizer, self.context, self.n_threads = lemmatizer, context, n_threads
        self._set_options(n_neighbors, n_consistent, entry_counts)

    def _set_options(self, n_neighbors: int, n_consistent: int, entry_counts: npt.ArrayLike | None) -> None:
        self.n_neighbors = check_integer(n_neighbors, "n_neighbors", low=1)
        self.n_consistent = check_integer(n_consistent, "n_consistent", low=1, high=self.n_neighbors)
        if comb(self.n_neighbors, self.n_consistent) > _MOST_SUBSETS:
            raise ValueError(
                f"n_consistent: expected at most {_MOST_SUBSETS} subsets of n_neighbors={n_neighbors}, "
                f"got {comb(self.n_neighbors, self.n_consistent)} of {n_consistent}"
            )
        self.entry_counts = None if entry_counts is None else np.asarray(entry_counts, np.float64)
        if self.entry_counts is not None and (
            self.entry_counts.shape != (len(self.words),) or not (self.entry_counts >= 0).all()
        ):
            raise ValueError("entry_counts: expected a number of at least 0 for each word")

    _arrays = layouts(
        words="u1 BYTES", word_offsets="i8 offsets", vectors="T words components", entry_counts="f8 words ?"
    )
    _scalars = numbers(n_neighbors=int, n_consistent=int, n_threads=None, lemmatized=bool)
    _parts = ("context",)

    @classmethod
    def _blank(cls, *, context: Any = None, **parameters: Any) -> ExtendedWordSpace:
        if context is not None and not isinstance(context, ContextSpace):
            raise ValueError(f"context: expected a ContextSpace, got {type(context).__name__}")
        space = cls.__new__(cls)
        space.context = context
        return space

    def _check_saveable(self) -> None:
        pass

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {}

    def _get_state(self) -> dict[str, Array]:
        words, offsets = pack_strings(self.words)
        state = {"words": words, "word_offsets": offsets, "vectors": self.vectors}
        return state if self.entry_counts is None else {**state, "entry_counts": self.entry_counts}

    def _get_scalars(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in ("n_neighbors", "n_consistent", "n_threads")}
        return {**options, "lemmatized": self.lemmatizer is not None}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        check_numbers(self._scalars, scalars, check_arrays(self._arrays, arrays))
        vectors = arrays["vectors"]
        self.words = unpack_strings(arrays["words"], arrays["word_offsets"])
        self.vectors, self.vocabulary = check_words(self.words, vectors, vectors.dtype, copy=False)
        self._usable = np.asarray(self.vectors.any(axis=1))
        self.n_threads = scalars["n_threads"]
        resolve_threads(self.n_threads)
        self._set_options(scalars["n_neighbors"], scalars["n_consistent"], arrays.get("entry_counts"))
        self.lemmatizer = _NotSaved() if scalars["lemmatized"] else None

    def embed(self, words: Iterable[str]) -> Embedding:
        """Return the vectors of any words, and the rule that gave each.

        Parameters
        ----------
        words : iterable of str

        Returns
        -------
        Embedding
        """
        if isinstance(words, str):
            raise TypeError("words: expected a list of words, got a str")
        refuse_no_words(words, "words")
        words = list(words)
        if wrong := [word for word in words if not isinstance(word, str)]:
            raise TypeError(f"words: expected words, got {wrong[0]!r}")
        asked = [normal_word(word) for word in words]
        lemmas = asked if self.lemmatizer is None else self.lemmatizer(asked)
        vectors = np.zeros((len(asked), self.vectors.shape[1]), self.vectors.dtype)
        rules, found = ["none"] * len(asked), [[] for _ in asked]  # type: list[str], list[list[int]]
        left = []
        for i, (word, lemma) in enumerate(zip(asked, lemmas, strict=True)):
            for rule, rows in self._by_spelling(word, lemma):
                if self._set_centroid(vectors[i], rows):
                    rules[i], found[i] = rule, rows
                    break
            else:
                left.append(i)
        for i, rows in zip(left, self._by_context([(asked[i], lemmas[i]) for i in left]), strict=True):
            for rule, some in (("context", rows), ("compound", self._halves(asked[i]))):
                if rules[i] == "none" and self._set_centroid(vectors[i], some):
                    rules[i], found[i] = rule, some
        return Embedding(vectors, rules, [tuple(self.words[row] for row in rows) for rows in found])

    def __contains__(self, word: object) -> bool:
        """Return whether some rule finds a vector."""
        return isinstance(word, str) and self.embed([word]).rules != ["none"]

    def similarity(self, a: str | Sequence[str], b: str | Sequence[str]) -> Any:
        """Return the cosine of each word of `a` with each of `b`; 0 where no rule finds a vector.

        Parameters
        ----------
        a, b : str or sequence of str

        Returns
        -------
        float, or array of shape (len(a), len(b)) without the axis of a single word
        """
        left, right = (self.embed([each] if isinstance(each, str) else each).vectors for each in (a, b))
        return of_words(cosines(left, right), a, b)

    def most_similar(self, words: str | Sequence[str], k: int = 10, *, commonness: float = 0.0) -> Any:
        """Return the k words of the space with the highest cosine to a word, or to each of several; never itself.

        Parameters
        ----------
        words : str or sequence of str
            Any words: those that no rule finds a vector for have no neighbours.
        k : int, default 10
        commonness : float, at least 0, default 0
            As in `PILSA.most_similar`; needs `entry_counts`.

        Returns
        -------
        list of (word, cosine), best first; a list of such lists for a sequence of words
        """
        return self._nearest(words, k, 1, commonness)

    def most_opposite(self, words: str | Sequence[str], k: int = 10, *, commonness: float = 0.1) -> Any:
        """Return the k words with the lowest cosine to a word; otherwise like `most_similar`."""
        return self._nearest(words, k, -1, commonness)

    def _nearest(self, words: str | Sequence[str], k: int, sign: int, commonness: float) -> Any:
        k = check_integer(k, "k", low=1)
        commonness = check_real(commonness, "commonness", low=0)
        refuse_no_words(words, "words")
        asked = [words] if isinstance(words, str) else list(words)
        rows = nearest_words(
            sign * self.embed(asked).vectors,
            self.vectors,
            k + 1,
            prior=None if self.entry_counts is None else commonness * np.log1p(self.entry_counts),
            n_threads=resolve_threads(self.n_threads),
        )
        found = []
        for word, near in zip(asked, rows, strict=True):
            own = self.vocabulary.get(normal_word(word))
            found.append([(self.words[i], sign * cosine) for i, cosine in near if i != own][:k])
        return found[0] if isinstance(words, str) else found

    def _by_spelling(self, word: str, lemma: str) -> Iterator[tuple[str, list[int]]]:
        """Yield rules in order, with the rows that each finds; a rule only runs if those before it have failed."""
        yield "known", self._rows([word])
        yield "lemma", self._rows([lemma])
        stems = dict.fromkeys(stem(each) for each in (word, lemma) if not _JOINTS.search(each))
        yield "stem", [row for each in stems for row in self._stems.get(each, ())]
        yield "hyphen", self._spellings.get(_JOINTS.sub("", word), [])
        yield "compound", self._compounds.get(word, [])
        yield "compound", self._joined(word)

    def _joined(self, word: str) -> list[int]:
        """Return the rows of the parts of a word joined by hyphens or spaces, if all of them are known."""
        parts = [part for part in _JOINTS.split(word) if part]
        rows = self._rows(parts)
        return rows if len(rows) == len(parts) and not _NEGATIONS.intersection(parts) else []

    def _halves(self, word: str) -> list[int]:
        """Return the rows of two words that make up one. This comes last: "regrettable" is not about a table."""
        cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
        halves = (
            self._rows([word[:cut], word[cut:]]) for cut in sorted(cuts, key=lambda cut: abs(2 * cut - len(word)))
        )
        return next((rows for rows in halves if len(rows) == 2), [])

    def _rows(self, words: Iterable[str]) -> list[int]:
        """Return the rows of those words that the space has."""
        rows = (self.vocabulary.get(word, -1) for word in words)
        return [row for row in rows if row >= 0 and self._usable[row]]

    @cached_property
    def _stems(self) -> dict[str, list[int]]:
        return self._index(lambda word: [] if _JOINTS.search(word) else [stem(word)])

    @cached_property
    def _spellings(self) -> dict[str, list[int]]:
        return self._index(lambda word: [_JOINTS.sub("", word)])

    @cached_property
    def _compounds(self) -> dict[str, list[int]]:
        return self._index(lambda word: set(_JOINTS.split(word)) if _JOINTS.search(word) else ())

    def _index(self, keys: Callable[[str], Iterable[str]]) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        for row in np.flatnonzero(self._usable).tolist():
            for key in keys(self.words[row]):
                index.setdefault(key, []).append(row)
        return index

    def _set_centroid(self, vector: Array, rows: list[int]) -> bool:
        """Write the centroid of these rows, scaled to unit length; return False if there is none."""
        if not rows:
            return False
        centroid = self.vectors[rows].mean(axis=0, dtype=np.float64)
        length = np.linalg.norm(centroid)
        if length < 1e-6:  # opposites cancel
            return False
        vector[:] = centroid / length
        return True

    def _by_context(self, words: list[tuple[str, str]]) -> list[list[int]]:
        """Find the consistent neighbors of each word, or of its lemma if the context space has only that."""
        found: list[list[int]] = [[] for _ in words]
        if self.context is None:
            return found
        known = self.context.vocabulary
        rows = np.array([known.get(word, known.get(lemma, -1)) for word, lemma in words], np.int64)
        own, shared = self._shared
        asked = np.flatnonzero(rows >= 0)
        asked = asked[self.context.vectors[rows[asked]].any(axis=1)]
        if not len(asked) or not len(own):
            return found
        corpus = self.context.vectors[shared]
        k = min(self.n_neighbors, len(own))
        ids, similarities = top_k(self.context.vectors[rows[asked]], corpus, k, n_threads=self.n_threads)
        for i, near, near_similarities in zip(asked, own[ids], similarities, strict=True):
            found[i] = near[self._consistent(self.vectors[near], near_similarities)].tolist()
        return found

    @cached_property
    def _shared(self) -> tuple[Array, Array]:
        """The rows of words that both spaces have vectors for, in this space and in the context space."""
        assert self.context is not None
        known = self.context.vocabulary
        pairs = [
            (row, known[word])
            for row, word in enumerate(self.words)
            if self._usable[row] and word in known and self.context.vectors[known[word]].any()
        ]
        own, shared = np.array(pairs, np.int64).reshape(-1, 2).T
        return own, shared

    def _consistent(self, vectors: Array, similarities: Array) -> Array:
        """Choose the neighbors that are all positively similar to each other, and nearest in sum."""
        positive = np.einsum("ik,jk->ij", vectors, vectors) > 0
        for size in range(min(self.n_consistent, len(vectors)), 1, -1):
            subsets = np.array(list(combinations(range(len(vectors)), size)))
            agree = np.ones(len(subsets), bool)
            for first, second in combinations(range(size), 2):
                agree &= positive[subsets[:, first], subsets[:, second]]
            if agree.any():
                sums = similarities[subsets].astype(np.float64).sum(axis=1)
                best: Array = subsets[np.argmax(np.where(agree, sums, -np.inf))]
                return best
        return np.zeros(1, np.int64)


def _make_unit(vectors: Array) -> Array:
    """Scale rows to unit length in place; return which of them are not zero."""
    lengths = np.linalg.norm(vectors.astype(np.float64, copy=False), axis=1)
    usable: Array = lengths > 0
    vectors /= np.where(usable, lengths, 1)[:, None].astype(vectors.dtype)
    return usable
