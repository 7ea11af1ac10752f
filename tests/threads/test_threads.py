"""Forks, and several Python threads at once."""

from __future__ import annotations

import _thread
import signal
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from semproj import LSA, LogTfIdf, TermCounter
from semproj._common.resources import interruptible, single_threaded_blas
from semproj.kernels import Projection, project
from tests.support import random_counts, random_rows, same_bits
from tests.support.limiting import ADDRESS_SANITIZED


def test_concurrent_calls_give_the_same_bits():
    X = random_rows([100] * 2000, 500)
    counts = random_counts(2000, 500, 0.05)
    P = Projection(np.random.default_rng(0).standard_normal((500, 200)), "float32")
    quantised = Projection(np.random.default_rng(0).standard_normal((500, 200)), "int8")
    weighting = LogTfIdf().fit(counts)
    calls = [
        lambda: project(X, P, n_threads=2),
        lambda: project(counts, quantised, weighting=weighting, n_threads=3),
        lambda: LSA(5, random_state=0, n_threads=2).fit(counts.astype(np.float32)).components_,
    ]
    expected = [call() for call in calls]
    wrong = []

    def work(i):
        for _ in range(5):
            if not same_bits(calls[i % 3](), expected[i % 3]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_free_meanwhile():
    """While a kernel runs, other Python threads run."""
    X = random_rows([200] * 40_000, 5000)
    P = Projection(np.random.default_rng(0).standard_normal((5000, 256)), "float32")
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    project(X, P, n_threads=1)
    end = time.perf_counter()
    stop.set()
    ticker.join()
    inside = [t for t in ticks if start < t < end]
    assert len(inside) > 5


def test_fork(run_python):
    """The pool is used, the process forks, and the child uses it again; so does the parent."""
    done = run_python(
        """
        import os, signal
        import numpy as np
        import semproj as sj
        from semproj.kernels import Projection, project
        from tests.support import random_counts, random_rows
        X, counts = random_rows([100] * 3000, 500), random_counts(500, 400, 0.05)
        P = Projection(np.random.default_rng(0).standard_normal((500, 200)))
        texts = ["one two three", "two three four", "five"] * 2000
        def everything():
            return [
                project(X, P, n_threads=3).tobytes(),
                sj.LSA(5, random_state=0, n_threads=2).fit(counts.astype(float)).components_.tobytes(),
                sj.TermCounter(n_threads=2).fit_transform(texts).indices.tobytes(),
            ]
        expected = everything()
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if everything() == expected else 1)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert status == 0, status
            assert everything() == expected
        """,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_fork_while_a_fit_has_blas_on_one_thread(run_python):
    """The child has the threads of BLAS back, unless the thread that forked is itself inside."""
    run_python("""
        import os, threading, warnings
        from threadpoolctl import threadpool_info, threadpool_limits
        from semproj._common.resources import single_threaded_blas
        warnings.simplefilter("ignore", DeprecationWarning)

        def counts():
            return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

        def in_a_child(check):
            child = os.fork()
            if child == 0:
                try:
                    check()
                    os._exit(0)
                except BaseException as error:
                    print(repr(error), flush=True)
                os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        def nobody_is_inside():
            assert counts() == {3}, counts()
            with single_threaded_blas():
                assert counts() == {1}, counts()
            assert counts() == {3}, counts()

        entered, leave = threading.Event(), threading.Event()

        def fit():
            with single_threaded_blas():
                entered.set()
                leave.wait()

        threadpool_limits(3, user_api="blas")
        thread = threading.Thread(target=fit)
        thread.start()
        entered.wait()
        in_a_child(nobody_is_inside)

        block = single_threaded_blas()
        block.__enter__()

        def leaves_the_block():
            assert counts() == {1}, counts()
            block.__exit__(None, None, None)
            nobody_is_inside()

        in_a_child(leaves_the_block)
        block.__exit__(None, None, None)
        leave.set()
        thread.join()
        nobody_is_inside()
        """)


def test_multiprocessing_pool(run_python):
    done = run_python(
        """
        import multiprocessing, warnings
        import numpy as np
        from semproj.kernels import project
        from tests.support import random_rows
        X = random_rows([100] * 2000, 500)
        P = np.random.default_rng(0).standard_normal((500, 100))
        def work(i):
            return project(X[i::4], P, n_threads=2)
        if __name__ == "__main__":
            warnings.simplefilter("ignore", DeprecationWarning)
            whole = project(X, P, n_threads=2)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                parts = pool.map_async(work, range(4)).get(timeout=60)
            for i, part in enumerate(parts):
                assert part.tobytes() == np.ascontiguousarray(whole[i::4]).tobytes()
        """,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_thread_that_does_not_start(monkeypatch):
    """The system has none: the call is made here. It dies before its first line: an error, and no waiting."""

    def refuse(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert interruptible(pow, 3, 4) == 81
    monkeypatch.setattr(_thread, "start_new_thread", lambda function, args: 0)
    with pytest.raises(MemoryError, match="thread"):
        interruptible(pow, 3, 4)


def test_a_thread_that_is_left_behind_keeps_blas_as_it_was():
    class Alarm(Exception):
        pass

    def interrupt(*args):
        raise Alarm

    def counts():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    finish, previous = threading.Event(), signal.signal(signal.SIGALRM, interrupt)
    try:
        with threadpool_limits(3, user_api="blas"):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Alarm), single_threaded_blas():
                interruptible(finish.wait)
            assert counts() == {1}
            finish.set()
            for _ in range(200):
                if counts() == {3}:
                    break
                time.sleep(0.01)
            assert counts() == {3}
    finally:
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.skipif(ADDRESS_SANITIZED, reason="AddressSanitizer itself ends a process without address space")
def test_little_memory(run_python):
    """With hardly any address space left, a call succeeds or raises MemoryError; it does not hang or die."""
    done = run_python(
        """
        import os, resource, signal
        import numpy as np
        import semproj as sj
        from tests.support import random_counts
        X = random_counts(400, 300, 0.05).astype(np.float32)
        texts = [" ".join(f"w{i * j % 997}" for i in range(300)) for j in range(2000)]
        calls = {
            "LSA": lambda: sj.LSA(10, n_threads=2, solver="lanczos").fit(X),
            "PLSA": lambda: sj.PLSA(10, n_threads=4, max_iter=3).fit(X),
            "TermCounter": lambda: sj.TermCounter(n_threads=4).fit_transform(texts),
            "top_k": lambda: sj.retrieval.top_k(X.toarray(), X.toarray(), 300, n_threads=4),
        }
        for call in calls.values():  # what is imported when it is needed is there now
            call()
        pages = int(open("/proc/self/statm").read().split()[0])
        for name, megabytes in [(name, megabytes) for name in calls for megabytes in (0, 2, 6, 20)]:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                limit = pages * resource.getpagesize() + megabytes * 2**20
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
                try:
                    calls[name]()
                except MemoryError:
                    pass
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status != 0:
                print(name, megabytes, "ended with", status)
        """,
        OPENBLAS_NUM_THREADS="1",
        SEMPROJ_NUM_THREADS="2",
    )
    assert done.stdout == "", done.stdout + done.stderr


def test_termcounter_from_several_threads():
    texts = [" ".join(f"w{i * j % 97}" for i in range(50)) for j in range(300)]
    expected = TermCounter().fit_transform(texts)
    results = [None] * 4

    def work(i):
        results[i] = TermCounter(n_threads=2).fit_transform(texts)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert same_bits(result.indices, expected.indices)
        assert same_bits(result.data, expected.data)


def test_many_threads_asked_for():
    """More threads than work, and than the machine has."""
    X = random_rows([100] * 3000, 500)
    P = Projection(np.random.default_rng(0).standard_normal((500, 200)))
    assert same_bits(project(X, P, n_threads=64), project(X, P, n_threads=1))
