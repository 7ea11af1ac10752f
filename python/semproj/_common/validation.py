"""Checks arguments once, with messages for users. The bindings check again, for memory safety only."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from .. import _core
from .rows import is_frame, is_ours, refuse_what_has_no_rows, terms_of
from .types import Array

_DATA_DTYPES = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32))
_INDEX_DTYPES = (np.dtype(np.int32), np.dtype(np.int64))
_HALF = np.dtype(np.float16)

Method = TypeVar("Method", bound=Callable[..., Any])


def keeps_previous_fit(method: Method) -> Method:
    """Leave the estimator as it was if its fitting method fails or is interrupted."""

    @functools.wraps(method)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(Method, fit)


def check_integer(value: Any, name: str, *, low: int, high: int | None = None) -> int:
    """An integer in [low, high]."""
    # A plain int first: to ask an abstract class takes as long as the rest of a small call.
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise TypeError(f"{name}: expected an integer, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name}: expected {_interval(low, high)}, got {value}")
    return number


def check_real(value: Any, name: str, *, low: float = -np.inf, high: float = np.inf) -> float:
    """A finite number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}: expected a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        what = f"expected a finite number, {_interval(low, high)}"
        raise ValueError(f"{name}: {what}, got one that float64 has no room for") from None
    if not np.isfinite(number) or number < low or number > high:
        raise ValueError(f"{name}: expected a finite number, {_interval(low, high)}, got {value}")
    return number


def check_positive(value: Any, name: str) -> float:
    """A finite number above zero."""
    if isinstance(value, Real) and not isinstance(value, bool) and (value <= 0 or not value < np.inf):
        raise ValueError(f"{name}: expected a finite number above 0, got {value}")
    return check_real(value, name)


def check_coupling(value: Any) -> float:
    """A weight that may be infinite."""
    if isinstance(value, Real) and not isinstance(value, bool) and value == np.inf:
        return np.inf
    return check_real(value, "coupling", low=0)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few strings."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_finite(values: Array, name: str) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: contains NaN or infinity")


def _interval(low: float, high: float | None) -> str:
    if high is None or high == np.inf:
        return f"at least {low}"
    return f"between {low} and {high}"


def seed_key(random_state: Any) -> int:
    """The 64-bit key of random numbers: an integer is its own key, None draws a new one.

    A ``numpy.random.RandomState`` or ``Generator`` gives one draw, and moves on.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        key = int(random_state)
        if not 0 <= key < 2**64:
            raise ValueError(f"random_state: expected an integer in [0, 2**64), got {random_state}")
        return key
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    raise TypeError(f"random_state: expected None, an integer or a NumPy generator, got {random_state!r}")


def as_documents(documents: Any, name: str = "documents") -> Iterable[Any]:
    """An iterable of documents. A frame with one column, or an array with one, is that column."""
    if is_ours(documents) or sp.issparse(documents):
        what = f"expected an iterable of raw text documents, got a {type(documents).__name__}"
        raise TypeError(f"{name}: {what}; write a list of texts")
    if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
        what = f"iterable over raw text documents expected, got {type(documents).__name__}"
        raise TypeError(f"{name}: {what}; write [text] for one text")
    if isinstance(documents, (Mapping, set, frozenset)):
        write = "its .values()" if isinstance(documents, Mapping) else "a list, which has an order"
        what = f"expected an iterable of documents, got {type(documents).__name__}"
        raise TypeError(f"{name}: {what}; write {write}")
    table: Any = documents
    frame = is_frame(table)
    if not frame and not (isinstance(table, np.ndarray) and table.ndim == 2):
        return documents
    if table.shape[1] != 1:
        write = "frame[name]" if frame else "array[:, number]"
        raise ValueError(f"{name}: expected one column of documents, got {table.shape[1]}; write {write} for one")
    column: Iterable[Any] = table[table.columns[0]] if frame else table[:, 0]
    return column


def as_csr(x: Any, name: str = "X", *, ranges: bool = True) -> Any:
    """A scipy CSR matrix, checked; it shares the caller's memory if that is one already. See `check_sparse`."""
    if sp.issparse(x):
        if len(x.shape) != 2:
            raise ValueError(f"{name}: expected a matrix, got {len(x.shape)} dimensions")
        x = check_sparse(x, name, ranges=ranges)
        if x.dtype.kind not in "biuf":
            raise TypeError(f"{name}: expected numbers, got dtype {x.dtype}")
        return x.tocsr()
    refuse_what_has_no_rows(x, name)
    array = native(np.asarray(x))
    if array.ndim != 2:
        raise ValueError(f"{name}: expected a matrix (2 dimensions), got {array.ndim}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected numbers, got dtype {array.dtype}")
    if array.dtype == np.float16 or array.dtype.itemsize > 8:  # scipy has no sparse matrices of these
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    return sp.csr_matrix(array)


def native(x: Any) -> Any:
    """An array in the byte order and at the addresses that kernels read. Copies only if it must."""
    if not isinstance(x, np.ndarray) or (x.flags.aligned and x.dtype.isnative):
        return x
    return x.astype(x.dtype.newbyteorder("="))


def check_sparse(x: Any, name: str = "X", *, ranges: bool = True) -> Any:
    """The one gate of sparse matrices, before any loop of scipy's or ours: they trust offsets and indices.

    Returns the same matrix, in its format or as coordinates, safe to read and without the memory that lies behind
    its last entry. It shares what can be shared; the caller's matrix is never changed. Without `ranges` the kernel
    that reads the indices of a CSR matrix next must check them. What is not sparse passes.
    """
    if not sp.issparse(x):
        return x
    if x.format in ("csr", "csc", "bsr"):
        return _compressed(x, name, ranges or x.format != "csr")
    if x.format == "coo":
        return _coordinates(x, name)
    _check_other_format(x, name)
    try:
        # All that it holds is of the right size, so that scipy finds what else is wrong with it, or we do.
        converted = x.tocoo()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: broken {x.format} matrix ({error})") from None
    return _coordinates(converted, name)


def _compressed(x: Any, name: str, ranges: bool) -> Any:
    """`check_sparse` of rows, columns or rows of blocks."""
    layout, given = x.format, (x.data, x.indices, x.indptr)
    data = _values(given[0], 3 if layout == "bsr" else 1, name)
    indices, indptr = _integers(given[1], name, "indices"), _integers(given[2], name, "indptr")
    shape: tuple[int, ...] = x.shape if len(x.shape) == 2 else (1, *x.shape)
    if layout == "bsr":
        if not all(data.shape[1:]) or shape[0] % data.shape[1] or shape[1] % data.shape[2]:
            raise ValueError(f"{name}: blocks of shape {data.shape[1:]} do not divide {shape}")
        shape = shape[0] // data.shape[1], shape[1] // data.shape[2]
    major, minor = shape if layout != "csc" else shape[::-1]
    if len(indptr) != major + 1 or not _core.rise_from_zero(indptr):
        raise ValueError(f"{name}: indptr must start at 0 and not decrease, with {major + 1} elements")
    n = int(indptr[-1])
    if n > min(len(indices), len(data)):
        raise ValueError(f"{name}: indptr points outside of indices and data")
    if not n == len(indices) == len(data):
        data, indices = data[:n], indices[:n]
    if ranges:
        check_range(indices, minor, name)
    if indices.dtype != indptr.dtype:
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if data is given[0] and indices is given[1] and indptr is given[2]:
        return x
    # Exchanged in an empty matrix: the constructor would copy wide indices that fit narrow ones.
    safe = getattr(sp, f"{layout}_{'array' if isinstance(x, sp.sparray) else 'matrix'}")(x.shape)
    safe.data, safe.indices, safe.indptr = data, indices, indptr
    return safe


def _coordinates(x: Any, name: str) -> Any:
    """`check_sparse` of coordinates, of any number of dimensions."""
    data = _values(x.data, 1, name)
    given = (x.row, x.col) if len(x.shape) == 2 else x.coords
    coords = tuple(_integers(each, name, "coords") for each in given)
    for each, size in zip(coords, x.shape, strict=True):
        if len(each) != len(data):
            raise ValueError(f"{name}: expected a coordinate for each of {len(data)} values, got {len(each)}")
        check_range(each, size, name)
    if data is x.data and all(each is array for each, array in zip(coords, given, strict=True)):
        return x
    return (sp.coo_array if isinstance(x, sp.sparray) else sp.coo_matrix)((data, coords), shape=x.shape)


def _check_other_format(x: Any, name: str) -> None:
    """Check that lists and diagonals are as many as scipy's loops take for granted."""
    if x.format == "lil":
        whole = x.rows.shape == x.data.shape == x.shape[:1]
        pairs = zip(x.rows, x.data, strict=True) if whole else [(None, None)]
        if not all(type(a) is type(b) is list and len(a) == len(b) for a, b in pairs):
            raise ValueError(f"{name}: expected a list of columns for each row, and as many values")
    elif x.format == "dia":
        offsets, data = _integers(x.offsets, name, "offsets"), _values(x.data, 2, name)
        if len(offsets) != len(data):
            raise ValueError(f"{name}: expected an offset for each of {len(data)} diagonals, got {len(offsets)}")
        if len(offsets) and (offsets.min() < -x.shape[0] or offsets.max() > x.shape[1]):
            raise ValueError(f"{name}: diagonals lie outside of a matrix of shape {x.shape}")


def _values(values: Any, ndim: int, name: str) -> Array:
    if not isinstance(values, np.ndarray) or values.ndim != ndim:
        raise ValueError(f"{name}.data: expected a NumPy array of {ndim} dimensions, got {_described(values)}")
    found = _contiguous(values)
    return found.astype(np.float32) if found.dtype == _HALF else found  # scipy has no loops for these


def _integers(numbers: Any, name: str, part: str) -> Array:
    if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(f"{name}.{part}: expected a vector of integers, got {_described(numbers)}")
    found = _contiguous(numbers)
    return found if found.dtype in _INDEX_DTYPES else found.astype(np.int64)


def _contiguous(array: Array) -> Array:
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    return np.ascontiguousarray(native(array))


def _described(x: Any) -> str:
    return f"shape {x.shape} of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__


def check_range(indices: Array, size: int, name: str) -> None:
    """Check that indices are from 0 to size - 1."""
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        bad = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise ValueError(f"{name}: index {bad} is out of range for a dimension of {size}")


def without_duplicates(x: Any) -> Any:
    """Add up the entries of each cell: the weight of a sum is not the sum of weights. Copies only if it must."""
    if x.has_canonical_format:
        return x
    x = x.copy()
    x.sum_duplicates()
    return x


def without_zeros(x: Any) -> Any:
    """Drop explicit zeros. Copies only if there are any."""
    if x.nnz and not x.data.all():
        x = x.copy()
        x.eliminate_zeros()
    return x


def aligned_views(X: Any, *, shared_columns: bool = True, aligned_rows: bool = True) -> list[Any]:
    """CSR matrices with aligned rows, one per language, which share a vocabulary or have their own."""
    if sp.issparse(X) or isinstance(X, np.ndarray) or is_frame(X):
        what = f"expected a list of matrices, one per language, got one {type(X).__name__}"
        raise TypeError(f"X: {what}; write [first, second]")
    refuse_what_has_no_rows(X)
    if not isinstance(X, Sequence):
        raise TypeError(f"X: expected a list of matrices, one per language, got {type(X).__name__}")
    if not X:
        raise ValueError("X: expected at least one matrix")
    views = [as_csr(x, f"X[{i}]") for i, x in enumerate(X)]
    for i, view in enumerate(views):
        differ = [aligned_rows and view.shape[0] != views[0].shape[0]]
        differ.append(shared_columns and view.shape[1] != views[0].shape[1])
        if any(differ):
            what = " and ".join(["rows"] * aligned_rows + ["columns"] * shared_columns)
            raise ValueError(f"X[{i}]: has shape {view.shape}, X[0] has {views[0].shape}; {what} must align")
        terms = terms_of(X[0]), terms_of(X[i])
        if shared_columns and None not in terms and terms[0] != terms[1]:
            what = "its columns are other terms than those of X[0]"
            raise ValueError(f"X[{i}]: {what}; count all languages by one MultiTermCounter, which shares columns")
    return views


def weighted_views(X: Any, *, shared_columns: bool = True, aligned_rows: bool = True) -> list[Any]:
    """Two or more aligned views that are finite, not empty, sorted and of one floating dtype."""
    views = aligned_views(X, shared_columns=shared_columns, aligned_rows=aligned_rows)
    if len(views) < 2:
        raise ValueError("X: expected at least two matrices, one per language, got 1")
    dtype = np.float32 if all(view.dtype == np.float32 for view in views) else np.float64
    result = []
    for i, view in enumerate(views):
        if min(view.shape) == 0:
            raise ValueError(f"X[{i}]: is empty, of shape {view.shape}")
        check_finite(view.data, f"X[{i}]")
        view = without_duplicates(view.astype(dtype, copy=False))
        if view.nnz == 0:
            raise ValueError(f"X[{i}]: has no non-zero entries")
        if float(np.abs(view.data).max()) > np.sqrt(float(np.finfo(dtype).max) / view.nnz):
            raise ValueError(f"X[{i}]: values too large for {np.dtype(dtype)}; scale X down or use float64")
        result.append(view if view.has_sorted_indices else view.sorted_indices())
    return result


_LEAST_COUNT = 1e-30  # its share of one among 1e7 topics is still a normal number of float32


def as_counts(x: Any, name: str = "X") -> Any:
    """Token weights as CSR: float32, at least 1e-30, int32 indices, no zeros stored. Copies only if it must."""
    data = x.data
    if len(data) and not (data.min() >= 0 and data.max() < np.inf):
        check_finite(data, name)
        raise ValueError(f"{name}: Negative values in data passed to a topic model; expected counts, at least 0")
    if len(data) and not float(data.max()) * len(data) < float(np.finfo(np.float32).max):
        raise ValueError(f"{name}: contains values that are too large for float32; scale it down")
    if len(data) and data.min() < _LEAST_COUNT and len(tiny := data[(data > 0) & (data < _LEAST_COUNT)]):
        what = f"expected 0 or at least {_LEAST_COUNT:g}, got {tiny.min():g}"
        raise ValueError(f"{name}: contains values that are too small for float32, {what}; scale it up")
    if x.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name}: expected fewer than 2**31 columns, got {x.shape[1]}")
    if data.dtype != np.float32:
        x = x.astype(np.float32)
    if x.nnz and not x.data.all():
        x = x.copy()
        x.eliminate_zeros()
    if x.indices.dtype != np.int32:
        indices, x = x.indices.astype(np.int32), x.copy()
        x.indices = indices
    return x if x.has_sorted_indices else x.sorted_indices()


def csr_kind(x: Any) -> Any:
    """Of scipy's two classes of CSR the one whose kind `x` is: arrays give arrays, all else gives matrices."""
    return sp.csr_array if isinstance(x, sp.sparray) else sp.csr_matrix


def scipy_csr(rows: _core.Csr, kind: Any = sp.csr_matrix) -> Any:
    """What a kernel returned as a matrix with sorted indices, without a copy."""
    shape = (len(rows.indptr) - 1, rows.n_cols)
    matrix = kind((rows.data, rows.indices, rows.indptr), shape=shape, copy=False)
    matrix.has_canonical_format = True
    return matrix


def core_csr(x: Any, name: str = "X") -> _core.Csr:
    """What `as_csr` returned, for the kernels. Copies only arrays whose dtype they do not know, and the offsets.

    Kernels trust offsets once they have checked them: those are ours, whatever other threads do to the caller's.
    """
    data = x.data
    if data.dtype not in _DATA_DTYPES:
        data = data.astype(_kernel_dtype(data, name))
    return _core.Csr(np.array(x.indptr, np.int64), x.indices, data, x.shape[1])


def _kernel_dtype(data: Array, name: str) -> Any:
    kind = data.dtype.kind
    if kind in "biu":
        limits = np.iinfo(np.int32)
        fits = data.size == 0 or (data.min() >= limits.min and data.max() <= limits.max)
        return np.int32 if fits else np.float64
    if kind == "f":
        return np.float32 if data.dtype.itemsize <= 4 else np.float64
    raise TypeError(f"{name}: expected numbers, got dtype {data.dtype}")


def check_out(out: Any, shape: tuple[int, int], dtype: Any) -> Array:
    """The caller's output buffer, checked, or new memory."""
    if out is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out: expected a NumPy array, got {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"out: expected shape {shape}, got {out.shape}")
    if out.dtype != dtype:
        raise TypeError(f"out: expected dtype {np.dtype(dtype)}, got {out.dtype}")
    if not out.flags.writeable:
        raise ValueError("out: is read-only")
    if not out.flags.aligned:
        raise ValueError("out: is misaligned; expected an address that is a multiple of the item size")
    if out.size and out.shape[1] > 1 and out.strides[1] != out.itemsize:
        raise ValueError("out: expected rows that are contiguous in memory")
    return out
