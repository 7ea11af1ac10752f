"""A corpus in two invented languages, with the topics that it was drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._common.validation import check_integer, check_real

# One language has open syllables and the other closed ones, so that only names look alike.
_SYLLABLES = (
    ["ba", "de", "ki", "lo", "mu", "pe", "ta", "vo"],
    ["gan", "fes", "hir", "jon", "rus", "wel", "zan"],
)
_NAME_SYLLABLES = ["ro", "mi", "sa", "ke", "lu"]


class PlantedCorpus(NamedTuple):
    """Texts in two languages that say the same things; see `planted_bilingual`."""

    first: list[str]
    second: list[str]
    topics: npt.NDArray[np.int64]


def _invented(count: int, syllables: Sequence[str], ending: str = "") -> list[str]:
    """Make different words, the shortest first: numbers written with syllables for digits."""
    words = []
    for number in range(1, count + 1):
        digits = []
        while number:
            number, digit = divmod(number - 1, len(syllables))
            digits.append(syllables[digit])
        words.append("".join(reversed(digits)) + ending)
    return words


def planted_bilingual(
    n_pairs: int,
    n_topics: int = 20,
    n_terms: int = 4000,
    *,
    shared: float = 0.05,
    common: float = 0.3,
    noise: float = 0.2,
    mean_length: float = 25.0,
    random_state: int = 0,
) -> PlantedCorpus:
    """Draw a corpus in two invented languages whose shared topics are known.

    Each text has one main topic and a little of the others. Every word of the first language stands for a concept,
    which has one word in the second; word frequencies follow Zipf's law. Both texts of a pair have the same
    concepts, except for `noise`, each in an order of its own.

    Parameters
    ----------
    n_pairs : int
    n_topics : int, default 20
    n_terms : int, default 4000
        How many concepts there are; each topic owns ``n_terms // n_topics`` of them.
    shared : float, default 0.05
        Fraction of concepts that are names, written alike in both languages.
    common : float, default 0.3
        Fraction of tokens that are function words, which say nothing about the topic.
    noise : float, default 0.2
        Probability that a word of the second text is replaced by another of the same topic.
    mean_length : float, default 25
        Mean number of words; lengths are five plus a geometric number.
    random_state : int, default 0
        The same number gives the same corpus.

    Returns
    -------
    PlantedCorpus
        Lists of texts, ``first`` and ``second``, and the main topic of each pair, ``topics``.

    Examples
    --------
    >>> from semproj.datasets import planted_bilingual
    >>> corpus = planted_bilingual(3, n_topics=2, n_terms=40, mean_length=8, random_state=1)
    >>> len(corpus.first), len(corpus.second), corpus.topics.shape
    (3, 3, (3,))
    """
    for name, size in (("n_pairs", n_pairs), ("n_topics", n_topics), ("n_terms", n_terms)):
        check_integer(size, name, low=1)
    if n_terms < n_topics:
        raise ValueError(f"n_terms: expected at least n_topics = {n_topics}, got {n_terms}")
    for name, fraction in (("shared", shared), ("common", common), ("noise", noise)):
        check_real(fraction, name, low=0, high=1)
    if not mean_length > 6:
        raise ValueError(f"mean_length: expected more than 6, got {mean_length!r}")
    rng = np.random.default_rng(random_state)
    lengths = 5 + rng.geometric(1 / (mean_length - 5), n_pairs)
    document = np.repeat(np.arange(n_pairs), lengths)
    main = rng.integers(n_topics, size=n_pairs)
    stray = rng.integers(n_topics, size=document.size)
    topic = np.where(rng.random(document.size) < 0.8, main[document], stray)

    def zipf(n: int) -> npt.NDArray[np.intp]:
        cumulative = np.cumsum(1 / np.arange(1, n + 1))
        drawn: npt.NDArray[np.intp] = np.searchsorted(cumulative, rng.random(document.size) * cumulative[-1])
        return drawn

    # Topics take concepts in turn, so a low number is a frequent concept in every topic.
    concept = zipf(n_terms // n_topics) * n_topics + topic
    other = zipf(n_terms // n_topics) * n_topics + topic
    translated = np.where(rng.random(document.size) < noise, other, concept)
    n_common = 60
    is_common = rng.random(document.size) < common
    tokens = (
        np.where(is_common, zipf(n_common), concept + n_common),
        np.where(is_common, zipf(n_common), translated + n_common),
    )
    names = rng.random(n_terms) < shared
    name_words = [word.capitalize() for word in _invented(n_terms, _NAME_SYLLABLES, ending="x")]
    texts: list[list[str]] = []
    for ids, syllables in zip(tokens, _SYLLABLES, strict=True):
        words = _invented(n_common + n_terms, syllables)
        for number in np.flatnonzero(names):
            words[n_common + number] = name_words[number]
        order = np.lexsort((rng.random(document.size), document))
        stream = [words[token] for token in ids[order]]
        ends = np.cumsum(lengths).tolist()
        texts.append([" ".join(stream[start:end]) for start, end in zip([0, *ends], ends, strict=False)])
    return PlantedCorpus(texts[0], texts[1], main)
