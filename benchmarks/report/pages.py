"""Pages in Markdown with markers, their tables, and the JSON files that these are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Kinds: TypeAlias = "dict[str, Any]"  # keys of an object, with what isinstance takes for their values


class Page:
    """A file with ``<!-- name -->`` and ``<!-- end of name -->`` around each thing that is written for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text("utf-8")

    def between(self, name: str) -> str:
        """What is between the markers of a name."""
        start, stop = self._span(name)
        return self.text[start:stop]

    def replace(self, name: str, content: str) -> None:
        """Put other content between the markers."""
        start, stop = self._span(name)
        inside = f"\n\n{content}\n\n" if content else "\n\n"
        self.text = self.text[:start] + inside + self.text[stop:]

    def write(self) -> None:
        self.path.write_text(self.text, "utf-8")

    def _span(self, name: str) -> tuple[int, int]:
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        start = self.text.find(begin)
        stop = self.text.find(end, start)
        if start < 0 or stop < 0:
            raise ValueError(f"{self.path}: expected the lines {begin} and {end}")
        return start + len(begin), stop


def table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table_head(titles: Sequence[str]) -> str:
    return f"{table_line(titles)}\n|{'---|' * len(titles)}"


def cells_of(line: str) -> list[str]:
    """The cells of a table's line; none of another line."""
    line = line.strip()
    return [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("|") else []


def read_json(file: Path, command: str, keys: Kinds, in_rows: Kinds) -> dict[str, Any]:
    """What a command has written: it has these keys, and so has each of its rows, with values of these types."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: not JSON: {error}") from None
    expected = f"{file}: expected a file of `python -m {command} --json`, with"
    if not _has(found, {**keys, "rows": list}):
        raise ValueError(f"{expected} {', '.join([*keys, 'rows'])}")
    if not all(_has(row, in_rows) for row in found["rows"]):
        raise ValueError(f"{expected} {', '.join(in_rows)} in each of its rows")
    result: dict[str, Any] = found
    return result


def _has(found: Any, keys: Kinds) -> bool:
    return isinstance(found, dict) and all(k in found and isinstance(found[k], kind) for k, kind in keys.items())
