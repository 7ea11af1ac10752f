"""How a comparison is timed. Nothing here knows what is compared.

Every contestant first runs once untimed: that is its warm-up, and its result must pass the workload's check.
Then, round after round, all of them are timed, the order moving on by one each round, with a pause before
each so that the last one's threads have gone to sleep. A contestant without threads of its own is timed once
a round and stands in the rows of all thread counts; a peer that is slower with more threads stands there with
its best number. The time of each is the median of its rounds.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

OURS = "ours"
Key = tuple[str, "int | None"]


@dataclass(frozen=True)
class Options:
    """What the command line asks for; `size` is "full", "quick" or "tiny" (for the tests)."""

    threads: tuple[int, ...]
    size: str = "full"
    rounds: int | None = None
    data: Path | None = None
    pause: float = 0.25

    def pick(self, full: Any, quick: Any, tiny: Any) -> Any:
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]


class ClockedResult(float):
    """The seconds that something took elsewhere."""

    cpu_seconds: float

    def __new__(cls, seconds: float, cpu_seconds: float) -> ClockedResult:
        result = super().__new__(cls, seconds)
        result.cpu_seconds = cpu_seconds
        return result


Clocked = TypeVar("Clocked", bound=ClockedResult)


class SweepClock:
    """When the sweeps of a run ended, and so what one of them takes: the first, with the start, does not count."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []

    def mark(self) -> None:
        self.marks.append((time.perf_counter(), time.process_time()))

    def per_sweep(self, kind: type[Clocked]) -> Clocked:
        (start, cpu_start), *_, (end, cpu_end) = self.marks
        n = len(self.marks) - 1
        return kind((end - start) / n, (cpu_end - cpu_start) / n)


@dataclass(frozen=True)
class Contestant:
    """`name` is `OURS` or the peer's key; `threads` is None for code that has no threads of its own.

    With `own_clock` the runner returns a `ClockedResult`, for work that is timed in another process.
    """

    name: str
    threads: int | None
    run: Callable[[], Any]
    own_clock: bool = False


@dataclass(frozen=True)
class Cost:
    """What a workload must do at least, to be set against the limits of the machine; 0: not said."""

    copy_bandwidth: float = 0.0
    cache_bandwidth: float = 0.0
    fma_peak: float = 0.0
    meaning: str = ""


@dataclass
class Workload:
    """One comparison.

    `check(contestant, result)` raises when a result is wrong, and returns what is worth reporting as
    {key: value}; it ends in the row as {key: {contestant: value}}. `finish(row)` may add to a row.
    """

    name: str
    words: int
    contestants: list[Contestant]
    check: Callable[[Contestant, Any], dict[str, Any]]
    cost: Cost = field(default_factory=Cost)
    rounds: int = 9
    notes: list[str] = field(default_factory=list)
    finish: Callable[[dict[str, Any]], None] = lambda row: None
    least_seconds: float = 0.1
    most_seconds: float = 120.0


def counts_if_as_good(what: str, slack: float) -> Callable[[dict[str, Any]], None]:
    """A `finish`: a peer's ratio counts where our `what`, which the check found, is at least the peer's.

    `slack` is how far ours may be below, relatively, and still be called equal.
    """

    def finish(row: dict[str, Any]) -> None:
        found = row[what]
        row["counts"] = {peer: found[OURS] >= found[peer] * (1 - slack) for peer in row["peers"]}

    return finish


@dataclass(frozen=True)
class Timing:
    """Seconds per call by the clock, and by the CPU over all threads, which tells a busy machine."""

    seconds: float
    cpu_seconds: float


def _call(contestant: Contestant, controller: ThreadpoolController, number: int) -> tuple[Timing, Any]:
    """The time per call, and the last result. Freeing the last result is not timed."""
    result = None
    with controller.limit(limits=contestant.threads or 1):
        start, cpu_start = time.perf_counter(), time.process_time()
        for _ in range(number):
            result = contestant.run()
        took, cpu_took = time.perf_counter() - start, time.process_time() - cpu_start
    if contestant.own_clock:
        return Timing(float(result), result.cpu_seconds), result
    return Timing(took / number, cpu_took / number), result


Times = dict[Key, list[Timing]]


def _warm_up(workload: Workload, options: Options) -> tuple[dict[Key, float], dict[Key, dict[str, Any]]]:
    seconds: dict[Key, float] = {}
    found: dict[Key, dict[str, Any]] = {}
    for contestant in workload.contestants:
        key = (contestant.name, contestant.threads)
        if key in found:
            raise ValueError(f"contestants: {key} occurs twice in {workload.name}")
        # Made anew each time, because a peer may load its libraries in its first call.
        timing, result = _call(contestant, ThreadpoolController(), 1)
        seconds[key] = timing.seconds
        found[key] = workload.check(contestant, result)
        del result
        time.sleep(options.pause)
    return seconds, found


def measure(workload: Workload, options: Options) -> tuple[Times, dict[Key, dict[str, Any]]]:
    """Time of every round of each contestant, and what its check found."""
    first, found = _warm_up(workload, options)
    controller = ThreadpoolController()
    times: Times = {key: [] for key in first}
    rounds = options.rounds or workload.rounds
    for turn in range(rounds):
        at = turn % len(workload.contestants)
        for contestant in workload.contestants[at:] + workload.contestants[:at]:
            key = (contestant.name, contestant.threads)
            # A peer that needs minutes has said enough after one round; the row tells how many each had.
            if times[key] and sum(t.seconds for t in times[key]) + first[key] > workload.most_seconds:
                continue
            # A call of a few milliseconds is repeated, as a production loop would.
            least = options.pick(workload.least_seconds, workload.least_seconds, 0.0)
            number = min(100, max(1, round(least / max(first[key], 1e-6))))
            gc.collect()
            time.sleep(options.pause)
            took, result = _call(contestant, controller, number)
            del result
            times[key].append(took)
    return times, found


def _median(timings: list[Timing]) -> float:
    return median(timing.seconds for timing in timings)


def _noise(timings: list[Timing]) -> float | None:
    """The standard error of the median, over it, if rounds were normal; None for one round."""
    if len(timings) < 2:
        return None
    middle = _median(timings)
    deviation = 1.48 * median(abs(timing.seconds - middle) for timing in timings)
    return 1.25 * deviation / len(timings) ** 0.5 / middle


def _best(times: Times, threads: int) -> list[Key]:
    """Ours with exactly these threads, each peer with the best number up to these."""
    best: dict[str, Key] = {}
    for key in times:
        name, used = key
        allowed = used in (threads, None) if name == OURS else (used or 1) <= threads
        if allowed and (name not in best or _median(times[key]) < _median(times[best[name]])):
            best[name] = key
    return list(best.values())


def _row(
    workload: Workload,
    threads: int,
    times: Times,
    found: dict[Key, dict[str, Any]],
    limits: dict[str, float],
) -> dict[str, Any]:
    mine = _best(times, threads)
    seconds = {key[0]: _median(times[key]) for key in mine}
    ours = seconds[OURS]
    row: dict[str, Any] = {
        "workload": workload.name,
        "threads": threads,
        "ours_seconds": ours,
        "words_per_second": workload.words / ours,
        "peers": {name: value / ours for name, value in seconds.items() if name != OURS},
        "limits": {
            name: getattr(workload.cost, name) / ours / limit
            for name, limit in limits.items()
            if getattr(workload.cost, name) > 0
        },
        "seconds": seconds,
        "fastest_seconds": {key[0]: min(t.seconds for t in times[key]) for key in mine},
        "cpu_seconds": {key[0]: median(t.cpu_seconds for t in times[key]) for key in mine},
        "rounds": {key[0]: len(times[key]) for key in mine},
        "noise": {key[0]: _noise(times[key]) for key in mine},
        "used_threads": {key[0]: key[1] or 1 for key in mine},
        "cost": workload.cost.meaning,
        "notes": workload.notes,
    }
    for key in mine:
        for name, value in found[key].items():
            row.setdefault(name, {})[key[0]] = value
    workload.finish(row)
    return row


def run(
    workloads: Iterable[Workload], options: Options, limits: dict[int, dict[str, float]]
) -> list[dict[str, Any]]:
    """A row for each workload and number of threads; `limits` is {threads: {limit: value}}."""
    rows: list[dict[str, Any]] = []
    for workload in workloads:
        times, found = measure(workload, options)
        # Work without threads of our own has one row, told as one thread.
        counts = sorted({key[1] for key in times if key[0] == OURS and key[1] is not None}) or [1]
        new = [_row(workload, n, times, found, limits.get(n, {})) for n in counts]
        for row in new:
            row["scaling"] = new[0]["ours_seconds"] / row["ours_seconds"]
        rows += new
        # A full run takes minutes: say how far it is.
        best = new[-1]
        print(f"{best['workload']}: {best['ours_seconds']:.4f} s", file=sys.stderr, flush=True)
    return rows
