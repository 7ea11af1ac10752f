"""Which papers there are, and what each is given and offers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.papers.framework.tables import Report

# name on the command line: the module, which defines PAPER
PAPERS = {
    "platt2010": "benchmarks.papers.crosslingual.platt2010",
    "yih2011": "benchmarks.papers.crosslingual.yih2011",
    "guo2012": "benchmarks.papers.sentences.guo2012",
    "yih2012": "benchmarks.papers.thesauri.yih2012",
    "chang2013": "benchmarks.papers.thesauri.chang2013",
    "zhang2014": "benchmarks.papers.thesauri.zhang2014",
}


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
    paper: Paper = importlib.import_module(PAPERS[name]).PAPER
    return paper
