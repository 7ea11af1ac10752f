"""Sparse rows times a dense projection."""

import pytest

from benchmarks.machine import default_threads
from benchmarks.ratios.workloads.project import CASES

CONTESTANTS = [("scipy", None)] + [(who, n) for who in ("ours", "mkl", "torch") for n in default_threads()]


@pytest.mark.parametrize(("who", "threads"), CONTESTANTS)
@pytest.mark.parametrize("workload", CASES)
def test_project(race, workload, who, threads):
    race("project", workload, who, threads)
