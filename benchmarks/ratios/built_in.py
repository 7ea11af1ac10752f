"""A model with a function of the user beside the same with what is built in: the workloads of the suite `open`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.ratios.harness import OURS, Contestant, Options, Workload

BUILT_IN = "built_in"


def beside_built_in(
    options: Options,
    name: str,
    words: int,
    by_function: Callable[[int], np.ndarray],
    built_in: Callable[[int], np.ndarray],
    note: str,
    *,
    error: float = 0.0,
    rounds: int | None = None,
) -> Workload:
    """The same array twice: of the same bits, or no further apart than a part of the largest element."""
    contestants = [Contestant(BUILT_IN, n, lambda n=n: built_in(n)) for n in options.threads]
    contestants += [Contestant(OURS, n, lambda n=n: by_function(n)) for n in options.threads]
    expected: list[np.ndarray] = []

    def check(contestant: Contestant, result: np.ndarray) -> dict[str, Any]:
        if not expected:
            expected.append(result.copy())
        if error == 0:
            if result.tobytes() != expected[0].tobytes():
                raise AssertionError(f"{contestant.name}: other bits than {BUILT_IN}")
            return {}
        found = float(np.abs(result - expected[0]).max() / np.abs(expected[0]).max())
        if not found <= error:
            raise AssertionError(f"{contestant.name}: differs by {found:.1e}, expected at most {error:.0e}")
        return {"error": found}

    def finish(row: dict[str, Any]) -> None:
        row["times_built_in"] = row["ours_seconds"] / row["seconds"][BUILT_IN]

    return Workload(
        name=name,
        words=words,
        contestants=contestants,
        check=check,
        rounds=options.pick(5, 7, 2) if rounds is None else rounds,
        finish=finish,
        notes=[note, "ours: by functions, compiled before; built_in: the same without them"],
    )
