"""What the papers on thesauri share: the resources of the data folder, and the questions that models answer.

`Shelf` reads resources, each once and when first asked for:

    shelf = Shelf(data)
    shelf.thesaurus("WordNet+similar+derived+Fallows")     # a merged Thesaurus, an entry for each entry of each
    shelf.context                                          # GloVe, for words that no thesaurus has
    shelf.lemmatizer

The names in such a sum are those of `RESOURCES`:

    WordNet                      synsets, with their antonyms through a similar adjective too
    contrast, similar, derived, hypernym, hyponym
                                 further relations of WordNet's, which is there then
    Fallows, Roget               heads with synonyms and antonyms; an entry is what one line says, or of Roget's,
                                 which is two files, what both say of a head
    Moby                         heads with words "related" to them: looser than synonyms
    Expanded, Combined           heads with antonyms alone, of Zhang and others 2014: WordNet's, which similar
                                 words share, and the same with Roget's

Tasks, by split (dev, whose figures settings may be chosen by, or test):

    read_questions(data, split)     gre/{split}.txt; list of ClosestOppositeQuestion
    read_antonyms(data, split)      antsyn/{adjective,noun,verb}-pairs: .train for a threshold, and .val on dev or
                                    .test on test; pairs of AntonymPairs by part of speech
    read_relations(data, split)     semeval2012/Phase2Answers: 1a on dev, 1b to 1d on test; MaxDiff by subcategory

All raise `files.MissingFile`, which names the file, before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

import semproj as sj
from benchmarks.papers.definitions import LEMMAS, evenly
from benchmarks.papers.files import read_lines, require
from semproj import tasks
from semproj.contextspace import ContextSpace
from semproj.thesaurus import Thesaurus
from semproj.thesaurus_readers import read_lists, read_table, read_wordnet

FALLOWS = "thesaurus/fallows1898.tsv.xz"
MOBY = "thesaurus/moby.txt.xz"
ROGET = ("thesaurus/roget21_synonyms_partial.txt.xz", "thesaurus/roget21_antonyms.txt.xz")
EXPANDED = "thesaurus/wordnet_expanded_antonyms.txt.xz"
COMBINED = "thesaurus/combined_antonyms.txt.xz"
GLOVE = ("glove100_words.txt", "glove100_vectors.f16.npy")
PARTS_OF_SPEECH = ("adjective", "noun", "verb")
SUBCATEGORIES = {"dev": ("1a",), "test": ("1b", "1c", "1d")}

# besides synonyms and antonyms
WORDNET_RELATIONS = ("contrast", "similar", "derived", "hypernym", "hyponym")


def _read_fallows(data: Path) -> Thesaurus:
    return read_table(data / FALLOWS)


def _read_roget(data: Path) -> Thesaurus:
    synonyms, antonyms = (
        read_lists(data / name, relation) for name, relation in zip(ROGET, ("synonym", "antonym"), strict=True)
    )
    both = synonyms.merge(antonyms, align="names")
    both["synonym"].data[:] = 1  # a head is in both files
    return both


def _read_moby(data: Path) -> Thesaurus:
    return read_lists(data / MOBY, "related", separator=",")


def _read_expanded(data: Path) -> Thesaurus:
    return read_lists(data / EXPANDED, "antonym")


def _read_combined(data: Path) -> Thesaurus:
    return read_lists(data / COMBINED, "antonym")


class _Source(NamedTuple):
    files: tuple[str, ...]
    read: Callable[[Path], Thesaurus]


_SOURCES = {
    "Fallows": _Source((FALLOWS,), _read_fallows),
    "Roget": _Source(ROGET, _read_roget),
    "Moby": _Source((MOBY,), _read_moby),
    "Expanded": _Source((EXPANDED,), _read_expanded),
    "Combined": _Source((COMBINED,), _read_combined),
}
RESOURCES = ("WordNet", *WORDNET_RELATIONS, *_SOURCES)


def parts_of(resources: str) -> list[str]:
    """The names in a sum of resources."""
    names = resources.split("+")
    for name in names:
        if name not in RESOURCES:
            raise ValueError(f"resources: expected a sum of {', '.join(RESOURCES)}, got {resources!r}")
    return names


def files_of(resources: str) -> list[str]:
    """What a sum of resources is read from, as paths in the data folder."""
    names = parts_of(resources)
    files = [LEMMAS] if {"WordNet", *WORDNET_RELATIONS}.intersection(names) else []
    return files + [file for name in names if name in _SOURCES for file in _SOURCES[name].files]


class Shelf:
    """The resources of a data folder.

    Parameters
    ----------
    data : Path
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self._read: dict[str, Thesaurus] = {}

    def thesaurus(self, resources: str) -> Thesaurus:
        """One thesaurus of a sum of resources, "WordNet+similar+Fallows", in this order of entries."""
        names = parts_of(resources)
        require(*(self.data / file for file in files_of(resources)))
        parts = []
        if {"WordNet", *WORDNET_RELATIONS}.intersection(names):
            parts.append(self._synsets.select("synonym", "antonym", *(n for n in WORDNET_RELATIONS if n in names)))
        for name in names:
            if name in _SOURCES:
                if name not in self._read:
                    self._read[name] = _SOURCES[name].read(self.data)
                parts.append(self._read[name])
        return parts[0].merge(*parts[1:])

    @cached_property
    def wordnet(self) -> sj.WordNet:
        require(self.data / LEMMAS)
        return sj.WordNet(self.data / LEMMAS)

    @cached_property
    def lemmatizer(self) -> sj.Lemmatizer:
        return sj.Lemmatizer(self.wordnet)

    @cached_property
    def context(self) -> ContextSpace:
        words, vectors = (self.data / name for name in GLOVE)
        require(words, vectors)
        return ContextSpace([line for _, line in read_lines(words)], np.load(vectors))

    @cached_property
    def _synsets(self) -> Thesaurus:
        return read_wordnet(self.wordnet, relations=("synonym", "antonym", *WORDNET_RELATIONS))


def some_entries(thesaurus: Thesaurus, limit: int | None) -> Thesaurus:
    """At most so many entries, spread evenly."""
    if limit is None or limit >= len(thesaurus.entries):
        return thesaurus
    kept = evenly(list(range(len(thesaurus.entries))), limit)
    relations = {name: matrix[kept] for name, matrix in thesaurus.relations.items()}
    return Thesaurus(thesaurus.words, [thesaurus.entries[i] for i in kept], relations)


def read_questions(data: Path, split: str, limit: int | None = None) -> list[tasks.ClosestOppositeQuestion]:
    """The GRE's closest-opposite questions, at most so many."""
    path = data / "gre" / f"{split}.txt"
    require(path)
    return evenly(tasks.read_closest_opposite(path), limit)


def read_antonyms(data: Path, split: str) -> dict[str, tuple[tasks.AntonymPairs, tasks.AntonymPairs]]:
    """AntSynNET's pairs by part of speech: those to choose a threshold by, and those of the split."""
    ending = "val" if split == "dev" else "test"
    paths = {
        pos: [data / "antsyn" / f"{pos}-pairs.{each}" for each in ("train", ending)] for pos in PARTS_OF_SPEECH
    }
    require(*(path for both in paths.values() for path in both))
    return {
        pos: (tasks.read_antonym_pairs(train), tasks.read_antonym_pairs(held))
        for pos, (train, held) in paths.items()
    }


def read_relations(data: Path, split: str) -> dict[str, tasks.MaxDiff]:
    """SemEval-2012's questions on the relations of class inclusion, by subcategory."""
    folder = data / "semeval2012" / "Phase2Answers"
    paths = {name: folder / f"Phase2Answers-{name}.txt" for name in SUBCATEGORIES[split]}
    require(*paths.values())
    return {name: tasks.read_maxdiff(path) for name, path in paths.items()}
