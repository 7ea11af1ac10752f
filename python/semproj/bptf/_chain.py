"""A Gibbs chain over words, slices and their hyper-parameters: one sweep after the other.

The model (Zhang, Salwen, Glass and Gliozzo 2014, section 3): cell (i, j) of slice k is normal with mean V_i' M_k
V_j and precision alpha w, where w is 1 or what a user's function made of the cell's value, and M_k is diag(P_k)
for a symmetric slice and any square matrix A_k for an asymmetric one. Words V_i, slice vectors P_k and the rows of
all A_k have normal priors whose means and precisions are drawn too.

A cell of a symmetric slice is one observation, whichever way round it was given. The paper's equations 1 and 5 sum
over both orders and so count it twice, its equation 4 once; the conditionals of one model count it once in all of
them.

`_random` has the random numbers: a chain can be left and taken up at any sweep, and is the same for any number of
threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .. import _core
from .._common.resources import single_threaded_blas
from .._common.types import Array
from ._observed import Cells
from ._random import MATRIX_PRIOR, PRECISION, SLICE, SLICE_PRIOR, START, WORD_PRIOR, ChainNumbers

_CHUNK_WORDS = 4096


@dataclass(frozen=True)
class HyperPrior:
    """Of the means and precisions: normal-Wishart with mean 0, scale I and this many degrees of freedom more than
    dimensions; of alpha: Wishart with scale 1 and as many."""

    beta: float = 1.0
    extra_freedom: float = 0.0


class Chain:
    """Vectors of words and slices, and the precision, as they are after some sweep.

    Parameters
    ----------
    n_words, n_components : int
    symmetric : sequence of bool
        For each slice.
    seed : int
    dtype : dtype of the word vectors
    """

    def __init__(
        self,
        n_words: int,
        n_components: int,
        symmetric: Sequence[bool],
        *,
        seed: int,
        n_threads: int,
        dtype: Any = np.float32,
        prior: HyperPrior | None = None,
    ) -> None:
        self.n_words, self.d, self.symmetric = n_words, n_components, tuple(symmetric)
        self.numbers, self.n_threads = ChainNumbers(seed), n_threads
        self.prior = HyperPrior() if prior is None else prior
        self.padded = np.zeros((n_words, _core.padded(n_components)), dtype)
        rng = self.numbers.generator(0, START)
        # Short vectors, so that no cell is far off; slices that take them as they are.
        self.words[:] = rng.normal(scale=n_components**-0.25 / 2, size=(n_words, n_components))
        self.slices = rng.normal(1.0, 0.1, (len(self.symmetric), n_components))
        matrices = rng.normal(scale=0.1, size=(len(self.symmetric), n_components, n_components))
        self.matrices = matrices + np.eye(n_components)
        for k, each in enumerate(self.symmetric):
            if not each:  # its vector is A's diagonal, here and after each draw of A
                self.slices[k] = np.diag(self.matrices[k])
        self.alpha = 1.0
        self._listed: list[Cells] = []  # what the lists and classes of words are of
        self._lists: _core.NeighborLists
        self._classes: _core.WordClasses

    @property
    def words(self) -> Array:
        """V, of shape (n_words, n_components)."""
        return self.padded[:, : self.d]

    def sweep(self, slices: Sequence[Cells], sweep: int) -> tuple[float, float]:
        """Draw everything once, given cells. Returns the sums of squares and of sizes of residuals before."""
        with single_threaded_blas():
            squares, sizes = self.residuals(slices)
            if not np.isfinite(squares):
                raise ValueError(f"slices: errors are not finite before sweep {sweep}; values are too large")
            n = sum(map(len, slices))
            freedom = self.d + self.prior.extra_freedom
            self.alpha = self.numbers.generator(sweep, PRECISION).gamma((freedom + n) / 2, 2 / (1 + squares))
            self._draw_words(slices, sweep)
            self._draw_slices(slices, sweep)
        return squares, sizes

    def residuals(self, slices: Sequence[Cells]) -> tuple[float, float]:
        """Sums of the squares of the residuals, weighted by the precisions of cells, and of their sizes."""
        squares = sizes = 0.0
        for k, cells in enumerate(slices):
            found = _core.residual_sums(
                self.padded, self._mapped(k), cells.rows, cells.cols, cells.values, self.n_threads, cells.roots
            )
            squares += found.squares
            sizes += found.sizes
        return squares, sizes

    def predict(self, rows: Array, cols: Array, k: int) -> Array:
        """What cells of a slice are about, by the vectors as they are."""
        found: Array = _core.pair_products(self.padded, self._mapped(k), rows, cols, self.n_threads)
        return found

    def _mapped(self, k: int) -> Array:
        """All words as a slice sees them, padded."""
        mapped = np.zeros_like(self.padded)
        mapped[:, : self.d] = apply(
            self.words, self.slices[k], self.matrices[k] if not self.symmetric[k] else None
        )
        return mapped

    def lists(self, slices: Sequence[Cells]) -> _core.NeighborLists:
        """The neighbours of each word, in one list a slice, two for an asymmetric one."""
        entries, n_lists = [], 0
        for cells in slices:
            last = n_lists if cells.symmetric else n_lists + 1
            entries.append(_core.SliceCells(cells.rows, cells.cols, cells.values, n_lists, last, cells.roots))
            n_lists = last + 1
        return _core.neighbor_lists(entries, self.n_words, n_lists, self.n_threads)

    def word_prior(self, sweep: int) -> tuple[Array, Array]:
        """Precision of the words' prior, and its product with their mean."""
        gram = _core.table_gram(self.words, self.n_threads)
        precision, mean = self._draw_prior(
            self.n_words, self.words.sum(axis=0, dtype=np.float64), gram, self.numbers.generator(sweep, WORD_PRIOR)
        )
        return precision, precision @ mean

    def draw_words(
        self,
        lists: _core.NeighborLists,
        prior: tuple[Array, Array],
        classes: _core.WordClasses,
        sweep: int,
    ) -> None:
        """Draw the words of some classes, given the prior of all."""
        maps, diagonal = [], []
        for k, symmetric in enumerate(self.symmetric):
            if symmetric:
                maps.append(np.diag(self.slices[k]))
            else:
                maps += [self.matrices[k], self.matrices[k].T]
            diagonal += [symmetric] * (1 if symmetric else 2)
        precision, weighted_mean = prior
        conditional = _core.WordConditional(
            precision=np.ascontiguousarray(precision).ravel(),
            precision_mean=weighted_mean,
            maps=np.array(maps).ravel(),
            diagonal=np.array(diagonal, np.uint8),
            alpha=float(self.alpha),
        )
        failed = _core.draw_words(
            self.padded, self.d, lists, conditional, classes, self.numbers.seed, sweep, self.n_threads
        )
        if failed >= 0:
            raise ValueError(
                f"slices: the system of word {failed} is singular in sweep {sweep}; values are too large"
            )

    def _draw_words(self, slices: Sequence[Cells], sweep: int) -> None:
        # Where no cells are drawn, those of all sweeps are the same objects.
        if len(self._listed) != len(slices) or any(a is not b for a, b in zip(self._listed, slices, strict=True)):
            lists = self.lists(slices)
            classes = _core.color_classes(np.ascontiguousarray(lists.indptr[:: lists.n_lists]), lists.words)
            self._listed, self._lists, self._classes = list(slices), lists, classes
        self.draw_words(self._lists, self.word_prior(sweep), self._classes, sweep)

    def _draw_slices(self, slices: Sequence[Cells], sweep: int) -> None:
        symmetric = [k for k, each in enumerate(self.symmetric) if each]
        if symmetric:
            P = self.slices[symmetric]
            rng = self.numbers.generator(sweep, SLICE_PRIOR)
            precision, mean = self._draw_prior(len(P), P.sum(axis=0), P.T @ P, rng)
            for k in symmetric:
                cells = slices[k]
                sums = _core.cell_sums(
                    self.padded, self.d, cells.rows, cells.cols, cells.values, self.n_threads, cells.roots
                )
                self.slices[k] = _draw_normal(
                    precision + self.alpha * sums.gram,
                    precision @ mean + self.alpha * sums.sum,
                    self.numbers.generator(sweep, SLICE, k),
                )
        others = [k for k, each in enumerate(self.symmetric) if not each]
        if others:
            A = self.matrices[others].reshape(-1, self.d)
            rng = self.numbers.generator(sweep, MATRIX_PRIOR)
            precision, mean = self._draw_prior(len(A), A.sum(axis=0), A.T @ A, rng)
            for k in others:
                self._draw_matrix(k, slices[k], precision, mean, sweep)

    def _draw_matrix(self, k: int, cells: Cells, precision: Array, mean: Array, sweep: int) -> None:
        """All of A_k at once. Its D^2 regressors for a cell are the products V_ia V_jb; their Gram matrix is the
        sum over words i of the Kronecker product of V_i V_i' and the Gram matrix of the words that i has cells
        with."""
        d, (above, right) = self.d, np.triu_indices(self.d)
        both = _core.SliceCells(cells.rows, cells.cols, cells.values, row_list=0, col_list=1, roots=cells.roots)
        lists = _core.neighbor_lists([both], self.n_words, 2, self.n_threads)
        products = np.zeros((len(above), len(above)))
        total = np.zeros((d, d))
        for begin in range(0, self.n_words, _CHUNK_WORDS):
            V = self.words[begin : begin + _CHUNK_WORDS].astype(np.float64)
            grams, sums = np.empty((len(V), len(above))), np.empty((len(V), d))
            _core.list_grams(self.padded, d, lists, 0, begin, grams, sums, self.n_threads)
            products += (V[:, above] * V[:, right]).T @ grams
            total += V.T @ sums
        place = np.empty((d, d), np.int64)
        place[above, right] = place[right, above] = np.arange(len(above))
        # Of elements (a, b) and (c, e) of A: the sum of V_ia V_ic times V_jb V_je.
        gram = products[place[:, None, :, None], place[None, :, None, :]].reshape(d * d, d * d)
        system = self.alpha * gram + np.kron(np.eye(d), precision)
        linear = self.alpha * total.ravel() + np.tile(precision @ mean, d)
        self.matrices[k] = _draw_normal(system, linear, self.numbers.generator(sweep, SLICE, k)).reshape(d, d)
        self.slices[k] = np.diag(self.matrices[k])

    def _draw_prior(self, n: int, total: Array, gram: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Precision and mean of n vectors with this sum and Gram matrix."""
        d, beta = self.d, self.prior.beta
        average = total / n
        scatter = gram - n * np.outer(average, average)
        inverse_scale = np.eye(d) + scatter + beta * n / (beta + n) * np.outer(average, average)
        lower = np.linalg.cholesky((inverse_scale + inverse_scale.T) / 2)
        freedom = d + self.prior.extra_freedom + n
        # Bartlett's decomposition of a Wishart with scale 1, turned to the scale.
        triangle = np.tril(rng.standard_normal((d, d)), -1)
        triangle[np.diag_indices(d)] = np.sqrt(rng.chisquare(freedom - np.arange(d)))
        factor = solve_triangular(lower, triangle, trans="T", lower=True)
        precision: Array = factor @ factor.T
        noise = solve_triangular(
            np.linalg.cholesky((beta + n) * precision), rng.standard_normal(d), trans="T", lower=True
        )
        return precision, total / (beta + n) + noise


def apply(words: Array, perspective: Array, matrix: Array | None) -> Array:
    """V_j as cells of a slice see it: M V_j."""
    if matrix is None:
        scaled: Array = words * perspective.astype(words.dtype)
        return scaled
    mapped: Array = words @ matrix.T.astype(words.dtype)
    return mapped


def _draw_normal(precision: Array, weighted_mean: Array, rng: np.random.Generator) -> Array:
    lower = np.linalg.cholesky((precision + precision.T) / 2)
    half = solve_triangular(lower, weighted_mean, lower=True) + rng.standard_normal(len(lower))
    drawn: Array = solve_triangular(lower, half, trans="T", lower=True)
    return drawn
