"""Long fits: looking at them after each sweep, ending them, and going on with them later.

Estimators that are fitted sweep by sweep have these parameters, with one meaning for all:

callback
    Called after every sweep as ``callback(progress)``, with a :class:`Progress`. A true result ends the fit.
    :class:`EarlyStopping` is a callback that ends it by a measure on development data.
checkpoint, checkpoint_every
    A file that keeps the state of the fit, written every so many sweeps and at the end. Where the file exists, the
    fit goes on from it, bit for bit as if it had not been stopped. A file of other parameters or other data raises
    an error; one with `max_iter` sweeps or more is the result.
tol
    The fit ends when a sweep improves the objective by less than `tol` times what it was. 0: never.

After the fit, ``objective_`` has the objective after each of ``n_iter_`` sweeps. Ctrl-C ends a fit, and leaves the
estimator as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._common.fitting import Progress
from ._common.validation import check_integer

__all__ = ["EarlyStopping", "Progress"]


class EarlyStopping:
    """A callback that ends a fit when a score no longer rises, and keeps the model that had the best one.

    It works with every estimator that has a `callback`. For a new fit it begins anew. For one that goes on, from a
    checkpoint of the fit that it was called in last, it goes on.

    Parameters
    ----------
    score : callable
        Takes a model and returns a number, higher if better; for instance a measure on development data.
    every : int, default 1
        Sweeps between two scores.
    patience : int, default 5
        The fit ends when so many scores in a row are not above the best.

    Attributes
    ----------
    best_ : a fitted estimator, or None before the first score
        The one with the best score; the first of equal ones.
    best_score_ : float
    best_sweep_ : int
    scores_ : dict
        From sweeps to scores.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(rng.gamma(0.3, 2.0, 40), (60, 40))
    >>> known, new = counts[:30], counts[30:]
    >>> stopping = sj.EarlyStopping(lambda model: -model.perplexity(new), every=2, patience=3)
    >>> model = sj.PLSA(20, init="random", random_state=0, max_iter=500, tol=0, callback=stopping).fit(known)
    >>> stopping.best_.perplexity(new) <= model.perplexity(new)
    True
    >>> model.n_iter_ < model.max_iter
    True
    """

    def __init__(self, score: Callable[[Any], float], *, every: int = 1, patience: int = 5) -> None:
        if not callable(score):
            raise TypeError(f"score: expected a callable, got {score!r}")
        self.score = score
        self.every = check_integer(every, "every", low=1)
        self.patience = check_integer(patience, "patience", low=1)
        self._begin()

    def _begin(self) -> None:
        self.best_: Any = None
        self.best_score_ = float("-inf")
        self.best_sweep_ = self._last_sweep = 0
        self.scores_: dict[int, float] = {}

    def __call__(self, progress: Progress) -> bool:
        sweep = progress.sweep
        if sweep <= self._last_sweep:
            self._begin()
        self._last_sweep = sweep
        if sweep % self.every:
            return False
        score = float(self.score(progress.model))
        if score != score:
            raise ValueError(f"score: is not a number after sweep {sweep}")
        self.scores_[sweep] = score
        if self.best_ is None or score > self.best_score_:
            self.best_, self.best_score_, self.best_sweep_ = progress.model, score, sweep
        return (sweep - self.best_sweep_) // self.every >= self.patience
