"""Ending fits by a score of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import semproj as sj
from semproj.stopping import Progress


def told(scores, **options):
    """A stopping that has been told of models 1, 2, ..., whose scores these are, and when it said to stop."""
    stopping = sj.EarlyStopping(lambda model: scores[model - 1], **options)
    for sweep in range(1, len(scores) + 1):
        if stopping(Progress(sweep, 0.0, lambda sweep=sweep: sweep)):
            return stopping, sweep
    return stopping, None


def test_stops_when_patience_is_at_an_end():
    stopping, stopped = told([1, 3, 2, 3, 2, 9], patience=3)
    assert stopped == 5
    assert (stopping.best_, stopping.best_sweep_, stopping.best_score_) == (2, 2, 3.0), "the first of equals"
    assert stopping.scores_ == {1: 1.0, 2: 3.0, 3: 2.0, 4: 3.0, 5: 2.0}


def test_a_rise_begins_patience_anew():
    assert told([1, 0, 2, 1, 3, 2], patience=2)[1] is None


def test_scores_are_apart():
    stopping, stopped = told([5] * 34, every=10, patience=2)
    assert list(stopping.scores_) == [10, 20, 30]
    assert (stopping.best_sweep_, stopped) == (10, 30)


def test_negative_scores():
    assert told([-5, -4, -6])[0].best_ == 2


@pytest.mark.parametrize(
    ("options", "name"),
    [({"every": 0}, "every"), ({"patience": 0}, "patience"), ({"patience": 1.5}, "patience")],
)
def test_wrong_arguments(options, name):
    with pytest.raises((TypeError, ValueError), match=name):
        sj.EarlyStopping(len, **options)
    with pytest.raises(TypeError, match="score"):
        sj.EarlyStopping(3)


def test_a_score_must_be_a_number():
    stopping = sj.EarlyStopping(lambda model: float("nan"))
    with pytest.raises(ValueError, match="score: is not a number after sweep 1"):
        stopping(Progress(1, 0.0, lambda: None))


def test_a_new_fit_begins_anew():
    """It says when the second fit ends, and keeps a model of the second, as if it were the only one."""
    counts = np.random.default_rng(0).poisson(0.3, (30, 20))
    used, new = (sj.EarlyStopping(lambda model: -abs(model.n_iter_ - 4), patience=2) for _ in range(2))
    sj.PLSA(3, max_iter=50, tol=0, callback=used).fit(counts)
    for stopping in (used, new):
        model = sj.PLSA(5, max_iter=50, tol=0, callback=stopping).fit(counts)
        assert (model.n_iter_, stopping.best_.n_iter_, stopping.best_.n_components) == (6, 4, 5)
    assert used.scores_ == new.scores_


def test_sweeps_between_scores_begin_anew_too():
    stopping = sj.EarlyStopping(lambda model: -model, every=3, patience=2)
    for _ in range(2):
        stopped = [sweep for sweep in range(1, 12) if stopping(Progress(sweep, 0.0, lambda sweep=sweep: sweep))]
        assert (stopped[0], stopping.best_sweep_) == (9, 3)


def test_a_fit_that_goes_on_keeps_the_best(tmp_path):
    counts = np.random.default_rng(0).poisson(0.3, (30, 20))
    stopping = sj.EarlyStopping(lambda model: -abs(model.n_iter_ - 2), patience=5)
    model = sj.PLSA(3, max_iter=4, tol=0, callback=stopping, checkpoint=tmp_path / "state").fit(counts)
    model.set_params(max_iter=50).fit(counts)
    assert (model.n_iter_, stopping.best_sweep_, list(stopping.scores_)) == (7, 2, [1, 2, 3, 4, 5, 6, 7])
