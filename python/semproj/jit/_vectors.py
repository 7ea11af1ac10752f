"""A user's function of numbers, compiled so that a loop around it does several of them at once.

Logarithms and exponentials of `math` and NumPy are those of _elementary, which LLVM makes vectors of, and a
division by zero is an infinity, as in NumPy: an error would be a branch.
"""

from __future__ import annotations

import functools
import math
import types
from typing import Any

import numba
import numpy as np

from . import _elementary as elementary

_OURS = {name: getattr(elementary, name) for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "tanh")}


@functools.lru_cache(maxsize=2)
def _with_ours(module: types.ModuleType) -> types.ModuleType:
    ours = types.ModuleType(module.__name__)
    ours.__dict__.update({**vars(module), **_OURS})
    return ours


def _ours(value: Any) -> Any:
    if value is math or value is np:
        return _with_ours(value)
    for module in (math, np):
        name = getattr(value, "__name__", None)
        if name in _OURS and value is getattr(module, name, None):
            return _OURS[name]
    return value


def for_vectors(function: Any) -> Any:
    """A compiled function compiled anew, for loops that become vectors."""
    plain = function.py_func
    names = {name: _ours(plain.__globals__[name]) for name in plain.__code__.co_names if name in plain.__globals__}
    copied = types.FunctionType(
        plain.__code__, {**plain.__globals__, **names}, plain.__name__, plain.__defaults__, plain.__closure__
    )
    copied.__qualname__, copied.__module__ = f"{plain.__qualname__}_for_vectors", plain.__module__
    return numba.njit(**elementary.FLAGS)(copied)
