"""Whether one method answers more questions rightly than another, of the same questions: McNemar's test."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, false_discovery_control

from .._common.types import Array
from .._common.validation import check_real


class McNemarResult(NamedTuple):
    """How many questions only one of two methods answers rightly, and how likely that is by chance."""

    only_a: int
    only_b: int
    p_value: float


class MethodComparison(NamedTuple):
    """Two methods on the same questions; `adjusted` is the p-value after the control of false discoveries."""

    a: str
    b: str
    accuracy_a: float
    accuracy_b: float
    only_a: int
    only_b: int
    p_value: float
    adjusted: float
    significant: bool


def mcnemar(correct_a: ArrayLike, correct_b: ArrayLike) -> McNemarResult:
    """McNemar's test of two methods on the same questions, by the exact binomial.

    Questions that both answer rightly, or both wrongly, do not tell them apart. If the methods are equally good,
    each of the others is with equal chances one that only the first, or only the second, answers rightly.

    Parameters
    ----------
    correct_a, correct_b : array-like of bool, shape (n_questions,)
        Which questions are answered rightly.

    Returns
    -------
    McNemarResult
        With a two-sided p-value; 1 if there is no question that tells them apart.

    Examples
    --------
    >>> from semproj.metrics import mcnemar
    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True])
    McNemarResult(only_a=9, only_b=1, p_value=0.021484375)
    """
    a, b = _outcomes(correct_a, "correct_a"), _outcomes(correct_b, "correct_b")
    if len(a) != len(b):
        raise ValueError(f"correct_b: expected {len(a)} questions as correct_a has, got {len(b)}")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    n = only_a + only_b
    return McNemarResult(only_a, only_b, float(binomtest(only_a, n).pvalue) if n else 1.0)


def compare_methods(
    correct: Mapping[str, ArrayLike], *, false_discoveries: float = 0.05
) -> list[MethodComparison]:
    """McNemar's test of all pairs of methods, with the rate of false discoveries under control.

    Of the differences that are called significant, no more than this share is expected to be due to chance, by
    the procedure of Benjamini and Hochberg 1995. This is how section 6 of Zweig, Platt, Meek, Burges,
    Yessenalina and Liu 2012 compares methods of sentence completion.

    Parameters
    ----------
    correct : mapping of str to array-like of bool
        For each method which questions it answers rightly: two methods at least.
    false_discoveries : float, default 0.05

    Returns
    -------
    list of MethodComparison
        In the order of the methods.

    Examples
    --------
    >>> from semproj.metrics import compare_methods
    >>> good, poor, same = [True] * 12, [False] * 12, [False] * 11 + [True]
    >>> for each in compare_methods({"good": good, "poor": poor, "same": same}):
    ...     print(each.a, each.b, round(each.adjusted, 4), each.significant)
    good poor 0.0015 True
    good same 0.0015 True
    poor same 1.0 False
    """
    check_real(false_discoveries, "false_discoveries", low=0, high=1)
    if not isinstance(correct, Mapping):
        raise TypeError(f"correct: expected a mapping of names to outcomes, got {type(correct).__name__}")
    if len(correct) < 2:
        raise ValueError(f"correct: expected at least 2 methods, got {len(correct)}")
    outcomes = {name: _outcomes(values, f"correct[{name!r}]") for name, values in correct.items()}
    lengths = {len(values) for values in outcomes.values()}
    if len(lengths) > 1:
        raise ValueError(f"correct: expected the same questions for all methods, got {sorted(lengths)} of them")
    pairs = list(combinations(outcomes, 2))
    tests = [mcnemar(outcomes[a], outcomes[b]) for a, b in pairs]
    adjusted = false_discovery_control([test.p_value for test in tests], method="bh")
    return [
        MethodComparison(
            a,
            b,
            float(outcomes[a].mean()),
            float(outcomes[b].mean()),
            *test,
            float(each),
            bool(each <= false_discoveries),
        )
        for (a, b), test, each in zip(pairs, tests, adjusted, strict=True)
    ]


def _outcomes(values: Any, name: str) -> Array:
    found = np.asarray(values)
    if found.ndim != 1 or not len(found):
        raise ValueError(f"{name}: expected one outcome for each question, got shape {found.shape}")
    if found.dtype != bool:
        if found.dtype.kind not in "iu" or not np.isin(found, (0, 1)).all():
            raise TypeError(f"{name}: expected True and False, got dtype {found.dtype}")
        found = found.astype(bool)
    return found
