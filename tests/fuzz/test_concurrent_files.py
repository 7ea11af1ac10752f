"""Processes and threads that save and load one file at the same time: each load is one of the models, whole."""

from __future__ import annotations

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import semproj as sj
from semproj._common.checkpoint import Checkpoint
from tests.support import same_bits
from tests.support.saving import number_of, temporary_files, uniform_model

# One process whose children save, as Python takes longest to start.
SCRIPT = """
    import os, time
    import numpy as np
    import semproj as sj
    from tests.support.saving import number_of, uniform_model

    rng, path = np.random.default_rng({seed}), {path!r}
    numbers = rng.choice(1000, 9, replace=False).tolist()
    models = [uniform_model(number) for number in numbers]
    models[0].save(path)
    ends, stop = time.monotonic() + 1.0, path + ".stop"

    def save(mine):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                while not os.path.exists(stop):
                    for model in mine:
                        model.save(path)
                status = 0
            finally:
                os._exit(status)
        return child

    children, seen = [save(models[1:5]), save(models[5:])], set()
    try:
        while time.monotonic() < ends or len(seen) < 3:
            seen.add(number_of(sj.load(path, verify=bool(rng.integers(2)))))
    finally:
        open(stop, "w").close()
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    os.unlink(stop)
    assert seen <= set(numbers)
"""


def test_processes(fuzz, tmp_path, run_python):
    def check(rng: np.random.Generator) -> None:
        run_python(SCRIPT.format(seed=int(rng.integers(2**32)), path=str(tmp_path / "model")))
        assert [each.name for each in tmp_path.iterdir()] == ["model"]

    fuzz(check, cases=1)


def test_threads(fuzz, tmp_path):
    """Loads are whole, files of other threads have the mode that the mask gives them, and no file stays."""
    path = tmp_path / "model"

    def check(rng: np.random.Generator) -> None:
        models = [uniform_model(number) for number in rng.choice(1000, 4, replace=False).tolist()]
        models[0].save(path)
        ends = time.monotonic() + 0.3
        over = threading.Event()

        def save(model: sj.LSA) -> int:
            count = 0
            while time.monotonic() < ends:
                model.save(path)
                count += 1
            return count

        def load(verify: bool) -> int:
            count = 0
            while time.monotonic() < ends:
                number_of(sj.load(path, verify=verify))
                count += 1
            return count

        def make_files() -> set[int]:
            modes = set()
            while not over.is_set():
                other = tmp_path / "other"
                handle = os.open(other, os.O_CREAT | os.O_WRONLY, 0o666)
                modes.add(stat.S_IMODE(os.fstat(handle).st_mode))
                os.close(handle)
                other.unlink()
            return modes

        before = os.umask(0o077)
        try:
            with ThreadPoolExecutor(5) as pool:
                maker = pool.submit(make_files)
                work = [*(pool.submit(save, model) for model in models[1:3])]
                work += [pool.submit(load, verify) for verify in (True, False)]
                counts = [each.exception() or each.result() for each in work]
                over.set()
                assert maker.result() == {0o600}
            assert all(isinstance(count, int) for count in counts), counts
            assert os.umask(0o077) == 0o077
        finally:
            os.umask(before)
        assert temporary_files(tmp_path) == []

    fuzz(check, cases=3)


def test_checkpoints(fuzz, tmp_path):
    """Fits that share a checkpoint take up what any of them wrote last, of several lengths."""
    path = tmp_path / "state"

    def check(rng: np.random.Generator) -> None:
        arrays = {"words": np.full((3, int(rng.integers(1, 20))), 1.0)}
        ends = time.monotonic() + 0.3

        def make() -> Checkpoint:
            return Checkpoint(path, lambda: {"class": "Some"})

        def save(length: int) -> int:
            count = 0
            while time.monotonic() < ends:
                make().save(arrays, {"objective": [float(length)] * length})
                count += 1
            return count

        def load() -> int:
            count = 0
            while time.monotonic() < ends:
                if (found := make().load()) is not None:
                    assert same_bits(found[0]["words"], arrays["words"])
                    assert len(set(found[1]["objective"])) == 1
                    assert found[1]["objective"][0] == len(found[1]["objective"])
                count += 1
            return count

        path.unlink(missing_ok=True)
        with ThreadPoolExecutor(4) as pool:
            work = [pool.submit(save, int(length)) for length in rng.integers(1, 2000, 2)]
            work += [pool.submit(load) for _ in range(2)]
            assert [type(each.result()) for each in work] == [int] * 4
        assert [each.name for each in tmp_path.iterdir()] == ["state"]

    fuzz(check, cases=3)
