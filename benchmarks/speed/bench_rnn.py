"""A pass of the recurrent language model; `python -m benchmarks.ratios rnn` has larger sizes."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "torch"])
def test_pass(race, who, threads):
    race("rnn", "rnn_h128", who, threads, rounds=3)
