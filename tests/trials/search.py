"""Search: texts become vectors, vectors an index; files are saved, and parts that do not fit are refused."""

import numpy as np
import pytest

import semproj as sj
from semproj.retrieval import Index

texts = [
    "red apple pie with cream",
    "green apple tree in the garden",
    "apple pie and apple cream",
    "the deep blue sea",
    "ships on the blue sea",
    "a café by the sea",
]
counter = sj.TermCounter(lowercase=True)
weighting = sj.LogTfIdf()
rows = weighting.fit_transform(counter.fit_transform(texts))
lsa = sj.LSA(n_components=3, random_state=0).fit(rows)
encoder = sj.Encoder(counter, weighting, lsa, normalize=True)

encoder.save("encoder.safetensors")
encoder = sj.load("encoder.safetensors")
index = Index(encoder.encode(texts), ids=range(100, 106))
ids, scores = index.search(encoder.encode(["ships at sea", "apple cream"]), k=2)
assert set(ids[0]) <= {103, 104, 105}
assert set(ids[1]) <= {100, 101, 102}
assert (scores[:, 0] > 0.5).all()
np.testing.assert_allclose(encoder.encode(["cafe\u0301"]), encoder.encode(["café"]))  # one letter, however spelt

# Queries that were only counted.
with pytest.warns(sj.RowsWarning, match="expected weighted rows, as in fit, got counts"):
    lsa.transform(counter.transform(["ships at sea"]))
with pytest.raises(ValueError, match="the model was fitted on weighted rows; expected their weighting, got None"):
    sj.Encoder(counter, None, lsa).encode(texts)

# The counter of another corpus, with as many words.
words = [f"term{i}" for i in range(len(counter.vocabulary_))]
other = sj.TermCounter().fit(words)
with pytest.raises(
    ValueError, match="counter: its columns are other terms than those that the LogTfIdf was fitted on"
):
    sj.Encoder(other, weighting, lsa).encode(texts)
with pytest.raises(ValueError, match="X: its columns are other terms"):
    weighting.transform(other.transform(texts))
with pytest.raises(AttributeError, match=r"write TermCounter\(vocabulary=...\)"):
    counter.vocabulary_ = {"apple": 0}

with pytest.raises(FileNotFoundError, match="its folder does not exist"):
    encoder.save("models/encoder.safetensors")
with pytest.raises(TypeError, match="X: expected a matrix of numbers, got text; write TermCounter"):
    lsa.fit(texts)
with pytest.raises(TypeError, match=r"write \[text\] for one text"):
    encoder.encode("apple pie")
