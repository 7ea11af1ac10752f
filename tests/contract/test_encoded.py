"""An Encoder gives what its parts give one after the other, for every model that it takes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import semproj as sj
from semproj._common.base import RowTransformer
from tests.contract.estimators import ESTIMATORS, MULTIVIEW

MODELS = [each for each in ESTIMATORS if isinstance(each, RowTransformer)]
MODELS += [sj.ImplicitALS(n_components=2, alpha=0.6, max_iter=4, random_state=0)]


def repeats(count: float, document_frequency: int, n_documents: int, length: float) -> float:
    """Zero for a word that a text has once: an entry that is stored and says nothing."""
    return (count - 1.0) / document_frequency


def texts(seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{min(i, 24)}" for i in rng.geometric(0.12, 30)) for _ in range(40)]


@pytest.fixture(scope="module")
def counter():
    return sj.TermCounter().fit(texts(0) + texts(1))


@pytest.mark.filterwarnings("ignore::semproj.RowsWarning")  # without a weighting, counts are meant
@pytest.mark.parametrize("weighting", [None, sj.CustomWeighting(repeats)], ids=["none", "repeats"])
@pytest.mark.parametrize("model", MODELS + MULTIVIEW, ids=str)
def test_is_the_parts_one_after_the_other(model, weighting, counter):
    model = clone(model)
    counts = [counter.transform(texts(seed)) for seed in (0, 1)]
    rows = counts
    if weighting is not None:
        weighting = clone(weighting).fit(counts[0] + counts[1])
        rows = [weighting.transform(each) for each in counts]
        assert (rows[0].data == 0).any()
    model.fit(rows if type(model) in map(type, MULTIVIEW) else rows[0])
    part = model.views_[0] if hasattr(model, "views_") else model
    found = sj.Encoder(counter, weighting, part).encode(texts(0))
    expected = part.transform(rows[0])
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_negative_weights_are_named(counter):
    counts = counter.transform(texts(0))
    weighting = sj.CustomWeighting(lambda count, document_frequency, n_documents, length: count - 2.0).fit(counts)
    model = sj.ImplicitALS(2, random_state=0).fit(counts.astype(np.float64) * 1.5)
    with pytest.raises(ValueError, match="X: expected numbers of at least 0"):
        sj.Encoder(counter, weighting, model).encode(texts(0))
