"""How time and memory grow with size: `python -m benchmarks.growth s2net`.

A workload is a function of a size that prepares data and returns the work. Each size runs in a process of its own.
Its time is the best of three; its memory is the largest resident set while it works, less what it was before. The
exponent is that of size in time, by least squares of logarithms.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROUNDS = 3


class Growth(NamedTuple):
    """A workload, the sizes that it is measured at, and the exponent that its cost model has."""

    prepare: Callable[[int], Callable[[], Any]]
    sizes: tuple[int, ...]
    expected: float
    meaning: str


def _s2net(m: int, k: int) -> Callable[[], Any]:
    """One loss and gradient of all comparisons of m pairs."""
    from benchmarks.ratios.workloads.s2net import SCALE, unit_rows
    from semproj import _core
    from semproj._common.resources import available_threads, single_threaded_blas

    u, v = unit_rows(m, k)
    out = np.empty_like(u), np.empty_like(v)

    def work() -> float:
        with single_threaded_blas():
            return _core.contrast_gradient(u, v, "softmax", SCALE, 0.5, 0.5, *out, available_threads())

    return work


WORKLOADS = {
    "s2net": [
        Growth(lambda m: _s2net(m, 200), (2500, 5000, 10_000, 20_000), 2.0, "pairs m, of 200 dimensions"),
        Growth(lambda k: _s2net(8000, k), (100, 200, 400, 800), 1.0, "dimensions k, of 8000 pairs"),
    ]
}


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _measure(name: str, which: int, size: int, results: Any) -> None:
    work = WORKLOADS[name][which].prepare(size)
    before, seconds = _peak(), []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    results.put((min(seconds), _peak() - before))


def grow(name: str, smallest: int | None = None) -> list[dict[str, Any]]:
    """Rows of sizes, seconds and bytes for each growth of a workload; with `smallest`, only its first sizes."""
    context = multiprocessing.get_context("spawn")
    rows: list[dict[str, Any]] = []
    for which, growth in enumerate(WORKLOADS[name]):
        found = []
        for size in growth.sizes[:smallest]:
            results = context.Queue()
            process = context.Process(target=_measure, args=(name, which, size, results))
            process.start()
            seconds, memory = results.get()
            process.join()
            found.append({"size": size, "seconds": seconds, "bytes": memory})
            print(f"{name}, {growth.meaning}: {size:8} {seconds:9.4f} s  {memory / 1e6:8.1f} MB more", flush=True)
        logs = np.log([[each["size"], each["seconds"]] for each in found])
        exponent = float(np.polyfit(*logs.T, 1)[0])
        print(f"{name}, {growth.meaning}: exponent {exponent:.2f}, by its cost model {growth.expected:g}")
        rows.append({"growth": growth.meaning, "exponent": exponent, "model": growth.expected, "sizes": found})
    return rows


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=sorted(WORKLOADS))
    parser.add_argument("--smallest", type=int, metavar="N", help="only so many of the smallest sizes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    asked = parser.parse_args(arguments)
    rows = grow(asked.workload, asked.smallest)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return rows


if __name__ == "__main__":
    main()
