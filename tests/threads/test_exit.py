"""The interpreter ends while a daemon thread, or one that an interrupt left behind, is inside a kernel."""

from __future__ import annotations


def test_exits_are_clean(run_python):
    """Children are forked where everything is imported and nothing used; each ends by its last line."""
    done = run_python("""
        import os, signal, threading, time, warnings
        import numpy as np
        import semproj as sj
        from semproj._common.resources import interruptible, single_threaded_blas
        from semproj.kernels import project
        from tests.support import random_counts

        warnings.simplefilter("ignore", DeprecationWarning)  # forks beside the threads of BLAS
        rng = np.random.default_rng(0)
        X = random_counts(1500, 1000, 0.03).astype(np.float32)
        texts = [" ".join(f"w{i}" for i in rng.integers(0, 5000, 300)) for _ in range(1000)]
        P, Q = rng.standard_normal((1000, 300)), rng.standard_normal((1000, 60))
        square = rng.standard_normal((600, 600))

        def start_daemon(call):
            def work():
                while True:
                    call()
            threading.Thread(target=work, daemon=True).start()

        def leave_a_thread_behind():
            def interrupt(*args):
                raise KeyboardInterrupt
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                with single_threaded_blas():
                    while True:
                        interruptible(np.linalg.eigh, square)
            except KeyboardInterrupt:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)

        starts = {
            "TermCounter": lambda: start_daemon(lambda: sj.TermCounter(n_threads=2).fit_transform(texts)),
            "project": lambda: start_daemon(lambda: project(X, P, n_threads=2)),
            "top_k": lambda: start_daemon(lambda: sj.retrieval.top_k(Q, Q, 9, n_threads=2)),
            "PLSA": lambda: start_daemon(lambda: sj.PLSA(20, n_threads=2).fit(X)),
            "LSA": lambda: start_daemon(lambda: sj.LSA(20, n_threads=2).fit(X)),
            "documents": lambda: start_daemon(lambda: sj.TermCounter().fit(str(i) for i in range(10**6))),
            "interruptible": leave_a_thread_behind,
        }
        for name, delay in [(name, 0.005 + 0.02 * i) for name in starts for i in range(4)]:
            child = os.fork()
            if child == 0:
                starts[name]()
                signal.alarm(20)  # a hang is an error, too
                time.sleep(delay)
                break
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status != 0:
                print(name, "ended with", status, flush=True)
        """)
    assert (done.stdout, done.stderr) == ("", "")
