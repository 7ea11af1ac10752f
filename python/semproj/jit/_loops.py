"""What all loops around a user's function need: the function compiled, and threads to run on.

Numba's own threads (``parallel=True``) do not survive a fork, and some of its layers abort the process if two
callers meet. So a loop here is a kernel without the GIL, called on Python's threads with one piece of the
work after the other. Python's threads also take what a kernel must: an exception of the user's function, and an
interrupt, however long the function takes.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from numba.core.registry import CPUDispatcher

# Where all loggers are set to DEBUG, Numba tells of every instruction. Its own level, if it has one, stays.
if (_numba_log := logging.getLogger("numba")).level == logging.NOTSET:
    _numba_log.setLevel(logging.WARNING)

_SHORT, _LONG = 2e-3, 16e-3  # seconds that a piece of the work should take
_PATIENCE = 0.5  # seconds to wait for threads that have been told to stop


class Argument(NamedTuple):
    """What a user's function is passed as, and how it is called."""

    name: str
    call: str


@functools.lru_cache(maxsize=64)
def _compiled(function: Any) -> Any:
    """The function as Numba's, which it may be already, and without threads of its own."""
    if not isinstance(function, CPUDispatcher):
        return numba.njit(function)
    options = function.targetoptions
    if not options.get("parallel"):
        return function
    return numba.njit(**{name: value for name, value in options.items() if name not in ("parallel", "nopython")})(
        function.py_func
    )


def run(
    make_kernel: Callable[[Any], Any],
    function: Any,
    argument: Argument,
    *arguments: Any,
    n_cells: int,
    width: int = 1,
    n_threads: int,
) -> None:
    """Call the kernel of a function as ``kernel(first, last, *arguments)`` until all cells are done.

    The work is a row of cells. Each `width` of them belong together: one thread does them, in order. Nothing a
    kernel computes may depend on where else the row is cut.
    """
    try:
        kernel = make_kernel(_compiled(function))
        types = tuple(numba.typeof(value) for value in (0, 0, *arguments))
        if types not in kernel.overloads:  # to compile again what is there is slow
            kernel.compile(types)
    except Exception as error:
        message = f"{argument.name}: Numba cannot compile the function; it is called as {argument.call}"
        raise TypeError(message) from error
    raised = _Crew(lambda first, last: kernel(first, last, *arguments), n_cells, width, n_threads).run()
    if raised is not None:
        what = f"{type(raised).__name__}: {raised}".removesuffix(": ")
        message = f"{argument.name}: the function raised {what}; it is called as {argument.call}"
        raise ValueError(message) from raised


class _Crew:
    """Threads that take one share of the cells after the other until none is left."""

    def __init__(self, work: Callable[[int, int], None], n_cells: int, width: int, n_threads: int) -> None:
        self._work, self._n_cells, self._width = work, n_cells, width
        self._n_groups = -(-n_cells // width)
        self._n_threads = min(n_threads, self._n_groups)
        self._next_group = 0
        self._end = n_cells  # no cell from here on is needed
        self._error: Exception | None = None
        self._lock = threading.Lock()

    def run(self) -> Exception | None:
        """The error of the first cell that has one: the same for any number of threads."""
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(self._n_threads)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():  # a wait without an end may not notice Ctrl-C
                    thread.join(0.1)
        except BaseException:
            self._end = 0
            deadline = time.monotonic() + _PATIENCE
            for thread in threads:
                if thread.ident is not None:
                    thread.join(max(0.0, deadline - time.monotonic()))
            raise
        return self._error

    def _serve(self) -> None:
        step = 1
        while True:
            first, last = self._take(step)
            if first >= last:
                return
            while first < min(last, self._end):
                start, stop = time.perf_counter(), min(first + step, last)
                try:
                    self._work(first, stop)
                except Exception as error:
                    self._fail(first, error)
                    return
                took = time.perf_counter() - start
                step = 4 * step if took < _SHORT else max(1, step // 2) if took > _LONG else step
                first = stop

    def _take(self, step: int) -> tuple[int, int]:
        """The cells of some groups: about `step` cells, towards the end fewer, so that threads end together."""
        with self._lock:
            first = self._next_group
            fair = (self._n_groups - first) // (2 * self._n_threads)
            most, least = step // self._width, step // (8 * self._width)
            self._next_group = min(self._n_groups, first + max(1, least, min(most, fair)))
            return first * self._width, min(self._end, self._next_group * self._width)

    def _fail(self, first: int, error: Exception) -> None:
        """Keep the error of the first cell; cells before it are still done, as they may have one, too."""
        with self._lock:
            if first < self._end:
                self._end, self._error = first, error
