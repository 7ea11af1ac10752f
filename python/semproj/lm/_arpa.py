"""ARPA files: read and written by compiled loops, piece by piece, also compressed."""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from typing import Any, BinaryIO, cast

from .._common.atomic import replacing
from .._common.config import log
from .._common.files import PathLike, open_binary
from .._common.types import Array
from .._core import lm as _core

_CHUNK = 1 << 22


def read_arpa(path: PathLike, n_threads: int) -> tuple[Array, Array, _core.NGramTables]:
    """The words of a file, where each begins, and its tables."""
    session = _core.ArpaSession(n_threads)
    try:
        with open_binary(path) as file:
            while chunk := file.read(_CHUNK):
                session.feed(chunk)
        tables = session.finish()
        text, offsets = session.text(), session.offsets()
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{os.fspath(path)}: the file is damaged: {error}") from error
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}, {error}") from None
    for word in session.gaps():
        log.warning("%s has no %s: it gets the log probability %d", path, word, -100 if word == "<unk>" else -99)
    return text, offsets, tables


def write_arpa(path: PathLike, store: _core.StoredNGrams, n_threads: int) -> None:
    """Write a model; the file that was there is replaced when all is written."""
    text = _core.ArpaText(store, n_threads)
    with replacing(path) as file, _compressed(file, os.fspath(path)) as out:
        while chunk := text.next():
            out.write(chunk)


class _Plain:
    """A file that is closed by somebody else."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write

    def __enter__(self) -> _Plain:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _compressed(file: BinaryIO, name: str) -> Any:
    if name.endswith(".gz"):
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    if name.endswith(".xz"):
        return cast(Any, lzma.open(file, "wb"))
    return _Plain(file)
