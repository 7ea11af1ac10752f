"""Tables 1 and 2 of Chang, Yih and Meek: Multi-Relational Latent Semantic Analysis, EMNLP 2013.

Table 1: closest-opposite questions of the GRE, from synonyms and antonyms, then with hypernyms and hyponyms too.
Table 2: how far pairs of words are a class and a member of it (SemEval-2012 Task 2), in MaxDiff accuracy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import semproj as sj
from benchmarks.papers.framework.files import MissingFile
from benchmarks.papers.framework.registry import Options, Paper
from benchmarks.papers.framework.tables import SLICE_NOTE, Report, Row, say
from benchmarks.papers.published.chang2013 import TABLE_1, inclusion
from benchmarks.papers.published.common import METRICS, score_of
from benchmarks.papers.thesauri.hypernym_lookup import HypernymLookup
from benchmarks.papers.thesauri.questions import read_questions, read_relations
from benchmarks.papers.thesauri.resources import ThesaurusFolder, some_entries
from semproj import tasks
from semproj.contextspace import ContextSpace
from semproj.oov import ExtendedWordSpace
from semproj.pilsa import DEFAULT_WEIGHTS, ThesaurusLookup
from semproj.thesaurus import Thesaurus
from semproj.thesaurus_readers import read_wordnet

DATASETS = ("gre", "semeval")
MODELS = (
    "Lookup",
    "RawTensor",
    "PILSA",
    "PILSA+hypernyms",
    "MRLSA:Syn+Ant",
    "MRLSA:Syn+Hypo",
    "MRLSA:4-layers",
    "MRLSA:4-layers+pivot",
    "MRLSA:4-layers+pivot+embedding",
)

# PILSA's weights, by their signs, are those of two slices; hypernyms count with the other two.
SIGNED = {name: weight for name, weight in DEFAULT_WEIGHTS.items() if name != "hypernym"}
SYNONYMS = {name: weight for name, weight in SIGNED.items() if weight > 0}
OPPOSITES = {"synonym": SYNONYMS, "antonym": {name: -weight for name, weight in SIGNED.items() if weight < 0}}
ABOVE_AND_BELOW = {"hypernym": {"hypernym": 1.0}, "hyponym": {"hyponym": 1.0}}
FOUR_LAYERS = {**OPPOSITES, **ABOVE_AND_BELOW}
WITH_PIVOT = {**FOUR_LAYERS, "synonym": {**SYNONYMS, "hypernym": DEFAULT_WEIGHTS["hypernym"]}}

# Chosen on dev, as the paper's ranks and scales are.
DIMENSION = 300
POLARITY = 0.5
SCALES = {"hypernym": 0.25, "hyponym": 0.25}  # the paper's largest of three
LEVELS = 20  # of hypernyms for class inclusion: all there are
# Whether one word is above the other is all that class inclusion asks: slices of it have the contrary taken away.
ABOVE_NOT_BELOW = {"hypernym": 1.0, "hyponym": -0.5}
BELOW_NOT_ABOVE = {"hyponym": 1.0, "hypernym": -0.5}
INCLUSION: dict[str, Any] = {"polarity": 0.5, "power": 0.5, "row_scaling": 0.25}
INCLUSION_DIMENSION = 100

TITLES = {"1": "closest opposites of the GRE", "2": "class inclusion, MaxDiff accuracy in percent"}
NOTES = (
    "the published numbers beside WordNet+Fallows (Table 1) and WordNet+Fallows+Roget (Table 2) are of Encarta, "
    "which is not public",
    "synonyms and antonyms deny each other by half in MRLSA (polarity; the paper's is 0, and 1 is PILSA)",
    "pivot: hypernyms are in the slice of synonyms too, with weight 0.25, and not only in their own",
    "words similar or derived are synonyms of weight 0.5, contrasts antonyms of weight 0.25, in all models; "
    "PILSA+hypernyms has hypernyms as synonyms of weight 0.25",
    "Table 1: the entries of several resources stand one below the other; the paper aligns target words by their "
    "synonyms, as here only Table 2 does",
    "embedding: of words that no thesaurus has, by spelling, then by neighbours in GloVe",
    "Table 2: RawTensor and MRLSA have hypernyms and hyponyms of all levels, and the degree of a pair is that of "
    "its order minus that of the reverse; one-way is without the reverse",
)


class Resources(NamedTuple):
    """A name, the sum that `ThesaurusFolder` knows, and which resource of the paper's is most like it.

    Of the paper's models with hypernyms and hyponyms, `layered` is that resource: they are always WordNet's.
    """

    name: str
    parts: str
    paper: str | None = None
    layered: str | None = None

    def beside(self, model: str) -> str | None:
        """The paper's resource whose numbers stand beside those of a model of ours."""
        return self.layered if model == "MRLSA:4-layers" else self.paper


GRE = (
    Resources("WordNet", "WordNet+contrast", "WordNet", "WordNet"),
    Resources("WordNet+similar+derived", "WordNet+contrast+similar+derived"),
    Resources("WordNet+Fallows", "WordNet+contrast+Fallows", "Encarta", "WordNet+Encarta"),
    Resources("WordNet+similar+derived+Fallows+Roget", "WordNet+contrast+similar+derived+Fallows+Roget"),
)
CLASSES = (
    Resources("WordNet", "", "WordNet", "WordNet"),
    Resources("WordNet+Fallows+Roget", "Fallows+Roget", None, "WordNet+Encarta"),
)

Degree = Callable[[str, str], float]


@dataclass(frozen=True)
class Fitted:
    """A model of a row, and what its fit took."""

    name: str
    model: Any
    seconds: float
    setting: str = ""


def run(options: Options) -> Report:
    """All rows asked for, of all resources there are."""
    report = Report("chang2013", options.split, titles=TITLES, notes=list(NOTES))
    asked = options.datasets or DATASETS
    folder = ThesaurusFolder(options.data)
    tables = {"gre": _closest_opposites, "semeval": _class_inclusion}
    missing = []
    for dataset in asked:
        try:
            tables[dataset](report, folder, options)
        except MissingFile as error:
            missing.append(f"{dataset}: {error}")
    if len(missing) == len(asked):
        raise MissingFile("; ".join(missing))
    for message in missing:
        report.skip(f"{message}, skipped")
    if options.tune:
        report.skip("--tune: nothing to tune, settings were chosen on dev")
    if options.sliced:
        report.notes.append(SLICE_NOTE)
    return report


def _closest_opposites(report: Report, folder: ThesaurusFolder, options: Options) -> None:
    """Table 1."""
    questions = read_questions(options.data, options.split, options.documents)
    for resources in GRE:
        try:
            whole = folder.thesaurus(f"{resources.parts}+hypernym+hyponym")
        except MissingFile as missing:
            report.skip(f"{resources.name}: skipped, {missing}")
            continue
        thesaurus = some_entries(whole, options.limit)
        say(f"{resources.name}: {len(thesaurus.entries)} entries, {len(thesaurus.words)} words")
        for fitted in _models_of_opposites(report, resources, thesaurus, folder, options):
            scores = tasks.closest_opposite(fitted.model, questions)
            say(f"  {fitted.name} ({fitted.seconds:.0f} s) F1 {scores.f1:.3f}")
            for metric in METRICS:
                report.rows.append(
                    Row(
                        table="1",
                        dataset="gre",
                        row=f"{resources.name} {fitted.name}",
                        metric=metric,
                        ours=getattr(scores, metric),
                        paper=score_of(
                            TABLE_1, (resources.beside(fitted.name), fitted.name), options.split, metric
                        ),
                        seconds=fitted.seconds,
                        setting=fitted.setting,
                    )
                )


def _models_of_opposites(
    report: Report, resources: Resources, thesaurus: Thesaurus, folder: ThesaurusFolder, options: Options
) -> Iterator[Fitted]:
    """Models that are asked for, each fitted when its turn comes."""
    asked = options.rows or MODELS
    k = _dimension(DIMENSION, thesaurus, options)
    if "Lookup" in asked:
        yield _fitted("Lookup", ThesaurusLookup(weights=SIGNED), thesaurus)
    if "RawTensor" in asked:
        raw = _fitted("RawTensor", sj.RawRelations(relations=OPPOSITES), thesaurus)
        yield Fitted(raw.name, Opposites(raw.model), raw.seconds)
    if "PILSA" in asked:
        yield _fitted("PILSA", sj.PILSA(k, weights=SIGNED, random_state=0), thesaurus)
    if "PILSA+hypernyms" in asked:
        yield _fitted("PILSA+hypernyms", sj.PILSA(k, random_state=0), thesaurus)
    if "MRLSA:Syn+Ant" in asked:
        two = sj.MRLSA(k, relations=OPPOSITES, polarity=POLARITY, random_state=0)
        fitted = _fitted("MRLSA:Syn+Ant", two, thesaurus)
        yield Fitted(fitted.name, Opposites(two), fitted.seconds, fitted.setting)
    if "MRLSA:4-layers" in asked:
        four = sj.MRLSA(k, relations=FOUR_LAYERS, polarity=POLARITY, scales=SCALES, random_state=0)
        fitted = _fitted("MRLSA:4-layers", four, thesaurus)
        yield Fitted(fitted.name, Opposites(four), fitted.seconds, fitted.setting)
    pivot, embedded = "MRLSA:4-layers+pivot", "MRLSA:4-layers+pivot+embedding"
    if pivot not in asked and embedded not in asked:
        return
    four = sj.MRLSA(k, relations=WITH_PIVOT, polarity=POLARITY, scales=SCALES, random_state=0)
    fitted = _fitted(pivot, four, thesaurus)
    if pivot in asked:
        yield Fitted(pivot, Opposites(four), fitted.seconds, fitted.setting)
    if embedded in asked:
        try:
            extended = ExtendedOpposites(four, folder.lemmatizer, folder.context)
        except MissingFile as missing:
            report.skip(f"{resources.name} {embedded}: skipped, {missing}")
        else:
            yield Fitted(embedded, extended, fitted.seconds, fitted.setting)


def _class_inclusion(report: Report, folder: ThesaurusFolder, options: Options) -> None:
    """Table 2."""
    questions = read_relations(options.data, options.split)
    wordnet = read_wordnet(folder.wordnet, relations=("antonym", "hypernym", "hyponym"), depth=LEVELS)
    for resources in CLASSES:
        try:
            more = [folder.thesaurus(resources.parts)] if resources.parts else []
        except MissingFile as missing:
            report.skip(f"{resources.name}: skipped, {missing}")
            continue
        thesaurus = some_entries(wordnet.merge(*more, align="synonyms"), options.limit)
        say(f"{resources.name}, class inclusion: {len(thesaurus.entries)} entries, {len(thesaurus.words)} words")
        for fitted in _models_of_inclusion(resources, thesaurus, folder, options):
            accuracies = {name: 100 * task.score(fitted.model).accuracy for name, task in questions.items()}
            if options.split == "test":
                accuracies["avg"] = float(np.mean(list(accuracies.values())))
            told = ", ".join(f"{name} {value:.1f}" for name, value in accuracies.items())
            say(f"  {fitted.name} ({fitted.seconds:.0f} s) {told}")
            report.rows += [
                Row(
                    table="2",
                    dataset=name,
                    row=f"{resources.name} {fitted.name}",
                    metric="maxdiff",
                    ours=value,
                    paper=inclusion(resources.beside(fitted.name), fitted.name, name),
                    seconds=fitted.seconds,
                    setting=fitted.setting,
                )
                for name, value in accuracies.items()
            ]


def _models_of_inclusion(
    resources: Resources, thesaurus: Thesaurus, folder: ThesaurusFolder, options: Options
) -> Iterator[Fitted]:
    asked = options.rows or MODELS
    k = _dimension(INCLUSION_DIMENSION, thesaurus, options)
    above_and_below = {"hypernym": ABOVE_NOT_BELOW, "hyponym": BELOW_NOT_ABOVE}
    two = {"synonym": {"synonym": 1.0}, "hyponym": BELOW_NOT_ABOVE}
    four = {"synonym": {"synonym": 1.0}, "antonym": {"antonym": 1.0}, **above_and_below}
    models: dict[str, Any] = {
        "RawTensor": sj.RawRelations(relations=("synonym", "hyponym")),
        "MRLSA:Syn+Hypo": sj.MRLSA(k, relations=two, random_state=0, **INCLUSION),
        "MRLSA:4-layers": sj.MRLSA(k, relations=four, random_state=0, **INCLUSION),
    }
    if resources.paper is None:  # the other rows are of WordNet alone
        models = {name: model for name, model in models.items() if name == "MRLSA:4-layers"}
    elif "Lookup" in asked:
        yield Fitted("Lookup", HypernymLookup(folder.wordnet).degree, 0.0)
        yield Fitted("Lookup, both directions", HypernymLookup(folder.wordnet, reverse=True).degree, 0.0)
    for name, model in models.items():
        if name in asked:
            fitted = _fitted(name, model, thesaurus)
            for suffix, reverse in (("", True), (", one-way", False)):
                degree = inclusion_degree(model, folder.lemmatizer, reverse=reverse)
                yield Fitted(name + suffix, degree, fitted.seconds, fitted.setting)


class Opposites:
    """Words that are the less similar the more they are antonyms."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __contains__(self, word: object) -> bool:
        return word in self.model

    def similarity(self, word: str, words: list[str]) -> np.ndarray:
        degrees: np.ndarray = -self.model.degree(word, words, "antonym")
        return degrees


class ExtendedOpposites:
    """The same with words that the thesaurus lacks, whose vectors in both slices are those of words like them."""

    def __init__(self, model: sj.MRLSA, lemmatizer: Any, context: ContextSpace) -> None:
        slices = [model.vectors(model.words_, relation) for relation in ("synonym", "antonym")]
        vectors = np.concatenate(slices, axis=1)
        self.space = ExtendedWordSpace(model.words_, vectors, lemmatizer=lemmatizer, context=context)

    def __contains__(self, word: object) -> bool:
        return word in self.space

    def similarity(self, word: str, words: list[str]) -> np.ndarray:
        synonyms, antonyms = np.split(self.space.embed([word, *words]).vectors, 2, axis=1)
        degrees: np.ndarray = -(antonyms[1:] @ synonyms[0] + synonyms[1:] @ antonyms[0])
        return degrees


def inclusion_degree(model: Any, lemmatizer: Any, *, reverse: bool) -> Degree:
    """How far the second word is a hyponym of the first, perhaps minus the reverse; 0 if one is unknown."""

    def known(word: str) -> str | None:
        return next((each for each in (word, *lemmatizer([word])) if each in model), None)

    def degree(general: str, special: str) -> float:
        above, below = known(general), known(special)
        if above is None or below is None:
            return 0.0
        found = model.degree(above, below, "hyponym")
        return float(found - model.degree(below, above, "hyponym") if reverse else found)

    return degree


def _dimension(wanted: int, thesaurus: Thesaurus, options: Options) -> int:
    return min(wanted, len(thesaurus.entries), len(thesaurus.words), options.dimension or wanted)


def _fitted(name: str, model: Any, thesaurus: Thesaurus) -> Fitted:
    start = time.perf_counter()
    model.fit(thesaurus)
    settings = {name: getattr(model, name, None) for name in ("n_components", "power", "polarity", "row_scaling")}
    told = [f"{name.replace('n_components', 'k')}={value:g}" for name, value in settings.items() if value]
    return Fitted(name, model, time.perf_counter() - start, " ".join(told))


PAPER = Paper(
    title="Chang, Yih and Meek 2013, Multi-Relational Latent Semantic Analysis",
    rows=MODELS,
    datasets=DATASETS,
    run=run,
)
