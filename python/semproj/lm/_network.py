"""The arrays of a recurrent network: how they start, and as the kernels see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._common.types import Array
from .._core import lm as _core
from ._vocabulary import BEGIN_ID

ARRAYS = ("input", "recurrent", "classes", "words", "hidden_bias", "class_bias", "word_bias")
WHOLE = (
    "recurrent",
    "classes",
    "hidden_bias",
    "class_bias",
    "word_bias",
)  # a sum for each element; others: each row

# How large the recurrent matrix and the words' rows begin. A sigmoid's slope is a quarter at most.
_RECURRENT = {"sigmoid": 3.0, "tanh": 1.0, "relu": 0.7}
_INPUT = {"sigmoid": 0.5, "tanh": 0.1, "relu": 0.1}
_SLOW_INPUT = 0.5
_FIRST_SUM = 0.1  # of Adagrad: about the squared gradient of a word that is met once


class Classing(NamedTuple):
    """Which class each word has, and its place: words of a class stand together."""

    class_begin: Array  # int64
    place_of: Array  # int32
    class_of: Array  # int32

    def of_kernel(self) -> Any:
        return _core.RnnClasses(*self)


def frequency_classes(counts: Array, n_classes: int) -> Classing:
    """Words by falling count, cut where the sum of roots of counts reaches the next share.

    Shares of the counts themselves would make classes of many thousand rare words.
    """
    order = np.argsort(-counts, kind="stable")
    order = order[order != BEGIN_ID]
    mass = np.sqrt(np.maximum(counts[order], 0.5))
    before = np.cumsum(mass) - mass
    return _placed(order, np.minimum(before / mass.sum() * n_classes, n_classes - 1).astype(np.int64), len(counts))


def given_classes(class_of: Array) -> Classing:
    """Words by the class that each is given, by number."""
    order = np.delete(np.arange(len(class_of)), BEGIN_ID)
    order = order[np.argsort(class_of[order], kind="stable")]
    return _placed(order, class_of[order], len(class_of))


def _placed(order: Array, classes: Array, n_words: int) -> Classing:
    """Words in the order of their classes, without classes that have none."""
    _, classes = np.unique(classes, return_inverse=True)
    place_of, class_of = np.full(n_words, -1, np.int32), np.full(n_words, -1, np.int32)
    place_of[order] = np.arange(len(order))
    class_of[order] = classes
    return Classing(np.searchsorted(classes, np.arange(classes[-1] + 2)).astype(np.int64), place_of, class_of)


def starting_arrays(
    counts: Array, classing: Classing, n_components: int, activation: str, key: int, n_slow: int = 0
) -> dict[str, Array]:
    """Biases as the words' frequencies have it, matrices at random."""
    rng = np.random.default_rng([key, 1])
    known = classing.place_of >= 0
    mass = np.zeros(int(known.sum()))
    mass[classing.place_of[known]] = np.maximum(counts[known], 0.5)
    of_class = np.add.reduceat(mass, classing.class_begin[:-1])

    def draw(rows: int, size: float, of_slow: float) -> Array:
        drawn: Array = rng.standard_normal((rows, n_components + n_slow), np.float32)
        drawn[:, :n_components] *= np.float32(size)
        drawn[:, n_components:] *= np.float32(of_slow)
        return drawn

    root = 1 / np.sqrt(n_components)
    return {
        "input": draw(len(counts), _INPUT[activation], _SLOW_INPUT),
        "recurrent": draw(n_components, _RECURRENT[activation] * root, 0.0),
        "classes": draw(len(of_class), root, root),
        "words": draw(len(mass), root, root),
        "hidden_bias": np.zeros(n_components, np.float32),
        "class_bias": np.log(of_class / of_class.sum()).astype(np.float32),
        "word_bias": np.log(mass / np.repeat(of_class, np.diff(classing.class_begin))).astype(np.float32),
    }


def starting_sums(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """What Adagrad has of each array before it begins: of large ones a number for each row, and kind of unit."""
    units, width = arrays["recurrent"].shape
    columns = {"input": 2 if width > units else 1, "words": 1}
    shapes = {
        name: (len(array), columns[name]) if name in columns else array.shape for name, array in arrays.items()
    }
    return {name: np.full(shapes[name], _FIRST_SUM, array.dtype) for name, array in arrays.items()}


def of_kernel(arrays: Callable[[str], Array]) -> Any:
    return _core.RnnWeights(**{name: arrays(name) for name in ARRAYS})
