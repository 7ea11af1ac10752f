"""What BPTF observes: the cells of each slice, all of them or drawn anew in every sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._common.persistence import checksum
from .._common.types import Array
from .._common.validation import check_sparse
from ._observed import LARGEST, Cells, Observation
from ._random import PAIRS, ChainNumbers, SliceNumbers

_CROWDED = 32  # times as many pairs as are drawn: if there are fewer, none is drawn twice


class Pairs:
    """Pairs of different words that may be drawn.

    Parameters
    ----------
    words : int32 array
        Out of which pairs are made, sorted.
    n_words : int
        Of all.
    ordered : bool
        Whether (i, j) and (j, i) are two pairs.
    excluded : int64 array
        Keys ``i * n_words + j`` of pairs not to be drawn, sorted; unordered ones with i < j.
    """

    def __init__(
        self, words: Array, n_words: int, *, ordered: bool = False, excluded: Array | None = None
    ) -> None:
        self._words, self._n_words, self._ordered = words, n_words, ordered
        self._excluded = np.empty(0, np.int64) if excluded is None else excluded
        every = len(words) * (len(words) - 1)
        self.available = (every if ordered else every // 2) - len(self._excluded)
        self._excluded_places: Array | None = None

    def draw(self, n: int, numbers: SliceNumbers, n_threads: int) -> tuple[Array, Array]:
        """`n` pairs, or all if there are fewer.

        Where more than a 32nd of all is asked for they are `n` different ones. Otherwise each is drawn by itself,
        which is cheaper, and a pair may be there twice: of those drawn, one in 64 at most is expected to be.
        """
        if _CROWDED * n > self.available:
            rng = numbers.generator(PAIRS)
            return self._at(rng.choice(self.available, min(n, self.available), replace=False, shuffle=False))
        found = _core.draw_pairs(
            self._words,
            self._n_words,
            n,
            self._ordered,
            self._excluded,
            numbers.chain.seed,
            numbers.sweep,
            numbers.slice,
            n_threads,
        )
        return found.rows, found.cols

    # The pair at place p of all is of the word at p % m and the one p // m + 1 after it, around the circle of m
    # words: for ordered pairs, and for unordered ones too, whose places end half way round.

    def _at(self, places: Array) -> tuple[Array, Array]:
        """Pairs at places among those that are not excluded."""
        m = len(self._words)
        if self._excluded_places is None:
            self._excluded_places = self._places_of_excluded()
        places = skip(places, self._excluded_places)
        i, j = places % m, (places % m + places // m + 1) % m
        if not self._ordered:
            i, j = np.minimum(i, j), np.maximum(i, j)
        return self._words[i], self._words[j]

    def _places_of_excluded(self) -> Array:
        m = len(self._words)
        i, j = (np.searchsorted(self._words, each) for each in np.divmod(self._excluded, self._n_words))
        if not self._ordered:
            i, j = np.where(2 * (j - i) > m, j, i), np.where(2 * (j - i) > m, i, j)
        return np.sort(((j - i) % m - 1) * m + i)


def skip(places: Array, excluded: Array) -> Array:
    """Places among those that are not excluded as places among all; `excluded` is sorted."""
    # Before the e-th excluded place p there are p - e others.
    others_before = excluded - np.arange(len(excluded))
    found: Array = places + np.searchsorted(others_before, places, side="right")
    return found


class CosineSlice:
    """A slice whose cells are cosines of given vectors, made as they are needed.

    Parameters
    ----------
    vectors : array of shape (n_words, n_dimensions)
        A word without a vector has a row of zeros, and no cells.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj import CosineSlice
    >>> CosineSlice(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]])).n_known
    2
    """

    def __init__(self, vectors: Any) -> None:
        vectors = np.asarray(vectors)
        if vectors.ndim != 2 or vectors.dtype.kind != "f":
            raise ValueError(f"vectors: expected a matrix of floats, got shape {vectors.shape} of {vectors.dtype}")
        if not np.isfinite(vectors).all():
            raise ValueError("vectors: expected finite values")
        wide = vectors.astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        unit = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
        self._unit = np.zeros((len(unit), _core.padded(max(unit.shape[1], 1))), np.float32)
        self._unit[:, : unit.shape[1]] = unit
        self.known = np.flatnonzero(lengths[:, 0] > 0).astype(np.int32)
        self._pairs = Pairs(self.known, len(self))

    def __len__(self) -> int:
        return len(self._unit)

    @property
    def n_known(self) -> int:
        """Words that have a vector."""
        return len(self.known)

    def fingerprint(self) -> list[int]:
        """Tells other vectors apart."""
        return [*self._unit.shape, checksum(self._unit)]

    def values(self, rows: Array, cols: Array, n_threads: int) -> Array:
        """Cosines of pairs of words."""
        found: Array = _core.pair_products(
            self._unit, self._unit, np.asarray(rows, np.int32), np.asarray(cols, np.int32), n_threads
        )
        return found

    def draw(self, n: int, numbers: SliceNumbers, dtype: Any, n_threads: int) -> Cells:
        """Random pairs of known words; see :class:`Pairs`."""
        rows, cols = self._pairs.draw(n, numbers, n_threads)
        return Cells(rows, cols, self.values(rows, cols, n_threads).astype(dtype, copy=False))


def given_cells(matrix: Any, dtype: Any, name: str) -> tuple[Array, Array, Array, tuple[int, int]]:
    """Rows, columns and values of a sparse matrix, and its shape, checked."""
    if not sparse.issparse(matrix):
        raise TypeError(f"{name}: expected a sparse matrix or a CosineSlice, got {type(matrix).__name__}")
    if len(matrix.shape) != 2:
        raise ValueError(f"{name}: expected a matrix, got {len(matrix.shape)} dimensions")
    matrix = check_sparse(matrix, name)
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected numbers, got dtype {matrix.dtype}")
    found = matrix.tocoo()
    with np.errstate(over="ignore"):
        values = found.data.astype(dtype)
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: expected finite values in {np.dtype(dtype)}")
    largest = float(np.abs(values).max(initial=0))
    if largest > LARGEST:
        raise ValueError(
            f"{name}: values up to {largest:g} are too large to be squared; expected them scaled down"
        )
    return found.row.astype(np.int64), found.col.astype(np.int64), values, found.shape


def each_once(rows: Array, cols: Array, values: Array, shape: tuple[int, int], name: str) -> tuple[Array, Array]:
    """Sorted keys ``row * n_cols + col`` of the cells, and where each comes first; other values are refused."""
    keys, first, inverse = np.unique(rows * shape[1] + cols, return_index=True, return_inverse=True)
    contradicted = values != values[first][inverse]
    if contradicted.any():
        at = int(np.flatnonzero(contradicted)[0])
        other = values[first][inverse[at]]
        raise ValueError(f"{name}: cell ({rows[at]}, {cols[at]}) is given as {other} and as {values[at]}")
    return keys, first


class ObservedSlice:
    """Cells that were given.

    Parameters
    ----------
    matrix : sparse matrix
        Stored values are observed, also zeros; others are missing.
    name : str
        For errors.
    """

    def __init__(self, matrix: Any, *, symmetric: bool, dtype: Any, name: str) -> None:
        rows, cols, values, shape = given_cells(matrix, dtype, name)
        if shape[0] != shape[1]:
            raise ValueError(f"{name}: expected a square matrix, got shape {shape}")
        if (rows == cols).any():
            word = int(rows[rows == cols][0])
            raise ValueError(f"{name}: cell ({word}, {word}) relates a word to itself; expected pairs of words")
        if symmetric:
            rows, cols = np.minimum(rows, cols), np.maximum(rows, cols)
        self.symmetric, self._n_words = symmetric, shape[0]
        keys, first = each_once(rows, cols, values, shape, name)
        self.cells = Cells(rows[first].astype(np.int32), cols[first].astype(np.int32), values[first], symmetric)
        self.known = np.unique(np.concatenate([self.cells.rows, self.cells.cols]))
        self._missing = Pairs(self.known, shape[0], ordered=not symmetric, excluded=keys)
        self._zero = zero_cell(self.cells.values.dtype)

    def __len__(self) -> int:
        return int(self._n_words)

    def observe(self, observation: Observation, k: int, *, with_zeros: bool) -> None:
        """Have the cells of slice k, and a missing one if it may be drawn, as they are observed."""
        self.cells = observation.of(self.cells, k)
        if with_zeros:
            self._zero = observation.of(self._zero, k)

    def draw(self, n: int | None, zeros: float, numbers: SliceNumbers, n_threads: int) -> Cells:
        """All cells or `n` of them at random, and for each so many missing ones as zeros, if there are; see
        :class:`Pairs`."""
        cells = self.cells
        if n is not None and n < len(cells):
            kept = np.sort(numbers.generator().choice(len(cells), n, replace=False))
            cells = cells.take(kept)
        if zeros == 0:
            return cells
        rows, cols = self._missing.draw(round(zeros * len(cells)), numbers, n_threads)
        zero = self._zero
        return Cells(
            np.concatenate([cells.rows, rows]),
            np.concatenate([cells.cols, cols]),
            np.concatenate([cells.values, np.repeat(zero.values, len(rows))]),
            self.symmetric,
            None if zero.roots is None else np.concatenate([cells.roots, np.repeat(zero.roots, len(rows))]),
        )

    def split(self, share: float, rng: np.random.Generator) -> Cells:
        """Take a share of the cells out, and return them."""
        held = np.zeros(len(self.cells), bool)
        held[rng.choice(len(held), round(share * len(held)), replace=False)] = True
        out, self.cells = self.cells.take(np.flatnonzero(held)), self.cells.take(np.flatnonzero(~held))
        return out


Slice = CosineSlice | ObservedSlice


def zero_cell(dtype: Any) -> Cells:
    """A missing cell that is taken for a zero, of no words in particular."""
    return Cells(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, dtype))


def check_list(slices: Any) -> None:
    """One or more things in a list."""
    if not isinstance(slices, (list, tuple)) or not slices:
        got = "none" if isinstance(slices, (list, tuple)) else type(slices).__name__
        what = "of words by words, or CosineSlice"
        raise TypeError(f"slices: expected a list of at least one sparse matrix {what}, or a Thesaurus, got {got}")


def as_slices(slices: Sequence[Any], asymmetric: Sequence[int], dtype: Any) -> list[Slice]:
    """Slices of equal size, checked."""
    check_list(slices)
    found: list[Slice] = []
    for k, each in enumerate(slices):
        if isinstance(each, CosineSlice):
            if k in asymmetric:
                raise ValueError(f"asymmetric: slice {k} has cosines, which are symmetric")
            found.append(each)
        else:
            found.append(ObservedSlice(each, symmetric=k not in asymmetric, dtype=dtype, name=f"slices[{k}]"))
    sizes = {len(each) for each in found}
    if len(sizes) > 1:
        raise ValueError(f"slices: expected one number of words for all, got {sorted(sizes)}")
    if sizes == {0}:
        raise ValueError("slices: expected at least one word, got none")
    if any(k >= len(found) for k in asymmetric):
        raise ValueError(f"asymmetric: there are {len(found)} slices, got {tuple(map(int, asymmetric))}")
    return found


class CellSampler:
    """Draws the cells of all slices that a sweep uses.

    Parameters
    ----------
    slices : list of Slice
    zeros : float or sequence of float
        For each slice.
    cells : sequence of (int, "match" or None), or None
    observation : Observation
        Of the values of cells: once of those that are given, of cosines whenever they are drawn.
    """

    def __init__(
        self,
        slices: list[Slice],
        zeros: Any,
        cells: Sequence[int | str | None] | None,
        observation: Observation | None = None,
    ) -> None:
        self.slices = slices
        self._observation = Observation() if observation is None else observation
        self._zeros = zeros_of_slices(zeros, [isinstance(each, CosineSlice) for each in slices])
        if cells is not None and (isinstance(cells, str) or not isinstance(cells, (Sequence, np.ndarray))):
            raise TypeError(f"cells: expected a sequence, one for each of {len(slices)} slices, got {cells!r}")
        self._cells = (
            ["match" if isinstance(each, CosineSlice) else None for each in slices]
            if cells is None
            else list(cells)
        )
        if len(self._cells) != len(slices):
            raise ValueError(f"cells: expected one for each of {len(slices)} slices, got {len(self._cells)}")
        for k, (n, each) in enumerate(zip(self._cells, slices, strict=True)):
            whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1
            if not (whole or n is None or n == "match"):
                raise ValueError(f'cells: expected positive integers, "match" or None, got {n!r}')
            if n is None and isinstance(each, CosineSlice):
                raise ValueError(
                    f"cells: slice {k} has cosines of all words: expected a number of cells or 'match'"
                )
            if n == "match" and k == 0:
                raise ValueError("cells: the first slice cannot match itself: expected a number of cells or None")
            if isinstance(each, ObservedSlice):
                each.observe(self._observation, k, with_zeros=self._zeros[k] > 0)

    @property
    def n_words(self) -> int:
        return len(self.slices[0])

    def hold_out(self, share: float, rng: np.random.Generator) -> list[Cells]:
        """Take a share of the cells of all observed slices out, and return them; none of a slice of cosines."""
        nothing = Cells(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        held = [each.split(share, rng) if isinstance(each, ObservedSlice) else nothing for each in self.slices]
        if not any(map(len, held)):
            sizes = [len(each.cells) if isinstance(each, ObservedSlice) else 0 for each in self.slices]
            raise ValueError(
                f"held_out: expected a share with at least one of {sizes} observed cells, got {share:g}"
            )
        return held

    def draw(self, numbers: ChainNumbers, sweep: int, dtype: Any, n_threads: int) -> list[Cells]:
        """The cells of a sweep."""
        drawn: list[Cells] = []
        for k, (each, n) in enumerate(zip(self.slices, self._cells, strict=True)):
            wanted = len(drawn[0]) if n == "match" else None if n is None else int(n)
            mine = SliceNumbers(numbers, sweep, k)
            if isinstance(each, CosineSlice):
                assert wanted is not None
                drawn.append(self._observation.of(each.draw(wanted, mine, dtype, n_threads), k))
            else:
                drawn.append(each.draw(wanted, self._zeros[k], mine, n_threads))
        return drawn


def zeros_of_slices(zeros: Any, cosines: Sequence[bool]) -> list[float]:
    """For each slice, given one number for those without cosines or one for each."""
    try:
        values = np.asarray(zeros)
    except ValueError:  # sequences of several lengths
        values = np.empty((0, 0))
    per_slice = values.ndim == 1 and len(values) == len(cosines)
    if values.dtype.kind not in "iuf" or not (values.ndim == 0 or per_slice):
        raise ValueError(f"zeros: expected a number, or one for each of {len(cosines)} slices, got {zeros!r}")
    found = [float(x) for x in values] if per_slice else [0.0 if each else float(values) for each in cosines]
    for value, each in zip(found, cosines, strict=True):
        if not (np.isfinite(value) and value >= 0) or (value > 0 and each):
            raise ValueError(f"zeros: expected numbers of at least 0, and 0 for slices of cosines, got {zeros!r}")
    return found
