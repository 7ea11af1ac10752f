"""What all loops around a user's function need: the function compiled, and a number of threads to run on."""

from __future__ import annotations

import functools
from typing import Any

import numba
from numba.core.registry import CPUDispatcher


@functools.lru_cache(maxsize=64)
def compiled(function: Any) -> Any:
    """The function as Numba's, which it may be already."""
    return function if isinstance(function, CPUDispatcher) else numba.njit(function)


def run(loop: Any, n_threads: int, *arguments: Any) -> None:
    """Call a compiled loop on up to `n_threads` of Numba's threads."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(n_threads, numba.config.NUMBA_NUM_THREADS))
    try:
        loop(*arguments)
    finally:
        numba.set_num_threads(before)
