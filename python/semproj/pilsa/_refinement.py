"""Training of PILSA's vectors on pairs of synonyms and of antonyms: section 5 of Yih, Zweig and Platt 2012.

A word is its column f of the signed tf-idf matrix W, and its vector A'f. The cosines of antonyms p, q are trained
with their sign flipped: a pair (p, -q) has minus the cosine of (p, q), and is looked for like one of synonyms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._common.resources import resolve_threads
from .._common.types import Array
from ..kernels import project
from ..s2net import S2Net
from ..thesaurus import Thesaurus

GIVEN = ("matrices", "n_components", "start")  # by the model that is refined
TRAINING: dict[str, Any] = {"optimizer": "adam", "max_iter": 2, "learning_rate": 0.05, "tol": 0.0}


def trained_vectors(W: Any, start: Array, pairs: tuple[Array, Array, Array], **training: Any) -> Array:
    """The vector of each word, a column of W.

    Parameters
    ----------
    W : CSR matrix of shape (n_entries, n_words)
    start : array of shape (n_components, n_entries)
    pairs : as of `signed_pairs`
    **training : of S2Net
    """
    first, second, signs = pairs
    words = W.T.tocsr()
    flipped = (sp.diags(signs.astype(W.dtype)) @ words[second]).tocsr()
    model = S2Net(None, start=start, **{**TRAINING, **training}).fit([words[first], flipped])
    A = np.ascontiguousarray(model.components_.T)
    vectors: Array = project(words, A, n_threads=resolve_threads(model.n_threads))
    return vectors


def entry_components(W: Any, scaled_words: Array, values: Array) -> Array:
    """The projection of entries that makes columns of W the vectors of words, up to their lengths.

    With W = U S V', words are V S^power, of which W makes U S^(power + 1), and A = U S^(power - 1). Where a
    singular value is zero, so is the component.
    """
    ratios = values.astype(np.float64) / float(values[0])
    inverse = np.divide(1.0, ratios**2, out=np.zeros_like(ratios), where=ratios > 1e-6)
    projected = W @ scaled_words.astype(W.dtype)
    components: Array = np.ascontiguousarray((projected * inverse.astype(W.dtype)).T)
    return components


def signed_pairs(thesaurus: Thesaurus, synonyms: float, key: int) -> tuple[Array, Array, Array]:
    """Words that are antonyms or synonyms, each pair once: the first, the second, and -1 or 1."""
    if missing := {"synonym", "antonym"}.difference(thesaurus.relations):
        raise ValueError(f"thesaurus: expected synonyms and antonyms, it has no {min(missing)!r}")
    same, opposite = (thesaurus[name].copy() for name in ("synonym", "antonym"))
    for relation in (same, opposite):
        relation.eliminate_zeros()
    n_same, n_opposite = np.diff(same.indptr), np.diff(opposite.indptr)
    rng = np.random.default_rng(key)

    def one_of(relation: Any, entries: Array) -> Array:
        begins, ends = relation.indptr[entries], relation.indptr[entries + 1]
        words: Array = relation.indices[begins + (rng.random(len(entries)) * (ends - begins)).astype(np.int64)]
        return words

    entries = np.flatnonzero((n_same > 0) & (n_opposite > 0))
    if not len(entries):
        raise ValueError("thesaurus: expected an entry with synonyms and antonyms, it has none")
    antonyms = np.unique(np.column_stack([one_of(same, entries), one_of(opposite, entries)]), axis=0)
    entries = rng.permutation(np.flatnonzero(n_same > 1))
    entries = entries[: round(min(synonyms * len(antonyms), len(entries)))]
    alike = np.column_stack([one_of(same, entries), one_of(same, entries)])
    alike = np.unique(alike[alike[:, 0] != alike[:, 1]], axis=0)
    pairs = np.concatenate([antonyms, alike])
    return pairs[:, 0], pairs[:, 1], np.repeat([-1.0, 1.0], [len(antonyms), len(alike)])
