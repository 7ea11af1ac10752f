"""Sentences found in text, and matched between a document and its translation by their lengths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _core
from ._common.resources import resolve_threads
from ._common.validation import check_integer, check_real

__all__ = ["SentenceAlignment", "align_sentences", "split_sentences"]

SentenceDocument: TypeAlias = "str | Sequence[str]"

# Where a sentence may end: at punctuation, with what closes behind it, before a space (ideographic marks need
# none); at the end of a line; before a bullet.
_END = re.compile(
    r"(?P<stop>[.!?…]+[\"'’”»)\]]*\s+)|[。！？]+[”’」』）]*\s*|\s*[\r\n\v\f\x85\u2028\u2029]\s*|\s+(?=[-*•‣◦▪·]\s)"
)


def split_sentences(text: str) -> list[str]:
    """Cut a text into sentences.

    A sentence ends at ``. ! ? …`` (and the quotes or brackets that follow) before a space, unless the next
    character is a lower-case letter; at ``。！？``; at the end of a line; and before a bullet (``- * • ‣ ◦ ▪ ·``
    between spaces). There are no lists of abbreviations: the alignment puts together what was cut too often.

    Examples
    --------
    >>> from semproj.alignment import split_sentences
    >>> split_sentences('At 9 a.m. it began. "Really?" Yes: - one - two')
    ['At 9 a.m. it began.', '"Really?"', 'Yes:', '- one', '- two']
    """
    sentences, begin = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if match.lastgroup == "stop" and text[end : end + 1].islower():
            continue
        sentence = text[begin:end].strip()
        if sentence:
            sentences.append(sentence)
        begin = end
    sentence = text[begin:].strip()
    if sentence:
        sentences.append(sentence)
    return sentences


@dataclass(frozen=True)
class SentenceAlignment:
    """What :func:`align_sentences` found.

    Attributes
    ----------
    source, target : list of list of str
        The sentences of each document.
    beads : int64 array of shape (n_beads, 5)
        Document, first and end of the source sentences, first and end of the target sentences, counted within the
        document. One of the two ranges is empty where a sentence has no counterpart.
    scores : float32 array of shape (n_beads,)
        Minus half the squared difference of the lengths, in standard deviations: 0 is a perfect fit, -8 is four
        deviations off. For sentences without a counterpart, ``log(skip)``.
    """

    source: list[list[str]]
    target: list[list[str]]
    beads: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.beads)

    def pairs(self, min_score: float = -np.inf) -> Iterator[tuple[str, str]]:
        """The two sides of each bead that has both and scores at least `min_score`."""
        for (document, a, b, c, d), score in zip(self.beads.tolist(), self.scores.tolist(), strict=True):
            if a < b and c < d and score >= min_score:
                yield " ".join(self.source[document][a:b]), " ".join(self.target[document][c:d])


def align_sentences(
    source_documents: Iterable[SentenceDocument],
    target_documents: Iterable[SentenceDocument],
    *,
    ratio: float | None = None,
    variance: float = 6.8,
    skip: float = 0.01,
    band: int = 64,
    n_threads: int | None = None,
) -> SentenceAlignment:
    """Match the sentences of documents and their translations, in order, by their lengths in characters.

    The least costly sequence of beads 1-1, 1-0, 0-1, 2-1, 1-2 and 2-2 (after Gale and Church 1993). Where one side
    has a single sentence, the whole pair is one bead.

    Parameters
    ----------
    source_documents, target_documents : iterables of str or of lists of str
        Document i of one is the translation of document i of the other. Texts are cut by :func:`split_sentences`;
        a list is a document's sentences.
    ratio : float, optional
        Characters of the target for one of the source. By default the median over the documents, weighted by
        their lengths, so that documents with large parts missing do not count.
    variance : float, default 6.8
        Of the target's length, for each character.
    skip : float, default 0.01
        Prior probability that a sentence has no counterpart. It does not depend on the sentence's length, so that
        parts that are missing from one side of comparable documents are passed over.
    band : int, default 64
        Cells computed on each side of the diagonal at first; doubled for a document whose best path comes into
        the outer quarter of the band. Documents of up to this many sentences are aligned exactly; longer ones take
        memory in proportion to sentences times band.
    n_threads : int or None

    Returns
    -------
    SentenceAlignment
        The same for any number of threads.

    Examples
    --------
    >>> from semproj.alignment import align_sentences
    >>> found = align_sentences(
    ...     ["One short sentence. Then one that is much longer than it. The end."],
    ...     ["Una frase corta. Luego una que es mucho más larga que ella. Fin."],
    ... )
    >>> found.beads.tolist()
    [[0, 0, 1, 0, 1], [0, 1, 2, 1, 2], [0, 2, 3, 2, 3]]
    >>> next(found.pairs())
    ('One short sentence.', 'Una frase corta.')
    """
    threads = resolve_threads(n_threads)
    variance = check_real(variance, "variance", low=1e-6)
    skip = check_real(skip, "skip", low=1e-12, high=1.0)
    band = check_integer(band, "band", low=1)
    if ratio is not None:
        ratio = check_real(ratio, "ratio", low=1e-3, high=1e3)
    source = _sentences(source_documents, "source_documents")
    target = _sentences(target_documents, "target_documents")
    if len(source) != len(target):
        raise ValueError(
            f"target_documents: expected {len(source)}, as many as source_documents, got {len(target)}"
        )
    source_starts, source_lengths = _lengths(source)
    target_starts, target_lengths = _lengths(target)
    if ratio is None:
        ratio = _usual_ratio(source, target)
    found = _core.align_lengths(
        source_starts, source_lengths, target_starts, target_lengths, ratio, variance, skip, band, threads
    )
    return SentenceAlignment(source, target, found.beads, found.scores)


def _sentences(documents: Any, name: str) -> list[list[str]]:
    if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
        raise TypeError(f"{name}: expected an iterable of documents, got {type(documents).__name__}")
    result = []
    for i, document in enumerate(documents):
        if isinstance(document, str):
            result.append(split_sentences(document))
        elif isinstance(document, Sequence) and all(isinstance(sentence, str) for sentence in document):
            result.append(list(document))
        else:
            raise TypeError(f"{name}[{i}]: expected str or a list of str, got {type(document).__name__}")
    return result


def _usual_ratio(source: list[list[str]], target: list[list[str]]) -> float:
    characters = np.array(
        [[sum(map(len, document)) for document in side] for side in (source, target)], np.float64
    )
    a, b = characters[:, (characters > 0).all(axis=0)]
    if not len(a):
        return 1.0
    order = np.argsort(b / a, kind="stable")
    half = np.searchsorted(np.cumsum((a + b)[order]), (a + b).sum() / 2)
    middle = order[half]
    return float(np.clip(b[middle] / a[middle], 1e-3, 1e3))


def _lengths(documents: list[list[str]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    counts = np.fromiter(map(len, documents), np.int64, len(documents))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    lengths = np.fromiter(map(len, chain.from_iterable(documents)), np.int32, int(starts[-1]))
    return starts, lengths
