"""pytest-benchmark over the contestants of `benchmarks.ratios`: ours and its peers in one group per workload.

`python -m pytest benchmarks/speed` runs all of it on quick sizes. SEMPROJ_DATA names a folder with Europarl.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from threadpoolctl import threadpool_limits  # noqa: E402

from benchmarks.machine import default_threads  # noqa: E402
from benchmarks.ratios import Contestant, Options, Workload, make_workloads  # noqa: E402


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """These files are no tests: only asking for this folder collects them."""
    asked_for = parent.session.isinitpath(file_path)  # then pytest collects it by itself
    known = "bench_*.py" in parent.config.getini("python_files")
    if file_path.match("bench_*.py") and not asked_for and not known:
        return pytest.Module.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # The suite's "warnings are errors" is for our code, not for the peers'.
            item.add_marker(pytest.mark.filterwarnings("default"))


class CurrentWorkload:
    """The workload that is timed; only one is in memory, made when the first of its benchmarks asks for it."""

    def __init__(self) -> None:
        self.suite = ""
        self.coming: Iterator[Workload] = iter(())
        self.workload: Workload | None = None

    def get(self, suite: str, workload: str) -> Workload:
        if self.suite == suite and self.workload is not None and self.workload.name == workload:
            return self.workload
        if self.suite != suite:
            self._start(suite)
        found = self._advance(workload)
        if found is None:  # it came before the current one
            self._start(suite)
            found = self._advance(workload)
        if found is None:
            raise ValueError(f"workload: {suite} has no {workload}")
        return found

    def _start(self, suite: str) -> None:
        self.suite, self.workload = suite, None
        self.coming = make_workloads(suite, Options(threads=tuple(default_threads()), size="quick"))

    def _advance(self, workload: str) -> Workload | None:
        self.workload = None
        self.workload = next((each for each in self.coming if each.name == workload), None)
        return self.workload


@pytest.fixture(scope="session")
def current() -> CurrentWorkload:
    return CurrentWorkload()


@pytest.fixture
def race(current: CurrentWorkload, benchmark: Any) -> Callable[..., None]:
    """Check one contestant's result, then time it."""

    def run(suite: str, workload: str, who: str, threads: int | None, rounds: int = 5) -> None:
        racing = current.get(suite, workload)
        found = [c for c in racing.contestants if (c.name, c.threads) == (who, threads)]
        if not found:
            pytest.skip(f"{who} is not installed or does not take part in {workload}")
        contestant: Contestant = found[0]
        benchmark.group = workload
        with threadpool_limits(threads or 1):
            racing.check(contestant, contestant.run())
            benchmark.pedantic(contestant.run, rounds=rounds, warmup_rounds=1)
        benchmark.extra_info.update(threads=threads or 1, notes=racing.notes)
        if benchmark.stats is not None:  # None with --benchmark-disable
            benchmark.extra_info["words_per_second"] = racing.words / benchmark.stats.stats.median

    return run
