"""Table 1 of Yih, Toutanova, Platt and Meek: Learning Discriminative Projections for Text Similarity Measures,
CoNLL 2011.

Each document looks for its partner among all documents of the other language, both directions averaged, ties
counted as errors. JPLSA and CPLSA have the paper's three changes: separate vocabularies, ten iterations of fold-in
and the Jensen-Shannon divergence. The other rows are those of Platt, Toutanova and Yih 2010.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.papers.crosslingual import METHODS as METHODS_OF_2010
from benchmarks.papers.crosslingual import Method, Space, topic_methods
from benchmarks.papers.crosstasks import Book, Group, Retrieval, measure_folders, read_folder
from benchmarks.papers.platt2010 import DROP_TOP, TERMS
from benchmarks.papers.registry import Options, Paper
from benchmarks.papers.tables import Report
from benchmarks.papers.topicmodels import MAX_SWEEPS, OF_2011
from benchmarks.papers.yih2011_figures import PUBLISHED, figure_of, setting_of

DATASETS = ("mdn", "debian")
BOOK = Book(setting_of, figure_of)

TITLES = {"1": "retrieval of comparable documents"}
NOTES = (
    "the paper's figures are of its test set of Wikipedia (en-es), for which mdn (en-fr) stands in; debian "
    "(en-it) has no paper's figure",
    "JPLSA and CPLSA: topics over separate vocabularies, ten iterations of fold-in, Jensen-Shannon; of up to "
    f"{MAX_SWEEPS} sweeps as many as are best on dev",
    "the paper's own S2Net, which has 0.7447 and 0.7973 there, is no row here",
)


_MODELS = {method.row: method for method in METHODS_OF_2010} | topic_methods(OF_2011)
METHODS = tuple(_MODELS[row] for row in PUBLISHED)


def run(options: Options) -> Report:
    """All rows asked for, of all datasets there are."""
    report = Report("yih2011", options.split, titles=TITLES, notes=list(NOTES))
    for _ in measure_folders(report, METHODS, DATASETS, _groups, BOOK, options):
        pass
    return report


def _groups(folder: str, names: Sequence[str], methods: Sequence[Method], options: Options) -> Iterator[Group]:
    read = read_folder(folder, methods, options)
    dev = None if read.dev is None else read.dev.texts
    terms = options.terms or TERMS
    space = Space(read.train.texts, drop_top=DROP_TOP, terms=terms, dev=dev, lowercase=options.lowercase)
    yield Group(space, [Retrieval("1", folder, space.count_all(read.held_out.texts))], list(methods))


PAPER = Paper(
    title="Yih, Toutanova, Platt and Meek 2011, Learning Discriminative Projections for Text Similarity Measures",
    rows=tuple(PUBLISHED),
    datasets=DATASETS,
    run=run,
)
