"""S2Net's loss and gradient with the logistic loss written as a function: part of the suite `open`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.ratios import Options, Workload, register
from benchmarks.ratios.built_in import beside_built_in
from benchmarks.ratios.workloads.s2net import SCALE, unit_rows


def logistic(difference: float) -> float:
    return math.log1p(math.exp(-SCALE * difference))


@register("open")
def open_s2net(options: Options) -> Iterator[Workload]:
    from semproj import _core
    from semproj._common.resources import single_threaded_blas
    from semproj.jit.contrasts import pair_losses

    m, k = options.pick((8000, 200), (4000, 200), (150, 16))
    u, v = unit_rows(m, k)
    out = np.empty_like(u), np.empty_like(v)

    def by_function(threads: int) -> np.ndarray:
        with single_threaded_blas():
            pair_losses(logistic, u, v, 0.5, 0.5, *out, threads)
        return out[0]

    def built_in(threads: int) -> np.ndarray:
        with single_threaded_blas():
            _core.contrast_gradient(u, v, "logistic", SCALE, 0.5, 0.5, *out, threads)
        return out[0]

    yield beside_built_in(
        options,
        "open_s2net_gradient",
        m * m,
        by_function,
        built_in,
        f"{m} pairs of unit vectors of {k} dimensions, logistic loss, both directions; its derivative is found",
        error=3e-6,  # the built-in one has exponentials in float32
    )
