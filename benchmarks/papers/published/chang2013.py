"""What Chang, Yih and Meek 2013 print: Tables 1 and 2."""

from __future__ import annotations

SUBCATEGORIES = ("1a", "1b", "1c", "1d", "avg")  # avg is that of the test ones, 1b to 1d

# Table 1: precision, recall and F1, on dev and on test
TABLE_1 = {
    ("WordNet", "Lookup"): ((0.40, 0.40, 0.40), (0.42, 0.41, 0.42)),
    ("WordNet", "RawTensor"): ((0.42, 0.41, 0.42), (0.42, 0.41, 0.42)),
    ("WordNet", "PILSA"): ((0.63, 0.62, 0.62), (0.60, 0.60, 0.60)),
    ("WordNet", "MRLSA:Syn+Ant"): ((0.63, 0.62, 0.62), (0.59, 0.58, 0.59)),
    ("WordNet", "MRLSA:4-layers"): ((0.66, 0.65, 0.65), (0.61, 0.59, 0.60)),
    ("Encarta", "Lookup"): ((0.65, 0.61, 0.63), (0.61, 0.56, 0.59)),
    ("Encarta", "RawTensor"): ((0.67, 0.64, 0.65), (0.62, 0.57, 0.59)),
    ("Encarta", "PILSA"): ((0.86, 0.81, 0.84), (0.81, 0.74, 0.77)),
    ("Encarta", "MRLSA:Syn+Ant"): ((0.87, 0.82, 0.84), (0.82, 0.74, 0.78)),
    ("WordNet+Encarta", "MRLSA:4-layers"): ((0.88, 0.85, 0.87), (0.81, 0.77, 0.79)),
}

# Table 2: MaxDiff accuracy in percent, by subcategory
TABLE_2 = {
    ("WordNet", "Lookup"): (52.9, 34.5, 41.4, 34.3, 36.7),
    ("WordNet", "RawTensor"): (51.0, 38.3, 50.0, 42.1, 43.5),
    ("WordNet", "MRLSA:Syn+Hypo"): (55.8, 41.7, 51.0, 37.5, 43.4),
    ("WordNet", "MRLSA:4-layers"): (52.9, 51.5, 51.9, 43.5, 49.0),
    ("WordNet+Encarta", "MRLSA:4-layers"): (62.1, 55.3, 57.1, 48.6, 55.8),
}


def inclusion(resource: str | None, model: str, subcategory: str) -> float | None:
    """Of Table 2."""
    accuracies = TABLE_2.get((resource or "", model))
    return None if accuracies is None else accuracies[SUBCATEGORIES.index(subcategory)]
