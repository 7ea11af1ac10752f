"""Text to dense vectors with fitted models."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from benchmarks import data, peers
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register
from benchmarks.ratios.workloads.project import relative_error

TOLERANCE = 1e-5


def fit_ours(texts: list[str], sample: int, features: int, k: int) -> tuple[Any, Any, Any]:
    import semproj as sj

    counter = sj.TermCounter(max_features=features).fit(texts)
    weighting = sj.LogTfIdf()
    weighted = weighting.fit_transform(counter.transform(texts[:sample]))
    return counter, weighting, sj.LSA(n_components=k, random_state=0).fit(weighted)


def fit_sklearn(texts: list[str], sample: int, vocabulary: dict[str, int], k: int) -> tuple[Any, Any]:
    """The same vocabulary, float32 throughout. How good the fit is has no part in how fast it transforms."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        lowercase=False, token_pattern=peers.TOKEN, vocabulary=vocabulary, dtype=np.float32
    )
    weighted = vectorizer.fit(texts[:sample]).transform(texts[:sample])
    return vectorizer, TruncatedSVD(k, n_iter=1, random_state=0).fit(weighted)


@register("encode")
def encode(options: Options) -> Iterator[Workload]:
    import semproj as sj

    english = data.english(options.pick(20_000_000, 4_000_000, 60_000), options.data)
    texts = english.texts
    features, k = options.pick((20_000, 500), (20_000, 500), (200, 10))
    sample = min(len(texts), options.pick(4_000, 1_500, 60))
    counter, weighting, model = fit_ours(texts, sample, features, k)
    counts = counter.transform(texts)
    vectorizer, svd = fit_sklearn(texts, sample, counter.vocabulary_, k)

    def encoder_with(threads: int) -> Any:
        """The parts bring the number of threads; their fitted arrays are shared."""
        parts = [copy(part) for part in (counter, weighting, model)]
        for part in parts:
            part.n_threads = threads
        return sj.Encoder(*parts)

    contestants = []
    for threads in options.threads:
        encoder = encoder_with(threads)
        out = np.full((len(texts), k), np.nan, np.float32)
        contestants.append(Contestant(OURS, threads, lambda e=encoder, o=out: e.encode(texts, out=o)))
    contestants.append(Contestant("sklearn", None, lambda: svd.transform(vectorizer.transform(texts))))

    picked = np.linspace(0, len(texts) - 1, min(200, len(texts))).astype(int)
    some = [texts[i] for i in picked]
    truth = {
        OURS: in_float64(weighting.transform(counter.transform(some)), model),
        "sklearn": in_float64(vectorizer.transform(some), svd),
    }
    if (counts[picked] != vectorizer_counts(vectorizer, some)).nnz:
        raise AssertionError("ours and sklearn do not see the same words")

    def check(contestant: Contestant, result: Any, which: np.ndarray = picked) -> dict[str, Any]:
        if result.shape != (len(texts) if which is picked else 1, k) or result.dtype != np.float32:
            raise AssertionError(f"{contestant.name}: got {result.shape} {result.dtype}")
        expected = truth[contestant.name] if which is picked else truth[contestant.name][which]
        found = result[picked] if which is picked else result
        error = relative_error(found.astype(np.float64), expected)
        if not error <= TOLERANCE:
            raise AssertionError(f"{contestant.name}: relative error {error:.2e}, expected at most {TOLERANCE}")
        return {"error": error}

    words = int(peers.count_vectorizer().fit_transform(texts).sum())
    yield Workload(
        name="encode_d500",
        words=words,
        contestants=contestants,
        check=check,
        cost=Cost(
            copy_bandwidth=english.n_bytes + 4.0 * k * (counts.shape[1] + len(texts)),
            cache_bandwidth=4.0 * counts.nnz * k,
            fma_peak=2.0 * counts.nnz * k,
            meaning="copy: text and projection read once, vectors written once; cache: nnz x d x 4 bytes; "
            "fma: 2 x nnz x d",
        ),
        rounds=options.pick(5, 3, 2),
        notes=[
            f"{english.n_bytes / 1e6:.1f} MB in {len(texts)} Python strings; source: {english.source}",
            f"the same {counts.shape[1]} terms, d={k}; ours weights by log tf-idf, sklearn by tf-idf; each "
            "is checked against the float64 product of its own weights and components; fitting is not timed",
        ],
    )

    middle = int(np.argsort([len(text) for text in some])[len(some) // 2])
    one, encoders = [some[middle]], {n: encoder_with(n) for n in options.threads}
    yield Workload(
        name="encode_one_text",
        words=len(one[0].split()),
        contestants=[
            *(Contestant(OURS, n, lambda e=encoder: e.encode(one)) for n, encoder in encoders.items()),
            Contestant("sklearn", None, lambda: svd.transform(vectorizer.transform(one))),
        ],
        check=lambda contestant, result: check(contestant, result, np.array([middle])),
        rounds=options.pick(9, 5, 2),
        notes=[f"latency: one text of {len(one[0])} characters in a call"],
    )


def in_float64(weighted: Any, model: Any) -> np.ndarray:
    return weighted.astype(np.float64) @ model.components_.T.astype(np.float64)


def vectorizer_counts(vectorizer: Any, texts: list[str]) -> Any:
    return peers.count_vectorizer(vocabulary=vectorizer.vocabulary_).transform(texts)
