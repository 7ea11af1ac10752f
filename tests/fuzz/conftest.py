"""Fuzzers: hostile input, seeded. A few cases in each test run; an hour of them by ``make fuzz``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.support.limiting import little_more_memory

MINUTES = "SEMPROJ_FUZZ_MINUTES"  # for all fuzzers together
SEED = "SEMPROJ_FUZZ_SEED"  # run this case alone

Fuzz = Callable[..., None]


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Fuzz:
    """Call ``check(rng)`` for many seeded generators: ``fuzz(check, cases=100)``. A failure names its seed."""

    def seeds(cases: int) -> Iterator[int]:
        if SEED in os.environ:
            yield int(os.environ[SEED])
        elif MINUTES in os.environ:
            first = np.random.SeedSequence().generate_state(1)[0]
            ends = time.monotonic() + 60 * float(os.environ[MINUTES]) / request.session.testscollected
            seed = int(first) << 32  # other cases each time, and never those of the test runs
            while time.monotonic() < ends:
                yield (seed := seed + 1)
        else:
            yield from range(cases)

    def run(check: Callable[[np.random.Generator], None], *, cases: int) -> None:
        for seed in seeds(cases):
            try:
                with little_more_memory(gigabytes=8):
                    check(np.random.default_rng(seed))
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                raise AssertionError(f"{SEED}={seed} python -m pytest {request.node.nodeid}\n{what}") from error

    return run
