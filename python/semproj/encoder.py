"""Turn text into vectors in one call."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sized
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._common.base import RowTransformer
from ._common.persistence import Persistent
from ._common.rows import check_same_terms, warn_of_rows
from ._common.types import Array
from ._common.validation import as_documents, check_choice, check_out
from .kernels import STORAGES
from .text import TermCounter, iter_batches
from .weighting import TermWeighting

__all__ = ["Encoder"]


class Encoder(Persistent, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Join a fitted counter, weighting and model, to turn documents into vectors in one step.

    It is a transformer of scikit-learn, as a step of a pipeline: ``fit`` leaves its parts as they are, and so does
    ``clone``.

    Documents are read in batches of bounded size, so there is never a sparse matrix of the whole input. The
    weighting is applied while the projection reads the counts.

    Parameters
    ----------
    counter : fitted TermCounter
    weighting : fitted term weighting or None
        None if the model has its own (CLLSI) or takes plain counts.
    model : fitted model of rows (LSA, CLLSI, WTMF, ...)
        Of a model with a vocabulary for each language, the one of its ``views_`` that the counter is for.
    storage : {"float32", "float16", "int8", "float64"} or None, default None
        How the projection is kept in memory; see :class:`semproj.kernels.Projection`. None takes the model's
        dtype.
    normalize : bool, default False
        Scale vectors to unit length, so that inner products are cosines.

    Examples
    --------
    >>> import semproj as sj
    >>> texts = ["red apple pie", "green apple", "blue sea", "deep blue sea"]
    >>> counter = sj.TermCounter()
    >>> weighting = sj.LogTfIdf()
    >>> W = weighting.fit_transform(counter.fit_transform(texts))
    >>> encoder = sj.Encoder(counter, weighting, sj.LSA(n_components=2, random_state=0).fit(W))
    >>> encoder.encode(["apple pie", "sea"]).shape
    (2, 2)
    """

    _parts = ("counter", "weighting", "model")

    def __init__(
        self,
        counter: TermCounter,
        weighting: TermWeighting | None,
        model: RowTransformer,
        *,
        storage: str | None = None,
        normalize: bool = False,
    ) -> None:
        self.counter = counter
        self.weighting = weighting
        self.model = model
        self.storage = storage
        self.normalize = normalize

    def fit(self, documents: Iterable[Any], y: Any = None) -> Encoder:
        """Check that the parts fit each other; they are fitted already."""
        self._check_parts()
        return self

    def transform(self, documents: Iterable[Any]) -> Array:
        """Return the vectors of documents, as `encode` does."""
        return self.encode(documents)

    @property
    def n_components(self) -> int:
        """Length of a vector."""
        return int(self.model.components_.shape[0])

    def encode(self, documents: Iterable[Any], *, out: Array | None = None) -> Array:
        """Return the vectors of documents.

        Parameters
        ----------
        documents : iterable of str, bytes or lists of tokens
        out : array of shape (n_documents, n_components) or None, default None
            Where to write the vectors; the documents then need a length.

        Returns
        -------
        array of shape (n_documents, n_components)
        """
        weighting = self._check_parts()
        dtype = self.model._output_dtype(self.storage)
        n_components = self.n_components
        documents = as_documents(documents)
        size = len(documents) if isinstance(documents, Sized) else None
        if out is not None and size is None:
            raise ValueError("out: documents without a length cannot fill a given array")
        result = None if size is None else check_out(out, (size, n_components), dtype)
        pieces, done = [], 0
        for batch in iter_batches(documents):
            counts = self.counter._count(batch, first_document_number=done)
            if result is not None and done + len(batch) > len(result):
                raise ValueError("documents: grew while they were read")
            target = None if result is None else result[done : done + len(batch)]
            vectors = self.model._project(
                counts, storage=self.storage, weighting=weighting, normalize=self.normalize, out=target
            )
            done += len(batch)
            if result is None:
                pieces.append(vectors)
        if result is not None:
            if done != len(result):
                raise ValueError(f"documents: expected {len(result)}, only {done} came")
            return result
        return np.concatenate(pieces) if pieces else np.empty((0, n_components), dtype)

    def _check_parts(self) -> TermWeighting | None:
        """Check that the parts fit each other; return the weighting to fuse."""
        if not isinstance(self.counter, TermCounter):
            raise TypeError(f"counter: expected a TermCounter, got {type(self.counter).__name__}")
        if not isinstance(self.model, RowTransformer):
            raise TypeError(f"model: expected a model of rows such as LSA, got {type(self.model).__name__}")
        if self.storage is not None:
            check_choice(self.storage, "storage", STORAGES)
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise TypeError(f"normalize: expected a bool, got {self.normalize!r}")
        check_is_fitted(self.counter)
        check_is_fitted(self.model, "components_")
        own = getattr(self.model, "weighting_", None)
        if self.weighting is not None and own is not None:
            raise ValueError("weighting: the model weights by itself; pass None")
        weighting = own if self.weighting is None else self.weighting
        if len(getattr(self.model, "view_starts_", (0,))) > 1:
            raise ValueError("model: has a vocabulary for each language; expected one of its views_")
        width = self.model.components_.shape[1]
        if len(self.counter.term_counts_) != width:
            raise ValueError(f"counter: has {len(self.counter.term_counts_)} terms, the model has {width}")
        if weighting is not None:
            if not isinstance(weighting, TermWeighting):
                raise TypeError(f"weighting: expected a term weighting or None, got {type(weighting).__name__}")
            check_is_fitted(weighting, "term_weight_")
            if len(weighting.term_weight_) != width:
                raise ValueError(f"weighting: has {len(weighting.term_weight_)} terms, the model has {width}")
        self._check_same_terms(weighting)
        self._check_same_rows(weighting, own is not None)
        return weighting

    def _check_same_terms(self, weighting: TermWeighting | None) -> None:
        """Whether columns of the counter are those that the others were fitted on, as far as these know it."""
        for part in (weighting, self.model):
            known = None if part is None else part._fitted_terms
            for terms in known if isinstance(known, list) else [known]:
                name = f"the {type(part).__name__}"
                check_same_terms(terms, self.counter._terms_fingerprint(), "counter: its columns", name)

    def _check_same_rows(self, weighting: TermWeighting | None, own: bool) -> None:
        """Whether the model gets rows of the kind that it was fitted on."""
        if weighting is None:
            if self.model._fitted_on == "weights":
                raise ValueError(
                    "weighting: the model was fitted on weighted rows; expected their weighting, got None"
                )
            return
        if own:
            return
        if self.model._fitted_on == "counts":
            warn_of_rows("weighting: the model was fitted on counts, and gets weighted rows")
        unseen = weighting.document_frequency_ > self.counter.term_counts_
        if self.counter.vocabulary is None and unseen.any():
            term = self.counter.get_feature_names_out()[unseen.argmax()]
            what = f"the weighting has seen {term!r} in more documents than the counter has seen it at all"
            warn_of_rows(f"weighting: {what}; expected one that was fitted on the counter's rows")

    def _check_saveable(self) -> None:
        self._check_parts()

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_clone__(self) -> Encoder:
        """Keep the fitted parts, as scikit-learn's frozen estimators do."""
        return copy.copy(self)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
