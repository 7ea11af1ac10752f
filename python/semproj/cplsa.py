"""Coupled PLSA: mixtures of topics of documents and their translations, tied in expectation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _core
from ._common.topics import Documents
from ._common.types import Array
from ._common.validation import as_counts, check_choice, check_coupling, check_integer, check_positive
from .jplsa import JPLSA, words_of
from .kernels import EQUAL_FRACTIONS

__all__ = ["CPLSA"]

_NATS_PER_TOKEN = 2e-6
_EQUAL_IN_SWEEPS = 3e-4


class CPLSA(JPLSA):
    """Topics across two languages: each document has a mixture of its own, near that of its translation.

    Section 2.5 of Platt, Toutanova and Yih 2010. JPLSA's one mixture of a pair explains the longer document at the
    cost of the other. Here each sweep takes, instead of the posteriors p(topic | token), those q nearest to them
    for which the expected fractions of topics f of the two documents agree: q minimises

        KL(q || p) + coupling ||f1 - f2||

    Parameters
    ----------
    coupling : float, at least 0, or infinity, default infinity
        Weight of the disagreement of a pair. Fractions are sums over tokens divided by their number: a coupling
        changes the logarithms of a document's topics by at most coupling / tokens. 0 is PLSA of all documents,
        infinity makes the fractions equal. A small one lets each language have topics of its own. More than 20
        for each token of the shorter document counts as that, which moves tokens against odds of e^40; a pair that
        would need more is reported as not converged.
    norm : {"l1", "l2"}, default "l1"
    projection_tol : float, above 0, or None
        A projection is done when it is within this many nats for each token of the best; with an infinite
        coupling, when no fractions of topics differ by more than this. None: 2e-6, and 3e-4 with an infinite
        coupling, where an error is of second order in the objective; after the last sweep the fractions are made
        equal within 1e-6.
    max_projection_iter : int, default 100
        Evaluations of a projection in a sweep at most; one more where the last step must be taken back.
    vocabulary, n_components, alpha, beta, init, max_iter, tol, fold_in_iter, checkpoint, callback, random_state, \
n_threads, progress
        As in :class:`semproj.JPLSA`.

    Attributes
    ----------
    doc_topics_ : list of two float32 arrays of shape (n_documents, n_components)
        p(topic | document) of each language. Not saved with the model.
    multipliers_ : float32 array of shape (n_documents, n_components)
        The dual variables of each pair's projection. Not saved with the model.
    gaps_ : float64 array of shape (n_documents,)
        How far each pair's projection is from the best, at most, in nats; with an infinite coupling, the largest
        difference of two fractions. A pair with an empty side is not coupled.
    converged_ : bool array of shape (n_documents,)
        Whether each pair's projection, by the fitted parameters, reached its tolerance. Not saved with the model.
    projection_ : list of dict
        Of each sweep: "evaluations", of all pairs together; "unconverged", the number of pairs that did not reach
        `projection_tol`; "gap", the largest.
    objective_ : float64 array of shape (n_iter_,)
        Regularised log posterior before each sweep. Never falls, up to rounding and `projection_tol`.
    word_topics_, view_starts_, components_, n_iter_, n_features_in_
        As in :class:`semproj.JPLSA`.

    Notes
    -----
    Projections start from those of the sweep before, so that a few evaluations do, each of which costs as much as
    the documents' half of a sweep. Memory is that of PLSA of both documents, and ``4 T`` bytes for each pair.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[4, 1, 0], [3, 2, 0], [0, 0, 5], [0, 1, 4]])
    >>> spanish = np.array([[9, 7, 0, 0], [8, 4, 0, 0], [0, 0, 6, 8], [0, 0, 9, 6]])
    >>> model = sj.CPLSA(n_components=2, vocabulary="separate", init="random", random_state=0)
    >>> model = model.fit([english, spanish])
    >>> [[word for word, _ in topic] for topic in model.top_words(["cat", "pet", "sky"], k=1, view=0)]
    [['cat'], ['sky']]
    >>> [[word for word, _ in topic] for topic in model.top_words(["gato", "perro", "sol", "luna"], k=2, view=1)]
    [['gato', 'perro'], ['sol', 'luna']]
    >>> bool(model.gaps_.max() <= 1e-6)
    True
    """

    _arrays = (*JPLSA._arrays, "gaps_")
    _scalars = (*JPLSA._scalars, "projection_")
    _identifying = (*JPLSA._identifying, "coupling", "norm", "projection_tol", "max_projection_iter")

    def __init__(
        self,
        n_components: int = 100,
        *,
        coupling: float = np.inf,
        norm: str = "l1",
        projection_tol: float | None = None,
        max_projection_iter: int = 100,
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
        super().__init__(
            n_components,
            vocabulary=vocabulary,
            alpha=alpha,
            beta=beta,
            init=init,
            max_iter=max_iter,
            tol=tol,
            fold_in_iter=fold_in_iter,
            checkpoint=checkpoint,
            callback=callback,
            random_state=random_state,
            n_threads=n_threads,
            progress=progress,
        )
        self.coupling = coupling
        self.norm = norm
        self.projection_tol = projection_tol
        self.max_projection_iter = max_projection_iter

    def _sweep(
        self,
        corpus: _core.TopicCorpus,
        words: _core.TopicWords,
        arrays: dict[str, Array],
        update: bool,
        threads: int,
    ) -> float:
        tol = self.projection_tol
        if tol is None:
            tol = _EQUAL_IN_SWEEPS if np.isinf(self.coupling) else _NATS_PER_TOKEN
        objective, evaluations = self._projected(corpus, words, arrays, tol, update, threads)
        if update:
            unconverged = int(np.count_nonzero(arrays["converged"] == 0))
            gap = float(arrays["gaps"].max())
            self._records.append({"evaluations": evaluations, "unconverged": unconverged, "gap": gap})
        return objective

    def _finish(
        self, corpus: _core.TopicCorpus, words: _core.TopicWords, arrays: dict[str, Array], threads: int
    ) -> None:
        """Projections of the fitted parameters: those of the last sweep were of the parameters before it."""
        most = EQUAL_FRACTIONS if np.isinf(self.coupling) else _NATS_PER_TOKEN
        tol = most if self.projection_tol is None else min(self.projection_tol, most)
        self._projected(corpus, words, arrays, tol, False, threads)

    def _projected(
        self,
        corpus: _core.TopicCorpus,
        words: _core.TopicWords,
        arrays: dict[str, Array],
        tol: float,
        update: bool,
        threads: int,
    ) -> tuple[float, int]:
        """The objective, and the evaluations of all pairs."""
        coupling = _core.Coupling(
            weight=float(self.coupling),
            l2=self.norm == "l2",
            tol=tol,
            max_evaluations=int(self.max_projection_iter),
        )
        found = _core.cplsa_sweep(
            corpus,
            words,
            arrays["theta"],
            arrays["multipliers"],
            arrays["gaps"],
            arrays["converged"],
            float(self.alpha),
            float(self.beta),
            coupling,
            update,
            threads,
        )
        return found.log_likelihood + found.log_prior, found.evaluations

    def _start(self, documents: Documents) -> dict[str, Array]:
        self._records: list[dict[str, Any]] = []
        arrays = super()._start(documents)
        n_pairs, n_topics = len(arrays["theta"]) // 2, arrays["theta"].shape[1]
        return {
            **arrays,
            "multipliers": np.zeros((n_pairs, n_topics), np.float32),
            "gaps": np.zeros(n_pairs),
            "converged": np.zeros(n_pairs, np.uint8),
        }

    def _progress_state(self) -> dict[str, Any]:
        return {"projection": self._records}

    def _resume(self, state: dict[str, Any]) -> None:
        self._records = list(state["projection"])

    def _set_fitted(self, documents: Documents, arrays: dict[str, Array], objectives: list[float]) -> None:
        super()._set_fitted(documents, arrays, objectives)
        self.doc_topics_ = [arrays["theta"][side::2] for side in range(2)]
        self.multipliers_ = arrays["multipliers"]
        self.gaps_ = arrays["gaps"]
        self.converged_ = arrays["converged"].astype(bool)
        self.projection_ = list(self.__dict__.pop("_records"))

    def _document_arrays(self) -> dict[str, Array]:
        first, second = self.doc_topics_
        theta = np.empty((2 * len(first), first.shape[1]), np.float32)
        theta[::2], theta[1::2] = first, second
        return {
            "theta": theta,
            "multipliers": self.multipliers_.copy(),
            "gaps": np.zeros(len(first)),
            "converged": np.zeros(len(first), np.uint8),
        }

    def _documents(self, views: list[Any]) -> Documents:
        """The documents of a pair one after the other; the columns of separate vocabularies side by side."""
        n, n_words = views[0].shape
        if self._separate:
            bounds = np.cumsum([0, *(view.shape[1] for view in views)]).tolist()
            stacked = sp.block_diag(views, format="csr")
        else:
            bounds = [0, n_words]
            stacked = sp.vstack(views, format="csr")
        order = np.arange(2 * n).reshape(2, n).T.ravel()
        used = None if self._separate else words_of(views)
        return Documents(as_counts(stacked[order]), bounds, group=2, view_words=used)

    def _views(self, X: Sequence[Any], fitted: bool = False) -> list[Any]:
        views = super()._views(X, fitted)
        if len(views) != 2:
            raise ValueError(f"X: expected two matrices, one per language, got {len(views)}")
        return views

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_coupling(self.coupling)
        check_choice(self.norm, "norm", ("l1", "l2"))
        if self.projection_tol is not None:
            check_positive(self.projection_tol, "projection_tol")
        check_integer(self.max_projection_iter, "max_projection_iter", low=1)
