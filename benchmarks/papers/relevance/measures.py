"""How well similarities tell relevant documents: as a filter, and as an order. By scikit-learn's measures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score, roc_curve

CUTS = (1, 3, 5, 10)
RATES = tuple(rate / 100 for rate in range(5, 26))  # of false positives, those of Figure 3


def measures(grades: np.ndarray, similarities: np.ndarray, relevant: int) -> Mapping[str, float]:
    """AUC over all cells; NDCG and MAP are means of the queries that have documents of different use.

    Grades below 0 are of cells that are not to be ranked.
    """
    ranked = grades >= 0
    right = grades >= relevant
    found = {"AUC": _auc(right[ranked], similarities[ranked])}
    found |= {f"NDCG@{cut}": ndcg(grades, similarities, cut) for cut in CUTS}
    each = zip(right, similarities, ranked, strict=True)
    precisions = [average_precision_score(good[at], scores[at]) for good, scores, at in each if good[at].any()]
    return found | {"MAP": _mean(precisions)}


def ndcg(grades: np.ndarray, similarities: np.ndarray, cut: int) -> float:
    """The mean of queries; of those with no good document, or with one document, any order is as good."""
    each = zip(grades, similarities, grades >= 0, strict=True)
    return _mean(
        [
            ndcg_score(row[at][None], scores[at][None], k=cut)
            for row, scores, at in each
            if at.sum() > 1 and row[at].any()
        ]
    )


def roc(grades: np.ndarray, similarities: np.ndarray, relevant: int) -> dict[float, float]:
    """True positives at a few rates of false ones."""
    ranked = grades >= 0
    false, true, _ = roc_curve(grades[ranked] >= relevant, similarities[ranked])
    return dict(zip(RATES, np.interp(RATES, false, true).tolist(), strict=True))


def _auc(right: np.ndarray, scores: np.ndarray) -> float:
    if right.all() or not right.any():
        raise ValueError("grades: expected relevant documents and others, got one class only")
    return float(roc_auc_score(right, scores))


def _mean(values: list[float]) -> float:
    if not values:
        raise ValueError("grades: expected a query with documents of different grades, got none")
    return float(np.mean(values))
