"""Ours and its peers in one process, interleaved: `python -m benchmarks.ratios SUITE --json FILE`.

A suite is one file in `benchmarks/ratios/workloads` with a function under `@register("suite")` that yields
`Workload`s. Each holds its contestants, ours among them, what they must agree on, and a cost model. A new suite is
also listed in the Makefile's RATIOS. A large suite may be in parts: `open` is all of `open_*`.
"""

from benchmarks.ratios.harness import (
    OURS,
    ClockedResult,
    Contestant,
    Cost,
    Options,
    SweepClock,
    Workload,
    counts_if_as_good,
    run,
)
from benchmarks.ratios.registry import make_workloads, register, suite_names

__all__ = [
    "OURS",
    "ClockedResult",
    "Contestant",
    "Cost",
    "Options",
    "SweepClock",
    "Workload",
    "counts_if_as_good",
    "make_workloads",
    "register",
    "run",
    "suite_names",
]
