"""Names of companies that nobody has, and the same with slips of the pen: to be matched by their trigrams."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix

_BEGINNINGS = (*"bcdfghjklmnprstvw", "br", "ch", "cl", "dr", "gr", "sh", "st", "th", "tr", "pl")
_VOWELS = (*"aeiou", "ai", "ea", "ou", "io")
_ENDS = ("", "", "n", "r", "s", "l", "t", "nd", "rt", "ck", "m")
_FORMS = ("", " inc", " ltd", " llc", " group", " co", " gmbh", " holdings", " services")
_WORDS = 20_000


def names(n: int, seed: int = 0) -> list[str]:
    """One to three words by Zipf's law, and what kind of company it is."""
    rng = np.random.default_rng(seed)

    def parts(of: tuple[str, ...], size: int) -> list[str]:
        return [of[i] for i in rng.integers(0, len(of), size)]

    def joined(texts: list[str], most: int, between: str) -> list[str]:
        cuts = np.concatenate([[0], np.cumsum(rng.integers(1, most + 1, len(texts)))])
        return [between.join(texts[a:b]) for a, b in pairwise(cuts.tolist()) if b <= len(texts)]

    size = 3 * _WORDS
    syllables = map("".join, zip(*(parts(of, size) for of in (_BEGINNINGS, _VOWELS, _ENDS)), strict=True))
    words = joined(list(syllables), 3, "")[:_WORDS]
    weight = 1 / np.arange(5, len(words) + 5) ** 0.9
    drawn = [words[i] for i in rng.choice(len(words), 3 * n, p=weight / weight.sum())]
    return [name + form for name, form in zip(joined(drawn, 3, " ")[:n], parts(_FORMS, n), strict=True)]


def misspelt(given: list[str], seed: int = 1) -> list[str]:
    """In another order; a quarter as they are, others with a letter less, another or twice."""
    rng = np.random.default_rng(seed)
    found = []
    for name in (given[i] for i in rng.permutation(len(given))):
        i, kind = int(rng.integers(0, len(name))), rng.integers(0, 4)
        letter = ("", "aeioutnrs"[rng.integers(0, 9)], 2 * name[i], name[i])[kind]
        found.append(name[:i] + letter + name[i + 1 :])
    return found


def trigrams(n_queries: int, n: int) -> tuple[csr_matrix, csr_matrix]:
    """Misspelt names and names, as rows of unit length of the tf-idf weights of their trigrams."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    corpus = names(n)
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(3, 3), dtype=np.float32)
    rows = vectorizer.fit_transform(corpus)
    return vectorizer.transform(misspelt(corpus)[:n_queries]), rows
