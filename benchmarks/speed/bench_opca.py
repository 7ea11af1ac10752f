"""Fitting OPCA and CCA at sizes that the peers can follow; `python -m benchmarks.ratios opca` has the paper's."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "scipy"])
def test_opca(race, who, threads):
    race("opca", "opca_t2000_d100", who, threads, rounds=2)


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "cca_zoo", "sklearn"])
def test_cca(race, who, threads):
    race("cca", "cca_k4", who, threads, rounds=2)
