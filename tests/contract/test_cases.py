"""What every estimator promises, whatever it is fitted on; and that every public one is in a list."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import semproj as sj
from semproj._common.persistence import Persistent
from tests.contract.cases import BUILT, CASES, ITERATIVE
from tests.contract.estimators import CLASSIFIERS, ESTIMATORS, MULTIVIEW
from tests.saved.fixtures import MODELS
from tests.support import all_at_once, same_bits
from tests.support.fitted import assert_same_fit, fitted, same_values


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


def public_classes() -> list[type]:
    return [each for each in (getattr(sj, name) for name in sj.__all__) if isinstance(each, type)]


def test_every_public_estimator_is_in_a_list():
    listed = {type(each) for each in (*ESTIMATORS, *CLASSIFIERS, *MULTIVIEW, *(c.estimator for c in CASES))}
    listed |= {base for each in listed for base in each.__mro__}
    listed |= {type(each.build(0, 1)) for each in BUILT}
    promises = [each for each in public_classes() if hasattr(each, "fit") or hasattr(each, "save")]
    assert [each.__name__ for each in promises if each not in listed] == []


def test_every_public_model_has_a_saved_file():
    """Once it is there it is never written again, so that later versions read it."""
    saved = {type(make()) for make in MODELS.values()}
    # A counter is saved with its encoder; a weighting asks for its function (tests/jit/test_function.py).
    cannot_be_saved = {sj.CustomWeighting, sj.RawRelations, sj.TermCounter}
    classes = {each for each in public_classes() if issubclass(each, Persistent)}
    assert classes - saved == cannot_be_saved


def test_every_iterative_estimator_is_in_its_list():
    has_callback = {
        each.__name__
        for each in public_classes()
        if issubclass(each, BaseEstimator) and "callback" in inspect.signature(each).parameters
    }
    assert {type(case.estimator).__name__ for case in ITERATIVE} == has_callback


def test_parameters_are_only_stored(case):
    for name, value in case.estimator.get_params(deep=False).items():
        assert getattr(case.estimator, name) is value, name
    assert clone(case.estimator).get_params() == case.estimator.get_params()


def test_not_fitted(case, tmp_path):
    with pytest.raises(NotFittedError):
        case.answers(case.make(), case.data(0))
    if hasattr(case.estimator, "save"):
        with pytest.raises((NotFittedError, TypeError)):
            case.make().save(tmp_path / "model")


def test_fit_returns_the_estimator(case):
    model = case.make()
    assert model.fit(*case.data(0)) is model


def test_threads_and_seeds(case):
    """Two fits with one seed are one fit, however many threads they have."""
    if "n_threads" not in case.estimator.get_params():
        assert_same_fit(case.fit(), case.fit())
        return
    first = case.fit(n_threads=1)
    for n_threads in (2, 5):
        other = case.fit(n_threads=n_threads)
        assert_same_fit(first, other)
        for a, b in zip(case.answers(first, case.data(0)), case.answers(other, case.data(0)), strict=True):
            assert same_bits(a, b)


def test_other_parameters_and_other_data_make_other_models(case):
    """So that the other tests can fail."""
    answers = case.answers(case.fit(), case.data(0))
    for model, data in ((case.fit(**case.other), case.data(0)), (case.fit(1), case.data(1))):
        others = case.answers(model, data)
        assert not all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(answers, others, strict=True))


def test_input_does_not_change(case):
    data, untouched = case.data(0), case.data(0)
    model = case.make().fit(*data)
    case.answers(model, data)
    assert same_values(data, untouched)


def test_refit_is_fresh(case):
    expected = case.fit(1)
    again = case.fit(0)
    case.answers(again, case.data(0))
    assert_same_fit(again.fit(*case.data(1)), expected)


def test_a_failed_fit_keeps_the_previous_one(case):
    model, data = case.fit(), case.data(0)
    expected = case.answers(case.fit(), data)
    for bad in (5, None, [np.full((3, 3), np.nan)]):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            model.fit(*[bad] * len(data))
        for a, b in zip(case.answers(model, data), expected, strict=True):
            assert same_bits(a, b)


def test_clone_and_pickle(case):
    model, data = case.fit(), case.data(0)
    again = pickle.loads(pickle.dumps(model))
    assert_same_fit(again, model)
    for a, b in zip(case.answers(again, data), case.answers(model, data), strict=True):
        assert same_bits(a, b)
    fresh = clone(model)
    assert not fitted(fresh)
    assert_same_fit(fresh.fit(*data), model)


def test_save_and_load(case, tmp_path):
    model, data, path = case.fit(), case.data(0), tmp_path / "model.safetensors"
    if isinstance(model, sj.RawRelations):
        with pytest.raises(TypeError, match="cannot be saved"):
            model.save(path)
        return
    model.save(path)
    loaded = sj.load(path)
    assert type(loaded) is type(model)
    for a, b in zip(case.answers(loaded, data), case.answers(model, data), strict=True):
        assert same_bits(a, b)
    kept, there = fitted(model), fitted(loaded)
    assert all(same_bits(there[name], kept[name]) for name in there if isinstance(there[name], np.ndarray))
    assert_same_fit(loaded.fit(*data), model)


def test_concurrent_fits(case):
    parameters = {"n_threads": 2} if "n_threads" in case.estimator.get_params() else {}
    models = [(case.make(**parameters), case.data(0)) for _ in range(3)]
    # The data are there before: fits let BLAS run on one thread, which could change the bits of what makes them.
    all_at_once(lambda each: each[0].fit(*each[1]), models)
    for model, _ in models:
        assert_same_fit(model, case.fit())


def test_one_model_used_by_several_threads(case):
    model, data = case.fit(), case.data(0)
    expected = case.answers(case.fit(), data)
    for answers in all_at_once(lambda _: case.answers(model, data), [0] * 4):
        assert all(same_bits(a, b) for a, b in zip(answers, expected, strict=True))
