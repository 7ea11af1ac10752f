"""Time until the library is there, in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.ratios import OURS, ClockedResult, Contestant, Options, Workload, register

CHILD = """
import time
start, cpu_start = time.perf_counter(), time.process_time()
import {modules}
took, cpu_took = time.perf_counter() - start, time.process_time() - cpu_start
import sys
print(took, cpu_took, int("numba" in sys.modules))
"""


class ImportTime(ClockedResult):
    """Seconds an import took, and whether it brought numba with it."""

    numba: bool


def fresh_import(modules: str) -> ImportTime:
    child = [sys.executable, "-c", CHILD.format(modules=modules)]
    took, cpu, numba = subprocess.run(child, check=True, capture_output=True, text=True).stdout.split()
    result = ImportTime(float(took), float(cpu))
    result.numba = numba == "1"
    return result


@register("import")
def imports(options: Options) -> Iterator[Workload]:
    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        return {"numba_imported": result.numba}

    yield Workload(
        name="import_semproj",
        words=1,
        contestants=[
            Contestant(OURS, None, lambda: fresh_import("semproj"), own_clock=True),
            Contestant("scipy_sklearn", None, lambda: fresh_import("scipy.sparse, sklearn.base"), own_clock=True),
        ],
        check=check,
        rounds=options.pick(9, 9, 1),
        least_seconds=0.0,
        notes=[
            "timed inside a fresh interpreter, whose own start is not counted; words per second: imports",
            "scipy_sklearn is `import scipy.sparse, sklearn.base`, which ours cannot do without",
        ],
    )
