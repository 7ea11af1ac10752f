"""Readers of the data folder: pairs of documents in two languages, some with a label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.papers.framework import files
from benchmarks.papers.framework.files import evenly, read_lines, read_table


@dataclass(frozen=True)
class Layout:
    """How the files of a dataset are called and what is in them: ``{split}.{suffix}``."""

    suffix: str
    languages: tuple[str, str]
    label: str | None = None


LAYOUTS = {
    "europarl": Layout("en-es.tsv.xz", ("en", "es")),
    "mdn": Layout("en-fr.jsonl.xz", ("en", "fr")),
    "debian": Layout("en-it.jsonl.xz", ("en", "it"), label="section"),
}
LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "it": "Italian"}


@dataclass(frozen=True)
class Pairs:
    """Documents of two languages, those of one position belonging together; labels may be absent."""

    texts: tuple[list[str], list[str]]
    labels: list[str] | None = None

    def __len__(self) -> int:
        return len(self.texts[0])

    def take(self, n: int | None) -> Pairs:
        """At most `n` pairs, spread evenly: the files are ordered by date or name."""
        if n is None or n >= len(self):
            return self
        first, second = (evenly(side, n) for side in self.texts)
        return Pairs((first, second), self.labels and evenly(self.labels, n))

    def cut(self, words: int) -> Pairs:
        """The same pairs, of each document the first words only, as white space divides them."""
        first, second = ([" ".join(text.split(maxsplit=words)[:words]) for text in side] for side in self.texts)
        return replace(self, texts=(first, second))


def path_of(data: Path, dataset: str, split: str) -> Path:
    return data / dataset / f"{split}.{LAYOUTS[dataset].suffix}"


def require(data: Path, dataset: str, splits: Sequence[str]) -> None:
    """Raise before anything is read if one of the files is not there."""
    files.require(*(path_of(data, dataset, split) for split in splits))


def read(data: Path, dataset: str, split: str) -> Pairs:
    """All pairs of a split, in the order of the file."""
    layout = LAYOUTS[dataset]
    path = path_of(data, dataset, split)
    wanted = [*layout.languages, *([layout.label] if layout.label else [])]
    if ".tsv" in layout.suffix:
        rows = (fields[1:] for fields in read_table(path, ["id", *layout.languages]))
    else:
        rows = _jsonl(path, wanted)
    columns: tuple[list[str], ...] = tuple([] for _ in wanted)
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    if not columns[0]:
        raise ValueError(f"{path}: expected at least one pair, the file has none")
    return Pairs((columns[0], columns[1]), columns[2] if layout.label else None)


def _jsonl(path: Path, names: list[str]) -> Iterator[list[str]]:
    for number, line in read_lines(path):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
        for name in names:
            if not isinstance(record, dict) or not isinstance(record.get(name), str):
                raise ValueError(f"{path}, line {number}: expected a text in field {name!r}")
        yield [record[name] for name in names]
