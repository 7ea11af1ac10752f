"""Weighted EM: `token_weight` beside counts that were weighted before, and a dense reference of EM."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from tests.support import random_counts, same_bits

X = random_counts(200, 60, 0.3)
VIEWS = [random_counts(150, 40, 0.3, seed=1), random_counts(150, 40, 0.3, seed=2)]
WIDE = [VIEWS[0], random_counts(150, 55, 0.3, seed=3)]


def rarity(count, document_frequency, n_documents):
    return math.sqrt(count) * math.log2(1 + n_documents / document_frequency)


def weighted(matrix, df, n):
    result = matrix.astype(np.float32)
    result.data = (np.sqrt(matrix.data) * np.log2(1 + n / df[matrix.indices])).astype(np.float32)
    return result


def frequency(*matrices):
    return sum(np.bincount(matrix.indices, minlength=matrix.shape[1]) for matrix in matrices)


def plsa(**parameters):
    return sj.PLSA(5, max_iter=8, tol=0, random_state=0, **parameters)


def test_is_em_of_weights():
    df, n = frequency(X), X.shape[0]
    model, plain = plsa(token_weight=rarity).fit(X), plsa().fit(weighted(X, df, n))
    np.testing.assert_array_equal(model.document_frequency_, df)
    assert model.n_documents_ == n
    np.testing.assert_allclose(model.word_topics_, plain.word_topics_, rtol=2e-4, atol=1e-7)
    new = random_counts(30, 60, 0.2, seed=9)
    np.testing.assert_allclose(model.transform(new), plain.transform(weighted(new, df, n)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.objective(X), plain.objective(weighted(X, df, n)), rtol=1e-6)
    expected = plain.fitted_perplexity(weighted(new, df, n))
    np.testing.assert_allclose(model.fitted_perplexity(new), expected, rtol=1e-4)
    # Which half a token goes to is a coin by its weight: the last digit of one counts.
    np.testing.assert_allclose(model.perplexity(new), plain.perplexity(weighted(new, df, n)), rtol=2e-2)


def test_a_weight_that_is_the_count_changes_no_bit():
    model = plsa(token_weight=lambda count, df, n: count).fit(X)
    plain = plsa().fit(X)
    assert same_bits(model.word_topics_, plain.word_topics_)
    assert same_bits(model.transform(X), plain.transform(X))


def test_one_sweep_of_dense_em():
    """Of theta and phi at random, written out."""
    options = {"token_weight": rarity, "init": "random", "alpha": 1.0, "beta": 1.0, "tempering": 1.0}
    first, second = (plsa(**options).set_params(max_iter=n).fit(X) for n in (1, 2))
    theta, phi = first.doc_topics_.astype(float), first.word_topics_.astype(float)
    counts = weighted(X, frequency(X), X.shape[0]).toarray().astype(float)
    posterior = theta[:, None] * phi
    posterior /= np.maximum(posterior.sum(axis=2, keepdims=True), 1e-300)
    tokens = counts[:, :, None] * posterior
    expected_theta, expected_phi = tokens.sum(axis=1), tokens.sum(axis=0)
    np.testing.assert_allclose(second.word_topics_, expected_phi / expected_phi.sum(axis=0), rtol=1e-3, atol=1e-6)
    some = expected_theta.any(axis=1)
    expected_theta = expected_theta[some] / expected_theta[some].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(second.doc_topics_[some], expected_theta, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", [sj.JPLSA, sj.CPLSA])
@pytest.mark.parametrize("vocabulary", ["shared", "separate"])
def test_languages(kind, vocabulary):
    """Each vocabulary has its own frequencies; of a shared one all documents count."""
    views = VIEWS if vocabulary == "shared" else WIDE
    options = {"vocabulary": vocabulary, "max_iter": 5, "tol": 0, "random_state": 0}
    model = kind(4, token_weight=rarity, **options).fit(views)
    if vocabulary == "shared":
        frequencies, n = [frequency(*views)] * 2, 300
    else:
        frequencies, n = [frequency(view) for view in views], 150
    heavy = [weighted(view, df, n) for view, df in zip(views, frequencies, strict=True)]
    plain = kind(4, **options).fit(heavy)
    np.testing.assert_allclose(model.word_topics_, plain.word_topics_, rtol=2e-3, atol=1e-6)
    for i, view in enumerate(views):
        number = i if vocabulary == "separate" else None
        found, expected = model.transform(view, view=number), plain.transform(heavy[i], view=number)
        np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-4)
        assert same_bits(model.views_[i].transform(view), found)
    np.testing.assert_allclose(model.objective(views), plain.objective(heavy), rtol=1e-5)


def test_same_bits_for_any_number_of_threads_and_a_checkpoint(tmp_path):
    expected = plsa(token_weight=rarity, n_threads=1).fit(X)
    for n in (2, 3):
        assert same_bits(plsa(token_weight=rarity, n_threads=n).fit(X).word_topics_, expected.word_topics_)
    path = tmp_path / "c"
    plsa(token_weight=rarity, checkpoint=path).set_params(max_iter=4).fit(X)
    going_on = plsa(token_weight=rarity, checkpoint=path).fit(X)
    assert same_bits(going_on.word_topics_, expected.word_topics_)
    with pytest.raises(ValueError, match="checkpoint"):
        plsa(checkpoint=path).fit(X)


@pytest.mark.parametrize("vocabulary", ["shared", "separate"])
def test_saved(tmp_path, vocabulary):
    views = VIEWS if vocabulary == "shared" else WIDE
    model = sj.JPLSA(4, token_weight=rarity, vocabulary=vocabulary, max_iter=3, random_state=0).fit(views)
    number = 1 if vocabulary == "separate" else None
    for each, of in ((model, {"view": number}), (model.views_[1], {})):
        each.save(tmp_path / "m")
        with pytest.raises(ValueError, match=r"^functions: .* as its token_weight, 'rarity'"):
            sj.load(tmp_path / "m")
        loaded = sj.load(tmp_path / "m", functions={"token_weight": rarity})
        assert same_bits(loaded.transform(views[1], **of), each.transform(views[1], **of))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda count, df, n: -1.0, r"returned -1.0 for column \d+ of row 1"),
        (lambda count, df, n: math.nan, r"returned nan for column \d+ of row 1"),
        (lambda count, df, n: 1 / (n - 200), r"raised ZeroDivisionError: .* for a term of row 1"),
    ],
)
def test_bad_weights_name_the_cell_and_keep_the_fit(function, message):
    model = plsa().fit(X)
    before = model.word_topics_
    with pytest.raises(ValueError, match=f"^token_weight: the function {message}"):
        model.set_params(token_weight=function).fit(X)
    assert model.word_topics_ is before
    for bad in (lambda count: count, lambda count, df, n: [count], 3):
        with pytest.raises(TypeError, match=r"^token_weight: "):
            model.set_params(token_weight=bad).fit(X)
    assert model.word_topics_ is before


def test_words_in_no_document_are_no_division_by_zero():
    """Words that no document had may come when documents are folded in."""
    model = plsa(token_weight=lambda count, df, n: count / df if df else 0.0)
    model.fit(sp.hstack([X, sp.csr_matrix((200, 2))], format="csr"))
    new = sp.csr_matrix(np.eye(1, 62, 61))
    assert np.isfinite(model.transform(new)).all()
