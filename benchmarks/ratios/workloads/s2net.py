"""S2Net's loss and gradient on all pairs beside PyTorch and beside bare products, and an epoch of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

SCALE = 10.0
SAME = 2e-4  # relative difference of gradients in float32


def _units(m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    u = rng.standard_normal((m, k), np.float32)
    v = u + rng.standard_normal((m, k), np.float32)
    return tuple(x / np.linalg.norm(x, axis=1, keepdims=True) for x in (u, v))


@register("s2net")
def s2net(options: Options) -> Iterator[Workload]:
    m, k = options.pick((20_000, 500), (4000, 200), (150, 16))
    for loss in ("logistic", "softmax"):
        yield _loss_gradient(options, loss, m, k)
    yield _epoch(options)


def _loss_gradient(options: Options, loss: str, m: int, k: int) -> Workload:
    from semproj import _core
    from semproj._common.resources import single_threaded_blas

    u, v = _units(m, k)
    out = np.empty_like(u), np.empty_like(v)

    def ours(n: int) -> tuple[float, np.ndarray, np.ndarray]:
        with single_threaded_blas():
            value = _core.contrast_gradient(u, v, loss, SCALE, 0.5, 0.5, *out, n)
        return value, *out

    contestants = [Contestant(OURS, n, lambda n=n: ours(n)) for n in options.threads]
    # The floor: the three products of the blocks, and nothing else.
    contestants += [Contestant("products", n, lambda n=n: _products(u, v, *out)) for n in options.threads]
    if peers.available("torch") is not None:
        contestants += [
            Contestant("torch", n, lambda n=n: peers.torch_contrast(u, v, loss, SCALE, n)) for n in options.threads
        ]
    expected: list[Any] = []

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        if contestant.name == "products":
            return {}
        if not expected:
            expected.extend([result[0], *(x.copy() for x in result[1:])])
        if not abs(result[0] - expected[0]) <= SAME * abs(expected[0]):
            raise AssertionError(f"{contestant.name}: a loss of {result[0]}, expected {expected[0]}")
        for found, wanted in zip(result[1:], expected[1:], strict=True):
            if not np.abs(found - wanted).max() <= SAME * np.abs(wanted).max():
                raise AssertionError(f"{contestant.name}: gradients differ by {np.abs(found - wanted).max()}")
        return {"loss": result[0]}

    passes = {"logistic": 6, "softmax": 8}[loss]
    return Workload(
        name=f"s2net_{loss}_gradient",
        words=m * m,
        contestants=contestants,
        check=check,
        cost=Cost(fma_peak=3.0 * m * m * k, meaning="6 m^2 k flops, those of one pass"),
        rounds=options.pick(3, 5, 2),
        notes=[
            f"{m} pairs of unit vectors of {k} dimensions, both directions, scale {SCALE:g}",
            f"ours: {passes} m^2 k flops; products: those of one pass over the cosines in blocks, by NumPy's BLAS",
            "torch: the same blocks by hand, with operations in place and no graph",
        ],
    )


def _products(u: np.ndarray, v: np.ndarray, of_u: np.ndarray, of_v: np.ndarray) -> None:
    of_v[:] = 0
    for begin in range(0, len(u), 1024):
        rows = slice(begin, begin + 1024)
        block = u[rows] @ v.T
        np.matmul(block, v, out=of_u[rows])
        of_v += block.T @ u[rows]


def _epoch(options: Options) -> Workload:
    import semproj as sj

    n, p, k = options.pick((20_000, 20_000, 100), (3000, 4000, 50), (120, 80, 4))
    views = _views(n, p)
    start = np.random.default_rng(0).standard_normal((k, p), np.float32)

    def ours(threads: int) -> float:
        model = sj.S2Net(None, start=start, optimizer="adam", max_iter=1, random_state=0, n_threads=threads)
        return float(model.fit(views).objective_[0])

    return Workload(
        name="s2net_epoch",
        words=int(sum(view.nnz for view in views)),
        contestants=[Contestant(OURS, t, lambda t=t: ours(t)) for t in options.threads],
        check=lambda contestant, value: {"loss": value},
        rounds=options.pick(3, 3, 2),
        notes=[f"{n} pairs over {p} terms, {k} components, batches of 1000, from a random start"],
    )


def _views(n: int, p: int) -> list[Any]:
    """Each document twice, with some of its words in each view."""
    counts = data.zipf_counts(n, p, 60, n_topics=max(2, min(50, p // 8))).astype(np.float32)
    rng, views = np.random.default_rng(1), []
    for _ in range(2):
        view = counts.copy()
        view.data *= rng.random(view.nnz) < 0.7
        view.data = np.log2(view.data + 1)
        view.eliminate_zeros()
        views.append(view)
    return views
