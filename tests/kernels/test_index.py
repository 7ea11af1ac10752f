"""An index finds what `top_k` finds, bit for bit, in every storage; ids, exclusion, adding, removing, files."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from semproj import SavedModelError, _core, load
from semproj.retrieval import METRICS, Index, top_k
from tests.kernels.test_retrieval import gaussian
from tests.support import same_bits
from tests.support.saving import rewrite

STORAGES = ["float32", "float16", "int8"]
NARROW = ("cosine", "inner_product")


def assert_same(found, expected):
    assert same_bits(found[0], expected[0])
    assert same_bits(found[1], expected[1])


def corpus_of(kind, n=2000, d=80):
    """Rows for which bounds are wide, narrow, useless, or near the ends of the range of float32."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((n, d))
    if kind == "lengths":
        rows *= np.exp(4 * rng.standard_normal((n, 1)))
    elif kind == "copies":
        rows = np.repeat(rows[: n // 50], 50, axis=0)
    elif kind == "nearly equal":
        rows = 1 + 1e-6 * rows
    elif kind == "tiny":
        rows *= 1e-38 * np.exp(-10 * rng.random((n, 1)))
    elif kind == "huge":
        rows *= 1e17
    elif kind == "spikes":
        rows[:, 0] += 1000
    elif kind == "zeros":
        rows[::3] = 0
    return rows.astype(np.float32)


@pytest.mark.parametrize(
    ("metric", "storage"),
    [(metric, storage) for metric in METRICS for storage in STORAGES if storage == "float32" or metric in NARROW],
)
@pytest.mark.parametrize("d", [5, 64, 131, 600])
def test_finds_what_top_k_finds(d, metric, storage):
    queries, rows = gaussian(20, d, 1, metric), gaussian(1500, d, 2, metric)
    index = Index(rows, metric=metric, storage=storage)
    for n, k, n_threads in ((1, 10, 1), (7, 100, 3), (8, 10, 1), (20, 1500, 2)):
        index.n_threads = n_threads
        assert_same(index.search(queries[:n], k), top_k(queries[:n], rows, k, metric=metric))


@pytest.mark.parametrize("storage", ["float16", "int8"])
@pytest.mark.parametrize("metric", NARROW)
@pytest.mark.parametrize("kind", ["lengths", "copies", "nearly equal", "tiny", "huge", "spikes", "zeros"])
def test_narrow_storage_is_exact(kind, metric, storage):
    rows = corpus_of(kind)
    index = Index(rows, metric=metric, storage=storage)
    queries = np.vstack([corpus_of("lengths", 4), rows[[1, 7]], np.zeros((1, 80), np.float32)])
    queries /= np.abs(queries).max(axis=1, keepdims=True) + np.float32(1e-30)
    for k in (1, 10, 300):
        assert_same(index.search(queries, k), top_k(queries, rows, k, metric=metric))


@pytest.mark.parametrize("storage", ["float16", "int8"])
@pytest.mark.parametrize("n", [1, 7])
def test_a_query_that_narrow_numbers_do_not_hold(storage, n):
    """All of what it lacks points to the row that is nearest, and bytes hold the rows exactly."""
    nearest, next_one = np.full(64, 127.0), np.zeros(64)
    nearest[0], next_one[:2] = 1, (20, 127)
    query = np.full((n, 64), 0.49)
    query[:, 0] = 127
    index = Index([next_one, nearest], metric="inner_product", storage=storage)
    assert (index.search(query, 1)[0] == 1).all()


def test_narrow_storage_in_every_instruction_set(run_python):
    script = """
        import numpy as np
        from semproj.retrieval import Index, top_k
        rng = np.random.default_rng(0)
        rows = (rng.standard_normal((700, 131)) * np.exp(rng.standard_normal((700, 1)))).astype(np.float32)
        for metric in ("cosine", "inner_product"):
            expected = top_k(rows[5:7], rows, 20, metric=metric)
            for storage in ("float32", "float16", "int8"):
                found = Index(rows, metric=metric, storage=storage).search(rows[5:7], 20)
                assert all(f.tobytes() == e.tobytes() for f, e in zip(found, expected)), (metric, storage)
    """
    for isa in _core.supported_isas():
        run_python(script, SEMPROJ_ISA=isa)


@pytest.mark.parametrize("storage", STORAGES)
class TestIds:
    def test_own_ids_and_the_earlier_row_among_equals(self, storage):
        rows = np.tile(gaussian(5, 70), (4, 1))
        ids = np.random.default_rng(0).permutation(1000)[:20]
        index = Index(rows, ids, storage=storage)
        found, _ = index.search(rows[:2], 4)
        assert found.tolist() == [ids[0::5].tolist(), ids[1::5].tolist()]
        assert same_bits(index.ids, ids.astype(np.int64))

    @pytest.mark.parametrize("n", [1, 9])
    def test_exclude(self, storage, n):
        queries, rows = gaussian(n, 70, 1), gaussian(600, 70, 2)
        ids = np.arange(600)[::-1] * 3
        index = Index(rows, ids, storage=storage)
        everything, scores = index.search(queries, 600)
        for_all = everything[0, [0, 2, 400]]
        stays = ~np.isin(everything, for_all)
        expected = everything[stays].reshape(n, 597), scores[stays].reshape(n, 597)
        padded = [
            np.pad(a, ((0, 0), (0, 3)), constant_values=v) for a, v in zip(expected, (-1, np.nan), strict=True)
        ]
        for exclude in (for_all, for_all.tolist(), set(for_all.tolist()), [*for_all, 1, 10**15, for_all[0]]):
            assert_same(index.search(queries, 600, exclude=exclude), padded)
        found, _ = index.search(queries, 3, exclude=everything[:, :5])
        assert same_bits(found, everything[:, 5:8])
        lists = [[], *([row[0]] for row in everything[1:])]
        found, _ = index.search(queries, 2, exclude=lists)
        assert same_bits(found[0], everything[0, :2])
        assert same_bits(found[1:], everything[1:, 1:3])

    def test_add_and_remove(self, storage):
        rows, queries = gaussian(900, 70, 2), gaussian(3, 70, 1)
        index = Index(rows[:100], storage=storage)
        for first in range(100, 900, 200):
            index.add(rows[first : first + 200])
        assert len(index) == 900
        assert_same(index.search(queries, 30), Index(rows, storage=storage).search(queries, 30))
        gone = index.search(queries, 5)[0].ravel()
        index.remove(gone)
        stays = np.setdiff1d(np.arange(900), gone)
        assert_same(index.search(queries, 30), Index(rows[stays], stays, storage=storage).search(queries, 30))
        index.add(rows[:1])
        assert index.ids[-1] == 900
        index.add(rows[gone[:1]], [gone[0]])
        assert index.search(rows[gone[:1]], 1)[0].item() == gone[0]

    def test_fewer_rows_than_k(self, storage):
        index = Index(np.empty((0, 70)), storage=storage)
        ids, scores = index.search(np.ones((2, 70)), 3)
        assert (ids == -1).all()
        assert np.isnan(scores).all()
        index.add(np.ones((1, 70)))
        ids, scores = index.search(np.ones((2, 70)), 3)
        assert ids.tolist() == [[0, -1, -1]] * 2
        assert np.isnan(scores).tolist() == [[False, True, True]] * 2
        index.remove([0])
        assert len(index) == 0
        assert (index.search(np.ones((1, 70)), 1)[0] == -1).all()

    def test_saved_and_mapped(self, storage, tmp_path):
        rows, path = gaussian(300, 70, 2), tmp_path / "index"
        index = Index(rows, np.arange(300) + 7, storage=storage)
        index.remove([306])
        index.save(path)
        loaded = load(path)
        assert_same(loaded.search(rows[:3], 20), index.search(rows[:3], 20))
        assert (loaded.metric, loaded.storage, len(loaded)) == ("cosine", storage, 299)
        assert not loaded._state.arrays["rows"].flags.writeable
        loaded.add(rows[299:])
        assert loaded.ids[-1] == 307
        assert loaded.search(rows[299:], 1)[0].item() == 307
        assert len(load(path)) == 299


def test_memory():
    for storage, size in (("float32", 4), ("float16", 6), ("int8", 5)):
        index = Index(np.ones((10, 100)), storage=storage)
        assert index.nbytes == 10 * (size * 100 + (16 if storage == "float32" else 24))


def test_threads_search_while_others_add_and_remove():
    """Every answer is that of the rows of one moment: before or after a change."""
    rows = gaussian(400, 64, 2)
    near = rows[:1] + np.float32(1e-3) * gaussian(8, 64, 3)
    index = Index(rows, storage="int8", n_threads=1)
    allowed, before = set(), index.search(rows[:1], 12)[0]
    allowed.add(before.tobytes())
    changed = Index(rows, n_threads=1)
    changed.add(near, np.arange(8) + 1000)
    allowed.add(changed.search(rows[:1], 12)[0].tobytes())
    stop, seen, errors = threading.Event(), set(), []

    def search():
        try:
            while not stop.is_set():
                seen.add(index.search(rows[:1], 12)[0].tobytes())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        index.add(near, np.arange(8) + 1000)
        index.remove(np.arange(8) + 1000)
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert seen <= allowed


def test_the_callers_rows_may_change():
    rows = gaussian(20, 70)
    index = Index(rows, metric="inner_product")
    before = index.search(rows[:1], 5)
    query = rows[:1].copy()
    rows[:] = 0
    assert_same(index.search(query, 5), before)


class TestBadInput:
    def setup_method(self):
        self.index = Index(np.eye(3), [5, 6, 7])

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda index: index.add([[1.0, 2.0]]), ValueError, "^rows: expected 3 columns, got 2"),
            (lambda index: index.add([[1.0, np.nan, 0.0]]), ValueError, "^rows: contains NaN or infinity"),
            (lambda index: index.add(np.eye(3), [1, 2]), ValueError, "^ids: expected one for each of the 3 rows"),
            (lambda index: index.add(np.eye(3), [1, 2, 2]), ValueError, "^ids: expected different ids"),
            (lambda index: index.add(np.eye(3), [1, 6, 2]), ValueError, "^ids: .* not in the index, got 6"),
            (lambda index: index.add(np.eye(3), [1, -1, 2]), ValueError, "^ids: expected ids from 0"),
            (lambda index: index.add(np.eye(3), [1.0, 3.0, 2.0]), TypeError, "^ids: expected integers"),
            (lambda index: index.remove([5, 8]), ValueError, "^ids: .* in the index, got 8"),
            (lambda index: index.remove(5), ValueError, "^ids: expected a list of integers"),
            (lambda index: index.search(np.eye(2)), ValueError, "^queries: expected 3 columns"),
            (lambda index: index.search(np.full((1, 3), np.inf)), ValueError, "^queries: contains NaN"),
            (lambda index: index.search(np.eye(3), 0), ValueError, "^k: expected at least 1, got 0"),
            (lambda index: index.search(np.eye(3), exclude=[[5]]), ValueError, "^exclude: .* 3 queries, got 1"),
            (lambda index: index.search(np.eye(3), exclude=["a"]), TypeError, "^exclude: expected integers"),
        ],
    )
    def test_errors_name_the_argument_and_change_nothing(self, call, error, message):
        before = self.index.search(np.eye(3), 3)
        with pytest.raises(error, match=message):
            call(self.index)
        assert_same(self.index.search(np.eye(3), 3), before)
        self.index.add(np.eye(3))
        assert self.index.ids.tolist() == [5, 6, 7, 8, 9, 10]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"metric": "l2"}, "^metric: expected one of 'cosine'"),
            ({"storage": "int4"}, "^storage: expected one of 'float32'"),
            (
                {"storage": "int8", "metric": "l1"},
                "^storage: 'int8' is for 'cosine' and 'inner_product', not 'l1'",
            ),
            ({"n_threads": 0}, "^n_threads: expected"),
        ],
    )
    def test_parameters(self, options, message):
        with pytest.raises(ValueError, match=message):
            Index(np.eye(3), **options)

    def test_too_many_columns_for_bytes(self):
        with pytest.raises(ValueError, match=r"^storage: 'int8' takes at most 65536 columns, got 65537"):
            Index(np.ones((1, 65_537), np.float32), storage="int8")

    def test_scores_outside_of_float32(self):
        index = Index(np.full((3, 80), 1e38, np.float32), metric="inner_product", storage="int8")
        with pytest.raises(ValueError, match=r"^queries: too large"):
            index.search(np.full((1, 80), 10.0), 1)

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("ids", np.array([5, 6, 6])),
            ("ids", np.array([5, 6, -7])),
            ("ids", np.array([5, 6, 99])),
            ("lengths", np.array([1.0, np.nan, 1.0])),
            ("error", np.array([0, np.nan, 0], np.float32)),
            ("codes", np.zeros((3, 4), np.uint8)),
            ("codes", np.zeros((3, 3), np.float16)),
        ],
    )
    def test_files_that_somebody_wrote(self, name, array, tmp_path):
        from semproj._common.persistence import read_file

        Index(np.eye(3), [5, 6, 7], storage="int8").save(tmp_path / "good")
        arrays, description = read_file(tmp_path / "good")
        rewrite(tmp_path / "bad", {**arrays, name: array}, description)
        with pytest.raises(SavedModelError):
            load(tmp_path / "bad")
