"""What the linear models share: a packed projection, built when first needed, behind ``transform``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ._persist import Persistent
from ._types import Array
from .kernels import Projection, project


class LinearModel(Persistent, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose ``transform`` is ``X @ components_.T``, minus an offset when it centres.

    Subclasses set ``components_`` (n_components x n_features), perhaps ``mean_``, and an empty ``_packed_cache``.
    """

    components_: Array
    mean_: Array | None
    n_threads: int | None

    def _packed(self, storage: str | None = None) -> Projection:
        """The projection in this storage, packed once per fitted ``components_``."""
        cache = self.__dict__.setdefault("_packed_cache", {})
        if cache.get("components") is not self.components_:
            cache.clear()
            cache["components"] = self.components_
        key = storage or self.components_.dtype.name
        if key not in cache:
            cache[key] = Projection(self.components_.T, key, self.n_threads)
        packed: Projection = cache[key]
        return packed

    def _project(self, X: Any, *, storage: str | None = None, **options: Any) -> Array:
        normalize = options.pop("normalize", False)
        centred = getattr(self, "mean_", None) is not None
        Z = project(
            X,
            self._packed(storage),
            normalize=normalize and not centred,
            n_threads=self.n_threads,
            **options,
        )
        if centred:
            Z -= (self.components_ @ self.mean_).astype(Z.dtype)
            if normalize:
                norms = np.linalg.norm(Z, axis=1, keepdims=True)
                np.divide(Z, norms, out=Z, where=norms > 0)
        return Z

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_packed_cache", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def flip_signs(components: Array) -> Array:
    """The library's sign rule: the entry of largest magnitude of each row (the first on a tie) is positive."""
    peaks = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
    signs = np.where(peaks < 0, -1, 1).astype(components.dtype)
    components *= signs[:, None]
    return signs
