"""PILSA trained on pairs of synonyms and of antonyms."""

from __future__ import annotations

import numpy as np
import pytest

import semproj as sj
from semproj.pilsa import PILSA, signed_tfidf
from semproj.thesaurus import Thesaurus

CONCEPTS, EACH = 40, 4
WEAK = {"synonym": 1.0, "antonym": 0.5}  # antonyms as if they were a sort of synonyms


def _thesaurus(seed: int = 0) -> Thesaurus:
    """Two poles of each concept, with entries that have some words of the one and some of the other."""
    rng = np.random.default_rng(seed)
    n_words = CONCEPTS * 2 * EACH
    poles = [(concept, pole) for concept in range(CONCEPTS) for pole in range(2) for _ in range(5)]
    relations = {name: np.zeros((len(poles), n_words), np.float32) for name in ("synonym", "antonym")}
    for entry, (concept, pole) in enumerate(poles):
        for name, side in (("synonym", pole), ("antonym", 1 - pole)):
            first = (2 * concept + side) * EACH
            relations[name][entry, first + rng.permutation(EACH)[:3]] = 1
    words = [
        f"{['hot', 'cold'][pole]}{c}{'abcd'[i]}" for c in range(CONCEPTS) for pole in range(2) for i in range(EACH)
    ]
    return Thesaurus(words, [f"e{i}" for i in range(len(poles))], relations)


def _cosines(model: PILSA) -> tuple[np.ndarray, np.ndarray]:
    """Of words of one pole, and of opposite poles of the same concept."""
    C = model.word_vectors_.astype(np.float64) @ model.word_vectors_.T
    pole = np.arange(len(C)) // EACH
    same = (pole[:, None] == pole) & ~np.eye(len(C), dtype=bool)
    return C[same], C[(pole[:, None] ^ 1) == pole]


def test_flipped_pairs_turn_the_signs_of_cosines():
    """The second row of an antonym pair is negated: what begins above 0 ends below."""
    rng = np.random.default_rng(0)
    n, k = 30, 16
    X, Y = np.eye(2 * n, dtype=np.float32)[:n], np.eye(2 * n, dtype=np.float32)[n:]
    half = rng.standard_normal((k, n)).astype(np.float32)
    start = np.hstack([half, half + rng.standard_normal((k, n)).astype(np.float32)])

    def cosines(model):
        U, V = model.transform(X), model.transform(Y)
        return (U * V).sum(axis=1) / np.linalg.norm(U, axis=1) / np.linalg.norm(V, axis=1)

    begun = cosines(sj.S2Net(None, start=start, optimizer="adam", max_iter=1, learning_rate=1e-9).fit([X, Y]))
    assert begun.mean() > 0.5
    signs = np.where(np.arange(n) < n // 2, -1, 1).astype(np.float32)[:, None]
    for optimizer in ("lbfgs", "adam"):
        training = {"optimizer": optimizer, "batch_size": 10, "max_iter": 30, "tol": 0, "random_state": 0}
        model = sj.S2Net(None, start=start, **training).fit([X, signs * Y])
        assert cosines(model)[: n // 2].mean() < -0.4
        assert cosines(model)[n // 2 :].mean() > 0.5


def test_training_turns_antonyms_round():
    """A model in which antonyms are similar becomes one in which they are opposite, and synonyms stay alike."""
    thesaurus = _thesaurus()
    model = PILSA(80, weights=WEAK, random_state=0, power=1, taper=False).fit(thesaurus)
    _, opposite = _cosines(model)
    assert opposite.mean() > 0.3
    refined = model.refined(thesaurus, max_iter=30, learning_rate=0.3, batch_size=60)
    alike_then, opposite_then = _cosines(refined)
    assert opposite_then.mean() < -0.5
    assert alike_then.mean() > 0.5
    assert _cosines(model)[1].mean() == opposite.mean(), "the model itself is left as it was"
    only = model.refined(thesaurus, synonyms=0, max_iter=30, learning_rate=0.3, batch_size=60)
    assert _cosines(only)[1].mean() < opposite.mean() - 0.2


@pytest.mark.parametrize("settings", [{}, {"power": 1, "taper": False, "row_scaling": 0}, {"dtype": "float64"}])
def test_it_begins_with_the_model(settings):
    """Also where singular values are zero, and a word is in no entry."""
    thesaurus = _thesaurus()
    relations = {name: np.hstack([matrix.toarray(), np.zeros((len(thesaurus.entries), 1))])
                 for name, matrix in thesaurus.relations.items()}  # fmt: skip
    thesaurus = Thesaurus([*thesaurus.words, "none"], thesaurus.entries, relations)
    for k in (100, 320):
        model = PILSA(k, random_state=0, **settings).fit(thesaurus)
        begun = model.refined(thesaurus, max_iter=1, learning_rate=1e-7)
        assert begun.word_vectors_.dtype == model.word_vectors_.dtype
        np.testing.assert_allclose(begun.word_vectors_, model.word_vectors_, atol=2e-3)
        assert not begun.word_vectors_[-1].any()
        assert begun.entry_counts_ is model.entry_counts_
        known = model.word_norms_ > 0
        np.testing.assert_allclose(np.linalg.norm(begun.word_vectors_, axis=1), known, atol=1e-5)


def test_seeds_and_threads():
    thesaurus = _thesaurus()
    model = PILSA(20, random_state=3).fit(thesaurus)
    first, second = (model.refined(thesaurus, n_threads=n).word_vectors_ for n in (1, 2))
    assert first.tobytes() == second.tobytes()
    assert model.refined(thesaurus, random_state=4).word_vectors_.tobytes() != first.tobytes()


def test_a_refined_model_is_saved_as_one(tmp_path):
    thesaurus = _thesaurus()
    refined = PILSA(20, random_state=0).fit(thesaurus).refined(thesaurus)
    refined.save(tmp_path / "refined")
    loaded = sj.load(tmp_path / "refined")
    assert loaded.refined_ is True
    assert loaded.word_vectors_.tobytes() == refined.word_vectors_.tobytes()
    with pytest.raises(ValueError, match="reduce it before it is refined"):
        loaded.reduced(3)
    with pytest.raises(ValueError, match="refine the model that it was made of"):
        loaded.refined(thesaurus)
    assert refined.fit(thesaurus).refined_ is False


def test_errors_name_what_is_wrong():
    thesaurus = _thesaurus()
    model = PILSA(20, random_state=0).fit(thesaurus)
    other = Thesaurus([f"x{word}" for word in thesaurus.words], thesaurus.entries, thesaurus.relations)
    with pytest.raises(ValueError, match="thesaurus: expected the one that this model was fitted on"):
        model.refined(other)
    with pytest.raises(ValueError, match="thesaurus: expected synonyms and antonyms, it has no 'antonym'"):
        model.refined(Thesaurus(thesaurus.words, thesaurus.entries, {"synonym": thesaurus["synonym"]}))
    empty = {"synonym": thesaurus["synonym"], "antonym": 0 * thesaurus["antonym"]}
    with pytest.raises(ValueError, match="thesaurus: expected an entry with synonyms and antonyms"):
        model.refined(Thesaurus(thesaurus.words, thesaurus.entries, empty))
    with pytest.raises(ValueError, match="synonyms: expected"):
        model.refined(thesaurus, synonyms=-1)
    assert model.refined(thesaurus, synonyms=1e308).refined_, "as far as there are entries for them"
    with pytest.raises(TypeError, match="start: is what this model has"):
        model.refined(thesaurus, start="random")
    fewer = Thesaurus(thesaurus.words, thesaurus.entries[:9],
                      {name: matrix[:9] for name, matrix in thesaurus.relations.items()})  # fmt: skip
    assert signed_tfidf(fewer).shape[0] == 9
    assert model.refined(fewer).word_vectors_.shape == model.word_vectors_.shape
