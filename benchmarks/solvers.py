"""Whether OPCA and CCA choose their solver well: the seconds of each on a grid of shapes, and of the chosen one.

python -m benchmarks.solvers --data DIR
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

import semproj as sj
from benchmarks import data

# Pairs, terms (of a view, for CCA) and components; rows of unit length make conjugate gradients short.
OPCA_SHAPES = [
    (500, 2000, 50),
    (500, 8000, 50),
    (1000, 2000, 100),
    (1000, 5000, 50),
    (2000, 2000, 200),
    (2000, 10_000, 100),
    (3000, 1000, 50),
    (3000, 5000, 200),
    (6000, 3000, 100),
    (10_000, 2000, 20),
]
CCA_SHAPES = [
    (500, 1000, 50),
    (500, 4000, 50),
    (1000, 500, 50),
    (1000, 1000, 100),
    (1000, 2000, 50),
    (2000, 1000, 100),
    (2000, 5000, 50),
    (3000, 2000, 100),
]


def seconds_of(model: Any, views: list[Any]) -> float:
    """CPU seconds of a fit on one thread, the better of two: other work on the machine hardly matters."""
    took = []
    for _ in range(2):
        start = time.process_time()
        model.fit(views)
        took.append(time.process_time() - start)
        if took[0] > 5:
            break
    return min(took)


def measure(
    name: str, shape: tuple[int, int, int], *, unit: bool, dtype: str, folder: Path | None
) -> dict[str, Any]:
    """All solvers, and the choice, for one shape."""
    pairs, terms, k = shape
    views = data.bilingual(pairs, terms if name == "OPCA" else 2 * terms, folder).views
    if name == "CCA":
        views = [view[:, view.getnnz(axis=0).argsort()[::-1][:terms]] for view in views]
    if unit:
        views = [normalize(view) for view in views]
    views = [view.astype(dtype) for view in views]
    make = getattr(sj, name)
    seconds = {
        solver: seconds_of(make(k, solver=solver, n_threads=1, random_state=0), views)
        for solver in ("auto", "cholesky", "dual", "cg")[: 4 if name == "OPCA" else 3]
    }
    chosen = make(k, n_threads=1, random_state=0).fit(views).solver_
    best = min(seconds[solver] for solver in seconds if solver != "auto")
    row = {"model": name, "shape": shape, "unit": unit, "dtype": dtype, "chosen": chosen, "seconds": seconds}
    return {**row, "over_best": seconds[chosen] / best, "auto_over_best": seconds["auto"] / best}


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with europarl/ (default: SEMPROJ_DATA)")
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--tiny", action="store_true", help="one shape of each, for the tests")
    asked = parser.parse_args(arguments)
    grid = [("OPCA", shape, unit, "float32") for unit in (False, True) for shape in OPCA_SHAPES]
    grid += [("CCA", shape, False, dtype) for dtype in ("float32", "float64") for shape in CCA_SHAPES]
    if asked.tiny:
        grid = [("OPCA", (60, 300, 3), True, "float32"), ("CCA", (60, 300, 3), False, "float64")]
    rows = []
    for name, shape, unit, dtype in grid:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            row = measure(name, shape, unit=unit, dtype=dtype, folder=asked.data)
        rows.append(row)
        title = f"{name} {shape} {dtype}{' unit' if unit else ''}"
        times = "".join(f"{solver:>10} {took:.3f}" for solver, took in row["seconds"].items())
        print(f"{title:38}{row['chosen']:9}{row['over_best']:5.2f}x {times}", flush=True)
    worst = max(rows, key=lambda row: float(row["over_best"]))
    print(f"{len(rows)} shapes; the chosen solver takes {worst['over_best']:.2f} of the best one's time at most")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return rows


if __name__ == "__main__":
    main()
