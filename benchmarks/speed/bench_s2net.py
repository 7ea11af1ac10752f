"""S2Net's loss and gradient, and an epoch; `python -m benchmarks.ratios s2net` has larger sizes."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "products", "torch"])
@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_loss_gradient(race, loss, who, threads):
    race("s2net", f"s2net_{loss}_gradient", who, threads, rounds=3)


@pytest.mark.parametrize("threads", default_threads())
def test_epoch(race, threads):
    race("s2net", "s2net_epoch", "ours", threads, rounds=3)
