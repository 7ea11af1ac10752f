"""A user's proximal map of the dual variables of CPLSA, as the loop in C++ calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._function import Argument, check_function
from .callbacks import array_callback, failed_call

_PROX = Argument("prox", "prox(dual, coupling, step)", (0.5, 1.0, 0.25))


def check_prox(prox: Any) -> None:
    """Check the function before it is used."""
    check_function(prox, _PROX)


def prox_callback(prox: Callable[[float, float, float], float]) -> Any:
    """The function compiled for arrays; its ``address`` is good as long as this is kept."""
    return array_callback(prox)


def failed_prox(prox: Callable[[float, float, float], float], call: Any, pair: int) -> ValueError:
    """What to raise for a call that went wrong, of this pair."""
    return failed_call(prox, _PROX, (call.dual, call.coupling, call.step), f"pair {pair}")
