"""Sweeps that fit the two exponential models of a Model M.

Weights of leaves, the longest contexts, are solved by the kernel, given the others (csrc/lm/maxent.h). So a sweep
is a step for the others, with the leaves profiled out. Each weight goes to the maximum of a bound that needs only
how often the model expects its feature: that is iterative scaling, with its soft threshold. On top of that comes
momentum, as Nesterov has it. Where the objective falls, the sweep is done again without momentum and with shorter
steps from then on.

Beside it were tried, at the same cost of a sweep, on 2.6 million words: steps for all levels without momentum
(after 16 sweeps where this is after 7), one level after the other (no better), and Anderson acceleration with five
vectors (as good, for ten times the memory of momentum).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._common.checkpoint import check_state, seed_identity
from .._common.fitting import State, Sweeps
from .._common.persistence import checksum
from .._common.resources import resolve_threads
from .._common.types import Array
from .._core import lm as _core
from ._contexts import Trie, make_trie
from ._sentences import NumberedText
from ._vocabulary import BEGIN_ID, END_ID

LEAST_SHARE = 2.0  # steps are at first as long as if half of the levels changed, but at least two
SHORTER = 1.5  # ... and become shorter by this where the objective falls, until they are as long as proven to rise


class WordNumbers:
    """Words numbered class by class: those that are predicted first in the class of ends, which is the last."""

    def __init__(self, classes: Array, n_classes: int) -> None:
        order = np.arange(len(classes))
        order[[BEGIN_ID, END_ID]] = END_ID, BEGIN_ID  # the rank of each word
        ranked = np.lexsort((order, classes))
        self.words = np.empty(len(classes), np.int32)
        self.words[ranked] = np.arange(len(classes), dtype=np.int32)
        self.class_starts = np.zeros(n_classes + 1, np.int64)
        np.cumsum(np.bincount(classes, minlength=n_classes), out=self.class_starts[1:])

    def forest(self, text: NumberedText, order: int, kind: str, n_threads: int) -> _core.HistoryForest:
        begin, end = int(self.words[BEGIN_ID]), int(self.words[END_ID])
        return _core.history_forest(
            text.starts, text.ids, self.words, self.class_starts, begin, end, 1, order, kind, n_threads
        )


class Exponential:
    """One of the two models: a forest of histories, weights of its features, and how they move."""

    def __init__(self, forest: _core.HistoryForest, alpha: float, variance: float, n_threads: int) -> None:
        self.forest, self.penalty, self.n_threads = forest, (alpha, variance), n_threads
        sizes = [len(forest.counts(level)) for level in range(forest.n_levels)]
        self.weights = [np.zeros(n) for n in sizes]
        self.expected = [np.zeros(n) for n in sizes[:-1]]
        self.reached = [np.zeros(n) for n in sizes[:-1]]
        self.n_improved = forest.n_levels - 1  # all levels but the leaves
        self.share = max(LEAST_SHARE, self.n_improved / 2)
        self.since_restart, self.objective = 0, -np.inf

    def begin(self) -> None:
        """Labels as they are without a context."""
        counts = np.log(self.forest.counts(0) + 0.5)
        self.weights[0][:] = counts - np.median(counts)
        self.objective = self.look()

    def look(self) -> float:
        """Solve the leaves, and find what is expected of the others. Returns the objective."""
        expected = [*self.expected, None]
        likelihood = _core.sweep_forest(
            self.forest, self.weights, expected, *self.penalty, solve=True, n_threads=self.n_threads
        )
        penalty = sum(_core.weights_penalty(each, *self.penalty, self.n_threads) for each in self.weights)
        return likelihood - penalty

    def sweep(self) -> float:
        before = [each.copy() for each in self.weights]
        objective = self._step()
        while not self.objective <= objective < np.inf and (self.since_restart or self.share < self.n_improved):
            # Too far: back to where it was, and on without momentum.
            for weights, old in zip(self.weights, before, strict=True):
                weights[:] = old
            self.look()
            proven = float(self.n_improved)
            self.share = proven if self.since_restart == 0 else min(self.share * SHORTER, proven)
            self.since_restart = 0
            objective = self._step()
        self.since_restart += 1
        self.objective = objective
        return objective

    def _step(self) -> float:
        momentum = self.since_restart / (self.since_restart + 3)
        for level in range(self.n_improved):
            _core.improve_weights(
                self.forest,
                level,
                self.weights[level],
                self.reached[level],
                self.expected[level],
                *self.penalty,
                share=self.share,
                momentum=momentum,
                n_threads=self.n_threads,
            )
        return self.look()

    def state(self, prefix: str) -> State:
        arrays: dict[str, Array] = {}
        for name in ("weights", "expected", "reached"):
            arrays |= {f"{prefix}_{name}_{level}": each for level, each in enumerate(getattr(self, name))}
        numbers = {"share": self.share, "since_restart": self.since_restart, "objective": self.objective}
        return arrays, {prefix: numbers}

    def restore(self, saved: State, prefix: str) -> None:
        for name in ("weights", "expected", "reached"):
            for level, each in enumerate(getattr(self, name)):
                each[:] = saved[0].pop(f"{prefix}_{name}_{level}")
        numbers = saved[1][prefix]
        self.share, self.objective = float(numbers["share"]), float(numbers["objective"])
        self.since_restart = int(numbers["since_restart"])


class ModelMSweeps(Sweeps):
    """Both models; neither knows of the other."""

    argument = "sentences"
    sized_by = ("order",)

    def __init__(self, model: Any, text: NumberedText, classes: Any) -> None:
        self.model, self.text, self.classes = model, text, classes
        self.n_classes, self.n_tokens = int(classes.n_classes) + 1, len(text.ids) + len(text)
        self.threads = resolve_threads(model.n_threads)

    def identity(self) -> dict[str, Any]:
        given = self.model.classes
        return {
            "order": int(self.model.order),
            "alpha": float(self.model.alpha),
            "variance": float(self.model.variance),
            "random_state": seed_identity(self.model.random_state),
            "classes": int(given) if isinstance(given, Integral) else checksum(self.classes.classes_),
            "sentences": [checksum(self.text.ids), checksum(self.text.starts)],
        }

    def memory(self) -> int:
        return 20 * len(self.text.ids)

    def start(self, saved: State | None) -> None:
        self.numbers = WordNumbers(self.classes.classes_, self.n_classes)
        self.models: dict[str, Exponential] = {}
        for kind in ("classes", "words"):
            forest = self.numbers.forest(self.text, int(self.model.order), kind, self.threads)
            self.models[kind] = Exponential(
                forest, float(self.model.alpha), float(self.model.variance), self.threads
            )
        if saved is not None:
            own = [each.state(kind)[0] for kind, each in self.models.items()]
            check_state(saved[0], {k: (np.float64, a.shape) for arrays in own for k, a in arrays.items()})
        for kind, each in self.models.items():
            if saved is None:
                each.begin()
            else:
                each.restore(saved, kind)

    def step(self, sweep: int) -> float:
        return sum(each.sweep() for each in self.models.values()) / self.n_tokens

    def state(self) -> State:
        states = [each.state(kind) for kind, each in self.models.items()]
        return {k: a for arrays, _ in states for k, a in arrays.items()}, {
            k: v for _, n in states for k, v in n.items()
        }

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        tries = self._tries()
        attributes: dict[str, Any] = {
            f"_{name}_{part}": array for name, trie in tries.items() for part, array in trie._asdict().items()
        }
        words, starts = self.numbers.words.copy(), self.numbers.class_starts.copy()
        attributes |= {"_words": words, "_class_starts": starts, "_scorer": None}
        if not going_on:
            del self.models
        return attributes, np.nan

    def _tries(self) -> dict[str, Trie]:
        n, order = self.n_classes, int(self.model.order)
        of_classes, of_words = self.models["classes"], self.models["words"]
        all_classes = np.array([0, n]), np.arange(n), of_classes.weights[0]
        no_features = np.array([0, 0]), np.arange(0), np.zeros(0)
        predicted = np.diff(self.numbers.class_starts)
        predicted[-1] -= 1  # <s>
        ends = np.cumsum(predicted)
        labels = np.arange(len(of_words.weights[0])) - np.repeat(ends - predicted, predicted)
        all_words = np.concatenate([[0], ends]), labels, of_words.weights[0]
        first, second = list(range(1, order)), list(range(order, 2 * order - 1))
        return {
            "class_contexts": make_trie(of_classes.forest, first, of_classes.weights, all_classes),
            "word_contexts": make_trie(of_classes.forest, second, of_classes.weights, no_features),
            "contexts": make_trie(of_words.forest, first, of_words.weights, all_words),
        }
