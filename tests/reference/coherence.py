"""Coherence of topics, window by window. Röder, Both and Hinneburg 2015; gensim's way to slide a window too."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

EPSILON = 1e-12


def windows(text: list[str], width: int) -> list[list[str]]:
    return [text[i : i + width] for i in range(max(1, len(text) - width + 1))]


def sets_of_words(text: list[str], width: int, forget_repeats: bool) -> list[set[str]]:
    """The words that each window has; to forget repeats, what leaves on the left is gone wherever else it is."""
    found: list[set[str]] = []
    before: list[str] | None = None
    for window in windows(text, width):
        if before is None or not forget_repeats:
            found.append(set(window))
        else:
            found.append((found[-1] - {before[0]}) | {window[-1]})
        before = window
    return found


def npmi(a: str, b: str, sets: list[set[str]]) -> float:
    p, q, both = (sum(words <= each for each in sets) / len(sets) for words in ({a}, {b}, {a, b}))
    return math.log((both + EPSILON) / (p * q)) / -math.log(both + EPSILON)


def coherence(
    topics: list[list[str]], texts: list[list[str]], measure: str, width: int, *, forget_repeats: bool
) -> list[float]:
    sets = [each for text in texts for each in sets_of_words(text, width, forget_repeats)]
    if measure == "npmi":
        return [float(np.mean([npmi(a, b, sets) for a, b in combinations(topic, 2)])) for topic in topics]
    values = []
    for topic in topics:
        vectors = np.array([[npmi(a, b, sets) for b in topic] for a in topic])
        total = vectors.sum(axis=0)
        values.append(float(np.mean([v @ total / np.linalg.norm(v) / np.linalg.norm(total) for v in vectors])))
    return values
