"""Where the training of a projection begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._common.resources import memory_for, resolve_threads
from .._common.types import Array
from .._common.validation import check_finite, seed_key
from ..cllsi import CLLSI
from ..opca import OPCA

STARTS = ("opca", "cllsi", "random")
OPCA_TOL = 0.1  # on Debian's pairs, training went as well from it as from exact components
# Of the largest element: gradients go as one over it, and Adam squares them.
SIZES = {"float32": (1e-18, 1e16), "float64": (1e-150, 1e150)}


def starting_projection(model: Any, views: list[Any], *, separate: bool, copies: int) -> Array:
    """The matrix (n_columns, n_components) that training begins with; those of separate views below each other.

    Training will need `copies` of it: if there is no memory for them, this is said at once.
    """
    widths = [view.shape[1] for view in views]
    rows = sum(widths) if separate else widths[0]
    if isinstance(model.start, str):
        if model.n_components is None:
            raise ValueError("n_components: expected a number, as the start is not a fitted model")
        needed = copies * rows * int(model.n_components) * views[0].dtype.itemsize
        with memory_for(f"n_components={model.n_components}", needed):
            return _of_name(model, views, rows, separate=separate)
    components = _of_model(model.start, widths, separate=separate)
    if model.n_components not in (None, len(components)) or not len(components):
        expected = "at least one" if model.n_components is None else f"n_components = {model.n_components} of them"
        raise ValueError(f"start: has {len(components)} components, expected {expected}")
    if components.shape[1] != rows:
        raise ValueError(f"start: has {components.shape[1]} columns, expected {rows} as X has")
    check_finite(components, "start")
    _check_size(components, views[0].dtype)
    return np.ascontiguousarray(components.T, dtype=views[0].dtype)


def _of_name(model: Any, views: list[Any], rows: int, *, separate: bool) -> Array:
    k, dtype = int(model.n_components), views[0].dtype
    if model.start == "random":
        A = np.empty((rows, k), dtype)
        _core.fill_normal(A, seed_key(model.random_state), 0, resolve_threads(model.n_threads))
        return A
    if len({view.shape[1] for view in views}) > 1:
        raise ValueError("start: views of different widths have no OPCA or CL-LSI; begin with a fitted CCA")
    settings = {"random_state": seed_key(model.random_state), "n_threads": model.n_threads}
    fitted = (
        OPCA(k, tol=OPCA_TOL, **settings) if model.start == "opca" else CLLSI(k, weighting=None, **settings)
    ).fit(views)
    A = np.ascontiguousarray(fitted.components_.T, dtype=dtype)
    return np.concatenate([A] * len(views)) if separate else A


def _of_model(start: Any, widths: list[int], *, separate: bool) -> Array:
    if (parts := getattr(start, "views_", None)) is not None:
        if not separate:
            raise ValueError('start: has a matrix for each view; write matrices="separate"')
        if (own := [each.components_.shape[1] for each in parts]) != widths:
            raise ValueError(f"start: its views have {own} columns, expected {widths} as X has")
        return np.concatenate([each.components_ for each in parts], axis=1)
    components = np.asarray(getattr(start, "components_", start))
    if components.ndim != 2 or components.dtype.kind != "f":
        raise TypeError(
            f"start: expected {', '.join(map(repr, STARTS))}, a fitted linear model or an array of shape "
            f"(n_components, n_features), got {start!r:.60}"
        )
    if separate and all(width == components.shape[1] for width in widths):
        return np.concatenate([components] * len(widths), axis=1)
    return components


def _check_size(components: Array, dtype: Any) -> None:
    """Refuse a start whose gradients would leave the range of dtype; zeros have none."""
    least, most = SIZES[np.dtype(dtype).name]
    largest = float(np.abs(components).max())
    if largest > 0 and not least < largest < most:
        what = f"expected {least:g} to {most:g} for {dtype}"
        raise ValueError(f"start: has elements of up to {largest:.0e}, {what}; scale it")
