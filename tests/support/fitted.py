"""What two fits have in common, attribute by attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from semproj import TermCounter
from semproj.lm import Vocabulary
from tests.support import same_bits


def fitted(model: Any) -> dict[str, Any]:
    """Fitted attributes, public ones and those that are saved."""
    saved = {*getattr(model, "_arrays", ()), *getattr(model, "_scalars", ())}
    return {k: v for k, v in vars(model).items() if (k.endswith("_") and not k.startswith("_")) or k in saved}


def assert_same_fit(a: Any, b: Any) -> None:
    """The same fitted attributes, bit for bit."""
    assert type(a) is type(b)
    assert fitted(a).keys() == fitted(b).keys()
    for name, value in fitted(a).items():
        assert same_values(value, fitted(b)[name]), name


def same_values(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and ((a.dtype == object and a.tolist() == b.tolist()) or same_bits(a, b))
    if sp.issparse(a):
        a, b = a.tocsr(), b.tocsr()
        return same_values([a.indptr, a.indices, a.data], [b.indptr, b.indices, b.data])
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same_values(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_values(value, b[name]) for name, value in a.items())
    if isinstance(a, TermCounter):  # it may have another number of threads
        return a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    if isinstance(a, Vocabulary):  # it may have a list of its words already
        return bool(a == b)
    if hasattr(a, "__dict__"):
        return type(a) is type(b) and same_values(vars(a), vars(b))
    return bool(a == b)
