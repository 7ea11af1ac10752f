"""Porter's stemmer: the examples of the paper, step by step, and what holds for all words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semproj.stem import _STEP_2, _STEP_3, _measure, _past_or_gerund, _plural, _remove, _replace, _tidy, stem

PLURALS = "caresses caress, ponies poni, ties ti, caress caress, cats cat"
PAST = """feed feed, agreed agree, plastered plaster, bled bled, motoring motor, sing sing, conflated conflate,
    troubled trouble, sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail,
    filing file"""
SECOND = """relational relate, conditional condition, rational rational, valenci valence, hesitanci hesitance,
    digitizer digitize, conformabli conformable, radicalli radical, differentli different, vileli vile,
    analogousli analogous, vietnamization vietnamize, predication predicate, operator operate, feudalism feudal,
    decisiveness decisive, hopefulness hopeful, callousness callous, formaliti formal, sensitiviti sensitive,
    sensibiliti sensible"""
THIRD = """triplicate triplic, formative form, formalize formal, electriciti electric, electrical electric,
    hopeful hope, goodness good"""
FOURTH = """revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop,
    adjustable adjust, defensible defens, irritant irrit, replacement replac, adjustment adjust, dependent depend,
    adoption adopt, homologou homolog, communism commun, activate activ, angulariti angular, homologous homolog,
    effective effect, bowdlerize bowdler, opinion opinion, cement cement"""
FIFTH = "probate probat, rate rate, cease ceas, controll control, roll roll"


def pairs(text):
    return [tuple(pair.split()) for pair in text.split(",")]


@pytest.mark.parametrize(
    ("measure", "words"),
    [(0, "tr ee tree y by"), (1, "trouble oats trees ivy"), (2, "troubles private oaten orrery")],
)
def test_measure(measure, words):
    assert [_measure(word) for word in words.split()] == [measure] * len(words.split())


@pytest.mark.parametrize(
    ("step", "examples"),
    [
        (_plural, PLURALS),
        (_past_or_gerund, PAST),
        (lambda word: _replace(word, _STEP_2), SECOND),
        (lambda word: _replace(word, _STEP_3), THIRD),
        (_remove, FOURTH),
        (_tidy, FIFTH),
    ],
    ids=["1a", "1b", "2", "3", "4", "5"],
)
def test_examples_of_the_paper(step, examples):
    assert {word: step(word) for word, _ in pairs(examples)} == dict(pairs(examples))


def test_final_y():
    assert [stem(word) for word in ("happy", "sky", "say", "cry")] == ["happi", "sky", "sai", "cry"]


def test_whole_words():
    expected = """generalizations gener, oscillators oscil, connected connect, connection connect, connective
        connect, corruptible corrupt, corruptibility corrupt, hopeless hopeless, hope hope, skies ski, dying dy"""
    assert {word: stem(word) for word, _ in pairs(expected)} == dict(pairs(expected))


def test_case_and_short_words():
    assert stem("Connections") == "connect"
    assert [stem(word) for word in ("", "a", "is", "As")] == ["", "a", "is", "as"]


@given(st.text(alphabet="abcdeilnorstyz", max_size=14))
def test_a_stem_is_short_and_begins_like_the_word(word):
    found = stem(word)
    assert len(found) <= len(word)
    kept = max(0, len(found) - 2)  # the last letters may be new ones: y to i, -biliti to -ble
    assert found[:kept] == word[:kept]


@given(st.text(max_size=12))
def test_any_text(word):
    assert isinstance(stem(word), str)


@given(st.from_regex(r"[bcdfg][aeiou][bdgpt]{2}[aeiou][bgp]", fullmatch=True))
def test_inflections_meet(word):
    assert stem(word + "s") == stem(word + "ed") == stem(word + "ing") == stem(word)
