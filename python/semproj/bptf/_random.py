"""The random numbers of a chain: each is a function of the seed, the sweep, and what it is for.

So a chain can be left and taken up at any sweep, and is the same for any number of threads. Word vectors are drawn
in C++, from the same seed and sweep and the number of the word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What a random number is for, besides a word's vector. New ones come last: numbers of the others stay as they are.
CELLS, PRECISION, WORD_PRIOR, SLICE_PRIOR, MATRIX_PRIOR, SLICE, START, PAIRS, NEW_CELLS = range(9)


@dataclass(frozen=True)
class ChainNumbers:
    """All random numbers of a chain."""

    seed: int

    def generator(self, sweep: int, purpose: int, part: int = 0) -> np.random.Generator:
        """Those for one purpose in one sweep; `part` tells slices apart."""
        # As uint64: a list with numbers on both sides of 2^63 would become floats, and seeds would meet.
        key = np.array([self.seed, sweep << 24 | part << 8 | purpose], np.uint64)
        return np.random.Generator(np.random.Philox(key=key))


@dataclass(frozen=True)
class SliceNumbers:
    """The random numbers for the cells of one slice in one sweep."""

    chain: ChainNumbers
    sweep: int
    slice: int

    def generator(self, purpose: int = CELLS) -> np.random.Generator:
        return self.chain.generator(self.sweep, purpose, self.slice)
