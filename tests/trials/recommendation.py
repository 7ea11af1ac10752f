"""Recommendation: what users did becomes vectors of users and items; sizes that cannot be are refused at once."""

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj

rng = np.random.default_rng(0)
taste = np.repeat([0, 1], 30)
plays = rng.poisson(np.where(taste[:, None] == np.repeat([0, 1], 10)[None, :], 0.6, 0.02))
matrix = sp.csr_array(plays)

model = sj.ImplicitALS(n_components=2, random_state=0).fit(matrix)
items, scores = model.recommend(matrix, k=3)
wanted = (items // 10 == taste[:, None]) | (items < 0)
assert wanted.mean() > 0.95
assert not any(plays[user, item] for user, row in enumerate(items) for item in row if item >= 0)

# A new user, and a file.
new = sp.csr_array(([3, 1], ([0, 0], [2, 5])), shape=(1, 20))
model.save("items.safetensors")
again, _ = sj.load("items.safetensors").recommend(new, k=2, exclude=[0])
assert (again // 10 == 0).all()
assert 0 not in again

# Similar users, by their vectors.
near, _ = sj.retrieval.top_k(model.transform(new), model.user_vectors_, 5)
assert (taste[near] == 0).all()

# Slips.
with pytest.raises(ValueError, match="expected numbers of at least 0"):
    model.fit(-matrix)
with pytest.raises(TypeError, match="X: expected a matrix of numbers, got a dict; write"):
    model.fit({"user": {"item": 1}})
with pytest.raises(ValueError, match="20"):
    model.recommend(new[:, :5])
with pytest.raises(MemoryError, match=r"n_components=\d+: about .* GiB of memory are needed"):
    sj.WTMF(2_000_000).fit(matrix)
items_after, _ = model.recommend(matrix, k=3)  # failed fits have changed nothing
np.testing.assert_array_equal(items_after, items)
