"""Tries of the contexts that a Model M has features of, as they are saved and scored with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._common.types import Array
from .._core import lm as _core


class Trie(NamedTuple):
    """Nodes level by level, from the roots. Siblings follow each other by rising symbols.

    Node i has the children ``children[i] : children[i + 1]`` and the features ``features[i] : features[i + 1]``.
    """

    children: Array
    symbols: Array
    features: Array
    labels: Array
    weights: Array

    def view(self) -> _core.ContextTrie:
        """For the kernels."""
        return _core.ContextTrie(*self)


def make_trie(
    forest: _core.HistoryForest, levels: list[int], weights: list[Array], roots: tuple[Array, Array, Array]
) -> Trie:
    """The contexts of some levels of a forest, without features of weight 0, and contexts without any below them.

    `roots` are the offsets, labels and weights of the features of the roots.
    """
    kept = _kept_contexts(forest, levels, weights)
    features, labels, values = [roots[0]], [roots[1]], [roots[2]]
    symbols = [np.full(len(roots[0]) - 1, -1, np.int32)]
    children: list[Array] = []
    above = len(roots[0]) - 1  # nodes of the level before
    numbers = np.arange(above)  # their places in it, by context
    total, n_features = above, len(roots[1])
    for level, keep in zip(levels, kept, strict=True):
        parents = numbers[forest.parents(level)[keep]]
        own = forest.symbols(level)[keep]
        order = np.lexsort((own, parents))
        contexts = keep[order]
        sizes = np.bincount(parents, minlength=above)
        children.append(total + np.cumsum(sizes) - sizes)
        symbols.append(own[order])
        numbers = np.full(len(forest.symbols(level)), -1, np.int64)
        numbers[contexts] = np.arange(len(contexts))
        above = len(contexts)
        total += above
        offsets, which = _nonzero_features(forest, level, weights[level], contexts)
        features.append(offsets[1:] + n_features)
        n_features += len(which)
        labels.append(forest.labels(level)[which])
        values.append(weights[level][which])
    children.append(np.full(above + 1, total))
    return Trie(
        np.concatenate(children).astype(np.int64),
        np.concatenate(symbols).astype(np.int32),
        np.concatenate(features).astype(np.int64),
        np.concatenate(labels).astype(np.int32),
        np.concatenate(values).astype(np.float32),
    )


def _kept_contexts(forest: _core.HistoryForest, levels: list[int], weights: list[Array]) -> list[Array]:
    """By level, the contexts that have a feature or are on the way to one that has."""
    kept: list[Array] = []
    needed: Any = None  # by the level below
    for level in reversed(levels):
        starts = forest.starts(level)
        nonzero = np.concatenate([[0], np.cumsum(weights[level] != 0)])
        mask = nonzero[starts[1:]] > nonzero[starts[:-1]]
        if needed is not None:
            mask[needed] = True
        kept.append(np.flatnonzero(mask))
        needed = forest.parents(level)[mask]
    return kept[::-1]


def _nonzero_features(
    forest: _core.HistoryForest, level: int, weights: Array, contexts: Array
) -> tuple[Array, Array]:
    """The features of some contexts, in their order, and the offsets of each context's."""
    starts = forest.starts(level)
    sizes = starts[contexts + 1] - starts[contexts]
    ends = np.cumsum(sizes)
    which = np.repeat(starts[contexts] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    nonzero = weights[which] != 0
    counts = np.concatenate([[0], np.cumsum(nonzero)])
    return counts[np.concatenate([[0], ends])], which[nonzero]
