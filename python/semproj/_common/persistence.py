"""Saved models: one safetensors file with a JSON header. No pickle.

The file's ``__metadata__`` holds ``semproj`` (the library's version), ``format``, ``model`` (JSON: class,
parameters, scalars, parts), ``checksums`` (JSON: CRC-32 per tensor) and ``checksum`` (of the other entries).
Composite models, such as encoders, save their parts under a prefix. A model is written to a temporary file in the
same folder, which is then renamed: a crash leaves the old file or none.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .types import Array
from .validation import native

FORMAT = 1

Arrays = dict[str, Array]


class SavedModelError(ValueError):
    """The file is not a complete model saved by this library."""


class Persistent:
    """Gives an estimator ``save``; ``semproj.load`` brings it back.

    A class names its fitted arrays and scalars, and the estimators inside it.
    """

    _arrays: tuple[str, ...] = ()
    _scalars: tuple[str, ...] = ()
    _parts: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file, replacing an existing one in a single step.

        Parameters
        ----------
        path : path-like
        """
        arrays: Arrays = {}
        description = _describe(self, "", arrays)
        write_file(Path(path), arrays, description)

    def _check_saveable(self) -> None:
        check_is_fitted(self)

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return parameters

    @classmethod
    def _blank(cls, **parameters: Any) -> Any:
        """A new object with these parameters; its state is set next."""
        return cls(**parameters)

    def _restored(self) -> None:
        """Called when state and parts are set."""

    def _get_state(self) -> Arrays:
        return {name: getattr(self, name) for name in self._arrays if getattr(self, name, None) is not None}

    def _get_scalars(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._scalars if hasattr(self, name)}

    def _set_state(self, arrays: Arrays, scalars: dict[str, Any]) -> None:
        for name, value in {**arrays, **scalars}.items():
            setattr(self, name, value)


def pack_strings(strings: Iterable[str]) -> tuple[Array, Array]:
    """The UTF-8 bytes of all strings, and the offsets where each begins and the last ends."""
    encoded = [string.encode() for string in strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def unpack_strings(text: Array, offsets: Array) -> list[str]:
    """What `pack_strings` was given."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise ValueError("offsets of strings do not fit their text")
    raw, places = text.tobytes(), offsets.tolist()
    return [raw[begin:end].decode() for begin, end in pairwise(places)]


Saveable = TypeVar("Saveable", bound=Persistent)
_private: list[type[Persistent]] = []


def saveable(cls: type[Saveable]) -> type[Saveable]:
    """Let a class be saved and loaded that the package does not export."""
    _private.append(cls)
    return cls


def _classes() -> dict[str, type[Persistent]]:
    """Classes by name: the library's own. Only these are ever made from a file."""
    package = importlib.import_module(__package__.partition(".")[0])
    public = (getattr(package, name) for name in package.__all__)
    own = [each for each in public if isinstance(each, type) and issubclass(each, Persistent)]
    return {each.__name__: each for each in (*own, *_private)}


def _describe(model: Any, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Describe a model for JSON, and add its arrays to `arrays` under the prefix."""
    name = type(model).__name__
    if isinstance(model, Persistent):
        model._check_saveable()
    if _classes().get(name) is not type(model):
        raise TypeError(f"{name} cannot be saved: expected one of {', '.join(sorted(_classes()))}")
    parts = {part: getattr(model, part) for part in model._parts if getattr(model, part, None) is not None}
    parameters = {k: v for k, v in model._get_parameters_to_save().items() if k not in model._parts}
    if not isinstance(parameters.get("random_state"), (Integral, type(None))):
        parameters["random_state"] = None  # a generator's state is not the model's
    parameters |= {k: None for k in ("callback", "checkpoint") if k in parameters}  # they belong to the fit
    for key, value in model._get_state().items():
        arrays[prefix + key] = np.ascontiguousarray(value)
    return {
        "class": name,
        "parameters": {k: _plain(v, k) for k, v in parameters.items()},
        "scalars": {k: _plain(v, k) for k, v in model._get_scalars().items()},
        "parts": {part: _describe(value, f"{prefix}{part}/", arrays) for part, value in parts.items()},
    }


def _plain(value: Any, name: str) -> Any:
    """Turn a value into what JSON can hold: NumPy's numbers into Python's, tuples and sets into lists."""
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, Mapping):
        return {key: _plain(each, name) for key, each in value.items()}
    elif isinstance(value, (set, frozenset)):
        value = sorted(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each, name) for each in value]
    try:
        json.dumps(value, allow_nan=True)
    except TypeError:
        raise TypeError(f"{name}: {value!r} cannot be saved") from None
    return value


def write_file(path: Path, arrays: Arrays, description: dict[str, Any]) -> None:
    """Write arrays and a JSON description to a temporary file, and rename it to `path`."""
    from safetensors.numpy import save_file

    metadata = {
        "semproj": _core.__version__,
        "format": str(FORMAT),
        "model": json.dumps(description),
        "checksums": json.dumps({name: checksum(array) for name, array in arrays.items()}),
    }
    metadata["checksum"] = _header_checksum(metadata)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    try:
        save_file(arrays, temporary, metadata=metadata)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str], *, verify: bool = True) -> Any:
    """Load a model saved by ``save``.

    Its arrays are memory-mapped and read-only: a model may be larger than memory, and processes share it.

    Parameters
    ----------
    path : path-like
    verify : bool, default True
        Read the arrays once to compare their checksums. Without it even a huge file opens at once.

    Returns
    -------
    The fitted estimator or encoder.

    Raises
    ------
    SavedModelError
        The file is truncated, corrupted or not from this library.
    """
    path = Path(path)
    arrays, description = read_file(path, verify=verify)
    try:
        return _build(description, arrays)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SavedModelError(f"{path}: does not describe a model of this version ({error})") from error


def read_file(path: Path, *, verify: bool = True) -> tuple[Arrays, dict[str, Any]]:
    """The memory-mapped arrays and the description that :func:`write_file` wrote."""
    arrays, metadata = _read(path)
    if "semproj" not in metadata:
        raise SavedModelError(f"{path}: a safetensors file, but not a model saved by semproj")
    if metadata.get("format") != str(FORMAT):
        raise SavedModelError(f"{path}: format {metadata.get('format')!r}, this version reads {FORMAT}")
    if metadata.get("checksum") != _header_checksum(metadata):
        raise SavedModelError(f"{path}: damaged header (its checksum differs)")
    try:
        description = dict(json.loads(metadata["model"]))
        checksums = dict(json.loads(metadata["checksums"]))
    except (KeyError, TypeError, ValueError) as error:
        raise SavedModelError(f"{path}: damaged header ({error})") from None
    if set(checksums) != set(arrays):
        raise SavedModelError(f"{path}: damaged header (arrays and checksums differ)")
    if verify:
        for name, array in arrays.items():
            if checksum(array) != checksums[name]:
                raise SavedModelError(f"{path}: corrupted, the checksum of {name!r} differs")
    return arrays, description


def _build(description: dict[str, Any], arrays: Arrays) -> Any:
    name = description["class"]
    cls = _classes().get(name)
    if cls is None:
        raise ValueError(f"unknown class {name!r}")
    parts = {}
    for part, inner in description["parts"].items():
        prefix = f"{part}/"
        parts[part] = _build(inner, {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)})
    in_init = {part: parts.get(part) for part in cls._parts if not part.endswith("_")}
    parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in description["parameters"].items()}
    model = cls._blank(**parameters, **in_init)
    own = {k: v for k, v in arrays.items() if "/" not in k}
    model._set_state(own, description["scalars"])
    for part, value in parts.items():
        setattr(model, part, value)
    model._restored()
    return model


_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
}  # fmt: skip


def _read(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Memory-map the tensors of a safetensors file; check every offset before use."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(8)
        length = int.from_bytes(head, "little")
        if len(head) < 8 or length > size - 8 or length > 100_000_000:
            raise SavedModelError(f"{path}: truncated, or not a safetensors file")
        raw = file.read(length)
    try:
        header = json.loads(raw)
        metadata = {str(k): str(v) for k, v in header.pop("__metadata__", {}).items()}
        tensors = {name: _tensor(**entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SavedModelError(f"{path}: damaged header, or not a safetensors file") from None
    start = 8 + length
    if max((end for *_, end in tensors.values()), default=0) != size - start:
        raise SavedModelError(f"{path}: truncated, or longer than its header says")
    arrays: Arrays = {}
    for name, (dtype, shape, begin, end) in tensors.items():
        count = int(np.prod(shape, dtype=np.int64))
        if not 0 <= begin <= end or end - begin != count * np.dtype(dtype).itemsize:
            raise SavedModelError(f"{path}: damaged header (offsets of {name!r})")
        if count == 0:
            arrays[name] = np.empty(shape, dtype)
        else:
            arrays[name] = native(np.asarray(np.memmap(path, dtype, "r", start + begin, shape)))
    return arrays, metadata


def _tensor(dtype: str, shape: list[int], data_offsets: list[int]) -> tuple[str, tuple[int, ...], int, int]:
    begin, end = data_offsets
    numbers = (*shape, begin, end)
    if not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError("expected sizes and offsets that are integers")
    return _DTYPES[dtype], tuple(shape), begin, end


def checksum(array: Array) -> int:
    """CRC-32 of an array's dtype and shape, then of its bytes."""
    start = zlib.crc32(f"{array.dtype.str} {array.shape}".encode())
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, start)


def _header_checksum(metadata: dict[str, str]) -> str:
    text = json.dumps({k: v for k, v in metadata.items() if k != "checksum"}, sort_keys=True)
    return str(zlib.crc32(text.encode()))
