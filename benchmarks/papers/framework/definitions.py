"""The corpus of Guo and Diab 2012, section 5.1: dictionaries' definitions and sentences, one document each.

Texts become lemmas, lemmas that occur once are left out, the rest is weighted by tf-idf. The paper's tagger is not
needed: `semproj.Lemmatizer` takes the likeliest lemma of a word, whatever its part of speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import semproj as sj
from benchmarks.papers.framework.files import WORDNET_ARCHIVE, evenly, read_lines, read_table

WORDNET = "definitions/wordnet30.tsv.xz"
WIKTIONARY = "definitions/wiktionary.tsv.xz"
BROWN = "definitions/brown.txt.xz"
FILES = (WORDNET_ARCHIVE, WORDNET, WIKTIONARY, BROWN)
PARTS_OF_SPEECH = {"Noun", "Verb", "Adjective", "Adverb"}

# Entries that only point to another one define nothing: "plural of dog", "(obsolete) Alternative spelling of ...".
_LABELS = r"(?:\([^)]*\) )*"
_INFLECTION = re.compile(
    _LABELS + r"(?:plural|singular|simple past|present participle|past participle|past tense|third-person"
    r"|comparative|superlative)\b.* of\b",
    re.IGNORECASE,
)
_VARIANT = re.compile(_LABELS + r"(?:[\w-]+ )*(?:form|spelling|misspelling|abbreviation) of\b", re.IGNORECASE)

# The paper's example has 5.5 for "financial" and 3 for "activity", which are natural logarithms of a corpus of its
# size: reg = 20 belongs to that scale, and TfIdf counts in bits.
_NATURAL = np.float32(np.log(2))


def is_pointer(definition: str) -> bool:
    """Whether an entry is an inflection or another spelling of a word that has its own."""
    return bool(_INFLECTION.match(definition) or _VARIANT.match(definition))


def read_wordnet(data: Path) -> Iterator[tuple[str, str]]:
    """Synsets (``offset-pos``, satellites as adjectives) and their definitions."""
    for synset, _, definition, _ in read_table(data / WORDNET, ["synset", "words", "gloss", "examples"]):
        yield synset_name(synset), definition


def synset_name(synset: str) -> str:
    return re.sub("-s$", "-a", synset)


def read_wiktionary(data: Path) -> Iterator[str]:
    for _, part_of_speech, definition, _ in read_table(data / WIKTIONARY, ["word", "pos", "gloss", "examples"]):
        if part_of_speech.strip() in PARTS_OF_SPEECH and not is_pointer(definition):
            yield definition


def read_brown(data: Path) -> Iterator[str]:
    return (line for _, line in read_lines(data / BROWN))


@dataclass(frozen=True)
class Sentences:
    """Texts as lists of lemmas, and as rows of tf-idf over the lemmas of the corpus."""

    lemmas: list[list[str]]
    rows: Any

    def __len__(self) -> int:
        return len(self.lemmas)


class Corpus:
    """What models learn from, and what WordNet's definitions are retrieved by.

    Parameters
    ----------
    data : Path
        The data folder.
    limit : int, optional
        Learn from at most so many documents of each source, spread evenly. Definitions are all there all the same.
    terms : int, optional
        Keep at most so many of the most frequent lemmas.

    Attributes
    ----------
    definitions : Sentences
        Of all synsets of WordNet.
    synsets : dict of str to int
        Which of them belongs to a synset.
    rows : CSR matrix
        The documents to learn from.
    """

    def __init__(self, data: Path, *, limit: int | None = None, terms: int | None = None) -> None:
        self._lemmatizer = sj.Lemmatizer(sj.WordNet(data / WORDNET_ARCHIVE))
        names, definitions = zip(*read_wordnet(data), strict=True)
        self.synsets = {name: number for number, name in enumerate(names)}
        sources = [self.lemmas(texts) for texts in (definitions, read_wiktionary(data), read_brown(data))]
        documents = [document for source in sources for document in evenly(source, limit)]
        self._counter = sj.TermCounter(min_count=2, max_features=terms)
        counts = self._counter.fit_transform(documents)
        self._weighting = sj.TfIdf().fit(counts)
        self.rows = self._weigh(counts)
        self.documents = documents
        self.definitions = Sentences(sources[0], self.weigh(sources[0]))

    def lemmas(self, texts: Iterable[str]) -> list[list[str]]:
        return [self._lemmatizer(text) for text in texts]

    def sentences(self, texts: Iterable[str]) -> Sentences:
        """Other texts, prepared in the same way."""
        lemmas = self.lemmas(texts)
        return Sentences(lemmas, self.weigh(lemmas))

    def weigh(self, lemmas: list[list[str]]) -> Any:
        return self._weigh(self._counter.transform(lemmas))

    @property
    def vocabulary(self) -> list[str]:
        """The lemmas of the columns."""
        return list(self._counter.get_feature_names_out())

    def _weigh(self, counts: Any) -> Any:
        rows = self._weighting.transform(counts)
        rows.data *= _NATURAL
        return rows
