"""Ending fits by a score of one's own."""

from __future__ import annotations

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
