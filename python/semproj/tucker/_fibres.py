"""A sparse tensor unfolded along one mode, times the factors of the other modes, a block of rows at a time.

Row i of the unfolding Y of mode n is the sum over the entries with index i of value times the Kronecker product of
the other modes' factor rows. It is made from the inside out: fibres, the sparse rows over the last mode, are
multiplied with that mode's factor (``project``), then each link of the chain folds one mode more
(``fold_fibres``). Modes that are not compressed have no factor: their indices stand beside those of the row, and a
block leaves out those of them that none of its rows has. So for slices (n1, n2, m) with ranks (R1, R2, m), Y is
just [W_1 V, ..., W_m V] without the columns that are zero in a block, by one sparse product.

Cost for z entries: 2 z R flops for the last mode's rank R, and 2 R R' for each node of the next level, and so on.
Memory: entries sorted for each mode (z values and indices, offsets of the nodes, among them one for each row and
uncompressed index), and one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from .._common.types import Array
from ..kernels import Projection
from ..tensor import SparseTensor

Factors = Sequence["Array | None"]  # None for modes that are not compressed

UNIT_ROWS = 4096  # neighbours that lack the same uncompressed indices share a block, in units of this
BLOCK_ROWS = 32768  # at most; many, as a sparse product fetches the other factor once for each block
MASKED = 16  # uncompressed indices by which rows are told apart, at most
PRESENT = 1 << 26  # cells of a table of which row has which uncompressed index, at most


@dataclass
class Relabelled:
    """A tensor whose indices are in another order, mode by mode.

    Rows of a mode that have the same uncompressed indices (slices, for three modes) are neighbours, so that blocks
    of rows can leave out what all of them lack; indices without any entry come last and are not counted.
    """

    coords: Array
    values: Array
    shape: tuple[int, ...]
    orders: list[Array | None]  # orders[j][new index] is the index as the user knows it
    n_rows: list[int]


def relabel(tensor: SparseTensor, ranks: tuple[int, ...]) -> Relabelled:
    """The tensor in the order in which it is worked on; at least `ranks` rows of each mode are kept.

    Entries of value 0, as a user's function may leave them, are dropped.
    """
    shape = tensor.shape
    compressed = [ranks[j] < shape[j] for j in range(tensor.ndim)]
    there = tensor.values != 0
    if there.all():
        coords, values = tensor.coords.copy(), tensor.values
    else:
        coords, values = tensor.coords[:, there], tensor.values[there]
    orders: list[Array | None] = []
    n_rows = []
    for j in range(tensor.ndim):
        if not compressed[j]:
            orders.append(None)
            n_rows.append(shape[j])
            continue
        whole = [i for i in range(tensor.ndim) if i != j and not compressed[i]]
        kinds = _kinds(coords, shape, j, whole)
        order = np.argsort(-kinds, kind="stable")
        label = np.empty_like(order)
        label[order] = np.arange(len(order))
        coords[j] = label[coords[j]]
        orders.append(order)
        n_rows.append(max(int(np.count_nonzero(kinds)), ranks[j]))
    return Relabelled(coords, values, shape, orders, n_rows)


def _kinds(coords: Array, shape: tuple[int, ...], j: int, whole: list[int]) -> Array:
    """For each index of a mode a number that tells which uncompressed indices it has; 0 for none at all."""
    n, n_whole = shape[j], prod(shape[i] for i in whole)
    if n_whole > MASKED:
        whole, n_whole = [], 1
    beside = np.zeros(coords.shape[1], np.int64)
    for i in whole:
        beside = beside * shape[i] + coords[i]
    present = np.zeros((n, n_whole), bool)
    present[coords[j], beside] = True
    # The rarest decides first.
    bits = np.empty(n_whole, np.int64)
    bits[np.argsort(-present.sum(axis=0), kind="stable")] = 1 << np.arange(n_whole)
    kinds: Array = present @ bits
    return kinds


@dataclass(frozen=True)
class Block:
    """Rows [begin, end) of an unfolding, the uncompressed indices they have, and where their nodes begin."""

    begin: int
    end: int
    present: Array | None  # None: all
    offsets: Array  # of the first level's nodes (or entries, without levels) below each (row, present index)


class Scratch:
    """Memory for the rows of one level of nodes at a time, used again for the next: fresh pages cost time."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._levels: dict[int, Array] = {}

    def rows(self, level: int, n: int, width: int) -> Array:
        if level not in self._levels or self._levels[level].size < n * width:
            self._levels[level] = np.empty(n * width, self._dtype)
        return self._levels[level][: n * width].reshape(n, width)


class Unfolding:
    """Y of one mode.

    Parameters
    ----------
    data : Relabelled
        The tensor.
    mode : int
    ranks : tuple of int
        Modes whose rank is their dimension are not compressed.
    block_bytes : int
        Of Y at a time, and again of the nodes below it.
    scratch : Scratch
        Shared by the unfoldings of all modes: the rows of one are in use at a time.
    """

    def __init__(
        self,
        data: Relabelled,
        mode: int,
        ranks: tuple[int, ...],
        *,
        block_bytes: int,
        scratch: Scratch,
        n_threads: int,
    ) -> None:
        coords, values, shape = data.coords, data.values, data.shape
        others = [j for j in range(len(shape)) if j != mode]
        whole = [j for j in others if ranks[j] == shape[j]]
        # The longest mode innermost: the fewest fibres.
        folded = sorted((j for j in others if j not in whole), key=lambda j: (shape[j], j))
        self.n_rows, self.n_threads = data.n_rows[mode], n_threads
        self.leaf = folded[-1] if folded else None
        self.axes = (*whole, *folded)  # the modes in the order of the columns of Y
        self.n_whole = prod(shape[j] for j in whole)
        self.widths = [prod(ranks[j] for j in folded[i:]) for i in range(len(folded))] or [1]
        self.columns = self.n_whole * self.widths[0]
        self._bytes, self._item, self._scratch = block_bytes, values.dtype.itemsize, scratch

        beside = np.zeros(len(values), np.int64)
        for j in whole:
            beside = beside * shape[j] + coords[j]
        node = coords[mode] * self.n_whole + beside
        n_nodes = self.n_rows * self.n_whole
        # Below the rows, level after level: which index each node is, and where the children of each begin.
        self._modes, self._keys, self._starts = folded[:-1], [], []
        for j in self._modes:
            cells, node = np.unique(node * shape[j] + coords[j], return_inverse=True)
            self._keys.append(cells % shape[j])
            self._starts.append(_offsets(cells // shape[j], n_nodes))
            n_nodes = len(cells)
        self._leaf_size = 1 if self.leaf is None else data.n_rows[self.leaf]
        index = np.zeros(len(values), np.int64) if self.leaf is None else coords[self.leaf]
        fibres = sp.csr_matrix((values, (node, index)), shape=(n_nodes, self._leaf_size))
        self._starts.append(fibres.indptr.astype(np.int64))
        self._indices, self._values = fibres.indices, fibres.data
        self.blocks = list(self._cut(coords[mode], beside))
        self._starts[0] = self._starts[0][:0]  # the blocks have them

    def rows(self, factors: Factors, packed: Projection | None) -> Iterator[tuple[Block, Array]]:
        """Each block with its rows of Y, of shape (rows, present uncompressed indices x columns).

        The rows are good until the next block comes.
        """
        leaf = packed or Projection(np.ones((1, 1), self._values.dtype))
        for block in self.blocks:
            out = self._scratch.rows(0, len(block.offsets) - 1, self.widths[0])
            self._fill(0, block.offsets, factors, leaf, out)
            yield block, out.reshape(block.end - block.begin, -1)

    def pack(self, factors: Factors) -> Projection | None:
        """The innermost factor, ready for `rows`."""
        return None if self.leaf is None else Projection(factors[self.leaf], n_threads=self.n_threads)

    def select(self, block: Block, table: Array) -> Array:
        """The rows of a table (columns of Y x anything) that belong to the columns of a block."""
        if block.present is None:
            return table
        return table.reshape(self.n_whole, -1, table.shape[1])[block.present].reshape(-1, table.shape[1])

    def _fill(self, level: int, offsets: Array, factors: Factors, leaf: Projection, out: Array) -> None:
        """Rows of the nodes above `level`, whose children begin at `offsets`."""
        if level == len(self._modes):
            csr = _core.Csr(offsets, self._indices, self._values, self._leaf_size)
            _core.project(csr, leaf._packed, out, None, False, False, self.n_threads)
            return
        factor, width = factors[self._modes[level]], self.widths[level + 1]
        assert factor is not None
        piece = max(1, self._bytes // (width * self._item))
        out[:] = 0
        for begin in range(int(offsets[0]), int(offsets[-1]), piece):
            end = min(int(offsets[-1]), begin + piece)
            nodes = self._scratch.rows(level + 1, end - begin, width)
            self._fill(level + 1, self._starts[level + 1][begin : end + 1], factors, leaf, nodes)
            # Only the parents of these nodes: a piece may begin and end within one.
            low = int(np.searchsorted(offsets, begin, side="right")) - 1
            high = int(np.searchsorted(offsets, end, side="left"))
            keys, parents = self._keys[level][begin:end], offsets[low : high + 1]
            _core.fold_fibres(parents, keys, factor, nodes, begin, out[low:high], self.n_threads)

    def _cut(self, index: Array, beside: Array) -> Iterator[Block]:
        """Blocks of rows, as many as fit the memory allowed."""
        present = None
        if self.n_whole > 1 and self.n_rows * self.n_whole <= PRESENT:
            present = np.zeros((self.n_rows, self.n_whole), bool)
            present[index, beside] = True
        most = min(BLOCK_ROWS, max(1, self._bytes // (self.columns * self._item)))
        begin, everything = 0, np.ones(self.n_whole, bool)
        while begin < self.n_rows:
            end, there = begin, everything
            while end < min(self.n_rows, begin + most):
                unit = slice(end, min(self.n_rows, begin + most, end + UNIT_ROWS))
                has: Array = everything if present is None else np.logical_or.reduce(present[unit])
                if end > begin and (has != there).any():
                    break
                end, there = unit.stop, has
            if there.any():
                whole = np.flatnonzero(there)
                nodes = (np.arange(begin, end)[:, None] * self.n_whole + whole).ravel()
                offsets = np.append(self._starts[0][nodes], self._starts[0][end * self.n_whole])
                yield Block(begin, end, None if there.all() else whole, offsets)
            begin = end


def _offsets(parents: Array, n_parents: int) -> Array:
    """Where the children of each parent begin, the children sorted by parent."""
    counts = np.bincount(parents, minlength=n_parents)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
