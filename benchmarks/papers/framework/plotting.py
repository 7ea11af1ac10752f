"""Curves of a measure against a parameter, one line per method; matplotlib is imported only to draw."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.papers.framework.tables import Report

COLOURS = ["#4477aa", "#ee6677", "#228833", "#b58a00", "#33a5c4", "#aa3377", "#dd7733", "#6a6ac8"]
INK, SOFT = "#222222", "#9a9a9a"
MOST_MARKED = 30  # points of a curve


def add_figure(report: Report, number: int, path: Path, title: str, *curves: Any, **style: Any) -> None:
    """Draw Figure `number` of the paper, as `draw_curves` does, and note where it is, or why it is not there."""
    try:
        draw_curves(path, f"Figure {number}: {title}", *curves, **style)
    except ModuleNotFoundError as error:
        report.skip(f"Figure {number}: left out, {error}; install the extra `plot`")
    else:
        report.notes.append(f"Figure {number}: {path}")


def draw_curves(
    path: Path,
    title: str,
    curves: Mapping[str, Mapping[float, float]],
    levels: Mapping[str, float],
    *,
    ylabel: str,
    source: str,
    xlabel: str = "dimensions (log scale)",
    xscale: str = "log",
    errors: bool = False,
    spreads: Mapping[str, Mapping[float, float]] | None = None,
    margin: float = 0.05,
) -> None:
    """Write a picture to `path`.

    `curves` has a value for each dimension (or another parameter) of each method, of at least one; `levels` the
    value of each method that has no dimension, drawn as a dashed line; `spreads` how far up and down a band goes
    around a curve. `margin` is the room above the highest and below the lowest value.

    Curves are labelled with their best value, which is their highest; with `errors`, where lower is better and
    one is no limit, with their last. On an `xscale` that is "linear" the axis has ticks of its own.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    style = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold",
             "axes.titlelocation": "left", "text.color": INK, "axes.edgecolor": SOFT}  # fmt: skip
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(8, 5), dpi=110, layout="constrained")
        ends = []
        places = sorted({place for curve in curves.values() for place in curve})
        for (name, curve), colour in zip(curves.items(), COLOURS * len(curves), strict=False):
            x, y = zip(*sorted(curve.items()), strict=True)
            marker = "o" if len(x) <= MOST_MARKED else ""
            axes.plot(x, y, marker=marker, markersize=4, color=colour, linewidth=2, zorder=3)
            ends.append((y[-1], f"{name} {y[-1] if errors else max(y):.3f}", colour, "bold"))
            around = (spreads or {}).get(name)
            if around:
                low, high = zip(*((curve[at] - around[at], curve[at] + around[at]) for at in x), strict=True)
                axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        for name, level in levels.items():
            axes.axhline(level, color=SOFT, linestyle="--", linewidth=1)
            ends.append((level, f"{name} {level:.3f}", "#777777", "normal"))
        axes.set_xscale(xscale)
        if xscale == "log":
            axes.set_xticks(places, [f"{place:g}" for place in places], rotation=45)
            axes.xaxis.set_minor_locator(NullLocator())
        shown = [*levels.values(), *(value for curve in curves.values() for value in curve.values())]
        # Not from zero: differences near the top are what the plot is about.
        low, high = max(0.0, min(shown) - margin), max(shown) + margin
        high = high if errors else min(1.0, high)
        axes.set_ylim(low, high + 0.02 * (high - low))
        heights = _apart([end[0] for end in ends], 0.05 * (high - low), high)
        for height, (_, label, colour, weight) in zip(heights, ends, strict=True):
            axes.annotate(label, (1.0, height), xycoords=("axes fraction", "data"), xytext=(6, 0),
                          textcoords="offset points", va="center", color=colour, weight=weight,
                          annotation_clip=False)  # fmt: skip
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set_title(title)
        figure.supxlabel(source, x=0.01, ha="left", fontsize=9, color="#777777")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
        plt.close(figure)


def _apart(values: list[float], gap: float, top: float) -> list[float]:
    """The same heights, moved where two labels would cover each other: up, and back down from the top."""
    order = sorted(range(len(values)), key=values.__getitem__)
    moved = list(values)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + gap)
    limit = top
    for number in reversed(order):
        moved[number] = min(moved[number], limit)
        limit = moved[number] - gap
    return moved
