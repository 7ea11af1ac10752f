"""Tucker to a given fit; `python -m benchmarks.ratios tucker` has single sweeps, pyttb and a thesaurus' size."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "plain"])
def test_tucker(race, who, threads):
    race("tucker", "tucker_fit_r150", who, threads, rounds=3)
