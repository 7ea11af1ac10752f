"""Rows of a paper's tables, ours beside the published ones: for people as text, for programs as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIELDS = ("table", "dataset", "row", "metric", "ours", "paper", "seconds")
OPTIONAL = ("spread", "curve")
SLICE_NOTE = "a slice of the data or of the dimensions: not the results to quote"


def say(text: str) -> None:
    """How a run goes, beside its result."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Row:
    """One number of ours and the published one, `paper`, if there is one.

    `setting` and `best` are printed only: the JSON is the same for every paper.

    `spread` is the standard deviation over the runs that `ours` is the mean of, `curve` the values that `ours` is
    the last of; only then they are in the JSON.
    """

    table: str
    dataset: str
    row: str
    metric: str
    ours: float
    paper: float | None
    seconds: float
    setting: str = ""
    best: bool = False
    spread: float | None = None
    curve: tuple[float, ...] | None = None


@dataclass
class Report:
    """What a run has found: rows, the titles of their tables, and what to know when reading them."""

    paper: str
    split: str
    rows: list[Row] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def skip(self, message: str) -> None:
        """Say, now and below the tables, that something is left out, and why."""
        say(message)
        self.notes.append(message)

    def as_json(self) -> dict[str, Any]:
        rows = []
        for row in self.rows:
            optional = {name: getattr(row, name) for name in OPTIONAL if getattr(row, name) is not None}
            rows.append({name: getattr(row, name) for name in FIELDS} | optional)
        return {"paper": self.paper, "split": self.split, "rows": rows}


def write_json(report: Report, path: Path) -> None:
    """Write the JSON beside its place and rename it, so that a file that is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(json.dumps(report.as_json(), indent=1, allow_nan=False) + "\n", "utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def render(report: Report) -> str:
    """Every table with our numbers and the published ones in neighbouring columns."""
    parts = [_table(report, table) for table in _unique(row.table for row in report.rows)]
    if not parts:
        parts = ["No rows."]
    if any(row.best for row in report.rows):
        parts.append(
            "* of the smallest set significantly better than the rest (unpaired t-tests, Bonferroni, p < 0.05)"
        )
    return "\n\n".join(parts) + "".join(f"\nnote: {note}" for note in report.notes)


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _ours(row: Row) -> str:
    spread = "" if row.spread is None else f"±{row.spread:.4f}"
    return _number(row.ours) + spread + " *"[row.best]


def _table(report: Report, table: str) -> str:
    rows = [row for row in report.rows if row.table == table]
    metrics = _unique(row.metric for row in rows)
    header = ["dataset", "row", "setting"]
    for metric in metrics:
        header += [metric, "paper"]
    lines = [[*header, "seconds"]]
    for dataset, name in dict.fromkeys((row.dataset, row.row) for row in rows):
        found = {row.metric: row for row in rows if (row.dataset, row.row) == (dataset, name)}
        some = next(iter(found.values()))
        line = [dataset, name, some.setting or "-"]
        for metric in metrics:
            row = found.get(metric)
            line += ["- ", "-"] if row is None else [_ours(row), _number(row.paper)]
        lines.append([*line, f"{some.seconds:.1f}"])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        cells = [
            cell.ljust(width) if i < 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    text.insert(1, "-" * max(map(len, text)))
    title = report.titles.get(table)
    name = f"Table {table}" if table[0].isdigit() else table
    return "\n".join([f"{name}{': ' + title if title else ''} ({report.split})", *text])
