"""Exponentials and logarithms of duals beside those of the C library."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from semproj.jit import _elementary as elementary

RNG = np.random.default_rng(0)
WIDE = np.concatenate([RNG.uniform(-700, 700, 5000), RNG.uniform(-1, 1, 5000), 10.0 ** RNG.uniform(-300, 0, 2000)])
POSITIVE = np.concatenate([10.0 ** RNG.uniform(-320, 308, 5000), RNG.uniform(0.5, 2, 5000), [5e-324, 1.0]])
CASES = {
    "exp": (math.exp, WIDE),
    "expm1": (math.expm1, WIDE),
    "log": (math.log, POSITIVE),
    "log1p": (math.log1p, np.concatenate([POSITIVE, -RNG.random(5000), -(10.0 ** RNG.uniform(-300, -1, 2000))])),
    "log2": (math.log2, np.concatenate([POSITIVE, 2.0 ** np.arange(-1074, 1024)])),
    "log10": (math.log10, POSITIVE),
    "tanh": (math.tanh, WIDE),
}
ENDS = {
    "exp": ([0, np.inf, 710, np.nan], [1, np.inf, np.inf, np.nan]),
    "expm1": ([0, -800, np.inf, np.nan], [0, -1, np.inf, np.nan]),
    "log": ([1, 0, -1, np.inf, np.nan], [0, -np.inf, np.nan, np.inf, np.nan]),
    "log1p": ([0, -1, -2, np.inf, np.nan], [0, -np.inf, np.nan, np.inf, np.nan]),
    "log2": ([8, 0, -1, np.inf, np.nan], [3, -np.inf, np.nan, np.inf, np.nan]),
    "log10": ([1, 0, -1, np.inf, np.nan], [0, -np.inf, np.nan, np.inf, np.nan]),
    "tanh": ([0, 800, -np.inf, np.nan], [0, 1, -1, np.nan]),
}


def mapped(name, at):
    function = getattr(elementary, name)

    @numba.njit
    def loop(at, out):
        for i in range(len(at)):
            out[i] = function(at[i])

    out = np.empty(len(at))
    loop(np.asarray(at, float), out)
    return out


@pytest.mark.parametrize("name", CASES)
def test_within_units_in_the_last_place(name):
    function, at = CASES[name]
    expected = np.array([function(x) for x in at])
    units = np.abs(mapped(name, at) - expected) / np.spacing(np.abs(expected))
    assert units.max() <= (8 if name in ("expm1", "tanh") else 2)


@pytest.mark.parametrize("name", ENDS)
def test_at_the_ends(name):
    np.testing.assert_array_equal(mapped(name, ENDS[name][0]), ENDS[name][1])
