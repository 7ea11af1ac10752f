"""A metric of one's own over sparse rows: beside the built-in one, the same rows made dense, and mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from semproj.retrieval import top_k, true_ranks
from tests.support import same_bits


def rows(n, seed):
    return sp.random(n, 30, 0.2, "csr", np.float32, rng=seed) + sp.eye_array(n, 30, dtype=np.float32).tocsr()


def cosine_distance(indices_a, values_a, indices_b, values_b):
    dot = a_squared = b_squared = 0.0
    i = j = 0
    while i < len(indices_a) and j < len(indices_b):
        if indices_a[i] == indices_b[j]:
            dot += values_a[i] * values_b[j]
            i += 1
            j += 1
        elif indices_a[i] < indices_b[j]:
            i += 1
        else:
            j += 1
    for value in values_a:
        a_squared += value * value
    for value in values_b:
        b_squared += value * value
    return 1 - dot / math.sqrt(a_squared * b_squared)


def jaccard(indices_a, values_a, indices_b, values_b):
    """No built-in metric: one minus the columns that both have over those that either has."""
    both = 0
    for a in indices_a:
        for b in indices_b:
            both += a == b
    return 1 - both / (len(indices_a) + len(indices_b) - both)


def dense_jaccard(A, B):
    a, b = (each.toarray() != 0 for each in (A, B))
    both = a.astype(float) @ b.T.astype(float)
    return 1 - both / (a.sum(axis=1)[:, None] + b.sum(axis=1) - both)


def test_the_cosine_in_python_is_the_built_in_one():
    queries, corpus = rows(30, 1), rows(30, 2)
    ids, distances = top_k(queries, corpus, 10, metric=cosine_distance)
    wanted, scores = top_k(queries, corpus, 10)
    np.testing.assert_array_equal(ids, wanted)
    np.testing.assert_allclose(1 - distances, scores, rtol=0, atol=3e-7)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("wide", [False, True])
def test_another_against_dense_rows(layout, wide):
    queries, corpus = rows(29, 1), rows(30, 2)
    expected = dense_jaccard(queries, corpus)
    if wide:
        corpus.indices, corpus.indptr = corpus.indices.astype(np.int64), corpus.indptr.astype(np.int64)
    ids, distances = top_k(queries.asformat(layout), corpus.asformat(layout), 7, metric=jaccard)
    np.testing.assert_array_equal(ids, np.argsort(expected.astype(np.float32), axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :7], rtol=1e-6)


def test_ranks_of_partners():
    A, B = rows(40, 1)[:30], rows(30, 2)
    expected = dense_jaccard(A, B)
    own = np.diag(expected) * (1 + 1e-6)
    forward, backward = true_ranks(A, B, metric=jaccard)
    np.testing.assert_array_equal(forward, (expected <= own[:, None]).sum(axis=1))
    np.testing.assert_array_equal(backward, (expected <= own).sum(axis=0))


def test_same_bits_for_any_number_of_threads():
    queries, corpus = rows(30, 1), sp.vstack([rows(30, seed) for seed in range(20)]).tocsr()
    first = top_k(queries, corpus, 10, metric=cosine_distance, n_threads=1)
    for n_threads in (2, 3):
        other = top_k(queries, corpus, 10, metric=cosine_distance, n_threads=n_threads)
        assert all(map(same_bits, other, first))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_pair_of_what_is_not_finite_is_named(n_threads):
    queries, corpus = rows(30, 1), rows(30, 2)
    corpus = sp.vstack([corpus[:7], sp.csr_matrix((1, 30), dtype=np.float32), corpus[8:]]).tocsr()

    def undefined(indices_a, values_a, indices_b, values_b):
        return math.nan if len(indices_b) == 0 else 1.0

    message = r"^metric: the function returned NaN or infinity for query 0 and row 7; it is called as metric\(ind"
    with pytest.raises(ValueError, match=message):
        top_k(queries, corpus, 1, metric=undefined, n_threads=n_threads)
    with pytest.raises(ValueError, match=message):
        true_ranks(queries, corpus, metric=undefined, n_threads=n_threads)


def test_a_metric_of_dense_rows_is_refused_in_words():
    with pytest.raises(TypeError, match=r"^metric: Numba cannot compile .*metric\(indices_a, values_a, indices_b"):
        top_k(rows(30, 1), rows(30, 2), 1, metric=lambda u, v: 1.0)
