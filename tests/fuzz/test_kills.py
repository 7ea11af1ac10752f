"""Fits with a checkpoint that are killed at any moment, and go on: the same bits in the end, and no litter."""

from __future__ import annotations

import numpy as np

from tests.support.saving import temporary_files

# One process for many kills, as Python takes longest to start. Fits are its children.
SCRIPT = """
    import os, signal, time
    from pathlib import Path
    import numpy as np
    from tests.contract.cases import ITERATIVE
    from tests.support.fitted import assert_same_fit
    from tests.support.saving import temporary_files

    rng, folder = np.random.default_rng({seed}), Path({folder!r})
    state = folder / "state"

    def begin(case):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                case.make(checkpoint=state, n_threads=1).fit(*case.data(0))
                status = 0
            finally:
                os._exit(status)
        return child

    def kill_and_go_on(case):
        started = time.monotonic()
        assert os.waitpid(begin(case), 0)[1] == 0
        usual = time.monotonic() - started
        state.unlink()
        kills = 0
        while True:
            child = begin(case)
            time.sleep(rng.uniform(0, usual * (1 + kills / 10)))
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended == 0:
                os.kill(child, signal.SIGKILL)
                status = os.waitpid(child, 0)[1]
            assert len(temporary_files(folder)) <= 1, temporary_files(folder)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                kills += 1
                continue
            assert status == 0, status
            return kills

    kills = 0
    for number in rng.choice(len(ITERATIVE), 2, replace=False):
        kills += kill_and_go_on(ITERATIVE[number])
        assert_same_fit(ITERATIVE[number].fit(checkpoint=state), ITERATIVE[number].fit())
        state.unlink()
    print(kills)
"""


def test_killed_fits_go_on(fuzz, tmp_path, run_python):
    kills = []

    def check(rng: np.random.Generator) -> None:
        folder = tmp_path / str(len(kills))
        folder.mkdir()
        done = run_python(SCRIPT.format(seed=int(rng.integers(2**32)), folder=str(folder)))
        kills.append(int(done.stdout))
        assert temporary_files(folder) == []

    fuzz(check, cases=1)
    assert sum(kills) > 0
