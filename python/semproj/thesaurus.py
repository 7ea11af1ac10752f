"""Thesauri: which words are in which relation to each entry, as sparse matrices.

``thesaurus_readers`` reads them from files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._common.files import Problem
from ._common.persistence import Persistent, pack_csr, pack_strings, unpack_csr, unpack_strings
from ._common.types import Array
from ._common.validation import as_csr, check_choice, check_finite, check_real, without_duplicates
from ._common.words import UnknownWordError, find_word, normal_word

__all__ = ["Problem", "Thesaurus", "UnknownWordError", "normal_word"]

ALIGNMENTS = ("synonyms", "names")


class Thesaurus(Persistent):
    """Entries, and the words that are in some relation to each.

    An entry is a group of synonyms: a synset, or a headword with its synonyms. Each relation is a sparse matrix
    with a row for each entry and a column for each word; the row of "synonym" holds the words of the entry itself.
    PILSA reads "synonym" minus "antonym" as a document-term matrix, MRLSA the relations as a tensor.

    Parameters
    ----------
    words : iterable of str
        Names of the columns, all different.
    entries : iterable of str
        Names of the rows, which may repeat.
    relations : mapping of str to sparse matrix of shape (n_entries, n_words), or None
    problems : iterable of Problem
        What a reader could not read.

    Attributes
    ----------
    words, entries : list of str
    relations : dict of str to csr_matrix of float32
        A value counts the sources that say so; most are 1.
    problems : list of Problem
    vocabulary : dict of str to int
        The column of each word.

    Examples
    --------
    >>> from semproj.thesaurus import Thesaurus
    >>> syn, ant = [[1, 1, 0, 0]], [[0, 0, 1, 1]]
    >>> words = ["acrimony", "rancor", "goodwill", "affection"]
    >>> thesaurus = Thesaurus(words, ["acrimony"], {"synonym": syn, "antonym": ant})
    >>> thesaurus.related("rancor", "antonym")
    ['goodwill', 'affection']
    >>> print(thesaurus.describe())
    1 entry, 4 words
    synonym: 2 in 1 entry
    antonym: 2 in 1 entry
    """

    def __init__(
        self,
        words: Iterable[str] = (),
        entries: Iterable[str] = (),
        relations: Mapping[str, Any] | None = None,
        problems: Iterable[Problem] = (),
    ) -> None:
        self.words = list(words)
        self.entries = list(entries)
        self.problems = list(problems)
        shape = len(self.entries), len(self.words)
        self.relations = {name: _relation(matrix, name, shape) for name, matrix in (relations or {}).items()}
        if len(self.vocabulary) != len(self.words):
            raise ValueError("words: expected different words, got some twice")

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))

    def __getitem__(self, relation: str) -> Any:
        """Return the matrix of a relation."""
        try:
            return self.relations[relation]
        except KeyError:
            known = ", ".join(map(repr, self.relations)) or "none"
            raise KeyError(f"relation: this thesaurus has {known}, got {relation!r}") from None

    def __contains__(self, word: object) -> bool:
        return find_word(self.vocabulary, word) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the relations."""
        return iter(self.relations)

    def __repr__(self) -> str:
        return f"<Thesaurus: {len(self.entries)} entries, {len(self.words)} words, {', '.join(self.relations)}>"

    def describe(self) -> str:
        """Return the sizes as text; the line of a relation has its non-zeros and the entries that have any."""
        lines = [f"{_count(len(self.entries), 'entry')}, {_count(len(self.words), 'word')}"]
        for name, matrix in self.relations.items():
            used = int(np.count_nonzero(np.diff(matrix.indptr)))
            lines.append(f"{name}: {matrix.nnz:,} in {_count(used, 'entry')}")
        if self.problems:
            lines.append(f"{_count(len(self.problems), 'problem')} while reading")
        return "\n".join(lines)

    def related(self, word: str, relation: str) -> list[str]:
        """Return the words in a relation to the entries that have `word` as a synonym, most frequent first."""
        column = find_word(self.vocabulary, word)
        if column is None:
            raise UnknownWordError(f"{word!r} is not in the thesaurus")
        rows = self["synonym"].getcol(column).nonzero()[0]
        counts = np.bincount(self[relation][rows].indices, minlength=len(self.words))
        counts[column] = 0
        order = np.argsort(-counts, kind="stable")
        return [self.words[i] for i in order[: np.count_nonzero(counts)]]

    def select(self, *relations: str) -> Thesaurus:
        """Return a thesaurus with these relations only, but all entries and words; it shares the matrices."""
        return Thesaurus(self.words, self.entries, {name: self[name] for name in relations}, self.problems)

    def merge(self, *others: Thesaurus, align: str | None = None, min_overlap: float = 0.5) -> Thesaurus:
        """Merge thesauri: unite their words, and stack or align their entries.

        Parameters
        ----------
        *others : Thesaurus
        align : {"synonyms", "names"} or None
            None keeps all entries. Otherwise an entry is added to the row of one that is already there, if there
            is one like it, and becomes a new row if not:

            "synonyms"
                The row with the most similar synonyms, by cosine, if that is at least `min_overlap` (Chang, Yih
                and Meek 2013 align the target words of two resources by synonymy).
            "names"
                The first row of the same name.
        min_overlap : float, default 0.5
            Above 0 and at most 1; used for "synonyms".

        Returns
        -------
        Thesaurus
            Values of the same cell are added up. `problems` has those of all.
        """
        if align is not None:
            check_choice(align, "align", ALIGNMENTS)
        check_real(min_overlap, "min_overlap", low=1e-9, high=1)
        merged = self
        for other in others:
            if not isinstance(other, Thesaurus):
                raise TypeError(f"others: expected thesauri, got {type(other).__name__}")
            merged = _merged(merged, other, align, min_overlap)
        return merged

    def _check_saveable(self) -> None:
        pass

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {}

    def _get_state(self) -> dict[str, Array]:
        state: dict[str, Array] = {}
        state["words"], state["word_offsets"] = pack_strings(self.words)
        state["entries"], state["entry_offsets"] = pack_strings(self.entries)
        for i, matrix in enumerate(self.relations.values()):
            state |= pack_csr(matrix, f"relation_{i}_")
        return state

    def _get_scalars(self) -> dict[str, Any]:
        return {"relations": list(self.relations), "problems": [list(problem) for problem in self.problems]}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        if len(arrays) != 4 + 3 * len(scalars["relations"]):
            raise ValueError("expected words, entries, and a matrix for each relation")
        words = unpack_strings(arrays["words"], arrays["word_offsets"])
        entries = unpack_strings(arrays["entries"], arrays["entry_offsets"])
        shape, relations = (len(entries), len(words)), {}
        for i, name in enumerate(scalars["relations"]):
            if not isinstance(name, str):
                raise ValueError("relations: expected names")
            relations[name] = unpack_csr(arrays, f"relation_{i}_", shape)
        self.__dict__.clear()
        Thesaurus.__init__(self, words, entries, relations, [Problem(*each) for each in scalars["problems"]])


def check_thesaurus(given: Any) -> Thesaurus:
    """What models of a thesaurus are fitted on."""
    if isinstance(given, Thesaurus):
        return given
    write = 'write Thesaurus(words, entries, {"synonym": matrix}), or read one by semproj.thesaurus_readers'
    raise TypeError(f"thesaurus: expected a Thesaurus, got {type(given).__name__}; {write}")


def _relation(matrix: Any, name: str, shape: tuple[int, int]) -> Any:
    where = f"relations: {name!r}"
    with np.errstate(over="ignore"):  # reported below
        csr = as_csr(matrix, where).astype(np.float32, copy=False)
    if csr.shape != shape:
        raise ValueError(f"{where}: expected shape {shape} (entries, words), got {csr.shape}")
    check_finite(csr.data, where)
    return without_duplicates(sp.csr_matrix(csr))


def _count(n: int, what: str) -> str:
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{n:,} {what if n == 1 else plural}"


def _merged(first: Thesaurus, second: Thesaurus, align: str | None, min_overlap: float) -> Thesaurus:
    vocabulary = dict(first.vocabulary)
    columns = np.array([vocabulary.setdefault(word, len(vocabulary)) for word in second.words], np.int64)
    if align == "synonyms":
        partner = _nearest_by_synonyms(first, second, columns, min_overlap)
    else:
        partner = np.full(len(second.entries), -1, np.int64)
        if align == "names":
            place = {name: i for i, name in reversed(list(enumerate(first.entries)))}
            partner[:] = [place.get(name, -1) for name in second.entries]
    new = partner < 0
    rows = np.where(new, len(first.entries) + np.cumsum(new) - 1, partner)
    shape = len(first.entries) + int(new.sum()), len(vocabulary)
    relations = {}
    for name in dict.fromkeys([*first.relations, *second.relations]):
        cells = [first.relations[name].tocoo()] if name in first.relations else []
        parts = [(each.row.astype(np.int64), each.col.astype(np.int64), each.data) for each in cells]
        if name in second.relations:
            other = second.relations[name].tocoo()
            parts.append((rows[other.row], columns[other.col], other.data))
        row, col, data = (np.concatenate(each) for each in zip(*parts, strict=True))
        relations[name] = sp.csr_matrix((data, (row, col)), shape=shape)
    entries = first.entries + [name for name, is_new in zip(second.entries, new, strict=True) if is_new]
    return Thesaurus(vocabulary, entries, relations, [*first.problems, *second.problems])


def _nearest_by_synonyms(
    first: Thesaurus, second: Thesaurus, columns: npt.NDArray[np.int64], min_overlap: float
) -> npt.NDArray[np.int64]:
    """Find the entry of `first` whose synonyms are most similar to those of each entry of `second`, or -1."""
    known = columns < len(first.words)
    n_known = int(known.sum())
    mine = _unit_rows(first["synonym"])
    theirs = _unit_rows(second["synonym"])[:, known]  # words that `first` lacks still count in the length
    parts = np.ones(n_known, np.float32), columns[known], np.arange(n_known + 1)
    cosines = (theirs @ sp.csr_matrix(parts, shape=(n_known, len(first.words))) @ mine.T).tocsr()
    cosines.sort_indices()
    nearest = np.full(cosines.shape[0], -1, np.int64)
    for row in np.flatnonzero(np.diff(cosines.indptr)):
        cells = slice(cosines.indptr[row], cosines.indptr[row + 1])
        best = int(cosines.data[cells].argmax())
        if cosines.data[cells][best] >= min_overlap * (1 - 1e-6):
            nearest[row] = cosines.indices[cells][best]
    return nearest


def _unit_rows(matrix: Any) -> Any:
    """Return the pattern of a matrix, with rows scaled to unit length."""
    lengths = np.diff(matrix.indptr)
    data = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
    return sp.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)
