"""S2Net: projections trained for the cosines that they are used with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._common.base import LinearModel, ViewProjection
from .._common.fitting import check_loop_parameters, fit_by_sweeps
from .._common.layouts import layouts, numbers
from .._common.persistence import checksum
from .._common.resources import resolve_threads
from .._common.rows import REMEMBERED, check_weighted
from .._common.types import Array
from .._common.validation import (
    check_choice,
    check_integer,
    check_positive,
    check_real,
    keeps_previous_fit,
    weighted_views,
)
from ..kernels import project
from ._objective import Objective, built_in, by_function, samples
from ._preferences import Partners, PreferenceObjective, check_listed, preference_triples
from ._starts import STARTS, starting_projection
from ._training import AnyObjective, BatchTraining, WholeTraining

__all__ = ["S2Net", "preference_triples"]

LOSSES = ("softmax", "logistic")
DIRECTIONS = {"both": (0.5, 0.5), "forward": (1.0, 0.0), "backward": (0.0, 1.0)}
LARGEST_SCALE = 40.0  # exponentials of twice as much have room in float32
LARGEST_RATE, LARGEST_REG = 1e6, 1e30  # and what they make of a projection
FEW_PAIRS = 8000  # up to which L-BFGS on all pairs at once is better
STEPS, EPOCHS = 40, 10
SMALLEST = 1e-150  # of numbers that can be squared


class S2Net(LinearModel):
    """A projection under which the rows of a pair are more similar than rows of different pairs.

    Learnt from the cosines themselves, as in Yih, Toutanova, Platt and Meek 2011: a start, mostly OPCA's, is
    changed step by step to lower a loss on pairs of documents that belong together, each of which stands against
    the others. It needs far fewer dimensions than OPCA for the same precision.

    Parameters
    ----------
    n_components : int or None, default 100
        None: as many as the start has.
    start : {"opca", "cllsi", "random"}, fitted model or array, default "opca"
        Where to begin. A fitted :class:`OPCA`, :class:`LSA` or other linear model, one with ``views_`` such as
        :class:`CCA` if `matrices` is "separate", or an array of shape (n_components, n_features). Only a name is
        saved with the model: the default in place of a model or an array.
    loss : {"softmax", "logistic"} or callable, default "softmax"
        "softmax": minus the logarithm of a pair's share of ``exp(scale * cosine)`` among all pairs of its row.
        "logistic": ``log(1 + exp(-scale * (cosine of the pair - cosine of another)))``, the paper's. Under the
        first, a pair that is none weighs as much as any; under the second, as much as all that it stands against.
        A function of your own: ``loss(difference)`` of a pair's cosine and another's. Numba compiles it, and finds
        its derivative, or takes it where the function returns both. It has no use for `scale`. A saved model
        knows its name: ``sj.load(path, functions={"loss": function})``. See docs/functions.md.
    scale : float, default 10
        What multiplies cosines, at most 40.
    directions : {"both", "forward", "backward"}, default "both"
        Whether rows of the first view look for those of the second, or the other way round.
    negatives : {"all", "batch", "hard"}, int or None
        What pairs stand against. With `optimizer` "lbfgs": "all" others, or those in the same block of so many.
        With "adam": those in the same "batch", or "hard" ones: batches of pairs that are similar. None: "all" or
        "batch".
    matrices : {"shared", "separate"}, default "shared"
        One projection for all views, or one for each.
    optimizer : {"auto", "lbfgs", "adam"}, default "auto"
        "lbfgs" takes steps on all pairs at once; "adam" takes one for each batch of pairs. "auto" takes the first
        for up to 8000 pairs.
    batch_size : int, default 1000
        Pairs of a batch.
    learning_rate : float, default 0.2
        How far a step of "adam" goes, relative to the elements of the start.
    decay : float, default 0.3
        After e epochs the rate is ``learning_rate / (1 + decay * e)``.
    refresh : int, default 2
        Epochs after which hard negatives are looked for again.
    reg : float, default 0
        Pulls the projection A towards its start: adds ``reg / 2 * |A - start|^2`` to the loss.
    norm_floor : float, default 0.1
        The length of a projected row is taken as ``sqrt(|g|^2 + floor^2)``, where floor is `norm_floor` times the
        median length under the start. Gradients go as one over it: without it, one row that nearly vanishes can
        drown all others.
    max_iter : int or None
        Sweeps: steps of L-BFGS (None: 40) or epochs of Adam (None: 10).
    tol : float, default 1e-3
        A fit ends when a sweep lowers the loss by less than this share of it; with "hard" negatives it does not,
        as the loss is another one when they change.
    random_state : int, numpy generator or None
    callback, checkpoint, checkpoint_every
        See :mod:`semproj.stopping`. :class:`EarlyStopping` by a measure on other pairs prevents overfitting.
    n_threads : int or None
    progress : bool, default False

    Attributes
    ----------
    components_ : array of shape (n_components, n_features), or of all views beside each other
    views_ : list of linear models
        One for each view, with ``components_`` and ``transform``, if matrices are separate.
    objective_ : array of shape (n_iter_,)
        The loss after each step; with "adam", its mean over the batches of each epoch.
    n_iter_ : int
    optimizer_ : str
        The one that was used.

    Examples
    --------
    >>> import numpy as np, semproj as sj
    >>> words = 10 * np.random.default_rng(0).random((20, 3))
    >>> english, spanish = np.hstack([words, 0 * words]), np.hstack([0 * words, words])
    >>> model = sj.S2Net(n_components=2, random_state=0).fit([english, spanish])
    >>> sj.metrics.top1(model.transform(english), model.transform(spanish))
    1.0
    """

    _functions = ("loss",)
    _arrays = layouts(components_="T k p", objective_="f8 sweeps")
    _scalars = numbers(n_iter_="sweeps", _rank="k", optimizer_=str, _widths=list, **REMEMBERED)

    def __init__(
        self,
        n_components: int | None = 100,
        *,
        start: Any = "opca",
        loss: Any = "softmax",
        scale: float = 10.0,
        directions: str = "both",
        negatives: Any = None,
        matrices: str = "shared",
        optimizer: str = "auto",
        batch_size: int = 1000,
        learning_rate: float = 0.2,
        decay: float = 0.3,
        refresh: int = 2,
        reg: float = 0.0,
        norm_floor: float = 0.1,
        max_iter: int | None = None,
        tol: float = 1e-3,
        random_state: Any = None,
        callback: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 1,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.start, self.loss, self.scale = n_components, start, loss, scale
        self.directions, self.negatives, self.matrices = directions, negatives, matrices
        self.optimizer, self.batch_size, self.learning_rate = optimizer, batch_size, learning_rate
        self.decay, self.refresh, self.reg, self.norm_floor = decay, refresh, reg, norm_floor
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state
        self.callback, self.checkpoint, self.checkpoint_every = callback, checkpoint, checkpoint_every
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Sequence[Any], y: Any = None) -> S2Net:
        """Fit on pairs of rows, or on preferences.

        Parameters
        ----------
        X : list of sparse matrices or arrays of shape (n_pairs, n_features)
            Weighted rows, one matrix per view: row i of all belong together. With separate matrices, views may
            have columns of their own.
        y : array of int of shape (n, 2) or (n, 3), or None
            If it is given, X has queries and documents, as many as there are of each, and y has their rows: pairs
            of a query and a document that belong together, or triples of a query, a better document and a worse
            one; see :func:`preference_triples`. A query may have several pairs, of which none stands against
            another. Of triples only those documents are compared that they name: both losses are the paper's,
            and `directions` and `negatives` have no say.
        """
        self._check_parameters()
        separate = self.matrices == "separate"
        views = weighted_views(X, shared_columns=not separate, aligned_rows=y is None)
        listed = None if y is None else self._check_listed(y, views)
        check_weighted(X, "S2Net")
        self._remember(X, views, shared_columns=not separate)
        optimizer = self._optimizer(views[0].shape[0] if listed is None else len(listed))
        kind = WholeTraining if optimizer == "lbfgs" else BatchTraining
        start = starting_projection(self, _pairs_of(views, listed), separate=separate, copies=kind.copies)
        objective = self._objective(_side_by_side(views) if separate else views, listed, start)
        training = kind(self, objective, start, self._identity(start, optimizer))
        training.widths = [view.shape[1] for view in views]
        default = STEPS if optimizer == "lbfgs" else EPOCHS
        max_iter = default if self.max_iter is None else int(self.max_iter)
        # With other negatives the loss is another one, and may rise.
        fit_by_sweeps(self, training, max_iter=max_iter, tol=0.0 if self.negatives == "hard" else self.tol)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> list[Array]:
        """Fit, then project the rows of each view."""
        self.fit(X, y)
        return [self.transform(x, view=i) for i, x in enumerate(X)]

    def transform(self, X: Any, view: int = 0) -> Array:
        """Project rows of one view: with separate matrices, by its own.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
        view : int, default 0

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self, "components_")
        check_integer(view, "view", low=0, high=len(self._widths) - 1)
        if self.matrices == "separate":
            return self.views_[view].transform(X)
        return super().transform(X)

    def _objective(self, views: list[Any], listed: Array | None, start: Array) -> AnyObjective:
        threads = resolve_threads(self.n_threads)
        triples = listed if listed is not None and listed.shape[1] == 3 else None
        rows = _pairs_of(views, listed) if triples is None else views
        floors = [_floor(view, start, float(self.norm_floor), threads) for view in rows]
        if triples is not None:
            return PreferenceObjective(views, triples, float(self.scale), floors, threads)
        forward, backward = DIRECTIONS[self.directions]
        contrast = (by_function if callable(self.loss) else built_in)(
            self.loss, float(self.scale), forward, backward, threads
        )
        partners = None if listed is None else Partners(listed, views[0].shape[0], views[1].shape[0])
        return Objective(rows, contrast, floors, threads, partners)

    def _check_listed(self, y: Any, views: list[Any]) -> Array:
        listed = check_listed(y, views)
        if callable(self.loss):
            raise ValueError("loss: a function is for rows that are pairs as they lie; with y, name a loss")
        if listed.shape[1] == 3 and self.negatives is not None:
            raise ValueError(f"negatives: expected None, as triples name them, got {self.negatives!r}")
        return listed

    def _optimizer(self, n_examples: int) -> str:
        """The one to use, for which there are such negatives."""
        optimizer = self.optimizer
        if optimizer == "auto":
            batches = self.negatives in ("batch", "hard")
            whole = self.negatives is not None and not batches
            optimizer = "lbfgs" if whole or (n_examples <= FEW_PAIRS and not batches) else "adam"
        if optimizer == "adam" and self.negatives not in (None, "batch", "hard"):
            raise ValueError(f'negatives: expected "batch", "hard" or None with "adam", got {self.negatives!r}')
        if optimizer == "lbfgs" and self.negatives in ("batch", "hard"):
            raise ValueError(f'negatives: expected "all", a number or None with "lbfgs", got {self.negatives!r}')
        return optimizer

    def _identity(self, start: Array, optimizer: str) -> dict[str, Any]:
        """What a checkpoint must have been made with; a function is known by what it returns."""
        names = ("directions", "matrices", "negatives", "batch_size", "refresh")
        numbers_of = ("scale", "learning_rate", "decay", "reg", "norm_floor")
        identity = {name: getattr(self, name) for name in names}
        identity |= {name: float(getattr(self, name)) for name in numbers_of}
        identity["loss"] = samples(self.loss) if callable(self.loss) else self.loss
        return identity | {"optimizer": optimizer, "start": checksum(start), "n_components": start.shape[1]}

    @property
    def views_(self) -> list[ViewProjection]:
        if self.matrices == "shared" or not hasattr(self, "components_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'views_'")
        cache = self._of_this_fit()
        if "views" not in cache:
            terms = self._fitted_terms if isinstance(self._fitted_terms, list) else [None] * len(self._widths)
            parts = np.split(self.components_, np.cumsum(self._widths)[:-1], axis=1)
            cache["views"] = [
                ViewProjection(self.n_threads)._set(np.ascontiguousarray(part), self._fitted_on, each)
                for part, each in zip(parts, terms, strict=True)
            ]
        views: list[ViewProjection] = cache["views"]
        return views

    def _get_parameters_to_save(self) -> dict[str, Any]:
        """Without what belonged to the fit: models and arrays to start from."""
        parameters = super()._get_parameters_to_save()
        if not isinstance(self.start, str):
            parameters["start"] = "opca"
        return parameters

    def __sklearn_clone__(self) -> S2Net:
        """With the start as it is: a clone of it would not be fitted."""
        parameters = self.get_params(deep=False)
        start = parameters.pop("start")
        return type(self)(start=start, **{name: clone(each, safe=False) for name, each in parameters.items()})

    def _restored(self) -> None:
        if not all(type(width) is int and width > 0 for width in self._widths):
            raise ValueError("_widths: expected the numbers of columns of views")
        columns = sum(self._widths) if self.matrices == "separate" else self._widths[0]
        if columns != self.components_.shape[1]:
            raise ValueError("_widths: expected as many columns as components have")
        if self.matrices == "shared":
            self.n_features_in_ = int(self.components_.shape[1])

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_integer(self.n_components, "n_components", low=1)
        if isinstance(self.start, str):
            check_choice(self.start, "start", STARTS)
        if callable(self.loss):
            from ..jit.contrasts import check_loss

            check_loss(self.loss)
        else:
            check_choice(self.loss, "loss", LOSSES)
        check_positive(self.scale, "scale")
        check_real(self.scale, "scale", high=LARGEST_SCALE)
        check_choice(self.directions, "directions", tuple(DIRECTIONS))
        check_choice(self.matrices, "matrices", ("shared", "separate"))
        check_choice(self.optimizer, "optimizer", ("auto", "lbfgs", "adam"))
        if isinstance(self.negatives, str):
            check_choice(self.negatives, "negatives", ("all", "batch", "hard"))
        elif self.negatives is not None:
            check_integer(self.negatives, "negatives", low=2)
        check_integer(self.batch_size, "batch_size", low=2)
        check_positive(self.learning_rate, "learning_rate")
        check_real(self.learning_rate, "learning_rate", high=LARGEST_RATE)
        check_real(self.decay, "decay", low=0)
        check_integer(self.refresh, "refresh", low=1)
        check_real(self.reg, "reg", low=0, high=LARGEST_REG)
        check_real(self.norm_floor, "norm_floor", low=0)
        check_loop_parameters(self, max_iter=STEPS if self.max_iter is None else None)


def _pairs_of(views: list[Any], listed: Array | None) -> list[Any]:
    """Rows that belong together, side by side."""
    if listed is None:
        return views
    pairs = listed if listed.shape[1] == 2 else np.unique(listed[:, :2], axis=0)
    return [view[rows] for view, rows in zip(views, pairs.T, strict=True)]


def _side_by_side(views: list[Any]) -> list[Any]:
    """The same rows over the columns of all views."""
    starts = np.concatenate([[0], np.cumsum([view.shape[1] for view in views])])
    placed = []
    for view, first in zip(views, starts[:-1], strict=True):
        shape = (view.shape[0], int(starts[-1]))
        placed.append(
            sp.csr_matrix((view.data, view.indices + view.indices.dtype.type(first), view.indptr), shape)
        )
    return placed


def _floor(view: Any, start: Array, share: float, n_threads: int) -> float:
    """A share of the usual length of projected rows."""
    projected = project(view, start, n_threads=n_threads).astype(np.float64)
    largest = float(np.abs(projected).max())
    if largest > 0 and not SMALLEST < largest < 1 / SMALLEST:
        raise ValueError(f"X: rows are projected to numbers of {largest:.0e}, whose squares are none; scale X")
    lengths = np.linalg.norm(projected, axis=1)
    return share * float(np.median(lengths[lengths > 0])) if lengths.any() else 0.0
