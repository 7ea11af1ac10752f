"""New words of a fitted BPTF: the cells that they have with the known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.types import Array
from ._observed import Cells, Observation
from ._random import NEW_CELLS, ChainNumbers
from ._slices import CosineSlice, check_list, each_once, given_cells, skip, zeros_of_slices


@dataclass(frozen=True)
class Block:
    """Cells of new words, counted from 0, with known ones, in one of the two orders; sorted by new, then old."""

    new: Array
    old: Array
    values: Array
    shape: tuple[int, int]  # how many there are of both
    outward: bool  # whether cells are (new, old)

    @classmethod
    def of(cls, matrix: Any, n_words: int, dtype: Any, name: str, *, outward: bool) -> Block:
        """Of a sparse matrix whose rows are the first words of the cells; checked as those of a fit."""
        rows, cols, values, shape = given_cells(matrix, dtype, name)
        if shape[1 if outward else 0] != n_words:
            side = "column" if outward else "row"
            raise ValueError(f"{name}: expected a {side} for each of {n_words} words, got {shape}")
        _, first = each_once(rows, cols, values, shape, name)
        new, old, shape = (rows, cols, shape) if outward else (cols, rows, shape[::-1])
        first = first[np.lexsort((old[first], new[first]))]
        return cls(new[first], old[first], values[first], shape, outward)

    def draw(self, zeros: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """All cells, and for each so many known words as zeros that its new word has no cell with."""
        new, old, values = [self.new], [self.old], [self.values]
        if zeros > 0:
            n_new, n_old = self.shape
            for word, known in enumerate(np.split(self.old, np.searchsorted(self.new, np.arange(1, n_new)))):
                missing = n_old - len(known)
                n = min(int(zeros * len(known) + rng.random()), missing)  # rounded at random: the mean is right
                old.append(skip(rng.choice(missing, n, replace=False, shuffle=False), known))
                new.append(np.full(n, word))
            values.append(np.zeros(sum(map(len, new[1:])), self.values.dtype))
        ends = np.concatenate(new) + self.shape[1], np.concatenate(old)
        return (*(ends if self.outward else ends[::-1]), np.concatenate(values))


class NewWords:
    """Cells between new words and known ones.

    Parameters
    ----------
    slices : list of (sparse matrix, pair of them, CosineSlice or None)
    symmetric : sequence of bool
        For each slice.
    n_words : int
        That are known.
    zeros : float or sequence of float
        For each slice.
    observation : Observation
        Of the values of cells.
    """

    def __init__(
        self,
        slices: Sequence[Any],
        symmetric: Sequence[bool],
        n_words: int,
        dtype: Any,
        zeros: Any = 0.0,
        observation: Observation | None = None,
    ) -> None:
        self._observation = Observation() if observation is None else observation
        check_list(slices)
        if len(slices) != len(symmetric):
            raise ValueError(f"slices: expected one for each of {len(symmetric)} slices, got {len(slices)}")
        self._symmetric, self._n_words, self._dtype = symmetric, n_words, dtype
        self._slices = [self._read(each, k) for k, each in enumerate(slices)]
        self._zeros = zeros_of_slices(zeros, [isinstance(each, CosineSlice) for each in self._slices])
        counts = set()
        for each in self._slices:
            counts |= {len(each) - n_words} if isinstance(each, CosineSlice) else {b.shape[0] for b in each}
        if len(counts) != 1 or min(counts) < 1:
            raise ValueError(
                f"slices: expected the same number of new words in all, at least 1, got {sorted(counts)}"
            )
        self.count = counts.pop()

    def draw(self, n_neighbors: int, numbers: ChainNumbers, sweep: int, n_threads: int) -> list[Cells]:
        """The cells of a draw: of cosines, each new word with some known ones."""
        drawn = []
        for k, each in enumerate(self._slices):
            rng = numbers.generator(sweep, NEW_CELLS, k)
            if isinstance(each, CosineSlice):
                parts = [self._compare(each, n_neighbors, rng, n_threads)]
            else:
                parts = [block.draw(self._zeros[k], rng) for block in each]
            nothing = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, self._dtype)
            rows, cols, values = (np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True))
            cells = Cells(rows.astype(np.int32), cols.astype(np.int32), values, self._symmetric[k])
            drawn.append(self._observation.of(cells, k))
        return drawn

    def _read(self, each: Any, k: int) -> CosineSlice | list[Block]:
        name = f"slices[{k}]"
        if each is None:
            return []
        if isinstance(each, CosineSlice):
            if not self._symmetric[k]:
                raise ValueError(f"{name}: has cosines, which are symmetric; the slice is not")
            return each
        if not isinstance(each, (tuple, list)):
            return [Block.of(each, self._n_words, self._dtype, name, outward=True)]
        if self._symmetric[k] or len(each) != 2:
            raise ValueError(
                f"{name}: expected one sparse matrix, or two if it is asymmetric, got {len(each)} and it is "
                f"{'symmetric' if self._symmetric[k] else 'asymmetric'}"
            )
        return [
            Block.of(matrix, self._n_words, self._dtype, f"{name}[{place}]", outward=place == 0)
            for place, matrix in enumerate(each)
            if matrix is not None
        ]

    def _compare(
        self, cosines: CosineSlice, n_neighbors: int, rng: np.random.Generator, n_threads: int
    ) -> tuple[Array, Array, Array]:
        is_new = cosines.known >= self._n_words
        new, old = cosines.known[is_new], cosines.known[~is_new]
        n = min(n_neighbors, len(old))
        rows = np.repeat(new, n)
        cols = np.concatenate([old[:0], *(rng.choice(old, n, replace=False) for _ in new)])
        return rows, cols, cosines.values(rows, cols, n_threads).astype(self._dtype, copy=False)
