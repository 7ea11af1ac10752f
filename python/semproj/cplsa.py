"""Coupled PLSA: mixtures of topics of documents and their translations, tied in expectation."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from . import _core
from ._common.aligned_topics import AlignedTopicModel, words_of_views
from ._common.fitting import Progress, State, Sweeps, fit_by_sweeps
from ._common.functions import fingerprint
from ._common.layouts import check_numbers, layouts, numbers
from ._common.resources import resolve_threads
from ._common.topic_sweeps import (
    Documents,
    first_parameters,
    fitted_words,
    saved_parameters,
    topic_identity,
    topic_memory,
)
from ._common.types import Array
from ._common.validation import (
    as_counts,
    check_choice,
    check_coupling,
    check_integer,
    check_positive,
    keeps_previous_fit,
)
from .kernels import EQUAL_FRACTIONS

__all__ = ["CPLSA"]

_NATS_PER_TOKEN = 2e-6
_EQUAL_IN_SWEEPS = 3e-4
_REPORT = numbers(evaluations=int, unconverged=int, gap=float)


class CPLSA(AlignedTopicModel):
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
        infinity makes the fractions equal. A small one lets each language have topics of its own. Infinity
        moves tokens against odds of e^40 and no more; a pair that would need more is reported as not converged.
    norm : {"l1", "l2"}, default "l1"
    prox : callable or None
        Another penalty W of ``f1 - f2`` than a norm, topic by topic, by the proximal map of its conjugate W*:
        ``prox(dual, coupling, step)`` is the x at which ``step * W*(x) + (x - dual)**2 / 2`` is least. That of the
        l1 norm clips `dual` to +-coupling, which has no other meaning then; `norm` has none. W is 0 somewhere, and
        nowhere below. A function of numbers, compiled by Numba: see docs/functions.md.
    projection_tol : float, above 0, or None
        A projection is done when it is within this many nats for each token of the best, or within 5e-7 of the
        coupling; with an infinite coupling, when no fractions of topics differ by more than this. None: 2e-6, and
        3e-4 with an infinite coupling, where an error is of second order in the objective; after the last sweep
        the fractions are made equal within 1e-6. A fit warns, once, of projections that are not done.
    max_projection_iter : int, default 100
        Evaluations of a projection in a sweep at most; one more where the last step must be taken back. With half
        of them, or with 60, Newton's method in double precision takes over.
    vocabulary, n_components, alpha, beta, init, token_weight, max_iter, tol, fold_in_iter, checkpoint, \
checkpoint_every, callback, random_state, n_threads, progress
        As in :class:`semproj.JPLSA`.

    Attributes
    ----------
    doc_topics_ : list of two float32 arrays of shape (n_documents, n_components)
        p(topic | document) of each language. Saved on request only.
    multipliers_ : float32 array of shape (n_documents, n_components)
        The dual variables of each pair's projection. Saved on request only.
    gaps_ : float64 array of shape (n_documents,)
        How far each pair's projection is from the best, at most, in nats; with an infinite coupling, the largest
        difference of two fractions. With `prox`, twice what is missing to second order. A pair with an empty side
        is not coupled.
    converged_ : bool array of shape (n_documents,)
        Whether each pair's projection, by the fitted parameters, reached its tolerance. Saved on request only.
    projection_ : list of dict
        Of each sweep: "evaluations", of all pairs together; "unconverged", the number of pairs that did not reach
        `projection_tol`; "gap", the largest.
    objective_ : float64 array of shape (n_iter_,)
        Regularised log posterior after each sweep. Never falls, up to rounding and `projection_tol`.
    word_topics_, topic_prevalence_, view_starts_, components_, n_iter_, n_features_in_
        As in :class:`semproj.JPLSA`.

    Notes
    -----
    Projections start from those of the sweep before, so that a few evaluations do, each of which costs as much as
    the documents' half of a sweep. Memory is that of PLSA of both documents, and ``8 T`` bytes for each pair.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> english = np.array([[4, 1, 0], [3, 2, 0], [0, 0, 5], [0, 1, 4]])
    >>> spanish = np.array([[9, 7, 0, 0], [8, 4, 0, 0], [0, 0, 6, 8], [0, 0, 9, 6]])
    >>> model = sj.CPLSA(n_components=2, vocabulary="separate", random_state=0)
    >>> model = model.fit([english, spanish])
    >>> [[word for word, _ in topic] for topic in model.top_words(["cat", "pet", "sky"], k=1, view=0)]
    [['sky'], ['cat']]
    >>> [[word for word, _ in topic] for topic in model.top_words(["gato", "perro", "sol", "luna"], k=2, view=1)]
    [['sol', 'luna'], ['gato', 'perro']]
    >>> bool(model.gaps_.max() <= 1e-6)
    True
    """

    _arrays = layouts(
        AlignedTopicModel._arrays,
        gaps_="f8 pairs",
        doc_topics_="f4 2 pairs k ?",
        multipliers_="f4 pairs k ?",
        converged_="u1 pairs ?",
    )
    _scalars = numbers(AlignedTopicModel._scalars, projection_=list)
    _functions = ("prox",)

    def __init__(
        self,
        n_components: int = 100,
        *,
        coupling: float = np.inf,
        norm: str = "l1",
        prox: Callable[[float, float, float], float] | None = None,
        projection_tol: float | None = None,
        max_projection_iter: int = 100,
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
        self.coupling, self.norm, self.prox = coupling, norm, prox
        self.projection_tol, self.max_projection_iter = projection_tol, max_projection_iter
        self.alpha, self.beta, self.init, self.random_state = alpha, beta, init, random_state
        self.token_weight = token_weight
        self.max_iter, self.tol, self.fold_in_iter = max_iter, tol, fold_in_iter
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> CPLSA:
        """Learn topics from aligned documents of two languages.

        Parameters
        ----------
        X : list of two sparse matrices or arrays of shape (n_documents, n_features)
            Counts, or other weights of tokens: 0, or at least 1e-30. With separate vocabularies each has its own
            width.
        """
        self._check_parameters()
        documents = self._documents(self._views(X))
        self.__dict__.pop("view_words_", None)  # of a fit before, with a shared vocabulary
        fit_by_sweeps(self, _CoupledSweeps(self, documents), max_iter=self.max_iter, tol=self._chosen_tol)
        last = _report(self.gaps_, self.converged_)
        self._warn_if_short([*self.projection_, last], stacklevel=4)
        return self

    def objective(self, X: Sequence[Any]) -> float:
        """Objective of the fitted parameters.

        Parameters
        ----------
        X : list of two sparse matrices or arrays
            What the model was fitted on.
        """
        self._check_has_documents()
        documents = self._documents(self._views(X, fitted=True))
        first, second = self.doc_topics_
        documents.check_as_many(2 * len(first))
        theta = np.stack([first, second], axis=1).reshape(-1, first.shape[1])
        threads = resolve_threads(self.n_threads)
        words = _core.TopicWords(np.ascontiguousarray(self.word_topics_), threads)
        pairs = _Pairs.unprojected(theta, self.multipliers_.copy())
        objective, _ = _coupled_sweep(self, documents.corpus(theta.shape[1], threads), words, pairs)
        self._warn_if_short([_report(pairs.gaps, pairs.converged)], stacklevel=3)
        return objective

    def _restored(self) -> None:
        super()._restored()
        _checked_reports(self.projection_, "projection_")

    def _of_documents(self) -> dict[str, Array]:
        arrays = {"multipliers_": self.multipliers_, "converged_": self.converged_.astype(np.uint8)}
        return {"doc_topics_": np.stack(self.doc_topics_), **arrays}

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        super()._set_state(arrays, scalars)
        if hasattr(self, "doc_topics_"):
            if not {"multipliers_", "converged_"} <= arrays.keys():
                raise ValueError("multipliers_, converged_: expected where doc_topics_ is")
            self.doc_topics_ = list(self.doc_topics_)
            self.converged_ = arrays["converged_"].astype(bool)
        else:
            del self.multipliers_, self.converged_

    def _warn_if_short(self, reports: list[dict[str, Any]], stacklevel: int) -> None:
        """Say, if any projections are not done, of how many pairs they are in the worst sweep, and how far off."""
        short = [report for report in reports if report["unconverged"]]
        if not short:
            return
        pairs, gap = max(report["unconverged"] for report in short), max(report["gap"] for report in short)
        warnings.warn(
            f"{pairs} of {len(self.multipliers_)} pairs did not reach projection_tol, in {len(short)} of "
            f"{len(reports)} rounds of projections: the largest gap is {gap:.1e}. A larger projection_tol or "
            f"max_projection_iter may help, or a smaller coupling",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

    def _documents(self, views: list[Any]) -> Documents:
        """The documents of a pair one after the other; the columns of separate vocabularies side by side."""
        if len(views) != 2:
            raise ValueError(f"X: expected two matrices, one per language, got {len(views)}")
        n, n_words = views[0].shape
        if self._separate:
            bounds = np.cumsum([0, *(view.shape[1] for view in views)]).tolist()
            stacked, used = sp.block_diag(views, format="csr"), None
        else:
            bounds = [0, n_words]
            stacked, used = sp.vstack(views, format="csr"), words_of_views(views)
        order = np.arange(2 * n).reshape(2, n).T.ravel()
        return Documents(as_counts(stacked[order]), bounds, group=2, view_words=used)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_coupling(self.coupling)
        check_choice(self.norm, "norm", ("l1", "l2"))
        if self.prox is not None:
            from .jit.proximal import check_prox

            check_prox(self.prox)
        if self.projection_tol is not None:
            check_positive(self.projection_tol, "projection_tol")
        check_integer(self.max_projection_iter, "max_projection_iter", low=1)


@dataclass
class _Pairs:
    """What is known of the documents of all pairs: mixtures, dual variables, and how far projections came."""

    theta: Array  # the documents of a pair are neighbours
    multipliers: Array
    gaps: Array
    converged: Array

    @classmethod
    def unprojected(cls, theta: Array, multipliers: Array) -> _Pairs:
        n_pairs = len(multipliers)
        return cls(theta, multipliers, np.zeros(n_pairs), np.zeros(n_pairs, np.uint8))

    def copy(self) -> _Pairs:
        return _Pairs(self.theta.copy(), self.multipliers.copy(), self.gaps.copy(), self.converged.copy())


class _CoupledSweeps(Sweeps):
    """EM whose posteriors are projected, pair by pair, before they are summed up. Objectives lag, as PLSA's do."""

    lags = True

    def __init__(self, model: CPLSA, documents: Documents) -> None:
        self._model, self._documents = model, documents
        self._n_threads = resolve_threads(model.n_threads)

    def identity(self) -> dict[str, Any]:
        own = ("coupling", "norm", "projection_tol", "max_projection_iter")
        prox = self._model.prox
        of_function = {} if prox is None else {"prox": fingerprint(prox)}
        return {**topic_identity(self._model, self._documents, *own), **of_function}

    def memory(self) -> int:
        return topic_memory(self._model, self._documents)

    def start(self, saved: State | None) -> None:
        self._records: list[dict[str, Any]] = []
        if saved is None:
            words, theta = first_parameters(self._model, self._documents)
            self._pairs = _Pairs.unprojected(theta, np.zeros((len(theta) // 2, theta.shape[1]), np.float32))
        else:
            n_pairs = self._documents.counts.shape[0] // 2
            words, _ = saved_parameters(
                saved,
                self._model,
                self._documents,
                multipliers=(np.float32, (n_pairs, int(self._model.n_components))),
                gaps=(np.float64, (n_pairs,)),
                converged=(np.uint8, (n_pairs,)),
            )
            self._pairs = _Pairs(**saved[0])
            self._records = _checked_reports(saved[1]["projection"], "projection")
        self._words = _core.TopicWords(words, self._n_threads)
        del words  # a table less in memory
        self._corpus = self._documents.corpus(int(self._model.n_components), self._n_threads)

    def step(self, sweep: int) -> float:
        objective, evaluations = self._sweep(self._pairs, update=True)
        self._records.append({"evaluations": evaluations, **_report(self._pairs.gaps, self._pairs.converged)})
        return objective

    def state(self) -> State:
        arrays = {"words": self._words.values(self._n_threads), **vars(self._pairs)}
        return arrays, {"projection": self._records}

    def finish(self, *, going_on: bool) -> tuple[dict[str, Any], float]:
        """Projections of the fitted parameters: those of the last sweep were of the parameters before it."""
        objective, _ = self._sweep(_Pairs.unprojected(self._pairs.theta, self._pairs.multipliers.copy()))
        pairs = self._pairs.copy() if going_on else self._pairs
        self._sweep(pairs, final=True)
        if not going_on:
            del self._corpus  # it has a table of its own
        fitted = {
            **fitted_words(self._documents, self._words.values(self._n_threads), pairs.theta),
            "doc_topics_": [pairs.theta[side::2] for side in range(2)],
            "multipliers_": pairs.multipliers,
            "gaps_": pairs.gaps,
            "converged_": pairs.converged.astype(bool),
            "projection_": [dict(each) for each in self._records],
        }
        return fitted, objective

    def _sweep(self, pairs: _Pairs, *, final: bool = False, update: bool = False) -> tuple[float, int]:
        return _coupled_sweep(self._model, self._corpus, self._words, pairs, final=final, update=update)


def _coupled_sweep(
    model: CPLSA,
    corpus: _core.TopicCorpus,
    words: _core.TopicWords,
    pairs: _Pairs,
    *,
    final: bool = False,
    update: bool = False,
) -> tuple[float, int]:
    """One sweep, or a look at all pairs. Returns the objective before it, and the evaluations of all pairs."""
    callback = _callback(model.prox)  # kept until the sweep is done
    coupling = _core.Coupling(
        weight=float(model.coupling),
        l2=model.prox is None and model.norm == "l2",
        tol=_final_tol(model) if final else _sweep_tol(model),
        max_evaluations=int(model.max_projection_iter),
        prox=0 if callback is None else callback.address,
        slack_tol=EQUAL_FRACTIONS if final else _EQUAL_IN_SWEEPS,
    )
    found = _core.cplsa_sweep(
        corpus,
        words,
        pairs.theta,
        pairs.multipliers,
        pairs.gaps,
        pairs.converged,
        model._chosen_alpha,
        float(model.beta),
        coupling,
        update,
        resolve_threads(model.n_threads),
    )
    if model.prox is not None and found.failed_pair >= 0:
        from .jit.proximal import failed_prox

        raise failed_prox(model.prox, found.failure, found.failed_pair)
    return found.log_likelihood + found.log_prior, found.evaluations


def _callback(prox: Any) -> Any:
    """The function as C++ calls it, if there is one."""
    if prox is None:
        return None
    from .jit.proximal import prox_callback

    return prox_callback(prox)


def _checked_reports(reports: Any, name: str) -> list[dict[str, Any]]:
    """Those of the sweeps of a file."""
    if not isinstance(reports, list) or not all(isinstance(each, dict) for each in reports):
        raise ValueError(f"{name}: expected what each sweep reports")
    for each in reports:
        check_numbers(_REPORT, each, {})
    return [dict(each) for each in reports]


def _report(gaps: Array, converged: Array) -> dict[str, Any]:
    return {"unconverged": int(np.count_nonzero(converged == 0)), "gap": float(gaps.max())}


def _sweep_tol(model: CPLSA) -> float:
    if model.projection_tol is not None:
        return model.projection_tol
    return _EQUAL_IN_SWEEPS if _equal(model) else _NATS_PER_TOKEN


def _equal(model: CPLSA) -> bool:
    """Whether fractions of topics are to be made equal."""
    return model.prox is None and bool(np.isinf(model.coupling))


def _final_tol(model: CPLSA) -> float:
    most = EQUAL_FRACTIONS if _equal(model) else _NATS_PER_TOKEN
    return most if model.projection_tol is None else min(model.projection_tol, most)
