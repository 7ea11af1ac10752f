"""Tasks with questions and right answers, for models of words: closest opposites, graded relations, antonyms."""

from __future__ import annotations

from ._antonyms import AntonymPairs, AntonymResult, best_threshold, read_antonym_pairs, score_antonyms
from ._maxdiff import MaxDiff, MaxDiffQuestion, MaxDiffResult, read_maxdiff, read_ratings
from ._opposites import ClosestOppositeQuestion, ClosestOppositeResult, closest_opposite, read_closest_opposite

__all__ = [
    "AntonymPairs",
    "AntonymResult",
    "ClosestOppositeQuestion",
    "ClosestOppositeResult",
    "MaxDiff",
    "MaxDiffQuestion",
    "MaxDiffResult",
    "best_threshold",
    "closest_opposite",
    "read_antonym_pairs",
    "read_closest_opposite",
    "read_maxdiff",
    "read_ratings",
    "score_antonyms",
]
