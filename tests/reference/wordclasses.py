"""Word classes by exchange, counting everything anew for each class that is tried.

F = sum_cd g(N(c, d)) - sum_c g(N(c .)) - sum_d g(N(. d)) + sum_w g(N(w)), g(n) = n log n: the log likelihood of
the class bigram model, as Kneser and Ney 1993 and Martin and others 1998 (eq. 6) have it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

BOUNDARY = 2


def pairs_of(sentences: list[list[int]]) -> list[tuple[int, int]]:
    """Neighbors in one long circle of sentences, a boundary before each."""
    text = [word for sentence in sentences for word in (BOUNDARY, *sentence)]
    return list(zip(text, [*text[1:], text[0]], strict=True))


def log_likelihood(sentences: list[list[int]], classes: np.ndarray) -> float:
    """Of all words and boundaries: the mean of log p(c | class before) + log p(w | c), by its definition."""
    pairs = pairs_of(sentences)
    both = Counter((classes[a], classes[b]) for a, b in pairs)
    first, second = Counter(classes[a] for a, _ in pairs), Counter(classes[b] for _, b in pairs)
    words = Counter(b for _, b in pairs)
    return sum(
        np.log(both[classes[a], classes[b]] / first[classes[a]]) + np.log(words[b] / second[classes[b]])
        for a, b in pairs
    )


def exchange_sweep(sentences: list[list[int]], classes: np.ndarray, n_classes: int) -> int:
    """Put each word in its best class, one after the other; the last word of a class stays. Returns the moves."""
    moves = 0
    for word in range(len(classes)):
        own = classes[word]
        if own >= n_classes or (classes == own).sum() == 1:
            continue
        values = []
        for c in range(n_classes):
            classes[word] = c
            values.append(log_likelihood(sentences, classes))
        best = int(np.argmax(values))
        classes[word] = best if values[best] > values[own] + 1e-6 else own
        moves += classes[word] != own
    return moves
