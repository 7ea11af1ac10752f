"""Reads lines of text files, also compressed ones, and tells what it could not read."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, TypeAlias, cast

from .validation import check_choice

PathLike: TypeAlias = "str | os.PathLike[str]"

NOT_UTF8 = "not valid UTF-8"


def open_binary(path: PathLike) -> BinaryIO:
    """Open a file to read its bytes; ``.gz`` and ``.xz`` are unpacked."""
    name = os.fspath(path)
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.open(name, "rb"))
    if name.endswith(".xz"):
        return cast(BinaryIO, lzma.open(name, "rb"))
    return open(name, "rb")


class Problem(NamedTuple):
    """What could not be read, and where."""

    file: str
    line: int
    what: str


def numbered_lines(
    path: PathLike, errors: str = "strict", report: Callable[[int, str], object] | None = None
) -> Iterator[tuple[int, str]]:
    """Lines without their ends, numbered from 1; ``.gz`` and ``.xz`` are unpacked.

    Raises an error for a line that is not UTF-8, or leaves it out and calls `report` with its number.
    """
    check_choice(errors, "errors", ("strict", "replace"))
    number = 0
    with open_binary(path) as file:
        try:
            for number, line in enumerate(file, 1):
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors)
                except UnicodeDecodeError as error:
                    if report is None:
                        raise ValueError(f"{path}, line {number}: {error}") from None
                    report(number, NOT_UTF8)
                    continue
                yield number, text.rstrip("\n").removesuffix("\r")
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise ValueError(f"{path}, after line {number}: the file is damaged: {error}") from error


def where_undecodable(documents: object, error: UnicodeDecodeError) -> str | None:
    """Which line of an open file is not UTF-8, and why. Python says neither, so the file is read once more.

    None if the documents are no file that has a name.
    """
    name = getattr(documents, "name", None)
    if not isinstance(documents, io.TextIOBase) or not isinstance(name, str):
        return None
    try:
        for _ in numbered_lines(name):
            pass
    except ValueError as found:
        return str(found)
    except OSError:
        pass  # it is gone
    return f"{name}: {error}"
