"""Forks, Ctrl-C and several Python threads at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from semproj import LSA, LogTfIdf, TermCounter
from semproj.kernels import Projection, project
from tests.conftest import ROOT
from tests.support import random_counts, random_rows, same_bits


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


# A process started in the background of a shell inherits SIGINT as ignored; Python then has no handler for it.
SETUP = """
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np, scipy.sparse as sp, semproj as sj
    from semproj.kernels import Projection, project
    rng = np.random.default_rng(0)
    def rows(n, length, terms):
        indices = rng.integers(0, terms, n * length, dtype=np.int32)
        data = np.ones(n * length, np.float32)
        return sp.csr_matrix((data, indices, np.arange(0, n * length + 1, length)), shape=(n, terms))
"""
# What each call needs, and the call. Each takes seconds: it is interrupted inside, not between two calls.
LONG_CALLS = {
    "project": (
        "X, P = rows(150_000, 100, 20_000), Projection(np.ones((20_000, 2000), np.float32))",
        "project(X, P, n_threads=N)",
    ),
    "project int8": (
        "X, P = rows(150_000, 100, 20_000), Projection(np.ones((20_000, 2000), np.float32), 'int8')",
        "project(X, P, n_threads=N)",
    ),
    # 500,000 terms of one slab: almost every entry waits for memory, and all rows are one walk over it.
    "project one tile": (
        "X, P = rows(400_000, 150, 500_000), Projection(np.ones((500_000, 64), np.float32))",
        "project(X, P, n_threads=N)",
    ),
    "LSA": (
        "X = rows(60_000, 60, 20_000)",
        "sj.LSA(300, solver='lanczos', tol=1e-12, random_state=0, n_threads=N).fit(X)",
    ),
    "WTMF": (
        "X = rows(200_000, 20, 20_000)",
        "sj.WTMF(100, random_state=0, n_threads=N).fit(X)",
    ),
    # Every row has more entries than there are components: the other way to solve it, a long time for each.
    "weighted_row_solve": (
        "X, Y = rows(3_000, 4_000, 20_000), rng.standard_normal((20_000, 300))",
        "sj.kernels.weighted_row_solve(X, Y, missing_weight=0.01, reg=1.0, n_threads=N)",
    ),
    "top_k": (
        "Q, C = np.ones((3000, 500), np.float32), np.ones((100_000, 500), np.float32)",
        "sj.retrieval.top_k(Q, C, metric='l1', n_threads=N)",
    ),
    "OPCA cholesky": (
        "X = [rows(20_000, 40, 5_000), rows(20_000, 40, 5_000)]",
        "sj.OPCA(200, solver='cholesky', tol=1e-12, random_state=0, n_threads=N).fit(X)",
    ),
    "OPCA cg": (
        "X = [rows(20_000, 40, 20_000), rows(20_000, 40, 20_000)]",
        "sj.OPCA(200, solver='cg', tol=1e-12, random_state=0, n_threads=N).fit(X)",
    ),
    "CCA dual": (
        "X = [rows(3_000, 40, 20_000), rows(3_000, 40, 20_000)]",
        "sj.CCA(200, solver='dual', tol=1e-12, random_state=0, n_threads=N).fit(X)",
    ),
    "TermCounter": (
        "texts = [' '.join(f'w{i}' for i in rng.integers(0, 200_000, 2000)) for _ in range(200)] * 500",
        "sj.TermCounter(ngram_range=(1, 2), n_threads=N).fit_transform(texts)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c(name, n_threads):
    """SIGINT in the middle of a long call raises KeyboardInterrupt within a second, and the next call works."""
    setup, call = LONG_CALLS[name]
    script = textwrap.dedent(SETUP) + textwrap.dedent(f"""
N = {n_threads}
{setup}
print("ready", flush=True)
try:
    while True:
        {call}
except KeyboardInterrupt:
    print("stopped", flush=True)
assert project(np.eye(2), np.eye(2), n_threads=2).tolist() == [[1, 0], [0, 1]]
print("alive", flush=True)
""")
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(100, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()[-2000:]
        time.sleep(0.7)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n", process.stderr.read()[-2000:]
        waited = time.perf_counter() - sent
        assert process.stdout.readline() == "alive\n"
        assert process.wait(20) == 0
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()
    assert waited < 1.0


def test_ctrl_c_leaves_the_previous_fit_usable(run_python):
    done = run_python("""
        import os, signal, threading
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import numpy as np, scipy.sparse as sp, semproj as sj
        X = sp.random(300, 200, 0.1, format="csr", random_state=0)
        indices = np.random.default_rng(0).integers(0, 9_000, 40_000 * 36, dtype=np.int32)
        big = sp.csr_matrix((np.ones(len(indices)), indices, np.arange(0, len(indices) + 1, 36)))
        model = sj.LSA(5, random_state=0).fit(X)
        before = model.transform(X)
        model.set_params(n_components=300, solver="lanczos", tol=1e-12)
        threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            model.fit(big)
        except KeyboardInterrupt:
            assert (model.transform(X) == before).all()
            print("stopped")
    """)
    assert done.stdout.strip() == "stopped"


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
