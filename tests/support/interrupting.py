"""Fits that are stopped, to be taken up again."""

from __future__ import annotations

from typing import Any

import pytest


class Stop(Exception):
    pass


def interrupted(model: Any, X: Any, after: int, error: BaseException | None = None) -> None:
    """A fit that ends by an exception once this many sweeps are done."""
    error = error or Stop()
    calls = []

    def callback(progress):
        calls.append(progress.sweep)
        if len(calls) == after:
            raise error

    with pytest.raises(type(error)):
        model.set_params(callback=callback).fit(X)
    assert len(calls) == after
    model.set_params(callback=None)
