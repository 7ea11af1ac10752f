"""What Yih, Toutanova, Platt and Meek 2011 report, and the settings of our rows that were tuned on dev."""

from __future__ import annotations

from math import inf

from benchmarks.papers import platt2010_figures
from benchmarks.papers.crosstasks import Published, Setting


def _row(dimension: int, accuracy: float, mrr: float, gamma: float | None = None) -> Published:
    return Published(Setting(dimension, gamma), {("1", "top1"): accuracy, ("1", "mrr"): mrr})


# The gamma of CPLSA is its coupling, which the paper does not weigh.
PUBLISHED = {
    "OPCA": _row(2000, 0.7255, 0.7734, 0.1),
    "CCA": _row(1500, 0.6894, 0.7378, 3.0),
    "CPLSA": _row(1000, 0.6329, 0.6842, 1.0),
    "JPLSA": _row(1000, 0.6079, 0.6604),
    "CLLSI": _row(5000, 0.5302, 0.6130),
}
TOPIC_MODELS = ("CPLSA", "JPLSA")  # of which the paper has another version
COMPARABLE = {"mdn"}  # where the paper has a figure to put beside

# Those of the rows of 2010 on the same task, tuned there on dev.
TUNED: dict[str, dict[str, Setting]] = {
    "mdn": {"CPLSA": Setting(200, inf), "JPLSA": Setting(200)},
    "debian": {"CPLSA": Setting(500, inf), "JPLSA": Setting(200)},
}


def setting_of(table: str, dataset: str, row: str) -> Setting:
    """The tuned setting of a row, or the paper's."""
    tuned = TUNED.get(dataset, {})
    if row in tuned:
        return tuned[row]
    return PUBLISHED[row].setting if row in TOPIC_MODELS else platt2010_figures.setting_of("2", dataset, row)


def figure_of(table: str, dataset: str, row: str, place: tuple[str, str]) -> float | None:
    """The paper's figure at a place (table and metric as printed), where it has one."""
    return PUBLISHED[row].figures.get(place) if dataset in COMPARABLE else None
