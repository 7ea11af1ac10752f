"""Recall of the rows that queries ought to find, against how much of a ranking is read."""

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
    """Where the rows that queries ought to find stand in their rankings; see `recall_curve`.

    Attributes
    ----------
    starts : int64 array of shape (n_queries + 1,)
        Gold rows ``starts[i]`` to ``starts[i + 1]`` belong to query i.
    best, worst : float64 arrays of shape (n_gold_rows,)
        The best and the worst place that a gold row may have, from 0 (first) to 1 (last). They differ if it ties
        with other rows.
    """

    starts: Int64
    best: Float64
    worst: Float64

    @classmethod
    def from_counts(cls, starts: Int64, nearer: Int64, tied: Int64, others: npt.ArrayLike) -> RecallCurve:
        """Make a curve of the counts of `semproj.retrieval.gold_ranks` and the number of other rows, 1 or more."""
        unknown = nearer < 0
        best = np.where(unknown, 0.0, nearer / np.asarray(others))
        return cls(starts, best, np.where(unknown, 1.0, (nearer + tied) / np.asarray(others)))

    @property
    def outcomes(self) -> Float64:
        """ATOP of each query: one minus the mean place of its gold rows; ties stand in the middle of theirs."""
        return self._per_query(1 - (self.best + self.worst) / 2)

    @property
    def atop(self) -> float:
        """ATOP: the mean of `outcomes`, which is the area under the curve."""
        return float(np.mean(self.outcomes))

    def recall_at(self, fraction: npt.ArrayLike) -> Float64:
        """Return TOPK: the mean share of gold rows among the first `fraction` of all rows, from 0 to 1.

        `fraction` may be an array. Rows that tie count as in a random order of them, on average.
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
    """Rank a corpus for each query, and see where the rows stand that it ought to find.

    This is the evaluation of concept definition retrieval (Guo and Diab 2012, section 4.1 and equation 6):
    `RecallCurve.recall_at` is the curve and `RecallCurve.atop` the area under it.

    Parameters
    ----------
    queries, corpus, gold, metric, n_threads
        As in `semproj.retrieval.gold_ranks`; `corpus` has at least two rows.
    sample : int or None, default None
        Rank among so many rows of the corpus, drawn once for all queries, instead of all rows. This is quicker,
        and with many queries almost the same. A gold row that is not in the sample is put in its place there.
    random_state : int, NumPy generator or None, default None
        Draws the sample.

    Returns
    -------
    RecallCurve

    Notes
    -----
    Rows that tie all have their mean place, as in a random order on average. Ties are those of
    `semproj.retrieval.true_ranks`. By cosine, a gold row has the mean place of all rows if it or its query is
    zero: ATOP is 0.5 for a query about which nothing is known.

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
    """Return the area under the recall curve: 1 if all gold rows come first, 0.5 for a random order.

    Parameters
    ----------
    queries, corpus, gold, sample, random_state, metric, n_threads
        As in `recall_curve`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.metrics import atop
    >>> atop(np.eye(3), [[1.0, 0.1, 0.0], [0.0, 1.0, 0.9], [0.0, 0.0, 1.0]], [0, 1, 1])
    0.8333333333333334
    """
    options: dict[str, Any] = {"metric": metric, "n_threads": n_threads}
    return recall_curve(queries, corpus, gold, sample=sample, random_state=random_state, **options).atop
