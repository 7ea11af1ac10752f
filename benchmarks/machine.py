"""What machine this is and what it can do at best: the denominators of `limits` in `benchmarks.ratios`."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("probe.cc")
CACHE = Path(__file__).resolve().parents[1] / ".cache"
FLAGS = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-pthread"]
PACKAGES = (
    "semproj",
    "numpy",
    "scipy",
    "scikit-learn",
    "gensim",
    "sparse_dot_mkl",
    "mkl",
    "torch",
    "faiss-cpu",
    "implicit",
)
LIMITS = {
    "copy_bandwidth": "bytes/s read + written by memcpy between arrays far larger than the caches",
    "cache_bandwidth": "bytes/s of sequential full-width loads from half of each core's L2",
    "fma_peak": "float32 flop/s, two for each fused multiply-add, at the widest vectors the compiler targets",
}
MEBI = 1 << 20


def usable_cores() -> int:
    """Cores this process may run on, which in a container can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> list[int]:
    """One thread, two, and all cores: enough to show the scaling."""
    cores = usable_cores()
    return sorted({1, min(2, cores), cores})


def cache_bytes(level: int, otherwise: int) -> int:
    """Size of the data cache of a level as the kernel tells it, or `otherwise`."""
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind, depth, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and int(depth) == level:
            unit = {"K": 1 << 10, "M": MEBI, "G": 1 << 30}.get(size[-1], 1)
            return int(size.rstrip("KMG")) * unit
    return otherwise


def _compiler() -> list[str]:
    command = shlex.split(os.environ.get("CXX", "c++"))
    if not command or shutil.which(command[0]) is None:
        raise RuntimeError(f"no C++ compiler: {' '.join(command) or 'CXX is empty'!r} was not found")
    return command


def _build(cache: Path) -> ctypes.CDLL:
    command = [*_compiler(), *FLAGS]
    # A library compiled for another CPU or by other flags must not be loaded from the cache.
    key = hashlib.sha256(SOURCE.read_bytes() + " ".join([*command, cpu_model()]).encode()).hexdigest()[:16]
    library = cache / f"probe-{key}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            fresh = Path(folder) / "probe.so"
            done = subprocess.run([*command, str(SOURCE), "-o", str(fresh)], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"the probe did not compile: {done.stderr.strip().splitlines()[-1:]}")
            fresh.replace(library)  # atomic: another process may be building the same
    probe = ctypes.CDLL(str(library))
    for name in ("probe_copy", "probe_cache", "probe_fma"):
        getattr(probe, name).restype = ctypes.c_double
    return probe


def measure_limits(threads: Sequence[int], size: str = "full", cache: Path = CACHE) -> dict[str, Any]:
    """Measure the limits with each number of threads; without a compiler, only the reason why there are none.

    Returns
    -------
    dict
        `by_threads`: {threads: {limit: value}} (empty if it could not be measured), with the sizes used, or
        a `note` that says what was missing.
    """
    try:
        probe = _build(cache)
    except (RuntimeError, OSError) as error:
        return {"by_threads": {}, "note": f"limits omitted: {error}"}
    # Two arrays of twice the last cache; a quick run has no time for that.
    last_cache = cache_bytes(3, 32 * MEBI)
    large = min(max(512 * MEBI, 2 * last_cache), 2048 * MEBI)
    total, rounds = {"full": (large, 20), "quick": (128 * MEBI, 6), "tiny": (16 * MEBI, 2)}[size]
    buffer = cache_bytes(2, MEBI) // 2
    measured: dict[int, dict[str, float]] = {}
    for n in threads:
        share = total // n // 4096 * 4096
        values = {
            "copy_bandwidth": probe.probe_copy(ctypes.c_size_t(share), n, max(2, rounds // 2)),
            "cache_bandwidth": probe.probe_cache(ctypes.c_size_t(buffer), n, rounds),
            "fma_peak": probe.probe_fma(n, rounds, ctypes.c_float(0.9), ctypes.c_float(0.5)),
        }
        measured[n] = {name: value for name, value in values.items() if value > 0}
    return {
        "by_threads": measured,
        "copied_bytes": total,
        "cache_buffer_bytes": buffer,
        "vector_bytes": int(probe.probe_vector_bytes()),
        "meaning": LIMITS,
    }


def cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str | None]:
    """Versions of what is compared; None for a package that is not installed."""
    found: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def library_config() -> Any:
    """What `semproj.show_config` says, without what it may print."""
    import semproj

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        config = semproj.show_config()
    return config if config is not None else printed.getvalue()


def describe(limits: dict[str, Any]) -> dict[str, Any]:
    """Everything a reader needs to judge the timings, and nothing that names the host."""
    return {
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": usable_cores(),
        "l2_bytes": cache_bytes(2, 0),
        "last_cache_bytes": cache_bytes(3, 0),
        "python": platform.python_version(),
        "versions": versions(),
        "semproj": library_config(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "limits": limits,
    }
