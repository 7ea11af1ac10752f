"""Text to counts."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register


class SameCounts:
    """All must find the words that CountVectorizer finds, as often, in the same documents."""

    def __init__(self, texts: list[str], lowercase: bool) -> None:
        self.vectorizer = peers.count_vectorizer(lowercase)
        self.counts = self.vectorizer.fit_transform(texts)
        self.counts.sort_indices()

    def __call__(self, contestant: Contestant, result: Any) -> dict[str, Any]:
        model, counts = result
        if contestant.name == "gensim":
            found = (len(model), sum(map(len, counts)), sum(n for bag in counts for _, n in bag))
            expected = (self.counts.shape[1], self.counts.nnz, int(self.counts.sum()))
            if found != expected:
                raise AssertionError(f"gensim: terms, non-zeros and tokens {found}, expected {expected}")
            return {}
        terms = self.vectorizer.get_feature_names_out()
        if set(terms) != set(model.vocabulary_):
            odd = sorted(set(terms) ^ set(model.vocabulary_))
            raise AssertionError(f"{contestant.name}: {len(odd)} terms differ, such as {odd[:5]}")
        if contestant.name == OURS and not counts.has_sorted_indices:
            raise AssertionError("ours: the column indices are not sorted")
        columns = np.fromiter((model.vocabulary_[term] for term in terms), np.int64, len(terms))
        if (counts[:, columns] != self.counts).nnz:
            raise AssertionError(f"{contestant.name}: counts differ")
        return {}


def ours(texts: list[str], threads: int, lowercase: bool) -> Contestant:
    import semproj as sj

    def run() -> Any:
        counter = sj.TermCounter(lowercase=lowercase, n_threads=threads)
        return counter, counter.fit_transform(texts)

    return Contestant(OURS, threads, run)


def theirs(texts: list[str], lowercase: bool) -> Contestant:
    def run() -> Any:
        vectorizer = peers.count_vectorizer(lowercase)
        return vectorizer, vectorizer.fit_transform(texts)

    return Contestant("sklearn", None, run)


def gensim(texts: list[str]) -> list[Contestant]:
    """Its words are cut beforehand, which is not timed: that is in its favour."""
    if peers.available("gensim") is None:
        return []
    word = re.compile(peers.TOKEN)
    tokens = [[sys.intern(token) for token in word.findall(text)] for text in texts]
    return [Contestant("gensim", None, lambda: peers.gensim_counts(tokens))]


@register("text")
def text(options: Options) -> Iterator[Workload]:
    english = data.english(options.pick(50_000_000, 5_000_000, 50_000), options.data)
    texts, n_bytes = english.texts, english.n_bytes
    for name, lowercase in (("count_english", False), ("count_english_lowercase", True)):
        check = SameCounts(texts, lowercase)
        contestants = [ours(texts, threads, lowercase) for threads in options.threads]
        contestants.append(theirs(texts, lowercase))
        if not lowercase:
            contestants += gensim(texts)
        yield Workload(
            name=name,
            words=int(check.counts.sum()),
            contestants=contestants,
            check=check,
            cost=Cost(
                copy_bandwidth=n_bytes + 8.0 * check.counts.nnz,
                meaning="copy: the text read once, the counts (8 bytes a non-zero) written once",
            ),
            rounds=options.pick(5, 3, 2),
            notes=[
                f"{n_bytes / 1e6:.1f} MB in {len(texts)} Python strings; source: {english.source}",
                f"{check.counts.shape[1]} terms, {check.counts.nnz} non-zeros; all counts equal to sklearn's",
                "gensim starts from words already cut, ours and sklearn from text",
            ],
        )
