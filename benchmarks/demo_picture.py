"""The picture of the demo: a map of the held-out pairs, accuracy by dimension, and speed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE

from semproj.metrics import top1

if TYPE_CHECKING:
    from benchmarks.demo import Corpus, Scores, Stage

N_AREAS = 10
MAX_PAIRS = 500  # on the map: more could not be told apart
COLOURS = [
    "#4477aa",
    "#ee6677",
    "#228833",
    "#b58a00",
    "#33a5c4",
    "#aa3377",
    "#dd7733",
    "#6a6ac8",
    "#7a5230",
    "#4f9a8f",
]
INK, SOFT, ACCENT = "#222222", "#9a9a9a", "#2f6db3"


def draw(
    path: Path,
    corpus: Corpus,
    vectors: list[np.ndarray],
    counts: list[Any],
    terms: np.ndarray,
    results: dict[str, Scores],
    stages: list[Stage],
) -> None:
    """Write the picture to `path`."""
    plt.rcParams.update(
        {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold",
         "axes.titlelocation": "left", "text.color": INK, "axes.edgecolor": SOFT}
    )  # fmt: skip
    figure = plt.figure(figsize=(15, 8.4), dpi=110, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.5, 1], height_ratios=[1, 1.15])
    _map(figure.add_subplot(grid[:, 0]), vectors, counts, terms, corpus.languages)
    _accuracy(figure.add_subplot(grid[0, 1]), vectors, results)
    _speed(figure.add_subplot(grid[1, 1]), stages)
    accuracy = 100 * np.mean(results["CL-LSI"].top1)
    kind = "invented " if corpus.planted else ""
    figure.suptitle(
        f"Two {kind}languages in one space: {accuracy:.0f}% of held-out sentences find their translation",
        x=0.01, ha="left", fontsize=16, weight="bold",
    )  # fmt: skip
    source, colour = (f"Text: {corpus.source}", "#777777")
    if corpus.planted:
        source, colour = (f"NOT REAL TEXT: {corpus.source}, as no real text could be fetched", "#bb2222")
    figure.supxlabel(source, x=0.01, ha="left", fontsize=9, color=colour)
    figure.savefig(path)
    plt.close(figure)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _areas(places: np.ndarray, counts: list[Any], terms: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Areas of the map, each named after the words of each language that are most its own."""
    area = KMeans(N_AREAS, n_init=4, random_state=0).fit_predict(places)
    names = []
    often = sum(np.asarray((view > 0).mean(axis=0)).ravel() for view in counts)
    telling = np.array([len(term) > 3 for term in terms]) & (often < 0.08)
    for number in range(N_AREAS):
        lines = []
        for view in counts:
            present = (view > 0).astype(np.float64)
            inside = np.asarray(present[area == number].sum(axis=0)).ravel()
            # How far the count is above chance, so that neither common nor single words win.
            expected = np.asarray(present.sum(axis=0)).ravel() * np.mean(area == number)
            lead = (inside - expected) / np.sqrt(expected + 1) * telling
            lines.append(" · ".join(str(terms[i]) for i in np.argsort(-lead)[:2]))
        names.append("\n".join(lines))
    return area, names


def _map(axes: Any, vectors: list[np.ndarray], counts: list[Any], terms: np.ndarray, languages: Any) -> None:
    shown = np.unique(np.linspace(0, len(vectors[0]) - 1, MAX_PAIRS).astype(int))
    first, second = (_unit(view)[shown] for view in vectors)
    n = len(shown)
    flat = TSNE(metric="cosine", init="pca", perplexity=25, random_state=0, max_iter=400).fit_transform(
        np.vstack([first, second])
    )
    ends = np.stack([flat[:n], flat[n:]], axis=1)
    middle = ends.mean(axis=1)
    area, names = _areas(middle, [view[shown] for view in counts], terms)
    found = np.argmax(_unit(vectors[0])[shown] @ _unit(vectors[1]).T, axis=1) == shown
    colours = np.array(COLOURS)[area]
    axes.add_collection(LineCollection(ends[found], colors=colours[found], linewidths=0.8, alpha=0.45))
    axes.add_collection(LineCollection(ends[~found], colors="#888888", linewidths=0.8, linestyles=":"))
    axes.scatter(*flat[:n].T, s=12, c=colours, linewidths=0, zorder=3)
    axes.scatter(*flat[n:].T, s=42, facecolors="none", edgecolors=colours, linewidths=0.9, zorder=3)
    for number, name in enumerate(names):
        box = {
            "boxstyle": "round,pad=0.25",
            "facecolor": "white",
            "alpha": 0.85,
            "edgecolor": COLOURS[number],
        }
        axes.annotate(
            name,
            middle[area == number].mean(axis=0),
            fontsize=9,
            ha="center",
            va="center",
            bbox=box,
            zorder=5,
        )
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(f"{n} held-out sentences ({languages[0]} ●) and their translations ({languages[1]} ○), joined")
    note = "dotted: another sentence was nearer. A ring around a dot: a pair in one place. t-SNE of the vectors."
    axes.text(0.0, -0.01, note, transform=axes.transAxes, va="top", fontsize=9, color="#777777")


def _accuracy(axes: Any, vectors: list[np.ndarray], results: dict[str, Scores]) -> None:
    full = vectors[0].shape[1]
    # The leading components are the model of fewer components.
    sizes = [k for k in (5, 10, 20, 50, 100, 200) if k < full] + [full]
    accuracy = [100 * top1(vectors[0][:, :k], vectors[1][:, :k]) for k in sizes]
    baseline_name, baseline = next((name, row) for name, row in results.items() if name != "CL-LSI")
    level = 100 * np.mean(baseline.top1)
    axes.plot(sizes, accuracy, marker="o", color=ACCENT, linewidth=2, clip_on=False, zorder=3)
    axes.annotate(f"CL-LSI {accuracy[-1]:.1f}%", (sizes[-1], accuracy[-1]), xytext=(6, 9),
                  textcoords="offset points", ha="right", color=ACCENT, weight="bold")  # fmt: skip
    axes.axhline(level, color=SOFT, linestyle="--")
    axes.text(sizes[-1], level + 2, f"{baseline_name} {level:.1f}%", ha="right", color="#777777")
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(k) for k in sizes])
    axes.minorticks_off()
    axes.set(ylim=(0, 110), yticks=range(0, 101, 20), xlabel="components", ylabel="Top-1, both directions, %")
    axes.set_title("The translation comes first")


def _speed(axes: Any, stages: list[Stage]) -> None:
    rows = np.arange(len(stages))[::-1]
    ours, peers = np.array([stage.rates for stage in stages]).T
    axes.barh(rows + 0.19, ours, 0.36, color=ACCENT, label="semproj")
    axes.barh(rows - 0.19, peers, 0.36, color="#c9c9c9", label="scikit-learn, scipy")
    for row, stage in zip(rows, stages, strict=True):
        (mine, peer), labels = stage.rates, stage.labels
        axes.text(mine * 1.12, row + 0.19, f"{labels[0]}  ({mine / peer:.1f}x)", va="center", weight="bold")
        small = {"va": "center", "fontsize": 8.5, "color": "#666666"}
        axes.text(peer * 1.12, row - 0.19, f"{labels[1]}  {stage.peer_name}", **small)
    axes.set_xscale("log")
    axes.set_xlim(min(peers.min(), ours.min()) / 4, max(peers.max(), ours.max()) * 12)
    axes.set_yticks(rows, [stage.name for stage in stages])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("words per second (log scale)")
    axes.set_title("Same input, same run")
    axes.legend(loc="center right", frameon=False)
