"""What Yih, Zweig and Platt 2012 print: Tables 5 and 6."""

from __future__ import annotations

from benchmarks.papers.published.common import score_of

DIMENSIONS = (50, 100, 200, 300, 400, 500, 750, 1000, 2000, 3000)  # of Table 5

# Table 5: precision on dev by dimension
TABLE_5 = {
    name: dict(zip(DIMENSIONS, numbers, strict=True))
    for name, numbers in (
        ("Bloomsbury", (0.778, 0.850, 0.856, 0.863, 0.843, 0.843, 0.830, 0.837, 0.784, 0.778)),
        ("WordNet", (0.475, 0.563, 0.569, 0.625, 0.625, 0.613, 0.613, 0.544, 0.519, 0.494)),
    )
}

# Table 6: precision, recall and F1, on dev and on test
TABLE_6 = {
    ("WordNet", "lookup"): ((0.40, 0.40, 0.40), (0.42, 0.41, 0.42)),
    ("WordNet", "signed tf-idf"): ((0.41, 0.41, 0.41), (0.43, 0.42, 0.43)),
    ("WordNet", "PILSA"): ((0.63, 0.62, 0.62), (0.60, 0.60, 0.60)),
    ("Bloomsbury", "lookup"): ((0.65, 0.61, 0.63), (0.61, 0.56, 0.59)),
    ("Bloomsbury", "signed tf-idf"): ((0.68, 0.64, 0.66), (0.63, 0.57, 0.60)),
    ("Bloomsbury", "PILSA"): ((0.86, 0.81, 0.84), (0.81, 0.74, 0.77)),
    ("Bloomsbury", "PILSA + S2Net"): ((0.89, 0.84, 0.86), (0.84, 0.77, 0.80)),
}


def precision(thesaurus: str | None, split: str, dimension: int) -> float | None:
    """Of Table 5, which is of dev alone, by the paper's name of a thesaurus."""
    return TABLE_5.get(thesaurus or "", {}).get(dimension) if split == "dev" else None


def overall(thesaurus: str | None, split: str, model: str, metric: str) -> float | None:
    """Of Table 6; its PILSA stands beside ours in either setting."""
    return score_of(TABLE_6, (thesaurus, model.partition(",")[0]), split, metric)
