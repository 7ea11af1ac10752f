"""Sweeps of higher-order orthogonal iteration over a sparse tensor.

Tucker's best orthonormal factors maximise f = |X x_1 U_1' ... x_N U_N'|^2, the energy of the core. HOOI takes one
mode at a time: with Y the unfolding times the other factors, f = |U'Y|^2, and the best U is the leading left
subspace of Y. That subspace moves again as soon as the other modes do, so it is found exactly only in the first
sweep, where a mode is small, and otherwise improved by one relaxed step from where it was:

    S = U'Y,   N = Y S'(S S')^-1 - U,   U <- (U + w N)(I + w^2 N'N)^(-1/2).

N is orthogonal to U, and w = 1 is one step of subspace iteration. For 0 <= w <= 2 the step cannot lower f:

    f(new) >= 2 <new, Y S'> - |S|^2                        as |new'Y - S|^2 >= 0
    <new, Y S'> = tr(S S' h(N'N)) >= tr(S S') = |S|^2      as h(x) = (1 + w x) / sqrt(1 + w^2 x) >= 1.

Over-relaxing (w > 1) shortens the slow linear convergence of HOOI, as it does for Gauss-Seidel. On planted tensors
with noise the fit stays within 3e-4 of that of exact sweeps, below it at first and often above it later, and comes
near its limit in about as many sweeps, each for a part of the cost: on sparse and noisy ones, which converge
slowly, often in fewer, on others in up to half as many more.
A sweep needs the core S once: the last mode steps with the S from before its neighbour moved, which saves an
eighth to a quarter of the work. If the energy should fall by that, the step is taken again with the core as it is.

Cost of a sweep for modes of n rows, Y of c columns and rank R: 2 n c R flops for each step and 2 n c R for the
core; exact solves take n c^2, and O(c^3). Everything of the size of the core is double, and so are sums over rows,
but for the first 1024 of them; the rest is the tensor's dtype. All products run in fixed blocks: the bits do not
depend on threads. A Gram matrix of float32 has lost the directions below sqrt(eps) of the largest singular value;
where the rank asked for goes that far, it is made again in double.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from .._common.checkpoint import check_state
from .._common.resources import interruptible
from .._common.types import Array
from .._common.validation import check_real, seed_key
from .._solvers.krylov import complete, product
from ..kernels import Projection
from ._fibres import UNIT_ROWS, Block, Relabelled, Scratch, Unfolding

SMALL = 64  # a mode is solved exactly in every sweep where one side of its unfolding is this short
FEW = 512  # ... and in the first sweep up to this, or up to EXACT times the rank
EXACT = 8
FAR = 10.0  # condition at which a basis is made orthonormal in place
NEAR = 3.0  # condition up to which once is enough
PASSES = 6
# Directions of less than this many eps of the largest singular value are not told from rounding: products in the
# tensor's dtype have errors of a few eps of it, which scaling a weak direction to length one would lift.
RESOLUTION = 128
WEAK = 64  # ... and those of less than this many eps of the largest energy are lost in sums of the tensor's dtype
ROUNDING = 16  # eps: the energy of a core may fall by this without having fallen
DOUBLE_ROWS = 512  # summed in double at a time
FIRST_RELAXATION, LEAST_RELAXATION, MOST_RELAXATION, RELAXATION_STEP = 1.4, 1.1, 1.8, 0.15


class Basis:
    """Orthonormal columns, kept as ``tall @ mix``.

    Multiplying with the small matrix can wait: it is done on the side of the core, which is small as well, until
    `mix` is far from orthogonal.
    """

    def __init__(self, tall: Array, n_threads: int) -> None:
        self.tall, self._n_threads = tall, n_threads
        self._reset()

    def _reset(self) -> None:
        self.mix = self.unmix = self._one = np.eye(self.tall.shape[1])
        self._condition = 1.0

    def orthonormalize(self) -> None:
        """Choose `mix` anew, for the orthonormal columns that are nearest to what they are now."""
        if self.tall.shape[1] == 0:
            return
        eps = float(np.finfo(self.tall.dtype).eps)
        for _ in range(PASSES):
            gram = self.mix.T @ _core.tall_cross(self.tall, self.tall, self._n_threads) @ self.mix
            lengths, Q = np.linalg.eigh(gram)
            if not lengths[-1] > 0:
                break
            # A Gram matrix has half of the digits: directions that hide in it are lifted step by step.
            roots = np.sqrt(np.maximum(lengths, WEAK * eps * lengths[-1]))
            self.mix = self.mix @ ((Q / roots) @ Q.T)
            self.unmix = ((Q * roots) @ Q.T) @ self.unmix
            self._condition *= float(roots[-1] / roots[0])
            if self._condition > FAR:
                self.apply_mix()
            if roots[-1] < NEAR * roots[0]:
                return
        raise ValueError("tensor: the factors are not finite; the values are too large for their dtype")

    def apply_mix(self) -> None:
        """Make `tall` itself orthonormal."""
        if self.mix is self._one:
            return
        for begin in range(0, len(self.tall), UNIT_ROWS):
            part = self.tall[begin : begin + UNIT_ROWS]
            part[:] = product(part, self.mix, self._n_threads)
        self._reset()

    def copy_to(self, other: Basis | None) -> Basis:
        """The same, in the memory of another one."""
        if other is None:
            other = Basis(np.empty_like(self.tall), self._n_threads)
        np.copyto(other.tall, self.tall)
        other.mix, other.unmix, other._condition = self.mix, self.unmix, self._condition
        return other

    def state(self) -> dict[str, Array]:
        return {"tall": self.tall, "mix": self.mix, "unmix": self.unmix, "condition": np.array([self._condition])}

    def restore(self, state: dict[str, Array]) -> None:
        self.tall, self.mix, self.unmix = state["tall"], state["mix"], state["unmix"]
        self._condition = float(state["condition"][0])


class Hooi:
    """The factors and the core of a tensor while they are improved.

    Parameters
    ----------
    data : Relabelled
        The tensor.
    ranks : tuple of int
    block_bytes : int
        Of an unfolding at a time.
    """

    def __init__(
        self, data: Relabelled, ranks: tuple[int, ...], *, block_bytes: int, key: int, n_threads: int
    ) -> None:
        shape = data.shape
        self.ranks, self.key, self.n_threads = ranks, key, n_threads
        # Of n_rows rows; None for modes that are not compressed, or not yet known.
        self.bases: list[Basis | None] = [None] * len(shape)
        self.dtype, self._n_rows = data.values.dtype, data.n_rows
        self.modes = [j for j in range(len(shape)) if ranks[j] < shape[j]]
        scratch = Scratch(self.dtype)
        self.unfoldings = {
            j: Unfolding(data, j, ranks, block_bytes=block_bytes, scratch=scratch, n_threads=n_threads)
            for j in self.modes
        }
        self.small = [j for j in self.modes if self._short_side(j) <= SMALL]
        self.relaxed = [j for j in self.modes if j not in self.small]
        self.core: Array = np.zeros(ranks)
        self.energies: list[float] = []
        self.relaxation = FIRST_RELAXATION
        self._eps = float(np.finfo(self.dtype).eps)
        # Energies, of which a Gram matrix in double holds no more than its own digits.
        self._least = max((RESOLUTION * self._eps) ** 2, 64 * float(np.finfo(np.float64).eps))
        self._packed: tuple[int | None, Projection | None] = (None, None)
        self._before: Basis | None = None  # the last relaxed mode before its step

    def sweep(self) -> float:
        """Improve every factor once; returns the energy of the core."""
        if self.energies:
            self._choose_relaxation()
            self._relaxed_sweep()
        else:
            self._first_sweep()
        energy = float(np.vdot(self.core, self.core))
        self.energies.append(energy)
        return energy

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """What `restore` needs to go on from here."""
        arrays = {f"{name}_{j}": array for j in self.modes for name, array in self._basis(j).state().items()}
        scalars = {"energies": self.energies, "relaxation": self.relaxation, "key": self.key}
        return {**arrays, "core": self.core}, scalars

    def restore(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        """Go on from an earlier state."""
        expected: dict[str, Any] = {"core": (np.float64, self.ranks)}
        for j in self.modes:
            square = (np.float64, (self.ranks[j],) * 2)
            expected[f"tall_{j}"] = (self.dtype, (self._n_rows[j], self.ranks[j]))
            expected |= {f"mix_{j}": square, f"unmix_{j}": square, f"condition_{j}": (np.float64, (1,))}
        check_state(arrays, expected)
        for j in self.modes:
            mine = {name.removesuffix(f"_{j}"): a for name, a in arrays.items() if name.endswith(f"_{j}")}
            self.set_factor(j, mine["tall"])
            self._basis(j).restore(mine)
        self.core = arrays["core"]
        self.energies = [check_real(each, "energies", low=0) for each in scalars["energies"]]
        self.key = seed_key(scalars["key"])
        self.relaxation = check_real(
            scalars["relaxation"], "relaxation", low=LEAST_RELAXATION, high=MOST_RELAXATION
        )

    def set_factor(self, j: int, factor: Array) -> None:
        """Orthonormal columns for a mode."""
        self.bases[j] = Basis(factor, self.n_threads)

    def canonical(self) -> tuple[Array, list[Array | None]]:
        """Core and factors, turned so that the core's slices along each mode are orthogonal, the largest first."""
        core: Array = self.core
        factors: list[Array | None] = [None] * core.ndim
        for j in self.modes:
            S = core.transpose((j, *(a for a in range(core.ndim) if a != j))).reshape(core.shape[j], -1)
            turn = np.linalg.eigh(S @ S.T)[1][:, ::-1]
            basis = self._basis(j)
            factors[j] = product(basis.tall, basis.mix @ turn, self.n_threads)
            core = _multiply(core, {j: turn.T})
        return core, factors

    def needs_start(self, j: int) -> bool:
        """Whether a factor must be there before the first sweep."""
        return j in self.modes and not (j == self.modes[0] and self.is_exact(j))

    def is_exact(self, j: int) -> bool:
        """Whether the first sweep solves a mode exactly: where that costs no more than a few steps."""
        return self._short_side(j) <= max(FEW, EXACT * self.ranks[j])

    def _short_side(self, j: int) -> int:
        return min(self.unfoldings[j].n_rows, self.unfoldings[j].columns)

    def _first_sweep(self) -> None:
        for j in self.modes:
            if self.is_exact(j):
                self._solve(j)
            else:
                self._set_core(j)
                self._step(j, LEAST_RELAXATION)
                self._set_core(j)

    def _relaxed_sweep(self) -> None:
        for j in self.relaxed[:-1]:
            if j != self.relaxed[0]:
                self._set_core(j)
            self._step(j, self.relaxation)
        if self.relaxed:
            last = self.relaxed[-1]
            self._before = self._basis(last).copy_to(self._before)
            self._step(last, self.relaxation)
            self._finish(last)
            if np.vdot(self.core, self.core) < self.energies[-1] * (1 - ROUNDING * self._eps):
                self.bases[last], self._before = self._before, self.bases[last]
                self._set_core(last)
                self._step(last, LEAST_RELAXATION)
                self._finish(last)
        else:
            self._finish(None)

    def _finish(self, last: int | None) -> None:
        """Solve the small modes; the core of all."""
        for j in self.small:
            self._solve(j)
        if not self.small and last is not None:
            self._set_core(last)

    def _choose_relaxation(self) -> None:
        """More where convergence is slower than the relaxation itself would make it, otherwise less.

        Over-relaxed by w, errors shrink by a factor of no less than w - 1 a sweep, and gains by its square.
        """
        if len(self.energies) < 3:
            return
        before, gain = self.energies[-2] - self.energies[-3], self.energies[-1] - self.energies[-2]
        slow = gain > 0 and gain > (self.relaxation - 1 + 0.02) ** 2 * before
        changed = self.relaxation + (RELAXATION_STEP if slow else -RELAXATION_STEP)
        self.relaxation = min(max(changed, LEAST_RELAXATION), MOST_RELAXATION)

    def _step(self, j: int, relaxation: float) -> None:
        """One relaxed step of a mode, with the core as it is."""
        Y, basis = self.unfoldings[j], self._basis(j)
        axes = (j, *Y.axes)
        S = self.core.transpose(axes).reshape(self.ranks[j], -1)
        weights, Q = np.linalg.eigh(S @ S.T)
        # Directions without energy stay where they are.
        there = weights > self._least * weights[-1]
        inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=there)
        B = ((Q * inverse) @ (Q.T @ S)).reshape([self.ranks[a] for a in axes])
        B = _multiply(B, {0: basis.unmix.T, **{i: b.mix for i, b in self._compressed(axes) if i > 0}})
        B = np.ascontiguousarray(B.reshape(self.ranks[j], -1).T, dtype=self.dtype)
        # Rows without a block have no entries, and so no part in any direction that has energy.
        for block, rows in self._rows(j):
            part = basis.tall[block.begin : block.end]
            _core.tall_multiply(rows, Y.select(block, B), relaxation, 1.0 - relaxation, part, self.n_threads)
        basis.orthonormalize()

    def _set_core(self, j: int) -> None:
        """The core, from the unfolding of mode j."""
        Y, tall = self.unfoldings[j], self._basis(j).tall
        S = np.zeros((self.ranks[j], Y.n_whole, Y.columns // Y.n_whole))
        for block, rows in self._rows(j):
            part = _core.tall_cross(tall[block.begin : block.end], rows, self.n_threads)
            S[:, slice(None) if block.present is None else block.present] += part.reshape(len(S), -1, S.shape[2])
        axes = (j, *Y.axes)
        core = S.reshape([self.ranks[a] for a in axes])
        self._fold_core(j, _multiply(core, {i: basis.mix.T for i, basis in self._compressed(axes)}))

    def _solve(self, j: int) -> None:
        """The best factor of a mode, and the core."""
        for basis in self.bases:
            if basis is not None:
                basis.apply_mix()
        self._packed = (None, None)
        if self.unfoldings[j].n_rows <= self.unfoldings[j].columns:
            self._solve_rows(j)
        else:
            self._solve_columns(j)

    def _solve_rows(self, j: int) -> None:
        """Few rows: eigenvectors of Y Y'."""
        Y = self.unfoldings[j]
        whole: Array = np.zeros((Y.n_rows, Y.n_whole, Y.columns // Y.n_whole), self.dtype)
        for block, rows in self._rows(j):
            here = slice(None) if block.present is None else block.present
            whole[block.begin : block.end, here] = rows.reshape(len(rows), -1, whole.shape[2])
        whole = whole.reshape(Y.n_rows, -1)
        gram: Array = np.zeros((Y.n_rows, Y.n_rows))
        for begin in range(0, Y.columns, DOUBLE_ROWS):
            across = np.ascontiguousarray(whole[:, begin : begin + DOUBLE_ROWS].T, dtype=np.float64)
            gram += _core.tall_cross(across, across, self.n_threads)
        _, E = interruptible(np.linalg.eigh, gram)
        U = np.ascontiguousarray(E[:, ::-1][:, : self.ranks[j]])
        self.set_factor(j, U.astype(self.dtype))
        self._fold_core(j, U.T @ whole)

    def _solve_columns(self, j: int) -> None:
        """Few columns: Y times the eigenvectors of Y'Y."""
        Y, rank = self.unfoldings[j], self.ranks[j]
        gram = self._gram(j, self.dtype)
        weights, E = interruptible(np.linalg.eigh, gram)
        weak = bool(weights[-rank] <= WEAK * self._eps * weights[-1])
        if weak and self.dtype != np.float64:
            gram = self._gram(j, np.dtype(np.float64))
            weights, E = interruptible(np.linalg.eigh, gram)
        weights, E = weights[::-1][:rank], E[:, ::-1][:, :rank]
        there = weights > self._least * weights[0]
        weights, E = weights[there], E[:, there] / np.sqrt(weights[there])
        U, combined = np.zeros((Y.n_rows, len(weights)), self.dtype), np.ascontiguousarray(E, dtype=self.dtype)
        for block, rows in self._rows(j):
            chosen = Y.select(block, combined)
            _core.tall_multiply(rows, chosen, 1.0, 0.0, U[block.begin : block.end], self.n_threads)
        basis = Basis(U, self.n_threads)
        basis.orthonormalize()
        E = E @ basis.mix
        basis.apply_mix()
        missing = rank - len(weights)  # an unfolding of lower rank has no more
        full, values = np.pad(basis.tall, ((0, 0), (0, missing))), np.pad(np.sqrt(weights), (0, missing))
        self.set_factor(j, complete(full, values, self.key)[0])
        if weak:
            self._set_core(j)  # rounding has mixed strong directions into weak ones: that of the factor as it is
        else:
            self._fold_core(j, E.T @ gram)

    def _gram(self, j: int, dtype: np.dtype[Any]) -> Array:
        """Y'Y of a mode. Blocks are summed in a dtype, up to 1024 rows of them, and then in double."""
        Y = self.unfoldings[j]
        gram: Array = np.zeros((Y.n_whole, Y.columns // Y.n_whole) * 2)
        for block, rows in self._rows(j):
            part: Array = np.zeros((rows.shape[1],) * 2)
            height = len(rows) if rows.dtype == dtype else DOUBLE_ROWS
            for begin in range(0, len(rows), height):
                piece = rows[begin : begin + height].astype(dtype, copy=False)
                part += _core.tall_cross(piece, piece, self.n_threads)
            here = np.arange(Y.n_whole) if block.present is None else block.present
            shape = (len(here), gram.shape[1]) * 2
            gram[here[:, None], :, here[None, :]] += part.reshape(shape).transpose(0, 2, 1, 3)
        return gram.reshape(Y.columns, Y.columns)

    def _rows(self, j: int) -> Iterator[tuple[Block, Array]]:
        Y = self.unfoldings[j]
        talls = [None if basis is None else basis.tall for basis in self.bases]
        if self._packed[0] != Y.leaf or Y.leaf is None:
            # The old one goes before the new one comes. It is never out of date: a mode changes after its own
            # unfolding has been asked for, which packs the factor of another one.
            self._packed = (None, None)
            self._packed = (Y.leaf, Y.pack(talls))
        return Y.rows(talls, self._packed[1])

    def _basis(self, j: int) -> Basis:
        basis = self.bases[j]
        assert basis is not None
        return basis

    def _compressed(self, axes: tuple[int, ...]) -> list[tuple[int, Basis]]:
        """Places among some axes that belong to compressed modes, with their bases."""
        return [(i, self._basis(a)) for i, a in enumerate(axes) if a in self.modes]

    def _fold_core(self, j: int, S: Array) -> None:
        """Take a core that has mode j first, then the others in the order of its unfolding."""
        axes = (j, *self.unfoldings[j].axes)
        core = S.reshape([self.ranks[a] for a in axes]).transpose(np.argsort(axes))
        if not np.isfinite(core).all():
            raise ValueError("tensor: the core is not finite; the values are too large for their dtype")
        self.core = np.ascontiguousarray(core)


def _multiply(core: Array, matrices: dict[int, Array]) -> Array:
    """Some modes of an array of the core's size, each times a matrix."""
    for mode, matrix in matrices.items():
        if mode == core.ndim - 1:
            core = core @ matrix.T
        else:
            core = np.moveaxis(np.tensordot(matrix, core, axes=(1, mode)), 0, mode)
    return core
