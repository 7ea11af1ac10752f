"""What Platt, Toutanova and Yih 2010 report, and the settings of our rows that were tuned on dev."""

from __future__ import annotations

from math import inf

from benchmarks.papers.crosstasks import Published, Setting


def _retrieval(
    table: str, dimension: int | None, top1: float, mrr: float, gamma: float | None = None
) -> Published:
    return Published(Setting(dimension, gamma), {(table, "top1"): top1, (table, "mrr"): mrr})


def _classified(dimension: int | None, english: float, other: float, gamma: float | None = None) -> Published:
    figures = {("3 English", "accuracy"): english, ("3 Italian", "accuracy"): other}
    return Published(Setting(dimension, gamma), figures)


# The paper's rows, by table. DDA has no figures of its own there; it starts from the setting of OPCA. The gamma of
# CPLSA is its coupling, which the paper does not weigh.
PUBLISHED: dict[str, dict[str, Published]] = {
    "1": {
        "OPCA": _retrieval("1", 1000, 0.9742, 0.9806, 0.1),
        "DDA": Published(Setting(1000, 0.1), {}),
        "CPLSA": _retrieval("1", 1000, 0.9716, 0.9782, 1.0),
        "WordByWord": _retrieval("1", None, 0.9707, 0.9779),
        "WordByWord+LSA": _retrieval("1", 5000, 0.9706, 0.9778),
        "JPLSA": _retrieval("1", 1000, 0.9645, 0.9726),
        "CCA": _retrieval("1", 1500, 0.9613, 0.9705, 10.0),
        "CLLSI": _retrieval("1", 3000, 0.9457, 0.9595),
        "Untranslated": _retrieval("1", None, 0.1595, 0.2564),
    },
    "2": {
        "OPCA": _retrieval("2", 2000, 0.7255, 0.7734, 0.1),
        "DDA": Published(Setting(2000, 0.1), {}),
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
        "DDA": Published(Setting(100, 0.1), {}),
        "WordByWord+LSA": _classified(50, 0.8483, 0.5780),
        "CCA": _classified(150, 0.8388, 0.5384, 3.0),
        "CLLSI": _classified(150, 0.8401, 0.5105),
        "WordByWord": _classified(None, 0.8046, 0.4481),
    },
}
COMPARABLE = {("1", "europarl"), ("2", "mdn"), ("3", "debian")}  # where the paper has a figure to put beside

# Found by --tune on dev: (table, dataset) and row. Where there is nothing, the paper's own setting is used. The
# coupling of CPLSA is that of slices of dev. Topics of JPLSA are of 200, 500 and, on Europarl, 1000: more of them
# take more sweeps to leave the start, and end below. Those of CPLSA are of 200, 500 and 1000 on mdn, of 200 and
# 500 on debian, and as many as the paper tried at most on Europarl.
TUNED: dict[tuple[str, str], dict[str, Setting]] = {
    ("1", "europarl"): {
        "OPCA": Setting(2000, 0.1),
        "DDA": Setting(2000, 0.1),
        "CCA": Setting(1500, 1.0),
        "CLLSI": Setting(2000),
        "WordByWord+LSA": Setting(2000),
        "CPLSA": Setting(1000, inf),
        "JPLSA": Setting(200),
    },
    ("1", "europarl-25"): {
        "OPCA": Setting(2000, 0.1),
        "DDA": Setting(2000, 0.1),
        "CCA": Setting(1500, 1.0),
        "CLLSI": Setting(2000),
        "WordByWord+LSA": Setting(2000),
        "CPLSA": Setting(1000, inf),
        "JPLSA": Setting(200),
    },
    ("2", "mdn"): {
        "OPCA": Setting(1500, 0.1),
        "DDA": Setting(1500, 0.1),
        "CCA": Setting(1000, 1.0),
        "CLLSI": Setting(2000),
        "WordByWord+LSA": Setting(2000),
        "CPLSA": Setting(200, inf),
        "JPLSA": Setting(200),
    },
    ("2", "debian"): {
        "OPCA": Setting(1500, 0.1),
        "DDA": Setting(1500, 0.1),
        "CCA": Setting(1000, 0.1),
        "CLLSI": Setting(1000),
        "WordByWord+LSA": Setting(2000),
        "CPLSA": Setting(500, inf),
        "JPLSA": Setting(200),
    },
    ("3", "debian"): {
        "OPCA": Setting(1000, 0.1),
        "DDA": Setting(1000, 0.1),
        "CCA": Setting(1000, 0.1),
        "CLLSI": Setting(1500),
        "WordByWord+LSA": Setting(1500),
    },
}


def setting_of(table: str, dataset: str, row: str) -> Setting:
    """The tuned setting of a row, or the paper's."""
    tuned = TUNED.get((table, dataset), {})
    return tuned[row] if row in tuned else PUBLISHED[table][row].setting


def figure_of(table: str, dataset: str, row: str, place: tuple[str, str]) -> float | None:
    """The paper's figure at a place (table and metric as printed), where it has one."""
    return PUBLISHED[table][row].figures.get(place) if (table, dataset) in COMPARABLE else None
