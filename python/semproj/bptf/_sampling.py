"""Sweeps of a Gibbs chain, what is kept of them, and how far they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._common.checkpoint import check_state
from .._common.fitting import State, Sweeps
from .._common.resources import resolve_threads
from .._common.types import Array
from .._common.validation import check_integer, check_positive, check_real
from ._chain import Chain
from ._observed import Cells
from ._random import CELLS
from ._slices import CellSampler

_AT_ONCE = 1 << 30  # bytes of draws that room is made for before there are any


class ChainSweeps(Sweeps):
    """Sweeps of a chain, with their traces and the draws that are kept.

    The objective is the log likelihood of a sweep's cells. A sweep begins with their residuals, so it lags.

    Parameters
    ----------
    model : BPTF
    sampler : CellSampler
        Which cells a sweep uses.
    symmetric : list of bool
        For each slice.
    key : int
        The seed, if the fit does not go on from a checkpoint.
    identity : callable
        Returns what a checkpoint is of.
    """

    argument = "slices"
    sized_by = ("n_components", "n_samples")
    lags = True

    def __init__(
        self,
        model: Any,
        sampler: CellSampler,
        symmetric: list[bool],
        key: int,
        identity: Callable[[], dict[str, Any]],
    ) -> None:
        self._model, self._sampler, self._symmetric, self._key = model, sampler, symmetric, key
        self._identity = identity

    def identity(self) -> dict[str, Any]:
        return self._identity()

    def memory(self) -> int:
        """Draws: vectors, and the prior's square. A callback may end the fit before many of them are kept."""
        model, d = self._model, int(self._model.n_components)
        vectors = int(np.dtype(model.dtype).itemsize) * int(self._sampler.n_words) * d
        draws = 1 if model.callback is not None else int(model.n_samples)
        return (draws + 1) * (vectors + 8 * d * d)

    def start(self, saved: State | None) -> None:
        model, d = self._model, int(self._model.n_components)
        n_words, n_slices, dtype = self._sampler.n_words, len(self._symmetric), np.dtype(model.dtype)
        self._chain = Chain(
            n_words,
            d,
            self._symmetric,
            seed=self._key if saved is None else int(saved[1]["key"]),
            n_threads=resolve_threads(model.n_threads),
            dtype=dtype,
        )
        self._held_out: list[Cells] = []
        if model.held_out > 0:
            rng = self._chain.numbers.generator(0, CELLS)
            self._held_out = self._sampler.hold_out(float(model.held_out), rng)
        self._held_out_sums = [np.zeros(len(cells)) for cells in self._held_out]
        self._sweep = 0
        self._kept: list[int] = []  # sweeps
        matrices = (0,) if all(self._symmetric) else (n_slices, d, d)
        self._draws = {
            "words": _Draws((n_words, d), dtype, model.n_samples),
            "slices": _Draws((n_slices, d), np.float64, model.n_samples),
            "matrices": _Draws(matrices, np.float64, model.n_samples),
            "priors": _Draws((d * d + d + 1,), np.float64, model.n_samples),
        }
        self._traces: dict[str, list[float]] = {"alpha": [], "train_mae": [], "held_out_mae": []}
        if saved is not None:
            self._restore(*saved)

    def step(self, sweep: int) -> float:
        chain, model = self._chain, self._model
        cells, alpha = self._cells(sweep), float(chain.alpha)
        squares, sizes = chain.sweep(cells, sweep)
        self._sweep = sweep
        if not np.isfinite(chain.words.sum()):
            raise ValueError(f"slices: word vectors are not finite after sweep {sweep}; values are too large")
        kept = sweep > model.burn_in and (sweep - model.burn_in) % model.thin == 0
        if kept:
            self._kept.append(sweep)
            for name, value in self._draw().items():
                self._draws[name].append(value)
        self._traces["alpha"].append(float(chain.alpha))
        self._traces["train_mae"].append(sizes / max(1, sum(map(len, cells))))
        if self._held_out:
            self._traces["held_out_mae"].append(self._held_out_error(kept))
        return _log_likelihood(cells, squares, alpha)

    def state(self) -> State:
        chain = self._chain
        arrays = {f"kept_{name}": draws.values for name, draws in self._draws.items() if self._kept}
        arrays |= {f"held_out_{k}": total for k, total in enumerate(self._held_out_sums)}
        arrays |= {"words": chain.words, "slices": chain.slices, "matrices": chain.matrices}
        scalars = {"sweep": self._sweep, "kept": self._kept, "alpha": float(chain.alpha), "traces": self._traces}
        return arrays, {**scalars, "key": chain.numbers.seed}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        """Draws that are kept are not copied: a chain does not change them any more."""
        chain, kept = self._chain, self._kept or [self._sweep]
        draws = {name: draws.values for name, draws in self._draws.items()}
        if not self._kept:  # in the burn-in: the last draw is all there is
            draws = {name: value[None].copy() for name, value in self._draw().items()}
        last = (None, None) if kept[-1] == self._sweep else (chain.words.copy(), chain.slices.copy())
        fitted = {
            "samples_": draws["words"],
            "perspective_samples_": draws["slices"],
            "matrix_samples_": draws["matrices"],
            "_priors": draws["priors"],
            "_sweeps_kept": np.array(kept, np.int64),
            **dict(zip(("_last_words", "_last_slices"), last, strict=True)),
            **{f"{name}_": np.array(values) for name, values in self._traces.items()},
            "_symmetric": self._symmetric,
            "_key": chain.numbers.seed,
            **self._model._names(),
        }
        cells = self._cells(self._sweep + 1)
        return fitted, _log_likelihood(cells, chain.residuals(cells)[0], chain.alpha)

    def _cells(self, sweep: int) -> list[Cells]:
        chain = self._chain
        return self._sampler.draw(chain.numbers, sweep, chain.padded.dtype, chain.n_threads)

    def _draw(self) -> dict[str, Array]:
        """What is kept of the sweep that was done last; the next one changes it."""
        chain = self._chain
        # What new words are drawn with: the prior of the next sweep, given this one's words.
        precision, weighted_mean = chain.word_prior(self._sweep + 1)
        return {
            "words": chain.words,
            "slices": chain.slices,
            "matrices": np.empty(0) if all(chain.symmetric) else chain.matrices,
            "priors": np.concatenate([precision.ravel(), weighted_mean, [chain.alpha]]),
        }

    def _restore(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        chain, model = self._chain, self._model
        self._sweep = check_integer(scalars["sweep"], "sweep", low=1)
        # Before anything is made for each sweep: a file may say that there were billions.
        for name, trace in self._traces.items():
            trace += [check_real(value, name) for value in scalars["traces"][name]]
            if len(trace) != (0 if name == "held_out_mae" and not self._held_out else self._sweep):
                raise ValueError(f"{name}: expected a number for each sweep, got {len(trace)}")
        self._kept = list(range(model.burn_in + model.thin, self._sweep + 1, model.thin))
        expected = {name: (a.dtype, a.shape) for name, a in vars(chain).items() if name in ("slices", "matrices")}
        expected["words"] = (chain.words.dtype, chain.words.shape)
        expected |= {f"held_out_{k}": (np.float64, a.shape) for k, a in enumerate(self._held_out_sums)}
        if self._kept:
            expected |= {f"kept_{name}": draws.kept(len(self._kept)) for name, draws in self._draws.items()}
        check_state(arrays, expected)
        chain.words[:], chain.slices[:], chain.matrices[:] = arrays["words"], arrays["slices"], arrays["matrices"]
        chain.alpha = check_positive(scalars["alpha"], "alpha")
        for name, draws in self._draws.items():
            for value in arrays.get(f"kept_{name}", ()):
                draws.append(value)
        self._held_out_sums = [arrays[f"held_out_{k}"] for k in range(len(self._held_out_sums))]

    def _held_out_error(self, kept: bool) -> float:
        """Of the mean of all draws that are kept, or of this one while there are none."""
        off = n = 0.0
        for k, cells in enumerate(self._held_out):
            predicted = self._chain.predict(cells.rows, cells.cols, k).astype(np.float64)
            if kept:
                self._held_out_sums[k] += predicted
            if self._kept:
                predicted = self._held_out_sums[k] / len(self._kept)
            off += float(np.abs(cells.values - predicted).sum())
            n += len(cells)
        return off / max(n, 1.0)


class _Draws:
    """Arrays of one shape, one behind the other in memory, which is made as they come if they are large."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, most: int) -> None:
        size = max(1, math.prod(shape) * np.dtype(dtype).itemsize)
        self._array: Array = np.empty((min(most, max(1, _AT_ONCE // size)), *shape), dtype)
        self._n = 0

    def append(self, value: Array) -> None:
        if self._n == len(self._array):
            larger = np.empty((2 * self._n, *self._array.shape[1:]), self._array.dtype)
            larger[: self._n] = self._array
            self._array = larger
        self._array[self._n] = value
        self._n += 1

    def kept(self, n: int) -> tuple[Any, tuple[int, ...]]:
        """The dtype and the shape of so many."""
        return self._array.dtype, (n, *self._array.shape[1:])

    @property
    def values(self) -> Array:
        """All so far, read-only: models may have them while more are appended."""
        view = self._array[: self._n]
        view.flags.writeable = False
        return view


def _log_likelihood(cells: list[Cells], squares: float, alpha: float) -> float:
    """Of cells with residuals of this weighted sum of squares."""
    logs = sum(map(len, cells)) * math.log(alpha / (2 * math.pi)) + sum(each.log_precision for each in cells)
    return 0.5 * (logs - alpha * squares)


def effective_sample_size(trace: Any) -> float:
    """How many independent draws a trace is worth.

    Geyer's initial monotone sequence: autocorrelations are summed in pairs, as long as the sums are positive, and
    not above the one before.

    Parameters
    ----------
    trace : array of shape (n_draws,)

    Returns
    -------
    float
        Of a constant trace, 1. Draws that swing from side to side are worth more than independent ones; how much
        more n of them cannot show, so that ``n log10(n)`` is the most (n, for less than ten).

    Examples
    --------
    >>> import numpy as np
    >>> from semproj import effective_sample_size
    >>> independent = np.random.default_rng(0).standard_normal(1000)
    >>> 800 < effective_sample_size(independent) < 1300
    True
    >>> effective_sample_size(np.repeat(independent, 10)) < 1500
    True
    """
    x = np.asarray(trace, np.float64)
    if x.ndim != 1 or len(x) < 4 or not np.isfinite(x).all():
        raise ValueError(f"trace: expected at least 4 finite numbers, got shape {x.shape}")
    n, centred = len(x), x - x.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    covariance = np.fft.irfft(spectrum * spectrum.conj())[:n] / n
    if covariance[0] <= 0:
        return 1.0
    correlation = covariance / covariance[0]
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: int(np.argmax(pairs <= 0))] if (pairs <= 0).any() else pairs
    total = 2 * np.minimum.accumulate(positive).sum() - 1
    return float(min(n / max(total, 1.0 / n), n * max(1.0, np.log10(n))))
