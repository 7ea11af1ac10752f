"""What Yih, Toutanova, Platt and Meek 2011 print: the rows of Tables 1 to 3."""

from __future__ import annotations

from benchmarks.papers.published.common import PublishedRow, Setting


def _row(dimension: int, accuracy: float, mrr: float, gamma: float | None = None) -> PublishedRow:
    return PublishedRow(Setting(dimension, gamma), {("1", "top1"): accuracy, ("1", "mrr"): mrr})


# The gamma of CPLSA is its coupling, which the paper does not weigh.
PUBLISHED = {
    "S2Net": _row(2000, 0.7447, 0.7973),
    "OPCA": _row(2000, 0.7255, 0.7734, 0.1),
    "CCA": _row(1500, 0.6894, 0.7378, 3.0),
    "CPLSA": _row(1000, 0.6329, 0.6842, 1.0),
    "JPLSA": _row(1000, 0.6079, 0.6604),
    "CLLSI": _row(5000, 0.5302, 0.6130),
}

RELEVANCE_METRICS = ("AUC", "NDCG@1", "NDCG@3", "NDCG@5")
# Of 1000 dimensions each, but for TFIDF.
TABLE2 = {
    "S2Net": (0.892, 0.855, 0.883, 0.901),
    "TFIDF": (0.861, 0.825, 0.854, 0.876),
    "HDLR": (0.855, 0.826, 0.856, 0.877),
    "CPLSA": (0.853, 0.845, 0.872, 0.890),
    "PCA": (0.848, 0.815, 0.847, 0.870),
    "OPCA": (0.844, 0.817, 0.850, 0.872),
    "JPLSA": (0.840, 0.838, 0.864, 0.883),
    "CCA": (0.836, 0.820, 0.852, 0.874),
    "PLSA": (0.835, 0.831, 0.860, 0.879),
}
TABLE3 = {  # S2Net by its dimensions
    100: (0.855, 0.843, 0.871, 0.890),
    300: (0.879, 0.852, 0.879, 0.897),
    500: (0.880, 0.856, 0.881, 0.899),
    750: (0.888, 0.860, 0.884, 0.902),
    1000: (0.892, 0.855, 0.883, 0.901),
}
