"""What a model takes for rows, and what it remembers of those it was fitted on.

Of these, two things are known without anybody's help: whether they were counts or weights, by their values, and of
which terms, by a label. A matrix has no names of columns; but the very matrix that a counter has made carries a
fingerprint of its vocabulary, and so do the rows that a weighting makes of it. Slices, copies and sums do not. So
rows with a label are known to be of the same terms or of others, and of all else nothing is said.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

_LABEL = "_semproj_terms"
_LOOKED_AT = 1 << 16  # values of new rows: of weights, a few show that they are no counts
_INSTEAD = {
    "ContextSpace": "write its .vectors",
    "Encoder": "write encoder.encode(texts)",
    "ExtendedWordSpace": "write its .vectors",
    "MultiTermCounter": "write counter.transform(texts)",
    "SparseTensor": "Tucker takes it",
    "TermCounter": "write counter.transform(texts)",
    "Thesaurus": 'write thesaurus["synonym"] for a relation; PILSA, MRLSA and BPTF take a thesaurus as a whole',
    "WordNet": 'write read_wordnet(path)["synonym"] for a relation',
}

REMEMBERED: Mapping[str, None] = {"_fitted_on": None, "_fitted_terms": None}  # for `_scalars`


class RowsWarning(UserWarning):
    """Rows are most likely not what the model wants: counts where it takes weights, or the other way round.

    Where they are meant, ``warnings.filterwarnings("ignore", category=semproj.RowsWarning)`` silences it. Counts
    that are to be taken for weights can be given as floats, of which nothing is said.
    """


def warn_of_rows(message: str) -> None:
    """Give a `RowsWarning` that points to the line that called this library, perhaps by scikit-learn."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("semproj", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RowsWarning, stacklevel=level)


def labelled(rows: Any, terms: str | None) -> Any:
    """The same matrix, with the fingerprint of the terms of its columns."""
    if terms is not None:
        setattr(rows, _LABEL, terms)
    return rows


def terms_of(given: Any) -> str | None:
    """The fingerprint of the terms that the columns of a matrix are, if it is known."""
    return getattr(given, _LABEL, None) if sp.issparse(given) else None


def kind_of_values(given: Sequence[Any], rows: Sequence[Any]) -> str | None:
    """What a model is fitted on: "weights" if any value is no integer, "counts" if users gave integers, else None.

    Parameters
    ----------
    given : matrices as they came
    rows : the same as valid CSR matrices
    """
    if any(_has_fractions(x.data) for x in rows):
        return "weights"
    return "counts" if all(_integers(x) for x in given) else None


class RemembersRows:
    """An estimator that remembers what rows it was fitted on, and notices others. Saves it, by `REMEMBERED`."""

    _fitted_on: str | None = None  # `kind_of_values`
    _fitted_terms: Any = None  # a fingerprint, or one for each view; None if it is not known

    def _remember(self, given: Sequence[Any], rows: Sequence[Any], *, shared_columns: bool = True) -> None:
        self._fitted_on = kind_of_values(given, rows)
        terms = [terms_of(each) for each in given]
        self._fitted_terms = terms[0] if shared_columns else terms

    def _check_rows(self, given: Any, rows: Any, view: int = 0, name: str = "X") -> None:
        """Refuse rows of other terms, and warn of counts instead of weights or the other way round."""
        known = self._fitted_terms[view] if isinstance(self._fitted_terms, list) else self._fitted_terms
        check_same_terms(known, terms_of(given), f"{name}: its columns", f"the {type(self).__name__}")
        if self._fitted_on == "weights" and _integers(given) and rows.nnz:
            warn_of_rows(f"{name}: expected weighted rows, as in fit, got counts; weight them as those were")
        elif self._fitted_on == "counts" and look_weighted([rows]):
            warn_of_rows(f"{name}: expected counts, as in fit, got weighted rows")


def check_same_terms(fitted: str | None, given: str | None, what: str, model: str) -> None:
    """Refuse columns that are known to be other terms than those of the fit, though they may be as many."""
    if fitted is not None and given is not None and fitted != given:
        raise ValueError(
            f"{what} are other terms than those that {model} was fitted on; expected rows of one counter"
        )


def look_weighted(rows: Sequence[Any]) -> bool:
    """Whether values of matrices are no integers, by some of them."""
    return any(_has_fractions(x.data[:_LOOKED_AT]) for x in rows)


def check_weighted(given: Sequence[Any], name: str) -> None:
    """Warn of counts where weighted rows are expected. Ones and zeros may be meant as they are."""
    if all(_integers(x) for x in given) and any(np.max(_values(x), initial=0) > 1 for x in given):
        weights = "weighting = LogTfIdf().fit(scipy.sparse.vstack(X)); X = [weighting.transform(x) for x in X]"
        warn_of_rows(
            f"X: {name} expects weighted rows, got counts; write {weights}, or give floats if they are meant"
        )


def refuse_what_has_no_rows(x: Any, name: str = "X") -> None:
    """Say what to write for texts, dicts and things of this library, which are no matrices of numbers."""
    if sp.issparse(x):  # some are dicts, too
        return
    expected = f"{name}: expected a matrix of numbers, got"
    if is_ours(x):
        instead = _INSTEAD.get(type(x).__name__, "write what its transform returns")
        raise TypeError(f"{expected} a {type(x).__name__}; {instead}")
    if isinstance(x, Mapping):
        raise TypeError(f"{expected} a {type(x).__name__}; write list(x.values()), or a row for each of them")
    if _is_text(x):
        raise TypeError(f"{expected} text; write TermCounter().fit_transform(texts)")


def is_ours(x: Any) -> bool:
    """Whether it is an object, or a class, of this library."""
    kind = x if isinstance(x, type) else type(x)
    return any(base.__module__.partition(".")[0] == "semproj" for base in kind.__mro__)


def is_frame(x: Any) -> bool:
    """Whether it is a table of pandas, polars or their like, over which Python iterates by columns."""
    return hasattr(x, "columns") and len(getattr(x, "shape", ())) == 2


def _is_text(x: Any) -> bool:
    """Whether it is a text, or its first element, or that of its first column, is one."""
    if isinstance(x, (str, bytes)):
        return True
    if is_frame(x):
        return any(_is_text(x[column]) for column in x.columns)
    if isinstance(x, np.ndarray):
        return x.size > 0 and isinstance(x.flat[0], (str, bytes))
    if isinstance(x, (list, tuple)):
        first = x[0] if x else None
        return isinstance(first, (str, bytes)) or (isinstance(first, (list, tuple)) and _is_text(first))
    if hasattr(x, "dtype") and len(getattr(x, "shape", ())) == 1:  # a series
        return len(x) > 0 and isinstance(next(iter(x)), (str, bytes))
    return False


def _integers(given: Any) -> bool:
    return getattr(getattr(given, "dtype", None), "kind", "") in ("i", "u")


def _values(given: Any) -> Any:
    return given.data if sp.issparse(given) and hasattr(given, "data") else np.asarray(given)


def _has_fractions(values: Any) -> bool:
    return values.dtype.kind == "f" and not np.isnan(values[values != np.rint(values)]).all()
