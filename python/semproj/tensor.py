"""Sparse tensors of any number of modes, as coordinates and values."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._common.types import Array
from ._common.validation import as_csr, check_integer, check_range, check_sparse, native, without_duplicates

__all__ = ["SparseTensor"]


class SparseTensor:
    """A tensor that is zero almost everywhere: the coordinates and values of its other cells.

    Parameters
    ----------
    coords : integer array of shape (ndim, nnz)
        Column e is the cell of entry e, counted from 0. Entries of one cell add up.
    values : array of shape (nnz,)
        float32 stays float32, other numbers become float64.
    shape : tuple of int or None
        None: as small as the coordinates allow.

    Attributes
    ----------
    coords : int64 array of shape (ndim, nnz)
        In the order of the cells, the last mode fastest, without duplicates.
    values : float32 or float64 array of shape (nnz,)
    shape : tuple of int

    Examples
    --------
    >>> from semproj import SparseTensor
    >>> SparseTensor([[0, 2, 0], [1, 1, 1], [0, 3, 0]], [1.0, 2.0, 5.0], shape=(3, 2, 4))
    SparseTensor(shape=(3, 2, 4), nnz=2, dtype=float64)
    >>> _.to_dense()[0, 1, 0]
    np.float64(6.0)
    """

    def __init__(self, coords: Any, values: Any, shape: Sequence[int] | None = None) -> None:
        coords, values = _checked_entries(coords, values)
        self.shape = _checked_shape(coords, shape)
        self.coords, self.values = _in_order(coords, values, self.shape)

    @classmethod
    def from_slices(cls, slices: Sequence[Any]) -> SparseTensor:
        """Stack matrices of one shape along a third mode.

        Parameters
        ----------
        slices : list of sparse matrices or arrays of shape (n_rows, n_columns)

        Returns
        -------
        SparseTensor of shape (n_rows, n_columns, len(slices))
        """
        if sp.issparse(slices) or isinstance(slices, (str, np.ndarray)) or not isinstance(slices, Sequence):
            raise TypeError(f"slices: expected a list of matrices, got {type(slices).__name__}")
        if not slices:
            raise ValueError("slices: expected at least one matrix")
        rows, columns, values = [], [], []
        for k, given in enumerate(slices):
            name = f"slices[{k}]"
            matrix = without_duplicates(as_csr(given, name)).tocoo()
            if k == 0:
                shape = matrix.shape
            elif matrix.shape != shape:
                raise ValueError(f"{name}: has shape {matrix.shape}, slices[0] has {shape}")
            rows.append(matrix.row)
            columns.append(matrix.col)
            values.append(matrix.data)
        which = np.repeat(np.arange(len(slices)), [len(part) for part in values])
        coords = np.stack([np.concatenate(rows), np.concatenate(columns), which])
        return cls(coords, np.concatenate(values), (*shape, len(slices)))

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the values."""
        return self.values.dtype

    def to_dense(self) -> Array:
        """The whole tensor as an array, if it is small."""
        out = np.zeros(self.shape, self.dtype)
        out[tuple(self.coords)] = self.values
        return out

    def __repr__(self) -> str:
        return f"SparseTensor(shape={self.shape}, nnz={self.nnz}, dtype={self.dtype})"


def as_tensor(given: Any, name: str = "tensor") -> SparseTensor:
    """A SparseTensor from what users have: one, a list of slices, scipy's or pydata's sparse arrays."""
    if isinstance(given, SparseTensor):
        return given
    if isinstance(given, (list, tuple)):
        return SparseTensor.from_slices(given)
    if sp.issparse(given):
        given = check_sparse(given, name).tocoo()
    if all(hasattr(given, attribute) for attribute in ("coords", "data", "shape")):
        if np.any(getattr(given, "fill_value", 0)):
            raise ValueError(f"{name}: expected a fill value of 0, got {given.fill_value}")
        return SparseTensor(np.asarray(given.coords), given.data, given.shape)
    raise TypeError(
        f"{name}: expected a SparseTensor, a list of sparse matrices or a sparse COO array, got "
        f"{type(given).__name__}; of a thesaurus, write list(thesaurus.relations.values())"
    )


def _checked_entries(coords: Any, values: Any) -> tuple[Array, Array]:
    coords, values = np.asarray(coords), native(np.asarray(values))
    if coords.ndim != 2 or len(coords) < 1:
        raise ValueError(f"coords: expected an array of shape (ndim, nnz), got shape {coords.shape}")
    if coords.size == 0:
        coords = coords.astype(np.int64)
    if coords.dtype.kind not in "iu":
        raise TypeError(f"coords: expected integers, got dtype {coords.dtype}")
    if values.shape != coords.shape[1:]:
        raise ValueError(f"values: expected one for each of {coords.shape[1]} entries, got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"values: expected numbers, got dtype {values.dtype}")
    values = values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)
    if not np.isfinite(values).all():
        raise ValueError("values: contain NaN or infinity")
    return coords.astype(np.int64, copy=False), values


def _checked_shape(coords: Array, shape: Sequence[int] | None) -> tuple[int, ...]:
    for mode, places in enumerate(coords):
        if len(places) and places.min() < 0:
            raise ValueError(f"coords[{mode}]: expected 0 or more, got {places.min()}")
    if shape is None:
        if coords.shape[1] == 0:
            raise ValueError("shape: cannot be told from a tensor without entries")
        shape = [int(mode.max()) + 1 for mode in coords]
    if isinstance(shape, str) or not isinstance(shape, (Sequence, np.ndarray)):
        raise TypeError(f"shape: expected one integer for each of {len(coords)} modes, got {shape!r}")
    if len(shape) != len(coords):
        raise ValueError(f"shape: expected {len(coords)} modes, as coords has, got {tuple(shape)}")
    checked = tuple(check_integer(size, f"shape[{mode}]", low=1) for mode, size in enumerate(shape))
    for mode, size in enumerate(checked):
        check_range(coords[mode], size, f"coords[{mode}]")
    return checked


def _in_order(coords: Array, values: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Sort entries by cell, add up those of one cell, and drop zeros."""
    if prod(shape) < 2**62 and len(shape) < 32:  # NumPy can number the cells
        order = np.argsort(np.ravel_multi_index(tuple(coords), shape), kind="stable")
    else:
        order = np.lexsort(coords[::-1])
    coords, values = coords[:, order], values[order]
    new = np.ones(len(values), bool)
    new[1:] = (coords[:, 1:] != coords[:, :-1]).any(axis=0)
    if not new.all():
        # In double, rounded once: users need not mind in which order they list duplicates.
        values = np.add.reduceat(values, np.flatnonzero(new), dtype=np.float64).astype(values.dtype)
        coords = coords[:, new]
    there = values != 0
    if not there.all():
        coords, values = coords[:, there], values[there]
    return np.ascontiguousarray(coords), values
