"""The safetensors format: a JSON header that says where each array lies, then the arrays.

It is read by mapping, and every number of the header is checked before it is used. What the `safetensors` package
writes is the same; it would copy all arrays first, and open the file by its name once more.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .types import Array

Arrays = dict[str, Array]

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
}  # fmt: skip
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000
_MOST_AXES = 32
_LINE = 64  # bytes of a line of the cache


class SavedModelError(ValueError):
    """The file is not a complete model saved by this library."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ: of two that are the same, readers take one or the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def write_tensors(file: BinaryIO, arrays: Arrays, metadata: dict[str, str]) -> None:
    """Write contiguous little-endian arrays and notes to an open file.

    Arrays of the widest elements come first and the header is padded, so that every array is aligned; the first
    ones, if they are of whole lines of the cache, to those.
    """
    header: dict[str, Any] = {"__metadata__": metadata}
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    end = 0
    for name in order:
        array = arrays[name]
        if array.dtype not in _NAMES:
            raise TypeError(f"{name}: arrays of {array.dtype} cannot be saved")
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _LINE)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(f"the description of the model has {len(text)} bytes, at most {_LONGEST_HEADER} are read")
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        if arrays[name].size:
            file.write(arrays[name].reshape(-1).view(np.uint8).data)


def map_tensors(path: Path) -> tuple[Arrays, dict[str, str]]:
    """The arrays of a file, read-only, and its notes.

    The file is opened once, and mapped once as a whole: if another takes its place meanwhile, all arrays are still
    of the one that was opened. They keep the mapping alive. A file that is cut short in place while it is mapped
    ends the process that reads beyond its end; this library replaces files and never does that.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # it cannot be mapped
            raise SavedModelError(f"{path}: truncated, or not a safetensors file")
        raw = np.asarray(np.memmap(file, np.uint8, "r"))
    length = int.from_bytes(raw[:8].tobytes(), "little")
    if len(raw) < 8 or length > min(len(raw) - 8, _LONGEST_HEADER):
        raise SavedModelError(f"{path}: truncated, or not a safetensors file")
    try:
        header = json.loads(raw[8 : 8 + length].tobytes(), object_pairs_hook=unique_keys)
        metadata = dict(header.pop("__metadata__", {}))
        if not all(isinstance(note, str) for note in metadata.values()):
            raise ValueError("expected notes that are strings")
        tensors = {name: _Tensor(**entry) for name, entry in header.items()}
    except Exception:  # whatever a header makes go wrong is its fault
        raise SavedModelError(f"{path}: damaged header, or not a safetensors file") from None
    data = raw[8 + length :]
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != end:
            raise SavedModelError(f"{path}: damaged header (offsets of {name!r})")
        end = tensor.end
    if end != len(data):
        raise SavedModelError(f"{path}: truncated, or longer than its header says")
    return {name: tensor.of(data) for name, tensor in tensors.items()}, metadata


class _Tensor:
    """An entry of the header, checked."""

    def __init__(self, dtype: str, shape: list[int], data_offsets: list[int]) -> None:
        self.begin, self.end = data_offsets
        self.dtype, self.shape = np.dtype(_DTYPES[dtype]), tuple(shape)
        if not all(type(n) is int and n >= 0 for n in (*self.shape, self.begin, self.end)):
            raise ValueError("expected sizes and offsets that are integers")
        if len(self.shape) > _MOST_AXES:
            raise ValueError("expected an array that NumPy can hold")
        size = self.end - self.begin
        if math.prod(self.shape) * self.dtype.itemsize != size:
            raise ValueError("expected as many bytes as the shape has")
        if size == 0:
            np.empty(self.shape, self.dtype)  # an array may have no elements, and still be too large for NumPy

    def of(self, data: Array) -> Array:
        """The array in the data of a file; a copy only where the file does not align it."""
        array = data[self.begin : self.end].view(self.dtype).reshape(self.shape)
        if array.flags.aligned:
            return array
        array = array.copy()
        array.flags.writeable = False
        return array
