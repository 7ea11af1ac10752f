"""Tables 1 to 3 and Figures 3 and 4 of Platt, Toutanova and Yih: Translingual Document Representations from
Discriminative Projections, EMNLP 2010.

Retrieval (Tables 1 and 2): each document looks for its partner among all documents of the other language, both
directions averaged, ties counted as errors. Classification (Table 3): the label of the nearest English training
document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.papers.crosslingual import METHODS, Method, Space
from benchmarks.papers.crosstasks import (
    Book,
    Classification,
    Group,
    Result,
    Retrieval,
    Task,
    measure_folders,
    read_folder,
)
from benchmarks.papers.figures import draw_curves
from benchmarks.papers.platt2010_figures import PUBLISHED, figure_of, setting_of
from benchmarks.papers.registry import Options, Paper
from benchmarks.papers.tables import Report
from benchmarks.papers.topicmodels import MAX_SWEEPS

DATASETS = ("europarl", "europarl-25", "mdn", "debian")
DROP_TOP, TERMS = 50, 20_000  # of all languages together: Tables 1 and 2
CLASSIFIED_TERMS = 10_000  # of each language: Table 3
CUT_WORDS = 25
BOOK = Book(setting_of, figure_of)

TITLES = {
    "1": "retrieval of parallel documents",
    "2": "retrieval of comparable documents",
    "3 English": "classification, trained on English, tested on English",
    "3 Italian": "classification, trained on English, tested on Italian",
}
NOTES = (
    "the paper's figures are of its test sets and are printed beside other data: europarl has its years of dev "
    "and test but other years of training, and no short speeches or duplicates, which makes it easier; mdn "
    "(en-fr) stands in for Wikipedia and debian (en-it, sections) for the Reuters collection (both en-es); "
    "debian's retrieval and europarl-25, the first 25 words of each evaluated document, have no paper's figure",
    "JPLSA and CPLSA: topics over merged vocabularies, one iteration of fold-in, L1 distance; of up to "
    f"{MAX_SWEEPS} sweeps as many as are best on whole documents of dev",
    "WordByWord is learned from each dataset's own training pairs, in the paper always from Europarl's sentences",
)


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("platt2010", options.split, titles=TITLES, notes=list(NOTES))
    for results in measure_folders(report, METHODS, DATASETS, _groups, BOOK, options):
        _draw(report, results, options)
    return report


def _groups(folder: str, names: Sequence[str], methods: Sequence[Method], options: Options) -> Iterator[Group]:
    """The tasks of a folder, made one group at a time so that only one vocabulary is in memory."""
    read = read_folder(folder, methods, options)
    train, held_out = read.train, read.held_out
    folding = {"lowercase": options.lowercase}
    dev = None if read.dev is None else read.dev.texts
    space = Space(train.texts, drop_top=DROP_TOP, terms=options.terms or TERMS, dev=dev, **folding)
    table, figure = {"europarl": ("1", 3), "mdn": ("2", 4), "debian": ("2", None)}[folder]
    tasks: list[Task] = []
    for name in names:
        cut = name != folder
        counts = space.count_all((held_out.cut(CUT_WORDS) if cut else held_out).texts)
        tasks.append(Retrieval(table, name, counts, None if cut else figure))
    yield Group(space, tasks, list(methods))
    if train.labels is None or held_out.labels is None:
        return
    terms = options.terms or CLASSIFIED_TERMS
    known, labels = np.array(train.labels), np.array(held_out.labels)
    # The vocabularies are completely separate, except for the translation: it maps one vocabulary to itself.
    for separate, n_terms in ((True, terms), (False, 2 * terms)):
        fitting = [m for m in methods if m.separable == separate and m.row in PUBLISHED["3"]]
        if fitting:
            space = Space(train.texts, separate=separate, terms=n_terms, **folding)
            task = Classification("3", folder, space.count_all(held_out.texts), known, labels)
            yield Group(space, [task], fitting)


def _draw(report: Report, results: Sequence[Result], options: Options) -> None:
    here = [result for result in results if result.task.figure is not None]
    curves = {result.row: result.curve for result in here if len(result.curve) > 1}
    if options.figures is None or not curves:
        return
    task = here[0].task
    path = options.figures / f"{report.paper}-figure{task.figure}-{report.split}.png"
    levels = {result.row: result.task.score(result.outcomes) for result in here if result.row not in curves}
    try:
        draw_curves(
            path,
            f"Figure {task.figure}: the partner's mean reciprocal rank, {task.dataset}",
            curves,
            levels,
            ylabel="MRR, both directions",
            source=f"{report.split}, {task.counts[0].shape[0]} pairs; at the right, the best of each line",
        )
    except ModuleNotFoundError as error:
        report.skip(f"figure {task.figure}: left out, {error}; install the extra `plot`")
    else:
        report.notes.append(f"figure {task.figure}: {path}")


PAPER = Paper(
    title="Platt, Toutanova and Yih 2010, Translingual Document Representations from Discriminative Projections",
    rows=tuple(method.row for method in METHODS),
    datasets=DATASETS,
    run=run,
)
