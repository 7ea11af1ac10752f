"""What is promised of sparse arguments, whatever takes them: any layout, never changed, never trusted."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

from semproj._common.validation import as_csr, core_csr
from tests.contract.cases import ITERATIVE
from tests.contract.doors import DOORS, counts
from tests.support.fitted import same_values
from tests.support.layouts import BROKEN, FATAL, LAYOUTS, with_waste

ARRAYS = ("data", "indices", "indptr", "row", "col", "rows", "offsets")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """The matrices are small: threads would wait for each other."""
    monkeypatch.setenv("SEMPROJ_NUM_THREADS", "1")


@pytest.fixture(params=DOORS, ids=str)
def door(request):
    return request.param


def test_any_layout_gives_the_same_bits(door):
    expected, wrong = door.call(lambda X: X), {}
    for name, laid in LAYOUTS.items():
        try:
            if not same_values(door.call(laid), expected):
                wrong[name] = "other bits"
        except (TypeError, ValueError) as error:
            wrong[name] = str(error)
    assert wrong == {}


def takes_matrices(case):
    data = case.data(0)[0]
    return sp.issparse(data[0] if isinstance(data, list) else data)


def arrays_of(X):
    parts = {name: getattr(X, name) for name in ARRAYS if hasattr(X, name)}
    return {name: (id(a), copy.deepcopy(a)) for name, a in parts.items()}


def test_the_callers_matrix_does_not_change(door):
    """Not even its spare memory, nor the objects that hold its arrays."""
    given = []

    def laid(X, name):
        X = LAYOUTS[name](X)
        if X.format in ("csr", "csc"):  # unsorted, so that whoever sorts in place is seen
            X.indices[: X.indptr[1]] = X.indices[: X.indptr[1]][::-1]
        given.append((X, arrays_of(X)))
        return X

    for name in ("waste", "csc with waste", "bsr with waste", "coo", "int64", "lil"):
        door.call(lambda X, name=name: laid(X, name))
    for X, before in given:
        for name, (number, array) in arrays_of(X).items():
            assert number == before[name][0], f"{name} of {X.format} is another object"
            np.testing.assert_array_equal(array, before[name][1])


def breakages():
    thorough = (
        "LSA.partial_fit",
        "project(array)",
        "project(weighting=LogTfIdf)",
        "BPTF.fit",
        "Tucker.fit(matrix)",
    )
    return [
        (door, name, broken)
        for door in DOORS
        for name, broken in BROKEN.items()
        if name in FATAL or door.name in thorough
    ]


def test_broken_matrices(run_python):
    """An error of ours for every function, never a crash; for some, of everything that can be broken.

    All in one process of their own, which says what it does next, so that a crash is seen and has a name.
    """
    done = run_python(
        """
        import json
        from tests.contract.test_sparse import breakages
        from tests.support.limiting import limit_memory
        limit_memory(gigabytes=8)
        for door, name, broken in breakages():
            print(json.dumps([str(door), name]), end=" ", flush=True)
            try:
                door.call(broken)
                print(json.dumps("accepted"))
            except (TypeError, ValueError) as error:
                print(json.dumps(str(error)))
            except BaseException as error:
                print(json.dumps(repr(error)))
        """,
        check=False,
        SEMPROJ_NUM_THREADS="1",
    )
    *lines, last = done.stdout.split("\n")
    assert done.returncode == 0, f"ended with {done.returncode} in {last or lines[-1]}\n{done.stderr[-2000:]}"
    decode = json.JSONDecoder().raw_decode
    seen = [(line[:end], json.loads(line[end:])) for line in lines for _, end in [decode(line)]]
    assert len(seen) == len(breakages())
    named = re.compile(r"^(X|X\[\d\]|weights|counts\d|slices|slices\[\d\]|Y|tensor|relations: '\w+')[:.]")
    assert [each for each in seen if not named.search(each[1])] == []


@pytest.mark.parametrize("case", [case for case in ITERATIVE if takes_matrices(case)], ids=str)
def test_a_checkpoint_belongs_to_the_matrix_in_any_layout(case, tmp_path):
    def laid(data):
        return (
            with_waste(data.tocsr()) if sp.issparse(data) else [*map(laid, data)] if type(data) is list else data
        )

    data = case.data(0)
    checkpoint = {"checkpoint": tmp_path / "state"}
    first = case.make(**checkpoint).fit(*data)
    again = case.make(**checkpoint).fit(*map(laid, data))
    for a, b in zip(case.answers(again, data), case.answers(first, data), strict=True):
        np.testing.assert_array_equal(a, b)


def test_kernels_have_offsets_of_their_own():
    """Whatever other threads write to the caller's, kernels read those that were checked."""
    X = LAYOUTS["int64"](counts())
    assert not np.shares_memory(core_csr(as_csr(X)).indptr, X.indptr)
    assert core_csr(as_csr(X)).indptr.tolist() == X.indptr.tolist()


def test_spare_memory_is_not_copied():
    """Views of the caller's arrays are handed on, however much lies behind them."""
    X = with_waste(counts())
    view = as_csr(X)
    assert len(view.data) == len(view.indices) == view.nnz
    assert np.shares_memory(view.data, X.data)
    assert np.shares_memory(view.indices, X.indices)
    assert as_csr(counts()) is counts()
