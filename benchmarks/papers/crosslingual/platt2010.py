"""Tables 1 to 3 and Figures 3 and 4 of Platt, Toutanova and Yih: Translingual Document Representations from
Discriminative Projections, EMNLP 2010.

Retrieval (Tables 1 and 2): each document looks for its partner among all documents of the other language, both
directions averaged, ties counted as errors. Classification (Table 3): the label of the nearest English training
document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from benchmarks.papers.crosslingual.methods import METHODS, CountSpace, Method
from benchmarks.papers.crosslingual.tasks import (
    Classification,
    Reference,
    Retrieval,
    Task,
    TaskGroup,
    draw_curves,
    measure_folders,
    read_folder,
)
from benchmarks.papers.crosslingual.topicmodels import MAX_SWEEPS
from benchmarks.papers.framework.registry import Options, Paper
from benchmarks.papers.framework.tables import Report
from benchmarks.papers.published.common import Setting
from benchmarks.papers.published.platt2010 import PUBLISHED

DATASETS = ("europarl", "europarl-25", "mdn", "debian")
DROP_TOP, TERMS = 50, 20_000  # of all languages together: Tables 1 and 2
CLASSIFIED_TERMS = 10_000  # of each language: Table 3
CUT_WORDS = 25

TITLES = {
    "1": "retrieval of parallel documents",
    "2": "retrieval of comparable documents",
    "3 English": "classification, trained on English, tested on English",
    "3 Italian": "classification, trained on English, tested on Italian",
}
NOTES = (
    "the published numbers are of the paper's test sets and stand beside other data: europarl has its years "
    "of dev and test but other years of training, and no short speeches or duplicates, which makes it easier; mdn "
    "(en-fr) stands in for Wikipedia and debian (en-it, sections) for the Reuters collection (both en-es); "
    "debian's retrieval and europarl-25, the first 25 words of each evaluated document, have no published number",
    "JPLSA and CPLSA: topics over merged vocabularies, one iteration of fold-in, L1 distance; of up to "
    f"{MAX_SWEEPS} sweeps as many as are best on whole documents of dev",
    "WordByWord is learned from each dataset's own training pairs, in the paper always from Europarl's sentences",
)

COMPARABLE = {("1", "europarl"), ("2", "mdn"), ("3", "debian")}  # where a published number can stand beside ours

# Found by --tune on dev: (table, dataset) and row. Where there is nothing, the paper's own setting is used. The
# coupling of CPLSA was chosen on slices of dev. JPLSA was tried with 200 and 500 topics and, on Europarl, with
# 1000: with more it takes more sweeps to leave the start, and ends below. CPLSA was tried with 200, 500 and 1000
# topics on mdn, with 200 and 500 on debian, and has as many as the paper tried at most on Europarl.
_EUROPARL = {
    "OPCA": Setting(2000, 0.1),
    "DDA": Setting(2000, 0.1),
    "CCA": Setting(1500, 1.0),
    "CLLSI": Setting(2000),
    "WordByWord+LSA": Setting(2000),
    "CPLSA": Setting(1000, inf),
    "JPLSA": Setting(200),
    "S2Net": Setting(1000),
}
TUNED: dict[tuple[str, str], dict[str, Setting]] = {
    ("1", "europarl"): _EUROPARL,
    ("1", "europarl-25"): _EUROPARL,
    ("2", "mdn"): {
        "OPCA": Setting(1500, 0.1),
        "DDA": Setting(1500, 0.1),
        "CCA": Setting(1000, 1.0),
        "CLLSI": Setting(2000),
        "WordByWord+LSA": Setting(2000),
        "CPLSA": Setting(200, inf),
        "JPLSA": Setting(200),
        "S2Net": Setting(200),
    },
    ("2", "debian"): {
        "OPCA": Setting(1500, 0.1),
        "DDA": Setting(1500, 0.1),
        "CCA": Setting(1000, 0.1),
        "CLLSI": Setting(1000),
        "WordByWord+LSA": Setting(2000),
        "CPLSA": Setting(500, inf),
        "JPLSA": Setting(200),
        "S2Net": Setting(500),
    },
    ("3", "debian"): {
        "OPCA": Setting(1000, 0.1),
        "DDA": Setting(1000, 0.1),
        "CCA": Setting(1000, 0.1),
        "CLLSI": Setting(1500),
        "WordByWord+LSA": Setting(1500),
    },
}


def setting_of(table: str, dataset: str, row: str) -> Setting:
    """The tuned setting of a row, or the paper's."""
    tuned = TUNED.get((table, dataset), {})
    return tuned[row] if row in tuned else PUBLISHED[table][row].setting


def published_of(table: str, dataset: str, row: str, place: tuple[str, str]) -> float | None:
    """The published number at a place (table and metric as printed), where there is one."""
    return PUBLISHED[table][row].numbers.get(place) if (table, dataset) in COMPARABLE else None


REFERENCE = Reference(setting_of, published_of)


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("platt2010", options.split, titles=TITLES, notes=list(NOTES))
    for results in measure_folders(report, METHODS, DATASETS, _groups, REFERENCE, options):
        draw_curves(report, results, options)
    return report


def _groups(folder: str, names: Sequence[str], methods: Sequence[Method], options: Options) -> Iterator[TaskGroup]:
    """The tasks of a folder, made one group at a time so that only one vocabulary is in memory."""
    read = read_folder(folder, methods, options)
    train, held_out = read.train, read.held_out
    folding = {"lowercase": options.lowercase}
    dev = None if read.dev is None else read.dev.texts
    space = CountSpace(train.texts, drop_top=DROP_TOP, terms=options.terms or TERMS, dev=dev, **folding)
    table, figure = {"europarl": ("1", 3), "mdn": ("2", 4), "debian": ("2", None)}[folder]
    tasks: list[Task] = []
    for name in names:
        cut = name != folder
        counts = space.count_all((held_out.cut(CUT_WORDS) if cut else held_out).texts)
        tasks.append(Retrieval(table, name, counts, None if cut else figure))
    yield TaskGroup(space, tasks, list(methods))
    if train.labels is None or held_out.labels is None:
        return
    terms = options.terms or CLASSIFIED_TERMS
    known, labels = np.array(train.labels), np.array(held_out.labels)
    # The vocabularies are completely separate, except for the translation: it maps one vocabulary to itself.
    for separate, n_terms in ((True, terms), (False, 2 * terms)):
        fitting = [m for m in methods if m.separable == separate and m.row in PUBLISHED["3"]]
        if fitting:
            space = CountSpace(train.texts, separate=separate, terms=n_terms, **folding)
            task = Classification("3", folder, space.count_all(held_out.texts), known, labels)
            yield TaskGroup(space, [task], fitting)


PAPER = Paper(
    title="Platt, Toutanova and Yih 2010, Translingual Document Representations from Discriminative Projections",
    rows=tuple(method.row for method in METHODS),
    datasets=DATASETS,
    run=run,
)
