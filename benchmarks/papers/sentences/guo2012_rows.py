"""The rows of the tables of Guo and Diab 2012, and points of its figures: which model, how set, on what data."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.papers.published.guo2012 import Numbers, published
from benchmarks.papers.sentences.models import Setting

DIMENSION = 100
REG = 20.0
WEIGHTS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05)  # of missing words, Figure 2; but the first, Table 3
DIMENSIONS = (50, 75, 100, 125, 150)  # Figure 3
RETRIEVING, RATED = 0.0005, 0.01  # weights of missing words that the paper takes for CDR, and for pairs
LIGHTER = 0.005  # its second best for pairs; better on dev for the longer sentences of msrp and sts12


class RowSpec(NamedTuple):
    """A row of a table or a point of a figure, and the published numbers that stand beside it."""

    table: str
    dataset: str
    row: str
    setting: Setting
    paper: Numbers
    metrics: tuple[str, ...] | None = None  # only these

    @property
    def fitted(self) -> Setting:
        """What is fitted for it: a mixture is of the same model."""
        return self.setting._replace(mixed=False)

    @property
    def family(self) -> str:
        """As --rows knows it."""
        return self.setting.model + "+IR" * self.setting.mixed


def wtmf(weight: float, dimension: int = DIMENSION, *, reg: float = REG, mixed: bool = False) -> Setting:
    return Setting("WTMF", dimension, missing_weight=weight, reg=reg, mixed=mixed)


def lda(alpha: float, beta: float, dimension: int = DIMENSION) -> Setting:
    return Setting("LDA", dimension, alpha=alpha, beta=beta)


IR, LSA, BEST_LDA = Setting("IR"), Setting("LSA", DIMENSION), lda(0.05, 0.05)

_RETRIEVAL = {  # Table 2
    "IR": IR,
    "N-gram": Setting("N-gram"),
    "N-gram tf-idf": Setting("N-gram tf-idf"),
    "LSA": LSA,
    "LDA a=0.1 b=0.01": lda(0.1, 0.01),
    "LDA a=0.05 b=0.05": BEST_LDA,
    "WTMF w=1": wtmf(1.0, reg=0.0),
    "WTMF w=0": wtmf(0.0),
    "WTMF w=0.01": wtmf(RATED),
    "WTMF w=0.0005": wtmf(RETRIEVING),
}
_RATED = {  # Table 4
    "IR": IR,
    "LSA": LSA,
    "LDA a=0.05 b=0.05": BEST_LDA,
    "WTMF w=0.005": wtmf(LIGHTER),
    "WTMF w=0.01": wtmf(RATED),
}
_PAIRS = {  # Table 5, and STS
    **_RATED,
    "WTMF+IR w=0.005": wtmf(LIGHTER, mixed=True),
    "WTMF+IR w=0.01": wtmf(RATED, mixed=True),
}


def _table(table: str, dataset: str, settings: dict[str, Setting]) -> list[RowSpec]:
    return [RowSpec(table, dataset, row, set_, published(table, dataset, row)) for row, set_ in settings.items()]


def _points(number: int, settings: dict[str, tuple[Setting, str]]) -> list[RowSpec]:
    """Points of a figure, with the row of Table 2 that has the same setting, if one has."""
    table = f"Figure {number}"
    return [
        RowSpec(table, "cdr", point, set_, published(table, "cdr", same), ("atop",))
        for point, (set_, same) in settings.items()
    ]


def _specs() -> list[RowSpec]:
    by_weight = {f"WTMF w={weight:g}": wtmf(weight) for weight in WEIGHTS}
    specs = _table("2", "cdr", _RETRIEVAL)
    for dataset in ("li06_30", "li06_35"):
        specs += _table("3", dataset, {row: by_weight[row] for row in list(by_weight)[1:]})
    specs += _table("4", "li06_30", _RATED) + _table("5", "msrp", _PAIRS) + _table("STS", "sts12", _PAIRS)
    specs += _points(2, {row: (setting, row) for row, setting in by_weight.items()})
    same = {DIMENSION: f"WTMF w={RETRIEVING:g}"}
    specs += _points(3, {f"WTMF K={k}": (wtmf(RETRIEVING, k), same.get(k, "")) for k in DIMENSIONS})
    same = {DIMENSION: "LDA a=0.05 b=0.05"}
    specs += _points(3, {f"LDA K={k}": (lda(0.05, 0.05, k), same.get(k, "")) for k in DIMENSIONS})
    return specs


ROWS = tuple(_specs())
