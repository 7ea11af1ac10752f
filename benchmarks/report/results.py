"""The tables of results: our numbers and, in parentheses, those that the papers print."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from numbers import Real
from pathlib import Path
from types import NoneType
from typing import Any

from benchmarks.report.layouts import LAYOUTS, Layout, Place
from benchmarks.report.pages import cells_of, read_json, table_head, table_line

SPLIT = "dev"  # what the page is about
MOST_DECIMALS = 4

ROW = {"table": str, "dataset": str, "row": str, "metric": str, "ours": Real, "paper": (Real, NoneType)}
Rows = dict[Place, dict[str, Any]]
Cells = dict[tuple[str, str, str], str]  # by caption, row and column


def marker(paper: str) -> str:
    return f"results {paper}"


def read_results(files: Sequence[Path]) -> dict[str, Rows]:
    """Rows of each paper; where several files have one, that of the last."""
    found: dict[str, Rows] = {}
    for file in files:
        result = read_json(file, "benchmarks.papers", {"paper": str, "split": str}, ROW)
        paper, split = result["paper"], result["split"]
        if paper not in LAYOUTS:
            raise ValueError(f"{file}: expected one of the papers {', '.join(LAYOUTS)}, got {paper!r}")
        if split != SPLIT:
            raise ValueError(f"{file}: expected results on {SPLIT}, which the page is about, got {split}")
        rows = found.setdefault(paper, {})
        for row in result["rows"]:
            rows[row["table"], row["dataset"], row["row"], row["metric"]] = row
    return found


def results_tables(paper: str, rows: Rows, before: str = "") -> str:
    """The tables of a paper in Markdown; cells that the rows do not have are as in `before`, or empty."""
    known = _cells_of(before)
    tables = [_table(layout, rows, known) for layout in LAYOUTS[paper]]
    return "\n\n".join(table for table in tables if table)


def _table(layout: Layout, rows: Rows, known: Cells) -> str:
    """A caption and its table, without rows that have no number; nothing if none has."""
    lines = []
    for title, name in layout.rows.items():
        cells = []
        for column, of in layout.columns.items():
            row = rows.get(layout.place(name, of))
            kept = known.get((layout.caption, title, column), "")
            cells.append(kept if row is None else shown(row, layout.decimals))
        if any(cells):
            lines.append(table_line([title, *cells]))
    if not lines:
        return ""
    return "\n".join([f"**{layout.caption}**", "", table_head([layout.corner, *layout.columns]), *lines])


def shown(row: dict[str, Any], decimals: int) -> str:
    """Our number, with its spread if there is one, and the published number in parentheses."""
    spread, digits = row.get("spread"), decimals
    if spread:  # digits below the first of the spread would say nothing
        digits = max(decimals, min(MOST_DECIMALS, -floor(log10(spread))))
    text = f"{row['ours']:.{digits}f}"
    if spread is not None:
        text += f" ± {spread:.{digits}f}"
    return text if row["paper"] is None else f"{text} ({_as_printed(row['paper'], decimals)})"


def _as_printed(number: float, decimals: int) -> str:
    """All digits that the paper has, with zeros that a float drops."""
    return f"{number:.{max(decimals, len(str(number).partition('.')[2]))}f}"


def _cells_of(block: str) -> Cells:
    """What is in tables that were written before."""
    cells: Cells = {}
    caption, columns = "", []
    for line in block.splitlines():
        if line.startswith("**"):
            caption, columns = line.strip("*"), []
        values = cells_of(line)
        if values and not columns:
            columns = values[1:]
        elif values:
            cells |= {(caption, values[0], column): v for column, v in zip(columns, values[1:], strict=False)}
    return cells
