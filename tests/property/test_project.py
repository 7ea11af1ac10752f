"""Random small matrices, found by hypothesis, against the dense product."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from semproj.kernels import Projection, project
from tests.support import same_bits

STORAGES = ("float64", "float32", "float16", "int8")


@st.composite
def matrices(draw):
    """CSR with indices in any order, duplicates, empty rows, and values with exact sums."""
    rows, cols = draw(st.integers(0, 12)), draw(st.integers(1, 40))
    lengths = draw(st.lists(st.integers(0, 30), min_size=rows, max_size=rows))
    total = sum(lengths)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.int32]))
    index = draw(st.sampled_from([np.int32, np.int64]))
    data = rng.integers(-20, 21, total).astype(dtype)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    X = sp.csr_matrix((data, rng.integers(0, cols, total).astype(index), indptr), shape=(rows, cols))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


@settings(max_examples=150, deadline=None)
@given(
    X=matrices(),
    d=st.integers(1, 140),
    storage=st.sampled_from(STORAGES[:3]),
    seed=st.integers(0, 2**32 - 1),
    threads=st.integers(1, 5),
)
def test_integers_are_exact(X, d, storage, seed, threads):
    """Small integers are exact in float16 and in every sum: not a bit may differ."""
    P = np.random.default_rng(seed).integers(-9, 10, (X.shape[1], d)).astype(np.float64)
    Z = project(X, Projection(P, storage), n_threads=threads)
    assert np.array_equal(Z, X.astype(np.float64).toarray() @ P)


@settings(max_examples=100, deadline=None)
@given(X=matrices(), d=st.integers(1, 140), seed=st.integers(0, 2**32 - 1))
def test_int8_error_bound(X, d, seed):
    """Off by half a step of the column for each entry, and by half a step of the row for each."""
    P = np.random.default_rng(seed).standard_normal((X.shape[1], d))
    rows = [np.abs(X.data[a:b].astype(float)) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    row_sum = np.array([row.sum() for row in rows])
    row_step = np.array([row.max(initial=0) * len(row) for row in rows]) / (127 * 128)
    peak = np.abs(P).max(axis=0)
    bound = row_sum[:, None] * peak / 254 + row_step[:, None] * peak / 2
    Z = project(X, Projection(P, "int8"))
    assert (np.abs(Z - X.astype(np.float64).toarray() @ P) <= 1.01 * bound + 1e-4).all()


@settings(max_examples=60, deadline=None)
@given(X=matrices(), storage=st.sampled_from(STORAGES), data=st.data())
def test_rows_alone_and_together(X, storage, data):
    P = Projection(np.random.default_rng(0).standard_normal((X.shape[1], 70)), storage)
    whole = project(X, P)
    if X.shape[0]:
        begin = data.draw(st.integers(0, X.shape[0] - 1))
        end = data.draw(st.integers(begin + 1, X.shape[0]))
        assert same_bits(whole[begin:end], project(X[begin:end], P))


@settings(max_examples=60, deadline=None)
@given(X=matrices(), storage=st.sampled_from(STORAGES))
def test_linear_in_the_output(X, storage):
    P = Projection(np.random.default_rng(0).standard_normal((X.shape[1], 33)), storage)
    once = project(X, P)
    out = once.copy()
    project(X, P, out=out, accumulate=True)
    np.testing.assert_allclose(out, 2 * once.astype(np.float64), rtol=1e-6)


@settings(max_examples=100, deadline=None)
@given(
    X=matrices(),
    storage=st.sampled_from(STORAGES),
    position=st.integers(0, 400),
    column=st.one_of(st.integers(-(2**31), -1), st.integers(40, 2**31 - 1)),
)
def test_an_index_out_of_range_never_passes(X, storage, position, column):
    if X.nnz == 0:
        return
    X.indices[position % X.nnz] = column
    try:
        project(X, Projection(np.ones((X.shape[1], 5)), storage))
    except ValueError as error:
        assert f"X: column index {column}" in str(error)  # noqa: PT017
    else:
        raise AssertionError("accepted")
