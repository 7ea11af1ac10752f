"""Reduce inflected words to lemmas, for counting words, without a part-of-speech tagger."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .wordnet import WordNet

__all__ = ["Lemmatizer"]

_WORD = re.compile(r"[^\W_]+")
# How often a part of speech has each of its inflections. Nouns and verbs: rounded shares of the Penn Treebank's
# tags (NN NNS; VB+VBP VBZ VBD+VBN VBG). Adjectives and adverbs: shares in the Brown corpus, among the words that
# have comparative endings there at all.
_SHARES = {
    "n": {"": 0.70, "s": 0.30},
    "v": {"": 0.31, "s": 0.17, "ed": 0.40, "ing": 0.12},
    "a": {"": 0.86, "er": 0.11, "est": 0.03},
    "r": {"": 0.86, "er": 0.11, "est": 0.03},
}
# WordNet lacks words of closed classes. These look like inflections of words that it has: "his" is not the plural
# of "hi". True inflections in closed classes (was, has, does) are not listed.
_CLOSED = {"as", "during", "hers", "his", "its", "less", "lest", "ours", "theirs", "this", "thus", "unless", "us"}


class Lemmatizer:
    """Find the base form of each word of a text, without looking at the words around it.

    WordNet's morphology proposes base forms, as any part of speech. The most probable one is taken: its
    probability is the count of the lemma in WordNet's tagged texts (plus a half) times the share that the
    inflection has in its part of speech. Comparatives and plurals go to their base if that is the more frequent
    lemma. What may be a form of a verb counts as a noun or adjective only if it is tagged as one. With WordNet
    3.0, "was" becomes "be" and not the plural of "WA"; "left" becomes "leave", "better" "good", "words" "word",
    "funded" "fund"; "building" stays. Unknown words are returned in lower case.

    The same word always has the same lemma, so that all inflections of a word share a column of counts. Where two
    words share a form ("leaves"), only the likelier one is found.

    Parameters
    ----------
    wordnet : WordNet

    Notes
    -----
    Each word is looked up once and remembered: five million words take about three seconds.

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
        """Return the lemmas of a list of words, or of a text, which is split into runs of letters and digits."""
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
            # WordNet lists many participles ("funded") as adjectives or nouns too, however rare these are.
            for pos in "nar":
                if not self.wordnet.tag_counts.get((word, pos)):
                    candidates[pos].pop(word, None)
        found = [item for probabilities in candidates.values() for item in probabilities.items()]
        return max(found, key=lambda item: item[1], default=(word, 0.0))[0]

    def _probabilities(self, word: str, pos: str) -> dict[str, float]:
        """Return how probable each base form is as this part of speech, up to a common factor."""
        bases = [base for base in self.wordnet.morphy(word, pos) if _is_regular(word, base, pos)]
        counts = {base: self.wordnet.tag_counts.get((base, pos), 0) + 0.5 for base in bases}
        probabilities = {base: counts[base] * _SHARES[pos][_inflection(word, base, pos)] for base in bases}
        likeliest = max(counts, key=counts.__getitem__, default=word)
        if pos in "nar" and word in counts and likeliest != word:
            # WordNet lists, and tags, many comparatives ("smaller") and some plurals ("words") as lemmas.
            probabilities[likeliest] = max(probabilities[likeliest], probabilities.pop(word))
        return probabilities


def _is_regular(word: str, base: str, pos: str) -> bool:
    """Refuse "bees" as a form of "be": -es follows a sibilant or an o."""
    return pos != "v" or word != base + "es" or base.endswith(("s", "x", "z", "ch", "sh", "o"))


def _inflection(word: str, base: str, pos: str) -> str:
    if word == base:
        return ""
    if pos == "n":
        return "s"
    if pos == "v":
        return "ing" if word.endswith("ing") else "s" if word.endswith("s") else "ed"
    return "est" if word.endswith("st") else "er"
