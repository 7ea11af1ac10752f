"""Saved models: one safetensors file with a JSON header. No pickle.

The file's ``__metadata__`` holds ``semproj`` (the library's version), ``format``, ``model`` (JSON: class,
parameters, scalars, parts), ``checksums`` (JSON: CRC-32 per tensor) and ``checksum`` (of the other entries).
Composite models, such as encoders, save their parts under a prefix. `tensorfile` has the format, `atomic` how a
file takes the place of another, `layouts` what is checked of one that is read.
"""

from __future__ import annotations

import importlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .atomic import replacing
from .functions import Function, UnusableFunction, describe_function, functions_of, matched_functions
from .layouts import ArrayLayouts, Numbers, check_arrays, check_numbers, layouts, numbers
from .resources import resolve_threads
from .tensorfile import Arrays, SavedModelError, map_tensors, unique_keys, write_tensors
from .types import Array
from .validation import check_sparse

FORMAT = 1
_MOST_THREADS = 2**31 - 1  # that kernels can be asked for


class Persistent:
    """Gives an estimator ``save``; ``semproj.load`` brings it back.

    A class names its fitted arrays and scalars with what is expected of them, the estimators inside it, and its
    parameters that may be functions: of these a file has the name and a fingerprint, never code.
    """

    _arrays: ArrayLayouts = layouts()
    _scalars: Numbers = numbers()
    _parts: tuple[str, ...] = ()
    _functions: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file, replacing an existing one in a single step.

        Parameters
        ----------
        path : path-like
            Of a link, the file that it points to is replaced. A new file has the usual mode, an existing one keeps
            its own.
        """
        self._write(path)

    def _write(self, path: str | os.PathLike[str], **more: Array) -> None:
        """Save the model, and `more` arrays that it can do without."""
        arrays: Arrays = {}
        description = _describe(self, "", arrays)
        write_file(path, {**arrays, **more}, description)

    def _check_saveable(self) -> None:
        check_is_fitted(self)

    def _get_parameters_to_save(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return parameters

    @classmethod
    def _blank(cls, **parameters: Any) -> Any:
        """A new object with these parameters; its state is set next."""
        return cls(**parameters)

    def _check_parameters(self) -> None:
        """Check the parameters, before a fit and after loading."""

    def _restored(self) -> None:
        """Called when state and parts are set, to check what they have to do with each other."""

    def _get_state(self) -> Arrays:
        return {name: getattr(self, name) for name in self._arrays if getattr(self, name, None) is not None}

    def _get_scalars(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._scalars if hasattr(self, name)}

    def _set_state(self, arrays: Arrays, scalars: dict[str, Any]) -> None:
        """Set the arrays and scalars of a file; arrays that it lacks, and need not have, are None."""
        expected = self._layouts(arrays, scalars)
        check_numbers(self._scalars, scalars, check_arrays(expected, arrays))
        for name, value in {**dict.fromkeys(expected), **arrays, **scalars}.items():
            setattr(self, name, value)

    def _layouts(self, arrays: Arrays, scalars: dict[str, Any]) -> ArrayLayouts:
        """What is expected of the arrays of a file, by the others and its scalars."""
        return self._arrays


def pack_strings(strings: Iterable[str]) -> tuple[Array, Array]:
    """The UTF-8 bytes of all strings, and the offsets where each begins and the last ends."""
    encoded = [string.encode() for string in strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def unpack_strings(text: Array, offsets: Array) -> list[str]:
    """What `pack_strings` was given."""
    check_strings(text, offsets)
    raw, places = text.tobytes(), offsets.tolist()
    return [raw[begin:end].decode() for begin, end in pairwise(places)]


def check_strings(text: Array, offsets: Array) -> None:
    """Check that offsets cut a text where characters begin."""
    if text.dtype != np.uint8 or offsets.dtype != np.int64 or text.ndim != 1 or offsets.ndim != 1:
        raise ValueError("strings: expected bytes and their offsets")
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise ValueError("strings: the offsets do not fit the text")
    text.tobytes().decode()
    if (text[offsets[offsets < len(text)]] & 0xC0 == 0x80).any():
        raise ValueError("strings: the offsets cut characters")


_CSR = ("data", "indices", "indptr")


def pack_csr(matrix: Any, prefix: str) -> Arrays:
    """The arrays of a sparse matrix under names with a prefix."""
    return {prefix + part: getattr(matrix, part) for part in _CSR}


def unpack_csr(arrays: Mapping[str, Array], prefix: str, shape: tuple[int, int]) -> Any:
    """What `pack_csr` was given, a matrix of float32."""
    data, indices, indptr = (arrays[prefix + part] for part in _CSR)
    integers = all(each.dtype in (np.int32, np.int64) for each in (indices, indptr))
    if data.dtype != np.float32 or not integers or not data.ndim == indices.ndim == indptr.ndim == 1:
        raise ValueError(f"{prefix}: expected the vectors of a sparse matrix of float32")
    if len(data) != len(indices):
        raise ValueError(f"{prefix}: expected as many values as indices")
    matrix = sp.csr_matrix((data, indices, indptr), shape=shape, copy=False)
    return check_sparse(matrix, prefix)


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
    functions = {k: describe_function(parameters[k]) for k in model._functions if callable(parameters[k])}
    parameters |= dict.fromkeys(functions)
    for key, value in model._get_state().items():
        arrays[prefix + key] = np.ascontiguousarray(value)
    description = {
        "class": name,
        "parameters": {k: _plain(v, k) for k, v in parameters.items()},
        "scalars": {k: _plain(v, k) for k, v in model._get_scalars().items()},
        "parts": {part: _describe(value, f"{prefix}{part}/", arrays) for part, value in parts.items()},
    }
    return {**description, "functions": functions} if functions else description


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


def write_file(path: str | os.PathLike[str], arrays: Arrays, description: dict[str, Any]) -> None:
    """Write arrays and a JSON description to a file, in place of what is there, in one step."""
    plain = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    metadata = {
        "semproj": _core.__version__,
        "format": str(FORMAT),
        "model": json.dumps(description),
        "checksums": json.dumps({name: checksum(array) for name, array in plain.items()}),
    }
    metadata["checksum"] = _header_checksum(metadata)
    with replacing(path) as file:
        write_tensors(file, plain, metadata)


def load(
    path: str | os.PathLike[str], *, functions: Mapping[str, Function] | None = None, verify: bool = True
) -> Any:
    """Load a model saved by ``save``.

    Its arrays are memory-mapped and read-only: a model may be larger than memory, and processes share it. The file
    may be replaced or removed meanwhile, but must not be written into: ``save`` never does.

    Parameters
    ----------
    path : path-like
    functions : dict of functions, or None
        Those that the model was made with, by the names of their parameters, as ``{"weight": my_weight}``; a file
        has no code. Of a model inside another, the name may have the part before it, as "weighting/weight".
    verify : bool, default True
        Read the arrays once to compare their checksums, and compare the source of functions with what it was.
        Without it even a huge file opens at once.

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
        asked = functions_of(description)
        _check_described(asked)
    except Exception as error:
        raise SavedModelError(f"{path}: does not describe the functions of a model") from error
    given = matched_functions(asked, functions, verify=verify)
    try:
        return _build(description, arrays, given)
    except UnusableFunction:
        raise
    except Exception as error:  # whatever else a file makes go wrong is its fault
        what = f"{path}: does not describe a model of this version ({error!s:.300})"
        raise SavedModelError(what) from error


def read_file(path: Path, *, verify: bool = True) -> tuple[Arrays, dict[str, Any]]:
    """The memory-mapped arrays and the description that :func:`write_file` wrote."""
    arrays, metadata = map_tensors(path)
    if "semproj" not in metadata:
        raise SavedModelError(f"{path}: a safetensors file, but not a model saved by semproj")
    if metadata.get("format") != str(FORMAT):
        raise SavedModelError(f"{path}: format {metadata.get('format')!r}, this version reads {FORMAT}")
    if metadata.get("checksum") != _header_checksum(metadata):
        raise SavedModelError(f"{path}: damaged header (its checksum differs)")
    try:
        description, checksums = (_json_object(metadata[key]) for key in ("model", "checksums"))
    except (KeyError, ValueError, RecursionError) as error:
        raise SavedModelError(f"{path}: damaged header ({error})") from None
    if set(checksums) != set(arrays):
        raise SavedModelError(f"{path}: damaged header (arrays and checksums differ)")
    if verify:
        for name, array in arrays.items():
            if checksum(array) != checksums[name]:
                raise SavedModelError(f"{path}: corrupted, the checksum of {name!r} differs")
    return arrays, description


def _json_object(text: str) -> dict[str, Any]:
    found = json.loads(text, object_pairs_hook=unique_keys)
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, got {type(found).__name__}")
    return found


def _check_described(functions: Mapping[str, Any]) -> None:
    for path, described in functions.items():
        if not isinstance(described["name"], str) or not isinstance(described["source"], (str, type(None))):
            raise ValueError(f"{path!r:.40}: expected a name and a fingerprint")


def _build(description: dict[str, Any], arrays: Arrays, functions: Mapping[str, Function]) -> Any:
    """A model as it was described, or an error of any type: nothing in a file is trusted."""
    cls = _classes().get(description["class"])
    if cls is None:
        raise ValueError(f"unknown class {description['class']!r:.40}")
    described, scalars, parameters = (description[key] for key in ("parts", "scalars", "parameters"))
    if not all(isinstance(each, dict) for each in (described, scalars, parameters)):
        raise ValueError("expected objects of parts, scalars and parameters")
    own = {name: array for name, array in arrays.items() if "/" not in name}
    parts, used = {}, len(own)
    for part, inner in described.items():
        if part not in cls._parts:
            raise ValueError(f"{part!r:.40}: is not a part of {cls.__name__}")
        prefix = f"{part}/"
        theirs = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        of_part = {k.removeprefix(prefix): v for k, v in functions.items() if k.startswith(prefix)}
        parts[part] = _build(inner, theirs, of_part)
        used += len(theirs)
    if used != len(arrays):
        raise ValueError("there are arrays that belong to no part")
    in_init = {part: parts.get(part) for part in cls._parts if not part.endswith("_")}
    parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()}
    for name in description.get("functions", {}):
        if name not in cls._functions:
            raise ValueError(f"{name!r:.40}: is not a function of {cls.__name__}")
        parameters[name] = functions[name]
    model = cls._blank(**parameters, **in_init)
    model._check_parameters()
    if "n_threads" in parameters and resolve_threads(model.n_threads) > _MOST_THREADS:
        raise ValueError(f"n_threads: expected at most {_MOST_THREADS}, got {model.n_threads}")
    model._set_state(own, scalars)
    for part, value in parts.items():
        setattr(model, part, value)
    model._restored()
    model._check_saveable()  # what could not be saved was never saved
    return model


def checksum(array: Array) -> int:
    """CRC-32 of an array's dtype and shape, then of its bytes."""
    start = zlib.crc32(f"{array.dtype.str} {array.shape}".encode())
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, start)


def _header_checksum(metadata: dict[str, str]) -> str:
    text = json.dumps({k: v for k, v in metadata.items() if k != "checksum"}, sort_keys=True)
    return str(zlib.crc32(text.encode()))
