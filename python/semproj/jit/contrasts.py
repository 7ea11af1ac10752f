"""A user's loss of the differences of cosines, over all pairs of rows of two views.

As the library's own losses (csrc/models/s2net.h): in round r, block i of rows meets block i + r of columns. So
a task owns the gradients of its rows and of its columns, and sums have one order for any number of threads.

Products are the library's. Numba compiles the loop over the cosines of a block: the function is called with
numbers and their derivatives (`_duals`), whose exponentials and logarithms LLVM makes vectors of. With those of
the C library, a number at a time, it took 3.6 times as long as the built-in loss; so would C++, by address.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from .. import _core
from .._common.types import Array
from ._duals import dual, pair_of
from ._function import Argument, Loop, compile_loop, loop_around
from ._loops import run, run_tasks

CALL = "loss(difference), and returns the loss, or two numbers: the loss and its derivative"
LOSS = Argument("loss", CALL, (0.5,))
_LARGEST_BLOCK, _SMALLEST_BLOCK, _TASKS = 512, 64, 16
_LOSSES, _COLUMN_PULLS, _OWN, _SLOPES, _WEIGHTS = range(5)  # rows of a task's scratch memory


@numba.njit(nogil=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
def _total(numbers: Any) -> float:  # pragma: no cover - compiled
    """Several sums at once, and their sum: an order of its own, but always the same."""
    total = 0.0
    for each in numbers:
        total += each
    return total


def _inline(function: Any) -> Any:
    """The same function inside of its loop, so that LLVM makes vectors of both."""
    options = {name: value for name, value in function.targetoptions.items() if name != "nopython"}
    return numba.njit(**{**options, "forceinline": True})(function.py_func)


def _block_loop(evaluate: Any) -> Loop:
    """Cosines of a block become weights; the losses go to the scratch memory, and the pulls."""

    def loop(  # pragma: no cover - compiled
        cosines: Any,
        own_rows: Any,
        own_columns: Any,
        forward: Any,
        backward: Any,
        diagonal: Any,
        row_pulls: Any,
        scratch: Any,
    ) -> None:
        for r in range(len(cosines)):
            for part in range(2 if diagonal else 1):
                start = r + 1 if part == 1 else 0
                stop = r if diagonal and part == 0 else cosines.shape[1]
                row, theirs = cosines[r, start:stop], own_columns[start:stop]
                losses, column_pulls = scratch[_LOSSES, start:stop], scratch[_COLUMN_PULLS, start:stop]
                own, slopes = scratch[_OWN, start:stop], scratch[_SLOPES, start:stop]
                weights = scratch[_WEIGHTS, start:stop]
                for c in range(len(row)):
                    weights[c] = 0.0
                for direction in range(2):
                    share = backward if direction else forward
                    if share > 0:
                        for c in range(len(row)):
                            own[c] = theirs[c] if direction else own_rows[r]
                        for c in range(len(row)):
                            loss, slope = evaluate(own[c] - float(row[c]))
                            losses[c] += share * loss
                            slopes[c] = share * slope
                        if direction:
                            for c in range(len(row)):
                                column_pulls[c] += slopes[c]
                        else:
                            row_pulls[r] += _total(slopes)
                        for c in range(len(row)):
                            weights[c] -= slopes[c]
                for c in range(len(row)):
                    row[c] = weights[c]
            if diagonal:
                cosines[r, r] = 0.0

    return loop


def _sample_loop(evaluate: Any) -> Loop:
    def loop(first: Any, last: Any, at: Any, out: Any) -> None:  # pragma: no cover - compiled
        for i in range(first, last):
            out[i, 0], out[i, 1] = evaluate(at[i])

    return loop


def _evaluation(function: Any, body: Any) -> Any:
    """With a name that says which function it is of, as its symbol must be of no other."""
    body.__qualname__ = f"{body.__name__}_{function.py_func.__qualname__}"
    return numba.njit(forceinline=True)(body)


def _by_duals(function: Any) -> Any:
    inner = _inline(function)

    def derived(x: Any) -> Any:  # pragma: no cover - compiled
        return pair_of(inner(dual(x, 1.0)))

    return _evaluation(function, derived)


def _by_pairs(function: Any) -> Any:
    inner = _inline(function)

    def given(x: Any) -> Any:  # pragma: no cover - compiled
        loss, slope = inner(x)
        return float(loss), float(slope)

    return _evaluation(function, given)


class _Loops(NamedTuple):
    """The loops around a function that is evaluated in one of two ways."""

    blocks: Any
    samples: Any


@loop_around
def _derived_blocks(function: Any) -> Loop:
    return _block_loop(_by_duals(function))


@loop_around
def _derived_samples(function: Any) -> Loop:
    return _sample_loop(_by_duals(function))


@loop_around
def _given_blocks(function: Any) -> Loop:
    return _block_loop(_by_pairs(function))


@loop_around
def _given_samples(function: Any) -> Loop:
    return _sample_loop(_by_pairs(function))


_SAMPLED = (numba.types.int64, numba.types.int64, numba.types.float64[::1], numba.types.float64[:, ::1])


@functools.lru_cache(maxsize=64)
def _loops(function: Any) -> _Loops:
    """By the derivative that Numba finds, or that the function returns if Numba finds none."""
    if not callable(function):
        raise TypeError(f"{LOSS.name}: expected a function, got {function!r}")
    try:
        compile_loop(_derived_samples, function, LOSS, _SAMPLED)
        return _Loops(_derived_blocks, _derived_samples)
    except TypeError as error:
        first = error
    try:
        compile_loop(_given_samples, function, LOSS, _SAMPLED)
        return _Loops(_given_blocks, _given_samples)
    except TypeError as error:
        if str(error) == str(first):
            raise
        hint = "it is compiled for a number and its derivative; where that cannot be, it must return both"
        raise TypeError(f"{first}\n{hint}") from first


def check_loss(function: Any) -> None:
    """Check that a function can be compiled as a loss, without a call."""
    _loops(function)


class _Pairs:
    """The rows of two views, and what is summed over their pairs."""

    def __init__(
        self, function: Any, U: Array, V: Array, shares: tuple[float, float], of_u: Array, of_v: Array
    ) -> None:
        self._function, self._U, self._V, self._shares, self._of_u, self._of_v = function, U, V, shares, of_u, of_v
        self._m = m = len(U)
        self._size = min(max(-(-m // _TASKS) + 15 & ~15, _SMALLEST_BLOCK), _LARGEST_BLOCK)
        self.n_blocks = -(-m // self._size)
        self.own = np.einsum("ij,ij->i", U, V, dtype=np.float64)
        self.row_pulls, self.column_pulls = np.zeros((2, m))
        self.losses = np.zeros(self.n_blocks)  # of blocks of rows
        self._free: list[tuple[Array, Array]] = []  # scratch memory: appending and popping need no lock
        kinds = *map(numba.typeof, (U[:1, :1].copy(), self.own, self.own)), *[numba.types.float64] * 2
        rest = numba.types.boolean, numba.typeof(self.own), numba.types.float64[:, ::1]
        self._loop = compile_loop(_loops(function).blocks, function, LOSS, (*kinds, *rest))

    def visit(self, turn: int, task: int) -> None:
        """A block of rows meets one of columns."""
        rows, columns = self._block(task), self._block((task + turn) % self.n_blocks)
        try:
            room = self._free.pop()
        except IndexError:
            room = np.empty(self._size**2, self._U.dtype), np.empty((5, self._size))
        U, V, scratch = self._U[rows], self._V[columns], room[1]
        cosines = room[0][: len(U) * len(V)].reshape(len(U), len(V))
        _core.product(U, V, cosines, False, True, False)
        scratch[:2] = 0
        own = self.own[rows], self.own[columns]
        self._loop(cosines, *own, *self._shares, turn == 0, self.row_pulls[rows], scratch)
        self.losses[task] += scratch[0, : len(V)].sum()
        self.column_pulls[columns] += scratch[1, : len(V)]
        _core.product(cosines, V, self._of_u[rows], False, False, True)
        _core.product(cosines, U, self._of_v[columns], True, False, True)
        self._free.append(room)

    def _block(self, i: int) -> slice:
        return slice(i * self._size, (i + 1) * self._size)

    def name_bad(self) -> None:
        """Raise ValueError for the first pair of which the function raises an error, or returns no number."""
        for i in range(self._m):
            cosines = (self._V @ self._U[i]).astype(np.float64)
            for share, own in zip(self._shares, (self.own[i], self.own), strict=True):
                if share > 0:
                    place = functools.partial(_place, i)
                    sample_losses(self._function, np.delete(own - cosines, i), place)


def _place(i: int, j: int) -> str:
    """The rows of the difference j of row i, which has none to itself."""
    return f" for rows {i} and {j + (j >= i)}"


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
    of_u[:], of_v[:] = 0, 0
    if m == 1:
        return 0.0
    share = 1 / (m * (m - 1))
    pairs = _Pairs(function, U, V, (forward * share, backward * share), of_u, of_v)
    with np.errstate(over="ignore", invalid="ignore"):
        for turn in range(pairs.n_blocks):
            if (error := run_tasks(functools.partial(pairs.visit, turn), pairs.n_blocks, n_threads)) is not None:
                pairs.name_bad()
                raise error
        total, pulls = float(pairs.losses.sum()), pairs.row_pulls + pairs.column_pulls
        if not (np.isfinite(total) and np.isfinite(pulls).all()):
            pairs.name_bad()
            raise ValueError(f"{LOSS.name}: the function returned NaN or infinity; it is called as {LOSS.call}")
        pulls = pulls.astype(U.dtype)[:, None]
        of_u += pulls * V
        of_v += pulls * U
    if not (np.isfinite(of_u).all() and np.isfinite(of_v).all()):
        raise ValueError(f"{LOSS.name}: the function returned numbers too large for {U.dtype}")
    return total


def sample_losses(function: Any, at: Array, where: Callable[[int], str] = lambda i: "") -> Array:
    """The losses of some differences, and their derivatives. Errors say which difference, and `where`."""
    out = np.empty((len(at), 2))

    def place(i: int) -> str:
        return f"for a difference of {at[i]:g}{where(i)}"

    run(_loops(function).samples, function, LOSS, at, out, n_cells=len(at), n_threads=1, where=place)
    if not (finite := np.isfinite(out).all(axis=1)).all():
        bad = int(finite.argmin())
        raise ValueError(
            f"{LOSS.name}: the function returned NaN or infinity {place(bad)}; it is called as {LOSS.call}"
        )
    return out
