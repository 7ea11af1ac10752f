"""The demo's picture: held-out sentences before and after learning, accuracy by dimension, and speed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE

from semproj.metrics import top1
from semproj.retrieval import top_k

if TYPE_CHECKING:
    from benchmarks.demo import Corpus, Scores, Stage

N_AREAS = 8
MAX_PAIRS = 400  # on a map: more could not be told apart
PALETTE = 200  # colours of the file, so that it stays small
COLOURS = [
    "#3366cc",
    "#ee6677",
    "#228833",
    "#c49000",
    "#22aacc",
    "#aa3399",
    "#7a5230",
    "#667788",
]
INK, SOFT, NOTE, ACCENT = "#222222", "#9a9a9a", "#666666", "#2f6db3"


def draw(
    path: Path,
    corpus: Corpus,
    before: list[np.ndarray],
    after: list[np.ndarray],
    counts: list[Any],
    terms: np.ndarray,
    results: dict[str, Scores],
    stages: list[Stage] | None,
) -> None:
    """Write the picture to `path`: two maps, and below them accuracy and speed if there are timings."""
    plt.rcParams.update(
        {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold",
         "axes.titlelocation": "left", "axes.titlesize": 12, "text.color": INK, "axes.edgecolor": SOFT}
    )  # fmt: skip
    figure = plt.figure(figsize=(12, 10.8 if stages else 6.6), dpi=100, layout="constrained")
    grid = figure.add_gridspec(2 if stages else 1, 2, height_ratios=[1.75, 1] if stages else [1])
    shares = [100 * np.mean(row.top1) for row in results.values()]
    _maps([figure.add_subplot(grid[0, column]) for column in (0, 1)], before, after, counts, terms, corpus, shares)
    if stages:
        _accuracy(figure.add_subplot(grid[1, 0]), after, shares[0])
        _speed(figure.add_subplot(grid[1, 1]), stages)
    first, second = corpus.languages
    figure.suptitle(
        f"{first} ● and {second} ○ sentences, held out from training. A line joins two translations.",
        x=0.01, ha="left", fontsize=14, weight="bold",
    )  # fmt: skip
    source = f"NOT REAL TEXT: {corpus.source}" if corpus.planted else f"Text: {corpus.source}"
    maps = f"Maps: t-SNE of {min(MAX_PAIRS, len(after[0]))} of the {len(after[0])} pairs."
    colour = "#bb2222" if corpus.planted else NOTE
    figure.supxlabel(f"{source}. {maps}", x=0.01, ha="left", fontsize=8.5, color=colour)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    memory = io.BytesIO()
    figure.savefig(memory, format="png")
    plt.close(figure)
    image = Image.open(memory).convert("RGB")
    if path.suffix.lower() == ".png":
        image = image.quantize(PALETTE, method=Image.Quantize.MAXCOVERAGE)
    image.save(path, optimize=True)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _areas(
    places: np.ndarray, shown: np.ndarray, counts: list[Any], terms: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Areas of the map, each named after two words that are most its own, and their likely translations."""
    area = KMeans(N_AREAS, n_init=4, random_state=0).fit_predict(places)
    first, second = ((view > 0).astype(np.float64).tocsc() for view in counts)
    frequency = [np.asarray(view.sum(axis=0)).ravel() for view in (first, second)]
    long = np.array([len(term) > 4 for term in terms])
    telling = [long & (often < 0.04 * first.shape[0]) for often in frequency]
    names = []
    for number in range(N_AREAS):
        inside = np.asarray(first[shown[area == number]].sum(axis=0)).ravel()
        # How far the count is above chance, so that neither common nor single words win.
        expected = frequency[0] * np.sum(area == number) / first.shape[0]
        words = np.argsort(-(inside - expected) / np.sqrt(expected + 1) * telling[0])[:2]
        together = (first[:, words].T @ second).toarray()
        dice = 2 * together / (frequency[0][words][:, None] + frequency[1] + 1) * telling[1]
        names.append(" · ".join(terms[words]) + "\n" + " · ".join(terms[dice.argmax(axis=1)]))
    return area, names


def _maps(
    both_axes: list[Any],
    before: list[np.ndarray],
    after: list[np.ndarray],
    counts: list[Any],
    terms: np.ndarray,
    corpus: Corpus,
    shares: list[float],
) -> None:
    """The same sentences in the same colours: by their words, and in the space that was learnt."""
    shown = np.unique(np.linspace(0, len(after[0]) - 1, MAX_PAIRS).astype(int))
    flat = [_flatten([view[shown] for view in views]) for views in (before, after)]
    area, names = _areas(flat[1].mean(axis=0), shown, counts, terms)
    titles = (
        f"Before, by words in common: {shares[1]:.0f}% find their translation",
        f"After, in one space (CLLSI): {shares[0]:.0f}% find their translation",
    )
    for axes, views, ends, title in zip(both_axes, (before, after), flat, titles, strict=True):
        nearest, _ = top_k(views[0][shown], views[1], k=1)
        _pairs(axes, ends, np.array(COLOURS)[area], found=nearest[:, 0] == shown)
        axes.set_title(title)
    for language, ends in zip(corpus.languages, flat[0], strict=True):
        _label(both_axes[0], language, np.median(ends, axis=0), INK, fontsize=12, weight="bold")
    for number, name in enumerate(names):
        _label(both_axes[1], name, flat[1][:, area == number].mean(axis=(0, 1)), COLOURS[number], fontsize=9)


def _flatten(views: list[np.ndarray]) -> np.ndarray:
    """Places on a map, of shape (2, pairs, 2)."""
    rows = np.vstack([_unit(np.asarray(view, dtype=np.float64)) for view in views])
    places = TSNE(metric="cosine", init="pca", perplexity=25, random_state=0, max_iter=500).fit_transform(rows)
    return np.asarray(places).reshape(2, -1, 2)


def _pairs(axes: Any, ends: np.ndarray, colours: np.ndarray, found: np.ndarray) -> None:
    lines = ends.transpose(1, 0, 2)
    axes.add_collection(LineCollection(lines[~found], colors=SOFT, linewidths=0.5, alpha=0.35))
    axes.add_collection(LineCollection(lines[found], colors=colours[found], linewidths=0.9, alpha=0.6))
    axes.scatter(*ends[0].T, s=13, c=colours, linewidths=0, zorder=3)
    axes.scatter(*ends[1].T, s=46, facecolors="none", edgecolors=colours, linewidths=1.0, zorder=3)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _label(axes: Any, text: str, place: np.ndarray, edge: str, **style: Any) -> None:
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "alpha": 0.88, "edgecolor": edge}
    axes.annotate(text, place, ha="center", va="center", bbox=box, zorder=5, **style)


def _accuracy(axes: Any, vectors: list[np.ndarray], level: float) -> None:
    full = vectors[0].shape[1]
    # The leading components are the model of fewer components.
    sizes = [k for k in (5, 10, 20, 50, 100, 200) if k < full] + [full]
    accuracy = [100 * top1(vectors[0][:, :k], vectors[1][:, :k]) for k in sizes]
    axes.plot(sizes, accuracy, marker="o", color=ACCENT, linewidth=2, clip_on=False, zorder=3)
    axes.annotate(f"{level:.0f}%", (sizes[-1], accuracy[-1]), xytext=(0, 8), textcoords="offset points",
                  ha="center", color=ACCENT, weight="bold")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(k) for k in sizes])
    axes.minorticks_off()
    axes.set(ylim=(0, 108), yticks=range(0, 101, 20), xlabel="dimensions", ylabel="translation nearest, %")
    axes.set_title("How many dimensions it takes")


def _speed(axes: Any, stages: list[Stage]) -> None:
    rows = np.arange(len(stages))[::-1]
    ours, peers = np.array([stage.rates for stage in stages]).T
    axes.barh(rows + 0.19, ours, 0.36, color=ACCENT, label="semproj")
    axes.barh(rows - 0.19, peers, 0.36, color="#c9c9c9", label="scikit-learn, scipy or numpy")
    for row, stage in zip(rows, stages, strict=True):
        (mine, peer), labels = stage.rates, stage.labels
        axes.text(mine * 1.12, row + 0.19, f"{labels[0]}  ({mine / peer:.1f}x)", va="center", weight="bold")
        small = {"va": "center", "fontsize": 8.5, "color": NOTE}
        axes.text(peer * 1.12, row - 0.19, f"{labels[1]}  {stage.peer_name}", **small)
    axes.set_xscale("log")
    axes.set_xlim(min(peers.min(), ours.min()) / 4, max(peers.max(), ours.max()) * 12)
    axes.set_yticks(rows, [stage.name for stage in stages])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("words per second (log scale)")
    axes.set_title("Speed")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=8.5)
