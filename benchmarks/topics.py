"""Topics of PLSA at its defaults beside those of tomotopy's LDA: coherence, prediction of new texts, seconds.

python -m benchmarks.topics --data DIR
python -m benchmarks.topics --data DIR --grid

NPMI is of the ten likeliest words of a topic, over windows of ten words of the texts fitted on. Perplexity is by
document completion of other texts, and has the same fold-in for all. `--grid` has scikit-learn's GridSearchCV
choose the number of topics by the default `score`, and shows the perplexity of other texts at each.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

import semproj as sj
from benchmarks import data, peers

HELD_OUT = 1000
GRID = [10, 20, 50, 100, 200, 500, 1000]
FLAT = 0.02  # perplexities that differ by less are as good as equal


def _speeches(folder: Path) -> list[str]:
    with lzma.open(folder / data.EUROPARL, "rt", encoding="utf-8") as lines:
        return [line.split("\t")[1] for line in lines]


def _pages(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["en"] for line in lines]


CORPORA: dict[str, Callable[[Path], list[str]]] = {
    "europarl": _speeches,
    "debian": lambda folder: _pages(folder / "debian" / "train.en-it.jsonl.xz"),
    "mdn": lambda folder: _pages(folder / "mdn" / "train.en-fr.jsonl.xz"),
}


class Corpus:
    """Texts in a fixed random order, the first ones to be fitted on, and others."""

    def __init__(self, name: str, texts: list[str], n: int, held_out: int, *, drop_top: int = 100) -> None:
        random.Random(0).shuffle(texts)
        held_out = min(held_out, len(texts) // 5)
        n = min(n, len(texts) - held_out)
        self.name, self.texts = name, texts[:n]
        counter = sj.TermCounter(lowercase=True, drop_top=drop_top, min_count=5)
        self.counts = counter.fit_transform(self.texts)
        self.others = counter.transform(texts[n : n + held_out])
        self.words = list(counter.get_feature_names_out())

    def measures(self, topics: np.ndarray) -> dict[str, float]:
        """Of topics, as rows."""
        best = np.argsort(-topics, axis=1, kind="stable")[:, :10]
        named = [[self.words[i] for i in row] for row in best]
        return {
            "npmi": float(sj.metrics.coherence(named, self.texts, lowercase=True).mean()),
            "perplexity": _folding(topics).perplexity(self.others),
        }


def _folding(topics: np.ndarray) -> sj.PLSA:
    """PLSA with given topics: one fit's shell, so that the fold-in of all is the same."""
    n_topics, n_words = topics.shape
    model = sj.PLSA(n_topics, max_iter=1, init="frequency").fit(np.ones((1, n_words)))
    model.word_topics_ = np.ascontiguousarray(topics.T, dtype=np.float32)
    return model


def ours(corpus: Corpus, n_topics: int, seed: int, threads: int) -> tuple[np.ndarray, float, int]:
    start = time.perf_counter()
    model = sj.PLSA(n_topics, random_state=seed, n_threads=threads).fit(corpus.counts)
    return model.components_, time.perf_counter() - start, model.n_iter_


def tomotopy(
    corpus: Corpus, n_topics: int, seed: int, threads: int, iterations: int
) -> tuple[np.ndarray, float, int]:
    """LDA by Gibbs sampling, with the defaults: it learns its prior of topics on the way."""
    library = peers.available("tomotopy")
    assert library is not None
    model = library.LDAModel(k=n_topics, seed=seed + 1, min_cf=0)
    for begin, end in zip(corpus.counts.indptr[:-1], corpus.counts.indptr[1:], strict=True):
        row = np.repeat(corpus.counts.indices[begin:end], corpus.counts.data[begin:end].astype(int))
        if len(row):
            model.add_doc([str(i) for i in row])
    start = time.perf_counter()
    model.train(iterations, workers=threads)
    seconds = time.perf_counter() - start
    topics = np.full((n_topics, len(corpus.words)), 1e-12)
    columns = [int(word) for word in model.used_vocabs]
    for k in range(n_topics):
        topics[k, columns] = model.get_topic_word_dist(k)
    return topics, seconds, iterations


def table(corpora: Iterator[Corpus], asked: Any) -> list[dict[str, Any]]:
    """A row for each corpus, number of topics and library: means over seeds, taken in turn."""
    libraries: dict[str, Any] = {"semproj": ours}
    if peers.available("tomotopy") is not None:
        libraries["tomotopy"] = lambda *given: tomotopy(*given, asked.iterations)
    else:
        print("tomotopy is not installed")
    rows = []
    for corpus in corpora:
        for n_topics in asked.topics:
            found: dict[str, list[dict[str, float]]] = {name: [] for name in libraries}
            for seed in range(asked.seeds):
                for name, fitted in libraries.items():
                    topics, seconds, sweeps = fitted(corpus, n_topics, seed, asked.threads)
                    found[name].append({"sweeps": sweeps, "seconds": seconds, **corpus.measures(topics)})
            for name, each in found.items():
                means = {key: statistics.fmean(run[key] for run in each) for key in each[0]}
                spread = statistics.pstdev(run["npmi"] for run in each)
                rows.append({"corpus": corpus.name, "topics": n_topics, "library": name, **means, "sd": spread})
                print(
                    f"{corpus.name:10}{n_topics:5} {name:10}{means['sweeps']:6.0f} sweeps{means['seconds']:8.2f} s"
                    f"  NPMI {means['npmi']:7.4f} (sd {spread:.4f})  perplexity {means['perplexity']:7.1f}",
                    flush=True,
                )
    return rows


def grid(corpus: Corpus, asked: Any) -> list[dict[str, Any]]:
    """The perplexity of other texts at each number of topics, and whether the chosen one is in the flat part."""
    model = sj.PLSA(random_state=0, n_threads=asked.threads)
    search = GridSearchCV(model, {"n_components": asked.topics}, cv=3).fit(corpus.counts)
    chosen = search.best_params_["n_components"]
    rows = []
    for n_topics, score in zip(asked.topics, search.cv_results_["mean_test_score"], strict=True):
        fitted = sj.PLSA(n_topics, random_state=0, n_threads=asked.threads).fit(corpus.counts)
        others = fitted.perplexity(corpus.others)
        row = {"corpus": corpus.name, "topics": n_topics, "search": float(np.exp(-score)), "perplexity": others}
        rows.append({**row, "chosen": n_topics == chosen})
    best = min(row["perplexity"] for row in rows)
    for row in rows:
        row["flat"] = row["perplexity"] <= (1 + FLAT) * best
        marks = ("  flat" if row["flat"] else "") + ("  chosen" if row["chosen"] else "")
        print(
            f"{corpus.name:10}{row['topics']:5}  search {row['search']:7.1f}"
            f"  others {row['perplexity']:7.1f}{marks}",
            flush=True,
        )
    return rows


def tiny() -> Corpus:
    """Texts of two subjects each, from seeded numbers."""
    rng = np.random.default_rng(0)
    subjects = [[f"s{i}w{j}" for j in range(20)] for i in range(6)]
    texts = []
    for _ in range(240):
        pair = rng.choice(6, 2, replace=False)
        texts.append(" ".join(subjects[rng.choice(pair)][rng.integers(20)] for _ in range(30)))
    return Corpus("tiny", texts, 200, 40, drop_top=0)


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, help="folder with europarl/, debian/ and mdn/ (default: SEMPROJ_DATA)"
    )
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, help="default: all; with --grid, europarl")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--topics", type=int, nargs="+", help=f"default: 50 200; with --grid, {GRID}")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=400, help="of tomotopy's sampler")
    parser.add_argument("--grid", action="store_true", help="choose the number of topics by GridSearchCV")
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--tiny", action="store_true", help="a made-up corpus, for the tests")
    asked = parser.parse_args(arguments)
    folder = data.folder(asked.data)
    if asked.tiny:
        asked.topics, asked.seeds, asked.iterations = asked.topics or [2, 6], 1, 20
        corpora = iter([tiny()])
    elif folder is None:
        parser.error("--data: expected the folder of the corpora, or SEMPROJ_DATA")
    else:
        asked.topics = asked.topics or (GRID if asked.grid else [50, 200])
        names = asked.corpora or (["europarl"] if asked.grid else list(CORPORA))
        corpora = (Corpus(name, CORPORA[name](folder), asked.documents, HELD_OUT) for name in names)
    rows = [row for each in corpora for row in grid(each, asked)] if asked.grid else table(corpora, asked)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return rows


if __name__ == "__main__":
    main()
