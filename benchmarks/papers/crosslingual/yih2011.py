"""Table 1 and Figure 2 of Yih, Toutanova, Platt and Meek: Learning Discriminative Projections for Text Similarity
Measures, CoNLL 2011.

Each document looks for its partner among all documents of the other language, both directions averaged, ties
counted as errors. JPLSA and CPLSA have the paper's three changes: separate vocabularies, ten iterations of fold-in
and the Jensen-Shannon divergence. The other rows are those of Platt, Toutanova and Yih 2010, and S2Net.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from benchmarks.papers.crosslingual.discriminative import MAX_SWEEPS as S2NET_SWEEPS
from benchmarks.papers.crosslingual.methods import METHODS as METHODS_OF_2010
from benchmarks.papers.crosslingual.methods import CountSpace, Method, topic_methods
from benchmarks.papers.crosslingual.platt2010 import CUT_WORDS, DROP_TOP, TERMS
from benchmarks.papers.crosslingual.platt2010 import setting_of as setting_of_2010
from benchmarks.papers.crosslingual.tasks import (
    Reference,
    Retrieval,
    TaskGroup,
    draw_curves,
    measure_folders,
    read_folder,
)
from benchmarks.papers.crosslingual.topicmodels import MAX_SWEEPS, OF_2011
from benchmarks.papers.framework.registry import Options, Paper
from benchmarks.papers.framework.tables import Report
from benchmarks.papers.published.common import Setting
from benchmarks.papers.published.yih2011 import PUBLISHED

DATASETS = ("europarl-25", "mdn", "debian")

TITLES = {"1": "retrieval of comparable documents"}
NOTES = (
    "the published numbers are of the paper's test set of Wikipedia (en-es), for which mdn (en-fr) stands in; "
    "debian (en-it) and europarl-25 (en-es), of which all documents end after 25 words, have none",
    "JPLSA and CPLSA: topics over separate vocabularies, ten iterations of fold-in, Jensen-Shannon; of up to "
    f"{MAX_SWEEPS} sweeps as many as are best on dev",
    f"S2Net: from OPCA, softmax over the other pairs; of up to {S2NET_SWEEPS} sweeps (steps of L-BFGS on mdn, "
    "else epochs of Adam) as many as are best on dev",
)

TOPIC_MODELS = ("CPLSA", "JPLSA")  # of which the paper has another version
COMPARABLE = {"mdn"}  # where a published number can stand beside ours
CUT = {"europarl-25"}
FIGURES = {"mdn": 2}

# Those of the rows of 2010 on the same task, tuned there on dev.
TUNED: dict[str, dict[str, Setting]] = {
    "mdn": {"CPLSA": Setting(200, inf), "JPLSA": Setting(200)},
    "debian": {"CPLSA": Setting(500, inf), "JPLSA": Setting(200)},
}

_MODELS = {method.row: method for method in METHODS_OF_2010} | topic_methods(OF_2011)
_MODELS["S2Net"] = replace(_MODELS["S2Net"], drawn=True)
METHODS = tuple(_MODELS[row] for row in PUBLISHED)


def setting_of(table: str, dataset: str, row: str) -> Setting:
    """The tuned setting of a row, or the paper's."""
    tuned = TUNED.get(dataset, {})
    if row in tuned:
        return tuned[row]
    in_2010 = "1" if dataset in CUT else "2"
    return PUBLISHED[row].setting if row in TOPIC_MODELS else setting_of_2010(in_2010, dataset, row)


def published_of(table: str, dataset: str, row: str, place: tuple[str, str]) -> float | None:
    """The published number at a place (table and metric as printed), where there is one."""
    return PUBLISHED[row].numbers.get(place) if dataset in COMPARABLE else None


REFERENCE = Reference(setting_of, published_of)


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("yih2011", options.split, titles=TITLES, notes=list(NOTES))
    for results in measure_folders(report, METHODS, DATASETS, _groups, REFERENCE, options):
        draw_curves(report, results, options)
    return report


def _groups(folder: str, names: Sequence[str], methods: Sequence[Method], options: Options) -> Iterator[TaskGroup]:
    read, (name,) = read_folder(folder, methods, options), names
    if name in CUT:
        read = read.cut(CUT_WORDS)
    dev = None if read.dev is None else read.dev.texts
    terms = options.terms or TERMS
    space = CountSpace(read.train.texts, drop_top=DROP_TOP, terms=terms, dev=dev, lowercase=options.lowercase)
    task = Retrieval("1", name, space.count_all(read.held_out.texts), FIGURES.get(name))
    yield TaskGroup(space, [task], list(methods))


PAPER = Paper(
    title="Yih, Toutanova, Platt and Meek 2011, Learning Discriminative Projections for Text Similarity Measures",
    rows=tuple(PUBLISHED),
    datasets=DATASETS,
    run=run,
)
