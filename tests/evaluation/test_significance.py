"""McNemar's test and the control of false discoveries, beside plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from semproj.metrics import compare_methods, mcnemar
from tests.reference import completion as reference


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (1, 0), (5, 5), (9, 1), (30, 12), (3, 17)])
def test_mcnemar(only_a, only_b):
    a = [True] * only_a + [False] * only_b + [True, False] * 7
    b = [False] * only_a + [True] * only_b + [True, False] * 7
    found = mcnemar(a, b)
    assert (found.only_a, found.only_b) == (only_a, only_b)
    assert found.p_value == pytest.approx(reference.mcnemar(only_a, only_b), rel=1e-12)


def test_all_pairs():
    rng = np.random.default_rng(0)
    correct = {f"m{i}": rng.random(200) < 0.3 + 0.12 * i for i in range(4)}
    found = compare_methods(correct, false_discoveries=0.02)
    assert [(each.a, each.b) for each in found] == [
        ("m0", "m1"), ("m0", "m2"), ("m0", "m3"), ("m1", "m2"), ("m1", "m3"), ("m2", "m3")
    ]  # fmt: skip
    expected = reference.benjamini_hochberg([each.p_value for each in found])
    assert [each.adjusted for each in found] == pytest.approx(expected, rel=1e-12)
    assert [each.significant for each in found] == [each <= 0.02 for each in expected]
    assert {each.significant for each in found} == {True, False}
    assert found[2].accuracy_b == correct["m3"].mean()


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([True], [True, False], ValueError, "correct_b: expected 1 questions as correct_a has, got 2"),
        ([], [], ValueError, "correct_a: expected one outcome for each question"),
        ([[True]], [True], ValueError, "correct_a: expected one outcome for each question"),
        ([0.5], [True], TypeError, "correct_a: expected True and False"),
        ([2], [True], TypeError, "correct_a: expected True and False"),
    ],
)
def test_refused(a, b, error, message):
    with pytest.raises(error, match=message):
        mcnemar(a, b)


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="correct: expected at least 2 methods, got 1"):
        compare_methods({"a": [True]})
    with pytest.raises(ValueError, match="correct: expected the same questions for all methods"):
        compare_methods({"a": [True], "b": [True, False]})
    with pytest.raises(TypeError, match="correct: expected a mapping"):
        compare_methods([[True], [False]])
    with pytest.raises(ValueError, match="false_discoveries"):
        compare_methods({"a": [True], "b": [False]}, false_discoveries=2)
