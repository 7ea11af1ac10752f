"""What is no data of an estimator is refused in words that say what to write, whatever the estimator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import semproj as sj
from semproj.retrieval import Index
from tests.contract.cases import BUILT, TEXT_MODELS, WORD_MODELS
from tests.contract.estimators import CLASSIFIERS, ESTIMATORS, MULTIVIEW

TEXTS = ["red apple pie", "green apple tree", "deep blue sea"]
NUMBERS = np.ones((3, 4))
WORDS = ["hot", "cold"]

# Objects of ours that are not fitted on, and have no rows.
OURS: dict[str, Callable[[], Any]] = {
    "Thesaurus": lambda: sj.Thesaurus(WORDS, ["hot"], {"synonym": [[1, 0]], "antonym": [[0, 1]]}),
    "SparseTensor": lambda: sj.SparseTensor([[0], [1], [0]], [1.0]),
    "TermCounter": lambda: sj.TermCounter().fit(TEXTS),
    "MultiTermCounter": lambda: sj.MultiTermCounter().fit([TEXTS, TEXTS]),
    "Encoder": cache(lambda: next(each for each in BUILT if str(each) == "Encoder").build(0, 1)),
    "LSA": lambda: sj.LSA(1).fit(NUMBERS),
    "a class": lambda: sj.LogTfIdf,
    "ContextSpace": lambda: sj.ContextSpace(WORDS, [[1.0, 0.0], [0.0, 1.0]]),
    "ExtendedWordSpace": lambda: sj.ExtendedWordSpace(WORDS, [[1.0, 0.0], [0.0, 1.0]]),
    "Index": lambda: Index(NUMBERS),
}
# Texts, in whatever they come.
TEXTUAL: dict[str, Callable[[], Any]] = {
    "a text": lambda: TEXTS[0],
    "bytes": lambda: b"red apple",
    "texts": lambda: TEXTS,
    "a tuple of texts": lambda: tuple(TEXTS),
    "tokens": lambda: [text.split() for text in TEXTS],
    "an array of texts": lambda: np.array(TEXTS, object),
    "a column of texts": lambda: np.array(TEXTS)[:, None],
    "a series of texts": lambda: pd.Series(TEXTS),
    "a frame of texts": lambda: pd.DataFrame({"text": TEXTS}),
    "a frame with texts": lambda: pd.DataFrame({"number": [1, 2, 3], "text": TEXTS}),
}
MAPPINGS: dict[str, Callable[[], Any]] = {"a dict": lambda: {"english": NUMBERS, "spanish": NUMBERS}}

NO_ROWS = {**OURS, **TEXTUAL, **MAPPINGS}
SAYS_WHAT_TO_WRITE = r"; .*(write|takes?) "


def fit(estimator: Any, X: Any) -> Any:
    model = clone(estimator)
    return model.fit(X, [0, 1, 0]) if estimator in CLASSIFIERS else model.fit(X)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *CLASSIFIERS], ids=str)
def test_models_of_rows(estimator):
    for make in NO_ROWS.values():
        with pytest.raises(TypeError, match=f"^X: expected a matrix of numbers, got .*{SAYS_WHAT_TO_WRITE}"):
            fit(estimator, make())


@pytest.mark.parametrize("estimator", MULTIVIEW, ids=str)
def test_models_of_several_views(estimator):
    """As a whole, and one of them."""
    for name, make in NO_ROWS.items():
        frame = name.startswith("a frame") or "array" in name or "column" in name
        expected = "a list of matrices" if frame else "a matrix of numbers"
        with pytest.raises(TypeError, match=f"^X: expected {expected}, .*{SAYS_WHAT_TO_WRITE}"):
            fit(estimator, make())
        if name != "a text":
            with pytest.raises(TypeError, match=rf"^X.*: expected a matrix of numbers, .*{SAYS_WHAT_TO_WRITE}"):
                fit(estimator, [make(), make()])


@pytest.mark.parametrize("model", [*(case.estimator for case in WORD_MODELS), sj.MRLSA(2)], ids=str)
def test_models_of_a_thesaurus(model):
    for make in (*NO_ROWS.values(), lambda: NUMBERS, lambda: sp.csr_matrix(NUMBERS)):
        given = make()
        if not isinstance(given, sj.Thesaurus):
            with pytest.raises(TypeError, match=r"^thesaurus: expected a Thesaurus, got .*; write Thesaurus"):
                clone(model).fit(given)


def test_models_of_tensors():
    for name, make in NO_ROWS.items():
        if name != "SparseTensor":
            with pytest.raises(TypeError, match=r"^(tensor: expected|slices\[0\]: expected a matrix of numbers)"):
                sj.Tucker((1, 1, 1)).fit(make())
    with pytest.raises(TypeError, match=r"got Thesaurus; .* write list\(thesaurus.relations.values\(\)\)"):
        sj.Tucker((1, 1, 1)).fit(OURS["Thesaurus"]())


@pytest.mark.parametrize("case", TEXT_MODELS, ids=str)
def test_models_of_text(case):
    """A thesaurus can be iterated over, which gives the names of its relations."""
    for make in (*OURS.values(), lambda: sp.csr_matrix(NUMBERS)):
        given = [make()] * len(case.data(0))
        with pytest.raises(TypeError, match=r"documents.*: (expected|iterable).*got .*; write (a list|\[)"):
            case.make().fit(*given)


def test_rows_that_are_numbers_pass():
    """Whatever holds them."""
    expected = sj.LSA(2, random_state=0).fit(NUMBERS).components_
    for rows in (NUMBERS.tolist(), NUMBERS.astype(object), pd.DataFrame(NUMBERS), sp.coo_array(NUMBERS)):
        np.testing.assert_array_equal(sj.LSA(2, random_state=0).fit(rows).components_, expected)
