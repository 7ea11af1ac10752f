"""How published numbers are written down and looked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SPLITS = ("dev", "test")
METRICS = ("precision", "recall", "f1")
Scores = tuple[float, float, float]  # as METRICS


class Setting(NamedTuple):
    """Dimensions and regularisation of a cross-language model; None for what it does not have."""

    dimension: int | None
    gamma: float | None = None


class PublishedRow(NamedTuple):
    """A row of a cross-language paper: its setting, and its numbers by table and metric."""

    setting: Setting
    numbers: dict[tuple[str, str], float]


def score_of(table: Mapping[Any, tuple[Scores, Scores]], row: Any, split: str, metric: str) -> float | None:
    """Precision, recall or F1 of a row on dev or on test, where the table has it."""
    scores = table.get(row)
    return None if scores is None else scores[SPLITS.index(split)][METRICS.index(metric)]
