"""Tables 2 to 5 and Figures 2 and 3 of Guo and Diab: Modeling Sentences in the Latent Space, ACL 2012.

Every model learns from the same corpus (`definitions`), never from the sentences it is measured on (`sentences`).
A model with a random start is fitted with several seeds; figures are means, and the spread is the standard
deviation over the seeds. One fit serves all tables.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
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
from benchmarks.papers.tables import Report, Row

DATASETS = ("cdr", "li06_30", "li06_35", "msrp", "sts12")
SEEDS = 5

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

Key = tuple[Setting, str]  # and dataset


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("guo2012", options.split, titles=TITLES, notes=list(NOTES))
    lines = _asked(report, options)
    if not lines:
        return report
    try:
        require(*(options.data / name for name in FILES))
    except MissingFile as missing:
        _skip(report, f"everything: skipped, {missing}")
        return report
    _say("reading the corpus")
    corpus = Corpus(options.data, limit=options.limit, terms=options.terms)
    _say(f"{corpus.rows.shape[0]} documents, {corpus.rows.shape[1]} lemmas, {corpus.rows.nnz} entries")
    tasks = _tasks(report, lines, corpus, options)
    lines = [line for line in lines if line.dataset in tasks]
    dev = _stopping(report, tasks, lines, corpus, options)
    outcomes: dict[Key, list[dict[str, float]]] = defaultdict(list)
    seconds: dict[Setting, list[float]] = defaultdict(list)
    for setting in dict.fromkeys(line.setting._replace(mixed=False) for line in lines):
        here = dict.fromkeys((line.setting, line.dataset) for line in lines if _base(line) == setting)
        for seed in range(_runs(setting, options)):
            fitted = MODELS[setting.model].fit(corpus, setting, seed, dev)
            seconds[setting].append(fitted.seconds)
            for key in here:
                outcomes[key].append(_measured(fitted, tasks[key[1]], mix=key[0].mixed))
            _say(f"  {setting.model} {setting}, seed {seed}: {_shown(outcomes, here)} ({fitted.seconds:.1f} s)")
    report.rows += [row for line in lines for row in _rows(line, outcomes, seconds, options.split)]
    if options.tune:
        _skip(report, "--tune: nothing to tune, the rows have the paper's settings")
    if options.figures is not None:
        _draw(report, 2, "missing_weight", "weight of missing words (log scale)", lines, outcomes, options)
        _draw(report, 3, "dimension", "dimensions (log scale)", lines, outcomes, options)
    if options.sliced:
        report.notes.append("a slice of the data or of the dimensions: not the figures to quote")
    return report


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _skip(report: Report, message: str) -> None:
    _say(message)
    report.notes.append(message)


def _base(line: Line) -> Setting:
    """What is fitted for a row."""
    return line.setting._replace(mixed=False)


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
            _skip(report, f"{name}: skipped, {MODELS[name].needs} is not installed; it is in the extra `bench`")
    return [line for line in lines if MODELS[line.setting.model].available]


def _tasks(report: Report, lines: Sequence[Line], corpus: Corpus, options: Options) -> dict[str, Task]:
    tasks = {}
    for dataset in DATASETS:
        if not any(line.dataset == dataset for line in lines):
            continue
        try:
            tasks[dataset] = sentences.read_task(options.data, dataset, options.split, corpus, options.documents)
        except MissingFile as missing:
            _skip(report, f"{dataset}: skipped, {missing}")
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
        _skip(report, f"WTMF w=0: not stopped before the last sweep, {missing}")
    return task if isinstance(task, Retrieval) else None


def _runs(setting: Setting, options: Options) -> int:
    model = MODELS[setting.model]
    wanted = options.seeds or (SEEDS if model.runs is None else model.runs)
    return wanted if model.seeded else 1


def _measured(fitted: Fitted, task: Task, *, mix: bool) -> dict[str, float]:
    if isinstance(task, Retrieval):
        return task.measure(fitted.vectors, fitted.metric)

    def similarity(pairs: Pairs) -> np.ndarray:
        found = pairs.similarities(fitted.vectors)
        return mixed(found, pairs.similarities(lambda sentences: sentences.rows)) if mix else found

    return task.measure(similarity)


def _shown(outcomes: dict[Key, list[dict[str, float]]], keys: Sequence[Key] | dict[Key, None]) -> str:
    """The first metric of each dataset, of the last run."""
    shown = []
    for key in keys:
        metric, value = next(iter(outcomes[key][-1].items()))
        shown.append(f"{key[1]}{'+IR' * key[0].mixed} {metric} {value:.4f}")
    return ", ".join(shown)


def _rows(
    line: Line, outcomes: dict[Key, list[dict[str, float]]], seconds: dict[Setting, list[float]], split: str
) -> list[Row]:
    found = outcomes[line.setting, line.dataset]
    rows = []
    for metric in found[0] if line.metrics is None else line.metrics:
        values = [outcome[metric] for outcome in found]
        rows.append(
            Row(
                table=line.table,
                dataset=line.dataset,
                row=line.row,
                metric=metric,
                ours=float(np.mean(values)),
                paper=line.paper.get(split, {}).get(metric),
                seconds=float(np.mean(seconds[_base(line)])),
                setting=str(line.setting),
                spread=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            )
        )
    return rows


def _draw(
    report: Report,
    number: int,
    parameter: str,
    xlabel: str,
    lines: Sequence[Line],
    outcomes: dict[Key, list[dict[str, float]]],
    options: Options,
) -> None:
    curves: dict[str, dict[float, float]] = defaultdict(dict)
    spreads: dict[str, dict[float, float]] = defaultdict(dict)
    published: dict[float, float] = {}
    for line in lines:
        if line.table != f"Figure {number}":
            continue
        values = [outcome["atop"] for outcome in outcomes[line.setting, line.dataset]]
        model, at = line.setting.model, getattr(line.setting, parameter)
        curves[model][at] = float(np.mean(values))
        spreads[model][at] = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
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
        _skip(report, f"figure {number}: left out, {error}; install the extra `plot`")
    else:
        report.notes.append(f"figure {number}: {path}")


PAPER = Paper(
    title="Guo and Diab 2012, Modeling Sentences in the Latent Space",
    rows=tuple(dict.fromkeys(line.family for line in LINES)),
    datasets=DATASETS,
    run=run,
)
