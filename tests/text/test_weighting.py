"""Term weightings against equations 4, 5 and 8 of Platt et al. 2010 and the formulas of tf-idf and BM25."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from semproj import BM25, CustomWeighting, LogTfIdf, TfIdf
from tests.reference import weighting as reference
from tests.support import random_counts, same_bits

CASES = [
    (LogTfIdf(), reference.log_tfidf),
    (TfIdf(), reference.tfidf),
    (BM25(), reference.bm25),
    (BM25(k1=0.0, b=1.0), lambda F, on: reference.bm25(F, on, 0.0, 1.0)),
    (BM25(k1=2.5, b=0.3), lambda F, on: reference.bm25(F, on, 2.5, 0.3)),
]
IDS = ["log_tfidf", "tfidf", "bm25", "bm25 k1=0", "bm25 k1=2.5"]
FUSED = [LogTfIdf(), TfIdf(), BM25()]


def name(value):
    return type(value).__name__


@pytest.fixture
def counts():
    """Training and new counts; the last term occurs in new documents only, the one before in every document."""
    train, new = random_counts(80, 30, 0.2).toarray(), random_counts(20, 30, 0.3, seed=1).toarray()
    train[:, -1], new[3:6, -1] = 0, 4
    train[:, -2] = 2
    return train, new


@pytest.mark.parametrize(("weighting", "formula"), CASES, ids=IDS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_formula(weighting, formula, dtype, counts):
    train, new = (c.astype(dtype) for c in counts)
    for X in (train, new):
        W = weighting.fit(sp.csr_matrix(train)).transform(sp.csr_matrix(X))
        assert W.format == "csr"
        assert W.dtype == (np.float64 if dtype == np.float64 else np.float32)
        tolerance = 1e-12 if dtype == np.float64 else 1e-6
        np.testing.assert_allclose(W.toarray(), formula(X, train), rtol=tolerance, atol=1e-300)


def test_hand_computed():
    """Four documents; the terms are in 1, 2 and 4 of them: idf 2, 1 and 0."""
    F = np.array([[3, 1, 1], [0, 7, 1], [0, 0, 2], [0, 0, 1]])
    assert LogTfIdf().fit_transform(F).toarray().tolist() == [[4, 1, 0], [0, 3, 0], [0, 0, 0], [0, 0, 0]]
    assert TfIdf().fit_transform(F).toarray().tolist() == [[6, 1, 0], [0, 7, 0], [0, 0, 0], [0, 0, 0]]
    # One term in one of two documents: g = ln 2; lengths 3 and 1, mean 2.
    W = BM25(k1=1.0, b=0.5).fit_transform(np.array([[2, 1], [0, 1]], np.float64)).toarray()
    assert W[0, 0] == pytest.approx(np.log(2) * 2 * 2 / (2 + 0.5 + 0.5 * 1.5))
    assert W[1, 1] == pytest.approx(np.log(1.2) * 1 * 2 / (1 + 0.5 + 0.5 * 0.5))


def test_statistics_of_all_languages(counts):
    """Equation 5: n and d over the documents of all languages, counts added before the logarithm."""
    languages = [counts[0][:20], counts[1]]
    weighting = LogTfIdf().fit(sp.vstack([sp.csr_matrix(c) for c in languages]))
    joined = weighting.transform(sp.csr_matrix(sum(languages).astype(np.float64)))
    np.testing.assert_allclose(joined.toarray(), reference.log_tfidf_joined(languages), rtol=1e-12)


def test_attributes(counts):
    train, _ = counts
    weighting = LogTfIdf().fit(train)
    assert weighting.n_documents_ == 80
    assert weighting.document_frequency_.dtype == np.int64
    assert (weighting.document_frequency_ == (train > 0).sum(axis=0)).all()
    np.testing.assert_allclose(weighting.term_weight_, reference.inverse_document_frequency(train), rtol=1e-14)
    assert weighting.term_weight_[-1] == 0, "a term of no document weighs nothing"
    assert BM25().fit(train).mean_length_ == pytest.approx(train.sum() / 80)


@pytest.mark.parametrize("weighting", [*FUSED, CustomWeighting(lambda f, d, n, length: f * d)], ids=name)
class TestMatrix:
    def test_pattern_is_the_inputs(self, weighting):
        X = random_counts(40, 20, 0.3)
        before = X.copy()
        W = weighting.fit(X).transform(X)
        assert same_bits(W.indices, X.indices)
        assert same_bits(W.indptr, X.indptr)
        assert not np.shares_memory(W.indices, X.indices)
        assert (before != X).nnz == 0

    def test_explicit_zeros_are_no_occurrence(self, weighting):
        X = sp.csr_matrix(([0, 2, 1], [0, 1, 0], [0, 2, 3]), shape=(2, 2))
        weighting.fit(X)
        assert weighting.document_frequency_.tolist() == [1, 1]

    def test_duplicates_are_one_count(self, weighting):
        joined = sp.csr_matrix(np.array([[2, 0, 1], [0, 3, 0], [1, 0, 0]], np.int32))
        data, indices = np.array([1, 1, 1, 2, 1, 1], np.int32), [0, 2, 0, 1, 1, 0]
        split = sp.csr_matrix((data, indices, [0, 3, 5, 6]), shape=(3, 3))
        assert weighting.fit(split).document_frequency_.tolist() == [2, 1, 1]
        expected = weighting.fit(joined).transform(joined).toarray()
        np.testing.assert_allclose(weighting.transform(split).toarray(), expected, rtol=1e-6)
        assert split.nnz == 6, "the input must not change"

    def test_empty_rows_and_no_nonzeros(self, weighting):
        X = random_counts(40, 20, 0.1)
        weighting.fit(X)
        for empty in (sp.csr_matrix((3, 20), dtype=np.int32), sp.csr_matrix((1, 20), dtype=np.float64)):
            W = weighting.transform(empty)
            assert W.shape == empty.shape
            assert W.nnz == 0
        assert weighting.fit(sp.csr_matrix((3, 20), dtype=np.int32)).transform(X).shape == X.shape

    def test_negative_counts(self, weighting):
        X = random_counts(9, 5, 0.5).astype(np.float32)
        weighting.fit(X)
        X.data[2] = -1
        for method in (weighting.fit, weighting.transform):
            with pytest.raises(ValueError, match="X: counts must not be negative"):
                method(X)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_not_finite(self, weighting, value):
        X = random_counts(9, 5, 0.5).astype(np.float32)
        weighting.fit(X)
        X.data[2] = value
        for method in (weighting.fit, weighting.transform):
            with pytest.raises(ValueError, match="X"):
                method(X)

    def test_wrong_width(self, weighting):
        weighting.fit(random_counts(9, 5, 0.5))
        with pytest.raises(ValueError, match="X has 6 features"):
            weighting.transform(random_counts(9, 6, 0.5))

    def test_failed_fit_leaves_the_previous_one_usable(self, weighting):
        X = random_counts(9, 5, 0.5)
        before = weighting.fit(X).transform(X)
        bad = random_counts(9, 6, 0.5).astype(np.float64)
        bad.data[0] = -1
        with pytest.raises(ValueError, match="X"):
            weighting.fit(bad)
        assert (weighting.transform(X) != before).nnz == 0

    def test_not_fitted(self, weighting):
        from sklearn.base import clone

        with pytest.raises(NotFittedError):
            clone(weighting).transform(random_counts(9, 5, 0.5))


def test_weights_do_not_depend_on_threads():
    X = random_counts(2000, 100, 0.1)
    for weighting in FUSED:
        weighting.fit(X)
        data = [weighting.set_params(n_threads=n).transform(X).data for n in (1, 2, 5)]
        weighting.set_params(n_threads=None)
        assert same_bits(data[0], data[1])
        assert same_bits(data[0], data[2])


@pytest.mark.parametrize(
    ("parameters", "argument"),
    [
        ({"k1": -1}, "k1"),
        ({"b": 1.5}, "b"),
        ({"b": -0.1}, "b"),
        ({"k1": np.nan}, "k1"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_bad_parameters(parameters, argument):
    with pytest.raises(ValueError, match=f"{argument}: expected"):
        BM25(**parameters).fit(random_counts(9, 5, 0.5))


class TestCustom:
    def setup_method(self):
        self.X = random_counts(50, 20, 0.3)

    def expected(self, function):
        F = self.X.toarray().astype(float)
        d, lengths = (F > 0).sum(axis=0), F.sum(axis=1)
        result = np.zeros(F.shape)
        for i, j in zip(*F.nonzero(), strict=True):
            result[i, j] = function(F[i, j], d[j], len(F), lengths[i])
        return result

    def test_compiled_and_plain_function(self):
        import numba

        def function(count, df, n, length):
            return np.sqrt(count) * n / (df + 1) - length / 10

        for given in (
            function,
            numba.njit(function),
            lambda c, d, n, length: np.sqrt(c) * n / (d + 1) - length / 10,
        ):
            W = CustomWeighting(given).fit_transform(self.X.astype(np.float64))
            assert W.dtype == np.float64
            np.testing.assert_allclose(W.toarray(), self.expected(function), rtol=1e-12)
        assert CustomWeighting(function).fit_transform(self.X).dtype == np.float32

    def test_compiled_once(self):
        """The second call of the same function finds the first one's loop."""
        from semproj.jit.weighting import _loop

        weighting = CustomWeighting(lambda c, d, n, length: c + d).fit(self.X)
        weighting.transform(self.X)
        compiled = _loop.cache_info().misses
        weighting.transform(self.X)
        assert _loop.cache_info().misses == compiled

    def test_two_functions_are_not_mixed_up(self):
        two = [CustomWeighting(lambda c, d, n, length, k=k: c * k).fit(self.X) for k in (2.0, 3.0)]
        np.testing.assert_allclose(two[0].transform(self.X).data * 1.5, two[1].transform(self.X).data)

    def test_not_finite_result_names_function_and_row(self):
        X = sp.csr_matrix(np.array([[1, 0], [0, 0], [0, 5]]))
        with pytest.raises(ValueError, match=r"^weight: the function returned -?(nan|inf) for column 1 of row 2"):
            CustomWeighting(lambda c, d, n, length: np.log(c - 5) if c > 2 else c).fit_transform(X)

    @pytest.mark.parametrize("function", [None, 3, "log"])
    def test_not_a_function(self, function):
        with pytest.raises(TypeError, match="weight: expected a function"):
            CustomWeighting(function).fit(self.X)


def test_import_stays_light(run_python):
    """Numba takes seconds to load, and most users never call it; what scikit-learn itself loads is not ours."""
    done = run_python(
        """
        import sys, scipy.sparse, sklearn.base
        before = set(sys.modules)
        import semproj as sj
        heavy = {"numba", "llvmlite", "tqdm", "matplotlib", "pandas", "torch"} & (set(sys.modules) - before)
        assert not heavy, heavy
        sj.LogTfIdf().fit_transform([[1, 2], [0, 1]])
        assert "numba" not in sys.modules
    """,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("weighting", [*FUSED, CustomWeighting(lambda count, df, n, length: count)], ids=name)
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_arrays_give_arrays_and_matrices_give_matrices(weighting, layout, counts):
    array, matrix = (getattr(sp, f"{layout}_{kind}")(counts[0]) for kind in ("array", "matrix"))
    assert isinstance(weighting.fit_transform(array), sp.csr_array)
    assert isinstance(weighting.fit_transform(matrix), sp.csr_matrix)
    assert isinstance(weighting.fit_transform(counts[0]), sp.csr_matrix)
    assert same_bits(weighting.transform(array).toarray(), weighting.transform(matrix).toarray())
