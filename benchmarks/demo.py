"""The main job on real text: find the Spanish translation of an English sentence, and time every stage.

Run as ``python -m benchmarks.demo`` from the root of the repository. The text is the messages of open-source
packages and their translations, read from the gettext catalogues in their wheels.
``python -m benchmarks.demo --no-timing --output docs/demo.png`` makes the picture of the README.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer

import semproj as sj
from semproj import datasets, kernels
from semproj.metrics import mrr, top1

PACKAGES = ("pretix", "wagtail", "django-oscar", "pretalx", "ckan", "django", "django-allauth")
N_COMPONENTS = 400
SEED = 0
TOKENS = r"[^\W_]+"  # what TermCounter calls a word, as a regular expression
TILES = 6


class Corpus(NamedTuple):
    pairs: list[tuple[str, str]]
    languages: tuple[str, str]
    source: str
    planted: bool


class Split(NamedTuple):
    train: tuple[list[str], list[str]]
    test: tuple[list[str], list[str]]


class Stage(NamedTuple):
    name: str
    words: int
    ours: float
    peer: float
    peer_name: str
    check: str

    @property
    def rates(self) -> tuple[float, float]:
        """Words per second, ours and the peer's."""
        return self.words / self.ours, self.words / self.peer

    @property
    def labels(self) -> tuple[str, str]:
        ours, peer = (f"{r / 1e6:.1f} M" if r >= 1e6 else f"{r / 1e3:.0f} k" for r in self.rates)
        return ours, peer


class Scores(NamedTuple):
    top1: tuple[float, float]
    mrr: tuple[float, float]


@contextmanager
def heading(text: str) -> Iterator[None]:
    start = time.perf_counter()
    print(f"\n{text}", flush=True)
    yield
    print(f"  ({time.perf_counter() - start:.1f} s)", flush=True)


def load_corpus(cache: Path, offline: bool) -> Corpus:
    """Real pairs; planted ones when the package index cannot be reached."""
    wheels: list[Path] = []
    if not offline:
        try:
            for package in PACKAGES:
                wheels.append(datasets.download_wheel(package, cache))
        except datasets.DownloadError as error:
            print(f"  {str(error).splitlines()[0]}")
    if wheels:
        pairs = datasets.catalog_pairs(wheels, "es")
        names = ", ".join("-".join(wheel.name.split("-")[:2]) for wheel in wheels)
        return Corpus(pairs, ("English", "Spanish"), f"messages of {names}", planted=False)
    print("  NO REAL TEXT: the package index was not used or not reached.")
    print("  Two INVENTED languages take its place; all numbers below are about them.")
    planted = datasets.planted_bilingual(4000, random_state=SEED)
    pairs = list(zip(planted.first, planted.second, strict=True))
    return Corpus(pairs, ("first", "second"), "4,000 pairs in two invented languages", planted=True)


def split(pairs: list[tuple[str, str]], test_every: int = 5) -> Split:
    """By a hash of the text: a pair stays on its side when others come or go."""

    def is_test(text: str) -> bool:
        digest = hashlib.blake2b(f"{SEED}:{text}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") % test_every == 0

    sides: dict[bool, tuple[list[str], list[str]]] = {False: ([], []), True: ([], [])}
    for source, target in pairs:
        side = sides[is_test(source)]
        side[0].append(source)
        side[1].append(target)
    return Split(train=sides[False], test=sides[True])


def scores(first: np.ndarray, second: np.ndarray) -> Scores:
    return Scores(top1(first, second, directions=True), mrr(first, second, directions=True))


# The same stages with scikit-learn and scipy.


def scipy_weights(counts: sp.csr_matrix, idf: np.ndarray | None = None) -> sp.csr_matrix:
    if idf is None:
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = np.log2(counts.shape[0] / np.maximum(frequency, 1)).astype(np.float32)
    data = np.log2(counts.data.astype(np.float32) + 1) * idf[counts.indices]
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def sklearn_fit(counts: list[sp.csr_matrix], n_components: int) -> TruncatedSVD:
    stacked = sp.vstack(counts, format="csr")
    frequency = np.bincount(stacked.indices, minlength=stacked.shape[1])
    idf = np.log2(stacked.shape[0] / np.maximum(frequency, 1)).astype(np.float32)
    return TruncatedSVD(n_components, random_state=SEED).fit(scipy_weights(counts[0] + counts[1], idf))


def race(
    ours: Callable[[], Any], peer: Callable[[], Any], rounds: int, *, warm_up: bool = True
) -> tuple[float, float, Any, Any]:
    """Median seconds of each, in turns in one process, and what they returned last."""
    results = [ours(), peer()] if warm_up else [None, None]
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            start = time.perf_counter()
            results[which] = (ours, peer)[which]()
            times[which].append(time.perf_counter() - start)
    return median(times[0]), median(times[1]), *results


def relative_error(ours: Any, peer: Any) -> str:
    if sp.issparse(ours):
        ours, peer = ours.data, peer.data
    error = np.linalg.norm(ours - peer) / np.linalg.norm(peer)
    return f"equal to {error:.0e}" if error < 1e-4 else f"DIFFER by {error:.1e}"


def time_stages(texts: tuple[list[str], list[str]], model: sj.CLLSI, encoder: sj.Encoder) -> list[Stage]:
    """Each stage against scikit-learn and scipy on the same input; results must be the same."""
    both = [*texts[0], *texts[1]]
    tiled = both * TILES
    counter = sj.TermCounter(lowercase=True).fit(both)
    n_words = counter.n_tokens_
    stages = []

    vectorizer = CountVectorizer(token_pattern=TOKENS, dtype=np.int32)
    *times, ours, peer = race(
        lambda: sj.TermCounter(lowercase=True).fit_transform(tiled),
        lambda: vectorizer.fit_transform(tiled),
        3,
    )
    order = [vectorizer.vocabulary_.get(term, 0) for term in counter.get_feature_names_out()]
    same = ours.shape == peer.shape and (ours != peer[:, order]).nnz == 0
    check = "identical" if same else "DIFFER"
    stages.append(Stage("count", n_words * TILES, *times, "CountVectorizer", check))

    counts = ours
    *times, ours, peer = race(lambda: sj.LogTfIdf().fit_transform(counts), lambda: scipy_weights(counts), 7)
    stages.append(Stage("weight", n_words * TILES, *times, "numpy", relative_error(ours, peer)))

    views = [encoder.counter.transform(side) for side in texts]
    weights = model.weighting_.transform(views[0] + views[1])
    fit = sj.CLLSI(N_COMPONENTS, random_state=SEED)
    # Long calls, so no round goes to warming up.
    *times, ours, peer = race(lambda: fit.fit(views), lambda: sklearn_fit(views, N_COMPONENTS), 3, warm_up=False)
    captured = [np.linalg.norm(weights @ fitted.components_.T) ** 2 for fitted in (ours, peer)]
    check = f"captures {100 * (captured[0] / captured[1] - 1):+.2f}% variance"
    stages.append(Stage("fit", n_words, *times, "TruncatedSVD", check))

    components = np.ascontiguousarray(model.components_.T)
    packed = kernels.Projection(components)
    weights = model.weighting_.transform(encoder.counter.transform(tiled))
    out = np.empty((weights.shape[0], N_COMPONENTS), dtype=np.float32)
    *times, ours, peer = race(lambda: kernels.project(weights, packed, out=out), lambda: weights @ components, 5)
    stages.append(Stage("project", n_words * TILES, *times, "scipy", relative_error(ours, peer)))

    vectorizer = CountVectorizer(token_pattern=TOKENS, dtype=np.int32, vocabulary=encoder.counter.vocabulary_)
    idf = model.weighting_.term_weight_.astype(np.float32)
    *times, ours, peer = race(
        lambda: encoder.encode(tiled),
        lambda: scipy_weights(vectorizer.transform(tiled), idf) @ components,
        3,
    )
    stages.append(Stage("encode", n_words * TILES, *times, "CountVectorizer + scipy", relative_error(ours, peer)))
    return stages


def print_stages(stages: list[Stage]) -> None:
    print(f"  {'stage':<9}{'semproj':>10}{'other':>10}{'ratio':>8}  {'the other is':<25}results")
    for stage in stages:
        ours, peer = stage.labels
        ratio = f"{stage.peer / stage.ours:.1f}x"
        print(f"  {stage.name:<9}{ours:>10}{peer:>10}{ratio:>8}  {stage.peer_name:<25}{stage.check}")


def print_scores(rows: dict[str, Scores], languages: tuple[str, str]) -> None:
    forward, backward = (" -> ".join(pair) for pair in (languages, languages[::-1]))
    print("  Top-1: how often the translation is the nearest sentence. MRR: the mean of 1 / its rank.\n")
    print(f"  {'':<24}{forward:^22}{backward:^22}")
    print(f"  {'':<24}" + f"{'Top-1':>10}{'MRR':>8}    " * 2)
    for name, row in rows.items():
        cells = "".join(f"{100 * t:>9.1f}%{m:>8.3f}    " for t, m in zip(row.top1, row.mrr, strict=True))
        print(f"  {name:<24}{cells}")


def shorten(text: str, width: int = 92) -> str:
    return text if len(text) <= width else text[: width - 3].rsplit(" ", 1)[0] + "..."


def show_neighbours(encoder: sj.Encoder, test: tuple[list[str], list[str]], languages: tuple[str, str]) -> None:
    """Save the encoder, load it, and look up some held-out sentences with the loaded one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        encoder.save(path)
        size = path.stat().st_size / 1e6
        loaded = sj.load(path)
        queries, targets = loaded.encode(test[0]), loaded.encode(test[1])
    same = np.array_equal(queries, encoder.encode(test[0]))
    print(
        f"  Saved {size:.1f} MB and loaded it. The loaded encoder gives the same bits: {'yes' if same else 'NO'}."
    )
    for row in np.linspace(0, len(queries) - 1, 5).astype(int)[1:-1]:
        cosines = targets @ queries[row]
        print(f"\n  {languages[0]}: {shorten(test[0][row])}")
        for rank, found in enumerate(np.argsort(-cosines, kind="stable")[:2], start=1):
            mark = "  <- its translation" if found == row else ""
            print(f"    {rank}. {cosines[found]:.2f}  {shorten(test[1][found])}{mark}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.demo", description=__doc__)
    parser.add_argument("--offline", action="store_true", help="fetch nothing: use two invented languages")
    parser.add_argument("--no-timing", action="store_true", help="leave out the comparison of speeds")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="folder of the downloads")
    parser.add_argument("--output", type=Path, default=Path("demo.png"), help="where the picture goes")
    options = parser.parse_args(arguments)
    start = time.perf_counter()

    with heading("Get sentences and their translations"):
        corpus = load_corpus(options.cache, options.offline)
        data = split(corpus.pairs)
        print(f"  From {corpus.source}.")
        print(f"  {len(data.train[0])} pairs to learn from, {len(data.test[0])} held out.")

    with heading(f"Learn one space for both languages: counts, log(tf)-idf, CLLSI with {N_COMPONENTS} dimensions"):
        counters = sj.MultiTermCounter(vocabulary="shared", lowercase=True, max_features=20_000)
        counts = counters.fit_transform(data.train)
        model = sj.CLLSI(N_COMPONENTS, random_state=SEED).fit(counts)
        encoder = sj.Encoder(counters.counters_[0], None, model)
        print(f"  {encoder.counter.n_tokens_} words, {counts[0].shape[1]} different ones.")

    with heading(f"Look for the translation of each held-out sentence among all {len(data.test[0])}"):
        held_out = counters.transform(data.test)
        vectors = [model.transform(view) for view in held_out]
        weighted = [model.weighting_.transform(view).toarray() for view in held_out]
        results = {"CLLSI": scores(*vectors), "only words in common": scores(*weighted)}
        print_scores(results, corpus.languages)

    with heading("Save the encoder, load it, look up three held-out sentences"):
        show_neighbours(sj.Encoder(encoder.counter, None, model, normalize=True), data.test, corpus.languages)

    stages = None
    if not options.no_timing:
        threads = sj.show_config(quiet=True)["threads"]
        with heading(f"Compare speeds: words per second, {threads} thread(s), medians of rounds in turns"):
            print(
                f"  The text is small: it is repeated {TILES} times, except for the fit. `project` writes into an"
            )
            print("  array that it is given, as in a loop over batches; scipy makes a new one each time.\n")
            stages = time_stages(data.train, model, encoder)
            print_stages(stages)

    with heading(f"Draw {options.output}"):
        try:
            from benchmarks import demo_picture
        except ModuleNotFoundError as error:
            print(f"  Left out: {error}. Install the extra `plot`.")
        else:
            terms = encoder.counter.get_feature_names_out()
            demo_picture.draw(options.output, corpus, weighted, vectors, held_out, terms, results, stages)
    print(f"\nDone in {time.perf_counter() - start:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
