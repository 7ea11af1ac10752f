"""What users have as documents: frames and arrays of one column are read; what has no documents is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer

import semproj as sj
from semproj.alignment import align_sentences
from semproj.text import MultiTermCounter, TermCounter, iter_batches

TEXTS = ["red apple pie", "green apple", "blue sea. Deep sea.", "deep blue sea"]


class PolarsFrame:
    """What matters of a frame of polars: iteration is over columns, and a column is asked for by its name."""

    def __init__(self, columns: dict[str, list[str]]) -> None:
        self._data, self.columns = columns, list(columns)
        self.shape = len(next(iter(columns.values()))), len(columns)

    def __getitem__(self, name: str) -> list[str]:
        return self._data[name]

    def __iter__(self) -> Any:
        return iter(self._data.values())

    def __len__(self) -> int:
        return self.shape[0]


ONE_COLUMN = {
    "pandas": pd.DataFrame({"text": TEXTS}, index=[7, 7, 3, 0]),
    "nested names": pd.DataFrame({("text", "body"): TEXTS}),
    "polars": PolarsFrame({"text": TEXTS}),
    "array": np.array(TEXTS, object)[:, None],
    "series": pd.Series(TEXTS),
}
REFUSED = {
    "two columns": (pd.DataFrame({"text": TEXTS, "title": TEXTS}), r"one column.*got 2; write frame\[name\]"),
    "polars": (PolarsFrame({"text": TEXTS, "title": TEXTS}), r"one column.*got 2; write frame\[name\]"),
    "no column": (pd.DataFrame(index=[0, 1]), "one column of documents, got 0"),
    "array": (np.array([TEXTS, TEXTS]), r"one column.*got 4; write array\[:, number\]"),
    "dict": (dict(enumerate(TEXTS)), r"got dict; write its \.values\(\)"),
    "set": (set(TEXTS), "got set; write a list"),
    "frozenset": (frozenset(TEXTS), "got frozenset; write a list"),
    "text": ("red apple pie", r"got str; write \[text\]"),
}


def encoder() -> sj.Encoder:
    counter, weighting = TermCounter(), sj.LogTfIdf()
    W = weighting.fit_transform(counter.fit_transform(TEXTS))
    return sj.Encoder(counter, weighting, sj.LSA(2, random_state=0).fit(W))


@pytest.mark.parametrize("documents", ONE_COLUMN.values(), ids=ONE_COLUMN)
def test_one_column_is_read_as_its_documents(documents: Any) -> None:
    counter = TermCounter()
    expected = counter.fit_transform(TEXTS)
    assert (TermCounter().fit_transform(documents) != expected).nnz == 0
    assert (TermCounter().fit(documents).transform(documents) != expected).nnz == 0
    assert list(iter_batches(documents, max_documents=3)) == [TEXTS[:3], TEXTS[3:]]
    np.testing.assert_array_equal(encoder().encode(documents), encoder().encode(TEXTS))
    aligned = align_sentences(documents, documents)
    assert aligned.source == align_sentences(TEXTS, TEXTS).source
    translation = sj.WordByWord(model1_iter=1, hmm_iter=0).fit(documents, documents).translation_
    assert translation.shape == (expected.shape[1], expected.shape[1])
    for vocabulary in ("shared", "separate"):
        views = MultiTermCounter(vocabulary).fit_transform([documents, documents])
        assert [view.shape for view in views] == [expected.shape] * 2


@pytest.mark.parametrize(("documents", "message"), REFUSED.values(), ids=REFUSED)
def test_other_collections_are_refused(documents: Any, message: str) -> None:
    kinds = (TypeError, ValueError)
    fitted = encoder()
    for read in (TermCounter().fit, fitted.counter.transform, fitted.encode, lambda d: list(iter_batches(d))):
        with pytest.raises(kinds, match="^documents: .*" + message):
            read(documents)
    for vocabulary in ("shared", "separate"):
        with pytest.raises(kinds, match=r"^documents\[1\]: documents: .*" + message):
            MultiTermCounter(vocabulary).fit([TEXTS, documents])
    with pytest.raises(kinds, match="^source_documents: .*" + message):
        align_sentences(documents, TEXTS)
    with pytest.raises(kinds, match="^target_documents: .*" + message):
        sj.WordByWord().fit(TEXTS, documents)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"en": TEXTS, "es": TEXTS}, r"got dict; write list\(documents\.values\(\)\)"),
        ({"red apple", "blue sea"}, "got set; write a list"),
        (pd.DataFrame({"en": TEXTS, "es": TEXTS}), r"got a frame; write \[frame\[name\] for name in"),
    ],
    ids=["dict", "set", "frame"],
)
def test_views_are_a_list(views: Any, message: str) -> None:
    with pytest.raises(TypeError, match="documents: expected a list.*" + message):
        MultiTermCounter().fit(views)
    with pytest.raises(TypeError, match="documents: expected a list.*" + message):
        MultiTermCounter().fit([TEXTS, TEXTS]).transform(views)


@pytest.mark.parametrize("columns", ["text", ["text"]])
def test_counter_in_a_column_transformer(columns: Any) -> None:
    frame = pd.DataFrame({"text": TEXTS, "year": [1, 2, 3, 4]})
    transformer = ColumnTransformer([("words", TermCounter(), columns), ("rest", "passthrough", ["year"])])
    rows = transformer.fit_transform(frame)
    counts = TermCounter().fit_transform(TEXTS).toarray()
    np.testing.assert_array_equal(np.asarray(rows.todense() if hasattr(rows, "todense") else rows)[:, :-1], counts)
    assert transformer.get_feature_names_out()[0] == "words__sea"
