"""Base classes of models that turn sparse rows into vectors, and what they share."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from ..kernels import Projection, project
from .layouts import layouts, numbers
from .persistence import Persistent, saveable
from .resources import single_threaded_blas
from .rows import REMEMBERED, RemembersRows, refuse_what_has_no_rows
from .types import Array
from .validation import check_out, check_sparse, native, without_duplicates

if TYPE_CHECKING:
    from ..weighting import TermWeighting


class RowTransformer(
    RemembersRows,
    Persistent,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A model whose ``transform`` turns each sparse row into a dense vector. An encoder can use it.

    Subclasses set ``components_`` (n_components x n_features) and define ``_fill``, the transform of valid rows;
    or ``_project``, to weigh rows before and to scale vectors after it in one go.
    """

    components_: Array
    n_threads: int | None

    def transform(self, X: Any) -> Array:
        """Turn rows into vectors.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_components), of the dtype of ``components_``.
        """
        check_is_fitted(self, "components_")
        return self._project(self._validated(X, reset=False))

    def _project(
        self,
        X: Any,
        *,
        storage: str | None = None,
        weighting: TermWeighting | None = None,
        normalize: bool = False,
        out: Array | None = None,
    ) -> Array:
        if weighting is not None:
            X = weighting.transform(X)
        result = check_out(out, (X.shape[0], self.components_.shape[0]), self._output_dtype(storage))
        self._fill(X, result)
        if normalize:
            unit_rows(result)
        return result

    def _fill(self, X: Any, result: Array) -> None:
        raise NotImplementedError

    def _output_dtype(self, storage: str | None) -> np.dtype[Any]:
        """The dtype of vectors if the model is kept in this storage."""
        raise NotImplementedError

    def _validated(self, X: Any, reset: bool) -> Any:
        refuse_what_has_no_rows(X)
        given, X = X, native(check_sparse(X))
        X = validate_data(self, X, accept_sparse="csr", reset=reset, dtype=[np.float64, np.float32])
        X = without_duplicates(X) if sp.issparse(X) else sp.csr_matrix(X)
        if not reset:
            self._check_rows(given, X)
        return X

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearModel(RowTransformer):
    """A model whose ``transform`` is ``X @ components_.T``, minus an offset when it centres.

    Subclasses set ``components_`` (n_components x n_features), perhaps ``mean_``, and an empty ``_packed_cache``.
    """

    mean_: Array | None

    def _packed(self, storage: str | None = None) -> Projection:
        """The projection in this storage, packed once for each fit."""
        cache = self._of_this_fit()
        key = storage or self.components_.dtype.name
        if key not in cache:
            cache[key] = Projection(self.components_.T, key, self.n_threads)
        packed: Projection = cache[key]
        return packed

    def _offset(self) -> Array:
        """The projection of the mean, found once for each fit."""
        cache = self._of_this_fit()
        if "offset" not in cache:
            with single_threaded_blas():
                cache["offset"] = self.components_ @ self.mean_
        offset: Array = cache["offset"]
        return offset

    def _of_this_fit(self) -> dict[str, Any]:
        """What has been computed from the present components."""
        cache: dict[str, Any] = self.__dict__.setdefault("_packed_cache", {})
        if cache.get("components") is not self.components_:
            cache.clear()
            cache["components"] = self.components_
        return cache

    def _project(
        self,
        X: Any,
        *,
        storage: str | None = None,
        weighting: TermWeighting | None = None,
        normalize: bool = False,
        out: Array | None = None,
    ) -> Array:
        centered = getattr(self, "mean_", None) is not None
        Z = project(
            X,
            self._packed(storage),
            weighting=weighting,
            normalize=normalize and not centered,
            out=out,
            n_threads=self.n_threads,
        )
        if centered:
            Z -= self._offset().astype(Z.dtype)
            if normalize:
                unit_rows(Z)
        return Z

    def _output_dtype(self, storage: str | None) -> np.dtype[Any]:
        return self._packed(storage).dtype

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_packed_cache", None)
        return state


@saveable
class ViewProjection(LinearModel):
    """Projects one view of a multi-view model, which fits it."""

    _arrays = layouts(components_="T k p")
    _scalars = numbers(n_features_in_="p", **REMEMBERED)

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> ViewProjection:
        """Raise TypeError: fit the model of all views instead."""
        raise TypeError("X: one view cannot be fitted alone; fit the multi-view model")

    def _set(self, components: Array, fitted_on: str | None, terms: str | None) -> ViewProjection:
        self._fitted_on, self._fitted_terms = fitted_on, terms
        self.components_ = components
        self.n_features_in_ = components.shape[1]
        return self


def unit_rows(Z: Array) -> None:
    """Scale rows to unit length, in place; zero rows stay zero."""
    _core.unit_rows(Z, 1)


def flip_signs(components: Array) -> Array:
    """Apply the library's sign rule: the (first) entry of largest magnitude of each row becomes positive."""
    peaks = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
    signs = np.where(peaks < 0, -1, 1).astype(components.dtype)
    components *= signs[:, None]
    return signs


def oriented(components: Array) -> Array:
    """Check that components are finite, and give them the signs of the rule."""
    if not np.isfinite(components).all():
        raise ValueError("X: the components are not finite; the values of X are too large for its dtype")
    flip_signs(components)
    return components


class _NoBar(AbstractContextManager["_NoBar"]):
    """A progress bar that nobody sees. That of tqdm would start a thread all the same."""

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, n: int) -> None:
        pass

    def set_postfix(self, **values: object) -> None:
        pass


def progress_bar(show: bool, description: str, total: int | None, unit: str = "block", **style: Any) -> Any:
    """A progress bar; it costs nothing unless shown."""
    if not show:
        return _NoBar()
    from tqdm import tqdm

    return tqdm(total=total, desc=description, unit=unit, **style)


def warn_not_converged(max_iter: int, worst: float, tol: float) -> None:
    warnings.warn(
        f"not converged after max_iter={max_iter} restarts: largest relative residual {worst:.1e}, tol={tol:.1e}",
        ConvergenceWarning,
        stacklevel=4,  # the caller of fit and its decorator
    )
