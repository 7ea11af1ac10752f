"""Ours and its peers in one process, interleaved: `python -m benchmarks.ratios NAME --json FILE`.

A new name is one file in `benchmarks/ratios/names` with a function under `@register("name")` that yields
`Workload`s. Each holds its contestants, ours among them, what they must agree on, and a cost model.
"""

from benchmarks.ratios.harness import OURS, ClockedResult, Contestant, Cost, Options, SweepClock, Workload, run
from benchmarks.ratios.registry import all_names, register, workloads

__all__ = [
    "OURS",
    "ClockedResult",
    "Contestant",
    "Cost",
    "Options",
    "SweepClock",
    "Workload",
    "all_names",
    "register",
    "run",
    "workloads",
]
