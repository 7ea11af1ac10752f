"""What is observed of the values of cells, and how precisely, by a user's functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._common.types import Array

LARGEST = 1e145  # of a cell's size: sums of squares stay finite in double
CellFunction = Callable[[float, int], float]


@dataclass(frozen=True)
class Cells:
    """Observed cells of a slice: each pair of words once, but for a few that are drawn, see `Pairs`."""

    rows: Array  # int32
    cols: Array
    values: Array
    symmetric: bool = True
    roots: Array | None = None  # of the precisions of cells, over alpha; None: all are 1

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: Array) -> Cells:
        """Some of them."""
        roots = None if self.roots is None else self.roots[places]
        return replace(
            self, rows=self.rows[places], cols=self.cols[places], values=self.values[places], roots=roots
        )

    @cached_property
    def log_precision(self) -> float:
        """The sum of the logarithms of the precisions, over alpha."""
        return 0.0 if self.roots is None else 2 * float(np.log(self.roots, dtype=np.float64).sum())


@dataclass(frozen=True)
class Observation:
    """A user's functions of a value and the number of its slice. Both get the value that was given."""

    precision: CellFunction | None = None
    target: CellFunction | None = None
    n_threads: int = 1

    def __bool__(self) -> bool:
        return self.precision is not None or self.target is not None

    def of(self, cells: Cells, k: int) -> Cells:
        """Cells of slice k as they are observed."""
        if not self:
            return cells
        values = cells.values.astype(np.float64)

        def where(i: int) -> str:
            return f"for cell ({cells.rows[i]}, {cells.cols[i]}) of slice {k}, whose value is {values[i]:g}"

        found = cells
        if self.target is not None:
            targets = self._map(self.target, "target", values, k, where)
            with np.errstate(over="ignore"):
                narrow = targets.astype(cells.values.dtype)
            _refuse(
                ~(np.abs(narrow.astype(np.float64)) <= LARGEST),
                targets,
                "target",
                "numbers that can be squared",
                where,
            )
            found = replace(found, values=narrow)
        if self.precision is not None:
            precisions = self._map(self.precision, "precision", values, k, where)
            with np.errstate(invalid="ignore", over="ignore", under="ignore"):
                roots = np.sqrt(precisions).astype(cells.values.dtype)
            bad = ~((roots >= np.finfo(roots.dtype).tiny) & np.isfinite(roots))
            _refuse(bad, precisions, "precision", f"numbers above 0 with a root in {roots.dtype}", where)
            found = replace(found, roots=roots)
        return found

    def _map(self, function: CellFunction, name: str, values: Array, k: int, where: Callable[[int], str]) -> Array:
        from ..jit.precision import of_values

        return of_values(function, name, values, k, self.n_threads, where)


def check_functions(precision: Any, target: Any) -> None:
    """Check those that there are."""
    for name, function in (("precision", precision), ("target", target)):
        if function is not None:
            from ..jit.precision import check_cell_function

            check_cell_function(function, name)


def _refuse(bad: Array, found: Array, name: str, expected: str, where: Callable[[int], str]) -> None:
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name}: expected {expected}, got {found[i]:g} {where(i)}")
