"""Counters of several languages: the names of their columns, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import semproj as sj
from semproj.text import MultiTermCounter

VIEWS = [["no animal", "a dog"], ["no hay animal", "un perro"]]


def test_names_of_columns() -> None:
    shared, separate = (MultiTermCounter(each).fit(VIEWS) for each in ("shared", "separate"))
    assert shared.get_feature_names_out().tolist() == shared.counters_[0].get_feature_names_out().tolist()
    assert shared.get_feature_names_out(view=1).tolist() == shared.get_feature_names_out().tolist()
    names = [counter.get_feature_names_out().tolist() for counter in separate.counters_]
    assert [each.tolist() for each in separate.get_feature_names_out()] == names
    assert separate.get_feature_names_out(view=1).tolist() == names[1] != names[0]
    with pytest.raises(ValueError, match="view: expected 0 to 1, got 2"):
        shared.get_feature_names_out(view=2)


@pytest.mark.parametrize("vocabulary", ["shared", "separate"])
def test_saved_and_loaded(vocabulary: str, tmp_path: Path) -> None:
    counter = MultiTermCounter(vocabulary, ngram_range=(1, 2), lowercase=True).fit(VIEWS)
    counter.save(tmp_path / "counter")
    loaded = sj.load(tmp_path / "counter")
    assert loaded.get_params() == counter.get_params()
    assert (loaded.counters_[0] is loaded.counters_[1]) == (vocabulary == "shared")
    for view, (a, b) in enumerate(zip(loaded.transform(VIEWS), counter.transform(VIEWS), strict=True)):
        np.testing.assert_array_equal(a.toarray(), b.toarray())
        np.testing.assert_array_equal(loaded.counters_[view].term_counts_, counter.counters_[view].term_counts_)
        assert loaded.counters_[view].n_tokens_ == counter.counters_[view].n_tokens_
