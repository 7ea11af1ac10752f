"""Read thesauri from files: WordNet's database, tables of headwords with synonyms and antonyms, and word lists.

Files are UTF-8; ``.gz`` and ``.xz`` are unpacked while reading. Lines and words that cannot be read are left out,
counted in a warning, and listed in the thesaurus's ``problems``, with file and line. A file without a single
readable line is an error.
"""

from __future__ import annotations

import os
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._common.files import PathLike, numbered_lines
from ._common.validation import check_choice, check_integer
from .thesaurus import Problem, Thesaurus, normal_word
from .wordnet import Synset, WordNet

__all__ = ["read_lists", "read_table", "read_wordnet"]

WORDNET_RELATIONS = ("synonym", "antonym", "contrast", "similar", "derived", "hypernym", "hyponym")
_SYMBOLS = {
    "antonym": ("!",),
    "similar": ("&", "^"),
    "derived": ("+", "\\", "<"),
    "hypernym": ("@", "@i"),
    "hyponym": ("~", "~i"),
}
_PART_OF_SPEECH = re.compile(r"\s+\\[a-z]+\.?\\?$")  # a mark after the headword: "abuse \v"
_WORD = re.compile(r"[\w '’.,/&+$%-]{1,80}")


class _Builder:
    """Collects the entries of a thesaurus, one call of `add` for each."""

    def __init__(self, relations: Sequence[str], file: str = "") -> None:
        self.file = file
        self.vocabulary: dict[str, int] = {}
        self.entries: list[str] = []
        self.problems: list[Problem] = []
        self._columns = {name: array("i") for name in relations}
        self._ends = {name: array("q", [0]) for name in relations}
        self._known_column = cache(self._column)  # most words of a file come many times

    def add(self, line: int, name: str, words: Mapping[str, Iterable[str]], file: str | None = None) -> None:
        """Add an entry, with the words of each relation that has any."""
        self.entries.append(name)
        for relation, columns in self._columns.items():
            for word in words.get(relation, ()):
                column = self._known_column(word)
                if column >= 0:
                    columns.append(column)
                elif column == -2:
                    self.problem(line, f"not a word: {word[:80]!r}", file)
            self._ends[relation].append(len(columns))

    def problem(self, line: int, what: str, file: str | None = None) -> None:
        self.problems.append(Problem(file or self.file, line, what))

    def thesaurus(self, stacklevel: int) -> Thesaurus:
        """Return the thesaurus; warn the caller of the reader if there were problems."""
        shape = len(self.entries), len(self.vocabulary)
        relations = {}
        for name, columns in self._columns.items():
            ids = np.frombuffer(columns, np.int32) if columns else np.empty(0, np.int32)
            ends = np.frombuffer(self._ends[name], np.int64)
            matrix = sp.csr_matrix((np.ones(len(ids), np.float32), ids, ends), shape=shape)
            matrix.sum_duplicates()
            matrix.data[:] = 1
            relations[name] = matrix
        if self.problems:
            first = self.problems[0]
            where = f"line {first.line}" if first.file == self.file else f"line {first.line} of {first.file}"
            warnings.warn(
                f"{self.file}: {len(self.problems)} words or lines could not be read, the first at {where} "
                f"({first.what}); the thesaurus has them all in .problems",
                stacklevel=stacklevel,
            )
        return Thesaurus(self.vocabulary, self.entries, relations, self.problems)

    def _column(self, raw: str) -> int:
        """Return the column of a word; -1 if it is empty, -2 if it cannot be a word."""
        word = normal_word(raw)
        if not word:
            return -1
        if not _WORD.fullmatch(word):
            return -2
        return self.vocabulary.setdefault(word, len(self.vocabulary))


def read_table(path: PathLike, relations: Sequence[str] = ("synonym", "antonym")) -> Thesaurus:
    """Read a table with a column for each relation: ``headword TAB word|word|... TAB word|word|...``.

    Each line is an entry; headwords may repeat. The headword, without a mark of its part of speech
    (``abuse \\\\v``), is one of the synonyms of its entry.

    Parameters
    ----------
    path : path-like
    relations : sequence of str, default ("synonym", "antonym")
        The relations that the columns after the first stand for.

    Returns
    -------
    Thesaurus

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.thesaurus_readers import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.tsv")
    ...     _ = path.write_text("acrimony\\trancor|bitterness\\tgoodwill|affection\\n")
    ...     thesaurus = read_table(path)
    >>> thesaurus.related("acrimony", "antonym")
    ['goodwill', 'affection']
    """
    relations = _checked_relations(relations)

    def entry(line: str) -> tuple[str, dict[str, list[str]]]:
        head, *columns = line.split("\t")
        if len(columns) != len(relations):
            raise ValueError(f"expected {len(relations) + 1} columns, got {len(columns) + 1}")
        return head, {name: column.split("|") for name, column in zip(relations, columns, strict=True)}

    return _read(path, relations, entry)


def read_lists(path: PathLike, relation: str, *, separator: str = "\t") -> Thesaurus:
    """Read lists of words in one relation to a headword: ``headword TAB word TAB word ...``.

    Moby's thesaurus is read by ``read_lists(path, "synonym", separator=",")``. The headword is a synonym of its
    entry, and the only one if the file is about another relation. Lists of loosely related words, as Moby's are,
    serve PILSA better as a relation of their own, ``read_lists(path, "related", separator=",")``, which has a
    small weight.

    Parameters
    ----------
    path : path-like
    relation : str
        "synonym", "antonym" or any other name.
    separator : str, default "\\t"

    Returns
    -------
    Thesaurus

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.thesaurus_readers import read_lists
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "antonyms.txt")
    ...     _ = path.write_text("scold\\tflatter\\tpraise\\nOriginality\\torthodoxy\\n")
    ...     thesaurus = read_lists(path, "antonym")
    >>> print(thesaurus.describe())
    2 entries, 5 words
    synonym: 2 in 2 entries
    antonym: 3 in 2 entries
    """
    (relation,) = _checked_relations([relation])
    if not isinstance(separator, str) or not separator:
        raise ValueError(f"separator: expected at least one character, got {separator!r}")

    def entry(line: str) -> tuple[str, dict[str, list[str]]]:
        head, *words = line.split(separator)
        return head, {relation: words}

    return _read(path, [relation], entry)


def _checked_relations(relations: Sequence[str]) -> list[str]:
    names = list(relations) if isinstance(relations, Iterable) else []
    if isinstance(relations, str) or not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"relations: expected names, got {relations!r}")
    if len(set(names)) != len(names):
        raise ValueError(f"relations: expected different names, got {relations!r}")
    return names


def _read(
    path: PathLike, relations: Sequence[str], entry: Callable[[str], tuple[str, dict[str, list[str]]]]
) -> Thesaurus:
    builder = _Builder(list(dict.fromkeys(["synonym", *relations])), os.path.basename(os.fspath(path)))
    for number, line in numbered_lines(path, report=builder.problem):
        if not line.strip():
            continue
        try:
            head, words = entry(line)
        except ValueError as error:
            builder.problem(number, str(error))
            continue
        name = normal_word(_PART_OF_SPEECH.sub("", head))
        if not _WORD.fullmatch(name):
            builder.problem(number, f"not a head: {head[:80]!r}")
        elif not any(word.strip() for column in words.values() for word in column):
            builder.problem(number, f"{name!r} has no words")
        else:
            builder.add(number, name, {**words, "synonym": [name, *words.get("synonym", ())]})
    if builder.problems and not builder.entries:
        first = builder.problems[0]
        raise ValueError(f"{path}, line {first.line}: {first.what}; no line of the file could be read")
    if not builder.entries:
        raise ValueError(f"{path}: is empty; expected a head and its words on each line")
    return builder.thesaurus(stacklevel=4)


def read_wordnet(
    source: WordNet | PathLike,
    *,
    relations: Sequence[str] = WORDNET_RELATIONS,
    pos: str = "nvar",
    indirect: bool = True,
    depth: int = 1,
) -> Thesaurus:
    """Read WordNet as a thesaurus: each synset is an entry, related to the words of the synsets that it points to.

    Parameters
    ----------
    source : WordNet or path-like
        A WordNet, or the path of its files, whose malformed lines are then left out.
    relations : sequence of str, default all of these
        "synonym"
            The words of the synset; always included.
        "antonym"
            All words of each synset that has an antonym of one of these words.
        "contrast"
            For a satellite: adjectives similar to the antonyms of its head, unless they are antonyms already.
            "Torrid" is similar to "hot", so "icy" contrasts with it.
        "similar"
            Synsets of similar adjectives, and those of "also see".
        "derived"
            Words of any part of speech that are derivationally related, pertainyms and participles.
        "hypernym", "hyponym"
            More general and more special synsets, and instances.
    pos : str, default "nvar"
        Parts of speech whose synsets become entries: nouns, verbs, adjectives, adverbs.
    indirect : bool, default True
        Find antonyms through similar adjectives, too. In WordNet only the heads of clusters of adjectives have
        antonyms. With this, a satellite has those of its head, and a head the satellites of its antonym.
    depth : int, default 1
        How many levels of hypernyms and hyponyms to follow.

    Returns
    -------
    Thesaurus
        The name of an entry is its offset and part of speech, "02227741-v".
    """
    for name in _checked_relations(relations):
        check_choice(name, "relations", WORDNET_RELATIONS)
    if not pos or set(pos) - set("nvar"):
        raise ValueError(f"pos: expected letters of 'nvar', got {pos!r}")
    check_integer(depth, "depth", low=1)
    wordnet = source if isinstance(source, WordNet) else WordNet(source, strict=False)
    builder = _Builder(list(dict.fromkeys(["synonym", *relations])), wordnet.path.resolve().name)
    graph = _Graph(wordnet)
    if wordnet is not source:
        wordnet.morphy("")  # reads the last of the files, so that their problems are reported too
    builder.problems += wordnet.problems
    for synset in wordnet.synsets.values():
        if synset.pos in pos:
            words = {name: graph.words(synset, name, depth, indirect) for name in relations if name != "synonym"}
            file, line = wordnet.location(synset)
            builder.add(line, f"{synset.offset:08d}-{synset.pos}", {**words, "synonym": synset.words}, file)
    return builder.thesaurus(stacklevel=3)


class _Graph:
    """Follows the pointers of synsets."""

    def __init__(self, wordnet: WordNet) -> None:
        self.synsets = wordnet.synsets

    def words(self, synset: Synset, relation: str, depth: int, indirect: bool) -> list[str]:
        if relation == "antonym":
            return _words_besides(self._opposites(synset, indirect), synset.words)
        if relation == "contrast":
            found = self._targets(self._targets(self._heads(synset), "antonym"), "similar")
            nearer = _words_besides(self._opposites(synset, indirect), ())
            return _words_besides(found, [*synset.words, *nearer])
        if relation == "derived":
            pointers = self._pointers(synset, relation)
            return [self.synsets[p.pos, p.offset].words[p.target or 0] for p in pointers]
        level, found = [synset], []
        for _ in range(depth if relation in ("hypernym", "hyponym") else 1):
            level = self._targets(level, relation)
            found += level
        return [word for each in found for word in each.words]

    def _opposites(self, synset: Synset, indirect: bool) -> list[Synset]:
        """Return the antonyms, and through similar adjectives those of satellites and heads if `indirect`."""
        antonyms = self._targets([synset], "antonym")
        if not indirect or synset.pos != "a":
            return antonyms
        return antonyms + self._targets(self._heads(synset), "antonym") + self._targets(antonyms, "similar")

    def _heads(self, synset: Synset) -> list[Synset]:
        return self._targets([synset], "similar") if synset.satellite else []

    def _targets(self, synsets: Iterable[Synset], relation: str) -> list[Synset]:
        """Return what each of the synsets points to, without repetitions for any one of them."""
        pointers = (self._pointers(synset, relation) for synset in synsets)
        keys = (key for each in pointers for key in dict.fromkeys((p.pos, p.offset) for p in each))
        return [self.synsets[key] for key in keys]

    def _pointers(self, synset: Synset, relation: str) -> list[Any]:
        symbols = _SYMBOLS[relation]
        return [p for p in synset.pointers if p.symbol in symbols and (p.pos, p.offset) in self.synsets]


def _words_besides(synsets: Iterable[Synset], known: Iterable[str]) -> list[str]:
    left_out = set(known)
    return [word for synset in synsets for word in synset.words if word not in left_out]
