"""What Zweig and others 2012 print: Tables 2 to 6, by the names that our rows have."""

from __future__ import annotations

# Tables 2, 4 and 5, SAT questions: accuracy on dev and on test
SAT: dict[str, dict[str, dict[str, float]]] = {
    "2": {
        "GT n-gram": {"dev": 0.39, "test": 0.42},
        "Model M": {"dev": 0.35, "test": 0.41},
        "RNN": {"dev": 0.37, "test": 0.42},
        "LSA-LM": {"dev": 0.48, "test": 0.44},
    },
    "4": {
        "LSA total similarity": {"dev": 0.46, "test": 0.46},
        "LSA reconstruction": {"dev": 0.53, "test": 0.41},
    },
    "5": {"LSA": {"test": 0.46}, "LSA + GT": {"test": 0.53}, "LSA + GT + RNN": {"test": 0.52}},
}

# Table 3, of one training text and one vocabulary: perplexity and accuracy
TABLE_3: dict[str, dict[str, tuple[float, float]]] = {
    "GT n-gram": {"dev": (195.0, 0.36), "test": (190.0, 0.44)},
    "Model M": {"dev": (178.0, 0.36), "test": (175.0, 0.42)},
    "RNN": {"dev": (147.0, 0.37), "test": (144.0, 0.42)},
}

# Table 6, Holmes: accuracy on all 1,040 questions, which are not split
HOLMES = {
    "chance": 0.20,
    "GT n-gram": 0.39,
    "RNN": 0.45,
    "LSA total similarity": 0.49,
    "LSA reconstruction": 0.41,
    "LSA-LM": 0.42,
    "combination": 0.52,
}


def published(table: str, dataset: str, row: str, metric: str, split: str) -> float | None:
    """The number that stands beside a row."""
    if dataset == "holmes":
        return HOLMES.get(row) if (table, metric) == ("6", "accuracy") else None
    if table == "3":
        pair = TABLE_3.get(row, {}).get(split)
        return None if pair is None else pair[metric == "accuracy"]
    return SAT.get(table, {}).get(row, {}).get(split)
