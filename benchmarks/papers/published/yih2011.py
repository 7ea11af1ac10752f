"""What Yih, Toutanova, Platt and Meek 2011 print: the rows of Table 1."""

from __future__ import annotations

from benchmarks.papers.published.common import PublishedRow, Setting


def _row(dimension: int, accuracy: float, mrr: float, gamma: float | None = None) -> PublishedRow:
    return PublishedRow(Setting(dimension, gamma), {("1", "top1"): accuracy, ("1", "mrr"): mrr})


# The gamma of CPLSA is its coupling, which the paper does not weigh.
PUBLISHED = {
    "OPCA": _row(2000, 0.7255, 0.7734, 0.1),
    "CCA": _row(1500, 0.6894, 0.7378, 3.0),
    "CPLSA": _row(1000, 0.6329, 0.6842, 1.0),
    "JPLSA": _row(1000, 0.6079, 0.6604),
    "CLLSI": _row(5000, 0.5302, 0.6130),
}

S2NET = {"top1": 0.7447, "mrr": 0.7973}  # the paper's own model, which is no row of ours
