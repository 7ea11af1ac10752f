"""Which papers there are, and what each is given and offers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.papers.framework.files import MissingFile
from benchmarks.papers.framework.tables import Report

# name on the command line: the module, which defines PAPER
PAPERS = {
    "platt2010": "benchmarks.papers.crosslingual.platt2010",
    "yih2011": "benchmarks.papers.crosslingual.yih2011",
    "guo2012": "benchmarks.papers.sentences.guo2012",
    "yih2012": "benchmarks.papers.thesauri.yih2012",
    "chang2013": "benchmarks.papers.thesauri.chang2013",
    "zhang2014": "benchmarks.papers.thesauri.zhang2014",
    "zweig2012": "benchmarks.papers.completion.zweig2012",
}


# What a paper has beside it, of another family: modules that define PAPER, for tables of their own
MORE_TABLES = {"yih2011": ("benchmarks.papers.relevance.yih2011_relevance",)}


@dataclass(frozen=True)
class Options:
    """What the command line asks of a paper; None leaves the choice to the paper."""

    data: Path
    split: str = "dev"
    rows: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None
    limit: int | None = None  # training examples
    documents: int | None = None  # evaluated examples
    terms: int | None = None
    dimension: int | None = None  # at most
    seeds: int | None = None
    lowercase: bool = False
    tune: bool = False
    models: Path | None = None  # a folder that keeps fitted models; None keeps none
    plots: Path | None = None  # a folder; None draws nothing

    @property
    def sliced(self) -> bool:
        """Whether the results are of less than the paper's task."""
        return any(size is not None for size in (self.limit, self.documents, self.terms, self.dimension))


@dataclass(frozen=True)
class Paper:
    """A paper's tables: the names that ``--rows`` and ``--datasets`` know, and what makes the report."""

    title: str
    rows: tuple[str, ...]
    datasets: tuple[str, ...]
    run: Callable[[Options], Report]


def load(name: str) -> Paper:
    """Import the module of a paper."""
    if name not in PAPERS:
        raise ValueError(f"paper: expected one of {', '.join(PAPERS)}, got {name!r}")
    parts = [importlib.import_module(module).PAPER for module in (PAPERS[name], *MORE_TABLES.get(name, ()))]
    paper: Paper = parts[0] if len(parts) == 1 else _joined(parts)
    return paper


def _joined(parts: list[Paper]) -> Paper:
    """The tables of all parts, each with those rows and datasets that it has."""

    def run(options: Options) -> Report:
        reports, missing = [], []
        for part in parts:
            asked = replace(
                options, rows=_some(options.rows, part.rows), datasets=_some(options.datasets, part.datasets)
            )
            if asked.rows == () or asked.datasets == ():
                continue
            try:
                reports.append(part.run(asked))
            except MissingFile as error:
                missing.append(error)
        if not reports:
            raise missing[0]
        whole = reports[0]
        for report in reports[1:]:
            whole.rows += report.rows
            whole.titles = whole.titles | report.titles
            whole.notes += [note for note in report.notes if note not in whole.notes]
        for error in missing:
            whole.skip(f"skipped, {error}")
        return whole

    rows, datasets = (
        tuple(dict.fromkeys(name for part in parts for name in getattr(part, names)))
        for names in ("rows", "datasets")
    )
    return Paper(parts[0].title, rows, datasets, run)


def _some(asked: tuple[str, ...] | None, known: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if asked is None else tuple(name for name in asked if name in known)
