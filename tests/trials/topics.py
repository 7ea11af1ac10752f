"""Topic models: one language and two, words of topics, early stopping, documents of an encoder."""

import numpy as np
import pytest

import semproj as sj

rng = np.random.default_rng(0)
english = [
    " ".join(rng.choice(words, 12)) for words in (["bank", "money", "loan"], ["river", "water", "boat"]) * 15
]
spanish = [" ".join(rng.choice(words, 12)) for words in (["banco", "dinero"], ["agua", "barco"]) * 15]

counter = sj.TermCounter()
counts = counter.fit_transform(english)
model = sj.PLSA(n_components=2, random_state=0).fit(counts)
found = {frozenset(word for word, _ in topic) for topic in model.top_words(counter.get_feature_names_out(), 3)}
assert found == {frozenset(["bank", "money", "loan"]), frozenset(["river", "water", "boat"])}
assert model.perplexity(counts) < 6
assert sj.metrics.coherence(model.top_words(counter.get_feature_names_out(), 3), english).shape == (2,)

# Two languages with vocabularies of their own.
languages = sj.MultiTermCounter("separate")
views = languages.fit_transform([english, spanish])
languages.save("counters.safetensors")
assert [len(names) for names in sj.load("counters.safetensors").get_feature_names_out()] == [6, 4]
pairs = sj.JPLSA(2, vocabulary="separate", random_state=0).fit(views)
mixtures = [
    sj.Encoder(languages.counters_[i], None, pairs.views_[i]).encode(each)
    for i, each in enumerate((english, spanish))
]
assert (mixtures[0].argmax(axis=1) == mixtures[1].argmax(axis=1)).all()

# One callback for two fits begins anew for each.
stop = sj.EarlyStopping(lambda fitted: fitted.score(counts), patience=1)
sweeps = [sj.PLSA(2, max_iter=30, tol=0, callback=stop, random_state=0).fit(counts).n_iter_ for _ in range(2)]
assert sweeps[0] == sweeps[1] < 30

# Slips.
weighted = sj.LogTfIdf().fit_transform(counts)
with pytest.warns(sj.RowsWarning, match="X: expected counts, as in fit, got weighted rows"):
    model.transform(weighted)
with pytest.raises(TypeError, match=r"expected a list of matrices, .* write \[first, second\]"):
    sj.JPLSA(2).fit(counts)
with pytest.raises(ValueError, match="model: has a vocabulary for each language; expected one of its views_"):
    sj.Encoder(languages.counters_[0], None, pairs).encode(english)
with pytest.raises(ValueError, match="counter: has 4 terms, the model has 6"):
    sj.Encoder(languages.counters_[1], None, pairs.views_[0]).encode(spanish)
with pytest.raises(ValueError, match="view: expected an integer between 0 and 1: vocabularies are separate"):
    pairs.transform(views[0])
with pytest.warns(sj.RowsWarning, match="OPCA expects weighted rows, got counts; write weighting = LogTfIdf"):
    sj.OPCA(2, random_state=0).fit([counts, counts[::-1]])
with pytest.warns(sj.RowsWarning, match=r"CLLSI weights counts itself, .* write CLLSI\(weighting=None\)"):
    sj.CLLSI(2, random_state=0).fit([weighted, weighted])
