"""A user's loss of the differences of cosines, over all pairs of rows of two views.

As the library's own losses (csrc/models/s2net.h): in round r, block i of rows meets block i + r of columns. So
a task owns the gradients of its rows and of its columns, and sums have one order for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .._common.types import Array
from ._function import Argument, Loop, loop_around
from ._loops import run

_LOSS = Argument("loss", "loss(difference), and returns two numbers: the loss and its derivative")
_BLOCK = 256  # rows, and columns: cosines stay in the cache


# Products are apart from what a user's function is compiled into: they take the longest to compile.
@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _cosines(rows: Any, columns: Any) -> Any:  # pragma: no cover - compiled
    return np.dot(rows, columns.T)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _add_gradients(  # pragma: no cover - compiled
    weights: Any, rows: Any, columns: Any, of_rows: Any, of_columns: Any
) -> None:
    of_rows += np.dot(weights, columns)
    of_columns += np.dot(weights.T, rows)


@loop_around
def _pair_kernel(function: Any) -> Loop:
    """The loop with `function` inlined, compiled once per function and dtype. A cell is a block of rows."""

    def kernel(  # pragma: no cover - compiled
        first: Any,
        last: Any,
        turn: Any,
        size: Any,
        U: Any,
        V: Any,
        own: Any,
        forward: Any,
        backward: Any,
        of_u: Any,
        of_v: Any,
        row_pulls: Any,
        column_pulls: Any,
        losses: Any,
    ) -> None:
        m = len(U)
        count = (m + size - 1) // size
        for task in range(first, last):
            other = (task + turn) % count
            rows, columns = slice(task * size, (task + 1) * size), slice(other * size, (other + 1) * size)
            weights = _cosines(U[rows], V[columns])
            for r in range(len(weights)):
                i = task * size + r
                for c in range(weights.shape[1]):
                    j = other * size + c
                    cosine, weight = float(weights[r, c]), 0.0
                    if i != j:
                        if forward > 0:
                            loss, slope = function(own[i] - cosine)
                            losses[i] += forward * float(loss)
                            row_pulls[i] += forward * float(slope)
                            weight -= forward * float(slope)
                        if backward > 0:
                            loss, slope = function(own[j] - cosine)
                            losses[i] += backward * float(loss)
                            column_pulls[j] += backward * float(slope)
                            weight -= backward * float(slope)
                    weights[r, c] = weight
            _add_gradients(weights, U[rows], V[columns], of_u[rows], of_v[columns])

    return kernel


@loop_around
def _sample_kernel(function: Any) -> Loop:
    def kernel(first: Any, last: Any, at: Any, out: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            loss, slope = function(at[i])
            out[i, 0], out[i, 1] = float(loss), float(slope)

    return kernel


def pair_losses(
    function: Any,
    U: Array,
    V: Array,
    forward: float,
    backward: float,
    of_u: Array,
    of_v: Array,
    n_threads: int,
) -> float:
    """The mean loss of ``function(cosine of pair i - cosine of i and j)`` over all i and j != i.

    Rows have unit length, or less. Fills the gradients by both. The caller lets BLAS run on one thread only.
    """
    m = len(U)
    own = np.einsum("ij,ij->i", U, V, dtype=np.float64)
    row_pulls, column_pulls, losses = np.zeros((3, m))
    of_u[:], of_v[:] = 0, 0
    if m == 1:
        return 0.0
    share = 1 / (m * (m - 1))
    n_blocks = -(-m // _BLOCK)
    for turn in range(n_blocks):
        given = turn, _BLOCK, U, V, own, forward * share, backward * share
        written = of_u, of_v, row_pulls, column_pulls, losses
        run(_pair_kernel, function, _LOSS, *given, *written, n_cells=n_blocks, n_threads=n_threads)
    total, pulls = float(losses.sum()), row_pulls + column_pulls
    if not (np.isfinite(total) and np.isfinite(pulls).all()):
        raise ValueError(f"{_LOSS.name}: the function returned NaN or infinity; it is called as {_LOSS.call}")
    with np.errstate(over="ignore", invalid="ignore"):
        pulls = pulls.astype(U.dtype)[:, None]
        of_u += pulls * V
        of_v += pulls * U
    if not (np.isfinite(of_u).all() and np.isfinite(of_v).all()):
        raise ValueError(f"{_LOSS.name}: the function returned numbers too large for {U.dtype}")
    return total


def sample_losses(function: Any, at: Array) -> Array:
    """The losses of some differences, and their derivatives."""
    out = np.empty((len(at), 2))
    run(_sample_kernel, function, _LOSS, at, out, n_cells=len(at), n_threads=1)
    if not np.isfinite(out).all():
        worst = at[np.flatnonzero(~np.isfinite(out).all(axis=1))[0]]
        raise ValueError(f"{_LOSS.name}: the function returned NaN or infinity for a difference of {worst:g}")
    return out
