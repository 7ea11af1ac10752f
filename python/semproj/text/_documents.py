"""Read documents from files as streams, and cut any iterable of documents into batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _core
from .._common.files import PathLike, numbered_lines, where_undecodable
from .._common.validation import as_documents


def read_lines(path: PathLike, *, errors: str = "strict") -> Iterator[str]:
    """Stream the documents of a file that has one on each line.

    Parameters
    ----------
    path : path-like
        UTF-8 text; ``.gz`` and ``.xz`` are unpacked while reading.
    errors : {"strict", "replace"}, default "strict"
        Raise an error that names the line for invalid UTF-8, or read it as U+FFFD.

    Yields
    ------
    str
        A line without its end.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.text import read_lines
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.txt")
    ...     _ = path.write_text("one line\\nanother\\n")
    ...     list(read_lines(path))
    ['one line', 'another']
    """
    for _, line in numbered_lines(path, errors):
        yield line


def read_tsv(path: PathLike, column: int, *, errors: str = "strict") -> Iterator[str]:
    """Stream one column of a file of tab-separated values; the first is 0. Otherwise as `read_lines`."""
    if column < 0:
        raise ValueError(f"column: expected 0 or more, got {column}")
    for number, line in numbered_lines(path, errors):
        fields = line.split("\t", column + 1)
        if len(fields) <= column:
            raise ValueError(f"{path}, line {number}: no column {column}, the line has {len(fields)} columns")
        yield fields[column]


def read_jsonl(path: PathLike, field: str, *, errors: str = "strict") -> Iterator[str | list[str]]:
    """Stream one field, a text or a list of tokens, of a file with one JSON object on each line.

    Compressed files and errors are treated as in `read_lines`; empty lines are skipped.
    """
    for number, line in numbered_lines(path, errors):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # of numbers too long, and lists too deep
            raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
        if not isinstance(record, dict) or field not in record:
            raise ValueError(f"{path}, line {number}: no field {field!r}")
        value = record[field]
        tokens = value if isinstance(value, list) else [value]
        if not all(isinstance(token, str) for token in tokens):
            raise ValueError(f"{path}, line {number}: field {field!r} is not a text or a list of texts")
        yield value


def iter_batches(
    documents: Iterable[Any], *, max_characters: int = 1 << 24, max_documents: int = 1 << 16
) -> Iterator[list[Any]]:
    """Cut any iterable of documents into lists of bounded size.

    Parameters
    ----------
    documents : iterable
        Texts or lists of tokens. A frame (of pandas or polars) with one column is that column.
    max_characters : int, default 2**24
        A batch ends with the document that reaches this number; a token of a list counts as 8.
    max_documents : int, default 2**16
        A batch also ends with this many documents.

    Yields
    ------
    list
        It has at least one document.

    Examples
    --------
    >>> from semproj.text import iter_batches
    >>> list(iter_batches(["a", "bc", "def", "g"], max_characters=3))
    [['a', 'bc'], ['def'], ['g']]
    """
    documents = as_documents(documents)
    iterator = iter(documents)
    while batch := _take_batch(iterator, documents, max_characters, max_documents):
        yield batch


def _take_batch(iterator: Iterator[Any], documents: Any, max_characters: int, max_documents: int) -> list[Any]:
    try:
        return _core.take_batch(iterator, max_characters, max_documents)
    except UnicodeDecodeError as error:
        raise ValueError(where_undecodable(documents, error) or f"documents: {error}") from error
