"""Closest-opposite questions: reading them, and the papers' rules of counting."""

import pytest

from semproj.tasks import ClosestOppositeQuestion, closest_opposite, read_closest_opposite
from tests.reference import pilsa as reference


class Model:
    """Similarities from a table; words outside of it are unknown."""

    def __init__(self, table):
        self.table = table
        self.known = {word for pair in table for word in pair}

    def __contains__(self, word):
        return word in self.known

    def similarity(self, word, words):
        return [self.table.get((word, other), 0.0) for other in words]


def test_counts_as_the_papers_do():
    table = {("a", "p"): 0.5, ("a", "q"): -0.5, ("b", "p"): -0.1, ("b", "q"): 0.2, ("c", "q"): 0.9}
    questions = [
        ("a", ("p", "q", "r"), "q"),  # right; r is unknown and ignored
        ("b", ("p", "q"), "q"),  # wrong
        ("x", ("p", "q"), "q"),  # the target is unknown: not answered
        ("c", ("q", "r"), "r"),  # the answer is unknown: wrong
        ("c", ("r", "s"), "r"),  # no choice is known: not answered
    ]
    model = Model(table)
    scores = closest_opposite(model, questions)
    assert (scores.n_right, scores.n_answered, scores.n_questions) == (1, 3, 5)
    assert scores[:3] == pytest.approx((1 / 3, 1 / 5, 1 / 4))
    assert scores[:3] == pytest.approx(reference.closest_opposite(table, model.known, questions))


def test_the_first_of_equals_is_taken():
    model = Model({("a", "p"): 0.0, ("a", "q"): 0.0})
    assert closest_opposite(model, [("a", ("p", "q"), "p")]).n_right == 1
    assert closest_opposite(model, [("a", ("q", "p"), "p")]).n_right == 0


def test_nothing_is_answered():
    scores = closest_opposite(Model({}), [("a", ("b",), "b")])
    assert scores[:3] == (0, 0, 0)
    with pytest.raises(ValueError, match="questions: expected at least one"):
        closest_opposite(Model({}), [])


def test_reading(tmp_path):
    path = tmp_path / "q.txt"
    path.write_text("hot: warm cold  red :: cold\n\nbig : small huge:: small \n")
    assert read_closest_opposite(path) == [
        ClosestOppositeQuestion("hot", ("warm", "cold", "red"), "cold"),
        ClosestOppositeQuestion("big", ("small", "huge"), "small"),
    ]


@pytest.mark.parametrize("line", ["hot warm cold :: cold", "hot: warm cold", "hot: warm cold :: red", ": a :: a"])
def test_bad_lines(tmp_path, line):
    path = tmp_path / "q.txt"
    path.write_text(f"hot: warm cold :: cold\n{line}\n")
    with pytest.raises(ValueError, match=r"q\.txt, line 2: expected 'target: choice choice"):
        read_closest_opposite(path)
