"""What a class expects of the arrays and numbers of a file, which anybody may have written.

An array is spelt as its dtype and its axes: ``"f4 words k"``. All axes of one name have one length, of a name in
capitals perhaps 0, and a number stands for itself. ``T`` is a floating dtype that arrays share; a ``?`` at the end
says that a file need not have the array. A number is expected to be of a type (int: 0 or more; float: finite), or
as long as an axis; with None, the class looks at it itself, if it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from .types import Array

ArrayLayouts: TypeAlias = Mapping[str, str]
Number: TypeAlias = "type | str | None"
Numbers: TypeAlias = Mapping[str, Number]

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def layouts(before: ArrayLayouts = MappingProxyType({}), /, **arrays: str) -> ArrayLayouts:
    """What a class expects of arrays, besides what one before it does."""
    return MappingProxyType({**before, **arrays})


def numbers(before: Numbers = MappingProxyType({}), /, **values: Number) -> Numbers:
    """What a class expects of numbers, besides what one before it does."""
    return MappingProxyType({**before, **values})


def check_arrays(expected: ArrayLayouts, arrays: Mapping[str, Array]) -> dict[str, int]:
    """Check the arrays of a file. Returns the lengths of all axes."""
    if unknown := sorted(set(arrays) - set(expected)):
        raise ValueError(f"{unknown[0]}: is not an array of this class")
    lengths: dict[str, int] = {}
    shared: np.dtype[Any] | None = None
    for name, layout in expected.items():
        dtype, *axes = layout.removesuffix(" ?").split()
        if name not in arrays:
            if layout.endswith("?"):
                continue
            raise ValueError(f"{name}: is missing")
        array = arrays[name]
        if dtype == "T" and shared is None and array.dtype in _FLOATS:
            shared = array.dtype
        fits = array.dtype == (shared if dtype == "T" else np.dtype(dtype)) and array.ndim == len(axes)
        for axis, length in zip(axes, array.shape, strict=False):
            wanted = int(axis) if axis.isdecimal() else lengths.setdefault(axis, length)
            fits &= length == wanted and (length > 0 or not axis.islower())
        if not fits:
            raise ValueError(f"{name}: expected {layout!r}, got {array.dtype} of shape {array.shape}")
    return lengths


def check_numbers(expected: Numbers, values: Mapping[str, Any], lengths: Mapping[str, int]) -> None:
    """Check the numbers of a file, of which some are lengths of axes."""
    if unknown := sorted(set(values) - set(expected)):
        raise ValueError(f"{unknown[0]}: is not a value of this class")
    for name, kind in expected.items():
        if kind is None:
            continue
        if name not in values:
            raise ValueError(f"{name}: is missing")
        value = values[name]
        if isinstance(kind, str):
            fits = type(value) is int and value == lengths[kind]
        elif kind is int:
            fits = type(value) is int and value >= 0
        elif kind is float:
            fits = type(value) in (int, float) and bool(np.isfinite(value))
        else:
            fits = isinstance(value, kind)
        if not fits:
            what = f"{lengths[kind]}, the length of an axis" if isinstance(kind, str) else kind.__name__
            raise ValueError(f"{name}: expected {what}, got {value!r:.40}")
