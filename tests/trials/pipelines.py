"""Data pipelines: frames of pandas, ColumnTransformer, Pipeline and GridSearchCV."""

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numba import njit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import semproj as sj

fruit = ["red apple pie", "green apple tree", "apple cream pie", "pear tree", "pear and apple pie", "apple tree"]
water = ["deep blue sea", "the blue sea", "ships at sea", "sea and ships", "deep sea", "blue ships"]
frame = pd.DataFrame({"text": fruit + water, "year": range(12), "label": ["fruit"] * 6 + ["water"] * 6})

# From texts to labels; the search clones every step.
pipeline = make_pipeline(sj.TermCounter(), sj.LogTfIdf(), sj.LSA(2, random_state=0), LogisticRegression())
search = GridSearchCV(pipeline, {"lsa__n_components": [1, 2, 3], "termcounter__lowercase": [False, True]}, cv=3)
search.fit(frame["text"], frame["label"])
assert search.score(frame["text"], frame["label"]) > 0.8

# A column by its name, or a list of one.
for columns in ("text", ["text"]):
    both = ColumnTransformer([("words", sj.TermCounter(), columns), ("year", "passthrough", ["year"])])
    assert both.fit_transform(frame).shape == (12, len(sj.TermCounter().fit(frame["text"]).vocabulary_) + 1)
counts = sj.TermCounter().fit_transform(frame[["text"]])
assert (counts != sj.TermCounter().fit_transform(frame["text"])).nnz == 0

# A finished encoder as a step; its fitted parts survive a clone.
counter, weighting = sj.TermCounter(), sj.TfIdf()
model = sj.LSA(3, random_state=0).fit(weighting.fit_transform(counter.fit_transform(frame["text"])))
encoder = sj.Encoder(counter, weighting, model)
np.testing.assert_array_equal(
    clone(encoder).fit(frame["text"]).transform(frame["text"]), encoder.encode(frame["text"])
)
assert (
    make_pipeline(encoder, LogisticRegression()).fit(frame["text"], frame["label"]).predict(["blue sea"])
    == "water"
)

# Slips.
with pytest.raises(ValueError, match=r"expected one column of documents, got 3; write frame\[name\]"):
    sj.TermCounter().fit_transform(frame)
with pytest.raises(TypeError, match=r"got dict; write its \.values\(\)"):
    sj.TermCounter().fit_transform({"a": "red apple"})
with pytest.raises(TypeError, match="X: expected a matrix of numbers, got text; write TermCounter"):
    sj.LSA(2).fit(frame[["text"]])
with pytest.raises(TypeError, match="got a dict; write"):
    sj.LSA(2).fit({"english": counts})

# Sparse arrays give sparse arrays, and -1 means all threads, with the same bits.
assert isinstance(sj.TfIdf().fit_transform(sp.csr_array(counts)), sp.csr_array)
np.testing.assert_array_equal(
    sj.LSA(2, n_threads=-1, random_state=0).fit(counts).components_,
    sj.LSA(2, n_threads=1, random_state=0).fit(counts).components_,
)


# Functions of one's own: what is wrong with them is said, and Numba does not flood the log.
@njit
def fails(count, document_frequency, n_documents, length):
    return 1 / (count - count)


@njit
def takes_too_little(count):
    return count


logging.basicConfig(level=logging.DEBUG)
for function, error in ((fails, ValueError), (takes_too_little, TypeError)):
    with pytest.raises(
        error, match=r"it is called as weight\(count, document_frequency, n_documents, document_length"
    ):
        sj.CustomWeighting(function).fit_transform(counts)
assert logging.getLogger("numba").getEffectiveLevel() > logging.DEBUG
