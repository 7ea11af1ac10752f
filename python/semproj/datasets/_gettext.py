"""Gettext catalogs: the messages of .po and .mo files, and their translations."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TypeAlias

Pair: TypeAlias = tuple[str, str]
# msgid, then msgid_plural if there is one; and msgstr, or the plural forms in order
Entry: TypeAlias = tuple[list[str], list[str]]

_MO_MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
_CHARSET = re.compile(rb"content-type:[^\n]*?charset=([\w.:-]+)", re.IGNORECASE)
_PO_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s*(?=\")")
_BYTE_ESCAPES = r"(?:\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3})+"
_PO_ESCAPE = re.compile(rf"{_BYTE_ESCAPES}|\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _entry_pairs(sources: list[str], targets: list[str]) -> Iterator[Pair]:
    """Pair the singular with the first form and the plural with the last; a lone form is the plural's."""
    if not sources or not sources[0]:
        return
    if len(sources) == 1:
        pairs = [(sources[0], targets[0] if targets else "")]
    elif len(targets) > 1:
        pairs = [(sources[0], targets[0]), (sources[1], targets[-1])]
    else:
        pairs = [(sources[1], targets[0] if targets else "")]
    yield from (pair for pair in pairs if all(pair))


def _charset(header: bytes) -> str:
    found = _CHARSET.search(header)
    # "CHARSET" is what the tools leave in a template that nobody has filled in.
    name = found[1].decode("ascii") if found and found[1] != b"CHARSET" else "utf-8"
    try:
        "".encode(name)
    except LookupError:
        raise ValueError(f"file: unknown charset {name!r} in the catalog's header") from None
    return name


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode(charset)
    except UnicodeDecodeError as error:
        raise ValueError(f"file: not valid {charset} at byte {error.start}") from error


def _read_mo(raw: bytes) -> Iterator[Entry]:
    order = _MO_MAGIC[raw[:4]]

    def strings(table: int, count: int) -> Iterator[bytes]:
        for number in range(count):
            length, start = struct.unpack_from(f"{order}II", raw, table + 8 * number)
            if start + length > len(raw):
                raise ValueError("file: truncated .mo catalog")
            yield raw[start : start + length]

    try:
        count, sources_at, targets_at = struct.unpack_from(f"{order}III", raw, 8)
        messages = list(zip(strings(sources_at, count), strings(targets_at, count), strict=True))
    except struct.error:
        raise ValueError("file: truncated .mo catalog") from None
    charset = _charset(next((target for source, target in messages if not source), b""))
    for source, target in messages:
        text = _decode(source, charset).rpartition("\x04")[2]  # a context stands before the separator
        yield text.split("\0"), _decode(target, charset).split("\0")


def _unescape(text: str, charset: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] is not None:
            return _ESCAPED.get(match[1], match[1])
        codes = re.findall(r"\\x([0-9a-fA-F]+)|\\([0-7]+)", match[0])
        return bytes(int(h, 16) if h else int(o, 8) & 255 for h, o in codes).decode(charset, "replace")

    return _PO_ESCAPE.sub(one, text)


def _quoted(text: str, number: int, charset: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise ValueError(f"file: line {number}: expected a quoted string, got {text[:40]!r}")
    return _unescape(text[1:-1], charset)


def _read_po(raw: bytes) -> Iterator[Entry]:
    charset = _charset(raw)
    sources: list[str] = []
    targets: list[str] = []
    strings = sources  # the list whose last string a continuation line extends
    fuzzy = False
    # Not splitlines(): U+2028 and the like may stand inside a string.
    for number, line in enumerate(_decode(raw.removeprefix(b"\xef\xbb\xbf"), charset).split("\n"), start=1):
        line = line.strip(" \t\r\f")
        keyword = _PO_KEYWORD.match(line)
        starts_entry = keyword is not None and keyword[1] in ("msgctxt", "msgid")
        if targets and (starts_entry or line.startswith("#")):
            if not fuzzy:
                yield sources, targets
            sources, targets, fuzzy = [], [], False
        if line.startswith("#,"):
            fuzzy = fuzzy or "fuzzy" in re.split(r"[,\s]+", line[2:])
        if not line or line.startswith("#"):
            continue
        if keyword is None:
            if not strings:
                raise ValueError(f"file: line {number}: not a line of a gettext catalog: {line[:40]!r}")
            strings[-1] += _quoted(line, number, charset)
            continue
        text = _quoted(line[keyword.end() :], number, charset)
        strings = {"msgctxt": [], "msgid": sources, "msgid_plural": sources}.get(keyword[1], targets)
        strings.append(text)
    if targets and not fuzzy:
        yield sources, targets


def read_catalog(file: str | os.PathLike[str] | bytes | IO[bytes]) -> list[Pair]:
    r"""Read the translated messages of a gettext catalog.

    Fuzzy, obsolete and untranslated entries are left out. The singular of a message is paired with the first
    plural form of its translation, and the plural with the last.

    Parameters
    ----------
    file : path-like, bytes or binary file
        A ``.po`` or ``.mo`` catalog; its first bytes tell which.

    Returns
    -------
    list of (str, str)
        Messages and their translations, in the order of the catalog.

    Examples
    --------
    >>> from semproj.datasets import read_catalog
    >>> read_catalog(b'msgid "one\\ttwo"\nmsgstr "uno "\n"dos"\n')
    [('one\ttwo', 'uno dos')]
    """
    if isinstance(file, bytes):
        raw = file
    elif isinstance(file, (str, os.PathLike)):
        raw = Path(file).read_bytes()
    elif hasattr(file, "read"):
        raw = file.read()
    else:
        raise TypeError(f"file: expected a path, bytes or a binary file, got {type(file).__name__}")
    if not isinstance(raw, bytes):
        raise TypeError("file: expected a file opened in binary mode")
    entries = _read_mo(raw) if raw[:4] in _MO_MAGIC else _read_po(raw)
    return [pair for entry in entries for pair in _entry_pairs(*entry)]
