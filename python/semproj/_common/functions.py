"""Functions that users hand to models: what a saved model remembers of them, and how it gets them back."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

Function = Callable[..., Any]
Described = dict[str, Any]  # what is saved of a function: its name and its fingerprint


class UnusableFunction(TypeError):
    """A user's function that Numba cannot compile, or that is called with other arguments than it takes."""


_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def plain_function(function: Any) -> Any:
    """The Python function inside what Numba has compiled, or the function itself."""
    return getattr(function, "py_func", function)


def describe_function(function: Any) -> Described:
    """What is saved of a function. Its code is not: nothing is ever run from a file."""
    plain = plain_function(function)
    return {"name": getattr(plain, "__name__", type(plain).__name__), "source": fingerprint(function)}


def fingerprint(function: Any) -> str | None:
    """By the source of a function and the plain values that it refers to; None where there is no source.

    Formatting, comments and docstrings do not count, where Python can read the source by itself.
    """
    hashed = blake2b(digest_size=8)
    try:
        for part in _parts(plain_function(function), set()):
            hashed.update(part.encode() + b"\0")
    except (OSError, TypeError):
        return None
    return hashed.hexdigest()


def _parts(function: Any, seen: set[int]) -> Iterator[str]:
    """The source of a function, its values, and the same of other functions that it calls."""
    if id(function) in seen or not isinstance(function, types.FunctionType):
        return
    seen.add(id(function))
    yield _source(function)
    for name, value in referred(function):
        if isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(isinstance(v, _PLAIN) for v in value)):
            yield f"{name}={value!r}"
        else:
            yield from _parts(plain_function(value), seen)


def _source(function: types.FunctionType) -> str:
    text = textwrap.dedent(inspect.getsource(function))
    try:
        (tree,) = ast.parse(text).body
    except (SyntaxError, ValueError):  # a lambda in the middle of something
        return " ".join(text.split())
    if isinstance(tree, ast.FunctionDef):
        tree.decorator_list, tree.returns = [], None
        if len(tree.body) > 1 and ast.get_docstring(tree) is not None:
            del tree.body[0]
    return ast.dump(tree)


def referred(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The values outside of a function that it refers to, with their names: defaults, closures and globals."""
    yield from ((f"default {i}", value) for i, value in enumerate(function.__defaults__ or ()))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing has been put there yet
            yield name, None
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: types.CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return set(code.co_names).union(*map(_global_names, inner))


def functions_of(description: Mapping[str, Any], prefix: str = "") -> dict[str, Described]:
    """The functions that a saved model and its parts were made with, by part and parameter."""
    own = {f"{prefix}{name}": described for name, described in description.get("functions", {}).items()}
    for part, inner in description.get("parts", {}).items():
        own |= functions_of(inner, f"{prefix}{part}/")
    return own


def matched_functions(
    asked: Mapping[str, Described], given: Mapping[str, Function] | None, *, verify: bool
) -> dict[str, Function]:
    """The function for each that a saved model asks for, or an error that says what is missing or wrong.

    One is given by the name of its parameter, or with the part it belongs to before it, as "weighting/weight".
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise TypeError(f"functions: expected a dictionary of functions, got {type(given).__name__}")
    found = {}
    for path, described in asked.items():
        name = path.rpartition("/")[2]
        key = path if path in given else name
        if key not in given:
            raise ValueError(
                f"functions: the model was made with a function as its {path}, {described['name']!r}; code is not "
                f"saved, so expected functions={{{name!r}: {described['name']}}}"
            )
        found[path] = function = given[key]
        if not callable(function):
            raise TypeError(f"functions: expected a function as {key!r}, got {function!r}")
        now = fingerprint(function)
        if verify and described["source"] is not None and now is not None and now != described["source"]:
            raise ValueError(
                f"functions: {key!r} is not the function that the model was made with, {described['name']!r}: its "
                "source differs; verify=False takes it all the same"
            )
    names = {*asked, *(path.rpartition("/")[2] for path in asked)}
    if unknown := [name for name in given if name not in names]:
        known = ", ".join(map(repr, asked)) or "none"
        raise ValueError(f"functions: the model has none named {unknown[0]!r}; it has {known}")
    return found
