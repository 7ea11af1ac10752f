"""Ctrl-C within a second while a completer is fitted, and while it is asked."""

from __future__ import annotations

import pytest

from tests.interrupts.test_interrupts import seconds_until_it_stops

SETUP = """
from semproj.completion import PMI, LSASimilarity, NearestSentences
sentences = texts(20_000, 5_000, 40)
words = sentences[0].split()
question = (" ".join([*words[:8], "_____", *words[8:16]]), words[16:21])
fitted_one = sj.SentenceCompleter({"near": NearestSentences(min_count=1), "pmi": PMI(min_count=1)}).fit(sentences)
before = [each.score for each in fitted_one.complete(question)]
"""
CALLS = {
    "fit": "sj.SentenceCompleter({'lsa': LSASimilarity(400, min_count=1)}).fit(sentences)",
    "scores": "fitted_one.score([question] * 1000, [0] * 1000)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_completer_stops_within_a_second(name):
    check = "assert [each.score for each in fitted_one.complete(question)] == before"
    assert seconds_until_it_stops(SETUP, CALLS[name], check, (2,)) < 1.0
