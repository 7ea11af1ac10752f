"""Split text into sentences, and align those of a document with those of its translation by their lengths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _core
from ._common.files import where_undecodable
from ._common.resources import resolve_threads
from ._common.validation import as_documents, check_integer, check_real

__all__ = ["SentenceAlignment", "align_sentences", "split_sentences"]

SentenceDocument: TypeAlias = "str | Sequence[str]"

# A sentence may end after punctuation and closing quotes before a space (ideographic marks need no space), at the
# end of a line, and before a bullet.
_END = re.compile(
    r"(?P<stop>[.!?…]+[\"'’”»)\]]*\s+)|[。！？]+[”’」』）]*\s*|\s*[\r\n\v\f\x85\u2028\u2029]\s*|\s+(?=[-*•‣◦▪·]\s)"
)


def split_sentences(text: str) -> list[str]:
    """Cut a text into sentences.

    A sentence ends at ``. ! ? …`` (and the quotes or brackets that follow) before a space, unless the next
    character is a lower-case letter; at ``。！？``; at the end of a line; and before a bullet (``- * • ‣ ◦ ▪ ·``
    between spaces). There are no lists of abbreviations: the alignment joins what was cut too often.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        Without the white space around them; none is empty.

    Examples
    --------
    >>> from semproj.alignment import split_sentences
    >>> split_sentences('At 9 a.m. it began. "Really?" Yes: - one - two')
    ['At 9 a.m. it began.', '"Really?"', 'Yes:', '- one', '- two']
    """
    ends = [
        match.end()
        for match in _END.finditer(text)
        if match.lastgroup != "stop" or not text[match.end() : match.end() + 1].islower()
    ]
    sentences = (text[begin:end].strip() for begin, end in zip([0, *ends], [*ends, len(text)], strict=True))
    return [sentence for sentence in sentences if sentence]


@dataclass(frozen=True)
class SentenceAlignment:
    """The sentences of documents and their translations, and which of them belong together.

    Attributes
    ----------
    source, target : list of list of str
        The sentences of each document.
    beads : int64 array of shape (n_beads, 5)
        A bead joins a few source sentences to a few target sentences: the document, the first and the end of the
        source sentences, the first and the end of the target sentences, counted within the document. One of the
        two ranges is empty where a sentence has no counterpart.
    scores : float32 array of shape (n_beads,)
        How well the lengths agree: minus half the squared difference in standard deviations, so 0 is a perfect fit
        and -8 is four deviations off. A sentence without a counterpart has ``log(skip_probability)``.
    """

    source: list[list[str]]
    target: list[list[str]]
    beads: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.beads)

    def pairs(self, min_score: float | None = None) -> Iterator[tuple[str, str]]:
        """Yield both texts of each bead that has two and scores at least `min_score`; None takes any score."""
        for (document, a, b, c, d), score in zip(self.beads.tolist(), self.scores.tolist(), strict=True):
            if a < b and c < d and (min_score is None or score >= min_score):
                yield " ".join(self.source[document][a:b]), " ".join(self.target[document][c:d])


def align_sentences(
    source_documents: Iterable[SentenceDocument],
    target_documents: Iterable[SentenceDocument],
    *,
    ratio: float | None = None,
    variance: float = 6.8,
    skip_probability: float = 0.01,
    band: int = 64,
    n_threads: int | None = None,
) -> SentenceAlignment:
    """Align the sentences of documents and their translations, in order, by their lengths in characters.

    This finds the least costly sequence of beads 1-1, 1-0, 0-1, 2-1, 1-2 and 2-2 (after Gale and Church 1993).
    Where one side has a single sentence, the whole pair is one bead.

    Parameters
    ----------
    source_documents, target_documents : iterables of str or of lists of str
        Document i of one is the translation of document i of the other. A text is cut by :func:`split_sentences`;
        a list holds the sentences of a document.
    ratio : float or None, default None
        How many characters of the target translate one of the source. None takes the median over the documents,
        weighted by their lengths, which documents with large parts missing do not move.
    variance : float, default 6.8
        Variance of the target's length, for each of its characters.
    skip_probability : float, default 0.01
        Prior probability that a sentence has no counterpart. It does not depend on the sentence's length, so that
        long parts that one side of comparable documents lacks are skipped.
    band : int, default 64
        How many cells on each side of the diagonal are computed at first. The band is doubled for a document whose
        best path comes into its outer quarter. Documents of up to `band` sentences are aligned exactly; longer
        ones take memory in proportion to sentences times `band`.
    n_threads : int or None

    Returns
    -------
    SentenceAlignment
        It is the same for any number of threads.

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
    skip_probability = check_real(skip_probability, "skip_probability", low=1e-12, high=1.0)
    band = check_integer(band, "band", low=1)
    if ratio is not None:
        ratio = check_real(ratio, "ratio", low=1e-3, high=1e3)
    source = _sentences(source_documents, "source_documents")
    target = _sentences(target_documents, "target_documents")
    if len(source) != len(target):
        raise ValueError(f"target_documents: expected {len(source)} like source_documents, got {len(target)}")
    if ratio is None:
        ratio = _usual_ratio(source, target)
    band = min(band, max([1, *map(len, source), *map(len, target)]))  # a wider one would not see more
    found = _core.align_lengths(
        *_lengths(source), *_lengths(target), ratio, variance, skip_probability, band, threads
    )
    return SentenceAlignment(source, target, found.beads, found.scores)


def _sentences(documents: Any, name: str) -> list[list[str]]:
    documents = as_documents(documents, name)
    try:
        return [_sentences_of(document, f"{name}[{i}]") for i, document in enumerate(documents)]
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: {where_undecodable(documents, error) or error}") from error


def _sentences_of(document: Any, name: str) -> list[str]:
    if isinstance(document, str):
        return split_sentences(document)
    if isinstance(document, Sequence) and all(isinstance(sentence, str) for sentence in document):
        return list(document)
    raise TypeError(f"{name}: expected str or a list of str, got {type(document).__name__}")


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
