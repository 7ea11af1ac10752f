"""What Guo and Diab 2012 print: Tables 2 to 5, by the names that our rows have."""

from __future__ import annotations

# Table 2, concept definition retrieval: ATOP on dev and on test
TABLE_2: dict[str, dict[str, float]] = {
    "IR": {"dev": 0.8578, "test": 0.8515},
    "N-gram": {"dev": 0.8238, "test": 0.8171},
    "N-gram tf-idf": {"test": 0.8467},
    "LSA": {"dev": 0.8218, "test": 0.8143},
    "LDA a=0.1 b=0.01": {"dev": 0.9466, "test": 0.9427},
    "LDA a=0.05 b=0.05": {"dev": 0.9506, "test": 0.9470},
    "WTMF w=1": {"dev": 0.8273, "test": 0.8273},
    "WTMF w=0": {"dev": 0.8745, "test": 0.8645},
    "WTMF w=0.01": {"dev": 0.9555, "test": 0.9511},
    "WTMF w=0.0005": {"dev": 0.9610, "test": 0.9558},
}

# Tables 3 and 4, rated pairs of LI06: Pearson's r and Spearman's rho, of 30 pairs and of 35
LI06: dict[str, dict[str, tuple[float, float]]] = {
    "WTMF w=0.0005": {"li06_30": (0.8247, 0.8440), "li06_35": (0.4200, 0.6006)},
    "WTMF w=0.001": {"li06_30": (0.8470, 0.8636), "li06_35": (0.4308, 0.5985)},
    "WTMF w=0.005": {"li06_30": (0.8876, 0.8966), "li06_35": (0.4638, 0.5809)},
    "WTMF w=0.01": {"li06_30": (0.8984, 0.9091), "li06_35": (0.4564, 0.5450)},
    "WTMF w=0.05": {"li06_30": (0.8804, 0.8812), "li06_35": (0.4087, 0.4766)},
    "LDA a=0.05 b=0.05": {"li06_30": (0.8422, 0.8663)},
}

# Table 5, paraphrases of MSR04: accuracy on the test pairs
TABLE_5 = {"LDA a=0.05 b=0.05": 0.686, "WTMF w=0.01": 0.7151}

Numbers = dict[str, dict[str, float]]  # by split and metric


def published(table: str, dataset: str, row: str) -> Numbers:
    """The numbers that stand beside a row; Figures 2 and 3 have points of Table 2."""
    if dataset == "cdr":
        return {split: {"atop": value} for split, value in TABLE_2.get(row, {}).items()}
    if dataset in LI06.get(row, {}):  # which has no dev and test: the same numbers for both
        r, rho = LI06[row][dataset]
        return {split: {"r": r, "rho": rho} for split in ("dev", "test")}
    return {"test": {"accuracy": TABLE_5[row]}} if table == "5" and row in TABLE_5 else {}
