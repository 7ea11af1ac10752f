"""Weight the counts of terms in sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._common.layouts import Numbers, layouts, numbers
from ._common.persistence import Persistent
from ._common.resources import resolve_threads
from ._common.rows import check_same_terms, labelled, refuse_what_has_no_rows, terms_of
from ._common.types import Array
from ._common.validation import (
    check_positive,
    check_real,
    check_sparse,
    core_csr,
    csr_kind,
    keeps_previous_fit,
    native,
    without_duplicates,
)

__all__ = ["BM25", "CustomWeighting", "LogTfIdf", "TermWeighting", "TfIdf"]


class TermWeighting(Persistent, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of term weightings: ``fit`` counts document frequencies, ``transform`` computes weights.

    The result is float64 for float64 input and float32 otherwise. It has non-zeros where the input has them.

    Attributes
    ----------
    n_documents_ : int
    document_frequency_ : int64 array of shape (n_features,)
        How many documents contain each term.
    term_weight_ : float64 array of shape (n_features,)
        The part of the weight that depends on the term alone.
    """

    _arrays = layouts(document_frequency_="i8 P", term_weight_="f8 P")
    _formula: str  # what the kernels call the weight
    _fitted_terms: str | None = None  # the fingerprint of the terms of the columns, if it is known
    _kernel_checks = True  # the kernel checks indices and signs while it weights
    _scalars: Numbers = numbers(n_documents_=int, n_features_in_="P", _fitted_terms=None)

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads

    @keeps_previous_fit
    def fit(self, X: Any, y: Any = None) -> TermWeighting:
        """Count the documents of each term.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features)
            Counts, not negative. To share the statistics of several languages, stack their matrices.
        """
        resolve_threads(self.n_threads)
        self._check_parameters()
        given, X = X, self._validated(X, reset=True)
        self._fitted_terms = terms_of(given)
        present = X.indices[X.data != 0]
        self.n_documents_ = int(X.shape[0])
        self.document_frequency_ = np.bincount(present, minlength=X.shape[1]).astype(np.int64)
        self.term_weight_ = self._term_weight(self.document_frequency_, self.n_documents_)
        self._fit_lengths(X)
        return self

    def transform(self, X: Any) -> Any:
        """Weight the non-zeros of X.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, n_features)

        Returns
        -------
        csr_matrix of float32 or float64, shape (n, n_features); of a sparse array, a csr_array
        """
        check_is_fitted(self, "term_weight_")
        given, X = X, self._validated(X, reset=False)
        check_same_terms(self._fitted_terms, terms_of(given), "X: its columns", f"the {type(self).__name__}")
        weighted = self._weighted(X, resolve_threads(self.n_threads))
        weighted.indices, weighted.indptr = X.indices.copy(), X.indptr.copy()
        return labelled(weighted, terms_of(given))

    def _weighted(self, X: Any, n_threads: int, first_row: int = 0) -> Any:
        """A matrix with the offsets and indices of X and the weights of its non-zeros."""
        data = np.empty(X.nnz, np.float64 if X.dtype == np.float64 else np.float32)
        self._weigh(X, data, n_threads, first_row)
        return csr_kind(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)

    def _validated(self, X: Any, reset: bool) -> Any:
        refuse_what_has_no_rows(X)
        trusted = not reset and self._kernel_checks
        X = native(check_sparse(X, ranges=not trusted))
        X = validate_data(self, X, accept_sparse="csr", reset=reset, dtype="numeric")
        if not sp.issparse(X):
            X = sp.csr_matrix(X)
        if not trusted and X.nnz and X.data.min() < 0:
            raise ValueError("X: counts must not be negative. Negative values in data passed to X")
        return without_duplicates(X)

    def _check_parameters(self) -> None:
        pass

    def _fit_lengths(self, X: Any) -> None:
        pass

    def _term_weight(self, df: Array, n: int) -> Array:
        """Return log2(n / d); zero for terms that no document has, which cannot be told from noise."""
        weight: Array = np.log2(n / np.maximum(df, 1)) * (df > 0)
        return weight

    def _weigh(self, X: Any, out: Array, n_threads: int, first_row: int) -> None:
        """Fill in the weights of non-zeros; `first_row` is what errors call the first row."""
        fused = self._fused()
        assert fused is not None, "a weighting that cannot be fused has its own loop"
        _core.weight(core_csr(X), fused, out, n_threads)

    def _fused(self) -> _core.Weighting | None:
        """Return what a kernel needs to weight on the fly, or None if it cannot."""
        check_is_fitted(self, "term_weight_")
        return _core.Weighting(self._formula, self.term_weight_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LogTfIdf(TermWeighting):
    """log(tf)-idf: ``log2(f + 1) * log2(n / d)`` (Platt, Toutanova and Yih 2010, equations 4, 5 and 8).

    Parameters
    ----------
    n_threads : int or None

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> counts = np.array([[3, 0], [1, 1]])
    >>> sj.LogTfIdf().fit_transform(counts).toarray()
    array([[0., 0.],
           [0., 1.]], dtype=float32)
    """

    _formula = "log_tfidf"


class TfIdf(TermWeighting):
    """tf-idf: ``f * log2(n / d)``.

    Parameters
    ----------
    n_threads : int or None

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> sj.TfIdf().fit_transform(np.array([[3, 2], [1, 0]])).toarray()
    array([[0., 2.],
           [0., 0.]], dtype=float32)
    """

    _formula = "tfidf"


class BM25(TermWeighting):
    """BM25: ``g f (k1 + 1) / (f + k1 (1 - b + b L / mean L))``, ``g = ln(1 + (n - d + 0.5) / (d + 0.5))``.

    Parameters
    ----------
    k1 : float, default 1.2
        How slowly the weight of a repeated term saturates; 0 ignores counts.
    b : float, default 0.75
        How much the length of a document lowers its weights, from 0 to 1.
    n_threads : int or None

    Attributes
    ----------
    mean_length_ : float
        Mean total count of the fitted documents.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> sj.BM25().fit_transform(np.array([[3, 2], [1, 0]])).toarray().round(2)
    array([[0.25, 0.8 ],
           [0.25, 0.  ]], dtype=float32)
    """

    _formula = "bm25"
    _scalars = numbers(TermWeighting._scalars, mean_length_=float)

    def __init__(self, k1: float = 1.2, b: float = 0.75, n_threads: int | None = None) -> None:
        super().__init__(n_threads)
        self.k1, self.b = k1, b

    def _check_parameters(self) -> None:
        check_real(self.k1, "k1", low=0)
        check_real(self.b, "b", low=0, high=1)

    def _restored(self) -> None:
        check_positive(self.mean_length_, "mean_length_")

    def _fit_lengths(self, X: Any) -> None:
        total = float(X.data.sum(dtype=np.float64))
        self.mean_length_ = total / X.shape[0] if total > 0 else 1.0

    def _term_weight(self, df: Array, n: int) -> Array:
        weight: Array = np.log1p((n - df + 0.5) / (df + 0.5)) * (df > 0)
        return weight

    def _fused(self) -> _core.Weighting:
        check_is_fitted(self, "term_weight_")
        return _core.Weighting(self._formula, self.term_weight_, self.k1, self.b, self.mean_length_)


class CustomWeighting(TermWeighting):
    """A weight of your own, compiled by Numba and fused into one loop over the non-zeros.

    Projections and encoders apply it to a block of rows at a time: there is never a weighted copy of all rows.

    Parameters
    ----------
    weight : callable ``(count, document_frequency, n_documents, document_length) -> float``
        A scalar ``@numba.njit`` function; a plain Python function is compiled on first use. A saved weighting has
        its name and a fingerprint: give it to :func:`semproj.load`.
    n_threads : int or None

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> weighting = sj.CustomWeighting(lambda count, df, n, length: count / length)
    >>> weighting.fit_transform(np.array([[3, 1], [0, 2]])).toarray()
    array([[0.75, 0.25],
           [0.  , 1.  ]], dtype=float32)
    """

    _functions = ("weight",)
    _kernel_checks = False

    def __init__(
        self, weight: Callable[[float, int, int, float], float] | None = None, n_threads: int | None = None
    ) -> None:
        super().__init__(n_threads)
        self.weight = weight

    def _check_parameters(self) -> None:
        from .jit.weighting import check_weight

        check_weight(self.weight)

    def _term_weight(self, df: Array, n: int) -> Array:
        return np.ones(len(df))

    def _weigh(self, X: Any, out: Array, n_threads: int, first_row: int) -> None:
        from .jit.weighting import weigh

        weigh(self.weight, X, self.document_frequency_, self.n_documents_, out, n_threads, first_row=first_row)

    def _fused(self) -> None:
        return None
