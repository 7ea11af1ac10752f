"""Questions: blanks, options, and what is refused."""

from __future__ import annotations

import pytest

from semproj.completion import PMI, CompletionQuestion
from tests.completion.texts import sentences


def test_one_blank():
    question = CompletionQuestion.read("the _____, was red .", ["ship", "old ship"])
    assert question.parts == (("the",), (",", "was", "red", "."))
    assert question.options == ((("ship",),), (("old", "ship"),))
    assert question.completed(1) == ["the", "old", "ship", ",", "was", "red", "."]
    assert question.context == ("the", ",", "was", "red", ".")


@pytest.mark.parametrize("option", ["mild .. benign", ["mild", "benign"], ("mild", "benign"), "mild...benign"])
def test_two_blanks(option):
    question = CompletionQuestion.read("what is _____ in small doses is _______ in large .", [option, "a .. b"])
    assert question.completed(0) == [
        "what",
        "is",
        "mild",
        "in",
        "small",
        "doses",
        "is",
        "benign",
        "in",
        "large",
        ".",
    ]
    assert question.answer_words(0) == ("mild", "benign")


def test_a_marker_of_ones_own_and_lower_case():
    question = CompletionQuestion.read("The BLANK sank", ["Ship"], blank="BLANK", lowercase=True)
    assert question.completed(0) == ["the", "ship", "sank"]


def test_dots_within_one_blank_are_words():
    assert CompletionQuestion.read("a _____ b", ["x .. y"]).answer_words(0) == ("x", "..", "y")


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("no blank", ["a"], ValueError, "text: expected one or two blanks .*got 0"),
        ("_____ a _____ b _____", ["a"], ValueError, "text: expected one or two blanks .*got 3"),
        ("a _____", [], ValueError, "options: expected at least one, got none"),
        ("a _____", ["b", " "], ValueError, r"options\[1\]: expected words"),
        ("a _____", "bc", TypeError, "options: expected a list, got str"),
        ("a _____", {"b", "c"}, TypeError, "options: expected a list, got set"),
        ("a _____", ["b", 3], TypeError, r"options\[1\]: expected a str or a pair"),
        ("a _____", [["b", "c"]], ValueError, r"options\[0\]: expected words for 1 blanks"),
        ("_____ a _____", ["b"], ValueError, r"options\[0\]: expected words for 2 blanks"),
        ("_____ a _____", ["b .. c .. d"], ValueError, r"options\[0\]: expected words for 2 blanks"),
        ("_____ a _____", [("b", 3)], TypeError, r"options\[0\]: expected a str for each blank"),
        (3, ["b"], TypeError, "text: expected a str, got int"),
    ],
)
def test_refused(text, options, error, message):
    with pytest.raises(error, match=message):
        CompletionQuestion.read(text, options)


def test_a_marker_of_nothing_is_refused():
    with pytest.raises(ValueError, match="blank: expected how the text marks a blank"):
        CompletionQuestion.read("a _____", ["b"], blank=" ")


def test_methods_take_questions_in_three_forms():
    method = PMI(stop_words=0).fit(sentences(60))
    text, options = "the ship _____", ["sail", "lamp"]
    expected = method.scores(CompletionQuestion.read(text, options)).tolist()
    assert method.scores(text, options).tolist() == expected
    assert method.scores((text, options)).tolist() == expected
    with pytest.raises(TypeError, match="question: expected a CompletionQuestion, or text and options"):
        method.scores(text)
    with pytest.raises(TypeError, match="options: the question has its own"):
        method.scores(CompletionQuestion.read(text, options), options)
