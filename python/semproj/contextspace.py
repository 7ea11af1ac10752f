"""Word vectors from the words around them in a corpus, or from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse as sp

from . import _core
from ._common.layouts import check_arrays, check_numbers
from ._common.persistence import Persistent, pack_strings, unpack_strings
from ._common.resources import resolve_threads
from ._common.types import Array
from ._common.validation import check_finite, check_integer, core_csr, scipy_csr
from .lsa import LSA
from .text import Document, TermCounter, iter_batches
from .weighting import TermWeighting, TfIdf

__all__ = ["ContextSpace", "count_contexts"]

_CHUNK = 1 << 20  # how many words a product has, about
_SAVED = {
    "words": "u1 TEXT",
    "word_offsets": "i8 offsets",
    "vectors": "f4 words k",
}


class ContextSpace(Persistent):
    """Word vectors that are near, by cosine, if the words occur in similar contexts.

    Parameters
    ----------
    words : sequence of str
        All different.
    vectors : array-like of shape (n_words, n_components)
        Finite numbers; kept as float32.

    Attributes
    ----------
    words : list of str
    vectors : float32 array
    vocabulary : dict of str to int
        The row of each word.

    Examples
    --------
    >>> from semproj.contextspace import ContextSpace
    >>> texts = ["hot soup burns", "cold soup chills", "hot tea burns", "cold tea chills"]
    >>> space = ContextSpace.from_corpus(texts, n_components=2, random_state=0)
    >>> space.vectors.shape
    (6, 2)
    """

    def __init__(self, words: Sequence[str], vectors: npt.ArrayLike) -> None:
        self.words = list(words)
        self.vectors, self.vocabulary = check_words(self.words, vectors, np.float32)

    @classmethod
    def from_corpus(
        cls,
        documents: Iterable[Document],
        *,
        n_components: int = 300,
        window: int = 10,
        min_count: int = 1,
        max_words: int | None = None,
        max_contexts: int | None = 20000,
        weighting: TermWeighting | None = None,
        lowercase: bool = True,
        random_state: Any = 0,
        n_threads: int | None = None,
    ) -> ContextSpace:
        """Learn vectors from a corpus (Yih, Zweig and Platt 2012, section 6.2.1).

        All words within `window` words of any occurrence of a word make up its bag of words. Bags are weighted,
        scaled to unit length, and projected by LSA.

        Parameters
        ----------
        documents : iterable of str, bytes or lists of str
            Read twice, so an iterator will not do. Windows end where documents end.
        n_components : int, default 300
            Fewer if there are fewer words or contexts.
        window : int, default 10
            How many words to the left and to the right count.
        min_count : int, default 1
            Words that occur less often have no vector, but keep their places in the windows.
        max_words : int or None, default None
            Only so many of the most frequent words have a vector.
        max_contexts : int or None, default 20000
            Bags count only so many of the most frequent words. This bounds the cost of LSA.
        weighting : TermWeighting or None, default None
            How to weight the bags; None stands for `TfIdf`.
        lowercase : bool, default True
        random_state : int, NumPy generator or None, default 0
        n_threads : int or None

        Returns
        -------
        ContextSpace
            A word with no others around it has the zero vector.
        """
        window = check_integer(window, "window", low=1)
        n_components = check_integer(n_components, "n_components", low=1)
        if max_contexts is not None:
            max_contexts = check_integer(max_contexts, "max_contexts", low=1)
        counter = TermCounter(
            min_count=min_count, max_features=max_words, lowercase=lowercase, n_threads=n_threads
        )
        counts = count_contexts(documents, counter, window=window)[:, :max_contexts]
        rows = (TfIdf(n_threads) if weighting is None else weighting).fit_transform(counts.astype(np.float32))
        _scale_to_unit_length(rows)
        rank = min(n_components, *rows.shape)
        if rows.nnz == 0 or not rows.data.any():
            raise ValueError("documents: no two words are within one window, or all words share all contexts")
        lsa = LSA(rank, random_state=random_state, n_threads=n_threads)
        return cls(counter.get_feature_names_out().tolist(), lsa.fit_transform(rows))

    @classmethod
    def _blank(cls, **parameters: Any) -> ContextSpace:
        return cls.__new__(cls)  # words and vectors are not parameters

    def _check_saveable(self) -> None:
        pass

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {}

    def _get_state(self) -> dict[str, Array]:
        words, offsets = pack_strings(self.words)
        return {"words": words, "word_offsets": offsets, "vectors": self.vectors}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        check_numbers({}, scalars, check_arrays(_SAVED, arrays))
        self.words = unpack_strings(arrays["words"], arrays["word_offsets"])
        self.vectors, self.vocabulary = check_words(self.words, arrays["vectors"], np.float32, copy=False)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary


def count_contexts(documents: Iterable[Document], counter: TermCounter, *, window: int = 10) -> sp.csr_matrix:
    """Count how often words occur within `window` words of each other.

    Parameters
    ----------
    documents : iterable of str, bytes or lists of str
        Read twice.
    counter : TermCounter
        It counts single words, and is fitted here. Words without a column keep their places.
    window : int, default 10

    Returns
    -------
    csr_matrix of float64, shape (n_words, n_words)
        Symmetric; two occurrences of the same word count for each other.

    Notes
    -----
    Occurrences are multiplied by the words to their right, as sparse matrices, a million words at a time. Each
    word takes some 20 bytes for every place of the window. A few million words take seconds.

    Examples
    --------
    >>> from semproj.contextspace import count_contexts
    >>> from semproj.text import TermCounter
    >>> counter = TermCounter()
    >>> count_contexts(["a b a", "a c"], counter, window=1).toarray()
    array([[0., 2., 1.],
           [2., 0., 0.],
           [1., 0., 0.]])
    >>> counter.get_feature_names_out()
    array(['a', 'b', 'c'], dtype=object)
    """
    window = check_integer(window, "window", low=1)
    if counter.ngram_range != (1, 1):
        raise ValueError(f"counter: expected ngram_range=(1, 1), got {counter.ngram_range}")
    if isinstance(documents, Iterator):
        raise TypeError("documents: expected a collection that can be read twice, got an iterator; pass a list")
    counter.fit(documents)
    n_words = len(counter.get_feature_names_out())
    right = sp.csr_matrix((n_words, n_words))
    for chunk in _chunks(documents, counter):
        right = right + _right_contexts(chunk, n_words, window, resolve_threads(counter.n_threads))
    both = (right + right.T).tocsr()
    both.sort_indices()
    return both


def _chunks(documents: Iterable[Document], counter: TermCounter) -> Iterator[_core.WordSequences]:
    """Yield the columns of the documents' words in order; documents are never cut."""
    options, number = {"n_threads": resolve_threads(counter.n_threads), **counter._reading()}, 0
    for batch in iter_batches(documents, max_characters=6 * _CHUNK):
        yield counter._fitted().sequences(batch, first_document_number=number, **options)
        number += len(batch)


def _right_contexts(chunk: _core.WordSequences, n_words: int, window: int, threads: int) -> sp.csr_matrix:
    """Count pairs of a word and one up to `window` places to its right, in the same document."""
    starts, ids = chunk.starts, chunk.ids
    # A gap after each document keeps windows from reaching into the next.
    places = np.arange(len(ids)) + np.repeat(np.arange(len(starts) - 1) * window, np.diff(starts))
    line = np.full(len(ids) + len(starts) * window, n_words, np.int32)
    line[places] = ids
    places = places[ids < n_words]
    windows = np.lib.stride_tricks.sliding_window_view(line[1:], window)[places]
    known = windows < n_words
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(known, axis=1), dtype=np.int64)])
    ones = np.ones(len(places))  # counts are exact in double
    words = sp.csr_matrix((ones, line[places], np.arange(len(places) + 1)), shape=(len(places), n_words))
    occurrences = core_csr(words.T.tocsr())
    neighbors = windows[known]
    contexts = _core.Csr(indptr, neighbors, np.ones(len(neighbors), np.float32), n_words)
    return scipy_csr(_core.multiply_sparse(occurrences, contexts, threads))


def _scale_to_unit_length(rows: sp.csr_matrix) -> None:
    """Scale rows in place; otherwise the SVD would only see the most frequent words."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    lengths[lengths == 0] = 1
    rows.data /= np.repeat(lengths, np.diff(rows.indptr)).astype(rows.dtype)


def check_words(
    words: list[str], vectors: npt.ArrayLike, dtype: Any, *, copy: bool = True
) -> tuple[Array, dict[str, int]]:
    """Check that there is a vector for each word; return them as a matrix, and the row of each word."""
    rows = np.array(vectors, dtype, order="C") if copy else np.asarray(vectors, dtype, order="C")
    if rows.ndim != 2 or len(rows) != len(words):
        raise ValueError(f"vectors: expected a row for each of the {len(words)} words, got shape {rows.shape}")
    if not len(words):
        raise ValueError("words: expected at least one")
    check_finite(rows, "vectors")
    vocabulary = dict(zip(words, range(len(words)), strict=True))
    if len(vocabulary) != len(words):
        raise ValueError("words: expected different words, got some twice")
    return rows, vocabulary
