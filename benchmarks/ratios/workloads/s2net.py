"""S2Net beside PyTorch: loss and gradient on all pairs (and bare products), an epoch of batches, a whole fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers, torch_peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, counts_if_as_good, register

SCALE = 10.0
SAME = 2e-4  # relative difference of gradients in float32


def unit_rows(m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Two views of m vectors of length one, each near its partner."""
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
    yield from _fit_debian(options)


def _loss_gradient(options: Options, loss: str, m: int, k: int) -> Workload:
    from semproj import _core
    from semproj._common.resources import single_threaded_blas

    u, v = unit_rows(m, k)
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
            Contestant("torch", n, lambda n=n: torch_peers.contrast(u, v, loss, SCALE, n)) for n in options.threads
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

    def ours(threads: int) -> np.ndarray:
        model = sj.S2Net(None, start=start, optimizer="adam", max_iter=1, random_state=0, n_threads=threads)
        return model.fit(views).components_

    contestants = [Contestant(OURS, t, lambda t=t: ours(t)) for t in options.threads]
    if peers.available("torch") is not None:
        by_column = np.ascontiguousarray(start.T)
        contestants += [
            Contestant("torch", t, lambda t=t: torch_peers.s2net(views, by_column, 1, SCALE, t).T)
            for t in options.threads
        ]
    watched = [view[: min(n, 2000)] for view in views]
    return Workload(
        name="s2net_epoch",
        words=int(sum(view.nnz for view in views)),
        contestants=contestants,
        check=lambda contestant, components: {"mrr": _mrr(components, watched)},
        rounds=options.pick(3, 3, 2),
        finish=counts_if_as_good("mrr", 0.02),
        notes=[
            f"{n} pairs over {p} terms, {k} components, batches of 1000, from a random start",
            "torch: bags of embeddings, whose gradients are sparse, and SparseAdam; mrr: of the first pairs",
        ],
    )


def _fit_debian(options: Options) -> Iterator[Workload]:
    """From the texts of Debian, where the data folder has them; nothing is timed without."""
    import semproj as sj
    from benchmarks.papers.crosslingual.corpora import path_of, read
    from benchmarks.papers.crosslingual.methods import CountSpace
    from benchmarks.papers.crosslingual.platt2010 import DROP_TOP, TERMS

    folder = data.folder(options.data)
    if options.size == "tiny" or folder is None or not path_of(folder, "debian", "train").exists():
        print("s2net_fit_debian: skipped, no folder with debian/ (--data)")
        return
    train, dev = (read(folder, "debian", split).take(options.pick(None, 4000, None)) for split in ("train", "dev"))
    space, k, epochs = CountSpace(train.texts, drop_top=DROP_TOP, terms=TERMS), 100, 10
    others = [space.weigh(counts) for counts in space.count_all(dev.texts)]

    def opca(threads: int) -> Any:
        return sj.OPCA(k, tol=0.1, random_state=0, n_threads=threads).fit(space.weighted)  # as S2Net starts

    def ours(threads: int) -> np.ndarray:
        options_of = {"optimizer": "adam", "max_iter": epochs, "tol": 0.0, "random_state": 0}
        return sj.S2Net(k, start=opca(threads), n_threads=threads, **options_of).fit(space.weighted).components_

    def torch(threads: int) -> np.ndarray:
        start = np.ascontiguousarray(opca(threads).components_.T)
        return torch_peers.s2net(space.weighted, start, epochs, SCALE, threads).T

    contestants = [Contestant(OURS, t, lambda t=t: ours(t)) for t in options.threads]
    if peers.available("torch") is not None:
        contestants += [Contestant("torch", t, lambda t=t: torch(t)) for t in options.threads]
    yield Workload(
        name="s2net_fit_debian",
        words=epochs * int(sum(view.nnz for view in space.weighted)),
        contestants=contestants,
        check=lambda contestant, components: {"mrr": _mrr(components, others)},
        rounds=3,
        finish=counts_if_as_good("mrr", 0.005),
        notes=[
            f"{len(train)} pairs of debian, {k} components, {epochs} epochs from OPCA, whose fit is ours for both",
            f"mrr: of {len(dev)} pairs of dev, both directions",
        ],
    )


def _mrr(components: np.ndarray, views: list[Any]) -> float:
    from semproj.metrics import mrr

    first, second = (view @ components.T for view in views)
    return float(np.mean([mrr(first, second), mrr(second, first)]))


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
