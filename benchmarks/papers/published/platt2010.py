"""What Platt, Toutanova and Yih 2010 print: the rows of Tables 1 to 3."""

from __future__ import annotations

from benchmarks.papers.published.common import PublishedRow, Setting


def _retrieval(
    table: str, dimension: int | None, top1: float, mrr: float, gamma: float | None = None
) -> PublishedRow:
    return PublishedRow(Setting(dimension, gamma), {(table, "top1"): top1, (table, "mrr"): mrr})


def _classified(dimension: int | None, english: float, other: float, gamma: float | None = None) -> PublishedRow:
    numbers = {("3 English", "accuracy"): english, ("3 Italian", "accuracy"): other}
    return PublishedRow(Setting(dimension, gamma), numbers)


# The paper's rows, by table. It has no numbers of DDA, which starts from the setting of OPCA, and of S2Net, which
# is of the year after. The gamma of CPLSA is its coupling, which the paper does not weigh.
PUBLISHED: dict[str, dict[str, PublishedRow]] = {
    "1": {
        "S2Net": PublishedRow(Setting(1000), {}),
        "OPCA": _retrieval("1", 1000, 0.9742, 0.9806, 0.1),
        "DDA": PublishedRow(Setting(1000, 0.1), {}),
        "CPLSA": _retrieval("1", 1000, 0.9716, 0.9782, 1.0),
        "WordByWord": _retrieval("1", None, 0.9707, 0.9779),
        "WordByWord+LSA": _retrieval("1", 5000, 0.9706, 0.9778),
        "JPLSA": _retrieval("1", 1000, 0.9645, 0.9726),
        "CCA": _retrieval("1", 1500, 0.9613, 0.9705, 10.0),
        "CLLSI": _retrieval("1", 3000, 0.9457, 0.9595),
        "Untranslated": _retrieval("1", None, 0.1595, 0.2564),
    },
    "2": {
        "S2Net": PublishedRow(Setting(500), {}),
        "OPCA": _retrieval("2", 2000, 0.7255, 0.7734, 0.1),
        "DDA": PublishedRow(Setting(2000, 0.1), {}),
        "WordByWord": _retrieval("2", None, 0.7033, 0.7467),
        "CCA": _retrieval("2", 1500, 0.6894, 0.7378, 3.0),
        "WordByWord+LSA": _retrieval("2", 5000, 0.6786, 0.7236),
        "CLLSI": _retrieval("2", 5000, 0.5302, 0.6130),
        "Untranslated": _retrieval("2", None, 0.4692, 0.5383),
        "CPLSA": _retrieval("2", 200, 0.4579, 0.5130, 1.0),
        "JPLSA": _retrieval("2", 1000, 0.3322, 0.3619),
    },
    "3": {
        "OPCA": _classified(100, 0.8412, 0.5954, 0.1),
        "DDA": PublishedRow(Setting(100, 0.1), {}),
        "WordByWord+LSA": _classified(50, 0.8483, 0.5780),
        "CCA": _classified(150, 0.8388, 0.5384, 3.0),
        "CLLSI": _classified(150, 0.8401, 0.5105),
        "WordByWord": _classified(None, 0.8046, 0.4481),
    },
}
