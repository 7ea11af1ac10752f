"""How many threads and how much memory a call may use; BLAS on one thread while our threads call it."""

from __future__ import annotations

import _thread
import functools
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from numbers import Integral
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, cast

import joblib  # scikit-learn has imported it already
import numpy as np

from .. import _core

Result = TypeVar("Result")

_ENVIRONMENT = ("SEMPROJ_NUM_THREADS", "OMP_NUM_THREADS")
_FEW, _MANY = 64, 2**31  # threads that any machine may be asked for, and that none may
_BLAS_BUFFER = 2**25  # bytes for each thread that calls BLAS
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def available_threads() -> int:
    """Default thread count: SEMPROJ_NUM_THREADS, OMP_NUM_THREADS, or what affinity and control groups allow."""
    for name in _ENVIRONMENT:
        value = os.environ.get(name, "").split(",")[0].strip()
        if value:
            digits = value.lstrip("0")
            if not (value.isascii() and digits.isdecimal() and len(digits) <= len(str(_MANY))):
                raise ValueError(f"{name}: expected a positive integer below 2**31, got {value!r}")
            return _bounded(int(digits), name, "")
    return int(joblib.cpu_count())


def resolve_threads(n_threads: int | None) -> int:
    """Turn an ``n_threads`` argument into a number: None and -1 mean :func:`available_threads`.

    >>> resolve_threads(3)
    3
    """
    if n_threads is None:
        return available_threads()
    if type(n_threads) is not int and (isinstance(n_threads, bool) or not isinstance(n_threads, Integral)):
        raise TypeError(f"n_threads: expected a positive integer, -1 or None, got {n_threads!r}")
    if n_threads == -1:
        return available_threads()
    if n_threads < 1:
        raise ValueError(f"n_threads: expected a positive integer, -1 or None, got {n_threads}")
    return _bounded(int(n_threads), "n_threads", ", -1 or None")


def _bounded(count: int, name: str, alternative: str) -> int:
    """More threads than a machine can make use of cost memory and bring nothing; results are the same."""
    if count >= _MANY:
        got = f"{count}" if count < 2**64 else "more than 2**64"
        raise ValueError(f"{name}: expected a positive integer below 2**31{alternative}, got {got}")
    if count <= _FEW:  # without asking the system, which takes longer than a small call
        return count
    most = max(_FEW, 8 * (os.cpu_count() or 1))
    if count > most:
        message = f"{name}: {count} threads are more than this machine can use; {most} are used"
        warnings.warn(message, RuntimeWarning, stacklevel=4)
    return min(count, most)


class _SingleThreadedBlas:
    """Counts the calls that need BLAS on one thread; the first sets the limit, the last restores it.

    BLAS libraries have one thread count per process, so overlapping calls from several Python threads must not
    restore each other's setting half-way.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depths: dict[int, int] = {}  # by thread: calls that are inside
        self._limiter: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        # Only the thread that forked is in the child: others release no lock there, and leave no call.
        self._lock = threading.Lock()
        own = threading.get_ident()
        self._depths = {own: self._depths[own]} if own in self._depths else {}
        self._restore_if_unused()

    def is_inside(self) -> bool:
        """Whether the calling thread needs BLAS on one thread."""
        return threading.get_ident() in self._depths

    def enter(self) -> None:
        with self._lock:
            if not _core.has_blas():
                from scipy.linalg import cython_blas, cython_lapack

                _core.use_blas({**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__})
            if self._limiter is None:
                _need_memory_for_blas()
                _let_any_thread_set_limits()
                self._limiter = _blas_libraries().limit(limits=1)
            own = threading.get_ident()
            self._depths[own] = self._depths.get(own, 0) + 1

    def leave(self) -> None:
        with self._lock:
            own = threading.get_ident()
            self._depths[own] -= 1
            if self._depths[own] == 0:
                del self._depths[own]
            self._restore_if_unused()

    def _restore_if_unused(self) -> None:
        if self._limiter is not None and not self._depths:
            _let_any_thread_set_limits()
            self._limiter.restore_original_limits()
            _let_any_thread_set_limits()
            self._limiter = None


@functools.cache
def _blas_libraries() -> Any:
    """Those of numpy and scipy, which are there by now. To look for them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _need_memory_for_blas() -> None:
    """Without memory for its buffers, OpenBLAS asks for them again and again, for ever: so ask before it does."""
    np.empty(_BLAS_BUFFER * (1 + available_threads()), np.uint8)


def _let_any_thread_set_limits() -> None:
    """Newer versions of threadpoolctl silently ignore all threads but the one that first set a limit.

    The first and the last of our calls may come from different threads; our own lock keeps them in order.
    """
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


_blas = _SingleThreadedBlas()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Let our kernels call BLAS, which runs on the calling thread alone: bits do not depend on its pool."""
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()


class _Token:
    """Lives as long as somebody holds it."""


def interruptible(function: Callable[..., Result], *args: Any) -> Result:
    """Call a long function, which releases the GIL, so that Ctrl-C is noticed at once.

    It runs on a thread of its own; after an interrupt, that thread is left to end by itself. If the system has no
    thread to give, the function is called here.
    """
    outcome: list[Any] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    # A thread that is left behind keeps BLAS as it found it: to give it threads meanwhile can hang the exit.
    same_blas = single_threaded_blas if _blas.is_inside() else nullcontext

    def call(token: _Token) -> None:
        try:
            with same_blas():
                outcome.append((function(*args), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            ended.release()

    # Not threading.Thread: short of memory, a thread may die before its first line, and start waits for ever.
    # The token is gone when the thread is.
    token = _Token()
    running = weakref.ref(token)
    try:
        _thread.start_new_thread(call, (token,))
    except RuntimeError:
        return function(*args)
    del token
    while not ended.acquire(timeout=0.1) and running() is not None:
        pass
    if not outcome:
        raise MemoryError("a thread ended before it had begun")
    result, error = outcome[0]
    if error is not None:
        raise error
    return cast(Result, result)


def available_memory() -> int:
    """Bytes that this process may use: the machine's memory, or the smallest limit of its control groups."""
    return min([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_memory_limits()])


def half_of_memory() -> int:
    """Bytes that a solver may use if it is not told: half of :func:`available_memory`."""
    return available_memory() // 2


@contextmanager
def memory_for(what: str, n_bytes: int) -> Iterator[None]:
    """Name what is too large: before it is begun, if it is more than there is, or when memory ends meanwhile."""
    message = f"{what}: about {n_bytes / 2**30:.3g} GiB of memory are needed"
    if n_bytes > (most := available_memory()):
        raise MemoryError(f"{message}, this process may use {most / 2**30:.3g} GiB")
    try:
        yield
    except MemoryError as error:
        why = "" if str(error) in ("", "std::bad_alloc") else f": {error}"
        raise MemoryError(f"{message}, and the system gives no more{why}") from error


def _memory_limits() -> Iterator[int]:
    """Limits of the process's control group and of those above it. "No limit" is a huge one in version 1."""
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, own = line.split(":", 2)
        if not controllers:
            root, name = _CGROUPS, "memory.max"  # version 2
        elif "memory" in controllers.split(","):
            root, name = _CGROUPS / "memory", "memory.limit_in_bytes"  # version 1
        else:
            continue
        # In a container the path may be the host's: then only the root is here, and has the container's limit.
        path = PurePosixPath(own.lstrip("/"))
        for group in (path, *path.parents):
            try:
                limit = (root / group / name).read_text().strip()
            except OSError:
                continue
            if limit.isdecimal():
                yield int(limit)
