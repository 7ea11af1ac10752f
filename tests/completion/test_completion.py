"""Combinations: learnt weights, cross-validation, ranked options, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import semproj as sj
from semproj import SentenceCompleter
from semproj.completion import PMI, LSASimilarity, NearestSentences, SentenceIndex
from semproj.completion import _ranking as ranking
from semproj.completion._ranking import differences, fit_ranknet
from tests.completion.texts import questions, sentences
from tests.reference import completion as reference

TEXT = sentences(120)
ASKED, ANSWERS = questions(40)


def made(**parameters) -> SentenceCompleter:
    methods = {"pmi": PMI(stop_words=0), "lsa": LSASimilarity(5), "near": NearestSentences()}
    return SentenceCompleter(methods, **parameters).fit(TEXT)


class Says:
    """A method of one's own: it says what it was told."""

    def __init__(self, *told):
        self.told = list(told)
        self.is_fitted_ = True

    def scores(self, question):
        return np.array(self.told[: len(question.options)])


def test_weights_are_where_the_loss_is_least():
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(n, 3)) for n in (2, 5, 3, 4, 5)]
    answers = [1, 4, 0, 2, 2]
    weights = fit_ranknet(differences(inputs, answers), 0.05)
    found = minimize(lambda w: reference.ranknet_objective(w, inputs, answers, 0.05), np.zeros(3), tol=1e-10)
    assert weights == pytest.approx(found.x, abs=1e-4)
    assert reference.ranknet_objective(weights, inputs, answers, 0.05) <= found.fun + 1e-9


def test_inputs_that_tell_nothing_have_no_weight():
    assert fit_ranknet(np.zeros((4, 3)), 0.1).tolist() == [0, 0, 0]


def test_scales_are_those_among_the_options():
    """What all options of a question have in common says nothing; neither does rounding."""
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(n, 2)) * [3.0, 0.5] for n in (2, 5, 3, 4)]
    centered = np.concatenate([x - x.mean(axis=0) for x in inputs])
    shifted = [
        np.column_stack([x + 1000 * i, np.where(x[:, :1] > 0, 0.3, 0.1 + 0.2)]) for i, x in enumerate(inputs)
    ]
    assert ranking.scales_of(shifted) == pytest.approx([*np.sqrt((centered**2).mean(axis=0)), 1.0], rel=1e-9)


def test_folds_are_drawn():
    parts = ranking.folds(23, 5, 1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(23))
    assert {len(part) for part in parts} == {4, 5}
    assert np.concatenate(parts).tolist() != np.concatenate(ranking.folds(23, 5, 2)).tolist()
    assert np.concatenate(parts).tolist() != list(range(23))


def some_inputs(seed, n=31):
    """Questions of 2 to 5 options. One input tells a little, others nothing, on very different scales."""
    rng = np.random.default_rng(seed)
    inputs, answers = [], []
    for size in rng.integers(2, 6, n):
        x = rng.normal(size=(size, 4))
        answers.append(int(rng.integers(size)))
        x[answers[-1], 0] += 0.7
        inputs.append(x * rng.choice([0.1, 1.0, 10.0], 4))
    return inputs, answers


def mean_loss(inputs, answers, which, weights):
    return np.mean(
        [
            np.log1p(np.exp((x - inputs[q][answers[q]]) @ weights))
            for q in which
            for k, x in enumerate(inputs[q])
            if k != answers[q]
        ]
    )


def fitted_ranknet(inputs, answers, which, ridge):
    return fit_ranknet(differences([inputs[q] for q in which], [answers[q] for q in which]), ridge)


@pytest.mark.parametrize("seed", range(6))
def test_the_ridge_has_the_least_loss_of_questions_left_out(seed):
    """Each question counts alike, though parts are not equal."""
    inputs, answers = some_inputs(seed)
    parts = [np.arange(3), np.arange(3, 20), np.arange(20, 31)]
    ridges = [1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0]
    losses = []
    for ridge in ridges:
        of_parts = []
        for part in parts:
            rest = [q for q in range(31) if q not in part]
            weights = fitted_ranknet(inputs, answers, rest, ridge)
            of_parts.append(mean_loss(inputs, answers, part, weights))
        losses.append(np.average(of_parts, weights=[3, 17, 11]))
    assert ranking.tuned_ridge(inputs, answers, ridges, parts) == ridges[int(np.argmin(losses))]


@pytest.mark.parametrize("seed", range(6))
def test_cross_validation_by_hand(seed):
    """Of five folds one is measured, the next one chooses the ridge, and three are learnt from."""
    inputs, answers = some_inputs(seed)
    ridges = (1e-3, 3e-2, 0.3, 3.0)
    parts = ranking.folds(31, 5, seed)
    expected = np.zeros(31, bool)
    for i in range(5):
        train = [q for j in (2, 3, 4) for q in parts[(i + j) % 5]]
        centered = np.concatenate([inputs[q] - inputs[q].mean(axis=0) for q in train])
        scaled = [x / np.sqrt((centered**2).mean(axis=0)) for x in inputs]
        candidates = [fitted_ranknet(scaled, answers, train, ridge) for ridge in ridges]
        losses = [mean_loss(scaled, answers, parts[(i + 1) % 5], weights) for weights in candidates]
        for q in parts[i]:
            scores = scaled[q] @ candidates[int(np.argmin(losses))]
            expected[q] = scores.argmax() == answers[q]
    found = ranking.cross_validated(inputs, answers, ridges, 5, seed)
    assert found.tolist() == expected.tolist()


def test_a_combination():
    completer = made(ridge=0.01).fit_combination(ASKED, ANSWERS)
    assert completer.input_names_ == ["pmi", "lsa.total", "lsa.cosine", "lsa.unknown", "near"]
    inputs = np.concatenate([m.inputs(ASKED[0]) for m in completer.methods.values()], axis=1)
    total = inputs @ (completer.weights_ / completer.scales_)
    ranked = completer.complete(ASKED[0])
    assert [each.option for each in ranked] == np.argsort(-total).tolist()
    assert [each.score for each in ranked] == pytest.approx(sorted(total, reverse=True))
    for each in ranked:
        assert each.text == ASKED[0][1][each.option]
        assert each.by_method["pmi"] == completer.methods["pmi"].scores(ASKED[0])[each.option]
    assert completer.score(ASKED, ANSWERS) > 0.9
    assert (completer.predict(ASKED) == ANSWERS).mean() == completer.score(ASKED, ANSWERS)


def test_answers_may_be_options():
    texts = [options[answer] for (_, options), answer in zip(ASKED, ANSWERS, strict=True)]
    one, two = (made(ridge=0.1).fit_combination(ASKED, each) for each in (ANSWERS, texts))
    assert one.weights_.tolist() == two.weights_.tolist()


def test_the_ridge_is_tuned():
    """Answers that nothing tells get the largest ridge, answers that all tell a small one."""
    told = made().fit_combination(ASKED, ANSWERS).ridge_
    rng = np.random.default_rng(0)
    untold = made().fit_combination(ASKED, rng.integers(3, size=len(ASKED))).ridge_
    assert told < untold


def test_cross_validation_does_not_learn_from_what_it_measures():
    """Twelve inputs of noise could fit a part of the answers by heart."""
    rng = np.random.default_rng(0)
    asked = [("a _____", ["x", "y", "z", "v", "w"])] * 200
    answers = rng.integers(5, size=200)

    class Noise(Says):
        def scores(self, question):
            return rng.normal(size=5)

    noise = SentenceCompleter({f"n{i}": Noise() for i in range(12)})
    right = noise.cross_validate(asked, answers)
    assert 0.08 < right.mean() < 0.32


def test_cross_validation_is_reproducible():
    one, two = (made(random_state=3).cross_validate(ASKED, ANSWERS) for _ in range(2))
    assert one.tolist() == two.tolist()
    assert one.mean() > 0.9


def test_without_a_combination_the_first_method_ranks():
    completer = made()
    assert completer.predict(ASKED[:5]).tolist() == [
        int(np.argmax(completer.methods["pmi"].scores(question))) for question in ASKED[:5]
    ]


def test_methods_of_ones_own_and_ties():
    completer = SentenceCompleter({"own": Says(1.0, 3.0, 3.0)})
    assert [each.option for each in completer.complete("a _____", ["x", "y", "z"])] == [1, 2, 0]
    assert completer.predict([("a _____", ["x", "y", "z"])]).tolist() == [1]
    assert completer.correct([("a _____", ["x", "y", "z"])], [1]).tolist() == [False]  # z is as good
    assert completer.correct([("a _____", ["x", "y"])], ["y"], "own").tolist() == [True]


def test_one_option():
    ranked = made().complete("the ship _____", ["sail"])
    assert [each.text for each in ranked] == ["sail"]


def test_an_index_is_built_once():
    completer = made()
    assert completer.methods["pmi"].index_ is completer.methods["near"].index_


def test_fitted_methods_stay_as_they_are():
    pmi = PMI(stop_words=0).fit(TEXT)
    index = pmi.index_
    SentenceCompleter({"pmi": pmi, "near": NearestSentences()}).fit(sentences(60, seed=5))
    assert pmi.index_ is index


def test_lower_case():
    completer = made(lowercase=True)
    assert completer.complete("The SHIP _____", ["Sail", "Owl"])[0].text == "sail"


def test_save_and_load(tmp_path):
    completer = made().fit_combination(ASKED, ANSWERS)
    completer.save(tmp_path / "model")
    loaded = sj.load(tmp_path / "model")
    assert list(loaded.methods) == list(completer.methods)
    assert loaded.input_names_ == completer.input_names_
    assert loaded.ridge_ == completer.ridge_
    for question in ASKED[:5]:
        assert loaded.complete(question) == completer.complete(question)


def test_save_without_a_combination(tmp_path):
    made().save(tmp_path / "model")
    assert sj.load(tmp_path / "model").predict(ASKED).tolist() == made().predict(ASKED).tolist()


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(TypeError, match=r"methods\['own'\]: Says cannot be saved"):
        SentenceCompleter({"own": Says(1.0)}).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("methods", "message"),
    [(None, "methods: expected a mapping"), ({}, "methods: expected a mapping"), ({"a": 3}, r"methods\['a'\]: ")],
)
def test_bad_methods(methods, message):
    with pytest.raises(TypeError, match=message):
        SentenceCompleter(methods).fit(TEXT)


def test_bad_questions_and_answers():
    completer = made(ridge=1.0)
    with pytest.raises(ValueError, match="answers: expected one for each of 2 questions, got 1"):
        completer.fit_combination(ASKED[:2], [0])
    with pytest.raises(ValueError, match="questions: expected at least one, got none"):
        completer.fit_combination([], [])
    with pytest.raises(ValueError, match=r"answers\[0\]: expected between 0 and 2, got 3"):
        completer.fit_combination(ASKED[:1], [3])
    with pytest.raises(ValueError, match=r"answers\[0\]: expected one of the options, got 'nothing'"):
        completer.fit_combination(ASKED[:1], ["nothing"])
    with pytest.raises(ValueError, match=r"questions\[0\]: expected 2 options or more, got 1"):
        completer.fit_combination([("a _____", ["b"])], [0])
    with pytest.raises(ValueError, match="n_folds: expected at least 3"):
        made(n_folds=2).fit_combination(ASKED, ANSWERS)
    with pytest.raises(ValueError, match="questions: expected at least 5 to choose a ridge"):
        made().fit_combination(ASKED[:4], ANSWERS[:4])
    with pytest.raises(ValueError, match="questions: expected at least 5, one for each fold, got 4"):
        made().cross_validate(ASKED[:4], ANSWERS[:4])
    with pytest.raises(ValueError, match="method: expected one of pmi, lsa, near, got 'x'"):
        completer.correct(ASKED, ANSWERS, "x")


def test_a_failed_combination_leaves_the_last():
    completer = made(ridge=0.1).fit_combination(ASKED, ANSWERS)
    before = completer.weights_.tolist()
    with pytest.raises(ValueError, match="answers"):
        completer.fit_combination(ASKED, ANSWERS[:-1])
    assert completer.weights_.tolist() == before


def test_scores_that_are_not_finite():
    with pytest.raises(ValueError, match=r"methods\['own'\]: scores are not finite"):
        SentenceCompleter({"own": Says(np.nan, 1.0)}, ridge=1.0).fit_combination([("a _____", ["b", "c"])], [0])
    with pytest.raises(ValueError, match="scores: expected one for each of 3 options"):
        SentenceCompleter({"own": Says(1.0)}).complete("a _____", ["b", "c", "d"])


def test_methods_changed_after_the_combination():
    completer = made(ridge=0.1).fit_combination(ASKED, ANSWERS)
    completer.methods = {"pmi": completer.methods["pmi"]}
    with pytest.raises(ValueError, match="methods: are not those of the combination"):
        completer.predict(ASKED)


def test_an_iterator_for_several_readers():
    from semproj.lm import NGramLM

    completer = SentenceCompleter({"pmi": PMI(), "lm": NGramLM(2)})
    with pytest.raises(TypeError, match="an iterator will not do; pass a list"):
        completer.fit(iter(TEXT))


def test_an_index_instead_of_sentences():
    index = SentenceIndex().fit(TEXT)
    completer = SentenceCompleter({"pmi": PMI(stop_words=0), "near": NearestSentences()}).fit(index)
    assert completer.methods["pmi"].index_ is index
