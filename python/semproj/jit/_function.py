"""A user's function: what it is passed as, compiled, and checked before the work begins."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from .._common.functions import UnusableFunction
from .._common.types import Array
from ._cache import digest, kept_on_disk, named_after

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_OF_NO_USE = ("Failed in", "File ", "During: ", "<source", "This error", "There are", "Overload", "For more")


class Argument(NamedTuple):
    """What a user's function is passed as, how it is called, and values that it could be called with."""

    name: str
    call: str
    examples: tuple[Any, ...] = ()


_RESULT = numba.types.Array(numba.types.float64, 1, "C")


class Compiled(NamedTuple):
    """A function for use inside loops, and what it is known by in the next process, if that can be told."""

    function: Any
    digest: str | None


@functools.lru_cache(maxsize=64)
def compiled(function: Any) -> Compiled:
    """The function as Numba's, which it may be already, and without threads of its own."""
    known = digest(function)
    if not isinstance(function, CPUDispatcher):
        return Compiled(numba.njit(named_after(function, known, "function")), known)
    options = {k: v for k, v in function.targetoptions.items() if k not in ("parallel", "nopython")}
    if known is None and not function.targetoptions.get("parallel"):
        return Compiled(function, known)
    return Compiled(numba.njit(**options)(named_after(function.py_func, known, "function")), known)


Loop = Callable[..., Any]


def loop_around(make: Callable[[Any], Loop]) -> Any:
    """A maker of loops: given a function, compile what `make` returns once, or find it on disk.

    The loop may refer to the function and to compiled functions at the top of modules, but not to anything else
    that differs between functions.
    """

    @functools.lru_cache(maxsize=64)
    def made(function: Any) -> Any:
        user = compiled(function)
        return kept_on_disk(make(user.function), user.digest, make.__qualname__, nogil=True)

    return made


@loop_around
def _probe(function: Any) -> Loop:
    def probe(examples: Any, out: Any) -> None:  # pragma: no cover - compiled
        out[0] = function(*examples)

    return probe


def check_function(function: Any, argument: Argument, probe: Any = _probe) -> None:
    """Check that a function can be compiled for its argument's examples and returns one number, without a call."""
    if not callable(function):
        raise TypeError(f"{argument.name}: expected a function, got {function!r}")
    compile_loop(probe, function, argument, (numba.typeof(argument.examples), _RESULT))


def compile_loop(make_loop: Any, function: Any, argument: Argument, types: tuple[Any, ...]) -> Any:
    """The loop around a function, compiled for arguments of these types, or a TypeError in plain words."""
    try:
        plain = getattr(function, "py_func", function)
        if argument.examples and inspect.isfunction(plain):
            inspect.signature(plain).bind(*argument.examples)
        loop = make_loop(function)
        if types not in loop.overloads:  # to compile again what is there is slow
            loop.compile(types)
    except Exception as error:
        message = f"{argument.name}: Numba cannot compile the function; it is called as {argument.call}"
        said = _two_lines(error)
        raise UnusableFunction(f"{message}\n{said}" if said else message) from error
    return loop


def _two_lines(error: Exception) -> str:
    """The lines of Numba's message that say what is wrong."""
    lines = (_COLOURS.sub("", line).strip(" \t-^~") for line in str(error).splitlines())
    useful = [line for line in lines if line and not line.startswith(_OF_NO_USE)]
    return "\n".join(line if len(line) <= 150 else f"{line[:147]}..." for line in useful[:2])


def known_to_numba(values: Array) -> Array:
    """Values of a type that loops are compiled for."""
    known = values.dtype.isnative and (values.dtype.kind in "biu" or values.dtype in (np.float32, np.float64))
    return values if known else values.astype(np.float64)
