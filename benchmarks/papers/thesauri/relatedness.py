"""What thesauri say of pairs of words, as one sparse matrix: 1 for synonyms, -1 for antonyms.

That is the first slice of the tensor of Zhang and others 2014. Words are single tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from semproj import tasks
from semproj.contextspace import ContextSpace
from semproj.thesaurus import Thesaurus

Questions = Sequence[tasks.ClosestOppositeQuestion]


class Pairs(NamedTuple):
    """Related words, each pair in one order or in both."""

    words: list[str]
    first: np.ndarray
    second: np.ndarray


def of_entries(thesaurus: Thesaurus, relation: str) -> Pairs:
    """Each word of an entry with all that are in a relation to the entry: all pairs of a synset's synonyms."""
    return _pairs(thesaurus, thesaurus["synonym"], relation)


def of_heads(thesaurus: Thesaurus, relation: str) -> Pairs:
    """The head of an entry, by which it is called, with all that are in a relation to it."""
    columns = [thesaurus.vocabulary[name] for name in thesaurus.entries]
    heads = sp.csr_matrix((np.ones(len(columns), np.float32), columns, np.arange(len(columns) + 1)),
                          shape=(len(columns), len(thesaurus.words)))  # fmt: skip
    return _pairs(thesaurus, heads, relation)


def _pairs(thesaurus: Thesaurus, left: sp.csr_matrix, relation: str) -> Pairs:
    found = (left.T @ thesaurus[relation]).tocoo()
    return Pairs(thesaurus.words, found.row, found.col)


def is_token(word: str) -> bool:
    """Letters, perhaps with hyphens between them."""
    return all(part.isalpha() for part in word.split("-"))


@dataclass(frozen=True)
class Relatedness:
    """Words, those that have antonyms first, and what is known of their pairs, in both orders."""

    words: list[str]
    n_opposed: int
    cells: sp.csr_array

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))

    @property
    def among_opposed(self) -> sp.csr_array:
        """Cells of words that have antonyms."""
        return self.cells[: self.n_opposed, : self.n_opposed]

    def with_opposed(self, words: Sequence[str]) -> sp.csr_array:
        """Cells of other words, perhaps unknown ones, with those that have antonyms."""
        known = [(row, self.vocabulary[word]) for row, word in enumerate(words) if word in self.vocabulary]
        rows, places = np.array(known, np.int64).reshape(-1, 2).T
        chosen = sp.csr_array(
            (np.ones(len(rows), np.float32), (rows, places)), shape=(len(words), len(self.words))
        )
        return sp.csr_array(chosen @ self.cells[:, : self.n_opposed])

    def __str__(self) -> str:
        pairs = {name: np.count_nonzero(self.cells.data * sign > 0) // 2 for name, sign in SIGNS.items()}
        told = ", ".join(f"{n:,} pairs of {name}s" for name, n in pairs.items())
        return f"{len(self.words):,} words, {self.n_opposed:,} of them with antonyms; {told}"


SIGNS = {"synonym": 1.0, "antonym": -1.0}


def relate(synonyms: Iterable[Pairs], antonyms: Iterable[Pairs]) -> Relatedness:
    """One matrix of all pairs; what is said to be both is an antonym."""
    vocabulary: dict[str, int] = {}
    opposed = [_numbered(pairs, vocabulary) for pairs in antonyms]
    n_opposed = len(vocabulary)
    equal = [_numbered(pairs, vocabulary) for pairs in synonyms]
    n = len(vocabulary)
    keys = []
    for parts in (opposed, equal):
        low, high = np.concatenate([*parts, np.empty((2, 0), np.int64)], axis=1)
        keys.append(np.unique(low * n + high))
    keys[1] = np.setdiff1d(keys[1], keys[0], assume_unique=True)
    low, high = np.divmod(np.concatenate(keys), max(n, 1))
    values = np.repeat(np.array([SIGNS["antonym"], SIGNS["synonym"]], np.float32), [len(each) for each in keys])
    cells = sp.coo_array((values, (low, high)), shape=(n, n)).tocsr()
    return Relatedness(list(vocabulary), n_opposed, sp.csr_array(cells + cells.T))


def _numbered(pairs: Pairs, vocabulary: dict[str, int]) -> np.ndarray:
    """Pairs of different single tokens, the smaller number first; new words get the next numbers."""
    token = np.array([is_token(word) for word in pairs.words], bool)
    kept = token[pairs.first] & token[pairs.second] & (pairs.first != pairs.second)
    first, second = pairs.first[kept], pairs.second[kept]
    numbers = np.full(len(pairs.words), -1, np.int64)
    for column in np.unique(np.concatenate([first, second])):
        numbers[column] = vocabulary.setdefault(pairs.words[column], len(vocabulary))
    return np.sort([numbers[first], numbers[second]], axis=0)


def context_vectors(context: ContextSpace, words: Sequence[str]) -> np.ndarray:
    """Rows of zeros for words that have none."""
    found = np.zeros((len(words), context.vectors.shape[1]), np.float32)
    for row, word in enumerate(words):
        if word in context.vocabulary:
            found[row] = context.vectors[context.vocabulary[word]]
    return found


def look_up(related: Relatedness, questions: Questions, *, guess: bool) -> dict[str, float]:
    """Precision, recall and F1 of answering by a choice that is an antonym of the target, any if several are.

    With `guess`, a question of which the target is known, but no choice is its antonym, is answered by any of the
    choices. What is expected of any is counted, not what one draw gives.
    """
    right = answered = 0.0
    for target, choices, answer in questions:
        if target not in related.vocabulary:
            continue
        row = related.cells[[related.vocabulary[target]]]
        opposite = {related.words[place] for place in row.indices[row.data < 0]}
        found = [choice for choice in choices if choice in opposite] or (list(choices) if guess else [])
        if found:
            answered += 1
            right += (answer in found) / len(found)
    precision, recall = right / max(answered, 1.0), right / len(questions)
    return {"precision": precision, "recall": recall, "f1": 2 * right / (answered + len(questions))}
