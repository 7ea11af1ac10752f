"""Text to counts."""

import pytest

from benchmarks.machine import default_threads

CONTESTANTS = [("sklearn", None), ("gensim", None)] + [("ours", n) for n in default_threads()]


@pytest.mark.parametrize(("who", "threads"), CONTESTANTS)
def test_count_english(race, who, threads):
    race("text", "count_english", who, threads)


@pytest.mark.parametrize(("who", "threads"), [c for c in CONTESTANTS if c[0] != "gensim"])
def test_count_english_lowercase(race, who, threads):
    race("text", "count_english_lowercase", who, threads)
