"""What Yih, Zweig and Platt 2012 report, and the resources of ours that stand beside theirs."""

from __future__ import annotations

from typing import NamedTuple

DIMENSIONS = (50, 100, 200, 300, 400, 500, 750, 1000, 2000, 3000)  # of Table 5

METRICS = ("precision", "recall", "f1")


class Resources(NamedTuple):
    """A name, the sum that `thesauri.Shelf` knows, and which thesaurus of the paper's is most like it."""

    name: str
    parts: str
    paper: str | None = None


RESOURCES = (
    Resources("WordNet", "WordNet+contrast", "WordNet"),
    Resources("WordNet+similar+derived", "WordNet+contrast+similar+derived"),
    Resources("Fallows", "Fallows"),
    Resources("WordNet+Fallows", "WordNet+contrast+Fallows", "Bloomsbury"),
    Resources("WordNet+Fallows+Roget", "WordNet+contrast+Fallows+Roget"),
    *(
        Resources(f"WordNet+similar+derived+hypernym+{more}", f"WordNet+contrast+similar+derived+hypernym+{more}")
        for more in ("Fallows", "Fallows+Roget", "Fallows+Roget+Moby")
    ),
)

# Table 5: precision on dev by dimension
PRECISION = {
    name: dict(zip(DIMENSIONS, figures, strict=True))
    for name, figures in (
        ("Bloomsbury", (0.778, 0.850, 0.856, 0.863, 0.843, 0.843, 0.830, 0.837, 0.784, 0.778)),
        ("WordNet", (0.475, 0.563, 0.569, 0.625, 0.625, 0.613, 0.613, 0.544, 0.519, 0.494)),
    )
}

# Table 6: precision, recall and F1, on dev and on test
OVERALL = {
    ("WordNet", "lookup"): ((0.40, 0.40, 0.40), (0.42, 0.41, 0.42)),
    ("WordNet", "signed tf-idf"): ((0.41, 0.41, 0.41), (0.43, 0.42, 0.43)),
    ("WordNet", "PILSA"): ((0.63, 0.62, 0.62), (0.60, 0.60, 0.60)),
    ("Bloomsbury", "lookup"): ((0.65, 0.61, 0.63), (0.61, 0.56, 0.59)),
    ("Bloomsbury", "signed tf-idf"): ((0.68, 0.64, 0.66), (0.63, 0.57, 0.60)),
    ("Bloomsbury", "PILSA"): ((0.86, 0.81, 0.84), (0.81, 0.74, 0.77)),
}


def precision(resources: Resources, split: str, dimension: int) -> float | None:
    """Of Table 5, which is of dev alone."""
    return PRECISION.get(resources.paper or "", {}).get(dimension) if split == "dev" else None


def overall(resources: Resources, split: str, model: str, metric: str) -> float | None:
    """Of Table 6; its PILSA stands beside ours in either setting."""
    figures = OVERALL.get((resources.paper or "", model.partition(",")[0]))
    return None if figures is None else figures[("dev", "test").index(split)][METRICS.index(metric)]
