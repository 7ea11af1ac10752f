"""One sparse matrix laid out in many ways, and matrices that are broken."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp


def misaligned(array: np.ndarray) -> np.ndarray:
    """The same numbers at an address that is no multiple of their size (of single bytes: where they are)."""
    memory = bytearray(array.nbytes + 1)
    there = np.frombuffer(memory, array.dtype, array.size, offset=1).reshape(array.shape)
    there[...] = array
    assert array.dtype.itemsize == 1 or not array.size or not there.flags.aligned
    return there


def swapped(array: np.ndarray) -> np.ndarray:
    """The same numbers in the byte order of other machines."""
    return array.astype(array.dtype.newbyteorder("S"))


def every_second(array: np.ndarray) -> np.ndarray:
    """The same numbers with others between them."""
    return np.repeat(array, 2, axis=0)[::2]


def frozen(array: np.ndarray) -> np.ndarray:
    there = array.copy()
    there.flags.writeable = False
    return there


def with_arrays(X: Any, **change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A copy of a matrix with other arrays: scipy checks only what is given to a constructor."""
    X = deepcopy(X)
    for name, function in change.items():
        setattr(X, name, function(getattr(X, name)))
    return X


def all_arrays(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Any]:
    return lambda X: with_arrays(X, data=function, indices=function, indptr=function)


def with_room(X: Any) -> Any:
    """The head of a larger matrix: entries lie behind those of the last row, as good as the others."""
    more = (
        (lambda a: np.concatenate([a, a[::-1], a[:1]]))
        if X.nnz
        else (lambda a: np.ones((7, *a.shape[1:]), a.dtype))
    )
    return with_arrays(X, data=more, indices=more)


def with_waste(X: Any) -> Any:
    """Memory behind the last row that nobody has written: any numbers, and more values than indices."""

    def values(a: np.ndarray) -> np.ndarray:
        waste = np.full((9, *a.shape[1:]), np.nan if a.dtype.kind == "f" else 1)
        return np.concatenate([a, waste.astype(a.dtype)])

    def indices(a: np.ndarray) -> np.ndarray:
        return np.concatenate([a, np.array([-5, 2**31 - 1], a.dtype)])

    return with_arrays(X, data=values, indices=indices)


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64)


# Of a CSR matrix without duplicates: the same entries, and so the same bits from every estimator and kernel.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "room": with_room,
    "waste": with_waste,
    "csr_array with waste": lambda X: with_waste(sp.csr_array(X)),
    "csc with room": lambda X: with_room(X.tocsc()),
    "csc with waste": lambda X: with_waste(X.tocsc()),
    "bsr with room": lambda X: with_room(X.tobsr((1, 1))),
    "bsr with waste": lambda X: with_waste(X.tobsr((1, 1))),
    "misaligned": all_arrays(misaligned),
    "misaligned with waste": lambda X: all_arrays(misaligned)(with_waste(X)),
    "swapped": all_arrays(swapped),
    "strided": all_arrays(every_second),
    "read-only": all_arrays(frozen),
    "int64": lambda X: with_arrays(X, indices=wide, indptr=wide),
    "int64 indices": lambda X: with_arrays(X, indices=wide),
    "int64 offsets": lambda X: with_arrays(X, indptr=wide),
    "unsigned": lambda X: with_arrays(X, indices=lambda a: a.astype(np.uint16)),
    "csr_array": sp.csr_array,
    "csc": lambda X: X.tocsc(),
    "misaligned csc": lambda X: all_arrays(misaligned)(X.tocsc()),
    "coo": lambda X: X.tocoo(),
    "misaligned coo": lambda X: with_arrays(X.tocoo(), data=misaligned, row=misaligned, col=misaligned),
    "swapped coo": lambda X: with_arrays(X.tocoo(), data=swapped, row=swapped, col=swapped),
    "bsr": lambda X: X.tobsr((1, 1)),
    "lil": lambda X: X.tolil(),
    "dok": lambda X: X.todok(),
    "dia": lambda X: X.todia(),
}


def put(name: str, at: Any, value: Any) -> Callable[[Any], Any]:
    """Writes one element of an array of the matrix."""

    def change(X: Any) -> Any:
        X = deepcopy(X)
        getattr(X, name)[at] = value
        return X

    return change


def _dok_beyond(X: Any) -> Any:
    X = X.todok()
    X._dict[X.shape[0] + 10**6, 3] = 1.0
    return X


# Of a CSR matrix with a few entries in most rows: what no reader of it may trust.
BROKEN: dict[str, Callable[[Any], Any]] = {
    "offset too large": put("indptr", 2, 10**8),
    "last offset too large": put("indptr", -1, 10**8),
    "negative offset": put("indptr", 3, -5),
    "first offset negative": put("indptr", 0, -7),
    "first offset above 0": put("indptr", 0, 1),
    "offsets decrease": put("indptr", 3, 0),
    "offsets that wrap around": lambda X: with_arrays(
        X, indptr=lambda a: np.concatenate([[0, 2**31 - 1, -2], a[3:]]).astype(np.int32)
    ),
    "too few offsets": lambda X: with_arrays(X, indptr=lambda a: a[:-1]),
    "too many offsets": lambda X: with_arrays(X, indptr=lambda a: np.append(a, a[-1])),
    "no offsets": lambda X: with_arrays(X, indptr=lambda a: a[:0]),
    "index too large": put("indices", 5, 10**8),
    "negative index": put("indices", 5, -1),
    "too few indices": lambda X: with_arrays(X, indices=lambda a: a[:-1]),
    "too few values": lambda X: with_arrays(X, data=lambda a: a[:-1]),
    "indices of floats": lambda X: with_arrays(X, indices=lambda a: a.astype(np.float64)),
    "offsets of floats": lambda X: with_arrays(X, indptr=lambda a: a.astype(np.float64)),
    "indices of objects": lambda X: with_arrays(X, indices=lambda a: a.astype(object)),
    "indices as a list": lambda X: with_arrays(X, indices=lambda a: a.tolist()),
    "two-dimensional indices": lambda X: with_arrays(X, indices=lambda a: a[:, None]),
    "two-dimensional offsets": lambda X: with_arrays(X, indptr=lambda a: a[:, None]),
    "two-dimensional values": lambda X: with_arrays(X, data=lambda a: a[:, None]),
    "csr_array, offset too large": lambda X: put("indptr", 2, 10**8)(sp.csr_array(X)),
    "csc, offset too large": lambda X: put("indptr", 2, 10**8)(X.tocsc()),
    "csc, index too large": lambda X: put("indices", 5, 10**8)(X.tocsc()),
    "coo, row too large": lambda X: put("row", 5, 10**8)(X.tocoo()),
    "coo, negative column": lambda X: put("col", 5, -(10**8))(X.tocoo()),
    "coo, too few rows": lambda X: with_arrays(X.tocoo(), row=lambda a: a[:3]),
    "coo, too few values": lambda X: with_arrays(X.tocoo(), data=lambda a: a[:3]),
    "bsr, offset too large": lambda X: put("indptr", 2, 10**8)(X.tobsr((1, 1))),
    "bsr, index too large": lambda X: put("indices", 5, 10**8)(X.tobsr((1, 1))),
    "bsr, too few blocks": lambda X: with_arrays(X.tobsr((1, 1)), data=lambda a: a[:3]),
    "bsr, flat blocks": lambda X: with_arrays(X.tobsr((1, 1)), data=lambda a: a.ravel()),
    "lil, column too large": lambda X: put("rows", 3, [10**8] * len(X.tolil().rows[3]))(X.tolil()),
    "lil, too many columns": lambda X: put("rows", 3, list(range(40)))(X.tolil()),
    "lil, too many values": lambda X: put("data", 3, [1.0] * 4000)(X.tolil()),
    "lil, a row that is no list": lambda X: put("rows", 3, None)(X.tolil()),
    "dok, row too large": _dok_beyond,
    "dia, too few diagonals": lambda X: with_arrays(X.todia(), data=lambda a: a[:3]),
    "dia, offsets of floats": lambda X: with_arrays(X.todia(), offsets=lambda a: a.astype(np.float64)),
}

# One of each kind: loops of scipy that read them crash, or worse.
FATAL = (
    "offset too large",
    "offsets that wrap around",
    "too few offsets",
    "index too large",
    "csr_array, offset too large",
    "csc, offset too large",
    "coo, row too large",
    "bsr, offset too large",
    "lil, too many values",
    "dok, row too large",
    "dia, too few diagonals",
)
