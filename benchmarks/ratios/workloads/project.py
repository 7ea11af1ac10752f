"""Sparse rows times a dense projection, the kernel of everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

Check = Callable[[Contestant, Any], dict[str, Any]]
# workload: components, storage, element size, reused output
CASES = {
    "project_d2000_f32": (2000, "float32", 4, True),
    "project_d2000_f32_alloc": (2000, "float32", 4, False),
    "project_d2000_f16": (2000, "float16", 2, True),
    "project_d2000_i8": (2000, "int8", 1, True),
    "project_d100_f32": (100, "float32", 4, True),
}
TOLERANCE = {"float32": 1e-5, "float16": 5e-4, "int8": 1.5e-2}


def relative_error(result: np.ndarray, truth: np.ndarray) -> float:
    return float(np.linalg.norm(result - truth) / np.linalg.norm(truth))


def checker(X: csr_matrix, matrix: np.ndarray, tolerance: float) -> Check:
    """Check rows from all over the result against float64; peers are held to float32's tolerance."""
    picked = np.linspace(0, X.shape[0] - 1, min(300, X.shape[0])).astype(int)
    truth = X[picked].astype(np.float64) @ matrix.astype(np.float64)

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        if result.shape != (X.shape[0], matrix.shape[1]):
            raise AssertionError(f"{contestant.name}: wrong shape {result.shape}")
        error = relative_error(np.asarray(result[picked], np.float64), truth)
        bound = tolerance if contestant.name == OURS else TOLERANCE["float32"]
        if not error <= bound:
            raise AssertionError(f"{contestant.name}: relative error {error:.2e}, expected at most {bound:.0e}")
        return {"error": error}

    return check


def ours(X: csr_matrix, packed: Any, threads: int, reuse: bool) -> Contestant:
    from semproj import kernels

    # NaN, so that the check sees any row that was left out.
    out = np.full((X.shape[0], packed.shape[1]), np.nan, np.float32) if reuse else None
    return Contestant(OURS, threads, lambda: kernels.project(X, packed, out=out, n_threads=threads))


@register("project")
def project(options: Options) -> Iterator[Workload]:
    from semproj import kernels

    n = options.pick(20_000, 4_000, 60)
    terms = options.pick(20_000, 20_000, 400)
    X = data.log_counts(data.zipf_counts(n, terms, distinct=options.pick(120, 120, 20)))
    for name, (d, storage, size, reuse) in CASES.items():
        matrix = data.dense(terms, d)
        packed = kernels.Projection(matrix, storage=storage)
        contestants = [ours(X, packed, threads, reuse) for threads in options.threads]
        contestants += [Contestant(*peer) for peer in peers.project(X, matrix, options.threads, reuse)]
        kept = "the caller's array is reused (scipy and torch cannot)" if reuse else "all allocate their result"
        yield Workload(
            name=name,
            words=X.nnz,
            contestants=contestants,
            check=checker(X, matrix, TOLERANCE[storage]),
            cost=Cost(
                copy_bandwidth=8.0 * X.nnz + size * matrix.size + 4.0 * n * d,
                cache_bandwidth=float(X.nnz) * d * size,
                fma_peak=2.0 * X.nnz * d,
                meaning="copy: X (8 bytes a non-zero) and the table read once, the result written once; "
                f"cache: nnz x d x {size} bytes; fma: 2 x nnz x d",
            ),
            rounds=options.pick(9, 3, 2),
            notes=[data.MATRIX_NOTE, f"{n} x {terms}, {X.nnz} non-zeros, d={d}, {storage}", kept],
        )
        del contestants
