"""A sweep of topic models and fold-in; `python -m benchmarks.ratios plsa` has larger sizes."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "tomotopy", "tomotopy_copy", "sklearn", "gensim"])
def test_plsa_sweep(race, who, threads):
    race("plsa", "plsa_sweep_t100", who, threads, rounds=2)


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "jplsa"])
def test_cplsa_sweep(race, who, threads):
    race("plsa", "cplsa_sweep_t100", who, threads, rounds=2)


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "tomotopy", "tomotopy_10"])
def test_fold_in(race, who, threads):
    race("plsa", "plsa_fold_in_t100", who, threads, rounds=3)
