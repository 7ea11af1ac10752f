"""Latent semantic analysis of sentences, and how similar an option is to the words around the blank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._common.layouts import layouts
from .._common.persistence import check_strings, pack_strings, saveable, unpack_strings
from .._common.types import Array
from .._common.validation import check_choice, check_integer, check_real, keeps_previous_fit
from ..lsa import LSA
from ..weighting import TfIdf
from ._index import SentenceIndex, as_index, check_fitted
from ._method import CompletionMethod
from ._questions import CompletionQuestion, as_question

CONTEXT_WEIGHTS = ("idf", "none")


@saveable
class LSASimilarity(CompletionMethod):
    """Total cosine of an option and the words around the blank, of vectors by latent semantic analysis.

    Section 4.1 of Zweig, Platt, Meek, Burges, Yessenalina and Liu 2012. Sentences are documents, weighted by
    tf-idf. A word's vector is its row of ``U S^power``. The paper's recipe is ``power=1, context_weight="none"``;
    there the first components, which frequent words share, hide the others. The defaults weaken them.

    Parameters
    ----------
    n_components : int, default 300
    power : float, default 0
        Of the singular values. 1 keeps the lengths of LSA, 0 gives all components the same weight.
    drop_first : int, default 0
        Leave out so many of the first components.
    context_weight : {"idf", "none"}, default "idf"
        Cosines are weighted by the idf of the word around the blank.
    stop_words : int, default 0
        So many of the most frequent words are left out around the blank.
    max_words : int, default 50000
        So many of the most frequent words have a vector; punctuation has none.
    min_count : int, default 3
        Rarer words have none. An index that is given has its own.
    random_state : int, NumPy generator or None, default 0
    n_threads : int or None

    Attributes
    ----------
    words_ : list of str
        Those with a vector.
    components_ : float32 array of shape (n_components, n_words)
    singular_values_ : float32 array of shape (n_components,)
    idf_ : float64 array of shape (n_words,)
        To base 2.

    Examples
    --------
    >>> from semproj.completion import LSASimilarity
    >>> sentences = ["the cat drank milk", "a cat drank", "a man read news", "the man read"] * 3
    >>> method = LSASimilarity(2).fit(sentences)
    >>> method.scores("the cat _____ milk", ["drank", "read"]).round(1)
    array([4. , 0.1])
    >>> method.input_names
    ('total', 'cosine', 'unknown')
    """

    _arrays = layouts(
        components_="f4 k words",
        singular_values_="f4 k",
        idf_="f8 words",
        ranks_="i8 words",
        text_="u1 bytes",
        offsets_="i8 ends",
    )

    def __init__(
        self,
        n_components: int = 300,
        *,
        power: float = 0.0,
        drop_first: int = 0,
        context_weight: str = "idf",
        stop_words: int = 0,
        max_words: int = 50000,
        min_count: int = 3,
        random_state: Any = 0,
        n_threads: int | None = None,
    ) -> None:
        self.n_components, self.power, self.drop_first = n_components, power, drop_first
        self.context_weight, self.stop_words = context_weight, stop_words
        self.max_words, self.min_count = max_words, min_count
        self.random_state, self.n_threads = random_state, n_threads

    @keeps_previous_fit
    def fit(self, sentences: Any, y: Any = None, *, relevant_to: Iterable[Any] | None = None) -> LSASimilarity:
        """Find the vectors.

        Parameters
        ----------
        sentences : iterable of sentences, or SentenceIndex
        relevant_to : iterable of questions, optional
            Learn only from sentences that have a word of an option, and find vectors only of words that are in
            the questions or their options (section 4.4 of the paper).
        """
        self._check_parameters()
        index = as_index(sentences, self.min_count)
        columns = np.flatnonzero(index.is_word)[: self.max_words]
        chosen = None
        if relevant_to is not None:
            columns, chosen = _relevant(index, columns, relevant_to)
        counts = index.counts(columns, chosen)
        counts = counts[np.flatnonzero(np.diff(counts.indptr) > 1)]
        rank = min(self.n_components, *counts.shape)
        if rank < 1:
            raise ValueError("sentences: expected some with two words that are known")
        weighting = TfIdf(self.n_threads).fit(counts)
        model = LSA(rank, random_state=self.random_state, n_threads=self.n_threads)
        model.fit(weighting.transform(counts))
        self.__dict__.pop("_cache", None)
        self.components_ = np.asarray(model.components_, np.float32)
        self.singular_values_ = np.asarray(model.singular_values_, np.float32)
        self.idf_ = np.asarray(weighting.term_weight_, np.float64)
        self.ranks_ = columns.astype(np.int64)
        self.text_, self.offsets_ = pack_strings(index.words_[i] for i in columns)
        return self

    @property
    def input_names(self) -> tuple[str, ...]:
        return ("total", "cosine", "unknown")

    @property
    def words_(self) -> list[str]:
        return list(self._columns())

    def vectors(self) -> Array:
        """The vectors of all words, one a row: ``U S^power`` without the first components."""
        check_fitted(self, "components_")
        found: Array | None = self._cached("vectors")
        if found is None:
            kept = slice(self.drop_first, None)
            # A component whose singular value is 0 is an arbitrary direction.
            values = self.singular_values_[kept].astype(np.float64)
            scales = np.where(values > 0, np.power(np.where(values > 0, values, 1.0), self.power), 0.0)
            found = np.ascontiguousarray((self.components_[kept] * scales[:, None]).T, np.float32)
            self._cache["vectors"] = found
        return found

    def unit_vectors(self) -> Array:
        """The same, each of length 1 or 0."""
        rows = self.vectors()
        found: Array | None = self._cached("unit")
        if found is None:
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            found = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
            self._cache["unit"] = found
        return found

    def _inputs(self, question: CompletionQuestion) -> Array:
        unit, vectors, columns = self.unit_vectors(), self.vectors(), self._columns()
        context = np.array([columns[word] for word in question.context if word in columns], int)
        context = context[self.ranks_[context] >= self.stop_words]
        weights = self.idf_[context] if self.context_weight == "idf" else np.ones(len(context))
        around = weights @ unit[context].astype(np.float64)
        sum_around = (weights[:, None] * vectors[context]).sum(axis=0, dtype=np.float64)
        rows = []
        for option in range(len(question.options)):
            words = question.answer_words(option)
            known = [columns[word] for word in words if word in columns]
            total = float(unit[known].sum(axis=0, dtype=np.float64) @ around)
            answer = vectors[known].sum(axis=0, dtype=np.float64)
            rows.append([total, _cosine(answer, sum_around), float(len(words) - len(known))])
        return np.array(rows)

    def _scores(self, question: CompletionQuestion) -> Array:
        return self._inputs(question)[:, 0]

    def _columns(self) -> dict[str, int]:
        check_fitted(self, "components_")
        found: dict[str, int] | None = self._cached("columns")
        if found is None:
            words = unpack_strings(self.text_, self.offsets_)
            found = self._cache["columns"] = {word: i for i, word in enumerate(words)}
        return found

    def _cached(self, name: str) -> Any:
        """What has been made of the present components with the present parameters."""
        key = (id(self.components_), self.power, self.drop_first)
        if self.__dict__.get("_cache", {}).get("key") != key:
            self._cache: dict[str, Any] = {"key": key}
        return self._cache.get(name)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_cache", None)
        return state

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        check_real(self.power, "power")
        check_integer(self.drop_first, "drop_first", low=0, high=self.n_components - 1)
        check_choice(self.context_weight, "context_weight", CONTEXT_WEIGHTS)
        check_integer(self.stop_words, "stop_words", low=0)
        check_integer(self.max_words, "max_words", low=1)
        check_integer(self.min_count, "min_count", low=1)

    def _check_fitted(self) -> None:
        check_fitted(self, "components_")

    def _restored(self) -> None:
        check_strings(self.text_, self.offsets_)
        if len(self.offsets_) != len(self.idf_) + 1:
            raise ValueError("offsets_: expected one word for each column")
        if not np.isfinite(self.components_).all() or not (np.isfinite(self.singular_values_).all()):
            raise ValueError("components_: expected finite numbers")


def _relevant(index: SentenceIndex, columns: Array, questions: Iterable[Any]) -> tuple[Array, Array]:
    """The words that are in questions, and the sentences that have a word of an option."""
    words: set[int] = set()
    answers: set[int] = set()
    for each in questions:
        question = as_question(each)
        words |= set(index.numbers(question.context))
        for option in range(len(question.options)):
            answers |= set(index.numbers(question.answer_words(option)))
    chosen = np.zeros(index.n_sentences_, bool)
    for answer in answers:
        chosen[index.sentences_with(answer)] = True
    return np.intersect1d(columns, sorted(words | answers)), np.flatnonzero(chosen)


def _cosine(a: Array, b: Array) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 0 else 0.0
