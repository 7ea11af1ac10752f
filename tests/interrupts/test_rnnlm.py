"""Ctrl-C while a recurrent language model is trained, and while it scores."""

from __future__ import annotations

import pytest

from tests.interrupts.test_interrupts import seconds_until_it_stops

SETUP = """
from semproj.lm import RNNLM
words = np.array([f"w{i}" for i in range(30_000)], object)
def lines(n):
    return [" ".join(row) for row in words[(30_000 * rng.random((n, 20)) ** 4).astype(int)]]
few, many = lines(100), lines(60_000)
model = RNNLM(5, epochs=1).fit(few)
before = fitted(model)
"""

# What takes seconds: a sweep, numbering words, a batch, one sentence.
LONG = {
    "fit": "model.set_params(n_components=400, n_threads=N).fit(many)",
    "fit of one sentence": "model.set_params(n_components=400, n_threads=N).fit([' '.join(many)])",
    "fit of large blocks": "model.set_params(n_components=400, n_steps=500, n_threads=N).fit(many)",
    "scores": "model.scores(many * 20, n_threads=N)",
    "score of one sentence": "model.score(' '.join(many))",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_it_stops_within_a_second_and_keeps_the_previous_fit(name):
    assert seconds_until_it_stops(SETUP, LONG[name], "assert is_same(fitted(model), before)") < 1.0
