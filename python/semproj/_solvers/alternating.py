"""Weighted factorisations by exact solves: the vectors of all columns, then those of all rows, in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._common.base import flip_signs
from .._common.checkpoint import check_state, rows_identity, seed_identity
from .._common.fitting import State, Sweeps
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import seed_key
from .rowsolve import RowSolver


class AlternatingSolves(Sweeps):
    """Minimises ``sum_ij W_ij (p_j . q_i - X_ij)^2 + reg (|P|^2 + |Q|^2)``, q of rows and p of columns.

    Parameters
    ----------
    model : estimator with n_components, reg, random_state and n_threads
    X : CSR matrix
    missing_weight : float
        W of cells without an entry.
    parameters : tuple of str
        Those numbers of the model that a checkpoint must have been made with.
    weights : array with a W for each entry of X, or None: all 1
    start_from : array of shape (n_columns, n_components) or None: random numbers
    """

    falls = True
    columns_name: str
    rows_name: str

    def __init__(
        self,
        model: Any,
        X: Any,
        missing_weight: float,
        parameters: tuple[str, ...],
        weights: Array | None = None,
        start_from: Array | None = None,
    ) -> None:
        self._model, self._X, self._missing_weight = model, X, missing_weight
        self._parameters, self._weights, self._start_from = parameters, weights, start_from

    def identity(self) -> dict[str, Any]:
        model = self._model
        values = {name: getattr(model, name) for name in self._parameters}
        return {
            "n_components": int(model.n_components),
            **{name: value if value is None else float(value) for name, value in values.items()},
            "random_state": seed_identity(model.random_state),
            "X": rows_identity(self._X),
            **({} if self._weights is None else {"weights": rows_identity(self._as_entries())}),
        }

    def memory(self) -> int:
        """Vectors and whitened vectors of both sides; five squares while a solver is made beside the other."""
        k, itemsize = int(self._model.n_components), int(self._X.dtype.itemsize)
        return 2 * itemsize * k * int(sum(self._X.shape)) + 5 * 8 * k * k

    def start(self, saved: State | None) -> None:
        self._columns = self._first_columns()
        if saved is not None:
            check_state(saved[0], {"columns": (self._columns.dtype, self._columns.shape)})
            self._columns = saved[0]["columns"]
        self._by_column, self._column_weights = self._X.T.tocsr(), None
        if self._weights is not None:
            self._column_weights = self._as_entries().T.tocsr().data
        self._rows = np.empty((self._X.shape[0], self._columns.shape[1]), self._columns.dtype)
        self._from_columns = self._solver(self._columns)
        self._objective = self._solve_rows()
        self._from_rows: RowSolver | None = None

    def step(self, sweep: int) -> float:
        self._from_rows = self._solver(self._rows, self._from_rows)
        self._from_rows.solve(self._by_column, self._columns, self._column_weights)
        self._change_columns(self._columns)
        self._from_columns = self._solver(self._columns, self._from_columns)
        self._objective = self._solve_rows()
        return self._objective

    def state(self) -> State:
        return {"columns": self._columns}, {}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        columns, rows = (x.copy() if going_on else x for x in (self._columns, self._rows))
        rows *= flip_signs(columns.T)
        for vectors in (columns, rows):
            vectors += 0.0  # a flipped zero is -0, what transform makes is 0
        return {self.columns_name: columns, self.rows_name: rows, "_solver_cache": {}}, self._objective

    def _as_entries(self) -> Any:
        """The weights at their places."""
        X = self._X
        return type(X)((self._weights, X.indices, X.indptr), shape=X.shape)

    def _change_columns(self, columns: Array) -> None:
        """What a model does between the two halves of a sweep."""

    def _solve_rows(self) -> float:
        """All rows, given the columns; returns the objective."""
        value = self._from_columns.solve(self._X, self._rows, self._weights)
        squares = np.einsum("ij,ij->", self._columns, self._columns, dtype=np.float64)
        return float(value + self._model.reg * squares)

    def _first_columns(self) -> Array:
        shape = (self._X.shape[1], int(self._model.n_components))
        if self._start_from is not None:
            if (before := self._start_from.shape) != shape:
                raise ValueError(f"warm_start: the fit before has vectors of shape {before}, expected {shape}")
            return self._start_from.astype(self._X.dtype)
        columns = np.empty(shape, self._X.dtype)
        _core.fill_normal(columns, seed_key(self._model.random_state), 0, resolve_threads(self._model.n_threads))
        return columns

    def _solver(self, factors: Array, before: RowSolver | None = None) -> RowSolver:
        """The solver of one side, in the memory of the one before."""
        if before is None:
            return solver_of(self._model, factors, self._missing_weight)
        try:
            before.use(factors)
        except OverflowError as error:
            raise _too_large(error) from None
        return before


class SolvesRows:
    """For estimators that solve new rows from the vectors of columns: what all rows share, made once."""

    def _solver(self, columns: Array, missing_weight: float) -> RowSolver:
        model: Any = self
        cache = self.__dict__.setdefault("_solver_cache", {})
        settings = (missing_weight, model.reg, resolve_threads(model.n_threads))
        if cache.get("columns") is not columns or cache["settings"] != settings:
            solver = solver_of(model, np.ascontiguousarray(columns), missing_weight)
            cache.update(columns=columns, settings=settings, solver=solver)
        found: RowSolver = cache["solver"]
        return found

    def _solve(
        self, X: Any, result: Array, columns: Array, missing_weight: float, weights: Array | None = None
    ) -> None:
        """The vectors of new rows."""
        self._solver(columns, missing_weight).solve(X, result, weights)
        if not np.isfinite(result).all():
            raise ValueError(f"X: the vectors are not finite; values are too large for {result.dtype}")

    def _output_dtype(self, storage: str | None) -> np.dtype[Any]:
        model: Any = self
        dtype: np.dtype[Any] = model.components_.dtype
        if storage not in (None, dtype.name):
            raise ValueError(f"storage: {type(self).__name__} keeps its vectors as {dtype.name}, got {storage!r}")
        return dtype

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        state.pop("_solver_cache", None)
        return state


def solver_of(model: Any, factors: Array, missing_weight: float) -> RowSolver:
    """The solver of rows from these factors."""
    try:
        return RowSolver(factors, missing_weight, model.reg, resolve_threads(model.n_threads))
    except OverflowError as error:
        raise _too_large(error) from None


def _too_large(error: OverflowError) -> ValueError:
    return ValueError(f"X: {error}; scale it down or use float64")
