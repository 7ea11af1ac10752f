"""Loops around a user's function: forks, several threads at once, interrupts, and functions that fail."""

from __future__ import annotations

import threading
import time

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError

from semproj import CustomWeighting
from semproj.retrieval import gold_ranks, top_k, true_ranks
from tests.support import random_counts, same_bits
from tests.support.interrupting import seconds_after_ctrl_c

# Every loop, on more than one thread; `everything` returns all bits.
LOOPS = """
    import multiprocessing, os, signal, threading
    import numba, numpy as np, semproj as sj
    from semproj.retrieval import gold_ranks, top_k, true_ranks
    from tests.support import random_counts
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((300, 7)).astype(np.float32) for _ in range(2))
    X = random_counts(500, 300, 0.2)
    @numba.njit(parallel=True)
    def distance(u, v):
        total = 0.0
        for i in numba.prange(len(u)):
            total += abs(u[i] - v[i])
        return total
    weighting = sj.CustomWeighting(lambda count, df, n, length: count * n / (df + length), n_threads=2).fit(X)
    def everything(i=0):
        arrays = [
            *top_k(A, B, 5, metric=distance, n_threads=2),
            *true_ranks(A, B, metric=distance, n_threads=2),
            *gold_ranks(A, B, list(range(300)), metric=distance, n_threads=2),
            weighting.transform(X).data,
            sj.WTMF(3, confidence=lambda x: 1 / x, max_iter=2, random_state=0, n_threads=2).fit_transform(X * 1.0),
        ]
        return [array.tobytes() for array in arrays]
    expected = everything()
"""


def test_numba_starts_no_threads(run_python):
    """Its threads would kill a forked child, or abort the process when two Python threads call at once.

    The user's own decorator asks for them, too.
    """
    script = """
    results = [[] for _ in range(4)]
    def work(i):
        for _ in range(5):
            results[i].append(everything())
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[expected] * 5] * 4

    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if everything() == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(everything, range(4)).get(timeout=60) == [expected] * 4
    assert everything() == expected

    try:
        layer = numba.threading_layer()
    except ValueError:  # none was started
        layer = None
    assert layer is None, layer
    """
    run_python(LOOPS + script, NUMBA_THREADING_LAYER="workqueue", PYTHONWARNINGS="ignore::DeprecationWarning")


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    return [rng.standard_normal((120, 6)).astype(np.float32) for _ in range(2)]


def callers(rows, n_threads):
    """Each function that takes a metric."""
    A, B = rows
    return [
        lambda metric: top_k(A, B, 3, metric=metric, n_threads=n_threads),
        lambda metric: true_ranks(A, B, metric=metric, n_threads=n_threads),
        lambda metric: gold_ranks(A, B, range(len(A)), metric=metric, n_threads=n_threads),
    ]


def test_same_bits_for_any_number_of_threads(rows):
    @numba.njit
    def metric(u, v):
        return (u * v).sum() / np.sqrt((u * u).sum())

    expected = [call(metric) for call in callers(rows, 1)]
    X = random_counts(3000, 400, 0.1)
    weigh = CustomWeighting(lambda count, df, n, length: np.log(n / df) * count / length, n_threads=1).fit(X)
    weights = weigh.transform(X).data
    for n_threads in (2, 3, 16):
        for call, known in zip(callers(rows, n_threads), expected, strict=True):
            assert all(same_bits(*pair) for pair in zip(call(metric), known, strict=True))
        assert same_bits(weigh.set_params(n_threads=n_threads).transform(X).data, weights)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_function_names_the_argument(rows, n_threads):
    rows[0][:, 0], rows[1][:, 0] = 1, np.arange(120)

    def metric(u, v):
        if v[0] >= 100:
            raise IndexError("row too far")
        return 1.0

    for call in callers(rows, n_threads):
        with pytest.raises(ValueError, match=r"^metric: the function raised IndexError: row too far") as raised:
            call(metric)
        assert isinstance(raised.value.__cause__, IndexError)
    X = random_counts(2000, 400, 0.2)
    for function, message in [
        (lambda count, df, n, length: 1 / (n - 2000), "ZeroDivisionError: division by zero"),
        (lambda count, df, n, length: (1, 2)[n], "IndexError"),
    ]:
        weighting = CustomWeighting(function, n_threads=n_threads).fit(X)
        with pytest.raises(ValueError, match=rf"^weight: the function raised {message}.* for a term of row"):
            weighting.transform(X)


class Callable:
    def __call__(self, *arguments):
        return 1.0


class Unhashable(Callable):
    __hash__ = None


@pytest.mark.parametrize(
    "function",
    [
        lambda *arguments: {1: unknown_name},  # noqa: F821
        lambda *arguments: "text",
        lambda *arguments: None,
        lambda: 1.0,
        Callable(),
        Unhashable(),
        print,
    ],
)
def test_what_cannot_be_compiled_names_the_argument_and_how_it_is_called(rows, function):
    for call in callers(rows, 2):
        with pytest.raises(TypeError, match=r"^metric: Numba cannot compile .*metric\(u, v\)") as raised:
            call(function)
        assert isinstance(raised.value.__cause__, (NumbaError, TypeError))
        assert len(str(raised.value)) < 400
    with pytest.raises(TypeError, match=r"^weight: Numba cannot compile .*weight\(count, "):
        CustomWeighting(function).fit_transform(random_counts(9, 5, 0.5))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_a_long_call_and_its_threads(n_threads):
    @numba.njit
    def slow(u, v):
        total = 0.0
        for i in range(20_000):
            total += np.sin(u[0] * i)
        return total

    rows = np.ones((400, 2), np.float32)
    top_k(rows[:1], rows[:1], 1, metric=slow)  # compiled
    before = set(threading.enumerate())
    assert seconds_after_ctrl_c(lambda: top_k(rows, rows, 1, metric=slow, n_threads=n_threads)) < 1
    deadline = time.perf_counter() + 5
    while set(threading.enumerate()) - before:
        assert time.perf_counter() < deadline
        time.sleep(0.01)
