"""Which names there are: every module in `benchmarks.ratios.names` registers its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

from benchmarks.ratios.harness import Options, Workload

Maker = Callable[[Options], Iterator[Workload]]
_makers: dict[str, Maker] = {}


def register(name: str) -> Callable[[Maker], Maker]:
    """Make a function that yields workloads known under a name."""

    def enter(maker: Maker) -> Maker:
        if name in _makers:
            raise ValueError(f"name: {name!r} is registered twice")
        _makers[name] = maker
        return maker

    return enter


def _load() -> None:
    package = importlib.import_module("benchmarks.ratios.names")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def all_names() -> list[str]:
    _load()
    return sorted(_makers)


def workloads(name: str, options: Options) -> Iterator[Workload]:
    """The workloads of a name, made one at a time so that only one is in memory."""
    _load()
    if name not in _makers:
        raise ValueError(f"name: expected one of {', '.join(sorted(_makers))}, got {name!r}")
    return _makers[name](options)
