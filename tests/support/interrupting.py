"""Fits that are stopped, to be taken up again."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest


class Stop(Exception):
    pass


def interrupted(model: Any, X: Any, after: int, error: BaseException | None = None) -> None:
    """A fit that ends by an exception once this many sweeps are done; a tuple has all arguments of fit."""
    error = error or Stop()
    calls = []

    def callback(progress):
        calls.append(progress.sweep)
        if len(calls) == after:
            raise error

    with pytest.raises(type(error)):
        model.set_params(callback=callback).fit(*(X if isinstance(X, tuple) else (X,)))
    assert len(calls) == after
    model.set_params(callback=None)


def seconds_after_ctrl_c(call: Callable[[], Any], after: float = 0.3) -> float:
    """How long a call goes on that is interrupted after some seconds.

    A process that was started in the background of a shell ignores Ctrl-C: not during the call.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(after, signal.raise_signal, [signal.SIGINT]).start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - start - after
    finally:
        signal.signal(signal.SIGINT, before)
