"""The loop that fits every iterative estimator.

A model hands it one object, its :class:`Sweeps`: how to start, how to do one sweep, what a checkpoint keeps, and
what is fitted in the end. The loop owns the rest: the progress bar, `tol`, the check for finite values, the rhythm
of checkpoints, and the callback. Ctrl-C arrives as KeyboardInterrupt and ends the loop; `keeps_previous_fit` then
leaves the estimator as it was, and the checkpoint stays as it was last written.
"""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .base import progress_bar
from .checkpoint import Checkpoint
from .config import log
from .resources import memory_for, resolve_threads
from .types import Array
from .validation import check_integer, check_real

State: TypeAlias = "tuple[dict[str, Array], dict[str, Any]]"  # arrays, and what JSON can hold


class Sweeps(ABC):
    """What a model adds to the loop."""

    argument = "X"  # what values that are too large came from
    falls = False  # whether a lower objective is better
    sized_by: tuple[str, ...] = ("n_components",)  # the parameters that the memory of a fit depends on
    lags = False  # whether `step` returns the objective from before its sweep, which is cheaper for some models

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What another fit must have in common with this one to go on from its checkpoint."""

    @abstractmethod
    def memory(self) -> int:
        """Bytes that the fit takes at least, for arrays whose sizes parameters choose."""

    @abstractmethod
    def start(self, saved: State | None) -> None:
        """Begin, or take up what `state` returned."""

    @abstractmethod
    def step(self, sweep: int) -> float:
        """Do one sweep, the first is 1; return the objective after it, or before it if it lags."""

    @property
    def over(self) -> bool:
        """Whether there is nothing left to gain, by a rule of the model's own."""
        return False

    def note(self) -> dict[str, str]:
        """What the progress bar shows besides the objective."""
        return {}

    @abstractmethod
    def state(self) -> State:
        """What another fit needs to go on from here."""

    @abstractmethod
    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        """The fitted attributes, and the objective after the last sweep. A fit that goes on keeps its arrays."""


class Progress:
    """What a callback is told after a sweep. Ask for the model, or for the objective, while the callback runs.

    Attributes
    ----------
    sweep : int
        How many are done.
    objective : float
        After this sweep: the element that it adds to ``objective_``.
    model : a fitted estimator
        What ``fit`` would return if it ended now. It is made when it is first asked for, and it is yours: use it,
        keep it, save it.
    """

    def __init__(self, sweep: int, objective: float | None, make_model: Callable[[], Any]) -> None:
        self.sweep = sweep
        self._objective, self._make_model = objective, make_model
        self._model: Any = None
        self._over = False

    @property
    def objective(self) -> float:
        return float(self.model.objective_[-1]) if self._objective is None else self._objective

    @property
    def model(self) -> Any:
        if self._model is None:
            if self._over:
                raise RuntimeError("model: the fit has gone on; ask for it while the callback runs")
            self._model = self._make_model()
        return self._model

    def of(self, convert: Callable[[Any], Any]) -> Progress:
        """The same for an estimator that is fitted by fitting this one."""
        return Progress(self.sweep, self._objective, lambda: convert(self.model))

    def _end(self) -> None:
        self._over = True


def fit_by_sweeps(estimator: Any, sweeps: Sweeps, *, max_iter: int, tol: float = 0.0) -> None:
    """Sweep until done, and set the fitted attributes of an estimator.

    It is done after `max_iter` sweeps, when a sweep has improved the objective by less than `tol` times what it
    was, or when the callback says so. Objectives that lag are compared a sweep later.
    """
    what = ", ".join(f"{name}={getattr(estimator, name)!r}" for name in sweeps.sized_by)
    with memory_for(what, sweeps.memory()):
        _fit(estimator, sweeps, max_iter, tol)


def _fit(estimator: Any, sweeps: Sweeps, max_iter: int, tol: float) -> None:
    name = type(estimator).__name__
    checkpoint = Checkpoint(estimator.checkpoint, lambda: {"class": name, **sweeps.identity()})
    done, objectives = 0, list[float]()
    if (saved := checkpoint.load()) is None:
        sweeps.start(None)
    else:
        with checkpoint.taken_up():
            done, objectives = _progress_of(saved[1], sweeps)
            sweeps.start((saved[0], saved[1]["sweeps"]))
    del saved  # the model has taken what it needs
    last_saved, stopped = done, sweeps.over

    def save() -> None:
        arrays, state = sweeps.state()
        checkpoint.save(arrays, {"sweep": done, "objective": objectives, "sweeps": state})

    with progress_bar(estimator.progress, name, max_iter, "sweep") as bar:
        bar.update(done)
        while done < max_iter and not stopped and not has_converged(objectives, tol, falls=sweeps.falls):
            objective = _finite(sweeps.step(done + 1), sweeps, done + 1)
            done += 1
            if done > 1 or not sweeps.lags:
                objectives.append(objective)
            bar.set_postfix(objective=f"{objective:.8g}", **sweeps.note(), refresh=False)
            bar.update(1)
            log.debug("%s: sweep %d, objective %.8g", name, done, objective)
            if estimator.checkpoint is not None and (done % estimator.checkpoint_every == 0 or done == max_iter):
                save()
                last_saved = done
            stopped = _tell(estimator, sweeps, done, objectives) or sweeps.over
    if estimator.checkpoint is not None and last_saved < done:
        save()
    _set_fitted(estimator, sweeps, done, objectives, going_on=False)


def _progress_of(state: dict[str, Any], sweeps: Sweeps) -> tuple[int, list[float]]:
    """How many sweeps are done, by a checkpoint, and the objectives that are known."""
    done, objectives = check_integer(state["sweep"], "sweep", low=1), list(state["objective"])
    if len(objectives) != done - sweeps.lags:
        raise ValueError(f"objective: expected {done - sweeps.lags} of them, got {len(objectives)}")
    return done, [check_real(each, "objective") for each in objectives]


def _tell(estimator: Any, sweeps: Sweeps, done: int, objectives: list[float]) -> bool:
    """Call the callback; whether it ends the fit."""
    if estimator.callback is None:
        return False

    def make_model() -> Any:
        model = copy.copy(estimator)
        _set_fitted(model, sweeps, done, objectives, going_on=True)
        return model

    progress = Progress(done, None if sweeps.lags else objectives[-1], make_model)
    try:
        return bool(estimator.callback(progress))
    finally:
        progress._end()


def _set_fitted(model: Any, sweeps: Sweeps, done: int, objectives: list[float], *, going_on: bool) -> None:
    attributes, objective = sweeps.finish(going_on=going_on)
    model.objective_ = np.array([*objectives, _finite(objective, sweeps, done)] if sweeps.lags else objectives)
    model.n_iter_ = done
    for name, value in attributes.items():
        setattr(model, name, value)


def _finite(objective: float, sweeps: Sweeps, sweep: int) -> float:
    if not np.isfinite(objective):
        what = f"{sweeps.argument}: the objective is {objective} in sweep {sweep}"
        raise ValueError(f"{what}; values are too large")
    return float(objective)


def has_converged(objectives: list[float], tol: float, *, falls: bool = False) -> bool:
    """Whether the last sweep improved the objective by less than `tol` times what it was. With 0, never."""
    if tol == 0 or len(objectives) < 2:
        return False
    before, after = objectives[-2:]
    return (before - after if falls else after - before) < tol * abs(before)


def check_loop_parameters(estimator: Any, *, tol: float | None = None, max_iter: int | None = None) -> None:
    """The parameters that all iterative estimators have. Some choose a `tol` or `max_iter` where it is None."""
    if hasattr(estimator, "max_iter"):
        check_integer(estimator.max_iter if max_iter is None else max_iter, "max_iter", low=1)
        check_real(estimator.tol if tol is None else tol, "tol", low=0)
    if not isinstance(estimator.checkpoint, (str, os.PathLike, type(None))):
        raise TypeError(f"checkpoint: expected a path or None, got {estimator.checkpoint!r}")
    check_integer(estimator.checkpoint_every, "checkpoint_every", low=1)
    if estimator.callback is not None and not callable(estimator.callback):
        raise TypeError(f"callback: expected a callable or None, got {estimator.callback!r}")
    resolve_threads(estimator.n_threads)
