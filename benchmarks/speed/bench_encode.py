"""Text to vectors."""

import pytest

from benchmarks.machine import default_threads


@pytest.mark.parametrize(("who", "threads"), [("sklearn", None)] + [("ours", n) for n in default_threads()])
def test_encode(race, who, threads):
    race("encode", "encode_d500", who, threads)
