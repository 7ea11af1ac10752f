"""A sweep of WTMF and its halves; `python -m benchmarks.ratios wtmf` has larger sizes, growth and a whole fit."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "implicit", "implicit_cg"])
@pytest.mark.parametrize("workload", ["wtmf_sweep", "wtmf_sentences", "wtmf_words"])
def test_wtmf(race, workload, who, threads):
    race("wtmf", workload, who, threads, rounds=3)
