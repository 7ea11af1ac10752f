"""The tasks of Guo and Diab 2012: definitions to be found, and pairs of sentences that people have judged.

A task has a similarity of sentences to measure. `split` is dev, by which settings may be chosen, or test:

    cdr       cdr/{split}.tsv.xz; ATOP
    li06_30   sts/li06_30.tsv; correlation with the ratings, in either split
    li06_35   sts/li06_35.tsv; the same
    msrp      dev: sts/msrp_train.txt, cross-validated; test: sts/msrp_test.txt, the threshold from msrp_train.txt
    sts12     dev: sts/sts12_train/{text,gs}; test: sts/sts12_test/{text,gs}; correlation
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.model_selection import RepeatedStratifiedKFold

from benchmarks.papers.framework import compare
from benchmarks.papers.framework.definitions import Corpus, Sentences, synset_name
from benchmarks.papers.framework.files import evenly, number_of, read_lines, read_table, require
from semproj.tasks import best_threshold

SAMPLE = 1000  # definitions, of the paper's approximation of ATOP
FOLDS, REPEATS = 10, 10
MSRP_COLUMNS = ["quality", "id 1", "id 2", "sentence 1", "sentence 2"]

Vectors = Callable[[Sentences], Any]


@dataclass(frozen=True)
class Retrieval:
    """Find the WordNet definitions of a sense by its definition in another dictionary (section 4.1)."""

    queries: Sentences
    definitions: Sentences
    gold: list[list[int]]

    def atop(self, vectors: Vectors) -> float:
        return compare.recall_curve(vectors(self.queries), vectors(self.definitions), self.gold).atop

    def measure(self, vectors: Vectors, metric: str = "cosine") -> dict[str, float]:
        """ATOP among all definitions, among a sample, and without the queries that are a gold definition."""
        queries, definitions = vectors(self.queries), vectors(self.definitions)
        exact = compare.recall_curve(queries, definitions, self.gold, metric=metric)
        found = {"atop": exact.atop, "top 1%": float(exact.recall_at(0.01))}
        if len(self.definitions) > SAMPLE:
            sampled = compare.recall_curve(queries, definitions, self.gold, metric=metric, sample=SAMPLE)
            found["atop, sample"] = sampled.atop
        if not self.copies.all():
            found["atop, no copies"] = float(exact.outcomes[~self.copies].mean())
        return found

    @property
    def copies(self) -> np.ndarray:
        """Queries that have the very words of a gold definition."""
        words = [set(lemmas) for lemmas in self.queries.lemmas]
        glosses = [[set(self.definitions.lemmas[row]) for row in rows] for rows in self.gold]
        return np.array([query in known for query, known in zip(words, glosses, strict=True)])


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences and what people say of them."""

    first: Sentences
    second: Sentences
    judgements: np.ndarray

    def similarities(self, vectors: Vectors) -> np.ndarray:
        return compare.cosines(vectors(self.first), vectors(self.second))


@dataclass(frozen=True)
class Correlation:
    """How similarities go with ratings."""

    pairs: Pairs

    def measure(self, similarity: Callable[[Pairs], np.ndarray]) -> dict[str, float]:
        found, ratings = similarity(self.pairs), self.pairs.judgements
        if np.ptp(found) == 0:
            return {"r": 0.0, "rho": 0.0}  # of a constant there is none
        return {"r": float(stats.pearsonr(found, ratings)[0]), "rho": float(stats.spearmanr(found, ratings)[0])}


@dataclass(frozen=True)
class Paraphrase:
    """Tell paraphrases by a threshold of similarity, learnt from other pairs."""

    train: Pairs
    test: Pairs | None  # None: cross-validated on the training pairs

    def measure(self, similarity: Callable[[Pairs], np.ndarray]) -> dict[str, float]:
        found, labels = similarity(self.train), self.train.judgements
        if self.test is not None:
            decided = similarity(self.test) >= best_threshold(found, labels)
            return {"accuracy": float(np.mean(decided == self.test.judgements))}
        folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
        right = [
            (found[held] >= best_threshold(found[rest], labels[rest])) == labels[held]
            for rest, held in folds.split(found, labels)
        ]
        return {"accuracy": float(np.mean(np.concatenate(right)))}


Task = Retrieval | Correlation | Paraphrase


def files_of(data: Path, dataset: str, split: str) -> list[Path]:
    """What a dataset needs besides the corpus."""
    if dataset == "cdr":
        return [data / "cdr" / f"{split}.tsv.xz"]
    if dataset == "msrp":
        return [data / "sts" / "msrp_train.txt", *([data / "sts" / "msrp_test.txt"] * (split == "test"))]
    if dataset == "sts12":
        folder = data / "sts" / f"sts12_{'train' if split == 'dev' else 'test'}"
        return [folder / "text", folder / "gs"]
    return [data / "sts" / f"{dataset}.tsv"]


def read_task(data: Path, dataset: str, split: str, corpus: Corpus, limit: int | None = None) -> Task:
    """A dataset's task, of at most so many queries or pairs."""
    paths = files_of(data, dataset, split)
    require(*paths)
    if dataset == "cdr":
        return _retrieval(paths[0], corpus, limit)
    if dataset == "msrp":
        pairs = [_pairs(_read_msrp(path), corpus, limit) for path in paths]
        return Paraphrase(pairs[0], pairs[1] if split == "test" else None)
    if dataset == "sts12":
        return Correlation(_pairs(_read_sts(*paths), corpus, limit))
    return Correlation(_pairs(_read_rated(paths[0]), corpus, limit))


def _retrieval(path: Path, corpus: Corpus, limit: int | None) -> Retrieval:
    senses: dict[tuple[str, str], list[int]] = {}
    for sense, definition, synset in read_table(path, ["sense", "definition", "synset"]):
        row = corpus.synsets.get(synset_name(synset))
        if row is None:
            raise ValueError(f"{path}: {sense}: WordNet has no synset {synset}")
        senses.setdefault((sense, definition), []).append(row)
    kept = evenly(list(senses), limit)
    queries = corpus.sentences(definition for _, definition in kept)
    return Retrieval(queries, corpus.definitions, [senses[sense] for sense in kept])


Judged = tuple[str, str, float]


def _pairs(judged: list[Judged], corpus: Corpus, limit: int | None) -> Pairs:
    first, second, judgements = zip(*evenly(judged, limit), strict=True)
    return Pairs(corpus.sentences(first), corpus.sentences(second), np.array(judgements))


def _read_rated(path: Path) -> list[Judged]:
    rows = read_table(path, ["sentence 1", "sentence 2", "rating"], header=True)
    return [(first, second, number_of(rating, path, "rating")) for first, second, rating in rows]


def _read_msrp(path: Path) -> list[Judged]:
    rows = read_table(path, MSRP_COLUMNS, header=True)
    return [(first, second, number_of(quality, path, "quality")) for quality, _, _, first, second in rows]


def _read_sts(text: Path, scores: Path) -> list[Judged]:
    lines = [line for _, line in read_lines(text)]
    gold = [number_of(line, scores, "scores") for _, line in read_lines(scores)]
    if len(lines) != 2 * len(gold):
        raise ValueError(f"{text}: expected two lines for each of the {len(gold)} scores, got {len(lines)}")
    return list(zip(lines[::2], lines[1::2], gold, strict=True))
