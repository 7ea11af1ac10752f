"""How often the first opposites of a model are those of a dictionary."""

from __future__ import annotations

import pytest

from benchmarks.papers.thesauri.common_opposites import OPPOSITES, hits, known


class Named:
    """A model that names given words as opposites, the best first."""

    def __init__(self, opposites):
        self.opposites, self.asked = opposites, []

    def __contains__(self, word):
        return word in self.opposites

    def most_opposite(self, word, n, *, commonness):
        self.asked.append(n)
        return [(each, 1.0) for each in self.opposites[word][:n]]


def test_opposites_are_mutual():
    assert all(word in OPPOSITES[answer] for word, answers in OPPOSITES.items() for answer in answers)
    assert OPPOSITES["hot"] == {"cold"}
    assert OPPOSITES["tall"] == {"short"}


def test_the_first_so_many():
    others = [f"w{i}" for i in range(20)]
    model = Named(
        {"hot": ["cold"], "cold": [*others[:3], "hot"], "wet": [*others[:14], "dry"], "dry": others, "x": []}
    )
    assert sorted(known(model)) == ["cold", "dry", "hot", "wet"]
    assert hits(model, 0.1) == [0.25, 0.5]
    assert hits(model, 0.1, within=(14, 15)) == [0.5, 0.75]
    assert max(model.asked) == 15


def test_no_word_is_known():
    with pytest.raises(ValueError, match="model: expected one that knows a common word"):
        hits(Named({"hot": [], "zebra": []}), 0.1)
