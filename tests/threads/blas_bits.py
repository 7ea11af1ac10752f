"""Prints a digest of all that each public estimator computes, on data so large that BLAS uses its threads."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import semproj as sj
from semproj.completion import LSAReconstruction, LSASimilarity
from semproj.lm import DiscountWarning
from tests.support import random_counts
from tests.support.relating import planted as planted_relations
from tests.support.tensors import planted as planted_tensor
from tests.support.tensors import sparse

WORDS = [f"word{i}" for i in range(1500)]
VIEWS = [random_counts(500, 700, 0.05, seed=seed, dtype=np.float64) for seed in (1, 2)]
ROWS = random_counts(300, 20_000, 0.01, seed=3, dtype=np.float64)
COUNTS = random_counts(300, 1500, 0.05, seed=4)
LABELS = np.arange(400) % 5


def thesaurus() -> sj.Thesaurus:
    rng = np.random.default_rng(5)
    relations = {
        name: sp.random(1200, 1500, 0.01, random_state=rng, format="csr", data_rvs=np.ones)
        for name in ("synonym", "antonym")
    }
    return sj.Thesaurus(WORDS, [f"entry{i}" for i in range(1200)], relations)


def texts() -> list[str]:
    rng = np.random.default_rng(6)
    return [" ".join(WORDS[i] for i in rng.integers(0, 1500, 20)) for _ in range(400)]


def lsa(**parameters: Any) -> list[Any]:
    model = sj.LSA(100, random_state=0, **parameters).fit(ROWS)
    Z = model.transform(ROWS)
    later = sj.LSA(100, random_state=0, **parameters).fit(ROWS[:150]).partial_fit(ROWS[150:])
    return [model, Z, model.inverse_transform(Z), later, later.transform(ROWS)]


def encoder() -> list[Any]:
    counter = sj.TermCounter()
    rows = counter.fit_transform(texts()).astype(np.float32)
    model = sj.LSA(100, center=True, random_state=0).fit(rows)
    return [sj.Encoder(counter, None, model).encode(texts())]


def views_of(model: Any) -> list[Any]:
    model.fit(VIEWS)
    if isinstance(model, (sj.CCA, sj.JPLSA, sj.CPLSA, sj.S2Net)):
        return [model, *(model.transform(x, view=i) for i, x in enumerate(VIEWS))]
    return [model, model.transform(VIEWS[0])]


def wtmf() -> list[Any]:
    rows = COUNTS.astype(np.float32)
    model = sj.WTMF(60, reg=1.0, max_iter=3, orthogonality=1e-3, random_state=0).fit(rows)
    return [model, model.transform(rows), model.similarity(rows), model.similarity(rows, rows)]


def implicitals() -> list[Any]:
    model = sj.ImplicitALS(60, max_iter=3, random_state=0).fit(COUNTS)
    return [model, model.transform(COUNTS), model.recommend(COUNTS, 5)[1]]


def words_of(model: Any) -> list[Any]:
    model.fit(thesaurus())
    return [model, model.similarity(WORDS[:300], WORDS[:300]), model.most_similar(WORDS[0], 20)]


def mrlsa(model: Any) -> list[Any]:
    model.fit(thesaurus())
    return [model, model.degree(WORDS[0], WORDS, "antonym"), model.top_words(WORDS[0], "synonym", 20)]


def bptf(**parameters: Any) -> list[Any]:
    with threadpool_limits(1):
        slices = planted_relations(300, d=20, share=0.2, seed=7)[2]
    model = sj.BPTF(20, burn_in=2, n_samples=3, random_state=0, **parameters).fit(slices)
    i, j = np.triu_indices(300, 1)
    cells = model.predict(i, j, slice=0)
    metric = sj.learn_metric(model.word_vectors_, i, j, cells, max_iter=5, tol=0.9)
    new = model.add_words([sp.random(30, 300, 0.2, random_state=np.random.default_rng(11)), None])
    return [model, cells, model.perspective_correlations(), metric, new]


def tucker() -> list[Any]:
    with threadpool_limits(1):
        tensor = sparse(planted_tensor((300, 250, 3), (40, 38, 3), noise=2.0, density=0.1, seed=8))
    model = sj.Tucker((40, 38, 3), tol=0, max_iter=4, random_state=0).fit(tensor)
    return [model, model.reconstruct(tensor.coords)]


def extended() -> list[Any]:
    space = sj.ContextSpace.from_corpus(texts(), n_components=40)
    vectors = np.random.default_rng(9).standard_normal((900, 40))
    model = sj.ExtendedWordSpace(WORDS[:900], vectors, context=space)
    return [space.vectors, model.embed(WORDS).vectors]


def classifier() -> list[Any]:
    Z = np.random.default_rng(10).standard_normal((400, 300)).astype(np.float32)
    model = sj.NearestNeighborClassifier(3).fit(Z, LABELS)
    return [model.predict(Z)]


def wordbyword() -> list[Any]:
    rows = sj.TermCounter().fit_transform(texts())
    return [sj.WordByWord(min_cooccurrence=1).fit(texts(), texts()).transform(rows)]


def language(model: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)  # words drawn alike have no discounts
        model.fit(texts())
    return [model.scores(texts())]


def completed() -> list[Any]:
    methods = {"lsa": LSASimilarity(60, min_count=1), "reconstruction": LSAReconstruction(0.5, min_count=1)}
    completer = sj.SentenceCompleter(methods).fit(texts())
    asked = completer.complete(" ".join([*WORDS[:9], "_____", *WORDS[9:19]]), WORDS[19:29])
    return [np.array([list(each.by_method.values()) for each in asked])]


def weighted(model: Any) -> list[Any]:
    return [model.fit(COUNTS), model.transform(COUNTS).data]


def counted(model: Any, documents: Any) -> list[Any]:
    found = model.fit(documents).transform(documents)
    return [x.data for x in (found if isinstance(found, list) else [found])]


CASES: dict[str, Callable[[], list[Any]]] = {
    "LSA": lsa,
    "ModelM": lambda: language(sj.ModelM(classes=5, max_iter=3)),
    "NGramLM": lambda: language(sj.NGramLM()),
    "RNNLM": lambda: language(sj.RNNLM(64, epochs=1, random_state=0)),
    "SentenceCompleter": completed,
    "WordClasses": lambda: [sj.WordClasses(20).fit(texts()).classes_],
    "LSA centred": lambda: lsa(center=True),
    "LSA lanczos": lambda: lsa(solver="lanczos", center=True),
    "Encoder": encoder,
    "CLLSI": lambda: views_of(sj.CLLSI(20, random_state=0)),
    "OPCA cholesky": lambda: views_of(sj.OPCA(20, solver="cholesky", random_state=0)),
    "OPCA dual": lambda: views_of(sj.OPCA(20, solver="dual", random_state=0)),
    "OPCA cg": lambda: views_of(sj.OPCA(20, solver="cg", random_state=0)),
    "CCA cholesky": lambda: views_of(sj.CCA(20, gamma=1.0, solver="cholesky", random_state=0)),
    "CCA dual": lambda: views_of(sj.CCA(20, gamma=1.0, solver="dual", random_state=0)),
    "DDA": lambda: views_of(sj.DDA(20, group_size=200, random_state=0)),
    "S2Net": lambda: views_of(sj.S2Net(20, max_iter=3, random_state=0)),
    "S2Net separate": lambda: views_of(sj.S2Net(20, matrices="separate", max_iter=3, random_state=0)),
    "S2Net adam": lambda: views_of(
        sj.S2Net(20, optimizer="adam", negatives="hard", batch_size=200, max_iter=2, random_state=0)
    ),
    "PLSA": lambda: weighted_topics(sj.PLSA(20, max_iter=3, random_state=0)),
    "JPLSA": lambda: views_of(sj.JPLSA(20, max_iter=3, random_state=0)),
    "CPLSA": lambda: views_of(sj.CPLSA(20, max_iter=3, random_state=0)),
    "WTMF": wtmf,
    "ImplicitALS": implicitals,
    "PILSA": lambda: words_of(sj.PILSA(60, random_state=0)),
    "MRLSA": lambda: mrlsa(sj.MRLSA(40, max_iter=3, random_state=0)),
    "RawRelations": lambda: [sj.RawRelations().fit(thesaurus()).degree(WORDS[0], WORDS, "antonym")],
    "Tucker": tucker,
    "BPTF": bptf,
    "BPTF thinned": lambda: bptf(zeros=0.5, asymmetric=[1], dtype="float64"),
    "ExtendedWordSpace": extended,
    "NearestNeighborClassifier": classifier,
    "LogTfIdf": lambda: weighted(sj.LogTfIdf()),
    "TfIdf": lambda: weighted(sj.TfIdf()),
    "BM25": lambda: weighted(sj.BM25()),
    "CustomWeighting": lambda: weighted(sj.CustomWeighting(lambda count, df, n, length: count / (df + length))),
    "WordByWord": wordbyword,
    "TermCounter": lambda: counted(sj.TermCounter(), texts()),
    "MultiTermCounter": lambda: counted(sj.MultiTermCounter(), [texts(), texts()]),
}


def weighted_topics(model: Any) -> list[Any]:
    return [model.fit(COUNTS), model.transform(COUNTS), model.perplexity(COUNTS)]


def arrays_of(thing: Any) -> Iterator[Any]:
    """Arrays and numbers of results, and of what a model has fitted."""
    if isinstance(thing, (np.ndarray, float, int, str)):
        yield np.ascontiguousarray(thing)
    elif sp.issparse(thing):
        yield from (thing.indptr, thing.indices, thing.data)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            yield from arrays_of(each)
    elif hasattr(thing, "__dict__"):
        for name, value in sorted(vars(thing).items()):
            if name.endswith("_") or isinstance(value, np.ndarray):
                yield from arrays_of(value)


def digest(things: list[Any]) -> str:
    found = hashlib.sha256()
    for array in arrays_of(things):
        found.update(f"{array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def print_digests() -> None:
    print(json.dumps({name: digest(case()) for name, case in CASES.items()}))
