"""Weights of terms by a user's function, fused into projections: beside the kernels' own and dense references."""

from __future__ import annotations

import math
from math import log, log1p

import numba
import numpy as np
import pytest

import semproj as sj
from semproj.kernels import Projection, project
from tests.support import random_counts, same_bits

X = random_counts(3000, 400, 0.15)  # more than one block of weights
W = np.random.default_rng(0).standard_normal((400, 12)).astype(np.float32)


def log_tfidf(count, document_frequency, n_documents, length):
    return math.log2(count + 1) * math.log2(n_documents / document_frequency)


def tfidf(count, document_frequency, n_documents, length):
    return count * math.log2(n_documents / document_frequency)


def bm25_of(mean_length):
    def bm25(count, document_frequency, n_documents, length):
        rarity = math.log1p((n_documents - document_frequency + 0.5) / (document_frequency + 0.5))
        return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean_length))

    return bm25


def of_lengths(count, document_frequency, n_documents, length):
    return math.sqrt(count) / length - math.cos(document_frequency / n_documents)


@pytest.mark.parametrize(
    ("built_in", "function"),
    [(sj.LogTfIdf(), log_tfidf), (sj.TfIdf(), tfidf), (sj.BM25(), bm25_of(X.sum() / X.shape[0]))],
    ids=["log_tfidf", "tfidf", "bm25"],
)
def test_as_the_kernel_of_the_same_formula(built_in, function):
    """Both round a weight once, to float32, and then sum in the same order."""
    expected = project(X, W, weighting=built_in.fit(X))
    found = project(X, W, weighting=sj.CustomWeighting(function).fit(X))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("storage", ["float32", "float64", "int8"])
def test_as_a_weighted_copy(dtype, storage):
    weighting = sj.CustomWeighting(of_lengths).fit(X)
    packed = Projection(W, storage)
    rows = X.astype(dtype)
    expected = project(weighting.transform(rows), packed)
    assert same_bits(project(rows, packed, weighting=weighting), expected)


def test_dense_reference():
    F = X.toarray().astype(np.float64)
    df, length = (F > 0).sum(axis=0), F.sum(axis=1, keepdims=True)
    dense = np.where(F > 0, np.sqrt(F) / np.maximum(length, 1) - np.cos(df / len(F)), 0)
    found = project(X, W.astype(np.float64), weighting=sj.CustomWeighting(of_lengths).fit(X))
    np.testing.assert_allclose(found, dense @ W.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_options_of_a_projection():
    weighting = sj.CustomWeighting(of_lengths).fit(X)
    plain = project(X, W, weighting=weighting)
    unit = plain / np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-30)
    np.testing.assert_allclose(project(X, W, weighting=weighting, normalize=True), unit, rtol=1e-5, atol=1e-7)
    start = np.ones((X.shape[0], 12), np.float32)
    project(X, W, weighting=weighting, out=start, accumulate=True)
    np.testing.assert_allclose(start, plain + 1, rtol=1e-5, atol=1e-5)
    assert project(X[:0], W, weighting=weighting).shape == (0, 12)


def test_same_bits_for_any_number_of_threads():
    weighting = sj.CustomWeighting(of_lengths).fit(X)
    expected = project(X, W, weighting=weighting, n_threads=1)
    assert all(same_bits(project(X, W, weighting=weighting, n_threads=n), expected) for n in (2, 3, 16))


def test_an_encoder_weighs_as_it_reads():
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.5, 20) if i < 300) for _ in range(500)]
    counter = sj.TermCounter().fit(texts)
    weighting = sj.CustomWeighting(of_lengths)
    rows = weighting.fit_transform(counter.transform(texts))
    model = sj.LSA(5, random_state=0).fit(rows)
    assert same_bits(sj.Encoder(counter, weighting, model).encode(texts), model.transform(rows))


def test_the_row_of_a_bad_weight_is_its_number_in_the_whole():
    weighting = sj.CustomWeighting(lambda count, df, n, length: math.nan if count == 99 else count).fit(X)
    rows = X.copy()
    rows.data[rows.indptr[2900]] = 99
    column = rows.indices[rows.indptr[2900]]
    with pytest.raises(ValueError, match=rf"^weight: the function returned nan for column {column} of row 2900"):
        project(rows, W, weighting=weighting)
    raising = sj.CustomWeighting(lambda count, df, n, length: 1 / (count - 99)).fit(X)
    with pytest.raises(ValueError, match=r"^weight: the function raised ZeroDivisionError: .* term of row 2900"):
        project(rows, W, weighting=raising)


def test_bad_functions_are_refused_before_a_fit_and_the_last_one_stays():
    weighting = sj.CustomWeighting(of_lengths).fit(X)
    before = weighting.document_frequency_
    seen = []
    for bad in (lambda count: count, lambda count, df, n, length: seen.append(count), lambda c, d, n, length: "a"):
        with pytest.raises(TypeError, match=r"^weight: Numba cannot compile the function"):
            weighting.set_params(weight=bad).fit(X[:100])
        assert weighting.document_frequency_ is before


def test_columns_are_checked_before_the_loop():
    weighting = sj.CustomWeighting(of_lengths).fit(X)
    with pytest.raises(ValueError, match="400"):
        project(X[:, :300], W[:300], weighting=weighting)
    bad = X[:2].copy()
    bad.indices = np.full_like(bad.indices, 10**6)
    with pytest.raises(ValueError, match="X"):
        project(bad, W, weighting=weighting)


def by_names(count, document_frequency, n_documents, length):
    return log1p(count) * np.exp(-length / n_documents) + log(document_frequency) * math.log10(n_documents)


def of_an_array(count, document_frequency, n_documents, length):
    return np.log(np.array([count, length])).sum()


@pytest.mark.parametrize("function", [log_tfidf, tfidf, bm25_of(30.0), of_lengths, by_names, of_an_array])
def test_vectors_are_what_is_compiled_for_one_number_at_a_time(function):
    """A function that is compiled already is left as it is; a plain one has logarithms of its own, in vectors."""
    rows = X.astype(np.float64)
    found, expected = (
        sj.CustomWeighting(each).fit(rows).transform(rows) for each in (function, numba.njit(function))
    )
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-14, atol=1e-14)
