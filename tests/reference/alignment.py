"""Length-based sentence alignment by exhaustive dynamic programming over the whole square, one cell at a time."""

from __future__ import annotations

import math
from functools import cache

PRIORS = {(1, 1): 0.89, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011}


def mismatch(source: float, target: float, ratio: float, variance: float) -> float:
    """delta^2 / 2 with delta = (k - r l) / sqrt(v (r l + k) / 2)."""
    delta = (target - ratio * source) / math.sqrt(variance * (ratio * source + target) / 2 + 1e-9)
    return delta**2 / 2


def best_cost(source: list[int], target: list[int], ratio: float, variance: float, skip: float) -> float:
    """The cost of the cheapest path, over all paths."""

    @cache
    def cost(i: int, j: int) -> float:
        if i == 0 and j == 0:
            return 0.0
        found = [math.inf]
        if i:
            found.append(cost(i - 1, j) - math.log(skip))
        if j:
            found.append(cost(i, j - 1) - math.log(skip))
        for (a, b), prior in PRIORS.items():
            if i >= a and j >= b:
                fit = mismatch(sum(source[i - a : i]), sum(target[j - b : j]), ratio, variance)
                found.append(cost(i - a, j - b) - math.log(prior) + fit)
        return min(found)

    return cost(len(source), len(target))


def path_cost(
    beads: list[list[int]], source: list[int], target: list[int], ratio: float, variance: float, skip: float
) -> float:
    """The cost of a given path; it must take every sentence of both sides once, in order."""
    total, i, j = 0.0, 0, 0
    for a, b, c, d in beads:
        assert (a, c) == (i, j)
        i, j = b, d
        if a == b or c == d:
            assert (b - a, d - c) in {(1, 0), (0, 1)}
            total -= math.log(skip)
        else:
            total -= math.log(PRIORS[b - a, d - c])
            total += mismatch(sum(source[a:b]), sum(target[c:d]), ratio, variance)
    assert (i, j) == (len(source), len(target))
    return total
