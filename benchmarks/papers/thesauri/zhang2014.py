"""Table 2 and Figure 2 of Zhang, Salwen, Glass and Gliozzo: Word Semantic Representations using BPTF, EMNLP 2014.

Closest-opposite questions of the GRE are answered by looking words up, and by what a tensor predicts whose slices
are synonyms with antonyms of thesauri (`relatedness`) and cosines of GloVe. BPMF has the first slice alone,
without and with missing cells drawn as zeros. The tensor is over words that have antonyms; other words of the
questions are added to it afterwards (section 3.2.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import semproj as sj
from benchmarks.papers.framework.files import MissingFile
from benchmarks.papers.framework.plotting import add_figure
from benchmarks.papers.framework.registry import Options, Paper
from benchmarks.papers.framework.tables import SLICE_NOTE, Report, Row, say
from benchmarks.papers.published.common import METRICS, score_of
from benchmarks.papers.published.zhang2014 import TABLE_2
from benchmarks.papers.thesauri.questions import read_questions
from benchmarks.papers.thesauri.relatedness import (
    Questions,
    Relatedness,
    context_vectors,
    look_up,
    of_entries,
    of_heads,
    relate,
)
from benchmarks.papers.thesauri.resources import ThesaurusFolder, some_entries
from benchmarks.papers.thesauri.zhang2014_draw import Predict, last_draw, with_metric
from semproj import tasks
from semproj.stopping import Progress

DATASETS = ("gre",)
LOOKUPS = ("lookup*", "lookup")
SAMPLED = ("BPMF", "BPMF+zeros", "BPTF")
ONE_DRAW = ("BPTF, one draw", "BPTF, one draw, metric")  # come with BPTF
MODELS = (*LOOKUPS, *SAMPLED, *ONE_DRAW)

DIMENSION = 40
BURN_IN, SWEEPS = 30, 200
THIN = 5  # draws are kept of each fifth sweep: neighbours tell little more than one of them
ZEROS = 2.0  # for each cell of the first slice; chosen on dev, and by held-out antonyms of Roget's
SEEDS = 3
DRAWN = "W&R"  # what Figure 2 is of
MEASURED_CELLS = 200_000  # of the first slice, for Figure 2

TITLES = {
    "2": "closest opposites of the GRE",
    "Figure 2": "mean absolute error of the first slice's cells after the last sweep",
}
NOTES = (
    "antonyms are the paper's: WordNet's that similar words share, Roget's, and both (W&R); synonyms are of "
    "WordNet's synsets, of the part of Roget's that is there, and for W&R of Fallows too",
    "cosines are of GloVe (the paper's of morphRNN)",
    "lookup* answers where a choice is an antonym of the target, lookup guesses elsewhere if it knows the target: "
    "the expected value of a guess, not a draw",
    "words without antonyms are added by their synonyms among those that have some, and for BPTF by cosines",
    "one draw: of the last sweep by itself, and with a metric learnt over its vectors (section 4.4)",
    "BPMF has the first slice alone, BPMF+zeros with missing cells drawn as zeros in each sweep, as BPTF has too",
)


@dataclass(frozen=True)
class Resources:
    """How a row's thesauri are read."""

    name: str
    read: Callable[[ThesaurusFolder, int | None], Relatedness]


def _wordnet(folder: ThesaurusFolder, limit: int | None) -> Relatedness:
    antonyms, synsets = _some(folder, "Expanded", limit), _some(folder, "WordNet", limit)
    return relate([of_entries(synsets, "synonym")], [of_heads(antonyms, "antonym")])


def _roget(folder: ThesaurusFolder, limit: int | None) -> Relatedness:
    roget = _some(folder, "Roget", limit)
    return relate([of_heads(roget, "synonym")], [of_heads(roget, "antonym")])


def _both(folder: ThesaurusFolder, limit: int | None) -> Relatedness:
    names = ("Combined", "WordNet", "Roget", "Fallows")
    antonyms, synsets, roget, fallows = (_some(folder, name, limit) for name in names)
    synonyms = [of_entries(synsets, "synonym"), of_heads(roget, "synonym"), of_heads(fallows, "synonym")]
    return relate(synonyms, [of_heads(antonyms, "antonym")])


def _some(folder: ThesaurusFolder, name: str, limit: int | None) -> sj.Thesaurus:
    return some_entries(folder.thesaurus(name), limit)


RESOURCES = (Resources("WordNet", _wordnet), Resources("Roget", _roget), Resources(DRAWN, _both))


@dataclass
class SeedScores:
    """Scores of a model, one of each seed; with them, the errors of the first slice in the first run."""

    name: str
    setting: str = ""
    scores: list[dict[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)


def run(options: Options) -> Report:
    """All rows asked for, of all resources there are."""
    report = Report("zhang2014", options.split, titles=TITLES, notes=list(NOTES))
    questions = read_questions(options.data, options.split, options.documents)
    folder = ThesaurusFolder(options.data)
    for resources in RESOURCES:
        if not _asked(resources.name, options):
            continue
        try:
            related = resources.read(folder, options.limit)
        except MissingFile as missing:
            report.skip(f"{resources.name}: skipped, {missing}")
            continue
        say(f"{resources.name}: {related}")
        found = list(_models(report, resources.name, related, questions, folder, options))
        report.rows += [row for runs in found for row in _rows(resources.name, runs, options.split)]
        if options.plots is not None:
            _draw(report, {runs.name: runs.errors for runs in found if runs.errors}, options)
    report.rows.sort(key=lambda row: list(TITLES).index(row.table))
    if options.tune:
        report.skip("--tune: nothing to tune, settings are the paper's or were chosen on dev")
    if options.sliced:
        report.notes.append(SLICE_NOTE)
    return report


def _models(
    report: Report,
    resources: str,
    related: Relatedness,
    questions: Questions,
    folder: ThesaurusFolder,
    options: Options,
) -> Iterator[SeedScores]:
    """Models that are asked for, each fitted with all seeds when its turn comes."""
    asked = _asked(resources, options)
    for name in (each for each in LOOKUPS if each in asked):
        start = time.perf_counter()
        scores = look_up(related, questions, guess=name == "lookup")
        say(f"  {name}: F1 {scores['f1']:.3f}")
        yield SeedScores(name, "", [scores], [time.perf_counter() - start])
    dimension = min(DIMENSION, options.dimension or DIMENSION)
    for name in (each for each in SAMPLED if each in asked):
        zeros = 0.0 if name == "BPMF" else ZEROS
        setting = f"D={dimension} sweeps={BURN_IN}+{SWEEPS} zeros={zeros:g}"
        runs = SeedScores(name, setting)
        single = {each: SeedScores(each, setting) for each in ONE_DRAW} if name == "BPTF" else {}
        try:
            tensor = QuestionTensor(related, questions, folder.context if name == "BPTF" else None, zeros)
        except MissingFile as missing:
            report.skip(f"{resources} {name}: skipped, {missing}")
            continue
        for seed in range(options.seeds or SEEDS):
            watched = runs.errors if resources == DRAWN and seed == 0 else None
            start = time.perf_counter()
            model = tensor.fit(dimension, seed, watched)
            runs.seconds.append(time.perf_counter() - start)
            runs.scores.append(tensor.scores(model.predict))
            say(f"  {name}, seed {seed} ({runs.seconds[-1]:.0f} s): F1 {runs.scores[-1]['f1']:.3f}")
            if single:
                _score_one_draw(report, resources, tensor, model, seed, single)
        yield runs
        yield from single.values()


def _asked(resources: str, options: Options) -> list[str]:
    """The models that a row is to be of: a row is asked for by its model, or by its resources and model."""
    rows = MODELS if options.rows is None else options.rows
    return [name for name in MODELS if name in rows or f"{resources} {name}" in rows]


def _score_one_draw(
    report: Report, resources: str, tensor: QuestionTensor, model: sj.BPTF, seed: int, runs: dict[str, SeedScores]
) -> None:
    start = time.perf_counter()
    learnt, gain = with_metric(model, tensor.slices[0], seed)
    for name, predict, seconds in zip(
        ONE_DRAW, (last_draw(model), learnt), (0.0, time.perf_counter() - start), strict=True
    ):
        runs[name].scores.append(tensor.scores(predict))
        runs[name].seconds.append(seconds)
    report.notes.append(
        f"{resources}, seed {seed}: the metric takes {gain:.1%} off the mean squared error of cells that it was "
        "not learnt from, though the draw was: the chain had all of them (the paper: 8%, of a held-out test set)"
    )


class QuestionTensor:
    """Slices over words that have antonyms, and what is known of other words of the questions.

    Parameters
    ----------
    context : ContextSpace or None
        None: the first slice is alone.
    zeros : float
        Missing cells of the first slice that are drawn as zeros, for each that is there.
    """

    def __init__(
        self, related: Relatedness, questions: Questions, context: sj.ContextSpace | None, zeros: float
    ) -> None:
        self.questions, self.zeros = questions, zeros
        opposed = related.words[: related.n_opposed]
        asked = sorted({word for target, choices, _ in questions for word in (target, *choices)} - set(opposed))
        linked = np.diff(related.with_opposed(asked).indptr) > 0
        self.new = [w for w, known in zip(asked, linked, strict=True) if known or (context and w in context)]
        self.places = {word: place for place, word in enumerate([*opposed, *self.new])}
        self.slices: list[Any] = [related.among_opposed]
        self.added: list[Any] = [related.with_opposed(self.new)]
        if context is not None:
            vectors = context_vectors(context, list(self.places))
            self.slices.append(sj.CosineSlice(vectors[: len(opposed)]))
            self.added.append(sj.CosineSlice(vectors))

    def fit(self, dimension: int, seed: int, errors: list[float] | None = None) -> sj.BPTF:
        """The model with all words; `errors` gets the first slice's mean absolute error, sweep by sweep."""
        model = sj.BPTF(
            dimension,
            burn_in=BURN_IN,
            n_samples=SWEEPS // THIN,
            thin=THIN,
            zeros=[self.zeros] + [0.0] * (len(self.slices) - 1),
            callback=None if errors is None else _watch(self.slices[0], errors),
            random_state=seed,
        ).fit(self.slices)
        return model.add_words(self.added) if self.new else model

    def scores(self, predict: Predict) -> dict[str, float]:
        """How well the questions are answered by relatedness in the first slice."""
        found = tasks.closest_opposite(Answers(predict, self.places, self.questions), self.questions)
        return {metric: getattr(found, metric) for metric in METRICS}


class Answers:
    """How related target and choices of questions are; all predicted at once."""

    def __init__(self, predict: Predict, places: dict[str, int], questions: Questions) -> None:
        self.places = places
        pairs = sorted({(t, c) for t, choices, _ in questions for c in choices if t in places and c in places})
        numbers = np.array([[places[word] for word in pair] for pair in pairs], np.int64).reshape(-1, 2)
        self.predicted = dict(zip(pairs, predict(numbers[:, 0], numbers[:, 1]), strict=True))

    def __contains__(self, word: object) -> bool:
        return word in self.places

    def similarity(self, word: str, words: list[str]) -> list[float]:
        return [self.predicted[word, other] for other in words]


def _watch(cells: Any, errors: list[float]) -> Callable[[Progress], None]:
    """A callback that measures each draw by some cells of the first slice, always the same."""
    rows, cols, values = _some_cells(cells)

    def measure(progress: Progress) -> None:
        words = progress.model.word_vectors_
        mapped = words * progress.model.perspective_vectors_[0].astype(words.dtype)
        predicted = np.einsum("ij,ij->i", words[rows], mapped[cols])
        errors.append(float(np.abs(values - predicted).mean(dtype=np.float64)))

    return measure


def _some_cells(cells: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = cells.tocoo()
    once = np.flatnonzero(found.row < found.col)
    once = once[np.linspace(0, len(once) - 1, min(MEASURED_CELLS, len(once))).astype(int)]
    return found.row[once], found.col[once], found.data[once]


def _rows(resources: str, runs: SeedScores, split: str) -> list[Row]:
    seconds = float(np.mean(runs.seconds))
    rows = []
    for metric in METRICS:
        values = [scores[metric] for scores in runs.scores]
        rows.append(
            Row(
                table="2",
                dataset="gre",
                row=f"{resources} {runs.name}",
                metric=metric,
                ours=float(np.mean(values)),
                paper=score_of(TABLE_2, (resources, runs.name), split, metric),
                seconds=seconds,
                setting=runs.setting,
                spread=float(np.std(values, ddof=1)) if len(values) > 1 else None,
            )
        )
    if runs.errors:
        *_, last = curve = tuple(runs.errors)
        rows.append(Row("Figure 2", resources, runs.name, "mae", last, None, seconds, runs.setting, curve=curve))
    return rows


def _draw(report: Report, errors: dict[str, list[float]], options: Options) -> None:
    if not errors or options.plots is None:
        return
    add_figure(
        report,
        2,
        options.plots / f"{report.paper}-figure2.png",
        "how the errors of the first slice fall",
        {name: dict(enumerate(values, 1)) for name, values in errors.items()},
        {},
        xlabel="sweeps",
        xscale="linear",
        errors=True,
        ylabel="mean absolute error of synonyms and antonyms",
        source=f"{DRAWN}, one seed; of each draw by itself; at the right, of the last",
    )


PAPER = Paper(
    title="Zhang, Salwen, Glass and Gliozzo 2014, Word Semantic Representations using Bayesian Probabilistic "
    "Tensor Factorization",
    rows=(*MODELS, *(f"{resources.name} {name}" for resources in RESOURCES for name in MODELS)),
    datasets=DATASETS,
    run=run,
)
