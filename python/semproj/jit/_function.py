"""A user's function: what it is called with, and whether it can be."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._loops import _compiled


class Argument(NamedTuple):
    """What a user's function is passed as, how it is called, and values to try it with."""

    name: str
    call: str
    examples: tuple[Any, ...]


def check_function(function: Any, argument: Argument) -> None:
    """Check that a function compiles, and returns a number."""
    if not callable(function):
        raise TypeError(f"{argument.name}: expected a function called as {argument.call}, got {function!r}")
    try:
        compiled(function)(*argument.examples)
    except Exception as error:
        message = f"{argument.name}: Numba cannot compile the function; it is called as {argument.call}"
        raise TypeError(message) from error


def compiled(function: Any) -> Any:
    """The function as Numba's."""
    return _compiled(function)
