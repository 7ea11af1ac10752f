"""Joint PLSA: documents and their translations as one mixture of topics."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._common.aligned_topics import AlignedTopicModel, words_of_views
from ._common.fitting import Progress, fit_by_sweeps
from ._common.topic_sweeps import Documents, TopicSweeps, objective_of
from ._common.validation import as_counts, keeps_previous_fit

__all__ = ["JPLSA"]


class JPLSA(AlignedTopicModel):
    """Topics across languages: the documents of a pair, or of a larger group, have one mixture of topics.

    Section 2.4 of Platt, Toutanova and Yih 2010. ``fit`` takes one count matrix per language, rows aligned (row i
    of each is the same document). Documents of any one language are then folded in on their own.

    Parameters
    ----------
    vocabulary : {"shared", "separate"}, default "shared"
        "shared": all languages have the same columns and a topic is one distribution over them (2010; a word that
        two languages have in common has one column, where its counts add up). "separate": each language has its
        own columns and a topic has a distribution over each (Yih and others 2011, Mimno and others 2009).
    n_components, alpha, beta, init, token_weight, max_iter, tol, fold_in_iter, checkpoint, checkpoint_every, \
callback, random_state, n_threads, progress
        As in :class:`semproj.PLSA`, but for a `tol` of None, which is 1e-4 from clusters: more sweeps still find a
        few more translations. The words of separate vocabularies are dealt to topics each by itself, and groups of
        documents are clustered as one. `token_weight` has the documents of all languages together if they share a
        vocabulary.

    Attributes
    ----------
    word_topics_ : float32 array of shape (n_features, n_components)
        p(word | topic). The columns of separate vocabularies are side by side, and each sums to one.
    view_starts_ : int64 array
        Where the columns of each vocabulary begin: one for "shared".
    view_words_ : uint8 array of shape (n_languages, n_features)
        1 for words of a shared vocabulary that the documents of a language have; not there if vocabularies are
        separate.
    components_, doc_topics_, topic_prevalence_, objective_, n_iter_, n_features_in_
        As in :class:`semproj.PLSA`.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[4, 1, 0], [3, 2, 0], [0, 0, 5], [0, 1, 4]])
    >>> spanish = np.array([[2, 3, 0, 0], [3, 2, 0, 0], [0, 0, 1, 4], [0, 0, 3, 1]])
    >>> model = sj.JPLSA(n_components=2, vocabulary="separate", random_state=0)
    >>> model = model.fit([english, spanish])
    >>> bool((model.transform(english, view=0).argmax(1) == model.transform(spanish, view=1).argmax(1)).all())
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        vocabulary: str = "shared",
        alpha: float | None = 1.1,
        beta: float = 1.01,
        init: str = "clusters",
        token_weight: Callable[[float, int, int], float] | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        fold_in_iter: int = 10,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.vocabulary = n_components, vocabulary
        self.alpha, self.beta, self.init, self.random_state = alpha, beta, init, random_state
        self.token_weight = token_weight
        self.max_iter, self.tol, self.fold_in_iter = max_iter, tol, fold_in_iter
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> JPLSA:
        """Learn topics from aligned documents.

        Parameters
        ----------
        X : list of sparse matrices or arrays of shape (n_documents, n_features)
            Counts, or other weights of tokens: 0, or at least 1e-30. With separate vocabularies each has its own
            width.
        """
        self._check_parameters()
        documents = _joined(self._views(X), separate=self._separate)
        self.__dict__.pop("view_words_", None)  # of a fit before, with a shared vocabulary
        fit_by_sweeps(self, TopicSweeps(self, documents), max_iter=self.max_iter, tol=self._chosen_tol)
        return self

    def objective(self, X: Sequence[Any]) -> float:
        """Objective of the fitted parameters.

        Parameters
        ----------
        X : list of sparse matrices or arrays
            What the model was fitted on.
        """
        self._check_has_documents()
        return objective_of(self, _joined(self._views(X, fitted=True), separate=self._separate))


def _joined(views: list[Any], *, separate: bool) -> Documents:
    """All documents of a group as one: their counts added up, or the columns of each side by side."""
    if separate:
        bounds = np.cumsum([0, *(view.shape[1] for view in views)]).tolist()
        return Documents(as_counts(sp.hstack(views, format="csr")), bounds)
    total = views[0]
    for view in views[1:]:
        total = total + view
    return Documents(as_counts(total), [0, total.shape[1]], view_words=words_of_views(views))
