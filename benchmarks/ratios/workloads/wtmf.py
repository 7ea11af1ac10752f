"""Fitting WTMF: exact half-sweeps beside implicit's, how they grow, and a fit of the paper's size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

MISSING_WEIGHT, REG = 0.01, 20.0
UNIT_REG = 2.5  # for cells of 1 what REG is for cells of 8, a usual tf-idf weight
SWEEPS_BEFORE = 5  # a sweep in the midst of a fit is timed
CG_STEPS = 3  # implicit's default
SAMPLE = 100  # rows that are solved again in float64
# Largest error of an element over the largest element of its row.
OURS_ERROR = 1e-5
PEER_ERROR = 1e-3  # of a Cholesky all in float32: enough to see that it solves the same systems

Solver = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (factors, out) -> out
Sides = dict[str, np.ndarray]  # "words", "sentences": vectors as rows


@dataclass(frozen=True)
class SweepProblem:
    """Rows of both sides, and the vectors that a sweep starts from."""

    rows: dict[str, csr_matrix]
    vectors: Sides
    reg: float

    def factors(self, solved: Sides, side: str) -> np.ndarray:
        """What a side is solved from: the words come first in a sweep."""
        if side == "words":
            return self.vectors["sentences"]
        return solved.get("words", self.vectors["words"])

    def sweep(self, solvers: dict[str, Solver], out: Sides) -> Sides:
        """Solve the sides that there are solvers for."""
        solved: Sides = {}
        for side, solve in solvers.items():
            solved[side] = solve(self.factors(solved, side), out[side])
        return solved

    def after(self, *sides: str) -> SweepProblem:
        """The same with these sides solved."""
        solvers = {side: our_solver(self.rows[side], self.reg, None) for side in sides}
        fresh = {side: np.empty_like(self.vectors[side]) for side in sides}
        return replace(self, vectors=self.vectors | self.sweep(solvers, fresh))


def our_solver(rows: csr_matrix, reg: float, n_threads: int | None) -> Solver:
    from semproj.kernels import weighted_row_solve

    def solve(factors: np.ndarray, out: np.ndarray) -> np.ndarray:
        return weighted_row_solve(
            rows, factors, missing_weight=MISSING_WEIGHT, reg=reg, out=out, n_threads=n_threads
        )

    return solve


def ones(counts: csr_matrix) -> csr_matrix:
    """implicit has no other value for an observed cell."""
    return csr_matrix((np.ones(counts.nnz, np.float32), counts.indices, counts.indptr), shape=counts.shape)


def sweep_problem(X: csr_matrix, k: int, reg: float, sweeps: int = SWEEPS_BEFORE) -> SweepProblem:
    """What a sweep starts from after random words and some sweeps."""
    rows = {"words": X.T.tocsr(), "sentences": X}
    random = {side: data.dense(rows[side].shape[0], k) for side in rows}
    found = SweepProblem(rows, random, reg).after("sentences")
    for _ in range(sweeps):
        found = found.after("words", "sentences")
    return found


def dense_solutions(rows: csr_matrix, factors: np.ndarray, reg: float, picked: np.ndarray) -> np.ndarray:
    """Some of the rows by the definition, in float64."""
    wide = factors.astype(np.float64)
    shared = MISSING_WEIGHT * wide.T @ wide + reg * np.eye(wide.shape[1])
    found = np.empty((len(picked), wide.shape[1]))
    for place, row in enumerate(picked):
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        own = wide[rows.indices[span]]
        found[place] = np.linalg.solve(shared + (1 - MISSING_WEIGHT) * own.T @ own, own.T @ rows.data[span])
    return found


def checker(problem: SweepProblem) -> Callable[[Contestant, Sides], dict[str, Any]]:
    """Rows of all lengths against float64, and all rows against implicit's Cholesky where that came first.

    The `error` is each half-sweep's own, given what it started from. The relative `difference` of a whole sweep's
    sentences (Frobenius norm) has also what the error of its words does to them.
    """
    picked = {}
    for side, rows in problem.rows.items():
        by_length = np.argsort(np.diff(rows.indptr), kind="stable")
        picked[side] = by_length[np.linspace(0, len(by_length) - 1, min(SAMPLE, len(by_length))).astype(int)]
    exact: Sides = {}

    def check(contestant: Contestant, solved: Sides) -> dict[str, Any]:
        found = {"error": 0.0}
        for side, vectors in solved.items():
            truth = dense_solutions(problem.rows[side], problem.factors(solved, side), problem.reg, picked[side])
            largest = np.maximum(np.abs(truth).max(axis=1), np.finfo(float).tiny)
            error = np.abs(vectors[picked[side]] - truth).max(axis=1) / largest
            found["error"] = max(found["error"], float(error.max()))
            if contestant.name == "implicit":
                exact.setdefault(side, vectors.copy())
            if side in exact:
                apart = np.linalg.norm(vectors - exact[side]) / np.linalg.norm(exact[side])
                found["difference"] = max(found.get("difference", 0.0), float(apart))
        if contestant.name != "implicit_cg":  # which is only reported
            bars = {"error": OURS_ERROR if contestant.name == OURS else PEER_ERROR, "difference": PEER_ERROR}
            for what, value in found.items():
                if not value <= bars[what]:
                    raise AssertionError(f"{contestant.name}: {what} {value:.1e}, expected at most {bars[what]:g}")
        return found

    return check


def flops(rows: csr_matrix, k: int) -> float:
    """Of half a sweep, each row the cheaper way: Woodbury's n x n system, or the k x k system itself.

    In multiply-adds, the first forms its matrix from whitened vectors (n^2 k / 2), factors it (n^3 / 6), adds up
    the vectors with the solution (n k) and takes that back (k^2 / 2); the second forms (n k^2 / 2 + n k), factors
    (k^3 / 6) and solves (k^2). Once for all rows, the Gram matrix of the factors and their whitening: k^2 / 2 each
    for every factor.
    """
    n = np.diff(rows.indptr).astype(np.float64)
    n = n[n > 0]
    short = n**2 * k / 2 + n**3 / 6 + n * k + k**2 / 2
    long = n * k**2 / 2 + n * k + k**3 / 6 + k**2
    return 2.0 * float(np.minimum(short, long).sum() + rows.shape[1] * k**2)


def peer_contestants(problem: SweepProblem, sides: tuple[str, ...], threads: tuple[int, ...]) -> list[Contestant]:
    made = []
    for name, steps in (("implicit", 0), ("implicit_cg", CG_STEPS)):
        for n in threads:
            solvers = {
                side: peers.implicit_solver(problem.rows[side], MISSING_WEIGHT, problem.reg, n, steps)
                for side in sides
            }
            # Conjugate gradients go on from the last sweep's vectors; the exact solver does not read them.
            out = {side: problem.vectors[side].copy() for side in sides}
            made.append(Contestant(name, n, lambda s=solvers, o=out: problem.sweep(s, o)))
    return made


def sweep_workload(
    options: Options,
    name: str,
    problem: SweepProblem,
    sides: tuple[str, ...],
    source: str,
    with_peers: bool = False,
) -> Workload:
    """One sweep, or half of one."""
    k = problem.vectors["words"].shape[1]
    contestants = []
    notes = [f"{source}; K={k}, missing weight {MISSING_WEIGHT:g}, ridge {problem.reg:g}, float32"]
    if with_peers and peers.available("implicit") is not None:
        contestants += peer_contestants(problem, sides, options.threads)  # first, for the check
        notes.append(
            f"implicit: AlternatingLeastSquares' own compiled functions, by Cholesky and by {CG_STEPS} steps of "
            "conjugate gradients (implicit_cg), on the same systems; BLAS has one thread, as it advises"
        )
    for n in options.threads:
        solvers = {side: our_solver(problem.rows[side], problem.reg, n) for side in sides}
        out = {side: np.full_like(problem.vectors[side], np.nan) for side in sides}
        contestants.append(Contestant(OURS, n, lambda s=solvers, o=out: problem.sweep(s, o)))
    nnz = problem.rows["sentences"].nnz

    def finish(row: dict[str, Any]) -> None:
        row["nanoseconds_per_word"] = 1e9 * row["ours_seconds"] / nnz

    return Workload(
        name=name,
        words=nnz,
        contestants=contestants,
        check=checker(problem),
        cost=Cost(
            cache_bandwidth=4.0 * nnz * k * len(sides),
            fma_peak=sum(flops(problem.rows[side], k) for side in sides),
            meaning="fma: each row by the cheaper of its n x n and its K x K system, a Gram matrix and a "
            "whitening of all factors; cache: a factor for each non-zero",
        ),
        rounds=options.pick(5, 2, 2),
        most_seconds=options.pick(40.0, 5.0, 5.0),
        finish=finish,
        notes=notes,
    )


def first_nonzeros(counts: csr_matrix, nnz: int) -> csr_matrix:
    """The first rows, as many as have about these non-zeros, over the columns that occur in them."""
    rows = counts[: int(np.searchsorted(counts.indptr, nnz))]
    return rows[:, np.unique(rows.indices)].tocsr()


def fit_workload(options: Options) -> Workload:
    """The paper's 393,666 definitions and sentences, 20 sweeps; ours only."""
    import semproj as sj

    n, terms, k = options.pick((393_666, 80_000, 100), (10_000, 5_000, 50), (150, 80, 4))
    corpus = data.sentences(n, terms)
    X = sj.LogTfIdf().fit_transform(corpus.counts)

    def run(threads: int) -> Any:
        return sj.WTMF(k, missing_weight=MISSING_WEIGHT, reg=REG, random_state=0, n_threads=threads).fit(X)

    def check(contestant: Contestant, model: Any) -> dict[str, Any]:
        rise = float((np.diff(model.objective_) / model.objective_[:-1]).max())
        if rise > 1e-7:  # vectors are rounded to float32
            raise AssertionError(f"{contestant.name}: the objective rose by {rise:.1e} of itself")
        return {"sweeps": model.n_iter_, "objective": float(model.objective_[-1])}

    return Workload(
        name="wtmf_fit",
        words=X.nnz,
        contestants=[Contestant(OURS, threads, lambda t=threads: run(t)) for threads in options.threads],
        check=check,
        cost=Cost(
            fma_peak=20 * (flops(X, k) + flops(X.T.tocsr(), k)),
            meaning="fma: as of a sweep, 20 times",
        ),
        rounds=options.pick(1, 2, 2),
        notes=[
            f"{corpus.source}, {terms} words, {X.nnz} non-zeros, tf-idf; K={k}, missing weight "
            f"{MISSING_WEIGHT:g}, ridge {REG:g}, 20 sweeps with the objective; words: each is seen in all sweeps"
        ],
    )


@register("wtmf")
def wtmf(options: Options) -> Iterator[Workload]:
    import semproj as sj

    n, terms, k = options.pick((100_000, 20_000, 100), (10_000, 5_000, 100), (150, 80, 4))
    corpus = data.sentences(n, terms, options.data)
    source = f"{corpus.source}, {corpus.counts.shape[1]} words, {corpus.counts.nnz} non-zeros"
    start = sweep_problem(ones(corpus.counts), k, UNIT_REG)
    both = ("words", "sentences")
    binary = f"{source}, all 1"
    yield sweep_workload(options, "wtmf_sweep", start, both, binary, with_peers=True)
    # From the words of this sweep: those of the last are what the sentences were solved from already.
    yield sweep_workload(options, "wtmf_sentences", start.after("words"), ("sentences",), binary, with_peers=True)
    yield sweep_workload(options, "wtmf_words", start, ("words",), binary, with_peers=True)
    # The second sweep has the longest vectors of all, so the worst conditioned systems.
    start = sweep_problem(ones(corpus.counts), k, UNIT_REG, sweeps=1)
    yield sweep_workload(options, "wtmf_sweep_early", start, both, binary, with_peers=True)
    del start
    weighted = sj.LogTfIdf().fit_transform(corpus.counts)
    for other in options.pick((50, 100, 200, 400), (50,), (3, 9)):
        yield sweep_workload(
            options, f"wtmf_k{other}", sweep_problem(weighted, other, REG), both, f"{source}, tf-idf"
        )

    exponents = options.pick((5, 6, 7), (4, 5), (2, 3))
    grown = data.sentences(10 ** exponents[-1] // 10, options.pick(100_000, 20_000, 200))
    for exponent in exponents:
        counts = first_nonzeros(grown.counts, 10**exponent)
        source = f"the first {counts.shape[0]} of {grown.source}, the {counts.shape[1]} words that occur, tf-idf"
        weighted = sj.LogTfIdf().fit_transform(counts)
        yield sweep_workload(options, f"wtmf_nnz1e{exponent}", sweep_problem(weighted, k, REG), both, source)
    del grown
    yield fit_workload(options)
