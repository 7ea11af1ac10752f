"""Word-by-word translation."""

import pytest

from benchmarks.machine import default_threads

OURS = [("ours", n) for n in default_threads()]
MKL = [("mkl", n) for n in default_threads()]


@pytest.mark.parametrize(("who", "threads"), [("scipy", None), *MKL, *OURS])
def test_translate(race, who, threads):
    race("wordbyword", "translate_20k", who, threads)


@pytest.mark.parametrize(("who", "threads"), OURS)
def test_train(race, who, threads):
    race("wordbyword", "train_5_and_5", who, threads, rounds=2)
