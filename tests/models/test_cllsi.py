"""CL-LSI: equation 5 of Platt et al. 2010, then LSA."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import BM25, CLLSI, LSA, LogTfIdf, MultiTermCounter, TfIdf, kernels, metrics
from semproj.datasets import planted_bilingual
from tests.reference.lsa import lsa as reference_lsa
from tests.reference.weighting import log_tfidf, log_tfidf_joined, tfidf
from tests.support import random_counts, same_bits


@pytest.fixture
def languages():
    """Two languages of 120 documents; terms 0 to 9 are in both, 10 to 39 in the first, 40 to 69 in the second."""
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 3, 120)
    result = []
    for own in (slice(10, 40), slice(40, 70)):
        rate = np.zeros((120, 70))
        rate[:, :10] = 0.3
        rate[:, own] = 0.2 + 2.0 * (np.arange(30) % 3 == topics[:, None])
        result.append(rng.poisson(rate).astype(np.int32))
    return result


def test_equation_5(languages):
    D = log_tfidf_joined(languages)
    expected = reference_lsa(D, 5)
    model = CLLSI(5, random_state=0).fit([sp.csr_matrix(x) for x in languages])
    np.testing.assert_allclose(model.singular_values_, expected.singular_values, rtol=1e-5)
    assert (np.diff(expected.singular_values[:3]) < -0.5).all()  # well apart, so that their vectors are unique
    np.testing.assert_allclose(model.components_[:2], expected.components[:2], atol=1e-3)


def test_statistics_are_those_of_all_documents(languages):
    model = CLLSI(2, random_state=0).fit(languages)
    stacked = np.concatenate(languages)
    assert isinstance(model.weighting_, LogTfIdf)
    assert model.weighting_.n_documents_ == 240
    assert (model.weighting_.document_frequency_ == (stacked > 0).sum(axis=0)).all()
    assert model.n_samples_seen_ == 120


def test_counts_of_shared_terms_add_up():
    """log2(1 + 2 + 1), not log2(1 + 1) + log2(2 + 1)."""
    a = np.array([[1, 0], [0, 1], [0, 0]])
    b = np.array([[2, 0], [0, 0], [0, 3]])
    model = CLLSI(2, random_state=0).fit([a, b])
    assert model.singular_values_ == pytest.approx(np.linalg.svd(log_tfidf_joined([a, b]))[1], rel=1e-6)
    assert log_tfidf_joined([a, b])[0, 0] == 2 * np.log2(6 / 2)


def test_transform_of_one_language(languages):
    """Equation 8: the language's own counts, weighted by the statistics of all."""
    model = CLLSI(4, random_state=0).fit(languages)
    for counts in languages:
        expected = log_tfidf(counts, np.concatenate(languages)) @ model.components_.T.astype(float)
        for X in (counts, sp.csr_matrix(counts), sp.csc_matrix(counts), counts.astype(float)):
            np.testing.assert_allclose(model.transform(X), expected, rtol=1e-4, atol=1e-4)


def test_fit_transform(languages):
    Z = CLLSI(4, random_state=0).fit_transform(languages)
    model = CLLSI(4, random_state=0).fit(languages)
    assert isinstance(Z, list)
    for z, x in zip(Z, languages, strict=True):
        assert same_bits(z, model.transform(x))


def test_same_as_lsa_of_the_joined_rows(languages):
    weighting = LogTfIdf().fit(sp.vstack([sp.csr_matrix(x) for x in languages]))
    W = weighting.transform(sp.csr_matrix(sum(languages)))
    assert same_bits(
        CLLSI(4, random_state=0).fit(languages).components_, LSA(4, random_state=0).fit(W).components_
    )


@pytest.mark.parametrize("center", [False, True])
def test_weighting_none_only_adds(languages, center):
    a, b = (sp.csr_matrix(x.astype(np.float64)) for x in languages)
    model = CLLSI(4, weighting=None, center=center, random_state=0).fit([a, b])
    assert model.weighting_ is None
    expected = reference_lsa((a + b).toarray(), 4, center=center)
    np.testing.assert_allclose(model.singular_values_, expected.singular_values, rtol=1e-9)
    np.testing.assert_allclose(model.transform(a), (a.toarray() - expected.mean) @ model.components_.T, atol=1e-9)


@pytest.mark.parametrize("weighting", [TfIdf(), BM25(k1=2.0)])
def test_another_weighting(languages, weighting):
    model = CLLSI(2, weighting=weighting, random_state=0).fit(languages)
    assert type(model.weighting_) is type(weighting)
    assert not hasattr(weighting, "term_weight_"), "the parameter itself must stay as it was given"
    if isinstance(weighting, TfIdf):
        expected = tfidf(languages[0], np.concatenate(languages)) @ model.components_.T.astype(float)
        np.testing.assert_allclose(model.transform(languages[0]), expected, rtol=1e-4, atol=1e-3)


def test_one_and_three_languages(languages):
    a, b = languages
    one = CLLSI(3, random_state=0).fit([a])
    np.testing.assert_allclose(one.singular_values_, reference_lsa(log_tfidf(a, a), 3).singular_values, rtol=1e-5)
    three = CLLSI(3, random_state=0).fit([a, b, a])
    expected = reference_lsa(log_tfidf_joined([a, b, a]), 3)
    np.testing.assert_allclose(three.singular_values_, expected.singular_values, rtol=1e-5)


def test_partial_fit_keeps_the_statistics(languages):
    first, rest = [x[:80] for x in languages], [x[80:] for x in languages]
    model = CLLSI(6, random_state=0).fit(first)
    before = model.weighting_.term_weight_.copy()
    model.partial_fit(rest)
    assert same_bits(model.weighting_.term_weight_, before)
    assert model.n_samples_seen_ == 120
    D = model.weighting_.transform(sp.csr_matrix(sum(languages)))
    best = LSA(6, random_state=0).fit(D)
    captured = np.linalg.norm(D @ model.components_.T) / np.linalg.norm(D @ best.components_.T)
    assert 0.97 < captured <= 1 + 1e-6
    fresh = CLLSI(6, random_state=0).partial_fit(first)
    assert same_bits(fresh.components_, CLLSI(6, random_state=0).fit(first).components_)


def test_same_bits_for_any_number_of_threads(languages):
    Z = [CLLSI(4, random_state=0, n_threads=n).fit_transform(languages) for n in (1, 2, 5)]
    for other in Z[1:]:
        assert all(same_bits(a, b) for a, b in zip(Z[0], other, strict=True))


def test_failed_fit_leaves_the_previous_one_usable(languages):
    model = CLLSI(4, random_state=0).fit(languages)
    before = model.transform(languages[0])
    with pytest.raises(ValueError, match="n_components"):
        model.fit([random_counts(3, 60), random_counts(3, 60)])
    assert same_bits(model.transform(languages[0]), before)


class TestErrors:
    def test_not_a_list(self, languages):
        for X in (sp.csr_matrix(languages[0]), languages[0], 5):
            with pytest.raises(TypeError, match="X: expected a list of matrices"):
                CLLSI(2).fit(X)

    def test_empty_list(self):
        with pytest.raises(ValueError, match="X: expected at least one matrix"):
            CLLSI(2).fit([])

    @pytest.mark.parametrize("other", [np.zeros((119, 70)), np.zeros((120, 71))])
    def test_shapes(self, languages, other):
        with pytest.raises(ValueError, match=r"X\[1\]: has shape .*, X\[0\] has \(120, 70\)"):
            CLLSI(2).fit([languages[0], other])

    def test_not_a_matrix(self, languages):
        with pytest.raises(ValueError, match=r"X\[1\]: expected a matrix"):
            CLLSI(2).fit([languages[0], np.zeros(3)])

    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
    def test_bad_counts(self, languages, bad):
        X = languages[1].astype(float)
        X[3, 3] = bad
        with pytest.raises(ValueError, match="X"):
            CLLSI(2).fit([languages[0], X])
        model = CLLSI(2, random_state=0).fit(languages)
        with pytest.raises(ValueError, match="X"):
            model.transform(X)

    def test_width(self, languages):
        model = CLLSI(2, random_state=0).fit(languages)
        with pytest.raises(ValueError, match="X: has 69 columns, the model was fitted on 70"):
            model.transform(languages[0][:, 1:])

    @pytest.mark.parametrize("weighting", ["tfidf", 3, LogTfIdf])
    def test_weighting(self, languages, weighting):
        with pytest.raises(ValueError, match="weighting: expected"):
            CLLSI(2, weighting=weighting).fit(languages)


def test_small_storage_finds_the_same_translations():
    """float16 and int8 change vectors by 2e-4 and 1e-2, and Top-1 by less than 0.2 points."""
    corpus = planted_bilingual(3000, random_state=0)
    counts = MultiTermCounter(max_features=5000).fit_transform([corpus.first, corpus.second])
    model = CLLSI(100, random_state=0).fit([x[:1500] for x in counts])
    held_out = [x[1500:] for x in counts]
    scores = {}
    for storage in ("float32", "float16", "int8"):
        projection = kernels.Projection(model.components_.T, storage)
        scores[storage] = metrics.top1(
            *(kernels.project(x, projection, weighting=model.weighting_) for x in held_out)
        )
    assert 0.5 < scores["float32"] < 1.0  # hard enough for a difference to show
    assert abs(scores["float16"] - scores["float32"]) < 0.002
    assert abs(scores["int8"] - scores["float32"]) < 0.002
