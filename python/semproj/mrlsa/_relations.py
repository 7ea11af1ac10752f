"""The relations of a thesaurus as weighted slices of one tensor, entries x words x relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._common.validation import check_positive, check_real
from ..pilsa import signed_matrix
from ..thesaurus import Thesaurus, check_thesaurus

OPPOSITES = ("synonym", "antonym")

Slices: TypeAlias = "Sequence[str] | Mapping[str, Mapping[str, float]]"


def weighted_slices(
    thesaurus: Thesaurus,
    relations: Slices,
    polarity: float,
    scales: Mapping[str, float] | None,
    pivot: str,
    row_scaling: float,
) -> tuple[tuple[str, ...], list[Any]]:
    """tf-idf weights of each slice, times its scale; a word's document frequency is that of all slices."""
    check_thesaurus(thesaurus)
    weights = _slice_weights(thesaurus, relations, polarity)
    names = tuple(weights)
    if pivot not in names:
        raise ValueError(f"pivot: expected one of the relations {', '.join(map(repr, names))}, got {pivot!r}")
    if not isinstance(scales, (Mapping, type(None))):
        raise TypeError(f"scales: expected a mapping of relations to numbers, got {scales!r}")
    for name, scale in (scales or {}).items():
        check_positive(scale, f"scales[{name!r}]")
        if name not in names:
            raise ValueError(f"scales: expected names of relations {', '.join(map(repr, names))}, got {name!r}")
    check_real(row_scaling, "row_scaling", low=0, high=1)
    raw = [signed_matrix(thesaurus, each) for each in weights.values()]
    occurs = sum((abs(matrix) for matrix in raw[1:]), abs(raw[0]))
    if occurs.nnz == 0:
        raise ValueError("thesaurus: has no entries in these relations")
    frequency = np.bincount(occurs.indices, minlength=occurs.shape[1])
    idf = np.log2(occurs.shape[0] / np.maximum(frequency, 1)).astype(np.float32)
    weighted = [matrix @ sp.diags(idf) for matrix in raw]
    squares = sum(np.asarray(w.multiply(w).sum(axis=1), np.float64).ravel() for w in weighted)
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0)) ** row_scaling
    factors = [float((scales or {}).get(name, 1.0)) for name in names]
    rows = [sp.diags((factor / lengths).astype(np.float32)) for factor in factors]
    return names, [sp.csr_matrix(each @ w) for each, w in zip(rows, weighted, strict=True)]


def _slice_weights(thesaurus: Thesaurus, relations: Slices, polarity: float) -> dict[str, dict[str, float]]:
    """What each slice is the sum of."""
    check_real(polarity, "polarity", low=0, high=1)
    if isinstance(relations, Mapping):
        for name, each in relations.items():
            if not isinstance(each, Mapping):
                raise TypeError(f"relations[{name!r}]: expected a mapping of relations to numbers, got {each!r}")
        weights = {name: dict(each) for name, each in relations.items()}
    else:
        if not isinstance(relations, Iterable):
            raise TypeError(f"relations: expected names, or a mapping of names to weights, got {relations!r}")
        names = [relations] if isinstance(relations, str) else list(relations)
        if len(set(names)) != len(names):
            raise ValueError(f"relations: expected different names, got {names!r}")
        weights = {name: {name: 1.0} for name in names}
    if not weights:
        raise ValueError("relations: expected at least one")
    for name, each in weights.items():
        if not any(weight != 0 and relation in thesaurus.relations for relation, weight in each.items()):
            have = ", ".join(map(repr, thesaurus.relations)) or "none"
            raise ValueError(
                f"relations: {name!r}: expected relations of the thesaurus ({have}), got {list(each)}"
            )
    if polarity and all(name in weights for name in OPPOSITES):
        first, second = (weights[name] for name in OPPOSITES)
        both = dict.fromkeys([*first, *second])
        for name, mine, theirs in zip(OPPOSITES, (first, second), (second, first), strict=True):
            weights[name] = {each: mine.get(each, 0.0) - polarity * theirs.get(each, 0.0) for each in both}
    return weights
