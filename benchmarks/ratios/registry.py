"""Which suites there are: every module in `benchmarks.ratios.workloads` registers its own."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator

from benchmarks.ratios.harness import Options, Workload

Maker = Callable[[Options], Iterator[Workload]]
_makers: dict[str, list[Maker]] = {}


def register(suite: str) -> Callable[[Maker], Maker]:
    """Make a function that yields workloads known as a suite, or as a part of one."""

    def enter(maker: Maker) -> Maker:
        _makers.setdefault(suite, []).append(maker)
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
    return itertools.chain.from_iterable(maker(options) for maker in _makers[suite])
