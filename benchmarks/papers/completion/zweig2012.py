"""Tables 2 to 6 of Zweig, Platt, Meek, Burges, Yessenalina and Liu 2012: which word completes a sentence.

Models learn from novels; for the SAT questions also from definitions and Brown. The combinations are those of
sections 5.5 and 5.6: on Holmes they are cross-validated within the split, on SAT learnt from dev.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.papers.completion.models import Zoo
from benchmarks.papers.completion.questions import Questions, Text, read_holmes, read_more, read_sat, read_text
from benchmarks.papers.framework.files import MissingFile
from benchmarks.papers.framework.registry import Options, Paper
from benchmarks.papers.framework.tables import SLICE_NOTE, Report, Row, say
from benchmarks.papers.published.zweig2012 import published
from semproj import SentenceCompleter
from semproj.metrics import compare_methods

DATASETS = ("holmes", "sat")
SINGLE = (
    "GT n-gram",
    "KN n-gram",
    "RNN",
    "LSA total similarity",
    "LSA literal",
    "LSA reconstruction",
    "LSA-LM",
    "PMI",
    "nearest sentences",
)
# Of what each combination is. The first three are the paper's.
COMBINED = {
    "LSA": ("LSA total similarity",),
    "LSA + GT": ("LSA total similarity", "GT n-gram"),
    "LSA + GT + RNN": ("LSA total similarity", "GT n-gram", "RNN"),
    "combination": ("LSA total similarity", "GT n-gram", "RNN", "PMI", "nearest sentences", "LSA reconstruction"),
}
TABLE_3 = ("GT n-gram", "Model M", "RNN")
ROWS = ("chance", *SINGLE, "Model M", *COMBINED)
OF_SAT = {"2": ("GT n-gram", "Model M", "RNN", "LSA-LM"), "4": ("LSA total similarity", "LSA reconstruction")}
FALSE_DISCOVERIES = 0.02
HELD_OUT = 20_000  # sentences at most, to measure perplexity on

TITLES = {
    "2": "SAT questions, language models",
    "3": "language models of the same sentences and the same held-out text",
    "4": "SAT questions, latent semantic analysis",
    "5": "SAT questions, combinations",
    "6": "Holmes questions",
}
NOTES = (
    "the paper's numbers on Holmes are of all 1,040 questions; its SAT questions are other ones, learnt from "
    "newspapers; a tie with another option is a wrong answer; words are lower case, without punctuation",
    "LSA literal is section 4.1 to the letter; LSA total similarity takes U for US and weighs the words around "
    "the blank by idf; PMI, nearest sentences and KN n-gram are not in the paper",
    "combinations are cross-validated in five folds, those on the test questions of SAT are learnt from dev",
)


def run(options: Options) -> Report:
    report = Report("zweig2012", options.split, titles=TITLES, notes=list(NOTES))
    asked = options.rows or ROWS
    text: Text | None = None
    for dataset in options.datasets or DATASETS:
        read = read_holmes if dataset == "holmes" else read_sat
        try:
            questions = read(options.data, options.split).take(options.documents)
            if text is None:
                say("reading the novels")
                text = read_text(options.data, options.models, options.limit)
        except MissingFile as missing:
            report.skip(f"{dataset}: skipped, {missing}")
            continue
        if dataset == "holmes":
            _holmes(report, Zoo(text, options.models, options.dimension), questions, asked)
        else:
            more = replace_sentences(text, read_more(options.data, options.limit))
            _sat(report, Zoo(more, options.models, options.dimension), questions, asked, options)
    if options.tune:
        report.skip("--tune: nothing to tune, combinations are cross-validated")
    if options.sliced:
        report.notes.append(SLICE_NOTE)
    return report


def replace_sentences(text: Text, more: list[str]) -> Text:
    return text._replace(sentences=[*text.sentences, *more])


def _holmes(report: Report, zoo: Zoo, questions: Questions, asked: tuple[str, ...]) -> None:
    correct: dict[str, np.ndarray] = {}
    if "chance" in asked:
        chance = float(np.mean([1 / len(question.options) for question in questions.asked]))
        _add(report, "6", "holmes", "chance", "accuracy", chance, 0.0)
    for name in SINGLE:
        if name in asked:
            correct[name] = _single(report, "6", "holmes", zoo, name, questions)
    for name, parts in COMBINED.items():
        if name in asked:
            correct[name] = _combined(report, "6", "holmes", zoo, name, parts, questions)
    if len(correct) > 1:
        _compare(report, correct)
    _perplexities(report, "holmes", zoo, [name for name in ("GT n-gram", "KN n-gram", "RNN") if name in asked])


def _sat(report: Report, zoo: Zoo, questions: Questions, asked: tuple[str, ...], options: Options) -> None:
    small = zoo.relevant(questions)
    for table, names in OF_SAT.items():
        for name in names:
            if name in asked:
                # Model M and the network learn from a part in the paper, too.
                source = small if name in ("Model M", "RNN") else zoo
                _single(report, table, "sat", source, name, questions)
    same = [name for name in TABLE_3 if name in asked]
    for name in same:
        _single(report, "3", "sat", small, name, questions)
    _perplexities(report, "sat", small, same)
    learnt = read_sat(options.data, "dev") if options.split == "test" else None
    for name, parts in COMBINED.items():
        if name in asked:
            _combined(report, "5", "sat", zoo, name, parts, questions, learnt)


def _single(report: Report, table: str, dataset: str, zoo: Zoo, name: str, questions: Questions) -> np.ndarray:
    completer = SentenceCompleter({name: zoo.method(name)})
    right = completer.correct(*questions)
    _add(report, table, dataset, name, "accuracy", float(right.mean()), zoo.cost(name))
    return right


def _combined(
    report: Report,
    table: str,
    dataset: str,
    zoo: Zoo,
    name: str,
    parts: tuple[str, ...],
    questions: Questions,
    learnt: Questions | None = None,
) -> np.ndarray:
    completer = SentenceCompleter({part: zoo.method(part) for part in parts})
    start = time.perf_counter()
    if learnt is None:
        right = completer.cross_validate(*questions)
    else:
        right = completer.fit_combination(*learnt).correct(*questions)
    seconds = sum(zoo.seconds.values()) + time.perf_counter() - start
    _add(report, table, dataset, name, "accuracy", float(right.mean()), seconds)
    return right


def _perplexities(report: Report, dataset: str, zoo: Zoo, names: list[str]) -> None:
    """Of held-out sentences, over the words that the model knows."""
    sentences = zoo.text.held_out[:HELD_OUT]
    for name in names if sentences else ():
        found = zoo.language_model(name).perplexity(sentences, unknown=False)
        _add(report, "3", dataset, name, "perplexity", found, zoo.cost(name))


def _add(report: Report, table: str, dataset: str, row: str, metric: str, ours: float, seconds: float) -> None:
    paper = published(table, dataset, row, metric, report.split)
    report.rows.append(Row(table, dataset, row, metric, ours, paper, seconds))
    say(f"  table {table}, {dataset}, {row}: {metric} {ours:.4f}")


def _compare(report: Report, correct: dict[str, np.ndarray]) -> None:
    """Which differences are significant, as in section 6."""
    found = compare_methods(correct, false_discoveries=FALSE_DISCOVERIES)
    better = [
        f"{each.a} over {each.b}" if each.accuracy_a > each.accuracy_b else f"{each.b} over {each.a}"
        for each in found
        if each.significant
    ]
    listed = "; ".join(better) if better else "none"
    report.notes.append(f"significant (McNemar, {FALSE_DISCOVERIES:.0%} false discoveries): {listed}")


PAPER = Paper(
    title="Zweig, Platt, Meek, Burges, Yessenalina and Liu 2012, Computational Approaches to Sentence Completion",
    rows=ROWS,
    datasets=DATASETS,
    run=run,
)
