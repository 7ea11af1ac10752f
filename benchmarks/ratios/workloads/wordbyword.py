"""Word-by-word translation: rows translated, and the probabilities learnt."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

TRANSLATIONS = 6  # of a term, on average: what fitting on Europarl leaves above a probability of 0.01


def sentences(n: int, n_words: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    """Documents of ten sentence pairs: Zipf words, and translations by a dictionary in nearly their order."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(5, 45, n)
    words = data.zipf_words(int(lengths.sum()), n_words, seed)
    places = np.arange(len(words)) + rng.normal(0, 1.0, len(words))
    sides: tuple[list[list[str]], list[list[str]]] = ([], [])
    dictionary = rng.permutation(n_words)
    for i, (begin, end) in enumerate(zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True)):
        mine = words[begin:end]
        theirs = dictionary[mine[np.argsort(places[begin:end], kind="stable")]]
        for side, some, letter in zip(sides, (mine, theirs), "st", strict=True):
            if i % 10 == 0:
                side.append([])
            side[-1].append(" ".join(f"{letter}{word}" for word in some))
    return sides


def translation_matrix(n_terms: int, seed: int = 0) -> csr_matrix:
    """Rows that add up to one, with a few terms each, frequent ones more often."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(n_terms), rng.poisson(TRANSLATIONS - 1, n_terms) + 1)
    matrix = csr_matrix(
        (rng.random(len(row)), (row, data.zipf_words(len(row), n_terms, seed + 1))), (n_terms,) * 2
    )
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    return matrix.astype(np.float32)


def translate(options: Options) -> Workload:
    import semproj as sj

    n, terms = options.pick((20_000, 20_000), (5_000, 20_000), (60, 200))
    counts = data.zipf_counts(n, terms)
    X, matrix = data.log_counts(counts), translation_matrix(terms)
    model = sj.WordByWord()
    model.translation_ = matrix
    expected = X.astype(np.float64) @ matrix.astype(np.float64)

    contestants = []
    for threads in options.threads:
        mine = copy(model)
        mine.n_threads = threads
        contestants.append(Contestant(OURS, threads, lambda m=mine: m.transform(X)))
    contestants.append(Contestant("scipy", None, lambda: X @ matrix))
    mkl = peers.load_mkl()
    if mkl is not None:
        contestants += [
            Contestant("mkl", threads, lambda: mkl.dot_product_mkl(X, matrix)) for threads in options.threads
        ]

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        error = abs(result - expected).max() / abs(expected).max()
        if not error <= 1e-5:
            raise AssertionError(f"{contestant.name}: error {error:.2e}, expected at most 1e-5")
        if contestant.name == OURS and not result.has_sorted_indices:
            raise AssertionError("ours: the column indices are not sorted")
        return {"error": float(error)}

    products = int(np.diff(matrix.indptr)[X.indices].sum())
    return Workload(
        name="translate_20k",
        words=X.nnz,
        contestants=contestants,
        check=check,
        cost=Cost(
            copy_bandwidth=8.0 * (X.nnz + expected.nnz),
            cache_bandwidth=8.0 * products,
            meaning="copy: rows read once, the result (8 bytes a non-zero) written once; cache: 8 bytes a product",
        ),
        rounds=options.pick(9, 5, 2),
        notes=[
            data.MATRIX_NOTE,
            f"{X.nnz} non-zeros in {n} rows of {terms} terms; {matrix.nnz} translations, {products} products, "
            f"{expected.nnz} non-zeros in the result, float32",
            "ours has sorted indices; scipy's and mkl's are not sorted",
        ],
    )


def train(options: Options) -> Workload:
    import semproj as sj

    n, types = options.pick((100_000, 50_000), (10_000, 20_000), (100, 60))
    source, target = sentences(n, types)
    words = sum(text.count(" ") + 1 for document in source for text in document)

    def fit(threads: int) -> Any:
        return sj.WordByWord(model1_iter=5, hmm_iter=5, model1_tol=0.0, hmm_tol=0.0, n_threads=threads).fit(
            source, target
        )

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        if not (np.diff(result.model1_log_likelihood_) > 0).all():
            raise AssertionError(f"{contestant.name}: the likelihood went down")
        return {"cells": result.n_cells_}

    return Workload(
        name="train_5_and_5",
        words=words,
        contestants=[Contestant(OURS, threads, lambda t=threads: fit(t)) for threads in options.threads],
        check=check,
        rounds=options.pick(3, 2, 2),
        notes=[
            f"{n} sentence pairs, {words} source words, {types} types; from strings to the matrix: sentences "
            "aligned, 5 iterations of Model 1, 5 of the HMM; words: of the source, each seen in all iterations",
            "no peer: toolkits for word alignment are programs that read and write files",
        ],
    )


@register("wordbyword")
def wordbyword(options: Options) -> Iterator[Workload]:
    yield translate(options)
    yield train(options)
