"""The state of a long fit in a file, from which the same fit goes on."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .layouts import check_arrays
from .persistence import checksum, read_file, write_file
from .tensorfile import SavedModelError
from .types import Array
from .validation import check_finite, seed_key

FORMAT = 2  # of what the loop keeps: a file of another format belongs to another fit


def seed_identity(random_state: Any) -> int | None:
    """The seed of a fit as its checkpoint names it: the key of the random numbers that the fit will draw.

    Ask for it before the fit draws; it draws nothing itself. None stands for a fit without a seed: another one
    goes on from its file, with the key that is there if random numbers are still needed.
    """
    return None if random_state is None else seed_key(copy.deepcopy(random_state))


def rows_identity(X: Any) -> list[int]:
    """Tells other sparse rows apart, whatever the width of their indices."""
    offsets, columns = (checksum(np.asarray(a, np.int64)) for a in (X.indptr, X.indices))
    return [*X.shape, offsets, columns, checksum(X.data)]


def check_state(arrays: dict[str, Array], expected: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Check the arrays of a checkpoint against their dtypes and shapes; those of floats are finite."""
    check_arrays(
        {name: " ".join([np.dtype(dtype).str[1:], *map(str, shape)]) for name, (dtype, shape) in expected.items()},
        arrays,
    )
    for name, array in arrays.items():
        check_finite(array, name)


class Checkpoint:
    """A file that holds the newest state of one fit.

    Parameters
    ----------
    path : path-like or None
        None keeps nothing.
    identity : callable
        Returns what must be the same for a fit to go on from the file: the class, its parameters, the data.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        The folder does not exist, or the file is one: before the first sweep, not after it.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: Callable[[], dict[str, Any]]) -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None:
            if not self._path.parent.is_dir():
                raise FileNotFoundError(f"checkpoint: {self._path}: its folder does not exist")
            if self._path.is_dir():
                raise IsADirectoryError(f"checkpoint: {self._path}: is a folder, expected a file")
            self._identity = {"format": FORMAT, **identity()}

    def load(self) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """The arrays and numbers last saved, or None when there is no file yet."""
        if self._path is None:
            return None
        try:
            arrays, description = read_file(self._path)
        except FileNotFoundError:
            return None
        except SavedModelError as error:
            raise ValueError(f"checkpoint: {error}") from None
        if "checkpoint" not in description:
            raise ValueError(f"checkpoint: {self._path} is a saved model, not the state of a fit")
        there = description["checkpoint"]
        if not isinstance(there, dict) or not isinstance(description.get("state"), dict):
            raise ValueError(f"checkpoint: {self._path} does not say which fit it belongs to")
        other = sorted(k for k in {*there, *self._identity} if there.get(k) != self._identity.get(k))
        if other:
            raise ValueError(
                f"checkpoint: {self._path} belongs to another fit (it differs in {', '.join(other)}); "
                "remove it or name another file"
            )
        return {name: np.array(array) for name, array in arrays.items()}, description["state"]

    @contextmanager
    def taken_up(self) -> Iterator[None]:
        """Blame the file for whatever goes wrong while a fit takes up what is in it, but not for little memory."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            what = f"checkpoint: {self._path} does not hold a state of this fit ({error!s:.300})"
            raise ValueError(what) from error

    def save(self, arrays: dict[str, Array], state: dict[str, Any]) -> None:
        """Replace the file in one step."""
        if self._path is not None:
            whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            write_file(self._path, whole, {"checkpoint": self._identity, "state": state})
