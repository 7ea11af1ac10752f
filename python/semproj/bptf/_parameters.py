"""Parameters of BPTF: whether they are good, and what tells one fit from another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._common.fitting import check_loop_parameters
from .._common.functions import fingerprint
from .._common.persistence import checksum
from .._common.validation import check_choice, check_integer, check_real, check_sparse
from ._observed import check_functions
from ._slices import CosineSlice


def check_parameters(model: Any) -> None:
    check_integer(model.n_components, "n_components", low=1)
    check_integer(model.burn_in, "burn_in", low=0)
    for name in ("n_samples", "thin"):
        check_integer(getattr(model, name), name, low=1)
    check_real(model.held_out, "held_out", low=0, high=0.9)
    check_choice(model.dtype, "dtype", ("float32", "float64"))
    if not isinstance(model.asymmetric, (Sequence, np.ndarray)) or np.ndim(model.asymmetric) != 1:
        raise TypeError(f"asymmetric: expected a sequence of numbers of slices, got {model.asymmetric!r}")
    for k in model.asymmetric:
        check_integer(k, "asymmetric", low=0)
    check_functions(model.precision, model.target)
    check_loop_parameters(model)


def plain_sequences(model: Any) -> dict[str, Any]:
    """Parameters that may be arrays, as lists of Python's numbers, which JSON has."""
    names = ("zeros", "cells", "asymmetric")
    return {name: _plain(np.asarray(getattr(model, name), object).tolist()) for name in names}


def identity(model: Any, slices: Sequence[Any], key: int) -> dict[str, Any]:
    """What a checkpoint is of."""
    return {
        **{name: int(getattr(model, name)) for name in ("n_components", "burn_in", "n_samples", "thin")},
        "held_out": float(model.held_out),
        "dtype": model.dtype,
        **plain_sequences(model),
        "zeros": np.ravel(model.zeros).tolist(),
        **_of_functions(model),
        "random_state": None if model.random_state is None else key,
        "slices": [_fingerprint(each) for each in slices],
    }


def _of_functions(model: Any) -> dict[str, str | None]:
    """Only of those that there are: files of fits without any know nothing of them."""
    given = {name: getattr(model, name) for name in model._functions}
    return {name: fingerprint(function) for name, function in given.items() if function is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _fingerprint(each: Any) -> list[int]:
    if isinstance(each, CosineSlice):
        return each.fingerprint()
    found = check_sparse(each).tocoo()
    parts = (found.row.astype(np.int64), found.col.astype(np.int64), found.data)
    return [*found.shape, *(checksum(np.ascontiguousarray(part)) for part in parts)]
