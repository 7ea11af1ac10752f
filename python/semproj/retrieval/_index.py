"""A corpus that is kept ready for searches: prepared rows under ids, narrow copies of them, and one file."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from .._common.layouts import ArrayLayouts, check_arrays, check_numbers, layouts, numbers
from .._common.persistence import Persistent, saveable
from .._common.resources import resolve_threads
from .._common.tensorfile import Arrays
from .._common.types import Array
from .._common.validation import check_choice, check_finite, check_integer
from ._search import METRICS, Float32, Int64, as_rows

STORAGES = ("float32", "float16", "int8")
_NARROW_METRICS = ("cosine", "inner_product")
_MOST_COLUMNS = 65_536  # whose products of bytes an int32 can hold
_CODED_AT_ONCE = 1 << 20  # numbers
Ids: TypeAlias = "Sequence[int] | npt.NDArray[np.integer[Any]]"
Exclude: TypeAlias = "Ids | Sequence[Ids] | None"


class _Rows:
    """All rows at one time. It never changes: who searches it is not disturbed by those who add and remove."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays  # rows as they are compared, lengths, ids; codes, scale and error if they are narrow
        self.ids: Int64 = arrays["ids"]
        self.longest = float(arrays["lengths"].max(initial=0.0))
        rising = bool((self.ids[1:] > self.ids[:-1]).all())
        self._order = None if rising else np.argsort(self.ids, kind="stable")

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, ids: Int64) -> Int64:
        """Row numbers of ids, and -1 for those that are not there."""
        if not len(self):
            return np.full(len(ids), -1, np.int64)
        ordered = self.ids if self._order is None else self.ids[self._order]
        at = np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)
        found = at if self._order is None else self._order[at]
        return np.where(ordered[at] == ids, found, -1)


@saveable
class Index(Persistent):
    """The rows of a corpus, kept ready to find the nearest of them: exact, and fast for one query, too.

    Parameters
    ----------
    rows : array-like of shape (n, d)
        Finite numbers; n may be 0. They are copied, as float32.
    ids : array-like of n integers or None, default None
        Different, and not negative. None numbers the rows from 0.
    metric : {"cosine", "inner_product", "l1", "jensen_shannon"}, default "cosine"
        As in `top_k`.
    storage : {"float32", "float16", "int8"}, default "float32"
        The narrow ones keep a copy of the rows in fewer bits, which a few queries search first. Bounds on what
        the copy lacks tell which rows can be among the nearest; these are scored in float32. So all three find the
        same ids and scores, bit for bit. For "cosine" and "inner_product".
    n_threads : int or None

    Notes
    -----
    A row takes 4 d + 16 bytes, with "float16" 6 d + 24 and with "int8" 5 d + 24. One query reads 4 d, 2 d or d of
    them. Narrow copies serve up to seven queries of 16 columns or more at a time; larger batches are bound by
    arithmetic and read float32.

    Scores and their order are those of `top_k`; among equals, the row that was added earlier comes first.

    Threads may search at the same time, also while others add and remove: a search sees the rows as they were at
    one moment. ``add`` and ``remove`` wait for each other. ``add`` has room for more rows in advance, and so takes
    a time that depends on what is added; ``remove`` copies the rows that stay.

    Examples
    --------
    >>> import numpy as np
    >>> from semproj.retrieval import Index
    >>> index = Index([[1.0, 0.0], [0.0, 1.0]], ids=[10, 20])
    >>> index.add([[1.0, 1.0]], ids=[30])
    >>> ids, scores = index.search([[2.0, 1.0]], k=2)
    >>> ids, scores.round(4)
    (array([[30, 10]]), array([[0.9487, 0.8944]], dtype=float32))
    >>> index.search([[2.0, 1.0]], k=2, exclude=[30])[0]
    array([[10, 20]])
    >>> index.remove([10])
    >>> len(index)
    2
    """

    _arrays = layouts(rows="f4 N d", lengths="f8 N", ids="i8 N")
    _scalars = numbers(next_id=int)

    def __init__(
        self,
        rows: npt.ArrayLike,
        ids: Ids | None = None,
        *,
        metric: str = "cosine",
        storage: str = "float32",
        n_threads: int | None = None,
    ) -> None:
        self._set_up(metric, storage, n_threads)
        columns = as_rows(rows, "rows", metric).shape[1]
        self._check_columns(columns)
        self._state = _Rows(self._empty(columns))
        self.add(rows, ids)

    def _set_up(self, metric: str, storage: str, n_threads: int | None) -> None:
        self.metric, self.storage, self.n_threads = metric, storage, n_threads
        self._check_parameters()
        self._lock = threading.Lock()
        self._next_id = 0
        self._room: Arrays = {}

    def __len__(self) -> int:
        return len(self._state)

    def __repr__(self) -> str:
        return f"<Index: {len(self)} rows of {self.n_columns} columns, {self.metric}, {self.storage}>"

    @property
    def n_columns(self) -> int:
        """The length of a row."""
        return int(self._state.arrays["rows"].shape[1])

    @property
    def ids(self) -> Int64:
        """The ids of all rows, in the order in which they came."""
        return self._state.ids.copy()

    @property
    def nbytes(self) -> int:
        """The memory of all rows."""
        return sum(array.nbytes for array in self._state.arrays.values())

    def search(self, queries: npt.ArrayLike, k: int = 10, *, exclude: Exclude = None) -> tuple[Int64, Float32]:
        """Return the k nearest rows for each query.

        Parameters
        ----------
        queries : array-like of shape (n, d)
        k : int, default 10
            At least 1.
        exclude : list of ids, list of n lists of ids, or None
            Ids that are not to be found, by all queries or by each. Those that are not in the index do not matter.

        Returns
        -------
        ids : int64 array of shape (n, k)
            Nearest first. -1 where no rows are left: there are fewer than k, or others are excluded, or by cosine
            the query or rows are zero.
        scores : float32 array of shape (n, k)
            As of `top_k`; NaN where the id is -1.
        """
        state, threads = self._state, resolve_threads(self.n_threads)
        given = as_rows(queries, "queries", self.metric)
        columns = state.arrays["rows"].shape[1]
        if given.shape[1] != columns:
            raise ValueError(f"queries: expected {columns} columns, as the index has, got {given.shape[1]}")
        k = check_integer(k, "k", low=1)
        starts, skipped = _skipped(exclude, len(given), state)
        found = min(k, len(state))
        if found == 0:
            check_finite(given, "queries")
            return np.full((len(given), k), -1, np.int64), np.full((len(given), k), np.nan, np.float32)
        arrays = state.arrays
        prepared = arrays["rows"], arrays["lengths"], state.longest
        narrow = arrays.get("codes"), arrays.get("scale"), arrays.get("error")
        best = _core.search_rows(given, *prepared, *narrow, starts, skipped, found, self.metric, threads)
        ids, scores = state.ids[best.indices], best.scores
        ids[best.indices < 0] = -1
        if found < k:
            beyond = ((0, 0), (0, k - found))
            ids = np.pad(ids, beyond, constant_values=-1)
            scores = np.pad(scores, beyond, constant_values=np.nan)
        return ids, scores

    def add(self, rows: npt.ArrayLike, ids: Ids | None = None) -> None:
        """Add rows. If it fails, nothing is added.

        Parameters
        ----------
        rows : array-like of shape (n, d)
        ids : array-like of n integers or None, default None
            Different, not negative, and not in the index. None takes the numbers from one above the largest that
            was ever used.
        """
        given = as_rows(rows, "rows", self.metric)
        with self._lock:
            state = self._state
            if given.shape[1] != state.arrays["rows"].shape[1]:
                raise ValueError(f"rows: expected {self.n_columns} columns, got {given.shape[1]}")
            begin, end = len(state), len(state) + len(given)
            named = self._new_ids(ids, len(given))
            if (there := state.places(named) >= 0).any():
                raise ValueError(f"ids: expected ids that are not in the index, got {named[there][0]}")
            room = self._roomy(end)
            mine = {name: array[begin:end] for name, array in room.items()}
            # Beyond what searches can see: nothing happened if this fails.
            threads = resolve_threads(self.n_threads)
            _core.prepare_rows(given, self.metric, mine["rows"], mine["lengths"], threads)
            mine["ids"][:] = named
            if self.storage != "float32":
                _encode(mine["rows"], mine["codes"], mine["scale"], mine["error"])
            self._room = room
            self._state = _Rows({name: array[:end] for name, array in room.items()})
            self._next_id = max(self._next_id, int(named.max(initial=-1)) + 1)

    def remove(self, ids: Ids) -> None:
        """Remove rows. If it fails, none is removed.

        Parameters
        ----------
        ids : array-like of integers
            All of them in the index; one that comes twice is removed once.
        """
        with self._lock:
            state = self._state
            named = _as_ids(ids, "ids")
            places = state.places(named)
            if (missing := places < 0).any():
                raise ValueError(f"ids: expected ids that are in the index, got {named[missing][0]}")
            stays = np.ones(len(state), bool)
            stays[places] = False
            self._room = {name: array[stays] for name, array in state.arrays.items()}
            self._state = _Rows(dict(self._room))

    def _new_ids(self, ids: Ids | None, n: int) -> Int64:
        if ids is None:
            return np.arange(self._next_id, self._next_id + n, dtype=np.int64)
        named = _as_ids(ids, "ids")
        if len(named) != n:
            raise ValueError(f"ids: expected one for each of the {n} rows, got {len(named)}")
        if len(np.unique(named)) != n:
            raise ValueError("ids: expected different ids, got some twice")
        return named

    def _roomy(self, n: int) -> Arrays:
        """Arrays with room for n rows: those that are there, or larger ones that begin with the same rows."""
        if self._room and len(self._room["ids"]) >= n:
            return self._room
        before = self._state.arrays
        # The first rows have what they need; those who add more will do so again.
        capacity = n if not len(self._state) else max(n, len(self._state) * 3 // 2)
        larger = {name: _aligned((capacity, *array.shape[1:]), array.dtype) for name, array in before.items()}
        for name, array in before.items():
            larger[name][: len(array)] = array
        return larger

    def _empty(self, columns: int) -> Arrays:
        shapes = {"rows": (0, columns), "codes": (0, columns)}
        expected = self._layouts({}, {})
        return {name: np.empty(shapes.get(name, (0,)), layout.split()[0]) for name, layout in expected.items()}

    def _check_columns(self, columns: int) -> None:
        if self.storage == "int8" and columns > _MOST_COLUMNS:
            raise ValueError(f"storage: 'int8' takes at most {_MOST_COLUMNS} columns, got {columns}")

    def _check_parameters(self) -> None:
        check_choice(self.metric, "metric", METRICS)
        check_choice(self.storage, "storage", STORAGES)
        if self.storage != "float32" and self.metric not in _NARROW_METRICS:
            raise ValueError(f"storage: {self.storage!r} is for 'cosine' and 'inner_product', not {self.metric!r}")
        resolve_threads(self.n_threads)

    @classmethod
    def _blank(cls, **parameters: Any) -> Index:
        index = cls.__new__(cls)
        index._set_up(**parameters)
        return index

    def _check_saveable(self) -> None:
        pass

    def _get_parameters_to_save(self) -> dict[str, Any]:
        return {"metric": self.metric, "storage": self.storage, "n_threads": self.n_threads}

    def _layouts(self, arrays: Arrays, scalars: dict[str, Any]) -> ArrayLayouts:
        if self.storage == "float32":
            return self._arrays
        codes = {"float16": "f2 N d", "int8": "u1 N d"}[self.storage]
        return layouts(self._arrays, codes=codes, scale="f4 N", error="f4 N")

    def _get_state(self) -> Arrays:
        return dict(self._state.arrays)

    def _get_scalars(self) -> dict[str, Any]:
        return {"next_id": self._next_id}

    def _set_state(self, arrays: Arrays, scalars: dict[str, Any]) -> None:
        check_arrays(self._layouts(arrays, scalars), arrays)
        check_numbers(self._scalars, scalars, {})
        self._check_columns(arrays["rows"].shape[1])
        for name in ("lengths", "scale", "error"):
            if name in arrays and not (np.isfinite(arrays[name]) & (arrays[name] >= 0)).all():
                raise ValueError(f"{name}: expected finite numbers that are not negative")
        ids = _as_ids(arrays["ids"], "ids")
        if len(np.unique(ids)) != len(ids) or scalars["next_id"] <= ids.max(initial=-1):
            raise ValueError("ids: expected different ids below the next one")
        self._state, self._next_id = _Rows(arrays), scalars["next_id"]


def _as_ids(ids: Any, name: str) -> Int64:
    found = np.asarray(ids)
    if found.ndim != 1:
        raise ValueError(f"{name}: expected a list of integers, got {found.ndim} dimension(s)")
    if found.size and found.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got dtype {found.dtype}")
    if found.size and (found.min() < 0 or found.max() > np.iinfo(np.int64).max):
        raise ValueError(f"{name}: expected ids from 0 to 2^63 - 1, got {found.min()} to {found.max()}")
    return found.astype(np.int64)


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that begins with a cache line, so that fewer loads touch two."""
    size, line = math.prod(shape) * dtype.itemsize, 64
    memory = np.empty(size + line, np.uint8)
    first = -memory.ctypes.data % line
    return memory[first : first + size].view(dtype).reshape(shape)


def _skipped(exclude: Any, n_queries: int, state: _Rows) -> tuple[Int64 | None, Int64 | None]:
    """The numbers of excluded rows, ascending, and where those of each query begin; one list for all is one."""
    if isinstance(exclude, (set, frozenset)):
        exclude = list(exclude)
    if exclude is None or not len(exclude):
        return None, None
    if np.ndim(exclude[0]) == 0:
        lists = [_as_ids(exclude, "exclude")]
    elif len(exclude) != n_queries:
        raise ValueError(f"exclude: expected a list for each of the {n_queries} queries, got {len(exclude)}")
    else:
        lists = [_as_ids(each, f"exclude[{i}]") for i, each in enumerate(exclude)]
    found = [np.unique(state.places(each)) for each in lists]
    found = [each[each >= 0] for each in found]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in found], dtype=np.int64)])
    return starts, np.concatenate(found)


def _encode(rows: Float32, codes: Array, scale: Array, error: Array) -> None:
    """Write rows in fewer bits, and how far each is from what was written. In double: no scale is out of range."""
    at_once = max(1, _CODED_AT_ONCE // max(1, rows.shape[1]))
    for first in range(0, len(rows), at_once):
        some = slice(first, first + at_once)
        exact = rows[some].astype(np.float64)
        largest = np.abs(exact).max(axis=1)
        if codes.dtype == np.uint8:
            steps = (largest / 127).astype(np.float32)
            steps[steps == 0] = 1
            written = np.clip(np.rint(exact / steps[:, None]), -127, 127)
            codes[some] = written + 128
        else:
            steps = np.ldexp(np.float32(1), np.frexp(largest)[1]).astype(np.float32)
            codes[some] = exact / steps[:, None]
            written = codes[some].astype(np.float64)
        scale[some] = steps
        missed = np.linalg.norm(exact - written * steps[:, None], axis=1)
        error[some] = np.nextafter(missed.astype(np.float32), np.float32(np.inf))
