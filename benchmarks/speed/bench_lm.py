"""N-gram models: training beside lmplz, queries beside the kenlm module."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize("threads", default_threads())
@pytest.mark.parametrize("who", ["ours", "lmplz"])
@pytest.mark.parametrize("order", [3, 5])
def test_train(race, order, who, threads):
    race("lm", f"train_order{order}", who, threads, rounds=2)


@pytest.mark.parametrize(("who", "threads"), [("kenlm", None), *(("ours", n) for n in default_threads())])
def test_score_batch(race, who, threads):
    race("lm", "score_batch", who, threads)


@pytest.mark.parametrize(("who", "threads"), [("kenlm", None), ("ours", 1)])
def test_score_single(race, who, threads):
    race("lm", "score_single", who, threads)
