"""Which suites there are: every module in `benchmarks.ratios.workloads` registers its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

from benchmarks.ratios.harness import Options, Workload

Maker = Callable[[Options], Iterator[Workload]]
_makers: dict[str, Maker] = {}


def register(suite: str) -> Callable[[Maker], Maker]:
    """Make a function that yields workloads known as a suite."""

    def enter(maker: Maker) -> Maker:
        if suite in _makers:
            raise ValueError(f"suite: {suite!r} is registered twice")
        _makers[suite] = maker
        return maker

    return enter


def _load() -> None:
    package = importlib.import_module("benchmarks.ratios.workloads")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def suite_names() -> list[str]:
    _load()
    return sorted(_makers)


def make_workloads(suite: str, options: Options) -> Iterator[Workload]:
    """The workloads of a suite, made one at a time so that only one is in memory."""
    _load()
    if suite not in _makers:
        raise ValueError(f"suite: expected one of {', '.join(sorted(_makers))}, got {suite!r}")
    return _makers[suite](options)
