"""How a recurrent network is trained: parts of a text, one after the other, and what they say of held-out text."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._common.checkpoint import check_state, seed_identity
from .._common.fitting import State, Sweeps
from .._common.persistence import checksum
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_integer, check_real, seed_key
from .._core import lm as _core
from ._network import Classing, frequency_classes, given_classes, of_kernel, starting_arrays, starting_sums
from ._reading import RawText
from ._sentences import NumberedText
from ._vocabulary import BEGIN_ID, END_ID, Vocabulary

_LAST_RATE = 0.02  # of the learning rate, after all epochs
_WORDS_PER_STREAM = 2000  # at least, where the number of streams is not given
_MOST_STREAMS = 128


class RnnSweeps(Sweeps):
    """A sweep is an epoch, or a part of it if the text is long. Its objective is the perplexity of held-out text.

    Parameters
    ----------
    model : RNNLM
    raw : RawText
        What is learnt from, with what is held out if a share of it is.
    held_out : callable or None
        From a vocabulary to the text that is held out.
    """

    argument = "sentences"
    falls = True
    sized_by = ("n_components", "n_classes")

    def __init__(self, model: Any, raw: RawText, held_out: Any) -> None:
        self._model, self._raw, self._given = model, raw, held_out
        self._n_threads = resolve_threads(model.n_threads)
        self._speed = 0.0

    def identity(self) -> dict[str, Any]:
        model = self._model
        names = (
            "n_components",
            "n_slow",
            "n_classes",
            "min_count",
            "activation",
            "n_steps",
            "n_streams",
            "sweep_words",
        )
        identity = {name: getattr(model, name) for name in (*names, "across_sentences")}
        identity |= {name: float(getattr(model, name)) for name in ("learning_rate", "clip", "decay", "epochs")}
        identity["held_out"] = model.held_out if self._given is None else self._given.identity()
        words = self._raw.words.words
        identity["classes"] = None if model.classes is None else checksum(self._given_classes(words))
        text = self._raw.text
        identity["text"] = [checksum(text.ids), checksum(text.starts), checksum(self._raw.words.text_)]
        return {**identity, "random_state": seed_identity(model.random_state)}

    def memory(self) -> int:
        """Rows of words and what a block of the text takes, twice: as they are, and as they were best."""
        h, n_words = int(self._model.n_components) + int(self._model.n_slow), len(self._raw.words)
        streams = self._model.n_streams or _MOST_STREAMS
        return 4 * h * (4 * n_words + 4 * h + 6 * int(streams) * int(self._model.n_steps))

    def start(self, saved: State | None) -> None:
        model = self._model
        self._key = seed_key(model.random_state) if saved is None else check_integer(saved[1]["key"], "key", low=0)
        training, held = self._split()
        self.vocabulary = self._raw.vocabulary(training, int(model.min_count))
        text = self._raw.numbered_by(self.vocabulary)
        self._text = text.take(training)
        self._held = self._given.text(self.vocabulary) if self._given is not None else text.take(held)
        counts = np.bincount(self._text.ids, minlength=len(self.vocabulary))
        self.classing = self._classing(counts)
        self._arrays = starting_arrays(
            counts, self.classing, int(model.n_components), model.activation, self._key, int(model.n_slow)
        )
        self._sums = starting_sums(self._arrays)
        self._best = {name: array.copy() for name, array in self._arrays.items()}
        self._objective = self._best_objective = np.inf
        self._since_best = 0
        self._parts = self.parts_of(len(self._raw.text.ids))
        if saved is not None:
            self._take_up(*saved)
        self._raw = RawText(NumberedText(text.ids[:0], text.starts[:1]), Vocabulary())
        self._classes = self.classing.of_kernel()

    def parts_of(self, n_words: int) -> int:
        """Sweeps of an epoch."""
        return max(1, round(n_words / int(self._model.sweep_words)))

    def _take_up(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        self._since_best = check_integer(scalars["since_best"], "since_best", low=0)
        kinds = {"": self._arrays, "sums/": self._sums} | ({"best/": self._best} if self._since_best else {})
        check_state(arrays, {k + n: (a.dtype, a.shape) for k, kind in kinds.items() for n, a in kind.items()})
        for prefix, kind in kinds.items():
            for name, array in kind.items():
                array[...] = arrays[prefix + name]
        self._objective = check_real(scalars["objective"], "objective")
        self._best_objective = check_real(scalars["best_objective"], "best_objective")
        if not self._since_best:
            self._keep_best()

    def _split(self) -> tuple[Array, Array]:
        """Which sentences are learnt from, and which are held out."""
        n, share = len(self._raw.text), self._model.held_out
        order = np.random.default_rng([self._key, 0]).permutation(n)
        n_held = 0 if self._given is not None or share is None else min(n - 1, round(float(share) * n))
        return np.sort(order[n_held:]), np.sort(order[:n_held])

    def _classing(self, counts: Array) -> Classing:
        if self._model.classes is not None:
            return given_classes(self._given_classes(self.vocabulary.words))
        n_classes = self._model.n_classes
        most = max(1, len(counts) - 1)
        return frequency_classes(counts, min(most, int(n_classes or np.ceil(1.1 * np.sqrt(most)))))

    def _given_classes(self, words: list[str]) -> Array:
        """Of each word; those that have none share one of their own."""
        classes = self._model.classes
        numbers = [classes.get(word, -1) for word in words]
        return np.array(numbers, np.int64)

    def step(self, sweep: int) -> float:
        model, started = self._model, time.perf_counter()
        epoch, part = divmod(sweep - 1, self._parts)
        ids = self._part(epoch, part)
        planned = float(model.epochs) * self._parts
        first, last = (float(model.learning_rate) * _decayed(way / planned) for way in (sweep - 1, sweep))
        streams = model.n_streams or int(np.clip(len(ids) // _WORDS_PER_STREAM, 1, _MOST_STREAMS))
        with single_threaded_blas():
            total = _core.rnn_train(
                ids,
                of_kernel(self._arrays.__getitem__),
                of_kernel(self._sums.__getitem__),
                self._classes,
                model.activation,
                float(model.decay),
                BEGIN_ID,
                END_ID,
                int(streams),
                int(model.n_steps),
                bool(model.across_sentences),
                first,
                last,
                float(model.clip),
                self._n_threads,
            )
        self._speed = len(ids) / max(time.perf_counter() - started, 1e-9)
        self._objective = self._perplexity() if len(self._held.ids) else _perplexity(total, len(ids))
        if self._objective < self._best_objective or not len(self._held.ids):
            self._best_objective, self._since_best = self._objective, 0
            self._keep_best()
        else:
            self._since_best += 1
        return self._objective

    def _keep_best(self) -> None:
        for name, array in self._arrays.items():
            np.copyto(self._best[name], array)

    def _part(self, epoch: int, part: int) -> Array:
        """The words of a sweep: those of some sentences, which are others for each part of an epoch."""
        n = len(self._text)
        if self._model.across_sentences:
            order = np.arange(n)
        else:
            order = np.random.default_rng([self._key, 2, epoch]).permutation(n)
        return self._text.take(np.array_split(order, self._parts)[part]).ids

    def _perplexity(self) -> float:
        with single_threaded_blas():
            found = _core.rnn_score(
                self._held.ids,
                self._held.starts,
                of_kernel(self._arrays.__getitem__),
                self._classes,
                self._model.activation,
                float(self._model.decay),
                BEGIN_ID,
                self._n_threads,
            )
        return _perplexity(float(found.sum()), len(found))

    @property
    def over(self) -> bool:
        """Whether the held-out text has not become more probable for some time."""
        patience = self._model.patience
        return patience is not None and self._since_best >= int(patience)

    def note(self) -> dict[str, str]:
        return {"words/s": f"{self._speed:,.0f}"} if self._speed else {}

    def state(self) -> State:
        arrays = {**self._arrays, **{f"sums/{name}": a for name, a in self._sums.items()}}
        if self._since_best:
            arrays |= {f"best/{name}": a for name, a in self._best.items()}
        numbers = {"objective": self._objective, "best_objective": self._best_objective}
        return arrays, {"key": self._key, "since_best": self._since_best, **numbers}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        arrays = {f"{name}_": a.copy() if going_on else a for name, a in self._best.items()}
        arrays["input_"][END_ID] = arrays["input_"][BEGIN_ID]  # an end within a text begins a sentence
        begin, place_of, class_of = (a.copy() if going_on else a for a in self.classing)
        fitted = {**arrays, "class_begin_": begin, "place_of_": place_of, "class_of_": class_of}
        return fitted | {"vocabulary_": self.vocabulary, "activation_": self._model.activation} | {
            "decay_": float(self._model.decay)
        }, self._objective


def _decayed(way: float) -> float:
    return 1 - (1 - _LAST_RATE) * min(1.0, way)


def _perplexity(log_prob: float, n_words: int) -> float:
    """Of a sum of natural logarithms. One beyond all numbers is infinite."""
    with np.errstate(over="ignore"):
        return float(np.exp(-log_prob / max(1, n_words)))
