"""Tables 2 to 5 and Figures 2 and 3 of Guo and Diab: Modeling Sentences in the Latent Space, ACL 2012.

Every model learns from the same corpus (`definitions`), never from the sentences it is measured on (`tasks`).
A model with a random start is fitted with several seeds; results are means, and the spread is the standard
deviation over the seeds. One fit serves all tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.papers.framework.definitions import FILES, Corpus
from benchmarks.papers.framework.files import MissingFile, require
from benchmarks.papers.framework.plotting import add_figure
from benchmarks.papers.framework.registry import Options, Paper
from benchmarks.papers.framework.tables import SLICE_NOTE, Report, Row, say
from benchmarks.papers.sentences.guo2012_rows import ROWS, RowSpec
from benchmarks.papers.sentences.models import LDA_SWEEPS, MODELS, Fitted, Setting, mixed
from benchmarks.papers.sentences.tasks import Pairs, Retrieval, Task, read_task

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
    "msrp on dev is ten-fold cross-validation on the training pairs, repeated ten times; the paper has numbers of "
    "the test pairs only; WTMF+IR is the mean of both cosines",
)


@dataclass
class Results:
    """What each run of each setting has measured on each dataset, and how long its fit took."""

    outcomes: dict[tuple[Setting, str], list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[Setting, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, specs: Sequence[RowSpec], fitted: Fitted, tasks: dict[str, Task]) -> None:
        """Measure a fitted model for the rows that are of it."""
        self.seconds[specs[0].fitted].append(fitted.seconds)
        for setting, dataset in dict.fromkeys((spec.setting, spec.dataset) for spec in specs):
            self.outcomes[setting, dataset].append(_measured(fitted, tasks[dataset], mix=setting.mixed))

    def metrics(self, spec: RowSpec) -> tuple[str, ...]:
        return spec.metrics or tuple(self.outcomes[spec.setting, spec.dataset][0])

    def values(self, spec: RowSpec, metric: str) -> list[float]:
        """One for each seed."""
        return [outcome[metric] for outcome in self.outcomes[spec.setting, spec.dataset]]

    def last(self, specs: Sequence[RowSpec]) -> str:
        """The last run in one line: the first metric of each dataset."""
        shown = []
        for spec in {(spec.setting, spec.dataset): spec for spec in specs}.values():
            metric = self.metrics(spec)[0]
            mix = "+IR" * spec.setting.mixed
            shown.append(f"{spec.dataset}{mix} {metric} {self.values(spec, metric)[-1]:.4f}")
        return f"{', '.join(shown)} ({self.seconds[specs[0].fitted][-1]:.1f} s)"


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("guo2012", options.split, titles=TITLES, notes=list(NOTES))
    specs = _asked(report, options)
    if not specs:
        return report
    try:
        require(*(options.data / name for name in FILES))
    except MissingFile as missing:
        report.skip(f"everything: skipped, {missing}")
        return report
    say("reading the corpus")
    corpus = Corpus(options.data, limit=options.limit, terms=options.terms)
    say(f"{corpus.rows.shape[0]} documents, {corpus.rows.shape[1]} lemmas, {corpus.rows.nnz} entries")
    tasks = _tasks(report, specs, corpus, options)
    specs = [spec for spec in specs if spec.dataset in tasks]
    results = Results()
    dev = _stopping(report, tasks, specs, corpus, options)
    for setting in dict.fromkeys(spec.fitted for spec in specs):
        here = [spec for spec in specs if spec.fitted == setting]
        for seed in range(_runs(here, options)):
            results.add(here, MODELS[setting.model].fit(corpus, setting, seed, dev), tasks)
            say(f"  {f'{setting.model} {setting}'.strip()}, seed {seed}: {results.last(here)}")
    report.rows += [row for spec in specs for row in _rows(spec, results, options.split)]
    if options.tune:
        report.skip("--tune: nothing to tune, the rows have the paper's settings")
    if options.plots is not None:
        _draw(report, 2, "missing_weight", "weight of missing words (log scale)", specs, results, options)
        _draw(report, 3, "dimension", "dimensions (log scale)", specs, results, options)
    if options.sliced:
        report.notes.append(SLICE_NOTE)
    return report


def _asked(report: Report, options: Options) -> list[RowSpec]:
    """The rows that the options leave, with models that can be run."""
    specs = []
    for spec in ROWS:
        setting = spec.setting
        if options.rows is not None and spec.family not in options.rows:
            continue
        if options.datasets is not None and spec.dataset not in options.datasets:
            continue
        if spec.table.startswith("Figure") and options.plots is None:
            continue
        if options.dimension is not None and (setting.dimension or 0) > options.dimension:
            if spec.table == "Figure 3":
                continue
            spec = spec._replace(setting=setting._replace(dimension=options.dimension))
        specs.append(spec)
    for name in dict.fromkeys(spec.setting.model for spec in specs):
        if not MODELS[name].available:
            report.skip(f"{name}: skipped, {MODELS[name].needs} is not installed; it is in the extra `bench`")
    return [spec for spec in specs if MODELS[spec.setting.model].available]


def _tasks(report: Report, specs: Sequence[RowSpec], corpus: Corpus, options: Options) -> dict[str, Task]:
    tasks = {}
    for dataset in DATASETS:
        if not any(spec.dataset == dataset for spec in specs):
            continue
        try:
            tasks[dataset] = read_task(options.data, dataset, options.split, corpus, options.documents)
        except MissingFile as missing:
            report.skip(f"{dataset}: skipped, {missing}")
    return tasks


def _stopping(
    report: Report, tasks: dict[str, Task], specs: Sequence[RowSpec], corpus: Corpus, options: Options
) -> Retrieval | None:
    """The dev set of concept definition retrieval, where a model is stopped by it."""
    if not any(spec.setting.missing_weight == 0 for spec in specs):
        return None
    task: Any = tasks.get("cdr") if options.split == "dev" else None
    try:
        task = task or read_task(options.data, "cdr", "dev", corpus, options.documents)
    except MissingFile as missing:
        report.skip(f"WTMF w=0: not stopped before the last sweep, {missing}")
    return task if isinstance(task, Retrieval) else None


def _runs(specs: Sequence[RowSpec], options: Options) -> int:
    """With how many seeds the model of these specs is fitted."""
    model = MODELS[specs[0].setting.model]
    drawn = all(spec.table.startswith("Figure") for spec in specs)
    return (options.seeds or model.runs or (POINT_SEEDS if drawn else SEEDS)) if model.seeded else 1


def _measured(fitted: Fitted, task: Task, *, mix: bool) -> dict[str, float]:
    if isinstance(task, Retrieval):
        return task.measure(fitted.vectors, fitted.metric)

    def similarity(pairs: Pairs) -> np.ndarray:
        found = pairs.similarities(fitted.vectors)
        return mixed(found, pairs.similarities(lambda sentences: sentences.rows)) if mix else found

    return task.measure(similarity)


def _rows(spec: RowSpec, results: Results, split: str) -> list[Row]:
    rows = []
    for metric in results.metrics(spec):
        mean, spread = _summary(results.values(spec, metric))
        rows.append(
            Row(
                table=spec.table,
                dataset=spec.dataset,
                row=spec.row,
                metric=metric,
                ours=mean,
                paper=spec.paper.get(split, {}).get(metric),
                seconds=float(np.mean(results.seconds[spec.fitted])),
                setting=str(spec.setting),
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
    specs: Sequence[RowSpec],
    results: Results,
    options: Options,
) -> None:
    curves: dict[str, dict[float, float]] = defaultdict(dict)
    spreads: dict[str, dict[float, float]] = defaultdict(dict)
    published: dict[float, float] = {}
    for spec in specs:
        if spec.table != f"Figure {number}":
            continue
        model, at = spec.setting.model, getattr(spec.setting, parameter)
        curves[model][at], spread = _summary(results.values(spec, "atop"))
        spreads[model][at] = spread or 0.0
        if model == "WTMF" and "atop" in spec.paper.get(options.split, {}):
            published[at] = spec.paper[options.split]["atop"]
    if not curves or options.plots is None:
        return
    add_figure(
        report,
        number,
        options.plots / f"{report.paper}-figure{number}-{report.split}.png",
        f"ATOP by the {xlabel.partition(' (')[0]}",
        {**curves, "the paper's WTMF": published} if published else curves,
        {},
        xlabel=xlabel,
        ylabel="ATOP, concept definition retrieval",
        source=f"{report.split}; means over seeds, bands of one standard deviation; at the right, the best",
        spreads=spreads,
        margin=0.01,
    )


PAPER = Paper(
    title="Guo and Diab 2012, Modeling Sentences in the Latent Space",
    rows=tuple(dict.fromkeys(spec.family for spec in ROWS)),
    datasets=DATASETS,
    run=run,
)
