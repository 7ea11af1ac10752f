"""Inflected words to lemmas, for counting words; no part-of-speech tagger needed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .wordnet import WordNet

__all__ = ["Lemmatizer"]

_WORD = re.compile(r"[^\W_]+")
# How a part of speech is spread over its inflections. Nouns and verbs: shares of the Penn Treebank's tags (NN NNS;
# VB+VBP VBZ VBD+VBN VBG), rounded. Adjectives and adverbs: shares in the Brown corpus of those that it compares by
# an ending at all.
_SHARES = {
    "n": {"": 0.70, "s": 0.30},
    "v": {"": 0.31, "s": 0.17, "ed": 0.40, "ing": 0.12},
    "a": {"": 0.86, "er": 0.11, "est": 0.03},
    "r": {"": 0.86, "er": 0.11, "est": 0.03},
}
# Words of closed classes, which WordNet lacks, but which look like inflections of what it has: "his" is not the
# plural of "hi". Inflections of closed classes (was, has, does) are not here.
_CLOSED = {"as", "during", "hers", "his", "its", "less", "lest", "ours", "theirs", "this", "thus", "unless", "us"}


class Lemmatizer:
    """Base forms for the words of whole texts, one word at a time.

    Of all base forms that WordNet's morphology finds, as any part of speech, the most probable one is taken: the
    count of the lemma in WordNet's tagged texts (plus a half) times the share that this inflection has of its part
    of speech. Comparatives and plurals belong to their base where that is the more frequent lemma. What may be a
    form of a verb is a noun or an adjective of its own only if the tagged texts have it as one. With WordNet 3.0,
    "was" is "be" and not the plural of "WA"; "left" is "leave", "better" is "good", "words" is "word", "funded" is
    "fund", "building" is itself. A word that WordNet does not know is returned as it is, in lower case.

    The same word always has the same lemma, which is what counting words needs: inflections of a word share a
    column. Where two words share a form ("leaves"), only the likelier one is found.

    Parameters
    ----------
    wordnet : WordNet

    Notes
    -----
    Words are looked up once and remembered: five million words take about three seconds.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.lemmatizer import Lemmatizer
    >>> from semproj.wordnet import WordNet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "index.noun").write_text("dog n 1 0 1 1 00000000")
    ...     _ = pathlib.Path(folder, "index.verb").write_text("be v 1 0 1 1 00000000")
    ...     _ = pathlib.Path(folder, "verb.exc").write_text("were be")
    ...     lemmatizer = Lemmatizer(WordNet(folder))
    >>> lemmatizer("The dogs were here.")
    ['the', 'dog', 'be', 'here']
    """

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet = wordnet
        self._known: dict[str, str] = {}

    def __call__(self, text: str | Sequence[str]) -> list[str]:
        """The lemmas of a text, which is split into runs of letters and digits, or of a list of words."""
        words = _WORD.findall(text) if isinstance(text, str) else text
        for word in set(words).difference(self._known):
            self._known[word] = self._find(word)
        return [self._known[word] for word in words]

    def _find(self, word: str) -> str:
        word = word.lower()
        if word in _CLOSED:
            return word
        candidates = {pos: self._probabilities(word, pos) for pos in _SHARES}
        if any(base != word for base in candidates["v"]):
            # WordNet has many participles ("funded") as adjectives or nouns too, however rare they are as such.
            for pos in "nar":
                if not self.wordnet.tag_counts.get((word, pos)):
                    candidates[pos].pop(word, None)
        found = [item for probabilities in candidates.values() for item in probabilities.items()]
        return max(found, key=lambda item: item[1], default=(word, 0.0))[0]

    def _probabilities(self, word: str, pos: str) -> dict[str, float]:
        """Of the base forms as one part of speech, up to a common factor."""
        bases = [base for base in self.wordnet.morphy(word, pos) if _is_regular(word, base, pos)]
        counts = {base: self.wordnet.tag_counts.get((base, pos), 0) + 0.5 for base in bases}
        probabilities = {base: counts[base] * _SHARES[pos][_inflection(word, base, pos)] for base in bases}
        likeliest = max(counts, key=counts.__getitem__, default=word)
        if pos in "nar" and word in counts and likeliest != word:
            # WordNet has many comparatives ("smaller") and some plurals ("words") as lemmas, under which they were
            # tagged.
            probabilities[likeliest] = max(probabilities[likeliest], probabilities.pop(word))
        return probabilities


def _is_regular(word: str, base: str, pos: str) -> bool:
    """Not "bees" as a form of "be": -es follows a sibilant or an o."""
    return pos != "v" or word != base + "es" or base.endswith(("s", "x", "z", "ch", "sh", "o"))


def _inflection(word: str, base: str, pos: str) -> str:
    if word == base:
        return ""
    if pos == "n":
        return "s"
    if pos == "v":
        return "ing" if word.endswith("ing") else "s" if word.endswith("s") else "ed"
    return "est" if word.endswith("st") else "er"
