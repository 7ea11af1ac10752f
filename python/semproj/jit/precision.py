"""A user's precision and target of the cells of BPTF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.types import Array
from ._function import Argument, check_function
from .cells import map_cells

_ARGUMENTS = {name: Argument(name, f"{name}(value, slice)", (0.5, 0)) for name in ("precision", "target")}


def check_cell_function(function: Any, name: str) -> None:
    """Check one of the two before it is used."""
    check_function(function, _ARGUMENTS[name])


def of_values(
    function: Callable[[float, int], float],
    name: str,
    values: Array,
    slice: int,
    n_threads: int,
    where: Callable[[int], str],
) -> Array:
    """What it is for values of cells of a slice, in double; see :func:`semproj.jit.cells.map_cells`."""
    return map_cells(function, _ARGUMENTS[name], (values, slice), np.empty(len(values)), n_threads, where)
