"""What all loops around a user's function need: the function compiled, and threads to run on.

Numba's own threads (``parallel=True``) do not survive a fork, and some of its layers abort the process if two
callers meet. So a loop here is a kernel without the GIL, called on Python's threads with one piece of the
work after the other. Python's threads also take what a kernel must: an exception of the user's function, and an
interrupt, however long the function takes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numba

from ._function import Argument, compile_loop

# Where all loggers are set to DEBUG, Numba tells of every instruction. Its own level, if it has one, stays.
if (_numba_log := logging.getLogger("numba")).level == logging.NOTSET:
    _numba_log.setLevel(logging.WARNING)

_SHORT, _LONG = 2e-3, 16e-3  # seconds that a piece of the work should take
_PATIENCE = 0.5  # seconds to wait for threads that have been told to stop


def run(
    make_loop: Callable[[Any], Any],
    function: Any,
    argument: Argument,
    *arguments: Any,
    n_cells: int,
    width: int = 1,
    n_threads: int,
    where: Callable[[int], str] | None = None,
) -> None:
    """Call the loop around a function as ``loop(first, last, *arguments)`` until all cells are done.

    The work is a row of cells. Each `width` of them belong together: one thread does them, in order. Nothing a
    loop computes may depend on where else the row is cut. `where` says in words which cell raised an error.
    """
    types = tuple(numba.typeof(value) for value in (0, 0, *arguments))
    loop = compile_loop(make_loop, function, argument, types)
    crew = _Crew(lambda first, last: loop(first, last, *arguments), n_cells, width, n_threads)
    raised = crew.run()
    if raised is not None:
        cell, error = raised
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        place = "" if where is None else f" {where(cell)}"
        message = f"{argument.name}: the function raised {what}{place}; it is called as {argument.call}"
        raise ValueError(message) from error


def run_tasks(work: Callable[[int], None], n_tasks: int, n_threads: int) -> Exception | None:
    """Call ``work(task)`` for all tasks, on threads; returns the error of the first one that raises any."""

    def some(first: int, last: int) -> None:
        for task in range(first, last):
            work(task)

    raised = _Crew(some, n_tasks, 1, n_threads).run()
    return None if raised is None else raised[1]


class _Crew:
    """Threads that take one share of the cells after the other until none is left."""

    def __init__(self, work: Callable[[int, int], None], n_cells: int, width: int, n_threads: int) -> None:
        self._work, self._n_cells, self._width = work, n_cells, width
        self._n_groups = -(-n_cells // width)
        self._n_threads = min(n_threads, self._n_groups)
        self._next_group = 0
        self._end = n_cells  # no cell from here on is needed
        self._error: tuple[int, Exception] | None = None
        self._lock = threading.Lock()

    def run(self) -> tuple[int, Exception] | None:
        """The first cell that raises an error, and its error: the same for any number of threads."""
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
                    self._fail(*self._first_failure(first, stop, error))
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

    def _first_failure(self, first: int, stop: int, error: Exception) -> tuple[int, Exception]:
        """Which of these cells it was: what they have written does not count any more."""
        for cell in range(first, stop - 1):
            try:
                self._work(cell, cell + 1)
            except Exception as its_error:
                return cell, its_error
        return stop - 1, error

    def _fail(self, cell: int, error: Exception) -> None:
        """Keep the error of the first cell; cells before it are still done, as they may have one, too."""
        with self._lock:
            if cell < self._end:
                self._end, self._error = cell, (cell, error)
