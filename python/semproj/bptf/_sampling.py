"""A run of a Gibbs chain: sweeps one by one, what is kept of them, and how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.types import Array
from ._chain import Cells, Chain
from ._slices import Plan


@dataclass(frozen=True)
class Draw:
    """The state of a chain after a sweep, as callbacks see it.

    Attributes
    ----------
    sweep : int
    word_vectors : array of shape (n_words, n_components)
        Read-only, and the chain's own: the next sweep changes them. Copy what is to be kept.
    perspective_vectors : array of shape (n_slices, n_components)
    alpha : float
        The precision of cells.
    train_mae : float
        Of the cells of the sweep, before it.
    held_out_mae : float or None
        Of cells that were held out: by the mean of all draws that are kept, or of this one while there are none.
    """

    sweep: int
    word_vectors: Array
    perspective_vectors: Array
    alpha: float
    train_mae: float
    held_out_mae: float | None


class Run:
    """Sweeps of a chain, with their traces and the draws that are kept.

    Parameters
    ----------
    held_out : list of Cells, one for each slice, or None
    resumed : what `state` returned in an earlier run, or None
    """

    def __init__(
        self,
        chain: Chain,
        plan: Plan,
        held_out: list[Cells] | None,
        resumed: tuple[dict[str, Array], dict[str, Any]] | None = None,
    ) -> None:
        self._chain, self._plan, self._held_out = chain, plan, held_out
        self.sweep = 0
        self.kept: list[int] = []  # sweeps
        self._samples: dict[str, list[Array]] = {"words": [], "slices": [], "matrices": [], "priors": []}
        self._traces: dict[str, list[float]] = {"alpha": [], "train_mae": [], "held_out_mae": []}
        self._held_out_sum = [np.zeros(len(cells)) for cells in held_out or []]
        if resumed is not None:
            self._restore(*resumed)

    def step(self, *, keep: bool) -> Draw:
        """One sweep."""
        chain, sweep = self._chain, self.sweep + 1
        cells = self._plan.draw(chain, sweep)
        sizes = chain.sweep(cells, sweep)[1]
        self.sweep = sweep
        if not np.isfinite(chain.words.sum()):
            raise ValueError(f"slices: word vectors are not finite after sweep {sweep}; values are too large")
        if keep:
            self.keep()
        train_mae = sizes / max(1, sum(map(len, cells)))
        self._traces["alpha"].append(float(chain.alpha))
        self._traces["train_mae"].append(train_mae)
        held_out_mae = None if self._held_out is None else self._held_out_error(self._held_out, keep)
        if held_out_mae is not None:
            self._traces["held_out_mae"].append(held_out_mae)
        words = chain.words
        words.flags.writeable = False  # of this view: a callback that wrote to it would change the chain
        return Draw(sweep, words, chain.slices.copy(), float(chain.alpha), train_mae, held_out_mae)

    def keep(self) -> None:
        """Keep the draw of the sweep that was done last."""
        chain = self._chain
        asymmetric = not all(chain.symmetric)
        self.kept.append(self.sweep)
        self._samples["words"].append(np.ascontiguousarray(chain.words))
        self._samples["slices"].append(chain.slices.copy())
        self._samples["matrices"].append(chain.matrices.copy() if asymmetric else np.empty(0))
        # What new words are drawn with: the prior of the next sweep, given this one's words.
        precision, weighted_mean = chain.word_prior(self.sweep + 1)
        self._samples["priors"].append(np.concatenate([precision.ravel(), weighted_mean, [chain.alpha]]))

    def fitted(self) -> dict[str, Any]:
        """Attributes of a fitted model."""
        stacked = {name: np.array(arrays) for name, arrays in self._samples.items()}
        return {
            "samples_": stacked["words"],
            "perspective_samples_": stacked["slices"],
            "matrix_samples_": stacked["matrices"],
            "_priors": stacked["priors"],
            "_sweeps_kept": np.array(self.kept, np.int64),
            **{f"{name}_": np.array(values) for name, values in self._traces.items()},
            "n_iter_": self.sweep,
        }

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """From which another run goes on."""
        chain = self._chain
        arrays = {f"kept_{name}": np.array(values) for name, values in self._samples.items() if values}
        arrays |= {f"held_out_{k}": total for k, total in enumerate(self._held_out_sum)}
        arrays |= {"words": np.ascontiguousarray(chain.words), "slices": chain.slices, "matrices": chain.matrices}
        scalars = {"sweep": self.sweep, "kept": self.kept, "alpha": float(chain.alpha), "traces": self._traces}
        return arrays, {**scalars, "key": chain.seed}

    def _restore(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        chain = self._chain
        chain.words[:], chain.slices[:], chain.matrices[:] = arrays["words"], arrays["slices"], arrays["matrices"]
        chain.alpha, self.sweep, self.kept = scalars["alpha"], scalars["sweep"], list(scalars["kept"])
        self._traces = {name: list(values) for name, values in scalars["traces"].items()}
        self._samples = {name: list(arrays.get(f"kept_{name}", [])) for name in self._samples}
        self._held_out_sum = [arrays[f"held_out_{k}"] for k in range(len(self._held_out_sum))]

    def _held_out_error(self, held_out: list[Cells], kept: bool) -> float:
        off = n = 0.0
        for k, cells in enumerate(held_out):
            predicted = self._chain.predict(cells.rows, cells.cols, k).astype(np.float64)
            if kept:
                self._held_out_sum[k] += predicted
            if self.kept:
                predicted = self._held_out_sum[k] / len(self.kept)
            off += float(np.abs(cells.values - predicted).sum())
            n += len(cells)
        return off / max(n, 1.0)


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
