"""Fits of ImplicitALS; `python -m benchmarks.ratios implicitals` has a larger size, and the losses."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "implicit", "implicit_cg"])
def test_implicitals(race, who, threads):
    race("implicitals", "implicitals_fit", who, threads, rounds=3)
