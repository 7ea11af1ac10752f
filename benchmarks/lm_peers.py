"""KenLM as a peer: its lmplz, which no package index has, is found on the PATH or where SEMPROJ_LMPLZ says."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.ratios import ClockedResult

LMPLZ = "SEMPROJ_LMPLZ"


class Estimated(ClockedResult):
    """How long lmplz took, and the file that it wrote."""

    path: Path


def lmplz() -> str | None:
    """The program, or None. It is an error if the environment names one that is not there."""
    named = os.environ.get(LMPLZ)
    found = shutil.which(named or "lmplz")
    if named and found is None:
        raise FileNotFoundError(f"{LMPLZ}: expected a program, got {named}")
    return found


def _on_cores(n: int) -> Callable[[], None]:
    cores = sorted(os.sched_getaffinity(0))[:n]
    return lambda: os.sched_setaffinity(0, cores)


def estimate(program: str, text: Path, order: int, arpa: Path, n: int, memory: str) -> Estimated:
    """A model of a file, on `n` cores: lmplz has threads of its own, whose number cannot be told."""
    command = [program, "-o", str(order), "-S", memory, "-T", f"{arpa.parent}/", "--text", str(text)]
    command += ["--arpa", str(arpa), "--discount_fallback"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, preexec_fn=_on_cores(n), capture_output=True, text=True, check=False)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr[-1000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result = Estimated(took, cpu)
    result.path = arpa
    return result
