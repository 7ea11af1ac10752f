"""First calls with users' functions: every function has a row, and a row can be measured."""

from __future__ import annotations

import semproj as sj
from benchmarks.first_calls import CALLS, measure


def test_every_function_has_a_row():
    taken = {name for each in sj.__all__ for name in getattr(getattr(sj, each), "_functions", ())}
    assert taken
    assert taken <= set(CALLS)


def test_what_is_found_on_disk_takes_less(tmp_path):
    compiled, found = (measure(*CALLS["prox"], str(tmp_path))[1] for _ in range(2))
    assert 0 < found < compiled
