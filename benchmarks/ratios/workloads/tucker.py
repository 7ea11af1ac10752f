"""Tucker decomposition of sparse tensors: one sweep, a given fit, and the size of a thesaurus."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import (
    OURS,
    ClockedResult,
    Contestant,
    Cost,
    Options,
    SweepClock,
    Workload,
    counts_if_as_good,
    register,
)

SWEEPS = 5  # of which the first is not timed: ours solves it exactly
FIT_SWEEPS = 8  # whose fit is to be reached
EQUAL = 1e-3  # fits that differ by less than this, relatively, are called equal


class SweepTime(ClockedResult):
    """Seconds of one sweep, and the fit after all of them."""

    fit: float


class FitClock(SweepClock):
    """A callback that marks each sweep."""

    def __init__(self) -> None:
        super().__init__()
        self.fit = 0.0

    def __call__(self, sweep: int, fit: float) -> None:
        self.mark()
        self.fit = float(fit)

    def tell(self, progress: Any) -> None:
        self(progress.sweep, progress.objective)

    def sweep_time(self) -> SweepTime:
        result = self.per_sweep(SweepTime)
        result.fit = self.fit
        return result


def dense_work(n: int, m: int, rank: int) -> float:
    """Multiply-adds of one sweep that nobody can do without: the core, once."""
    return float(n) * m * rank**2


@register("tucker")
def tucker(options: Options) -> Iterator[Workload]:
    n, nnz, rank = options.pick((50_000, 2_000_000, 300), (10_000, 400_000, 150), (60, 900, 5))
    for dtype in (np.float32, np.float64):
        yield one_sweep(options, n, nnz, rank, dtype)
    yield same_fit(options, n, nnz, rank)
    yield against_pyttb(options, *options.pick((5_000, 200_000, 100), (1_500, 60_000, 40), (60, 900, 5)))
    size = options.pick((118_000, 149_000, 4_000_000, 500), (20_000, 25_000, 600_000, 100), (60, 70, 900, 5))
    yield thesaurus_size(options, *size)


def one_sweep(options: Options, n: int, nnz: int, rank: int, dtype: Any) -> Workload:
    import semproj as sj

    slices = data.random_slices(n, n, 4, nnz, dtype)
    tensor, start = sj.SparseTensor.from_slices(slices), start_of(slices, rank)

    def ours(threads: int) -> SweepTime:
        clock = FitClock()
        sj.Tucker(
            (rank, rank, 4),
            init=[None, start, None],
            tol=0,
            max_iter=SWEEPS,
            n_threads=threads,
            callback=clock.tell,
        ).fit(tensor)
        return clock.sweep_time()

    def plain() -> SweepTime:
        clock = FitClock()
        peers.plain_hooi(slices, start, SWEEPS, clock)
        return clock.sweep_time()

    contestants = [Contestant(OURS, t, lambda t=t: ours(t), own_clock=True) for t in options.threads]
    contestants += [Contestant("plain", t, plain, own_clock=True) for t in options.threads]
    suffix = "" if dtype == np.float32 else "_f64"
    return Workload(
        name=f"tucker_sweep_r{rank}{suffix}",
        words=tensor.nnz,
        contestants=contestants,
        check=lambda contestant, result: {"fit": result.fit},
        cost=Cost(fma_peak=dense_work(n, 4, rank), meaning="fma: the core of the last factors (n m R^2), once"),
        rounds=options.pick(3, 2, 1),
        most_seconds=options.pick(20.0, 5.0, 5.0),
        least_seconds=0.0,
        finish=counts_if_as_good("fit", EQUAL),
        notes=[
            f"{n} x {n} x 4, {tensor.nnz} random entries, rank ({rank}, {rank}, 4), {np.dtype(dtype).name}; "
            f"seconds of a sweep, the mean of sweeps 2 to {SWEEPS} from the same start; the fit is after the last",
            "plain: scipy's sparse product for all slices at once, the Gram matrix by numpy (BLAS syrk), its "
            "leading eigenvectors by LAPACK (syevr), and their product, with the row's threads for BLAS",
        ],
    )


def same_fit(options: Options, n: int, nnz: int, rank: int) -> Workload:
    import semproj as sj

    slices = data.random_slices(n, n, 4, nnz, np.float32)
    tensor, start = sj.SparseTensor.from_slices(slices), start_of(slices, rank)
    clock = FitClock()
    peers.plain_hooi(slices, start, FIT_SWEEPS, clock)
    target = clock.fit

    def ours(threads: int) -> float:
        model = sj.Tucker(
            (rank, rank, 4),
            init=[None, start, None],
            tol=0,
            max_iter=5 * FIT_SWEEPS,
            n_threads=threads,
            callback=lambda progress: progress.objective >= target,
        ).fit(slices)
        return model.fit_

    def plain() -> float:
        again = FitClock()
        peers.plain_hooi(slices, start, FIT_SWEEPS, again)
        return again.fit

    contestants = [Contestant(OURS, t, lambda t=t: ours(t)) for t in options.threads]
    contestants += [Contestant("plain", t, plain) for t in options.threads]
    return Workload(
        name=f"tucker_fit_r{rank}",
        words=tensor.nnz,
        contestants=contestants,
        check=lambda contestant, result: {"fit": result},
        cost=Cost(
            fma_peak=FIT_SWEEPS * dense_work(n, 4, rank),
            meaning=f"fma: the core (n m R^2) for each of {FIT_SWEEPS} sweeps",
        ),
        rounds=options.pick(3, 2, 1),
        most_seconds=options.pick(20.0, 5.0, 5.0),
        least_seconds=0.0,
        finish=counts_if_as_good("fit", EQUAL),
        notes=[f"until the fit of {FIT_SWEEPS} sweeps of plain, from the same start, with all that it takes"],
    )


def against_pyttb(options: Options, n: int, nnz: int, rank: int) -> Workload:
    import semproj as sj

    slices = data.random_slices(n, n, 4, nnz, np.float64)
    tensor, start = sj.SparseTensor.from_slices(slices), start_of(slices, rank)

    def ours(threads: int) -> float:
        model = sj.Tucker((rank, rank, 4), init=[None, start, None], tol=0, max_iter=3, n_threads=threads)
        return model.fit(tensor).fit_

    contestants = [Contestant(OURS, t, lambda t=t: ours(t)) for t in options.threads]
    if peers.available("pyttb") is not None:
        for t in options.threads:
            contestants.append(Contestant("pyttb", t, lambda: peers.pyttb_tucker(tensor, start, 2)))
    return Workload(
        name=f"tucker_als_r{rank}",
        words=tensor.nnz,
        contestants=contestants,
        check=lambda contestant, result: {"fit": result},
        rounds=options.pick(3, 2, 1),
        most_seconds=options.pick(60.0, 5.0, 5.0),
        finish=counts_if_as_good("fit", EQUAL),
        notes=[
            f"{n} x {n} x 4, {tensor.nnz} random entries, rank ({rank}, {rank}, 4), float64, from the same start: "
            "pyttb's tucker_als for 2 sweeps, ours for 3",
            f"tensorly: {peers.tensorly_sparse_tucker()}",
        ],
    )


CHILD = """
import json, resource, sys, time
import numpy as np
from benchmarks import data
import semproj as sj
n, p, nnz, rank, threads = map(int, sys.argv[1:])
tensor = sj.SparseTensor.from_slices(data.random_slices(n, p, 4, nnz, np.float32))
start, cpu_start = time.perf_counter(), time.process_time()
model = sj.Tucker((rank, rank, 4), tol=5e-4, random_state=0, n_threads=threads).fit(tensor)
took, cpu = time.perf_counter() - start, time.process_time() - cpu_start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([took, cpu, model.fit_, model.n_iter_, peak]))
"""


class WholeFit(ClockedResult):
    """Seconds of a fit in a process of its own."""

    fit: float
    sweeps: int
    peak: int


def thesaurus_size(options: Options, n: int, p: int, nnz: int, rank: int) -> Workload:
    """The largest tensor of Chang, Yih and Meek 2013, which took them three hours and up to 4 GB."""

    done: dict[int, WholeFit] = {}

    def ours(threads: int) -> WholeFit:
        if threads in done:  # minutes, in a process of its own: its first run needs no warm-up
            return done[threads]
        child = [sys.executable, "-c", CHILD, *map(str, (n, p, nnz, rank, threads))]
        took, cpu, fit, sweeps, peak = json.loads(
            subprocess.run(child, check=True, capture_output=True, text=True).stdout
        )
        result = WholeFit(took, cpu)
        result.fit, result.sweeps, result.peak = fit, sweeps, peak
        done[threads] = result
        return result

    def check(contestant: Contestant, result: WholeFit) -> dict[str, Any]:
        return {"fit": result.fit, "sweeps": result.sweeps, "peak_bytes": result.peak}

    return Workload(
        name=f"tucker_thesaurus_r{rank}",
        words=nnz,
        contestants=[Contestant(OURS, t, lambda t=t: ours(t), own_clock=True) for t in options.threads],
        check=check,
        rounds=1,
        least_seconds=0.0,
        most_seconds=0.0,
        notes=[
            f"{n} x {p} x 4, {nnz} random entries, rank ({rank}, {rank}, 4), float32, from HOSVD to tol=5e-4; "
            "peak_bytes is of the whole process, the data included",
        ],
    )


def start_of(slices: list[Any], rank: int) -> np.ndarray:
    """Where all contestants begin: the leading right vectors of the slices on top of each other."""
    import scipy.sparse as sp

    import semproj as sj

    return np.ascontiguousarray(sj.LSA(rank, random_state=0).fit(sp.vstack(slices).tocsr()).components_.T)
