"""What Guo and Diab 2012 report, and the rows of ours that stand beside it."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.papers.sentencemodels import Setting

DIMENSION = 100
REG = 20.0
WEIGHTS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05)  # of missing words, Figure 2
DIMENSIONS = (50, 75, 100, 125, 150)  # Figure 3
RETRIEVING, RATED = 0.0005, 0.01  # weights of missing words that the paper takes for CDR, and for pairs
LIGHTER = 0.005  # its second best for pairs; better on dev for the longer sentences of msrp and sts12

Figures = dict[str, dict[str, float]]  # by split and metric


class Line(NamedTuple):
    """A row of a table or a point of a figure: whose figures, in which setting, on what data."""

    table: str
    dataset: str
    row: str
    setting: Setting
    paper: Figures
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


IR, NGRAM, NGRAM_TFIDF = Setting("IR"), Setting("N-gram"), Setting("N-gram tf-idf")
LSA = Setting("LSA", DIMENSION)
BEST_LDA = lda(0.05, 0.05)


def _atop(dev: float | None, test: float) -> Figures:
    return {"dev": {} if dev is None else {"atop": dev}, "test": {"atop": test}}


def _rated(r: float, rho: float) -> Figures:
    """LI06 has no dev and test: the same figures for both."""
    return {split: {"r": r, "rho": rho} for split in ("dev", "test")}


_RETRIEVED = {RETRIEVING: _atop(0.9610, 0.9558), RATED: _atop(0.9555, 0.9511)}

_TABLE_2 = (
    ("IR", IR, _atop(0.8578, 0.8515)),
    ("N-gram", NGRAM, _atop(0.8238, 0.8171)),
    ("N-gram tf-idf", NGRAM_TFIDF, _atop(None, 0.8467)),
    ("LSA", LSA, _atop(0.8218, 0.8143)),
    ("LDA a=0.1 b=0.01", lda(0.1, 0.01), _atop(0.9466, 0.9427)),
    ("LDA a=0.05 b=0.05", BEST_LDA, _atop(0.9506, 0.9470)),
    ("WTMF w=1", wtmf(1.0, reg=0.0), _atop(0.8273, 0.8273)),
    ("WTMF w=0", wtmf(0.0), _atop(0.8745, 0.8645)),
    ("WTMF w=0.01", wtmf(RATED), _RETRIEVED[RATED]),
    ("WTMF w=0.0005", wtmf(RETRIEVING), _RETRIEVED[RETRIEVING]),
)
_TABLE_3 = {  # weight: r and rho of 30 pairs, of 35 pairs
    0.0005: ((0.8247, 0.8440), (0.4200, 0.6006)),
    0.001: ((0.8470, 0.8636), (0.4308, 0.5985)),
    0.005: ((0.8876, 0.8966), (0.4638, 0.5809)),
    0.01: ((0.8984, 0.9091), (0.4564, 0.5450)),
    0.05: ((0.8804, 0.8812), (0.4087, 0.4766)),
}
_PAIRS = (  # models of Table 4 and 5, and STS: name, setting, accuracy on MSR04's test pairs
    ("IR", IR, None),
    ("LSA", LSA, None),
    ("LDA a=0.05 b=0.05", BEST_LDA, 0.686),
    ("WTMF w=0.005", wtmf(LIGHTER), None),
    ("WTMF w=0.01", wtmf(RATED), 0.7151),
    ("WTMF+IR w=0.005", wtmf(LIGHTER, mixed=True), None),
    ("WTMF+IR w=0.01", wtmf(RATED, mixed=True), None),
)


def _lines() -> list[Line]:
    lines = [Line("2", "cdr", row, setting, paper) for row, setting, paper in _TABLE_2]
    for number, dataset in enumerate(("li06_30", "li06_35")):
        for weight, figures in _TABLE_3.items():
            lines.append(Line("3", dataset, f"WTMF w={weight:g}", wtmf(weight), _rated(*figures[number])))
    lines += [
        Line("4", "li06_30", "IR", IR, {}),
        Line("4", "li06_30", "LSA", LSA, {}),
        Line("4", "li06_30", "LDA a=0.05 b=0.05", BEST_LDA, _rated(0.8422, 0.8663)),
        *(Line("4", "li06_30", f"WTMF w={w:g}", wtmf(w), _rated(*_TABLE_3[w][0])) for w in (LIGHTER, RATED)),
    ]
    for row, setting, accuracy in _PAIRS:
        lines.append(Line("5", "msrp", row, setting, {} if accuracy is None else {"test": {"accuracy": accuracy}}))
    lines += [Line("STS", "sts12", row, setting, {}) for row, setting, _ in _PAIRS]
    for weight in WEIGHTS:
        paper = _RETRIEVED.get(weight, {})
        lines.append(Line("Figure 2", "cdr", f"WTMF w={weight:g}", wtmf(weight), paper, ("atop",)))
    for dimension in DIMENSIONS:
        paper = _RETRIEVED[RETRIEVING] if dimension == DIMENSION else {}
        row, setting = f"WTMF K={dimension}", wtmf(RETRIEVING, dimension)
        lines.append(Line("Figure 3", "cdr", row, setting, paper, ("atop",)))
    for dimension in DIMENSIONS:
        paper = _atop(0.9506, 0.9470) if dimension == DIMENSION else {}
        row, setting = f"LDA K={dimension}", lda(0.05, 0.05, dimension)
        lines.append(Line("Figure 3", "cdr", row, setting, paper, ("atop",)))
    return lines


LINES = tuple(_lines())
