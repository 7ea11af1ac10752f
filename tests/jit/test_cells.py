"""A function over many cells beside Python's own loop over them."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from semproj.jit._function import Argument
from semproj.jit.cells import map_cells
from tests.support import same_bits

RNG = np.random.default_rng(0)


def shifted(value, i=0, j=0, k=0, m=0, n=0, p=0):
    return np.log1p(abs(value)) + 10 * i + 100 * j + 1000 * k + m + n * p - p


def mapped(function, columns, n, n_threads=2, dtype=np.float64):
    argument = Argument("value", "value(x, ...)")
    return map_cells(function, argument, columns, np.empty(n, dtype), n_threads, lambda i: f"for cell {i}")


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7])
def test_any_number_of_columns(width):
    n = 1000
    columns = [RNG.standard_normal(n).astype(np.float32), *RNG.integers(0, 9, (6, n)).astype(np.int32)][:width]
    expected = [shifted(*(float(column[i]) for column in columns)) for i in range(n)]
    np.testing.assert_allclose(mapped(shifted, columns, n), expected, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f4", "f8", ">f4", ">i8", "f2", "?"])
def test_numbers_come_wide(dtype):
    """An 8-bit integer would overflow, and half of float32's digits would be lost."""
    column = (RNG.integers(0, 100, 300) if dtype != "?" else RNG.integers(0, 2, 300)).astype(dtype)
    found = mapped(lambda x: x * 1_000_003, [column], 300)
    np.testing.assert_array_equal(found, column.astype(np.float64) * 1_000_003)


def test_one_number_strides_and_no_cells():
    column = np.arange(20.0)[::2]
    np.testing.assert_array_equal(mapped(lambda x, n: x / n, [column, 4], 10), column / 4)
    assert len(mapped(lambda x: x, [np.empty(0)], 0)) == 0
    assert mapped(lambda x: x, [column], 10, dtype=np.float32).dtype == np.float32


def test_same_bits_for_any_number_of_threads():
    column = RNG.random(100_000)
    function = numba.njit(lambda x: np.exp(-x) * np.sin(1 / x))
    expected = mapped(function, [column], len(column), 1)
    assert all(same_bits(mapped(function, [column], len(column), n), expected) for n in (2, 3, 16))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_first_bad_cell_is_named(n_threads):
    column = np.ones(50_000)
    column[[30_123, 40_000]] = 0
    raising, message = lambda x: 1 / x, r"^value: the function raised ZeroDivisionError: .* for cell 30123; it is"
    with pytest.raises(ValueError, match=message):
        mapped(raising, [column], len(column), n_threads)
    for bad, word in ((np.nan, "nan"), (np.inf, "inf")):
        with pytest.raises(ValueError, match=f"^value: the function returned {word} for cell 30123; it is called"):
            mapped(lambda x, bad=bad: bad if x == 0 else x, [column], len(column), n_threads)
