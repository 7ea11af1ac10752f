"""Tables 1 to 3 and Figures 3 and 4 of Platt, Toutanova and Yih: Translingual Document Representations from
Discriminative Projections, EMNLP 2010.

Retrieval (Tables 1 and 2): each document looks for its partner among all documents of the other language, both
directions averaged, ties counted as errors. Classification (Table 3): the label of the nearest English training
document. A model is fitted once with the largest dimension that is asked of it; smaller ones are its leading
columns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers import compare, corpora, files
from benchmarks.papers.crosslingual import METHODS, Fitted, Method, Project, Space
from benchmarks.papers.figures import draw_curves
from benchmarks.papers.platt2010_figures import PUBLISHED, Setting, figure_of, setting_of
from benchmarks.papers.registry import Options, Paper
from benchmarks.papers.tables import Report, Row, say

DATASETS = ("europarl", "europarl-25", "mdn", "debian")
DROP_TOP, TERMS = 50, 20_000  # of all languages together: Tables 1 and 2
CLASSIFIED_TERMS = 10_000  # of each language: Table 3
CUT_WORDS = 25
GRID = (20, 50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000)

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
    "WordByWord is learned from each dataset's own training pairs, in the paper always from Europarl's sentences",
)

Outcomes = dict[tuple[str, str], np.ndarray]  # by table and metric, one number for each query


@dataclass
class Retrieval:
    """Find each document's partner in the other language."""

    table: str
    dataset: str
    counts: list[Any]
    figure: int | None = None

    def vectors(self, project: Project, space: Space) -> list[Any]:
        return [project(language, view) for language, view in enumerate(self.counts)]

    def measure(self, vectors: list[Any]) -> Outcomes:
        ranks = np.concatenate(compare.reciprocal_ranks(*vectors))
        return {(self.table, "top1"): (ranks == 1).astype(float), (self.table, "mrr"): ranks}

    def score(self, outcomes: Outcomes) -> float:
        """What is tuned for."""
        return float(outcomes[self.table, "mrr"].mean())


@dataclass
class Classification:
    """Guess the label of documents of either language from those of the English training documents."""

    table: str
    dataset: str
    counts: list[Any]
    known: np.ndarray  # labels of the training documents
    labels: np.ndarray
    figure: int | None = None

    def vectors(self, project: Project, space: Space) -> list[Any]:
        return [
            project(0, space.counts[0]),
            *(project(language, view) for language, view in enumerate(self.counts)),
        ]

    def measure(self, vectors: list[Any]) -> Outcomes:
        known, *tested = vectors
        return {
            (table, "accuracy"): (compare.nearest_labels(known, self.known, rows) == self.labels).astype(float)
            for table, rows in zip(("3 English", "3 Italian"), tested, strict=True)
        }

    def score(self, outcomes: Outcomes) -> float:
        return float(np.mean([values.mean() for values in outcomes.values()]))


Task = Retrieval | Classification


@dataclass
class Result:
    """A row of a task: how it was set, what each query gave, and the score at other dimensions."""

    row: str
    task: Task
    setting: Setting
    outcomes: Outcomes
    seconds: float
    curve: dict[int, float] = field(default_factory=dict)


class Group(NamedTuple):
    """Tasks over one vocabulary, which share the fitted models."""

    space: Space
    tasks: list[Task]
    methods: list[Method]


class Trial(NamedTuple):
    """The dimensions at which a fitted model is measured, and which of them is the row's, if that is known."""

    task: Task
    dimensions: list[int | None]
    chosen: int | None


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("platt2010", options.split, titles=TITLES, notes=list(NOTES))
    asked = [method for method in METHODS if options.rows is None or method.row in options.rows]
    for method in asked:
        if not method.available:
            report.skip(f"{method.row}: skipped, this semproj has no {method.needs}")
    methods = [method for method in asked if method.available]
    for folder in corpora.LAYOUTS:
        names = [name for name in DATASETS if name.partition("-")[0] == folder]
        names = [name for name in names if options.datasets is None or name in options.datasets]
        if not names or not methods:
            continue
        try:
            corpora.require(options.data, folder, ["train", options.split])
        except files.MissingFile as missing:
            report.skip(f"{', '.join(names)}: skipped, {missing}")
            continue
        results = []
        for group in _groups(folder, names, methods, options):
            for method in group.methods:
                results += _results(method, group, options)
        report.rows += _rows(results)
        if options.tune:
            report.notes += [_tuned_line(result) for result in results if result.setting.dimension]
        _draw(report, results, options)
    if options.sliced:
        report.notes.append("a slice of the data or of the dimensions: not the figures to quote")
    return report


def _groups(folder: str, names: Sequence[str], methods: Sequence[Method], options: Options) -> Iterator[Group]:
    """The tasks of a folder, made one group at a time so that only one vocabulary is in memory."""
    say(f"{folder}: reading")
    train = corpora.read(options.data, folder, "train").take(options.limit)
    held_out = corpora.read(options.data, folder, options.split).take(options.documents)
    say(f"{folder}: {len(train)} pairs to learn from, {len(held_out)} of {options.split}")
    folding = {"lowercase": options.lowercase}
    space = Space(train.texts, drop_top=DROP_TOP, terms=options.terms or TERMS, **folding)
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


def _results(method: Method, group: Group, options: Options) -> list[Result]:
    """The row of each task; of several regularisations that were tried, the best."""
    best: dict[str, Result] = {}
    for gamma, trials in _plan(method, group, options).items():
        largest = max((dimension or 0 for trial in trials for dimension in trial.dimensions), default=0)
        fitted = method.fit(group.space, largest or None, gamma)
        for trial in trials:
            result = _measured(method, trial, fitted, group.space, gamma)
            name = trial.task.dataset
            if name not in best or trial.task.score(result.outcomes) > trial.task.score(best[name].outcomes):
                best[name] = result
    for result in best.values():
        where = f"{result.task.dataset}, table {result.task.table}"
        score = result.task.score(result.outcomes)
        say(f"  {where}: {method.row} {_shown(result.setting)}: {score:.4f} ({result.seconds:.1f} s)")
    return list(best.values())


def _plan(method: Method, group: Group, options: Options) -> dict[float | None, list[Trial]]:
    """What to measure, by regularisation: one fit each."""
    most = min(group.space.rank, options.dimension or group.space.rank)
    grid: list[int] = [dimension for dimension in GRID if dimension < most] + [most] * (most <= max(GRID))
    plan: dict[float | None, list[Trial]] = {}
    for task in group.tasks:
        setting = setting_of(task.table, task.dataset, method.row)
        if not method.projects:
            plan.setdefault(None, []).append(Trial(task, [None], None))
        elif options.tune:
            for gamma in method.gammas or (None,):
                plan.setdefault(gamma, []).append(Trial(task, list(grid), None))
        else:
            chosen = min(setting.dimension or most, most)
            drawn = grid if options.figures is not None and task.figure is not None else []
            dimensions = sorted({chosen, *(dimension for dimension in drawn if dimension < chosen)})
            plan.setdefault(setting.gamma, []).append(Trial(task, list(dimensions), chosen))
    return plan


def _measured(method: Method, trial: Trial, fitted: Fitted, space: Space, gamma: float | None) -> Result:
    start = time.perf_counter()
    vectors = trial.task.vectors(fitted.project, space)
    projected = fitted.seconds + time.perf_counter() - start
    found: dict[int | None, tuple[Outcomes, float]] = {}
    for dimension in trial.dimensions:
        start = time.perf_counter()
        leading = [rows if dimension is None else rows[:, :dimension] for rows in vectors]
        outcomes = trial.task.measure(leading)
        found[dimension] = outcomes, projected + time.perf_counter() - start
    scores = {dimension: trial.task.score(outcomes) for dimension, (outcomes, _) in found.items()}
    chosen = trial.chosen or max(scores, key=scores.__getitem__)  # the smallest of equals: they are in order
    curve = {dimension: score for dimension, score in scores.items() if dimension is not None}
    return Result(method.row, trial.task, Setting(chosen, gamma), *found[chosen], curve)


def _shown(setting: Setting) -> str:
    if setting.dimension is None:
        return "-"
    return str(setting.dimension) + ("" if setting.gamma is None else f", gamma {setting.gamma:g}")


def _rows(results: Sequence[Result]) -> list[Row]:
    """Rows in the order of the tables, the best of each marked."""
    rows = []
    for place, dataset in dict.fromkeys((place, r.task.dataset) for r in results for place in r.outcomes):
        here = [r for r in results if r.task.dataset == dataset and place in r.outcomes]
        best = compare.best_set({result.row: result.outcomes[place] for result in here})
        for result in here:
            rows.append(
                Row(
                    table=place[0],
                    dataset=dataset,
                    row=result.row,
                    metric=place[1],
                    ours=float(result.outcomes[place].mean()),
                    paper=figure_of(result.task.table, dataset, result.row, place),
                    seconds=result.seconds,
                    setting=_shown(result.setting),
                    best=result.row in best,
                )
            )
    return rows


def _tuned_line(result: Result) -> str:
    edge = " (the largest tried)" if result.setting.dimension == max(result.curve) else ""
    return f"tuned: {(result.task.table, result.task.dataset)}, {result.row!r}: {tuple(result.setting)}{edge}"


def _draw(report: Report, results: Sequence[Result], options: Options) -> None:
    here = [result for result in results if result.task.figure is not None]
    curves = {result.row: result.curve for result in here if result.curve}
    if options.figures is None or not curves:
        return
    task = here[0].task
    path = options.figures / f"{report.paper}-figure{task.figure}-{report.split}.png"
    levels = {result.row: result.task.score(result.outcomes) for result in here if not result.curve}
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
