"""An index, and `top_k`, against brute force in float64: hostile rows, added, removed and left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from semproj.retrieval import METRICS, Index, top_k
from tests.support import same_bits

NARROW = ("cosine", "inner_product")
STORAGES = ("float32", "float16", "int8")


def drawn(rng: np.random.Generator, n: int, d: int, metric: str) -> np.ndarray:
    """Rows that are near each other, equal, of any size that float32 has, constant, sparse or zero."""
    rows = rng.standard_normal((n, d))
    if rng.random() < 0.5:  # as good as equal, or in few directions
        rows = rows[rng.integers(0, max(1, n // 4), n)] + rng.choice([0, 1e-7, 1e-3]) * rows
    if rng.random() < 0.3:
        rows = np.round(2 * rows)  # ties of rows that are not equal, and of products that are exact
    if rng.random() < 0.3:
        rows[:, rng.integers(0, d, 3)] = rng.choice([0, 1, -1000])
    if rng.random() < 0.3:
        rows[rng.random((n, d)) < 0.8] = 0
    if rng.random() < 0.3:
        rows[rng.random(n) < 0.2] = 0
    far = {"cosine": 34, "inner_product": 15, "l1": 30, "jensen_shannon": 30}[metric]
    if rng.random() < 0.5:
        rows *= 10.0 ** rng.integers(-far, far, (n, 1) if rng.random() < 0.5 else (1, 1))
    if metric == "jensen_shannon":
        rows = np.abs(rows) + 1e-30
    return rows.astype(np.float32)


def near(queries: np.ndarray, rows: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores in float64, more is nearer, and how far float32 may be off."""
    Q, R = queries.astype(np.float64), rows.astype(np.float64)
    n = rows.shape[1] + 40
    if metric == "l1":
        distances = np.abs(Q[:, None] - R).sum(axis=2)
        return -distances, n * 6e-8 * distances + 1e-36
    if metric == "jensen_shannon":
        P, S = Q[:, None] / Q.sum(axis=1)[:, None, None], R / R.sum(axis=1, keepdims=True)
        middle = (P + S) / 2
        parts = [x * np.log2(np.where(x > 0, x / middle, 1)) for x in (P, S)]
        return -(parts[0] + parts[1]).sum(axis=2) / 2, np.full((len(Q), len(R)), 2e-6)
    lengths = np.linalg.norm(Q, axis=1)[:, None] * np.linalg.norm(R, axis=1)
    if metric == "inner_product":
        return Q @ R.T, n * 6e-8 * lengths + 1e-36
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, Q @ R.T / lengths, np.nan), np.full(lengths.shape, n * 6e-8)


def check_nearest(found: Any, queries: np.ndarray, rows: np.ndarray, hidden: np.ndarray, metric: str) -> None:
    """Ids are row numbers; `hidden` has the cells that must not be found."""
    ids, scores = found
    signed = -scores.astype(np.float64) if metric in ("l1", "jensen_shannon") else scores.astype(np.float64)
    truth, margin = near(queries, rows, metric)
    hidden = hidden | np.isnan(truth)
    for q in range(len(queries)):
        mine = ids[q][ids[q] >= 0]
        assert len(mine) == min(ids.shape[1], np.count_nonzero(~hidden[q]))
        assert (ids[q, len(mine) :] == -1).all()
        assert np.isnan(scores[q, len(mine) :]).all()
        assert len(set(mine.tolist())) == len(mine)
        assert not hidden[q, mine].any(), "found what is excluded, or zero"
        kept = signed[q, : len(mine)]
        assert (np.abs(kept - truth[q, mine]) <= margin[q, mine]).all()
        assert ((kept[1:] < kept[:-1]) | ((kept[1:] == kept[:-1]) & (mine[1:] > mine[:-1]))).all(), "order"
        others = np.setdiff1d(np.flatnonzero(~hidden[q]), mine)
        if len(mine) and len(others):
            assert (truth[q, others] - margin[q, others] <= kept[-1]).all(), "one that is nearer was not found"


def check_copies(found: Any, rows: np.ndarray, hidden: np.ndarray) -> None:
    """Rows of the same bits have scores of the same bits, and come in the order of their numbers."""
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    for q, ids in enumerate(found[0]):
        mine = ids[ids >= 0]
        for one in np.unique(kind[mine]):
            copies = np.flatnonzero((kind.ravel() == one) & ~hidden[q])
            places = np.flatnonzero(kind.ravel()[mine] == one)
            assert len(set(found[1][q, places].tolist())) == 1
            assert mine[places].tolist() == copies[: len(places)].tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_top_k(fuzz, metric):
    def check(rng):
        d, n = int(rng.choice([1, 15, 16, 17, 33, 64, 100, 257, 300])), int(rng.choice([1, 15, 17, 255, 300, 600]))
        rows = drawn(rng, n, d, metric)
        queries = np.concatenate([rows[rng.integers(0, n, 5)], drawn(rng, 5, d, metric)])[rng.permutation(10)]
        k = int(rng.integers(1, n + 1)) if rng.random() < 0.3 else min(n, 10)
        batch = top_k(queries, rows, k, metric=metric)
        hidden = np.zeros((10, n), bool)
        check_nearest(batch, queries, rows, hidden, metric)
        check_copies(batch, rows, hidden)
        few = int(rng.integers(1, 8))
        found = top_k(queries[:few], rows, k, metric=metric, n_threads=int(rng.integers(1, 4)))
        assert same_bits(found[0], batch[0][:few])
        assert same_bits(found[1], batch[1][:few])

    fuzz(check, cases=60)


class Mirror:
    """What an index should hold, kept by hand."""

    def __init__(self, d: int) -> None:
        self.ids: list[int] = []
        self.rows = np.empty((0, d), np.float32)
        self.next = 0

    def add(self, rows: np.ndarray, ids: list[int]) -> None:
        self.ids += ids
        self.rows = np.concatenate([self.rows, rows])
        self.next = max([self.next, *(i + 1 for i in ids)])

    def remove(self, ids: list[int]) -> None:
        stays = [i for i, each in enumerate(self.ids) if each not in ids]
        self.ids, self.rows = [self.ids[i] for i in stays], self.rows[stays]


def change(indices: list[Index], mirror: Mirror, rng: np.random.Generator, metric: str) -> None:
    """Add or remove some rows, or fail to."""
    d, what = mirror.rows.shape[1], rng.random()
    if what < 0.15 and mirror.ids:
        gone = rng.choice(mirror.ids, int(rng.integers(1, len(mirror.ids) + 1))).tolist()
        for index in indices:
            index.remove(gone)
        mirror.remove(gone)
    elif what < 0.3:
        bad = np.ones((3, d), np.float32)
        bad[2, rng.integers(d)] = np.nan
        for index in indices:
            with pytest.raises(ValueError, match=r"^rows: contains NaN"):
                index.add(bad)
    else:
        rows = drawn(rng, int(rng.choice([0, 1, 20, 290])), d, metric)
        named = rng.random() < 0.5
        ids = rng.permutation(mirror.next + 2 * len(rows) + 5)
        ids = [int(i) for i in ids if i not in mirror.ids][: len(rows)]
        if not named:
            ids = list(range(mirror.next, mirror.next + len(rows)))
        for index in indices:
            index.add(rows, ids if named else None)
        mirror.add(rows, ids)


@pytest.mark.parametrize("metric", METRICS)
def test_adding_removing_and_excluding(fuzz, metric):
    storages = STORAGES if metric in NARROW else STORAGES[:1]

    def check(rng):
        d = int(rng.choice([3, 16, 31, 70, 260]))
        mirror = Mirror(d)
        indices = [
            Index(np.empty((0, d)), metric=metric, storage=storage, n_threads=int(rng.integers(1, 4)))
            for storage in storages
        ]
        for _ in range(int(rng.integers(2, 6))):
            change(indices, mirror, rng, metric)
            n, k = int(rng.choice([1, 2, 7, 8])), int(rng.choice([1, 5, 40, 400]))
            queries = drawn(rng, n, d, metric)
            if mirror.ids and rng.random() < 0.5:
                queries[0] = mirror.rows[rng.integers(len(mirror.ids))]
            pool = [*mirror.ids, 10**12, 10**12 + 1]
            lists = [rng.choice(pool, int(rng.integers(0, len(pool)))).tolist() for _ in range(n)]
            exclude = [None, lists, lists[0]][rng.integers(3)]
            banned = lists if exclude is lists else [exclude or []] * n
            hidden = np.array([np.isin(mirror.ids, each) for each in banned], bool).reshape(n, len(mirror.ids))
            found = [index.search(queries, k, exclude=exclude) for index in indices]
            for other in found[1:]:
                assert same_bits(other[0], found[0][0])
                assert same_bits(other[1], found[0][1])
            assert indices[0].ids.tolist() == mirror.ids
            place = {each: i for i, each in enumerate(mirror.ids)}
            numbers = np.array([[place.get(i, -1) for i in row] for row in found[0][0].tolist()]).reshape(n, k)
            check_nearest((numbers, found[0][1]), queries, mirror.rows, hidden, metric)
            check_copies((numbers, found[0][1]), mirror.rows, hidden)

    fuzz(check, cases=40)
