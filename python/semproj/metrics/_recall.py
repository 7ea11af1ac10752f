"""Recall of known rows against how much of a ranking is read; `semproj.metrics` is where it is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._common.validation import check_integer, seed_key
from ..retrieval import Gold, Metric, as_rows, check_metric, gold_ranks, gold_rows

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RecallCurve:
    """How much of what queries ought to find is found near the top of their rankings; see `recall_curve`.

    Attributes
    ----------
    starts : int64 array of shape (n_queries + 1,)
        Gold rows ``starts[i]`` to ``starts[i + 1]`` belong to query i.
    best, worst : float64 arrays of shape (n_gold_rows,)
        Between which places, from 0 (first) to 1 (last), a gold row stands: different where it ties with others.
    """

    starts: Int64
    best: Float64
    worst: Float64

    @classmethod
    def from_counts(cls, starts: Int64, nearer: Int64, tied: Int64, others: npt.ArrayLike) -> RecallCurve:
        """From the counts of `semproj.retrieval.gold_ranks` and the number of other rows, at least one."""
        unknown = nearer < 0
        best = np.where(unknown, 0.0, nearer / np.asarray(others))
        return cls(starts, best, np.where(unknown, 1.0, (nearer + tied) / np.asarray(others)))

    @property
    def outcomes(self) -> Float64:
        """ATOP of each query: one minus the mean place of its gold rows, those that tie in the middle."""
        return self._per_query(1 - (self.best + self.worst) / 2)

    @property
    def atop(self) -> float:
        """The mean over all queries: the area under the curve."""
        return float(np.mean(self.outcomes))

    def recall_at(self, fraction: npt.ArrayLike) -> Float64:
        """TOPK: the mean share of gold rows among the first `fraction` of all rows, a number or an array of them.

        Of rows that tie, as many are expected there as in a random order of them.
        """
        depth = np.asarray(fraction, np.float64)
        if not ((depth >= 0) & (depth <= 1)).all():
            raise ValueError(f"fraction: expected numbers from 0 to 1, got {fraction!r}")
        shares = np.array([np.mean(self._per_query(self._found(at))) for at in depth.ravel()])
        return shares.reshape(depth.shape)

    def _found(self, depth: np.float64) -> Float64:
        width = self.worst - self.best
        found = (depth >= self.best).astype(np.float64)
        return np.divide(np.clip(depth - self.best, 0, width), width, out=found, where=width > 0)

    def _per_query(self, values: Float64) -> Float64:
        totals = np.add.reduceat(values, self.starts[:-1])
        means: Float64 = totals / np.diff(self.starts)
        return means


def recall_curve(
    queries: npt.ArrayLike,
    corpus: npt.ArrayLike,
    gold: Gold,
    *,
    sample: int | None = None,
    random_state: Any = None,
    metric: Metric = "cosine",
    n_threads: int | None = None,
) -> RecallCurve:
    """Rank a corpus for each query, and see where the rows are that it ought to find.

    This is the evaluation of concept definition retrieval (Guo and Diab 2012, section 4.1 and equation 6):
    `RecallCurve.recall_at` is the curve and `RecallCurve.atop` the area under it.

    Parameters
    ----------
    queries : array-like of shape (n, d)
    corpus : array-like of shape (m, d)
        At least two rows.
    gold : sequence of n row numbers, or of n sequences of row numbers
        The rows of `corpus` that belong to each query, at least one.
    sample : int, optional
        Rank among so many rows of the corpus, drawn once for all queries, and not among all: quicker, and with
        many queries almost the same. A gold row that is not among them is put in its place there.
    random_state : int, RandomState or None
        Draws the sample.
    metric : {"cosine", "inner_product", "l1", "jensen_shannon"} or function, default="cosine"
        As in `semproj.retrieval.top_k`.
    n_threads : int or None

    Returns
    -------
    RecallCurve

    Notes
    -----
    Rows that tie share their places: each has their mean, which is what a random order would give it on average.
    Ties are as in `semproj.retrieval.true_ranks`. By cosine, a gold row that is zero, or that a zero query looks
    for, has the mean place of all rows: ATOP is 0.5 for a query of which nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import recall_curve
    >>> corpus = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 0.0], [1.0, 0.5]])
    >>> curve = recall_curve([[1.0, 0.1], [0.0, 0.0]], corpus, [[0, 1], [2]])
    >>> curve.outcomes
    array([0.75, 0.5 ])
    >>> curve.atop
    0.625
    >>> curve.recall_at([0.0, 0.25, 0.5, 1.0])
    array([0.25 , 0.375, 0.75 , 1.   ])
    """
    rows = as_rows(corpus, "corpus", check_metric(metric))
    size = len(rows)
    if size < 2:
        raise ValueError(f"corpus: expected at least two rows, got {size}")
    among = None
    if sample is not None:
        sample = check_integer(sample, "sample", low=2, high=size)
        among = np.random.default_rng(seed_key(random_state)).choice(size, sample, replace=False)
    nearer, tied = gold_ranks(queries, rows, gold, among=among, metric=metric, n_threads=n_threads)
    starts, found = gold_rows(gold, len(gold), size)
    others = size - 1 if among is None else len(among) - np.isin(found, among)
    return RecallCurve.from_counts(starts, nearer, tied, others)


def atop(
    queries: npt.ArrayLike,
    corpus: npt.ArrayLike,
    gold: Gold,
    *,
    sample: int | None = None,
    random_state: Any = None,
    metric: Metric = "cosine",
    n_threads: int | None = None,
) -> float:
    """Return the area under the recall curve: 1 when all is found first, 0.5 for a random order.

    Parameters and rules are those of `recall_curve`, whose `RecallCurve.atop` it is.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import atop
    >>> atop(np.eye(3), [[1.0, 0.1, 0.0], [0.0, 1.0, 0.9], [0.0, 0.0, 1.0]], [0, 1, 1])
    0.8333333333333334
    """
    options: dict[str, Any] = {"metric": metric, "n_threads": n_threads}
    return recall_curve(queries, corpus, gold, sample=sample, random_state=random_state, **options).atop
