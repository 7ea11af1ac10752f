"""What is promised of things that are made, not fitted: encoders, word spaces, thesauri."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import semproj as sj
from tests.contract.cases import BUILT
from tests.support import all_at_once, same_bits


@pytest.fixture(params=BUILT, ids=str)
def case(request):
    return request.param


def assert_same_answers(case, a, b):
    assert all(same_bits(x, y) for x, y in zip(case.answers(a), case.answers(b), strict=True))


def test_any_number_of_threads(case):
    for n_threads in (2, 5):
        assert_same_answers(case, case.build(0, n_threads), case.build(0, 1))


def test_other_data_give_other_answers(case):
    """So that the other tests can fail."""
    first, second = (case.answers(case.build(seed, 1)) for seed in (0, 1))
    assert not all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_pickle(case):
    made = case.build(0, 1)
    assert_same_answers(case, pickle.loads(pickle.dumps(made)), made)


def test_save_and_load(case, tmp_path):
    made = case.build(0, 1)
    made.save(tmp_path / "file")
    loaded = sj.load(tmp_path / "file")
    assert type(loaded) is type(made)
    assert_same_answers(case, loaded, made)


def test_several_threads_at_once(case):
    made = case.build(0, 2)
    expected = case.answers(case.build(0, 2))
    for answers in all_at_once(lambda _: case.answers(made), [0] * 4):
        assert all(same_bits(a, b) for a, b in zip(answers, expected, strict=True))
