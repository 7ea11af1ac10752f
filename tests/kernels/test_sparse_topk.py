"""Nearest sparse rows against the same rows made dense: names by their trigrams, ties, zeros, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj.retrieval import top_k
from tests.reference import retrieval as reference
from tests.support import same_bits

SYLLABLES = ("ba", "cor", "da", "el", "fin", "gra", "hol", "is", "jo", "kel", "lan", "mar", "no", "or", "pet")
ENDS = ("", " inc", " ltd", " group", " holdings")


def names(n, seed=0):
    """Of two or three syllables and a common end, so that some trigrams are in every fifth name."""
    rng = np.random.default_rng(seed)
    return [
        "".join(SYLLABLES[i] for i in rng.integers(0, len(SYLLABLES), rng.integers(2, 5)))
        + ENDS[rng.integers(0, len(ENDS))]
        for _ in range(n)
    ]


def trigrams(texts, columns, kind=sp.csr_matrix):
    """Counts; `columns` grows."""
    cells = [
        (row, columns.setdefault(text[i : i + 3], len(columns)))
        for row, text in enumerate(texts)
        for i in range(len(text) - 2)
    ]
    rows, places = np.array(cells).T
    return kind((np.ones(len(cells), np.float32), (rows, places)), shape=(len(texts), 40_000))


def narrow(*matrices):
    """Only the columns that there are, and these by increasing document frequency or not: in any order."""
    used = np.unique(np.concatenate([matrix.indices for matrix in matrices]))
    order = np.random.default_rng(3).permutation(used)
    return [matrix[:, order] for matrix in matrices]


def named(n, m, seed=0):
    columns = {}
    return narrow(trigrams(names(n, seed), columns), trigrams(names(m, seed + 1), columns))


def same(found, other):
    return all(map(same_bits, found, other))


def whole(matrix, rng):
    """The same cells with small integers: sums are exact, and many of them tie."""
    made = matrix.copy()
    made.data = rng.integers(-1, 4, made.nnz).astype(np.float32)
    return made


@pytest.mark.parametrize("m", [1, 9, 255, 8191, 8192, 8193, 30_000])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_exact_sums_have_the_order_of_dense_rows(m, k):
    queries, corpus = named(60, m)
    rng = np.random.default_rng(0)
    queries, corpus = whole(queries, rng), whole(corpus, rng)
    k = min(k, m)
    ids, scores = top_k(queries, corpus, k, metric="inner_product")
    wanted, of_wanted = reference.top_k(queries.toarray(), corpus.toarray(), k, "inner_product")
    np.testing.assert_array_equal(ids, wanted)
    np.testing.assert_array_equal(scores, of_wanted)
    assert (ids.dtype, scores.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_names_have_the_scores_of_dense_rows(metric):
    queries, corpus = named(300, 20_000)
    weights = np.log(20_000 / (1 + np.diff(corpus.tocsc().indptr)))
    queries, corpus = (sp.csr_matrix(each @ sp.diags_array(weights)) for each in (queries, corpus))
    if metric == "inner_product":
        corpus = corpus * 1e-2
    ids, scores = top_k(queries, corpus, 10, metric=metric)
    dense = reference.scores(queries.toarray(), corpus.toarray(), metric)
    size = 1 if metric == "cosine" else dense.max()
    # Sums of at most 30 products in float32.
    np.testing.assert_allclose(scores, -np.sort(-dense, axis=1)[:, :10], rtol=0, atol=2e-6 * size)
    np.testing.assert_allclose(scores, np.take_along_axis(dense, ids, axis=1), rtol=0, atol=2e-6 * size)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert all(len(set(row)) == 10 for row in ids.tolist())


def test_same_bits_for_any_threads_batch_and_layout():
    queries, corpus = named(700, 20_000)
    weights = np.random.default_rng(1).random(corpus.shape[1])
    queries, corpus = (sp.csr_matrix(each @ sp.diags_array(weights)) for each in (queries, corpus))
    first = top_k(queries, corpus, 10, n_threads=1)
    for n_threads in (2, 3):
        assert same(top_k(queries, corpus, 10, n_threads=n_threads), first)
    some = slice(300, 305)  # few queries are cut by rows instead
    assert same(top_k(queries[some], corpus, 10, n_threads=3), tuple(each[some] for each in first))
    wide = corpus.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for other in (wide, corpus.tocsc(), sp.coo_array(corpus)):
        assert same(top_k(queries, other, 10), first)


def test_types_and_duplicates():
    counts = [sp.csr_matrix(each) for each in ([[1, 2, 0], [0, 0, 3]], [[1, 2, 0], [4, 0, 1], [0, 1, 1]])]
    wanted = reference.top_k(*(each.toarray() for each in counts), 3, "inner_product")
    for kind in (np.int8, np.int32, np.int64, np.float32, np.float64):
        ids, scores = top_k(*(each.astype(kind) for each in counts), 3, metric="inner_product")
        np.testing.assert_array_equal(ids, wanted[0])
        np.testing.assert_array_equal(scores, wanted[1])
    twice = sp.csr_matrix((np.array([1.0, 0.5, 0.5]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 3))
    assert top_k(twice, counts[1].astype(float), 1, metric="inner_product")[1] == 3.5
    assert twice.nnz == 3  # the caller's own is as it was


def test_rows_that_share_nothing_come_by_number_and_below_them_negative_ones():
    corpus = sp.csr_matrix(np.array([[-1.0, 0], [0, 1], [2, 0], [0, 3], [-5, 0]]))
    ids, scores = top_k(sp.csr_matrix([[1.0, 0]]), corpus, 5, metric="inner_product")
    assert ids.tolist() == [[2, 1, 3, 0, 4]]
    assert scores.tolist() == [[2, 0, 0, -1, -5]]


def test_zero_rows_find_nothing_by_cosine_and_are_not_found():
    corpus = sp.csr_matrix(np.array([[0.0, 0], [1, 0], [0, 0], [0, 2]]))
    queries = sp.csr_matrix(np.array([[0.0, 0], [3, 0]]))
    sparse, dense = top_k(queries, corpus, 4), top_k(queries.toarray(), corpus.toarray(), 4)
    assert same(sparse, dense)
    assert sparse[0].tolist() == [[-1] * 4, [1, 3, -1, -1]]
    by_product = top_k(queries, corpus, 4, metric="inner_product")
    assert same(by_product, top_k(queries.toarray(), corpus.toarray(), 4, metric="inner_product"))
    none = top_k(queries[:0], corpus, 4)
    assert [each.shape for each in none] == [(0, 4), (0, 4)]


def test_lengths_out_of_the_range_of_float32():
    tiny, huge = sp.csr_matrix([[3e-300, 4e-300]]), sp.csr_matrix([[3e300, 4e300], [4e300, -3e300]])
    ids, scores = top_k(tiny, huge, 2)
    np.testing.assert_allclose(scores, [[1, 0]], atol=1e-7)
    assert ids.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match=r"corpus: contains numbers outside of the range of float32 \(row 0\)"):
        top_k(tiny, huge, 2, metric="inner_product")
    with pytest.raises(ValueError, match="queries: too large, scores would leave the range of float32"):
        top_k(sp.csr_matrix([[1e30]]), sp.csr_matrix([[1e30]]), 1, metric="inner_product")


def test_errors_in_words():
    a = sp.random(4, 5, 0.5, "csr", np.float32, rng=0)
    with pytest.raises(TypeError, match="queries: expected a dense array, got a sparse one"):
        top_k(a, a.toarray())
    with pytest.raises(ValueError, match="corpus: expected 5 columns, as queries has, got 4"):
        top_k(a, a.T, 1)
    with pytest.raises(ValueError, match="metric: expected 'cosine', 'inner_product' or a function for sparse"):
        top_k(a, a, 1, metric="l1")
    with pytest.raises(ValueError, match="k: expected at most the 4 rows of corpus, got 5"):
        top_k(a, a, 5)
    with pytest.raises(ValueError, match="corpus: expected at least one row"):
        top_k(a, a[:0], 1)
    for name, pair in (("queries", lambda bad: (bad, a)), ("corpus", lambda bad: (a, bad))):
        bad = a.copy()
        bad.data[-1] = np.nan
        with pytest.raises(ValueError, match=rf"{name}: contains NaN or infinity \(row 3\)"):
            top_k(*pair(bad), 1)
        bad = a.copy()
        bad.indices[0] = 7
        with pytest.raises(ValueError, match=f"{name}: index 7 is out of range for a dimension of 5"):
            top_k(*pair(bad), 1)
