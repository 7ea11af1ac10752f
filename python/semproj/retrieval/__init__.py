"""Find the nearest rows of a corpus, and the ranks of known partners: exact brute force, blocked, on all threads.

Vectors are dense and compared in float32. Metrics are ``"cosine"`` and ``"inner_product"`` (scores, higher is
nearer), ``"l1"`` and ``"jensen_shannon"`` (distances, lower is nearer), or a distance of your own, which Numba
compiles into the loop. An `Index` keeps the rows of a corpus ready, under ids of your own.
"""

from ._index import Index
from ._search import (
    METRICS,
    Gold,
    Metric,
    as_rows,
    check_metric,
    check_rows,
    gold_ranks,
    gold_rows,
    top_k,
    true_ranks,
)

__all__ = [
    "METRICS",
    "Gold",
    "Index",
    "Metric",
    "as_rows",
    "check_metric",
    "check_rows",
    "gold_ranks",
    "gold_rows",
    "top_k",
    "true_ranks",
]
