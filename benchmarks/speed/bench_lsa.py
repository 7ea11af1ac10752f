"""Fitting LSA; the peers run as they come. `python -m benchmarks.ratios lsa` matches captured variance."""

import pytest

from benchmarks.machine import default_threads

WHO = ("ours", "sklearn", "gensim")


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", WHO)
def test_lsa(race, who, threads):
    race("lsa", "lsa_k500", who, threads, rounds=3)
