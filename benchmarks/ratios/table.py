"""The rows as a table for people."""

from __future__ import annotations

from typing import Any


def _seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def _peers(row: dict[str, Any]) -> str:
    counts = row.get("counts", {})
    parts = []
    for name, ratio in row["peers"].items():
        mark = "" if counts.get(name, True) else "*"
        parts.append(f"{name} {_seconds(row['seconds'][name])} = {ratio:.2f}x{mark}")
    return ", ".join(parts)


def render(result: dict[str, Any]) -> str:
    """Ours, each peer with its ratio, and the part of the machine's limits that was used."""
    header = ["workload", "threads", "ours", "words/s", "scaling", "of the limits", "peers (times ours)"]
    lines = [header]
    for row in result["rows"]:
        limits = ", ".join(f"{name} {value:.0%}" for name, value in row["limits"].items())
        lines.append(
            [
                row["workload"],
                str(row["threads"]),
                _seconds(row["ours_seconds"]),
                f"{row['words_per_second'] / 1e6:.2f} M",
                f"{row['scaling']:.2f}",
                limits or "-",
                _peers(row),
            ]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    text.insert(1, "-" * min(160, max(map(len, text))))
    if any(not all(row.get("counts", {}).values()) for row in result["rows"]):
        text.append("* does not count: the peer's result was better than ours (see `captured` in the JSON)")
    return "\n".join(text + [f"note: {note}" for note in result["machine"]["notes"]])
