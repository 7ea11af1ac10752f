"""Rows of a factor for new indices of a mode, from their entries and the other factors."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._common.types import Array
from ..tensor import SparseTensor


def folded_in(tensor: SparseTensor, core: Array, factors: list[Array], mode: int) -> Array:
    """The least squares of ``|X_i - u G x_j U_j|`` over u, for each index i of `mode`, in double.

    As the other factors are orthonormal, X_i is first compressed by them, mode by mode: the cost is that of the
    entries times the last two ranks. Directions in which the core has nothing but rounding get 0.
    """
    compressed = _compressed(tensor, factors, mode)
    unfolded = np.moveaxis(core, mode, 0).reshape(core.shape[mode], -1)
    rounding = max(unfolded.shape) * float(np.finfo(core.dtype).eps)  # that of the core, not of double
    rows: Array = compressed @ np.linalg.pinv(unfolded.astype(np.float64), rcond=rounding)
    return rows


def _compressed(tensor: SparseTensor, factors: list[Array], mode: int) -> Array:
    """X x_j U_j' for all modes but one, unfolded: (n, product of the other ranks), in double."""
    others = [j for j in range(tensor.ndim) if j != mode]
    coords, n = tensor.coords, tensor.shape[mode]
    # The last mode by one sparse product, over the cells that share all other indices.
    last = others.pop()
    cells, group = np.unique(coords[[mode, *others]], axis=1, return_inverse=True)
    entries = sp.csr_matrix(
        (tensor.values.astype(np.float64), (group.ravel(), coords[last])),
        shape=(cells.shape[1], tensor.shape[last]),
    )
    values: Array = entries @ factors[last].astype(np.float64)
    while others:
        j = others.pop()
        kept, group = np.unique(cells[: 1 + len(others)], axis=1, return_inverse=True)
        ends = np.cumsum(np.bincount(group.ravel(), minlength=kept.shape[1]))  # cells are sorted by these
        table = np.empty((kept.shape[1], factors[j].shape[1], values.shape[1]))
        for i, end in enumerate(ends):
            part = slice(ends[i - 1] if i else 0, end)
            table[i] = factors[j][cells[1 + len(others), part]].T.astype(np.float64) @ values[part]
        cells, values = kept, table.reshape(len(table), table.shape[1] * table.shape[2])
    out = np.zeros((n, values.shape[1]))
    out[cells[0]] = values
    return out
