"""Queries, documents and grades: nfcorpus (medical articles) and crowdflower (products), in place of ads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.papers.framework.files import number_of, read_lines, read_table, require


@dataclass(frozen=True)
class Graded:
    """Queries of a split, and which documents they were graded with.

    `labels` has rows of a query and of a document and a grade, 0 for the worst; `candidates` the documents that
    each query has to rank, or None: those with a grade.
    """

    queries: list[str]
    labels: np.ndarray
    candidates: np.ndarray | None = None

    @cached_property
    def grades(self) -> np.ndarray:
        """Of queries and candidates, -1 for those that are not to be ranked."""
        query, document, grade = self.labels.T
        missing = -1 if self.candidates is None else 0
        grades = np.full((len(self.queries), len(self.documents)), missing, np.int64)
        grades[query, np.searchsorted(self.documents, document)] = grade
        return grades

    @cached_property
    def documents(self) -> np.ndarray:
        """The columns of `grades`."""
        return np.unique(self.labels[:, 1]) if self.candidates is None else self.candidates


@dataclass(frozen=True)
class Collection:
    """Documents of all splits, and the splits that are learnt from, tuned on and measured."""

    documents: list[str]
    train: Graded
    dev: Graded
    held_out: Graded
    relevant: int  # the least grade of what is relevant


def _paths(folder: Path, patterns: tuple[str, ...], *splits: str) -> list[Path]:
    return [folder / pattern.format(split) for split in dict.fromkeys(splits) for pattern in patterns]


def _nfcorpus(data: Path, split: str) -> Collection:
    """Titles as queries. All documents of a split are to be ranked, those without a grade have 0."""
    folder = data / "nfcorpus"
    names = ("{}.titles.queries.xz", "{}.3-2-1.qrel.xz")
    require(*_paths(folder, names, "train", "dev", split), *_paths(folder, ("{}.docs.xz",), "dev", split))
    texts: dict[str, str] = {}
    own: dict[str, list[str]] = {}
    for name in ("train", *dict.fromkeys(("dev", split))):  # the documents of train are not always there
        path = folder / f"{name}.docs.xz"
        if path.is_file():
            found = dict(read_table(path, ("document", "text")))
            own[name] = list(found)
            texts |= found
    row = {name: i for i, name in enumerate(texts)}

    def graded(name: str) -> Graded:
        queries = dict(read_table(folder / f"{name}.titles.queries.xz", ("query", "text")))
        number = {query: i for i, query in enumerate(queries)}
        path = folder / f"{name}.3-2-1.qrel.xz"
        columns = ("query", "0", "document", "grade")
        labels = [
            (number[query], row[document], int(number_of(grade, path, "grade")))
            for query, _, document, grade in read_table(path, columns)
            if query in number and document in row
        ]
        candidates = None if name not in own else np.sort([row[document] for document in own[name]])
        return Graded(list(queries.values()), np.array(labels, np.int64).reshape(-1, 3), candidates)

    dev = graded("dev")
    return Collection(list(texts.values()), graded("train"), dev, dev if split == "dev" else graded(split), 1)


def _crowdflower(data: Path, split: str) -> Collection:
    """Titles and descriptions as documents. The products that a query was graded with are to be ranked."""
    folder = data / "crowdflower"
    splits = tuple(dict.fromkeys(("train", "dev", split)))
    require(*_paths(folder, ("{}.tsv.xz",), *splits))
    documents: list[str] = []
    graded: dict[str, Graded] = {}
    for name in splits:
        path = folder / f"{name}.tsv.xz"
        queries: dict[str, int] = {}
        labels = []
        for number, line in read_lines(path):
            fields = line.split("\t")
            if len(fields) != 5:
                raise ValueError(f"{path}, line {number}: expected id, query, title, description and grade")
            query = queries.setdefault(fields[1], len(queries))
            labels.append((query, len(documents), int(number_of(fields[4], path, "grade")) - 1))
            documents.append(f"{fields[2]} {fields[3]}")
        graded[name] = Graded(list(queries), np.array(labels, np.int64).reshape(-1, 3))
    return Collection(documents, graded["train"], graded["dev"], graded[split], 2)


READERS: dict[str, Callable[[Path, str], Collection]] = {"nfcorpus": _nfcorpus, "crowdflower": _crowdflower}
