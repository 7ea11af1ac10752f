"""Nearest vectors and true ranks by brute force."""

import pytest

from benchmarks.machine import default_threads
from benchmarks.ratios.workloads.retrieval import CASES, RANKS, SINGLE

SINGLE_CONTESTANTS = ("ours", "ours int8", "ours top_k", "faiss")
CONTESTANTS = [("scipy", None)] + [(who, n) for who in ("ours", "faiss", "sklearn") for n in default_threads()]


@pytest.mark.parametrize(("who", "threads"), CONTESTANTS)
@pytest.mark.parametrize("workload", CASES)
def test_nearest(race, workload, who, threads):
    race("retrieval", workload, who, threads)


@pytest.mark.parametrize(("who", "threads"), [(who, n) for who in ("ours", "scipy") for n in default_threads()])
def test_ranks(race, who, threads):
    race("retrieval", RANKS, who, threads)


@pytest.mark.parametrize(
    ("who", "threads"),
    [("scipy", None)] + [(who, n) for who in SINGLE_CONTESTANTS for n in default_threads()],
)
@pytest.mark.parametrize("workload", SINGLE)
def test_one_query(race, workload, who, threads):
    race("retrieval", workload, who, threads)
