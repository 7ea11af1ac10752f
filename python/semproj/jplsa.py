"""Joint PLSA: documents and their translations as one mixture of topics."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ._common.topics import Documents, TopicModel
from ._common.types import Array
from ._common.validation import (
    aligned_views,
    as_counts,
    as_csr,
    check_choice,
    check_integer,
    check_sparse,
    keeps_previous_fit,
    without_duplicates,
)

__all__ = ["JPLSA"]


class JPLSA(TopicModel):
    """Topics across languages: the documents of a pair, or of a larger group, have one mixture of topics.

    Section 2.4 of Platt, Toutanova and Yih 2010. ``fit`` takes one count matrix per language, rows aligned (row i
    of each is the same document). Documents of any one language are then folded in on their own.

    Parameters
    ----------
    vocabulary : {"shared", "separate"}, default "shared"
        "shared": all languages have the same columns and a topic is one distribution over them (2010; a word that
        two languages have in common has one column, where its counts add up). "separate": each language has its
        own columns and a topic has a distribution over each (Yih and others 2011, Mimno and others 2009).
    n_components, alpha, beta, init, max_iter, tol, fold_in_iter, checkpoint, callback, random_state, n_threads, \
progress
        As in :class:`semproj.PLSA`. The words of separate vocabularies are dealt to topics each by itself.

    Attributes
    ----------
    word_topics_ : float32 array of shape (n_features, n_components)
        p(word | topic). The columns of separate vocabularies are side by side, and each sums to one.
    view_starts_ : int64 array
        Where the columns of each vocabulary begin: one for "shared".
    view_words_ : uint8 array of shape (n_languages, n_features)
        1 for words of a shared vocabulary that the documents of a language have; not there if vocabularies are
        separate.
    components_, doc_topics_, objective_, n_iter_, n_features_in_
        As in :class:`semproj.PLSA`.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[4, 1, 0], [3, 2, 0], [0, 0, 5], [0, 1, 4]])
    >>> spanish = np.array([[2, 3, 0, 0], [3, 2, 0, 0], [0, 0, 1, 4], [0, 0, 3, 1]])
    >>> model = sj.JPLSA(n_components=2, vocabulary="separate", init="random", random_state=0)
    >>> model = model.fit([english, spanish])
    >>> bool((model.transform(english, view=0).argmax(1) == model.transform(spanish, view=1).argmax(1)).all())
    True
    """

    _arrays = (*TopicModel._arrays, "view_words_")

    view_words_: Array

    def __init__(
        self,
        n_components: int = 100,
        *,
        vocabulary: str = "shared",
        alpha: float = 1.1,
        beta: float = 1.01,
        init: str = "frequency",
        max_iter: int = 100,
        tol: float = 1e-5,
        fold_in_iter: int = 10,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callable[[int, Any, float], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.vocabulary = vocabulary
        self.alpha = alpha
        self.beta = beta
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.fold_in_iter = fold_in_iter
        self.checkpoint = checkpoint
        self.callback = callback
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> JPLSA:
        """Learn topics from aligned documents.

        Parameters
        ----------
        X : list of sparse matrices or arrays of shape (n_documents, n_features)
            Counts, or other weights of tokens, at least 0; with separate vocabularies each has a width of its own.
        """
        self._check_parameters()
        self._fit(self._documents(self._views(X)))
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then fold each language's documents in: ``[transform(x, view=i) for i, x in enumerate(X)]``."""
        self.fit(X)
        return [self.transform(x, view=i if self._separate else None) for i, x in enumerate(X)]

    def transform(self, X: Any, view: int | None = None) -> Array:
        """Mixtures of topics of documents of one language, by `fold_in_iter` iterations of EM with fixed topics.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
        view : int or None
            Which language, if vocabularies are separate.

        Returns
        -------
        float32 array of shape (n_documents, n_components)
            Rows sum to one; a document without known words is uniform.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        return self._project(self._one_view(X, number), view=number)

    def perplexity(self, X: Any, view: int | None = None) -> float:
        """``exp(-sum_dw n_dw log p(w | d) / sum_dw n_dw)``, the topics of documents as by ``transform``.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_documents, n_features of the vocabulary)
            Tokens of probability zero, which a model with beta = 1 may have, are left out of both sums.
        view : int or None
            Which language, if vocabularies are separate.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        return self._perplexity(self._one_view(X, number), number)

    def objective(self, X: Sequence[Any]) -> float:
        """Objective of the fitted parameters.

        Parameters
        ----------
        X : list of sparse matrices or arrays
            What the model was fitted on.
        """
        self._check_has_documents()
        return self._objective(self._documents(self._views(X, fitted=True)), self._document_arrays())

    def top_words(
        self, names: Sequence[str], k: int = 10, view: int | None = None
    ) -> list[list[tuple[str, float]]]:
        """The most probable words of each topic, with their probabilities.

        Parameters
        ----------
        names : sequence of str
            The word of each column of the vocabulary.
        k : int, default 10
        view : int or None
            Which language. With a shared vocabulary only words that its documents have; None: all words.
        """
        check_is_fitted(self, "components_")
        number = self._view_number(view)
        if self._separate or view is None:
            return self._top_words(names, k, number)
        return self._top_words(names, k, 0, np.flatnonzero(self.view_words_[view]))

    def _set_fitted(self, documents: Documents, arrays: dict[str, Array], objectives: list[float]) -> None:
        super()._set_fitted(documents, arrays, objectives)
        if documents.view_words is not None:
            self.view_words_ = documents.view_words

    @property
    def _separate(self) -> bool:
        return self.vocabulary == "separate"

    def _document_arrays(self) -> dict[str, Array]:
        return {"theta": self.doc_topics_}

    def _documents(self, views: list[Any]) -> Documents:
        if self._separate:
            bounds = np.cumsum([0, *(view.shape[1] for view in views)]).tolist()
            return Documents(as_counts(sp.hstack(views, format="csr")), bounds)
        total = views[0]
        for view in views[1:]:
            total = total + view
        return Documents(as_counts(total), [0, total.shape[1]], view_words=words_of(views))

    def _views(self, X: Sequence[Any], fitted: bool = False) -> list[Any]:
        views = aligned_views(X, shared_columns=not self._separate)
        if len(views) < 2:
            raise ValueError("X: expected at least two matrices, one per language, got 1")
        for i, view in enumerate(views):
            if min(view.shape) == 0:
                raise ValueError(f"X[{i}]: is empty, of shape {view.shape}")
        views = [as_counts(without_duplicates(view), f"X[{i}]") for i, view in enumerate(views)]
        for i, view in enumerate(views):
            if not fitted and view.nnz == 0:
                raise ValueError(f"X[{i}]: has no non-zero entries")
        widths = [view.shape[1] for view in views] if self._separate else [views[0].shape[1]]
        if fitted and widths != self._widths():
            raise ValueError(f"X: has {widths} columns, the model was fitted on {self._widths()}")
        if fitted and not self._separate and len(views) != len(self.view_words_):
            raise ValueError(f"X: has {len(views)} matrices, the model was fitted on {len(self.view_words_)}")
        return views

    def _widths(self) -> list[int]:
        bounds = [*self.view_starts_.tolist(), int(self.n_features_in_)]
        return [end - begin for begin, end in pairwise(bounds)]

    def _one_view(self, X: Any, number: int) -> Any:
        check_sparse(X)
        X = as_csr(X)
        width = self._widths()[number]
        if X.shape[1] != width:
            raise ValueError(f"X: has {X.shape[1]} features, expected {width} features, as in fit")
        return as_counts(without_duplicates(X))

    def _view_number(self, view: int | None) -> int:
        last = len(self.view_starts_) - 1
        if last == 0:  # one vocabulary, whatever the language
            if view is not None:
                check_integer(view, "view", low=0, high=len(self.view_words_) - 1)
            return 0
        if view is None:
            raise ValueError(f"view: expected an integer between 0 and {last}: vocabularies are separate")
        return check_integer(view, "view", low=0, high=last)

    def _check_parameters(self) -> None:
        check_choice(self.vocabulary, "vocabulary", ("shared", "separate"))
        super()._check_parameters()


def words_of(views: list[Any]) -> Array:
    """Which columns each view has any tokens in."""
    return np.array([np.bincount(view.indices, view.data > 0, view.shape[1]) > 0 for view in views], np.uint8)
