"""How a projection is trained: all pairs at once by L-BFGS, or batches of them by Adam."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from .._common.checkpoint import check_state, seed_identity
from .._common.fitting import State, Sweeps
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import check_real, seed_key
from .._solvers.lbfgs import LimitedMemory
from ..kernels import project
from ..retrieval import top_k
from ._objective import Objective
from ._preferences import PreferenceObjective

AnyObjective = Objective | PreferenceObjective

FIRST_DECAY, SECOND_DECAY = 0.9, 0.999  # of Adam's moments, as its authors have them
NEIGHBOURS = 16  # of a pair in a batch of hard ones, with itself


class Training(Sweeps):
    """What both ways have in common.

    Parameters
    ----------
    model : S2Net
    objective : Objective or PreferenceObjective
    start : array of shape (n_columns of all matrices, n_components)
    identity : dict
        What a checkpoint must have been made with.
    """

    falls = True

    def __init__(self, model: Any, objective: AnyObjective, start: Array, identity: dict[str, Any]) -> None:
        self._model, self._objective, self._start = model, objective, start
        self._identity = identity
        self._n_pairs = objective.n_examples

    def identity(self) -> dict[str, Any]:
        seed = seed_identity(self._model.random_state)
        return {**self._identity, "random_state": seed, **self._objective.identity()}

    def memory(self) -> int:
        """Two moments or twenty moves, the start, the projection, its gradient and itself once more, packed."""
        vectors = sum(view.shape[0] for view in self._objective.views)
        rows = self.copies * self._start.shape[0] + 4 * vectors
        return int(rows * self._start.shape[1] * self._start.itemsize)

    copies: int
    optimizer: str
    widths: list[int]  # of the views

    @property
    @abstractmethod
    def _projection(self) -> Array:
        """As it is now."""

    def _pull(self, A: Array) -> float:
        """How far A is from its start, as the objective counts it."""
        reg = float(self._model.reg)
        return reg / 2 * float(((A - self._start) ** 2).sum(dtype=np.float64)) if reg else 0.0

    def _finished(self, objective: float) -> tuple[dict[str, Any], float]:
        components = np.array(self._projection.T, order="C")
        fitted = {
            "components_": components,
            "optimizer_": self.optimizer,
            "_widths": self.widths,
            "_rank": components.shape[0],
            "_packed_cache": {},
        }
        if self._model.matrices == "shared":
            fitted["n_features_in_"] = components.shape[1]
        return fitted, objective


class WholeTraining(Training):
    """A sweep is one step of L-BFGS on all pairs, or on the same blocks of them."""

    optimizer = "lbfgs"
    copies = 2 * LimitedMemory.memory + 6

    def start(self, saved: State | None) -> None:
        self._key = seed_key(self._model.random_state) if saved is None else seed_key(saved[1]["key"])
        self._blocks: list[Array] | None = None
        block = self._n_pairs if self._model.negatives in (None, "all") else int(self._model.negatives)
        if block < self._n_pairs:
            order = np.random.default_rng(self._key).permutation(self._n_pairs)
            self._blocks = np.array_split(order, -(-self._n_pairs // block))
        if saved is None:
            self._steps = LimitedMemory(self._evaluate, self._start.copy())
            return
        arrays, scalars = saved
        shape, dtype = self._start.shape, self._start.dtype
        n = min(len(arrays["moves"]), LimitedMemory.memory)
        whole, past = (dtype, shape), (dtype, (n, *shape))
        check_state(arrays, {"projection": whole, "gradient": whole, "moves": past, "turns": past})
        self._steps = LimitedMemory.taken_up(self._evaluate, arrays, check_real(scalars["value"], "value"))

    def step(self, sweep: int) -> float:
        self._steps.step()
        return float(self._steps.value)

    def state(self) -> State:
        steps = self._steps
        arrays = {
            "projection": steps.x,
            "gradient": steps.gradient,
            "moves": steps.moves,
            "turns": steps.turns,
        }
        return arrays, {"value": steps.value, "key": self._key}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        return self._finished(self._steps.value)

    @property
    def _projection(self) -> Array:
        return self._steps.x

    def _evaluate(self, A: Array) -> tuple[float, Array]:
        if self._blocks is None:
            loss, gradient = self._objective.on_all(A)
        else:
            loss, gradient = 0.0, np.zeros_like(A)
            for rows in self._blocks:
                share = len(rows) / self._n_pairs
                value, part = self._objective.on_rows(A, rows)
                loss += share * value
                gradient[part.rows] += A.dtype.type(share) * part.values
        if self._model.reg:
            loss += self._pull(A)
            gradient += A.dtype.type(self._model.reg) * (A - self._start)
        return loss, gradient


class BatchTraining(Training):
    """A sweep is an epoch of Adam's steps. Its objective is the mean of those of its batches."""

    optimizer = "adam"
    copies = 6

    def start(self, saved: State | None) -> None:
        self._key = seed_key(self._model.random_state) if saved is None else seed_key(saved[1]["key"])
        arrays = {name: np.zeros_like(self._start) for name in ("first", "second")}
        arrays["projection"] = self._start.copy()
        self._last, self._neighbours = 0.0, None
        if saved is not None:
            expected = {name: (array.dtype, array.shape) for name, array in arrays.items()}
            if "neighbours" in saved[0]:
                expected["neighbours"] = (np.dtype(np.int32), (self._n_pairs, self._n_neighbours))
            check_state(saved[0], expected)
            arrays = saved[0]
            self._neighbours = arrays.pop("neighbours", None)
            self._last = check_real(saved[1]["objective"], "objective")
        self._arrays = arrays

    def step(self, sweep: int) -> float:
        A, model = self._arrays["projection"], self._model
        # Relative to the elements of the start, so that it does not depend on the size of rows.
        size = float(np.sqrt(np.mean(np.square(self._start, dtype=np.float64)))) or 1.0
        rate = float(model.learning_rate) * size / (1 + float(model.decay) * (sweep - 1))
        batches = list(self._batches(sweep))
        total = 0.0
        for i, rows in enumerate(batches):
            loss, gradient = self._objective.on_rows(A, rows)
            if model.reg:
                away = A[gradient.rows] - self._start[gradient.rows]
                gradient.values[:] += A.dtype.type(model.reg) * away
            _core.adam_rows(
                A,
                self._arrays["first"],
                self._arrays["second"],
                gradient.rows,
                gradient.values,
                rate,
                FIRST_DECAY,
                SECOND_DECAY,
                (sweep - 1) * len(batches) + i + 1,
                self._objective.n_threads,
            )
            total += loss * len(rows)
        self._last = total / sum(map(len, batches)) + self._pull(A)
        return self._last

    def state(self) -> State:
        more = {} if self._neighbours is None else {"neighbours": self._neighbours}
        return {**self._arrays, **more}, {"key": self._key, "objective": self._last}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        return self._finished(self._last)

    @property
    def _projection(self) -> Array:
        return self._arrays["projection"]

    @property
    def _n_neighbours(self) -> int:
        return min(NEIGHBOURS, self._n_pairs)

    def _batches(self, sweep: int) -> Iterator[Array]:
        """Every pair once, in another order each epoch; hard ones are beside their neighbours."""
        order = np.random.default_rng([self._key, sweep]).permutation(self._n_pairs)
        if self._model.negatives == "hard":
            if self._neighbours is None or (sweep - 1) % int(self._model.refresh) == 0:
                self._neighbours = self._nearest()
            order = _beside_their_neighbours(order, self._neighbours)
        yield from np.array_split(order, max(1, round(self._n_pairs / int(self._model.batch_size))))

    def _nearest(self) -> Array:
        """The pairs whose second row is most similar to the first row of each."""
        views, n_threads = self._objective.views, resolve_threads(self._model.n_threads)
        U, V = (project(view, self._projection, normalize=True, n_threads=n_threads) for view in views[:2])
        found = top_k(U, V, self._n_neighbours, metric="inner_product", n_threads=n_threads)[0]
        return np.ascontiguousarray(found, dtype=np.int32)


def _beside_their_neighbours(order: Array, neighbours: Array) -> Array:
    """Each row once: rows in this order, each followed by its neighbours that are still to come."""
    placed = np.zeros(len(order), bool)
    result = np.empty(len(order), np.int64)
    n = 0
    for row in order:
        if placed[row]:
            continue
        group = np.unique(np.append(neighbours[row], row))
        group = group[~placed[group]]
        placed[group] = True
        result[n : n + len(group)] = group
        n += len(group)
    return result
