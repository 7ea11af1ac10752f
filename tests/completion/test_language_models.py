"""Scores of language models, and the language model by latent semantic analysis."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import semproj as sj
from semproj import SentenceCompleter
from semproj.completion import (
    CompletionQuestion,
    LanguageModelScore,
    LSALanguageModel,
    LSASimilarity,
    SentenceIndex,
)
from semproj.lm import DiscountWarning, NGramLM
from tests.completion.texts import questions, sentences
from tests.reference import completion as reference

TEXT = sentences(90)
QUESTION = CompletionQuestion.read("the ship and a _____ was _____ .", ["old sail .. wet", "owl .. wave"])


@pytest.fixture(scope="module")
def ngram():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        return NGramLM(2).fit(TEXT)


@pytest.fixture(scope="module")
def similarity():
    return LSASimilarity(6).fit(TEXT)


def test_scores_are_those_of_completed_sentences(ngram):
    scores = LanguageModelScore(ngram).scores(QUESTION)
    assert scores.tolist() == [
        pytest.approx(ngram.score("the ship and a old sail was wet .")),
        pytest.approx(ngram.score("the ship and a owl was wave .")),
    ]


def test_parts_of_a_sentence(ngram):
    method = LanguageModelScore(ngram, parts=("blank", "before", "after", "sentence"))
    assert method.input_names == ("blank", "before", "after", "sentence")
    inputs = method.inputs(QUESTION)
    words = [each.log_prob for each in ngram.score_words("the ship and a old sail was wet .")]
    assert inputs[0, 0] == pytest.approx(words[4] + words[5] + words[7])
    assert inputs[0, 1] == pytest.approx(sum(words[:4]))
    assert inputs[:, :3].sum(axis=1) == pytest.approx(inputs[:, 3])
    assert method.scores(QUESTION).tolist() == inputs[:, 0].tolist()


def test_bad_parts(ngram):
    with pytest.raises(ValueError, match="parts: expected"):
        LanguageModelScore(ngram, parts=("all",)).scores(QUESTION)
    with pytest.raises(ValueError, match="parts: expected a tuple"):
        LanguageModelScore(ngram, parts="blank").scores(QUESTION)
    with pytest.raises(TypeError, match="model: expected a LanguageModel, got NoneType"):
        LanguageModelScore(None).scores(QUESTION)
    with pytest.raises(TypeError, match="sentences: a language model needs the sentences themselves"):
        LanguageModelScore(NGramLM()).fit(SentenceIndex().fit(TEXT))


def test_language_models_in_a_completer(ngram, tmp_path):
    asked, answers = questions(20)
    completer = SentenceCompleter({"lm": ngram, "lsa": LSASimilarity(5)}, ridge=0.1).fit(TEXT)
    completer.fit_combination(asked, answers)
    assert completer.input_names_[0] == "lm"
    completer.save(tmp_path / "model")
    assert sj.load(tmp_path / "model").predict(asked).tolist() == completer.predict(asked).tolist()


@pytest.mark.parametrize(("weight", "sharpness"), [(0.1, 1.0), (0.5, 3.0)])
def test_lsa_language_model(ngram, similarity, weight, sharpness):
    model = LSALanguageModel(ngram, similarity, weight=weight, sharpness=sharpness)
    words = ["the", "ship", "nowhere", "was", "wave"]
    found = model.score_words(words)
    vectors, columns = similarity.vectors().astype(float), similarity.words_
    for place, (each, base) in enumerate(zip(found, ngram.score_words(words), strict=True)):
        history = [columns.index(w) for w in words[:place] if w in columns]
        lsa = 0.0
        if each.word in columns and not history:
            lsa = 1 / len(columns)
        elif each.word in columns:
            lsa = reference.lsa_probability(vectors, history, columns.index(each.word), sharpness=sharpness)
        expected = (1 - weight) * 10**base.log_prob + weight * lsa
        assert 10**each.log_prob == pytest.approx(expected, rel=1e-4)
    assert model.scores([words, "a owl"]) == pytest.approx([model.score(words), model.score("a owl")], rel=1e-12)


def test_probabilities_add_up_to_one(ngram, similarity):
    model = LSALanguageModel(ngram, similarity, weight=0.3)
    words = [word for word in ngram.vocabulary_.words if word != "<s>"]
    for history in (["the", "ship"], ["nowhere"], []):
        total = 0.0
        for word in words:
            if word == "</s>":
                total += 10 ** model.score_words(history)[-1].log_prob
            else:
                total += 10 ** model.score_words([*history, word], eos=False)[-1].log_prob
        assert total == pytest.approx(1.0, abs=1e-4)


def test_lsa_language_model_is_saved(ngram, similarity, tmp_path):
    model = LSALanguageModel(ngram, similarity, weight=0.2)
    model.save(tmp_path / "model")
    assert sj.load(tmp_path / "model").score("the ship was") == model.score("the ship was")


def test_lsa_language_model_fits_both():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        model = LSALanguageModel(NGramLM(2), LSASimilarity(4)).fit(TEXT)
    assert np.isfinite(model.perplexity(TEXT[:5]))
    with pytest.raises(TypeError, match="read twice"):
        LSALanguageModel(NGramLM(2), LSASimilarity(4)).fit(iter(TEXT))


def test_bad_parameters_of_the_lsa_language_model(ngram, similarity):
    with pytest.raises(ValueError, match="weight: expected"):
        LSALanguageModel(ngram, similarity, weight=1.5).score("a")
    with pytest.raises(ValueError, match="sharpness: expected"):
        LSALanguageModel(ngram, similarity, sharpness=0).score("a")
    with pytest.raises(TypeError, match="similarity: expected an LSASimilarity, got NoneType"):
        LSALanguageModel(ngram).score("a")
