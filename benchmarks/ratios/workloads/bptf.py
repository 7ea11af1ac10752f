"""Gibbs sweeps of BPTF over one symmetric slice beside SMURFF's BPMF, and how they grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import OURS, ClockedResult, Contestant, Cost, Options, SweepClock, Workload, register

SWEEPS = 16  # of which the first is not timed; enough to find what is planted
ERRORS = (0.7, 1.3)  # of the cells in the end, over the noise; D parameters a word fit some of it
ZEROS = 2.0  # for each observed cell, where some are drawn anew in each sweep
ERRORS_WITH_ZEROS = (1.0, 1.9)  # zeros pull cells towards them; without anything found it is 2.2


class Sweep(ClockedResult):
    """Seconds of one sweep, and the root mean square error of the cells after all of them."""

    error: float


def our_sweeps(cells: Any, d: int, threads: int, zeros: float = 0.0) -> Sweep:
    """As a fit does them."""
    import semproj as sj

    clock = SweepClock()
    model = sj.BPTF(
        d,
        burn_in=SWEEPS - 1,
        n_samples=1,
        zeros=zeros,
        callback=lambda progress: clock.mark(),
        random_state=0,
        n_threads=threads,
    )
    predicted = model.fit([cells]).predict(cells.row, cells.col)
    result = clock.per_sweep(Sweep)
    result.error = float(np.sqrt(np.mean((cells.data - predicted) ** 2)))
    return result


def smurff_sweeps(relations: data.Relations, d: int, threads: int) -> Sweep:
    clock = SweepClock()
    precision = relations.noise**-2
    error = peers.smurff_bpmf(relations.cells.tocsr(), d, precision, threads, SWEEPS, clock.mark)
    result = clock.per_sweep(Sweep)
    result.error = error
    return result


def flops(n_cells: int, n_words: int, d: int) -> float:
    """Of a sweep: half of V V' for each cell, twice for words and once for the slice, and a system a word."""
    return 2.0 * (1.5 * n_cells * d**2 + n_words * d**3 / 6)


def sweep(
    options: Options,
    name: str,
    relations: data.Relations,
    d: int,
    *,
    with_peers: bool = False,
    zeros: float = 0.0,
) -> Workload:
    cells = relations.cells
    n_cells = round((1 + zeros) * cells.nnz)
    contestants = [
        Contestant(OURS, n, lambda n=n: our_sweeps(cells, d, n, zeros), own_clock=True) for n in options.threads
    ]
    anew = (
        f"with {zeros:g} missing cells for each drawn as zeros, and lists and classes of words made anew, in each"
        if zeros
        else "all over the same cells: lists and classes of words are made once, in the first, which is not timed"
    )
    notes = [
        f"{relations.source}, noise {relations.noise:g}; D={d}, float32; seconds of a sweep, the mean of sweeps 2 "
        f"to {SWEEPS}, {anew}"
    ]
    if with_peers and peers.available("smurff") is not None:
        contestants += [
            Contestant("smurff", n, lambda n=n: smurff_sweeps(relations, d, n), own_clock=True)
            for n in options.threads
        ]
        notes.append(
            "smurff: BPMF in double. It has no symmetric model and gets each cell once, above the diagonal, which "
            "is in two systems then, as for us; both orders would be twice the work. Rows and columns have other "
            "vectors. It is given the precision of the noise, which ours draws; nothing is saved or predicted"
        )

    def check(contestant: Contestant, result: Sweep) -> dict[str, Any]:
        low, high = (bar * relations.noise for bar in (ERRORS_WITH_ZEROS if zeros else ERRORS))
        if not low <= result.error <= high:
            found = f"{contestant.name}: error {result.error:.3f} after {SWEEPS} sweeps"
            raise AssertionError(f"{found}, expected {low:.3f} to {high:.3f}")
        return {"error": result.error}

    def finish(row: dict[str, Any]) -> None:
        row["nanoseconds_per_cell"] = 1e9 * row["ours_seconds"] / n_cells

    return Workload(
        name=name,
        words=n_cells,
        contestants=contestants,
        check=check,
        cost=Cost(
            cache_bandwidth=6.0 * n_cells * d * 4,
            fma_peak=flops(n_cells, cells.shape[0], d),
            meaning="fma: half of a D x D matrix for each cell, thrice, and D^3 / 6 a word; cache: two vectors of "
            "each cell, thrice",
        ),
        rounds=options.pick(3, 2, 1),
        most_seconds=options.pick(20.0, 5.0, 5.0),
        least_seconds=0.0,
        finish=finish,
        notes=notes,
    )


@register("bptf")
def bptf(options: Options) -> Iterator[Workload]:
    n_words, n_cells, d = options.pick((20_000, 1_200_000, 40), (4_000, 200_000, 40), (80, 1_000, 6))
    rank = options.pick(10, 10, 2)
    relations = data.symmetric_relations(n_words, n_cells, rank)
    yield sweep(options, "bptf_sweep", relations, d, with_peers=True)
    observed = data.symmetric_relations(n_words, round(n_cells / (1 + ZEROS)), rank)
    yield sweep(options, "bptf_redrawn", observed, d, zeros=ZEROS)
    del observed
    for other in options.pick((20, 40, 80), (20,), (3, 9)):
        yield sweep(options, f"bptf_d{other}", relations, other)
    del relations
    # As many cells a word: words grow with them.
    for n in options.pick((100_000, 1_000_000, 4_000_000), (10_000, 100_000), (500, 2_000)):
        grown = data.symmetric_relations(n // options.pick(60, 50, 12), n, rank)
        yield sweep(options, f"bptf_cells{n}", grown, d)
