"""Cross-language tables: what is measured of each fitted model, at which settings, and which rows are the best.

A model whose leading columns are its smaller models is fitted once, with the largest dimension asked of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.crosslingual import corpora
from benchmarks.papers.crosslingual.corpora import Pairs
from benchmarks.papers.crosslingual.methods import CountSpace, Fitted, Method, Project
from benchmarks.papers.framework import compare, files
from benchmarks.papers.framework.plotting import add_figure
from benchmarks.papers.framework.registry import Options
from benchmarks.papers.framework.tables import SLICE_NOTE, Report, Row, say
from benchmarks.papers.published.common import Setting

TESTED = ("English", "Italian")  # the languages of classified documents, in the order of the space
WATCHED = 3000  # pairs of dev that a fit is stopped by
GRID = (20, 50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000)


@dataclass(frozen=True)
class Reference:
    """What a paper says of a row: its setting by table, dataset and name, and its number at a place, if any."""

    setting_of: Callable[[str, str, str], Setting]
    published_of: Callable[[str, str, str, tuple[str, str]], float | None]


Outcomes = dict[tuple[str, str], np.ndarray]  # by table and metric, one number for each query


@dataclass
class Retrieval:
    """Find each document's partner in the other language."""

    table: str
    dataset: str
    counts: list[Any]
    figure: int | None = None

    def vectors(self, project: Project, space: CountSpace) -> list[Any]:
        return [project(language, view) for language, view in enumerate(self.counts)]

    def measure(self, vectors: list[Any], metric: str) -> Outcomes:
        ranks = np.concatenate(compare.reciprocal_ranks(*vectors, metric=metric))
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

    def vectors(self, project: Project, space: CountSpace) -> list[Any]:
        return [
            project(0, space.counts[0]),
            *(project(language, view) for language, view in enumerate(self.counts)),
        ]

    def measure(self, vectors: list[Any], metric: str) -> Outcomes:
        known, *tested = vectors
        found = [compare.nearest_labels(known, self.known, rows, metric=metric) == self.labels for rows in tested]
        return {(f"3 {name}", "accuracy"): right.astype(float) for name, right in zip(TESTED, found, strict=True)}

    def score(self, outcomes: Outcomes) -> float:
        return float(np.mean([values.mean() for values in outcomes.values()]))


Task = Retrieval | Classification


@dataclass
class RowResult:
    """A row of a task: how it was set, what each query gave, and the score at other dimensions."""

    row: str
    task: Task
    setting: Setting
    outcomes: Outcomes
    seconds: float
    curve: dict[int, float]
    shown: str  # the setting, in words


class TaskGroup(NamedTuple):
    """Tasks over one vocabulary, which share the fitted models."""

    space: CountSpace
    tasks: list[Task]
    methods: list[Method]


class Trial(NamedTuple):
    """The dimensions at which a fitted model is measured, and which of them is the row's, if that is known."""

    task: Task
    dimensions: list[int | None]
    chosen: int | None
    only_drawn: bool = False  # and so never the row


@dataclass(frozen=True)
class FolderPairs:
    """The pairs of a folder: to learn from, to be evaluated, and of dev, where a method stops early by them."""

    train: Pairs
    held_out: Pairs
    dev: Pairs | None

    def cut(self, words: int) -> FolderPairs:
        """The same, of each document the first words only."""
        dev = None if self.dev is None else self.dev.cut(words)
        return FolderPairs(self.train.cut(words), self.held_out.cut(words), dev)


def _needed_splits(methods: Sequence[Method], options: Options) -> list[str]:
    stops = any(method.stops for method in methods)
    return ["train", options.split, *(["dev"] if stops and options.split != "dev" else [])]


def read_folder(folder: str, methods: Sequence[Method], options: Options) -> FolderPairs:
    """All that is needed of it."""
    say(f"{folder}: reading")
    train = corpora.read(options.data, folder, "train").take(options.limit)
    held_out = corpora.read(options.data, folder, options.split).take(options.documents)
    say(f"{folder}: {len(train)} pairs to learn from, {len(held_out)} of {options.split}")
    dev = None
    if any(method.stops for method in methods):
        dev = held_out if options.split == "dev" else corpora.read(options.data, folder, "dev")
        dev = dev.take(WATCHED)
    return FolderPairs(train, held_out, dev)


class FitPlan(dict[tuple[float | None, int], list[Trial]]):
    """What to measure, by regularisation and dimension: one fit each."""

    def add(self, method: Method, gamma: float | None, trial: Trial) -> None:
        """A fit for all dimensions of the trial where one can be, else a fit for each."""
        if method.nested:
            self.setdefault((gamma, 0), []).append(trial)
            return
        for dimension in sorted(trial.dimensions, key=lambda each: each != trial.chosen):  # the row's comes first
            drawn = trial.chosen is not None and dimension != trial.chosen
            self.setdefault((gamma, dimension or 0), []).append(Trial(trial.task, [dimension], dimension, drawn))


def measure_folders(
    report: Report,
    known: Sequence[Method],
    datasets: Sequence[str],
    groups: Callable[[str, Sequence[str], Sequence[Method], Options], Iterable[TaskGroup]],
    reference: Reference,
    options: Options,
) -> Iterator[list[RowResult]]:
    """The results of each folder there is, one at a time, after their rows are in the report."""
    asked = [method for method in known if options.rows is None or method.row in options.rows]
    for method in asked:
        if not method.available:
            report.skip(f"{method.row}: skipped, this semproj has no {method.needs}")
    methods = [method for method in asked if method.available]
    for folder in corpora.LAYOUTS:
        names = [name for name in datasets if name.partition("-")[0] == folder]
        names = [name for name in names if options.datasets is None or name in options.datasets]
        if not names or not methods:
            continue
        try:
            corpora.require(options.data, folder, _needed_splits(methods, options))
        except files.MissingFile as missing:
            report.skip(f"{', '.join(names)}: skipped, {missing}")
            continue
        results = []
        for group in groups(folder, names, methods, options):
            for method in group.methods:
                results += _results(method, group, reference, options)
        report.rows += _rows(results, reference)
        if options.tune:
            report.notes += [_tuned_line(result) for result in results if result.setting.dimension]
        yield results
    if options.sliced:
        report.notes.append(SLICE_NOTE)


def _results(method: Method, group: TaskGroup, reference: Reference, options: Options) -> list[RowResult]:
    """The row of each task; of several settings that were tried, the best."""
    best: dict[str, RowResult] = {}
    for (gamma, dimension), trials in _plan(method, group, reference, options).items():
        largest = dimension or max((each or 0 for trial in trials for each in trial.dimensions), default=0)
        seeds = range((options.seeds or 1) if method.seeded else 1)
        fits = [method.fit(group.space, largest or None, gamma, seed) for seed in seeds]
        for trial in trials:
            result = _mean([_measured(method, trial, fitted, group.space, gamma) for fitted in fits])
            before = best.get(trial.task.dataset)
            if before is None or (
                not trial.only_drawn and trial.task.score(result.outcomes) > trial.task.score(before.outcomes)
            ):
                best[trial.task.dataset] = result
            if before is not None and not method.nested:  # a point from each fit
                best[trial.task.dataset].curve = {**result.curve, **before.curve, **best[trial.task.dataset].curve}
    for result in best.values():
        where = f"{result.task.dataset}, table {result.task.table}"
        score = result.task.score(result.outcomes)
        say(f"  {where}: {method.row} {result.shown}: {score:.4f} ({result.seconds:.1f} s)")
    return list(best.values())


def _plan(method: Method, group: TaskGroup, reference: Reference, options: Options) -> FitPlan:
    most = min(group.space.rank, options.dimension or group.space.rank)
    asked = method.dimensions or GRID
    grid: list[int] = [dimension for dimension in asked if dimension < most] + [most] * (most <= max(asked))
    plan = FitPlan()
    for task in group.tasks:
        setting = reference.setting_of(task.table, task.dataset, method.row)
        if not method.projects:
            plan.add(method, None, Trial(task, [None], None))
        elif options.tune:
            for gamma in method.gammas or (None,):
                plan.add(method, gamma, Trial(task, list(grid), None))
        else:
            chosen = min(setting.dimension or most, most)
            drawn = grid if method.drawn and options.plots is not None and task.figure is not None else []
            dimensions = sorted({chosen, *(dimension for dimension in drawn if dimension < chosen)})
            plan.add(method, setting.gamma, Trial(task, list(dimensions), chosen))
    return plan


def _measured(method: Method, trial: Trial, fitted: Fitted, space: CountSpace, gamma: float | None) -> RowResult:
    start = time.perf_counter()
    vectors = trial.task.vectors(fitted.project, space)
    projected = fitted.seconds + time.perf_counter() - start
    found: dict[int | None, tuple[Outcomes, float]] = {}
    for dimension in trial.dimensions:
        start = time.perf_counter()
        leading = [rows if dimension is None else rows[:, :dimension] for rows in vectors]
        outcomes = trial.task.measure(leading, method.metric)
        found[dimension] = outcomes, projected + time.perf_counter() - start
    scores = {dimension: trial.task.score(outcomes) for dimension, (outcomes, _) in found.items()}
    chosen = trial.chosen or max(scores, key=scores.__getitem__)  # the smallest of equals: they are in order
    curve = {dimension: score for dimension, score in scores.items() if dimension is not None}
    parts = ["-" if chosen is None else str(chosen)]
    parts += [] if gamma is None else [f"{method.regularisation} {gamma:g}"]
    parts += [fitted.note] if fitted.note else []
    return RowResult(method.row, trial.task, Setting(chosen, gamma), *found[chosen], curve, ", ".join(parts))


def _mean(results: list[RowResult]) -> RowResult:
    """Of the same row with several seeds: means for each query, and how far the scores are from their mean."""
    first = results[0]
    if len(results) == 1:
        return first
    scores = [result.task.score(result.outcomes) for result in results]
    outcomes = {place: np.mean([each.outcomes[place] for each in results], axis=0) for place in first.outcomes}
    curve = {dimension: float(np.mean([each.curve[dimension] for each in results])) for dimension in first.curve}
    shown = f"{first.shown}, {len(results)} seeds, standard deviation {np.std(scores):.4f}"
    seconds = float(np.mean([result.seconds for result in results]))
    return replace(first, outcomes=outcomes, curve=curve, shown=shown, seconds=seconds)


def _rows(results: Sequence[RowResult], reference: Reference) -> list[Row]:
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
                    paper=reference.published_of(result.task.table, dataset, result.row, place),
                    seconds=result.seconds,
                    setting=result.shown,
                    best=result.row in best,
                )
            )
    return rows


def draw_curves(report: Report, results: Sequence[RowResult], options: Options) -> None:
    """The score by dimension of a task that is a figure of the paper; a line for what has no dimension."""
    here = [result for result in results if result.task.figure is not None]
    curves = {result.row: result.curve for result in here if len(result.curve) > 1}
    if options.plots is None or not curves:
        return
    task = here[0].task
    assert task.figure is not None
    add_figure(
        report,
        task.figure,
        options.plots / f"{report.paper}-figure{task.figure}-{report.split}.png",
        f"the partner's mean reciprocal rank, {task.dataset}",
        curves,
        {result.row: result.task.score(result.outcomes) for result in here if result.row not in curves},
        ylabel="MRR, both directions",
        source=f"{report.split}, {task.counts[0].shape[0]} pairs; at the right, the best of each line",
    )


def _tuned_line(result: RowResult) -> str:
    edge = " (the largest tried)" if result.setting.dimension == max(result.curve) else ""
    return f"tuned: {(result.task.table, result.task.dataset)}, {result.row!r}: {tuple(result.setting)}{edge}"
