"""Lines and columns of the data folder's text files, plain or compressed; errors name file and line."""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDNET_ARCHIVE = "wordnet30.tar.xz"  # its own files, which papers of two families read


class MissingFile(Exception):
    """The data folder does not have a file; the message names it."""


def require(*paths: Path) -> None:
    """Raise before anything is read if one of the files is not there."""
    for path in paths:
        if not path.is_file():
            raise MissingFile(f"{path} is missing")


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; a byte order mark is not part of the first."""
    number = 0
    opened = lzma.open if path.suffix == ".xz" else open
    try:
        # Only \n ends a line: U+2028 and the like may stand inside a text.
        with opened(path, "rt", encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise MissingFile(f"{path} is missing") from None
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}, after line {number}: the file is damaged: {error}") from error


def read_table(path: Path, columns: Sequence[str], *, header: bool = False) -> Iterator[list[str]]:
    """The columns of each line, which tabs separate; the first line may only name them."""
    for number, line in read_lines(path):
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise ValueError(f"{path}, line {number}: expected {', '.join(columns)}, got {len(fields)} columns")
        if not (header and number == 1):
            yield fields


def number_of(text: str, path: Path, name: str) -> float:
    """A number of a file, or an error that names file and column."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{path}: expected numbers for {name}, got {text!r}") from None


def evenly(items: list[Any], n: int | None) -> list[Any]:
    """At most `n` of them, at even distances: files are ordered by date, name or origin."""
    if n is None or n >= len(items):
        return items
    return [items[i] for i in np.linspace(0, len(items) - 1, n).round().astype(int)]
