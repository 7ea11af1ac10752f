"""A run of BPTF's sweeps with its start; `python -m benchmarks.ratios bptf` has single sweeps and growth."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "smurff"])
def test_bptf(race, who, threads):
    race("bptf", "bptf_sweep", who, threads, rounds=3)
