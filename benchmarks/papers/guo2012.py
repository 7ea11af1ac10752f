"""Tables 2 to 5 and Figures 2 and 3 of Guo and Diab: Modeling Sentences in the Latent Space, ACL 2012.

Every model learns from the same corpus (`definitions`), never from the sentences it is measured on (`sentences`).
A model with a random start is fitted with several seeds; figures are means, and the spread is the standard
deviation over the seeds. One fit serves all tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.papers import sentences
from benchmarks.papers.definitions import FILES, Corpus
from benchmarks.papers.figures import draw_curves
from benchmarks.papers.files import MissingFile, require
from benchmarks.papers.guo2012_figures import LINES, Line
from benchmarks.papers.registry import Options, Paper
from benchmarks.papers.sentencemodels import LDA_SWEEPS, MODELS, Fitted, Setting, mixed
from benchmarks.papers.sentences import Pairs, Retrieval, Task
from benchmarks.papers.tables import Report, Row, say

DATASETS = ("cdr", "li06_30", "li06_35", "msrp", "sts12")
SEEDS, POINT_SEEDS = 5, 3  # of a row of a table, and of a setting that is only a point of a figure

TITLES = {
    "2": "concept definition retrieval",
    "3": "LI06 by the weight of missing words",
    "4": "LI06, 30 pairs, all models",
    "5": "MSR paraphrase corpus",
    "STS": "SemEval 2012 sentence similarity, not in the paper",
    "Figure 2": "concept definition retrieval by the weight of missing words",
    "Figure 3": "concept definition retrieval by the number of dimensions",
}
NOTES = (
    "of one corpus of WordNet, Wiktionary and Brown, as in the paper, but a later Wiktionary; lemmas without a "
    "part-of-speech tagger; ATOP is exact among all definitions, with the paper's sample of 1,000 beside it; no "
    "copies: without the queries whose words are those of a gold definition; 0.5 where no word is known",
    "WTMF w=0 is stopped by ATOP on dev, as in the paper; the other rows have 20 sweeps",
    f"LDA has {LDA_SWEEPS} sweeps of tomotopy's sampler, the paper's 5,000",
    "msrp on dev is ten-fold cross-validation on the training pairs, repeated ten times; the paper has figures of "
    "the test pairs only; WTMF+IR is the mean of both cosines",
)


@dataclass
class Results:
    """What each run of each setting has measured on each dataset, and how long its fit took."""

    outcomes: dict[tuple[Setting, str], list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[Setting, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, lines: Sequence[Line], fitted: Fitted, tasks: dict[str, Task]) -> None:
        """Measure a fitted model for the lines that are of it."""
        self.seconds[lines[0].fitted].append(fitted.seconds)
        for setting, dataset in dict.fromkeys((line.setting, line.dataset) for line in lines):
            self.outcomes[setting, dataset].append(_measured(fitted, tasks[dataset], mix=setting.mixed))

    def metrics(self, line: Line) -> tuple[str, ...]:
        return line.metrics or tuple(self.outcomes[line.setting, line.dataset][0])

    def values(self, line: Line, metric: str) -> list[float]:
        """One for each seed."""
        return [outcome[metric] for outcome in self.outcomes[line.setting, line.dataset]]

    def last(self, lines: Sequence[Line]) -> str:
        """The last run in a line: the first metric of each dataset."""
        shown = []
        for line in {(line.setting, line.dataset): line for line in lines}.values():
            metric = self.metrics(line)[0]
            mix = "+IR" * line.setting.mixed
            shown.append(f"{line.dataset}{mix} {metric} {self.values(line, metric)[-1]:.4f}")
        return f"{', '.join(shown)} ({self.seconds[lines[0].fitted][-1]:.1f} s)"


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("guo2012", options.split, titles=TITLES, notes=list(NOTES))
    lines = _asked(report, options)
    if not lines:
        return report
    try:
        require(*(options.data / name for name in FILES))
    except MissingFile as missing:
        report.skip(f"everything: skipped, {missing}")
        return report
    say("reading the corpus")
    corpus = Corpus(options.data, limit=options.limit, terms=options.terms)
    say(f"{corpus.rows.shape[0]} documents, {corpus.rows.shape[1]} lemmas, {corpus.rows.nnz} entries")
    tasks = _tasks(report, lines, corpus, options)
    lines = [line for line in lines if line.dataset in tasks]
    results = Results()
    dev = _stopping(report, tasks, lines, corpus, options)
    for setting in dict.fromkeys(line.fitted for line in lines):
        here = [line for line in lines if line.fitted == setting]
        for seed in range(_runs(here, options)):
            results.add(here, MODELS[setting.model].fit(corpus, setting, seed, dev), tasks)
            say(f"  {f'{setting.model} {setting}'.strip()}, seed {seed}: {results.last(here)}")
    report.rows += [row for line in lines for row in _rows(line, results, options.split)]
    if options.tune:
        report.skip("--tune: nothing to tune, the rows have the paper's settings")
    if options.figures is not None:
        _draw(report, 2, "missing_weight", "weight of missing words (log scale)", lines, results, options)
        _draw(report, 3, "dimension", "dimensions (log scale)", lines, results, options)
    if options.sliced:
        report.notes.append("a slice of the data or of the dimensions: not the figures to quote")
    return report


def _asked(report: Report, options: Options) -> list[Line]:
    """The lines that the options leave, with models that can be run."""
    lines = []
    for line in LINES:
        setting = line.setting
        if options.rows is not None and line.family not in options.rows:
            continue
        if options.datasets is not None and line.dataset not in options.datasets:
            continue
        if line.table.startswith("Figure") and options.figures is None:
            continue
        if options.dimension is not None and (setting.dimension or 0) > options.dimension:
            if line.table == "Figure 3":
                continue
            line = line._replace(setting=setting._replace(dimension=options.dimension))
        lines.append(line)
    for name in dict.fromkeys(line.setting.model for line in lines):
        if not MODELS[name].available:
            report.skip(f"{name}: skipped, {MODELS[name].needs} is not installed; it is in the extra `bench`")
    return [line for line in lines if MODELS[line.setting.model].available]


def _tasks(report: Report, lines: Sequence[Line], corpus: Corpus, options: Options) -> dict[str, Task]:
    tasks = {}
    for dataset in DATASETS:
        if not any(line.dataset == dataset for line in lines):
            continue
        try:
            tasks[dataset] = sentences.read_task(options.data, dataset, options.split, corpus, options.documents)
        except MissingFile as missing:
            report.skip(f"{dataset}: skipped, {missing}")
    return tasks


def _stopping(
    report: Report, tasks: dict[str, Task], lines: Sequence[Line], corpus: Corpus, options: Options
) -> Retrieval | None:
    """The dev set of concept definition retrieval, where a model is stopped by it."""
    if not any(line.setting.missing_weight == 0 for line in lines):
        return None
    task: Any = tasks.get("cdr") if options.split == "dev" else None
    try:
        task = task or sentences.read_task(options.data, "cdr", "dev", corpus, options.documents)
    except MissingFile as missing:
        report.skip(f"WTMF w=0: not stopped before the last sweep, {missing}")
    return task if isinstance(task, Retrieval) else None


def _runs(lines: Sequence[Line], options: Options) -> int:
    """With how many seeds the model of these lines is fitted."""
    model = MODELS[lines[0].setting.model]
    drawn = all(line.table.startswith("Figure") for line in lines)
    return (options.seeds or model.runs or (POINT_SEEDS if drawn else SEEDS)) if model.seeded else 1


def _measured(fitted: Fitted, task: Task, *, mix: bool) -> dict[str, float]:
    if isinstance(task, Retrieval):
        return task.measure(fitted.vectors, fitted.metric)

    def similarity(pairs: Pairs) -> np.ndarray:
        found = pairs.similarities(fitted.vectors)
        return mixed(found, pairs.similarities(lambda sentences: sentences.rows)) if mix else found

    return task.measure(similarity)


def _rows(line: Line, results: Results, split: str) -> list[Row]:
    rows = []
    for metric in results.metrics(line):
        mean, spread = _summary(results.values(line, metric))
        rows.append(
            Row(
                table=line.table,
                dataset=line.dataset,
                row=line.row,
                metric=metric,
                ours=mean,
                paper=line.paper.get(split, {}).get(metric),
                seconds=float(np.mean(results.seconds[line.fitted])),
                setting=str(line.setting),
                spread=spread,
            )
        )
    return rows


def _summary(values: list[float]) -> tuple[float, float | None]:
    """Mean and standard deviation, which one value does not have."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def _draw(
    report: Report,
    number: int,
    parameter: str,
    xlabel: str,
    lines: Sequence[Line],
    results: Results,
    options: Options,
) -> None:
    curves: dict[str, dict[float, float]] = defaultdict(dict)
    spreads: dict[str, dict[float, float]] = defaultdict(dict)
    published: dict[float, float] = {}
    for line in lines:
        if line.table != f"Figure {number}":
            continue
        model, at = line.setting.model, getattr(line.setting, parameter)
        curves[model][at], spread = _summary(results.values(line, "atop"))
        spreads[model][at] = spread or 0.0
        if model == "WTMF" and "atop" in line.paper.get(options.split, {}):
            published[at] = line.paper[options.split]["atop"]
    if not curves or options.figures is None:
        return
    path = options.figures / f"{report.paper}-figure{number}-{report.split}.png"
    try:
        draw_curves(
            path,
            f"Figure {number}: ATOP by the {xlabel.partition(' (')[0]}",
            {**curves, "the paper's WTMF": published} if published else curves,
            {},
            xlabel=xlabel,
            ylabel="ATOP, concept definition retrieval",
            source=f"{report.split}; means over seeds, bands of one standard deviation; at the right, the best",
            spreads=spreads,
            margin=0.01,
        )
    except ModuleNotFoundError as error:
        report.skip(f"figure {number}: left out, {error}; install the extra `plot`")
    else:
        report.notes.append(f"figure {number}: {path}")


PAPER = Paper(
    title="Guo and Diab 2012, Modeling Sentences in the Latent Space",
    rows=tuple(dict.fromkeys(line.family for line in LINES)),
    datasets=DATASETS,
    run=run,
)
