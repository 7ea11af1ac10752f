"""Text for training, sentences or files of them, to numbers of words: compiled loops read it."""

from __future__ import annotations

import gzip
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._common.files import PathLike, open_binary
from .._common.resources import half_of_memory
from .._common.types import Array
from .._core import lm as _core
from .._core import take_batch
from ._model import as_sentences
from ._sentences import NumberedText
from ._vocabulary import BEGIN, END, Vocabulary

BLOCK = 1 << 22  # bytes of a file, or characters of sentences, that are taken at a time
_BOM = b"\xef\xbb\xbf"


class RawText(NamedTuple):
    """A text in the numbers of its own words."""

    text: NumberedText
    words: Vocabulary

    def vocabulary(self, sentences: Array, min_count: int) -> Vocabulary:
        """The words that are so often in these sentences."""
        counts = np.bincount(self.text.take(sentences).ids, minlength=len(self.words)).tolist()
        return Vocabulary.from_counts(
            {word: n for word, n in zip(self.words, counts, strict=True) if n >= min_count}
        )

    def numbered_by(self, vocabulary: Vocabulary) -> NumberedText:
        """The same text in the numbers of another vocabulary."""
        numbers = np.array([vocabulary[word] for word in self.words], np.int32)
        return NumberedText(numbers[self.text.ids], self.text.starts)


def read_text(
    sentences: Any,
    files: Any,
    *,
    n_threads: int,
    min_count: int = 1,
    ends: bool = False,
    name: str = "sentences",
) -> RawText:
    """Number the words of all sentences, by falling count.

    Those that come less often than `min_count` are unknown. With `ends`, each sentence has its end as last word.
    """
    check_given(sentences, files)
    reading = _core.TextReading(False, half_of_memory(), tempfile.gettempdir(), n_threads, name)
    chosen = read_words(reading, sentences, files, min_count, name=name)
    if reading.n_sentences == 0:
        raise ValueError(f"{name if files is None else 'files'}: expected at least one sentence")
    return RawText(NumberedText(*reading.numbers(ends)), Vocabulary.from_arrays(chosen.text, chosen.offsets))


def check_given(sentences: Any, files: Any) -> None:
    """A text comes from one of the two."""
    if (sentences is None) == (files is None):
        raise ValueError("sentences: expected sentences, or files=, and not both")


def read_words(
    reading: _core.TextReading,
    sentences: Any,
    files: Any,
    min_count: int,
    max_words: int = -1,
    vocabulary: list[str] | None = None,
    *,
    name: str = "sentences",
    block: int = BLOCK,
    hint: str = "",
    seen: Callable[[int], object] = lambda n_words: None,
) -> _core.ChosenWords:
    """Read all that there is, and choose the words. `seen` is told of so many words more, now and then."""
    paths = None if files is None else _checked_files(files)
    with _located(paths, name, hint):
        if paths is None:
            steps = _add_sentences(reading, sentences, block, name)
        else:
            steps = _add_files(reading, paths, block)
        known = 0
        for _ in steps:
            seen(reading.n_words - known)
            known = reading.n_words
        reading.end_text()
        seen(reading.n_words - known)
        return reading.choose(min_count, max_words, vocabulary)


def _add_sentences(reading: _core.TextReading, sentences: Any, block: int, name: str) -> Iterator[None]:
    iterator = iter(as_sentences(sentences, name))
    while batch := take_batch(iterator, block, block // 16):
        reading.add_sentences(batch)
        yield


def _checked_files(files: Any) -> list[PathLike]:
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    if isinstance(paths, (bytes, Mapping)) or not isinstance(paths, Iterable):
        raise TypeError(f"files: expected paths, got {type(files).__name__}")
    paths = list(paths)
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"files: expected paths, got {type(path).__name__}")
    if not paths:
        raise ValueError("files: expected at least one")
    return paths


def _add_files(reading: _core.TextReading, paths: list[PathLike], block: int) -> Iterator[None]:
    buffer = bytearray(block)
    whole = memoryview(buffer)
    for path in paths:
        with open_binary(path) as file:
            last, is_first = b"\n", True
            while n := _read_into(file, whole, path):
                begin = len(_BOM) if is_first and bytes(whole[: len(_BOM)]) == _BOM else 0
                is_first = False
                reading.add_bytes(whole[begin:n])
                last = bytes(whole[n - 1 : n])
                yield
        if last != b"\n":
            reading.add_bytes(b"\n")


def _read_into(file: Any, buffer: memoryview, path: PathLike) -> int:
    try:
        return int(file.readinto(buffer))
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path}: the file is damaged: {error}") from error


@contextmanager
def _located(paths: list[PathLike] | None, name: str, hint: str) -> Iterator[None]:
    """Say in which line of which file it is what a text must not have: looked for only then."""
    try:
        yield
    except _core.CorpusError as error:
        hint = "" if "UTF-8" in str(error) else hint
        for path in paths or ():
            with open_binary(path) as file:
                for number, line in enumerate(file, 1):
                    if (what := _wrong_in(line, str(error))) is not None:
                        raise ValueError(f"{path}, line {number}: {what}{hint}") from None
        where = name if paths is None else "files"
        raise ValueError(f"{where}{str(error).removeprefix('sentences')}{hint}") from None


def _wrong_in(line: bytes, message: str) -> str | None:
    """What is wrong with a line, if it is what the message is about."""
    try:
        words = line.decode("utf-8-sig").encode().split()
    except UnicodeDecodeError as error:
        return f"not valid UTF-8 ({error})" if "UTF-8" in message else None
    is_there = any(marker in words for marker in (BEGIN.encode(), END.encode()))
    return message.partition(": ")[2] if is_there and "UTF-8" not in message else None
