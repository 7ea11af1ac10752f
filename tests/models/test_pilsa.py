"""PILSA and its baselines against the dense reference, planted camps, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj.pilsa import DEFAULT_WEIGHTS, SignedTfIdf, ThesaurusLookup
from semproj.thesaurus import UnknownWordError
from tests.conftest import same_bits
from tests.reference import pilsa as reference

WORDS = [f"word{i}" for i in range(30)]


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(0)
    relations = {
        name: sp.random(50, 30, density, random_state=rng, format="csr", data_rvs=np.ones)
        for name, density in {"synonym": 0.12, "antonym": 0.08, "similar": 0.05}.items()
    }
    return sj.Thesaurus(WORDS, map(str, range(50)), relations)


def dense(given):
    return {name: matrix.toarray().astype(np.float64) for name, matrix in given.relations.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("weights", [None, {"synonym": 1.0, "antonym": -1.0}, {"synonym": 1.0, "antonym": -2.0}])
def test_reference(given, weights, power, dtype):
    model = sj.PILSA(8, power=power, weights=weights, tol=1e-7, dtype=dtype, random_state=0)
    if dtype == "float32":
        model.set_params(tol=1e-5)
    model.fit(given)
    expected = reference.cosines(reference.signed_tfidf(dense(given), weights or DEFAULT_WEIGHTS), 8, power)
    atol = 2e-3 if dtype == "float32" else 1e-6
    np.testing.assert_allclose(model.similarity(WORDS, WORDS), expected, atol=atol)
    assert model.word_vectors_.dtype == dtype
    assert model.similarity("word3", "word4") == pytest.approx(expected[3, 4], abs=atol)


def test_baselines(given):
    W = reference.signed_tfidf(dense(given), DEFAULT_WEIGHTS)
    lengths = np.linalg.norm(W, axis=0)
    found = SignedTfIdf().fit(given).similarity(WORDS, WORDS)
    np.testing.assert_allclose(found, W.T @ W / np.outer(lengths, lengths), atol=1e-12)
    signs = np.sign(sum(DEFAULT_WEIGHTS[name] * matrix for name, matrix in dense(given).items()))
    np.testing.assert_array_equal(ThesaurusLookup().fit(given).similarity(WORDS, WORDS), signs.T @ signs)


def test_nearest(given):
    model = sj.PILSA(8, random_state=0).fit(given)
    cosines = model.similarity("word5", WORDS)
    cosines[5] = np.nan
    order = np.argsort(cosines)[:-1]  # without the word itself, which is NaN and last
    similar, opposite = model.most_similar("word5", 4), model.most_opposite("word5", 4)
    np.testing.assert_allclose([s for _, s in similar], cosines[order[::-1][:4]], atol=1e-5)
    np.testing.assert_allclose([s for _, s in opposite], cosines[order[:4]], atol=1e-5)
    assert model.most_opposite(["word5", "word6"], 4)[0] == opposite
    assert "word5" not in dict(similar)


def test_planted_camps_are_opposite():
    """Words of two camps never meet in one entry with all others; LSA joins them."""
    rng = np.random.default_rng(1)
    syn, ant = np.zeros((80, 20)), np.zeros((80, 20))
    for row in range(80):
        mine = np.arange(10) + 10 * (row % 2)
        syn[row, rng.choice(mine, 3, replace=False)] = 1
        ant[row, rng.choice((mine + 10) % 20, 3, replace=False)] = 1
    words = [f"{'ab'[i // 10]}{i % 10}" for i in range(20)]
    model = sj.PILSA(1, random_state=0).fit(
        sj.Thesaurus(words, map(str, range(80)), {"synonym": syn, "antonym": ant})
    )
    cosines = model.similarity(words, words)
    assert cosines[:10, :10].min() > 0.99
    assert cosines[:10, 10:].max() < -0.99


def test_closest_opposite(given):
    model = sj.PILSA(8, random_state=0).fit(given)
    cosines = model.similarity(WORDS, WORDS)
    questions = []
    for i in range(0, 24, 2):
        choices = [j for j in range(30) if j != i][i % 5 : i % 5 + 5]
        right = WORDS[choices[int(np.argmin(cosines[i, choices]))]]
        questions.append((WORDS[i], [WORDS[j] for j in choices], right))
    scores = sj.tasks.closest_opposite(model, questions)
    assert (scores.precision, scores.recall, scores.f1) == (1, 1, 1)
    wrong = [(t, c, next(x for x in c if x != a)) for t, c, a in questions[:4]]
    unknown = [("nobody", ["word1", "word2"], "word1"), ("word1", ["who", "nobody"], "who")]
    ignored = [(t, ["nobody", *c], a) for t, c, a in questions[:3]]
    scores = sj.tasks.closest_opposite(model, [*questions, *wrong, *unknown, *ignored])
    assert (scores.n_right, scores.n_answered, scores.n_questions) == (15, 19, 21)
    assert scores.precision == pytest.approx(15 / 19)
    assert scores.recall == pytest.approx(15 / 21)


def test_same_bits_for_any_number_of_threads(given):
    fits = [sj.PILSA(6, random_state=3, n_threads=n).fit(given) for n in (1, 2, 5)]
    for other in fits[1:]:
        assert same_bits(fits[0].word_vectors_, other.word_vectors_)


def test_save_and_load(given, tmp_path):
    model = sj.PILSA(6, weights={"synonym": 1.0, "antonym": -1.0}, random_state=0).fit(given)
    model.save(tmp_path / "model.safetensors")
    loaded = sj.load(tmp_path / "model.safetensors")
    assert loaded.weights == model.weights
    assert loaded.words_ == model.words_
    assert same_bits(loaded.word_vectors_, model.word_vectors_)
    assert loaded.similarity("word1", "word2") == model.similarity("word1", "word2")


def test_bad_input(given):
    with pytest.raises(ValueError, match="n_components: expected between 1 and 30, got 31"):
        sj.PILSA(31).fit(given)
    with pytest.raises(ValueError, match="power"):
        sj.PILSA(3, power=-1).fit(given)
    with pytest.raises(ValueError, match="weights: expected one of the thesaurus's relations"):
        sj.PILSA(3, weights={"meronym": 1.0}).fit(given)
    with pytest.raises(TypeError, match="thesaurus: expected a Thesaurus"):
        sj.PILSA(3).fit(np.eye(4))
    model = sj.PILSA(3, random_state=0).fit(given)
    with pytest.raises(UnknownWordError, match="'nobody' is not in the thesaurus"):
        model.similarity("word1", ["word2", "nobody"])
    assert model.similarity("word1", ["word2", "nobody"], unknown="skip").shape == (1,)
    with pytest.raises(ValueError, match="k: expected"):
        model.most_similar("word1", 30)
    before = model.word_vectors_
    with pytest.raises(ValueError, match="n_components"):
        model.set_params(n_components=99).fit(given)
    assert model.word_vectors_ is before
