"""Cross-language latent semantic indexing: LSA of documents joined with their translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ._common.rows import check_same_terms, look_weighted, terms_of, warn_of_rows
from ._common.types import Array
from ._common.validation import aligned_views, as_csr, keeps_previous_fit
from .lsa import LSA
from .weighting import LogTfIdf, TermWeighting

__all__ = ["CLLSI"]


class CLLSI(LSA):
    """CL-LSI: one space for the documents of several languages (equation 5 of Platt et al. 2010).

    ``fit`` takes one count matrix per language. Their rows are aligned: row i of each is the same document. They
    share columns: a term that two languages have in common has one column, where its counts add up. ``transform``
    then projects documents of any one language.

    Parameters
    ----------
    n_components : int, default 100
    weighting : "log_tfidf", a term weighting or None, default "log_tfidf"
        How counts become weights, with statistics over the documents of all languages. None: the matrices are
        weighted already, and are only added.
    solver, tol, max_iter, center, max_memory, random_state, n_threads, progress
        As in :class:`semproj.LSA`.

    Attributes
    ----------
    weighting_ : the fitted term weighting, or None
    components_, singular_values_, explained_variance_, explained_variance_ratio_, residuals_, mean_
        As in :class:`semproj.LSA`.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[2, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]])
    >>> spanish = np.array([[0, 0, 1, 0], [0, 0, 0, 2], [0, 0, 1, 1]])
    >>> model = sj.CLLSI(n_components=2, random_state=0).fit([english, spanish])
    >>> sj.metrics.top1(model.transform(english), model.transform(spanish))
    1.0
    """

    _parts = ("weighting_",)

    def __init__(
        self,
        n_components: int = 100,
        *,
        weighting: Any = "log_tfidf",
        solver: str = "randomized",
        tol: float = 1e-3,
        max_iter: int = 100,
        center: bool = False,
        max_memory: int | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.weighting, self.solver, self.center = n_components, weighting, solver, center
        self.tol, self.max_iter, self.max_memory = tol, max_iter, max_memory
        self.random_state, self.n_threads, self.progress = random_state, n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> CLLSI:
        """Fit on aligned matrices.

        Parameters
        ----------
        X : list of sparse matrices or arrays, all of shape (n_documents, n_features)
        """
        self._check_parameters()
        views = aligned_views(X)
        weighting = self._new_weighting()
        if weighting is not None:
            _check_counts(views, weighting)
            weighting.fit(sp.vstack(views, format="csr"))
        super().fit(_joined(views, weighting))
        self.weighting_ = weighting
        self._fitted_terms = terms_of(X[0])
        return self

    def partial_fit(self, X: Sequence[Any], y: Any = None) -> CLLSI:
        """Fold in new aligned documents; term statistics stay those of ``fit``."""
        if not hasattr(self, "components_"):
            return self.fit(X)
        views = aligned_views(X)
        self._check_view(X[0], views)
        super().partial_fit(_joined(views, self.weighting_))
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then project each language's documents: ``[transform(x) for x in X]``."""
        self.fit(X)
        return [self.transform(x) for x in X]

    def transform(self, X: Any) -> Array:
        """Project documents of one language (counts, unless ``weighting`` is None).

        Returns
        -------
        array of shape (n_documents, n_components)
        """
        check_is_fitted(self, "components_")
        given, X = X, as_csr(X, ranges=False)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X: has {X.shape[1]} columns, the model was fitted on {self.n_features_in_}")
        self._check_view(given, [X])
        return self._project(X, weighting=self.weighting_)

    def _check_view(self, given: Any, views: list[Any]) -> None:
        """Whether rows are like those of the fit."""
        if self.weighting_ is None:
            self._check_rows(given, views[0])
        else:
            check_same_terms(self._fitted_terms, terms_of(given), "X: its columns", "the CLLSI")
            _check_counts(views, self.weighting_)

    def _new_weighting(self) -> TermWeighting | None:
        if self.weighting is None:
            return None
        if isinstance(self.weighting, str) and self.weighting == "log_tfidf":
            return LogTfIdf(n_threads=self.n_threads)
        if isinstance(self.weighting, TermWeighting):
            copy: TermWeighting = clone(self.weighting)
            return copy
        raise ValueError(f"weighting: expected 'log_tfidf', a term weighting or None, got {self.weighting!r}")

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        if isinstance(self.weighting, TermWeighting):  # saved once, as the fitted part
            parameters["weighting"] = "weighting_"
        return parameters

    def _restored(self) -> None:
        self.weighting_ = getattr(self, "weighting_", None)  # a part that is None is not in the file
        if self.weighting_ is not None and not isinstance(self.weighting_, TermWeighting):
            raise ValueError(f"weighting_: expected a term weighting, got {type(self.weighting_).__name__}")
        if self.weighting_ is not None and len(self.weighting_.term_weight_) != self.n_features_in_:
            raise ValueError(f"weighting_: expected weights of {self.n_features_in_} terms")
        if isinstance(self.weighting, str) and self.weighting == "weighting_":
            self.weighting = clone(self.weighting_)


def _check_counts(views: list[Any], weighting: TermWeighting) -> None:
    if look_weighted(views):
        what = f"CLLSI weights counts itself, by {type(weighting).__name__}, and these are weighted already"
        warn_of_rows(f"X: {what}; give counts, or write CLLSI(weighting=None)")


def _joined(views: list[Any], weighting: TermWeighting | None) -> Any:
    total = sum(views[1:], views[0])
    return total if weighting is None else weighting.transform(total)
