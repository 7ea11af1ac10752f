"""From sentences, or files of them, to the n-grams of a model: which words there are, what counts, who is told."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .._common.base import progress_bar
from .._common.config import log
from .._common.resources import half_of_memory, resolve_threads
from .._common.types import Array
from .._common.validation import check_choice, check_integer
from .._core import lm as _core
from ._reading import BLOCK, check_given, read_words
from ._vocabulary import SPECIAL

MAX_ORDER = 6
_LEAST_MEMORY = 1 << 20


class DiscountWarning(UserWarning):
    """The counts of counts of a text, which may be small or unusual, give no discount of their own."""


class Settings(NamedTuple):
    """The parameters of a training, checked."""

    order: int
    smoothing: str
    min_counts: list[int]
    katz_k: int
    min_count: int
    max_words: int
    vocabulary: list[str] | None
    markers: str
    max_memory: int
    temp_dir: str
    n_threads: int
    progress: bool


class Trained(NamedTuple):
    """What a training found beside the n-grams: words and where they begin, counts, discounts."""

    text: Array
    offsets: Array
    word_counts: Array
    ngram_counts: list[int]
    discounts: list[list[float]]
    fallen_back: list[int]
    n_words: int
    n_sentences: int


def check_settings(model: Any) -> Settings:
    """The parameters of an `NGramLM`."""
    order = check_integer(model.order, "order", low=1, high=MAX_ORDER)
    check_choice(model.smoothing, "smoothing", ("kneser_ney", "good_turing"))
    check_choice(model.markers, "markers", ("error", "unknown"))
    max_words = -1 if model.max_words is None else check_integer(model.max_words, "max_words", low=1)
    if model.max_memory is None:
        memory = max(half_of_memory(), _LEAST_MEMORY)
    else:
        memory = check_integer(model.max_memory, "max_memory", low=_LEAST_MEMORY)
    vocabulary = None if model.vocabulary is None else _checked_words(model.vocabulary)
    min_count = check_integer(model.min_count, "min_count", low=1)
    if vocabulary is not None and min_count > 1:
        raise ValueError(f"min_count: chooses words, but vocabulary has them; expected 1, got {min_count}")
    return Settings(
        order,
        model.smoothing,
        _checked_min_counts(model.min_counts, order),
        check_integer(model.katz_k, "katz_k", low=1, high=60),
        min_count,
        max_words,
        vocabulary,
        model.markers,
        memory,
        _checked_folder(model.temp_dir),
        resolve_threads(model.n_threads),
        bool(model.progress),
    )


def _checked_min_counts(min_counts: Any, order: int) -> list[int]:
    """One for each order: the last goes on for higher ones."""
    if min_counts is None:
        return [1] * order
    if isinstance(min_counts, (str, bytes)) or not isinstance(min_counts, Sequence):
        raise TypeError(f"min_counts: expected a sequence of integers, got {min_counts!r}")
    if not 1 <= len(min_counts) <= order:
        raise ValueError(f"min_counts: expected 1 to {order} of them, one an order, got {len(min_counts)}")
    found = [check_integer(each, f"min_counts[{i}]", low=1) for i, each in enumerate(min_counts)]
    if found[0] != 1:
        raise ValueError(f"min_counts[0]: expected 1, got {found[0]}; min_count leaves out words")
    for i, (before, here) in enumerate(itertools.pairwise(found), start=1):
        if here < before:
            raise ValueError(f"min_counts[{i}]: expected at least {before}, as for the order below, got {here}")
    return found + found[-1:] * (order - len(found))


def _checked_words(vocabulary: Any) -> list[str]:
    if isinstance(vocabulary, (str, bytes)) or not isinstance(vocabulary, Iterable):
        raise TypeError(f"vocabulary: expected an iterable of words, got {type(vocabulary).__name__}")
    words = list(vocabulary)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"vocabulary: expected str, got {type(word).__name__}")
        try:
            is_word = len(word.encode().split()) == 1 and word.strip(" \t\n\r\v\f") == word
        except UnicodeEncodeError:
            is_word = False
        if not is_word:
            raise ValueError(f"vocabulary: expected words without white space, got {word!r}")
    known = [word for word in words if word not in SPECIAL]
    if len(set(known)) < len(known):
        twice = next(word for i, word in enumerate(known) if word in known[:i])
        raise ValueError(f"vocabulary: {twice!r} comes twice")
    return known


def _checked_folder(folder: Any) -> str:
    if folder is None:
        return tempfile.gettempdir()
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"temp_dir: expected a path or None, got {folder!r}")
    path = os.fsdecode(folder)
    if not os.path.isdir(path):
        raise FileNotFoundError(f"temp_dir: expected a folder, got {path!r}")
    return path


def train(settings: Settings, sentences: Any, files: Any, sink: _core.NGramSink) -> Trained:
    """Hand all n-grams of a model to a sink. The text is read once."""
    check_given(sentences, files)
    start = time.monotonic()
    training = _core.NGramTraining(
        settings.order,
        settings.smoothing == "kneser_ney",
        settings.katz_k,
        settings.min_counts,
        settings.markers == "unknown",
        settings.max_memory,
        settings.temp_dir,
        settings.n_threads,
    )
    with progress_bar(settings.progress, "NGramLM", None, "word", unit_scale=True) as bar:

        def begin(step: str) -> None:
            speed = training.n_words / max(time.monotonic() - start, 1e-9)
            bar.set_postfix(step=step, words_per_second=f"{speed:.3g}")
            log.debug("NGramLM: %s, %d words, %.3g words a second", step, training.n_words, speed)

        chosen = read_words(
            training,
            sentences,
            files,
            settings.min_count,
            settings.max_words,
            settings.vocabulary,
            block=max(min(BLOCK, settings.max_memory // 64), 1 << 12),
            hint='; markers="unknown" takes it as an unknown word',
            seen=bar.update,
        )
        if training.n_words == 0:
            raise ValueError(f"{'sentences' if files is None else 'files'}: expected at least one word")
        begin("sort")
        training.sort()
        begin("count")
        training.count()
        for order in range(1, settings.order + 1):
            begin(f"order {order}")
            training.smooth(order, sink)
        begin("last order")
        training.finish(sink)
        begin("done")
    return Trained(
        chosen.text,
        chosen.offsets,
        chosen.counts,
        training.counts,
        training.discounts,
        training.fallen_back,
        training.n_words,
        training.n_sentences,
    )


def warn_of_discounts(smoothing: str, fallen_back: Sequence[int], stacklevel: int) -> None:
    """Say for which orders something else was taken."""
    if not fallen_back:
        return
    orders = ", ".join(map(str, fallen_back))
    taken = "0.5, 1 and 1.5 are taken" if smoothing == "kneser_ney" else "some counts are left as they are"
    what = f"sentences: the counts give no discounts for n-grams of order {orders}, as those of small texts"
    warnings.warn(f"{what}; {taken} (see discounts_)", DiscountWarning, stacklevel=stacklevel + 1)
