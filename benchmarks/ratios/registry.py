"""Which suites there are: every module in `benchmarks.ratios.workloads` registers its own, or a part of one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from itertools import chain

from benchmarks.ratios.harness import Options, Workload

Maker = Callable[[Options], Iterator[Workload]]
_makers: dict[str, dict[str, Maker]] = {}  # of each suite, by module


def register(suite: str) -> Callable[[Maker], Maker]:
    """Make a function that yields workloads known as a suite, or as the part of it that is named as the module."""

    def enter(maker: Maker) -> Maker:
        parts, part = _makers.setdefault(suite, {}), maker.__module__.rpartition(".")[2]
        if part in parts or (parts and not all(name.startswith(f"{suite}_") for name in (*parts, part))):
            raise ValueError(f"suite: {suite!r} is registered twice")
        parts[part] = maker
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
    return chain.from_iterable(maker(options) for _, maker in sorted(_makers[suite].items()))
