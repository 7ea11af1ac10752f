"""Two results of one suite: what became faster or slower, beyond what the machine and noise explain."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.ratios.harness import OURS

UNKNOWN_NOISE = 0.1  # of a time that was measured once


@dataclass(frozen=True)
class Change:
    """Our speed in the new result over that in the old one, and its noise (one standard error, relative).

    Where both have peers, it is over theirs: what these lost or won, the machine did.
    """

    workload: str
    threads: int
    speed: float
    noise: float
    peers: int

    @property
    def interval(self) -> tuple[float, float]:
        """Two standard errors to both sides. Of a ratio, so that its inverse has the inverse of it."""
        factor = math.exp(2 * self.noise)
        return self.speed / factor, self.speed * factor

    def is_below(self, bar: float) -> bool:
        """Whether it is, beyond noise."""
        return self.interval[1] < bar

    @property
    def verdict(self) -> str:
        low, high = self.interval
        return "slower" if high < 1 else "faster" if low > 1 else "same"


def read_result(path: Path) -> dict[str, Any]:
    """The JSON of a suite; ValueError if it is none."""
    try:
        result = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(result, dict) or not {"name", "machine", "rows"} <= result.keys():
        raise ValueError(f"{path}: expected JSON of benchmarks.ratios")
    for key, kind in (("machine", dict), ("rows", list)):
        if not isinstance(result[key], kind):
            raise ValueError(f"{path}: {key}: expected a {kind.__name__}, got {result[key]!r}")
    for number, row in enumerate(result["rows"]):
        _check_row(row, f"{path}: rows[{number}]")
    return result


def _check_row(row: Any, where: str) -> None:
    keys = {"workload", "threads", "ours_seconds", "seconds", "peers"}
    if not isinstance(row, dict) or not keys <= row.keys():
        missing = sorted(keys - row.keys()) if isinstance(row, dict) else sorted(keys)
        raise ValueError(f"{where}: expected {', '.join(missing)}, got none of it")
    if not isinstance(row["seconds"], dict) or not set(row["peers"]) <= row["seconds"].keys():
        raise ValueError(f"{where}: seconds: expected a time for each of {sorted(row['peers'])}")
    for name, seconds in {"ours_seconds": row["ours_seconds"], **row["seconds"]}.items():
        if not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
            raise ValueError(f"{where}: {name}: expected seconds above 0, got {seconds!r}")


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """The rows that both have."""
    for what, values in (
        ("suite", (old["name"], new["name"])),
        ("size", (old["machine"].get("size"), new["machine"].get("size"))),
    ):
        if values[0] != values[1]:
            raise ValueError(f"expected results of one {what}, got {values[0]} and {values[1]}")
    before = {(row["workload"], row["threads"]): row for row in old["rows"]}
    return [
        _change(before[key], row) for row in new["rows"] if (key := (row["workload"], row["threads"])) in before
    ]


def _change(old: dict[str, Any], new: dict[str, Any]) -> Change:
    ours = old["ours_seconds"] / new["ours_seconds"]
    common = [name for name in new["peers"] if name in old["peers"]]
    squares = _noise(old, OURS) ** 2 + _noise(new, OURS) ** 2
    machine = 1.0
    if common:
        machine = median(old["seconds"][name] / new["seconds"][name] for name in common)
        squares += median(_noise(old, name) ** 2 + _noise(new, name) ** 2 for name in common)
    return Change(new["workload"], new["threads"], ours / machine, squares**0.5, len(common))


def _noise(row: dict[str, Any], name: str) -> float:
    found = row.get("noise", {}).get(name)
    return UNKNOWN_NOISE if found is None else float(found)


def render(changes: list[Change]) -> str:
    """A line each."""
    lines = [f"{'workload':34}{'threads':>8}{'new / old':>11}{'noise':>8}  "]
    for each in changes:
        alone = "" if each.peers else ", without a peer"
        lines.append(
            f"{each.workload:34}{each.threads:8}{each.speed:11.2f}{each.noise:8.1%}  {each.verdict}{alone}"
        )
    return "\n".join(lines)


def plot(changes: list[Change], path: Path, title: str) -> None:
    """Bars from 1, with two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = {"slower": "tab:red", "same": "tab:gray", "faster": "tab:green"}
    figure, axes = plt.subplots(figsize=(8, 1 + 0.35 * len(changes)), layout="constrained")
    axes.barh(
        [f"{each.workload} ({each.threads})" for each in changes],
        [each.speed - 1 for each in changes],
        left=1,
        xerr=[
            [each.speed - each.interval[0] for each in changes],
            [each.interval[1] - each.speed for each in changes],
        ],
        color=[colors[each.verdict] for each in changes],
    )
    axes.axvline(1, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel("speed over the old one's, beside peers; lines: two standard errors")
    axes.set_title(title)
    figure.savefig(path, dpi=120)
    plt.close(figure)
