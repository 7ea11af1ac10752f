"""BPTF of a thesaurus: what is asked and answered by words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj.thesaurus import UnknownWordError

WORDS = ["hot", "warm", "boiling", "cold", "cool", "icy", "table", "desk lamp", "alone"]
HOT, COLD, THING, ALONE = (np.isin(WORDS, words) * 1 for words in (WORDS[:3], WORDS[3:6], WORDS[6:8], WORDS[8:]))
NOTHING = 0 * HOT


def thesaurus(**more):
    synonyms, antonyms = [HOT, COLD, THING, ALONE], [COLD, HOT, NOTHING, NOTHING]
    return sj.Thesaurus(WORDS, ["a", "b", "c", "d"], {"antonym": antonyms, "synonym": synonyms, **more})


@pytest.fixture(scope="module")
def model():
    return sj.BPTF(2, burn_in=50, n_samples=100, random_state=0).fit(thesaurus())


def test_slices(model):
    """One slice of synonyms and opposites, as one would make it; words that are related to none are left out."""
    assert model.words_ == WORDS[:8]
    assert model.relations_ == ["synonym", "antonym"]
    camps = np.outer(HOT - COLD, HOT - COLD)[:8, :8] + np.outer(THING, THING)[:8, :8]
    cells = np.triu(camps, 1)
    by_hand = sj.BPTF(2, burn_in=50, n_samples=100, random_state=0)
    by_hand.fit([sp.csr_matrix(cells)])
    np.testing.assert_array_equal(model.samples_, by_hand.samples_)
    assert by_hand.relations_ is None
    assert not hasattr(by_hand, "words_")


def test_predict(model):
    hot, cold = WORDS.index("hot"), WORDS.index("cold")
    assert model.predict("hot", "cold") == model.predict(hot, cold) < -0.5
    assert model.predict("hot", "cold", "antonym") == -model.predict("hot", "cold", "synonym")
    assert model.predict("HOT", "desk_lamp") == model.predict(hot, WORDS.index("desk lamp"))
    many = model.predict("hot", WORDS[:6], "synonym")
    np.testing.assert_array_equal(many, model.predict(hot, np.arange(6)))
    np.testing.assert_array_equal(
        model.predict(["hot", "cold"], np.array(["warm", "icy"])),
        [model.predict("hot", "warm"), model.predict("cold", "icy")],
    )
    mean, std = model.predict("hot", "cold", "antonym", return_std=True)
    assert mean > 0.5
    assert std >= 0


def test_nearest(model):
    assert {word for word, _ in model.most_similar("hot", 2)} == {"warm", "boiling"}
    assert {word for word, _ in model.most_opposite("hot", 3)} == {"cold", "cool", "icy"}
    for found, relation in (
        (model.most_similar("icy", 99), "synonym"),
        (model.most_opposite("icy", 99), "antonym"),
    ):
        words, values = zip(*found, strict=True)
        assert sorted([*words, "icy"]) == sorted(model.words_)
        np.testing.assert_array_equal(values, np.sort(values)[::-1])
        np.testing.assert_array_equal(values, model.predict("icy", list(words), relation))
    assert model.most_similar(["hot", "xyzzy", "icy"], 2, unknown="skip") == [
        model.most_similar("hot", 2),
        model.most_similar("icy", 2),
    ]


def test_an_asymmetric_relation():
    """Cells lead from words to their hypernyms; nearest words are by the predictions, whatever the slice."""
    up = [NOTHING, NOTHING, np.isin(WORDS, ["alone"]) * 1, NOTHING]
    words = thesaurus(hypernym=up)
    model = sj.BPTF(2, burn_in=20, n_samples=30, zeros=1.0, asymmetric=[1], random_state=0).fit(words)
    assert model.relations_ == ["synonym", "antonym", "hypernym"]
    assert model.words_ == WORDS
    assert model.predict("table", "alone", "hypernym") > 0.5 > model.predict("alone", "table", "hypernym")
    assert model.predict("table", "alone", 1) == model.predict("table", "alone", "hypernym")
    scores = model._scores([6], 1)[0]
    np.testing.assert_allclose(scores, model.predict("table", WORDS, "hypernym"), atol=1e-5)


def test_save_and_load(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = sj.load(tmp_path / "model")
    assert (loaded.words_, loaded.relations_, loaded.vocabulary_) == (
        model.words_,
        model.relations_,
        model.vocabulary_,
    )
    assert loaded.most_opposite("hot") == model.most_opposite("hot")
    assert "Warm" in loaded
    assert "alone" not in loaded


def test_errors(model):
    for ask in (lambda: model.predict("hot", "xyzzy"), lambda: model.predict("hot", ["cold", "xyzzy"])):
        with pytest.raises(UnknownWordError, match=r"^j: 'xyzzy' is not in the thesaurus"):
            ask()
    with pytest.raises(UnknownWordError, match=r"^words: 'xyzzy'"):
        model.most_similar("xyzzy")
    with pytest.raises(TypeError, match=r"^words: expected a word"):
        model.most_opposite(5)
    with pytest.raises(
        ValueError, match=r"^slice: expected a relation of the model \('synonym', 'antonym'\), got 'part'"
    ):
        model.predict("hot", "cold", "part")
    with pytest.raises(ValueError, match="k: expected at least 1"):
        model.most_similar("hot", 0)
    with pytest.raises(ValueError, match="i: "):
        model.predict(8, 0)


def test_slices_without_words():
    model = sj.BPTF(2, burn_in=1, n_samples=2, random_state=0).fit(thesaurus())
    model.fit([sp.csr_matrix(np.triu(np.ones((3, 3)), 1))])  # forgets the words
    assert "hot" not in model
    for ask in (lambda: model.predict("hot", 1), lambda: model.most_similar("hot", 1)):
        with pytest.raises(ValueError, match=r"fit it on a Thesaurus|fitted on slices without names"):
            ask()
    with pytest.raises(ValueError, match=r"slice: .*none, as it was fitted on slices without names"):
        model.predict(0, 1, "synonym")


def test_a_thesaurus_that_does_not_do():
    fit = sj.BPTF(2, burn_in=1, n_samples=2).fit
    with pytest.raises(ValueError, match=r"^thesaurus: expected the relation 'synonym'.* got 'antonym'"):
        fit(thesaurus().select("antonym"))
    with pytest.raises(ValueError, match=r"^thesaurus: no two words are related"):
        fit(sj.Thesaurus(["a", "b"], ["a", "b"], {"synonym": np.eye(2)}))
    with pytest.raises(ValueError, match=r"^zeros: 'synonym' has only words that are related.* expected a number"):
        fit(thesaurus().select("synonym"))
    sj.BPTF(2, burn_in=1, n_samples=2, zeros=1.0).fit(thesaurus().select("synonym"))


def test_new_words_have_names(model):
    cells = np.zeros((1, 8))
    cells[0, :6] = (HOT - COLD)[:6]
    more = model.add_words([sp.csr_matrix(cells)], words=["tepid"])
    assert more.words_ == [*model.words_, "tepid"]
    assert more.predict("tepid", "cold", "antonym") > 0.5
    assert "tepid" not in model
    for words in (None, "tepid", ["hot"], ["tepid", "lukewarm"]):
        with pytest.raises(ValueError, match=r"^words: expected"):
            model.add_words([sp.csr_matrix(cells)], words=words)
