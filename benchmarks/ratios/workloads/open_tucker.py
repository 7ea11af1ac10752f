"""Tucker with a function of each entry that returns its value, beside none; a part of the suite `open`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in


def itself(x: float, i: int, j: int, k: int) -> float:
    return x


@register("open")
def open_tucker(options: Options) -> Iterator[Workload]:
    import semproj as sj

    n, nnz, rank = options.pick((50_000, 2_000_000, 300), (10_000, 400_000, 100), (60, 900, 5))
    tensor = sj.SparseTensor.from_slices(data.random_slices(n, n, 4, nnz, np.float32))

    def fitted(threads: int, **functions: Any) -> np.ndarray:
        model = sj.Tucker((rank, rank, 4), tol=0, max_iter=3, random_state=0, n_threads=threads, **functions)
        return model.fit(tensor).core_

    yield beside_built_in(
        options,
        "open_tucker_fit",
        tensor.nnz,
        lambda threads: fitted(threads, value=itself),
        fitted,
        f"{n} x {n} x 4, {tensor.nnz} random entries, rank ({rank}, {rank}, 4), float32, 3 sweeps from HOSVD",
    )
