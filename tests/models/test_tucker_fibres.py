"""The chain of products of a sparse tensor with factors, against dense products."""

from __future__ import annotations

import numpy as np
import pytest

from semproj import _core
from semproj._common.resources import single_threaded_blas
from semproj.tucker import _fibres
from semproj.tucker._fibres import Scratch, Unfolding, relabel
from tests.reference.tucker import multiply
from tests.support import same_bits
from tests.support.tensors import slices_with_gaps, sparse

CASES = [
    ((40, 30, 4), (5, 6, 4)),  # slices: nothing but a sparse product
    ((40, 30, 7), (5, 6, 3)),
    ((9, 8, 7), (2, 8, 3)),  # the mode in the middle is not compressed
    ((12, 3, 4), (5, 3, 4)),  # nothing to multiply with
    ((12, 11, 10, 9), (3, 2, 4, 3)),
    ((12, 11, 3, 9), (3, 2, 3, 2)),
    ((6, 5, 6, 4, 5), (2, 3, 2, 2, 3)),
    ((30, 20), (4, 4)),
]


def tensor_of(shape, seed=0):
    if len(shape) == 3:
        return slices_with_gaps(*shape, density=0.3, seed=seed)
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * (rng.random(shape) < 0.3)


def unfolded(X, ranks, mode, *, block_bytes=1 << 20, n_threads=2, dtype=np.float64):
    """Y of a mode as Unfolding makes it, and as dense products do, in the same order; and the number of blocks."""
    tensor = sparse(X, dtype)
    data = relabel(tensor, ranks)
    rng = np.random.default_rng(1)
    users = [
        rng.standard_normal((n, r)).astype(dtype) if r < n else None for n, r in zip(X.shape, ranks, strict=True)
    ]
    factors = [
        None if u is None else np.ascontiguousarray(u[data.orders[j]][: data.n_rows[j]])
        for j, u in enumerate(users)
    ]
    Y = Unfolding(data, mode, ranks, block_bytes=block_bytes, scratch=Scratch(tensor.dtype), n_threads=n_threads)
    table = np.zeros((X.shape[mode], Y.n_whole, Y.columns // Y.n_whole), dtype)
    with single_threaded_blas():
        for block, rows in Y.rows(factors, Y.pack(factors)):
            there = np.arange(Y.n_whole) if block.present is None else block.present
            part = rows.reshape(block.end - block.begin, -1, table.shape[2])
            table[np.ix_(data.orders[mode][block.begin : block.end], there)] = part
    expected = multiply(
        X, [None if j == mode or u is None else u.T.astype(np.float64) for j, u in enumerate(users)]
    )
    expected = expected.transpose((mode, *Y.axes)).reshape(X.shape[mode], -1)
    return table.reshape(len(table), -1), expected, len(Y.blocks)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "ranks"), CASES, ids=str)
def test_equals_dense_products(shape, ranks, dtype):
    X = tensor_of(shape)
    for mode in range(len(shape)):
        if ranks[mode] < shape[mode]:
            got, expected, _ = unfolded(X, ranks, mode, dtype=dtype)
            np.testing.assert_allclose(got, expected, atol=100 * np.finfo(dtype).eps * np.abs(expected).max())
            assert np.abs(expected).max() > 1


@pytest.mark.parametrize(("shape", "ranks"), CASES, ids=str)
def test_small_blocks_give_the_same(shape, ranks):
    """Blocks of a few rows, and pieces of a few nodes that begin and end within a parent."""
    X = tensor_of(shape)
    for mode in range(len(shape)):
        if ranks[mode] < shape[mode]:
            got, expected, n_blocks = unfolded(X, ranks, mode, block_bytes=200)
            assert n_blocks > 1
            np.testing.assert_allclose(got, expected, atol=1e-12 * np.abs(expected).max())


def test_same_bits_for_any_number_of_threads():
    X = tensor_of((30, 40, 50, 8))
    for mode in range(4):
        tables = [unfolded(X, (3, 4, 5, 3), mode, n_threads=n, dtype=np.float32)[0] for n in (1, 2, 5)]
        assert same_bits(tables[0], tables[1])
        assert same_bits(tables[0], tables[2])


def test_rows_without_a_slice_take_no_columns(monkeypatch):
    """Rows are sorted by the slices they have, the rarest first, those without entries last."""
    monkeypatch.setattr(_fibres, "UNIT_ROWS", 5)
    X = np.zeros((40, 12, 3))
    X[:, :, 0] = np.random.default_rng(0).standard_normal((40, 12))
    X[::4, 3, 2] = 1.0
    X[::10, 5, 1] = 1.0
    X[7:9] = 0
    data = relabel(sparse(X), (4, 5, 3))
    assert data.n_rows == [38, 12, 3]
    assert list(data.orders[0][:6]) == [0, 20, 10, 30, 4, 12]
    assert set(data.orders[0][-2:]) == {7, 8}
    Y = Unfolding(data, 0, (4, 5, 3), block_bytes=1 << 20, scratch=Scratch(np.dtype(float)), n_threads=1)
    assert [(b.begin, b.end) for b in Y.blocks] == [(0, 5), (5, 15), (15, 38)]
    assert [None if b.present is None else list(b.present) for b in Y.blocks] == [None, [0, 2], [0]]
    table = np.arange(Y.columns * 2.0).reshape(-1, 2)
    np.testing.assert_array_equal(Y.select(Y.blocks[1], table), np.concatenate([table[:5], table[10:]]))


def test_at_least_as_many_rows_as_the_rank():
    X = np.zeros((20, 10, 2))
    X[3, :, :] = X[5, :, :] = 1.0
    assert relabel(sparse(X), (4, 3, 2)).n_rows == [4, 10, 2]


class TestFold:
    """The kernel by itself: sums of any number of children, in pieces, and what it refuses."""

    def run(self, counts, rank=3, width=5, dtype=np.float64, first=0, last=None, n_threads=2, seed=0):
        rng = np.random.default_rng(seed)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        n = int(offsets[-1])
        keys = rng.integers(0, 11, n)
        factor, children = (
            rng.standard_normal((11, rank)).astype(dtype),
            rng.standard_normal((n, width)).astype(dtype),
        )
        out = np.ones((len(counts), rank * width), dtype)
        here = slice(first, n if last is None else last)
        with single_threaded_blas():
            _core.fold_fibres(
                offsets, np.ascontiguousarray(keys[here]), factor, children[here], first, out, n_threads
            )
        expected = np.ones(out.shape)
        for p in range(len(counts)):
            for c in range(max(offsets[p], here.start), min(offsets[p + 1], here.stop)):
                expected[p] += np.kron(factor[keys[c]].astype(float), children[c].astype(float))
        return out, expected

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(
        "counts",
        [[1], [0, 3, 0, 7, 8, 9, 0], [511, 512, 513], [5000], [1, 5000, 2], [1] * 100, []],
        ids=["one", "few", "around a block", "many", "mixed", "parents", "none"],
    )
    def test_any_number_of_children(self, counts, dtype):
        for width in (1, 5, 130):
            out, expected = self.run(counts, width=width, dtype=dtype)
            size = np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(out, expected, atol=50 * np.finfo(dtype).eps * size)

    def test_pieces_of_a_level(self):
        counts = [2, 9, 0, 600, 3]
        for first, last in [(0, 1), (1, 5), (4, 300), (11, 611), (300, 614), (613, 614)]:
            out, expected = self.run(counts, first=first, last=last)
            np.testing.assert_allclose(out, expected, atol=1e-11)

    def test_long_sums_are_in_double(self):
        """Beside 2^24 a float32 sum would lose every one that follows."""
        n = 1 << 14
        factor, children = np.ones((2, 1), np.float32), np.ones((n, 1), np.float32)
        factor[1] = 2.0**24
        keys = np.zeros(n, np.int64)
        keys[0] = 1
        out = np.zeros((1, 1), np.float32)
        with single_threaded_blas():
            _core.fold_fibres(np.array([0, n]), keys, factor, children, 0, out, 1)
        assert abs(float(out[0, 0]) - (2.0**24 + n)) <= 512

    def test_same_bits_for_any_number_of_threads(self):
        for counts in ([3, 700, 0, 20], [5000]):
            runs = [self.run(counts, width=200, dtype=np.float32, n_threads=n)[0] for n in (1, 2, 7)]
            assert same_bits(runs[0], runs[1])
            assert same_bits(runs[0], runs[2])

    def test_refuses_what_is_not_safe(self):
        offsets, keys = np.array([0, 2]), np.array([0, 1])
        factor, children, out = np.ones((2, 3)), np.ones((2, 4)), np.zeros((1, 12))
        good = [offsets, keys, factor, children, 0, out, 1]
        for i, bad, message in [
            (0, np.array([2, 0]), "offsets: must not decrease"),
            (0, np.array([0, 1, 2]), "offsets: expected a contiguous vector of length 2"),
            (1, np.array([0, 2]), "keys: out of range"),
            (1, np.array([-1, 0]), "keys: out of range"),
            (1, np.array([0]), "keys: expected a contiguous vector of length 2"),
            (3, np.ones((2, 5)), "out: wrong number of columns"),
        ]:
            with pytest.raises(ValueError, match=message):
                _core.fold_fibres(*[bad if at == i else value for at, value in enumerate(good)])
        with pytest.raises(TypeError, match="children: unexpected dtype"):
            _core.fold_fibres(*good[:3], children.astype(np.float32), *good[4:])
        out.flags.writeable = False
        with pytest.raises(ValueError, match="out: is read-only"):
            _core.fold_fibres(*good)
