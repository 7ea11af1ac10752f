"""MRLSA and its raw tensor against the dense reference, and what they do with bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import semproj as sj
from semproj.thesaurus import UnknownWordError
from tests.reference import mrlsa as reference
from tests.support import same_bits

RELATIONS = ("synonym", "antonym", "hypernym")
WORDS = [f"word{i}" for i in range(40)]


def thesaurus(seed: int = 0, words: int = 40, entries: int = 60) -> sj.Thesaurus:
    rng = np.random.default_rng(seed)
    relations = {
        name: sp.random(entries, words, density, random_state=rng, format="csr", data_rvs=lambda n: np.ones(n))
        for name, density in zip(RELATIONS, (0.1, 0.06, 0.04), strict=True)
    }
    return sj.Thesaurus(WORDS[:words], [f"entry{i}" for i in range(entries)], relations)


def dense(given: sj.Thesaurus, relations=RELATIONS, polarity=0.5, row_scaling=0.5) -> dict[str, np.ndarray]:
    slices = {name: given[name].toarray().astype(np.float64) for name in relations}
    return reference.weighted(reference.polarised(slices, polarity), row_scaling)


def approximations(model: sj.MRLSA) -> dict[str, np.ndarray]:
    """S_k s^(power - 1) V': what stands for the columns of slice k, up to a rotation that cosines do not see."""
    V = model.word_vectors_.astype(np.float64)
    V = V * model.singular_values_.astype(np.float64) ** (model.power - 1)
    return {name: S @ V.T for name, S in zip(model.relations_, model.relation_matrices_, strict=True)}


@pytest.fixture(scope="module")
def given():
    return thesaurus()


@pytest.fixture(scope="module")
def model(given):
    return sj.MRLSA(12, relations=RELATIONS, random_state=0).fit(given)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("pivot", RELATIONS)
class TestDegrees:
    def test_raw(self, given, relation, pivot):
        raw = sj.RawRelations(relations=RELATIONS, pivot=pivot).fit(given)
        slices = dense(given, polarity=0, row_scaling=0)
        for i in range(0, 40, 3):
            expected = [
                reference.degree(slices, i, j, relation, pivot, relation != "hypernym") for j in range(len(WORDS))
            ]
            np.testing.assert_allclose(raw.degree(WORDS[i], WORDS, relation), expected, atol=1e-6)

    def test_latent(self, model, relation, pivot):
        slices = approximations(model)
        first, second = WORDS[:15], WORDS[15:30]
        expected = [
            reference.degree(slices, i, i + 15, relation, pivot, relation != "hypernym") for i in range(15)
        ]
        found = model.degree(first, second, relation, pivot=pivot)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert model.degree(first[3], second[3], relation, pivot=pivot) == pytest.approx(found[3], abs=1e-6)


def test_full_rank_is_the_raw_tensor():
    given = thesaurus(entries=40)
    same = {"relations": RELATIONS, "polarity": 0.3, "row_scaling": 0.7}
    whole = sj.MRLSA(40, **same, power=1, random_state=0).fit(given)
    raw = sj.RawRelations(**same).fit(given)
    for relation in RELATIONS:
        found, expected = (m.degree(WORDS[:20], WORDS[20:], relation) for m in (whole, raw))
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("power", [0.5, 3.0])
def test_power_at_full_rank(power):
    """As many components as words: V is not compressed, and still made of singular vectors."""
    given = thesaurus(entries=40)
    fitted = sj.MRLSA(40, relations=RELATIONS, power=power, random_state=0).fit(given)
    slices = dense(given)
    weights, V = np.linalg.eigh(sum(W.T @ W for W in slices.values()))
    scaled = (V * np.sqrt(np.maximum(weights, 0)) ** (power - 1)) @ V.T
    expected = {name: W @ scaled for name, W in slices.items()}
    degrees = [reference.degree(expected, i, i + 20, "antonym", "synonym", True) for i in range(20)]
    np.testing.assert_allclose(fitted.degree(WORDS[:20], WORDS[20:], "antonym"), degrees, atol=1e-4)
    np.testing.assert_allclose(fitted.singular_values_, np.sqrt(weights[::-1]), rtol=1e-3)
    np.testing.assert_allclose(fitted.word_vectors_.T @ fitted.word_vectors_, np.eye(40), atol=1e-5)
    peaks = np.abs(fitted.word_vectors_).argmax(axis=0)
    assert (fitted.word_vectors_[peaks, np.arange(40)] > 0).all()


def test_slices_are_the_best_of_their_subspaces(given, model):
    """S_k = U'W_k V: singular values of the words' mode are those of the projected slices."""
    slices = dense(given)
    V = model.word_vectors_.astype(np.float64)
    np.testing.assert_allclose(V.T @ V, np.eye(12), atol=1e-5)
    energy = sum(np.linalg.norm(S) ** 2 for S in model.relation_matrices_)
    total = sum(np.linalg.norm(W) ** 2 for W in slices.values())
    assert model.fit_ == pytest.approx(1 - np.sqrt(1 - energy / total), abs=1e-4)
    assert energy <= sum(np.linalg.norm(W @ V) ** 2 for W in slices.values()) * (1 + 1e-6)
    np.testing.assert_allclose((model.singular_values_**2).sum(), energy, rtol=1e-5)


def test_a_single_slice_is_lsa(given):
    alone = sj.MRLSA(8, relations=("synonym",), random_state=0, tol=0, max_iter=200).fit(given)
    expected = np.linalg.svd(dense(given, ("synonym",))["synonym"], compute_uv=False)[:8]
    np.testing.assert_allclose(alone.singular_values_, expected, rtol=1e-4)


def test_scales_give_a_slice_its_influence(given):
    def share(scale):
        fitted = sj.MRLSA(6, relations=RELATIONS, scales={"antonym": scale}, random_state=0).fit(given)
        energy = [np.linalg.norm(S) ** 2 for S in fitted.relation_matrices_]
        return energy[1] / sum(energy)

    assert share(0.25) < share(1.0) < share(4.0)


def test_power_turns_towards_frequent_directions(given, model):
    other = sj.MRLSA(12, relations=RELATIONS, power=1.0, random_state=0).fit(given)
    assert same_bits(other.word_vectors_, model.word_vectors_)
    for each in (model, other):
        slices = approximations(each)
        expected = [reference.degree(slices, i, i + 20, "antonym", "synonym", True) for i in range(20)]
        np.testing.assert_allclose(each.degree(WORDS[:20], WORDS[20:], "antonym"), expected, atol=1e-5)
    assert model.power == 3


class TestPolarity:
    def test_one_is_pilsa(self, given):
        """Two slices that differ in their sign only: the signed matrix twice."""
        signed = {"relations": ("synonym", "antonym"), "polarity": 1, "power": 2, "tol": 0, "max_iter": 300}
        ours = sj.MRLSA(9, **signed, random_state=0).fit(given)
        weights = {"synonym": 1, "antonym": -1}
        pilsa = sj.PILSA(9, power=2, taper=False, weights=weights, random_state=0, tol=1e-6, dtype="float64").fit(
            given
        )
        expected = -pilsa.similarity("word4", WORDS)
        np.testing.assert_allclose(ours.degree("word4", WORDS, "antonym"), expected, atol=2e-3)
        np.testing.assert_allclose(ours.degree("word4", WORDS, "synonym"), -expected, atol=2e-3)

    @pytest.mark.parametrize("polarity", [0.0, 0.25, 1.0])
    def test_raw(self, given, polarity):
        raw = sj.RawRelations(relations=RELATIONS, polarity=polarity).fit(given)
        slices = dense(given, polarity=polarity, row_scaling=0)
        expected = [reference.degree(slices, 5, j, "antonym", "synonym", True) for j in range(40)]
        np.testing.assert_allclose(raw.degree("word5", WORDS, "antonym"), expected, atol=1e-6)

    def test_above_and_below(self):
        """A word is a hyponym as little as it is a hypernym."""
        words = ["bird", "robin", "swan", "table"]
        syn, below = np.eye(4), np.zeros((4, 4))
        below[0, 1:3] = 1
        above = np.transpose(below)
        given = sj.Thesaurus(words, words, {"synonym": syn, "hypernym": above, "hyponym": below})
        slices = {
            "synonym": {"synonym": 1.0},
            "hypernym": {"hypernym": 1.0, "hyponym": -0.5},
            "hyponym": {"hyponym": 1.0, "hypernym": -0.5},
        }
        raw = sj.RawRelations(relations=slices).fit(given)
        assert raw.degree("bird", "robin", "hyponym") > 0 > raw.degree("robin", "bird", "hyponym")
        assert raw.degree("robin", "bird", "hypernym") > 0 > raw.degree("bird", "robin", "hypernym")

        # Polarity is of synonyms and antonyms alone.
        plain = sj.RawRelations(relations=tuple(slices), polarity=0.5).fit(given)
        assert plain.degree("bird", "robin", "hyponym") > plain.degree("robin", "bird", "hyponym") == 0

    def test_a_slice_whose_opposite_is_none(self, given):
        alone = sj.MRLSA(5, relations=("synonym", "hypernym"), polarity=0.9, random_state=0).fit(given)
        plain = sj.MRLSA(5, relations=("synonym", "hypernym"), polarity=0, random_state=0).fit(given)
        assert same_bits(alone.relation_matrices_, plain.relation_matrices_)

    def test_finds_oppositions_that_few_dimensions_would_miss(self):
        """Of many groups of synonyms a few pairs are opposite: a space of as many dimensions can hold them."""
        pairs, plain, size = 6, 30, 4
        groups = np.arange(2 * pairs + plain).repeat(size)
        words = [f"w{i}" for i in range(len(groups))]
        syn = np.zeros((4 * (2 * pairs + plain), len(words)))
        ant = np.zeros_like(syn)
        rng = np.random.default_rng(0)
        for row in range(len(syn)):
            group = row % (2 * pairs + plain)
            syn[row, rng.choice(np.flatnonzero(groups == group), 3, replace=False)] = 1
            if group < 2 * pairs:
                ant[row, rng.choice(np.flatnonzero(groups == (group ^ 1)), 2, replace=False)] = 1
        given = sj.Thesaurus(words, map(str, range(len(syn))), {"synonym": syn, "antonym": ant})

        def right(polarity):
            fitted = sj.MRLSA(pairs, polarity=polarity, row_scaling=1, random_state=0).fit(given)
            found = []
            for i in range(2 * pairs * size):
                degrees = fitted.degree(words[i], words, "antonym")
                found.append(groups[degrees.argmax()] == (groups[i] ^ 1))
            return np.mean(found)

        assert right(0.5) == 1
        assert right(0.0) < 0.6


class TestSlicesOfSeveralRelations:
    def test_sum(self, given):
        slices = {"synonym": {"synonym": 1, "hypernym": 0.5, "unheard": 3}, "antonym": {"antonym": 2}}
        raw = sj.RawRelations(relations=slices, polarity=0.5).fit(given)
        one, other = (given[name].toarray().astype(np.float64) for name in ("synonym", "antonym"))
        summed = {"synonym": one + 0.5 * given["hypernym"].toarray(), "antonym": 2 * other}
        expected = reference.weighted(reference.polarised(summed, 0.5))
        degrees = [reference.degree(expected, 2, j, "antonym", "synonym", True) for j in range(40)]
        np.testing.assert_allclose(raw.degree("word2", WORDS, "antonym"), degrees, atol=1e-6)
        assert raw.relations_ == ("synonym", "antonym")

    def test_comes_back_from_a_file(self, given, tmp_path):
        slices = {"synonym": {"synonym": 1.0, "hypernym": 0.5}, "antonym": {"antonym": 1.0}}
        fitted = sj.MRLSA(5, relations=slices, random_state=0).fit(given)
        fitted.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert loaded.relations == slices
        assert same_bits(loaded.fit(given).word_vectors_, fitted.word_vectors_)


@pytest.mark.parametrize("relation", RELATIONS)
def test_vectors(model, relation):
    rows = model.vectors(WORDS[:8], relation)
    expected = approximations(model)[relation][:, :8]
    np.testing.assert_allclose(rows, (expected / np.linalg.norm(expected, axis=0)).T, atol=1e-5)


@pytest.mark.parametrize("relation", RELATIONS)
def test_top_words(model, relation):
    degrees = model.degree("word7", WORDS, relation)
    degrees[7] = -np.inf
    found = model.top_words("word7", relation, k=5)
    assert len(found) == 5
    np.testing.assert_allclose([score for _, score in found], np.sort(degrees)[::-1][:5], atol=1e-5)
    assert "word7" not in dict(found)
    assert len(model.top_words("word7", relation, k=100)) == 39
    assert model.top_words(["word3", "word7"], relation, k=5)[1] == found
    assert len(model.top_words(WORDS, relation)) == 40
    assert model.top_words([], relation) == []


def test_planted_antonyms_are_generalised():
    """Two camps; a word that has no antonym itself has those of its synonyms."""
    words = [f"a{i}" for i in range(6)] + [f"b{i}" for i in range(6)]
    camp = np.repeat([0, 1], 6)
    rng = np.random.default_rng(0)
    syn, ant = np.zeros((60, 12)), np.zeros((60, 12))
    for row in range(60):
        mine = row % 2
        syn[row, rng.choice(np.flatnonzero(camp == mine), 3, replace=False)] = 1
        ant[row, rng.choice(np.flatnonzero((camp != mine) & (np.arange(12) != 11)), 2, replace=False)] = 1
    assert not ant[:, 11].any()
    fitted = sj.MRLSA(2, random_state=0).fit(
        sj.Thesaurus(words, map(str, range(60)), {"synonym": syn, "antonym": ant})
    )
    degrees = fitted.degree("b5", words[:11], "antonym")
    assert degrees[:6].min() > degrees[6:].max() + 0.3


@pytest.mark.parametrize("cls", [sj.MRLSA, sj.RawRelations])
def test_a_failed_fit_leaves_the_previous_one(given, cls):
    fitted = cls(**({"n_components": 5, "random_state": 0} if cls is sj.MRLSA else {})).fit(given)
    before = fitted.degree("word1", WORDS, "antonym")
    other = thesaurus(seed=1, words=4, entries=6)
    with pytest.raises(ValueError, match=r"n_components: expected at most 4|relations: 'x'"):
        fitted.set_params(**({} if cls is sj.MRLSA else {"relations": ("synonym", "x")})).fit(other)
    assert same_bits(fitted.degree("word1", WORDS, "antonym"), before)
    assert "word39" in fitted


def test_numbers_of_numpy_and_sets_are_saved(given, tmp_path):
    fitted = sj.MRLSA(
        np.int64(5),
        scales={"antonym": np.float32(0.5)},
        relations={"synonym": {"synonym": np.float64(1), "hypernym": np.float32(0.5)}, "antonym": {"antonym": 1}},
        symmetric={"synonym", "antonym"},
        random_state=np.int64(3),
    ).fit(given)
    fitted.save(tmp_path / "model")
    loaded = sj.load(tmp_path / "model")
    assert loaded.scales == {"antonym": 0.5}
    assert loaded.relations["synonym"] == {"synonym": 1, "hypernym": 0.5}
    assert set(loaded.symmetric) == {"synonym", "antonym"}
    assert loaded.random_state == 3
    assert same_bits(loaded.degree(WORDS[0], WORDS, "antonym"), fitted.degree(WORDS[0], WORDS, "antonym"))
    assert same_bits(loaded.fit(given).word_vectors_, fitted.word_vectors_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 41}, "n_components: expected at most 40"),
        ({"relations": ("synonym", "synonym")}, "relations: expected different names"),
        ({"relations": ("antonym",)}, "pivot: expected one of the relations 'antonym', got 'synonym'"),
        ({"scales": {"antonym": 0.0}}, "scales"),
        ({"scales": {"hyponym": 1.0}}, "scales: expected names of relations"),
        ({"power": float("nan")}, "power"),
        ({"polarity": 1.5}, "polarity"),
        ({"row_scaling": -0.1}, "row_scaling"),
        ({"relations": ()}, "relations: expected at least one"),
        ({"relations": {"synonym": {"synonym": 1}, "x": {"meronym": 1}}}, "relations: 'x': expected relations of"),
    ],
)
def test_bad_parameters(given, options, message):
    with pytest.raises(ValueError, match=message):
        sj.MRLSA(**{"n_components": 5, "random_state": 0, **options}).fit(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scales": [1.0, 2.0]}, r"scales: expected a mapping of relations to numbers, got \[1.0, 2.0\]"),
        ({"relations": 3}, "relations: expected names, or a mapping of names to weights, got 3"),
        (
            {"relations": {"synonym": 3}},
            r"relations\['synonym'\]: expected a mapping of relations to numbers, got 3",
        ),
        ({"symmetric": None}, "symmetric: expected names of relations, got None"),
        ({"symmetric": "synonym"}, "symmetric: expected names of relations, got 'synonym'"),
        ({"symmetric": [3]}, r"symmetric: expected names of relations, got \[3\]"),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [sj.MRLSA(5), sj.RawRelations()], ids=["MRLSA", "RawRelations"])
def test_parameters_of_another_type(given, model, options, message):
    with pytest.raises(TypeError, match=message):
        clone(model).set_params(**options).fit(given)


def test_contrasts_are_symmetric():
    relations = {"synonym": [[1, 1, 0], [0, 0, 1], [0, 0, 0]], "contrast": [[0, 0, 1], [0, 0, 0], [0, 0, 0]]}
    given = sj.Thesaurus(["hot", "torrid", "icy"], list("abc"), relations)
    raw = sj.RawRelations(relations=("synonym", "contrast")).fit(given)
    assert raw.degree("icy", "hot", "contrast") == raw.degree("hot", "icy", "contrast") > 0


def test_bad_words_and_relations(given, model):
    with pytest.raises(UnknownWordError, match="second: 'nobody' is not in the thesaurus"):
        model.degree("word1", ["word2", "nobody"], "antonym")
    with pytest.raises(
        ValueError, match="relation: expected one of 'synonym', 'antonym', 'hypernym', got 'meronym'"
    ):
        model.degree("word1", "word2", "meronym")
    with pytest.raises(ValueError, match="second: expected as many words as first, 2, or one, got 3"):
        model.degree(WORDS[:2], WORDS[:3], "antonym")
    with pytest.raises(UnknownWordError, match="words: 'nobody' is not in the thesaurus"):
        model.top_words(["word1", "nobody"], "antonym")
    with pytest.raises(TypeError, match="words: expected a sequence of words, got the string 'word1'"):
        model.vectors("word1", "synonym")
    with pytest.raises(ValueError, match=r"relations: 'meronym': expected relations of the thesaurus \('synonym'"):
        sj.MRLSA(5, relations=("synonym", "meronym")).fit(given)
    with pytest.raises(TypeError, match="thesaurus: expected a Thesaurus"):
        sj.MRLSA(5).fit(np.eye(3))
    empty = sj.Thesaurus(WORDS, ["x"], {"synonym": np.zeros((1, 40)), "antonym": np.zeros((1, 40))})
    with pytest.raises(ValueError, match="thesaurus: has no entries"):
        sj.MRLSA(1).fit(empty)
    assert "word1" in model
    assert "Word1 " in model
    names = sj.Thesaurus(["Reading", "red"], ["x", "y"], {"synonym": np.eye(2), "antonym": np.eye(2)})
    assert "Reading" in sj.RawRelations().fit(names), "a word as it is spelt"
    assert "nobody" not in model
