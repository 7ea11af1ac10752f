"""Classify vectors by their nearest neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._common.layouts import layouts, numbers
from ._common.persistence import Persistent
from ._common.rows import refuse_what_has_no_rows
from ._common.tensorfile import Arrays
from ._common.types import Array
from ._common.validation import check_finite, check_integer, check_range, keeps_previous_fit
from .retrieval import Metric, as_rows, check_metric, top_k

__all__ = ["NearestNeighborClassifier"]


_WIDEST = 4096  # characters of a label's dtype in a file, unless a label is longer


class NearestNeighborClassifier(Persistent, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the label that most of the nearest training vectors have.

    With one neighbor and cosine this is the classifier of section 3.3 of Platt, Toutanova and Yih 2010, which
    learns from labelled vectors of one language to label vectors of another in the same space.

    Parameters
    ----------
    n_neighbors : int, default 1
        From 1 to the number of training vectors.
    metric : {"cosine", "inner_product", "l1", "jensen_shannon"} or function, default "cosine"
        As in `semproj.retrieval.top_k`.
    n_threads : int or None

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    vectors_ : float32 array of shape (n_samples, n_features_in_)
        The training vectors.
    codes_ : int64 array of shape (n_samples,)
        Where each training vector's label is in ``classes_``.

    Notes
    -----
    Each neighbor has one vote. If labels have equally many votes, that of the nearest neighbor wins; of training
    vectors that are equally near, the earlier one comes first. By cosine, zero vectors are nobody's neighbors; one
    that is to be labelled has none, and gets the label that most training vectors have. Predictions depend neither
    on the number of threads nor on the other vectors of the batch.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> Z = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> model = sj.NearestNeighborClassifier().fit(Z, ["sport", "sport", "trade"])
    >>> model.predict([[5.0, 1.0], [0.1, 0.3]])
    array(['sport', 'trade'], dtype='<U5')
    """

    _arrays = layouts(vectors_="f4 n p", codes_="i8 n")
    _scalars = numbers(n_features_in_="p")

    def __init__(self, n_neighbors: int = 1, metric: Metric = "cosine", n_threads: int | None = None) -> None:
        self.n_neighbors, self.metric, self.n_threads = n_neighbors, metric, n_threads

    @keeps_previous_fit
    def fit(self, X: Any, y: Any) -> NearestNeighborClassifier:
        """Keep the vectors and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; kept as float32.
        y : array-like of shape (n_samples,)
            Labels: strings, integers or booleans.
        """
        self._check_parameters()
        metric, n_neighbors = check_metric(self.metric), int(self.n_neighbors)
        refuse_what_has_no_rows(X)
        X, y = validate_data(self, X, y, dtype=(np.float32, np.float64))
        check_classification_targets(y)
        if n_neighbors > len(X):
            raise ValueError(f"n_neighbors: expected at most n_samples = {len(X)}, got {n_neighbors}")
        rows = as_rows(X, "X", metric)
        check_finite(rows, "X")
        # A copy, so that the caller can change the array and not the model.
        self.vectors_ = np.array(rows, np.float32, order="C", copy=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.codes_ = codes.astype(np.int64)
        return self

    def predict(self, X: Any) -> Array:
        """Return the label of each vector.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float32, np.float64), reset=False)
        neighbors, _ = top_k(X, self.vectors_, self.n_neighbors, metric=self.metric, n_threads=self.n_threads)
        known = neighbors >= 0
        codes = np.where(known, self.codes_[neighbors], -1)
        votes = np.stack([(codes == codes[:, [i]]).sum(axis=1) for i in range(codes.shape[1])], axis=1)
        # argmax takes the first of the largest, and neighbors are in order: of the labels with most votes, the
        # nearest.
        best = codes[np.arange(len(codes)), np.where(known, votes, 0).argmax(axis=1)]
        winners: Array = self.classes_[np.where(known[:, 0], best, np.bincount(self.codes_).argmax())]
        return winners

    def _get_scalars(self) -> dict[str, Any]:
        labels = {"classes": self.classes_.tolist(), "classes_dtype": self.classes_.dtype.str}
        return {**super()._get_scalars(), **labels}

    def _set_state(self, arrays: Arrays, scalars: dict[str, Any]) -> None:
        scalars = dict(scalars)
        self.classes_ = _labels(scalars.pop("classes"), np.dtype(scalars.pop("classes_dtype")))
        super()._set_state(arrays, scalars)
        check_range(self.codes_, len(self.classes_), "codes_")
        check_integer(self.n_neighbors, "n_neighbors", low=1, high=len(self.codes_))

    def _check_parameters(self) -> None:
        check_metric(self.metric)
        check_integer(self.n_neighbors, "n_neighbors", low=1)


def _labels(labels: Any, dtype: np.dtype[Any]) -> Array:
    """The labels of a file. One that is wider than any of them may be too wide for memory."""
    if not isinstance(labels, list) or not all(isinstance(label, (str, int, float)) for label in labels):
        raise ValueError("classes: expected a list of labels")
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    if dtype.kind not in "OUbiuf" or dtype.itemsize > 4 * max(longest, _WIDEST):
        raise ValueError(f"classes_dtype: expected that of labels, got {dtype}")
    return np.array(labels, dtype)
