"""Compiled loops kept on disk, by the function inside them.

Numba's own cache knows a loop by the objects that it closes over; a user's function among these is another object
in each process, so nothing would ever be found. Here a loop is known by what its function does: by its bytecode
and all values that it refers to. A function that refers to anything else is compiled anew in each process.

Symbols of a compiled loop hold the names of its functions and numbers that Numba gives out anew in each process.
So that two loops never share a symbol, their names hold the digest of the function.
"""

from __future__ import annotations

import contextlib
import functools
import math
import types
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.registry import CPUDispatcher

from .._common.functions import referred

_LIBRARIES = {"numpy", "math", "cmath", "numba"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_MOST_BYTES = 1 << 20  # of an array that a function closes over


@functools.lru_cache(maxsize=1)
def _of_this_folder() -> Any:
    """Loops call other functions of this folder, so all that stands here counts."""
    hashed = blake2b(digest_size=16)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        hashed.update(file.read_bytes())
    return hashed


class _Unknown(Exception):
    """A value of which nothing is known in the next process."""


def digest(function: Any) -> str | None:
    """By all that a function's machine code depends on, or None if that cannot be told."""
    hashed = _of_this_folder().copy()
    try:
        _add(hashed, function, set())
    except (_Unknown, RecursionError):
        return None
    return str(hashed.hexdigest())


def _add(hashed: Any, value: Any, seen: set[int], *, inner: bool = False) -> None:
    """Add a value to a hash: its kind and its content."""
    hashed.update(type(value).__name__.encode() + b":")
    if isinstance(value, _PLAIN):
        hashed.update(repr(value).encode())
    elif isinstance(value, (tuple, frozenset)):
        for each in sorted(value, key=repr) if isinstance(value, frozenset) else value:
            _add(hashed, each, seen)
    elif isinstance(value, np.ndarray) and value.nbytes <= _MOST_BYTES and value.dtype.kind in "biufc":
        hashed.update(f"{value.dtype.str}{value.shape}{value.flags.c_contiguous}".encode() + value.tobytes())
    elif isinstance(value, types.CodeType):
        for part in (value.co_code, value.co_consts, value.co_names, value.co_varnames, value.co_flags):
            _add(hashed, part, seen)
    elif _of_library(value):
        hashed.update(value.__name__.encode())
    elif isinstance(value, (types.FunctionType, CPUDispatcher)):
        _add_function(hashed, value, seen, inner)
    else:
        raise _Unknown


def _of_library(value: Any) -> bool:
    """A module, a ufunc, a type or a function of NumPy, or one that Python has itself."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in _LIBRARIES
    if isinstance(value, (np.ufunc, types.BuiltinFunctionType)):
        return getattr(value, "__module__", None) in (None, "builtins", math.__name__, "numpy", "cmath")
    module = getattr(value, "__module__", None) or ""
    return isinstance(value, (type, types.FunctionType)) and module.partition(".")[0] in {"numpy", "builtins"}


def _ordered(option: Any) -> Any:
    """The flags of a set in one order: Python's own is another in each process."""
    return sorted(map(repr, option)) if isinstance(option, (set, frozenset)) else option


def _add_function(hashed: Any, function: Any, seen: set[int], inner: bool) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, CPUDispatcher):
        options = [(name, _ordered(value)) for name, value in sorted(function.targetoptions.items())]
        hashed.update(repr(options).encode())
        function = function.py_func
    if inner and "<" in function.__qualname__:  # of several such functions, symbols could be the same
        raise _Unknown
    _add(hashed, function.__code__, seen)
    for name, value in referred(function):
        hashed.update(name.encode())
        _add(hashed, value, seen, inner=True)


def named_after(function: Any, known: str | None, base: str) -> Any:
    """A copy of a Python function whose name says what it does, so that its symbols are its own."""
    if known is None or not isinstance(function, types.FunctionType):
        return function
    copied = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__qualname__, copied.__module__ = f"{base}_{known}", function.__module__
    return copied


class _LoopImplementation(CompileResultCacheImpl):  # type: ignore[misc]
    # Beside Numba's other files of this user; the folder of a package is for what was installed.
    _locator_classes = (UserProvidedCacheLocator, UserWideCacheLocator)

    def check_cachable(self, compiled: Any) -> bool:
        return not compiled.library.has_dynamic_globals and all(each.can_cache for each in compiled.lifted)


class _LoopCache(FunctionCache):  # type: ignore[misc]
    """The compiled loops of one function. Whatever is wrong with files, the loop is compiled again."""

    _impl_class = _LoopImplementation

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return signature, codegen.magic_tuple()  # the file's name has the digest

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(signature, target_context)
        except Exception:
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except Exception:
            self.disable()


def kept_on_disk(loop: Callable[..., Any], known: str | None, name: str, **options: Any) -> Any:
    """Compile a loop around a function of this digest, or find it on disk under a name of its module's own."""
    compiled = numba.njit(**options)(named_after(loop, known, name))
    look_on_disk(compiled, compiled.py_func, known)
    return compiled


def look_on_disk(compiled: Any, function: Callable[..., Any], known: str | None) -> None:
    """Have what Numba will make of a function found on disk, and kept there."""
    if known is not None:
        with contextlib.suppress(RuntimeError, OSError):  # there may be no folder that can be written to
            compiled._cache = _LoopCache(function)
