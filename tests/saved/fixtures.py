"""The models whose files are kept for later versions to read.

``python -m tests.saved.fixtures`` writes those of the installed version into a folder of its own, but for the
ones that are there. Done once for each release that changes the format, and when a class is added; files are never
written again.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import semproj as sj
from semproj.contextspace import ContextSpace
from semproj.lm import DiscountWarning, LanguageModel
from semproj.retrieval import Index

FOLDER = Path(__file__).parent
TEXTS = [
    "red apple pie",
    "green apple tree",
    "blue sea",
    "deep blue sea",
    "green sea",
    "a red tree",
    "Übermut tut gut",
]
QUERY = ["apple tree", "blue apple", "Übermut", "unknown words", "sea sea sea"]


def _counts() -> Any:
    return sj.TermCounter().fit_transform(TEXTS)


def _wide() -> np.ndarray:
    """So many columns that narrow storage is searched."""
    return np.tile(_counts().toarray(), 10)


def _lsa(dtype: type, **options: Any) -> sj.LSA:
    return sj.LSA(3, random_state=0, **options).fit(sj.LogTfIdf().fit_transform(_counts().astype(dtype)))


def _wtmf(dtype: type, **options: Any) -> sj.WTMF:
    weighted = sj.LogTfIdf().fit_transform(_counts().astype(dtype))
    return sj.WTMF(3, reg=0.5, max_iter=5, random_state=0, **options).fit(weighted)


def _encoder(**options: Any) -> sj.Encoder:
    counter, weighting = sj.TermCounter(ngram_range=(1, 2)), sj.LogTfIdf()
    W = weighting.fit_transform(counter.fit_transform(TEXTS))
    return sj.Encoder(counter, weighting, sj.LSA(3, random_state=0).fit(W), **options)


def _ngrams(order: int) -> sj.NGramLM:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)  # so few words
        return sj.NGramLM(order).fit(TEXTS)


def _wordbyword() -> sj.WordByWord:
    backwards = [" ".join(reversed(text.split())) for text in TEXTS]
    return sj.WordByWord(sj.TermCounter().fit(TEXTS), min_cooccurrence=1).fit(TEXTS, backwards)


def _thesaurus() -> sj.Thesaurus:
    counts = _counts()
    words = sj.TermCounter().fit(TEXTS).get_feature_names_out()
    return sj.Thesaurus(words, TEXTS, {"synonym": counts, "antonym": counts[::-1]})


def _views() -> list[Any]:
    weighted = sj.LogTfIdf().fit_transform(_counts().astype(np.float64))
    return [weighted, weighted[::-1]]


def _topics(cls: type, **options: Any) -> Any:
    counts = _counts()
    return cls(3, max_iter=5, init="random", random_state=0, **options).fit(
        counts if cls is sj.PLSA else [counts, counts[::-1]]
    )


def _bptf(**options: Any) -> sj.BPTF:
    pairs = sp.triu(_counts().T @ _counts(), k=1)
    return sj.BPTF(2, burn_in=3, n_samples=4, random_state=0, **options).fit([pairs, pairs])


def _extended_space() -> sj.ExtendedWordSpace:
    words = ["apple", "pie", "deep"]
    vectors = np.array([[1.0, 0.2], [0.5, -1.0], [0.0, 0.0]], np.float32)
    context = ContextSpace.from_corpus(TEXTS, n_components=3)
    return sj.ExtendedWordSpace(
        words, vectors, context=context, n_neighbors=4, n_consistent=2, entry_counts=[3, 1, 1]
    )


MODELS = {
    "multi_counter": lambda: sj.MultiTermCounter(lowercase=True).fit([TEXTS, TEXTS[::-1]]),
    "multi_counter_separate": lambda: sj.MultiTermCounter("separate", drop_top=1).fit([TEXTS, TEXTS[:4]]),
    "log_tfidf": lambda: sj.LogTfIdf().fit(_counts()),
    "tfidf": lambda: sj.TfIdf().fit(_counts()),
    "bm25": lambda: sj.BM25(k1=1.5, b=0.5).fit(_counts()),
    "lsa_float32": lambda: _lsa(np.float32),
    "lsa_centred_float64": lambda: _lsa(np.float64, center=True),
    "implicitals": lambda: sj.ImplicitALS(3, max_iter=5, random_state=0).fit(_counts()),
    "wtmf_float32": lambda: _wtmf(np.float32),
    "wtmf_orthogonal_float64": lambda: _wtmf(np.float64, orthogonality=0.01, tol=1e-6),
    "cllsi": lambda: sj.CLLSI(3, random_state=0).fit([_counts(), _counts()[::-1]]),
    "nearest_neighbor": lambda: sj.NearestNeighborClassifier().fit(
        _counts().toarray(), ["fruit", "fruit", "water", "water", "water", "fruit", "mood"]
    ),
    "wordbyword": lambda: _wordbyword(),
    "opca": lambda: sj.OPCA(3, random_state=0).fit(_views()),
    "cca": lambda: sj.CCA(3, gamma=1.0, random_state=0).fit(_views()),
    "dda": lambda: sj.DDA(3, group_size=5, random_state=0).fit(_views()),
    "s2net": lambda: sj.S2Net(3, max_iter=5, random_state=0).fit(_views()),
    "s2net_separate": lambda: sj.S2Net(
        3, matrices="separate", optimizer="adam", batch_size=4, max_iter=3, random_state=0
    ).fit(_views()),
    "rnnlm": lambda: sj.RNNLM(4, n_slow=2, epochs=3, held_out=None, random_state=0).fit(TEXTS),
    "ngramlm": lambda: _ngrams(3),
    "ngramlm_quantized": lambda: _ngrams(2).quantize(),
    "thesaurus": lambda: _thesaurus(),
    "pilsa": lambda: sj.PILSA(3, random_state=0).fit(_thesaurus()),
    "mrlsa": lambda: sj.MRLSA(3, random_state=0).fit(_thesaurus()),
    "tucker": lambda: sj.Tucker((3, 3, 2), random_state=0).fit([_counts(), _counts()[::-1]]),
    "bptf": lambda: _bptf(),
    "bptf_words": lambda: sj.BPTF(2, burn_in=3, n_samples=4, random_state=0).fit(_thesaurus()),
    "bptf_asymmetric": lambda: _bptf(asymmetric=[1], dtype="float64"),
    "plsa": lambda: _topics(sj.PLSA),
    "jplsa": lambda: _topics(sj.JPLSA),
    "jplsa_separate": lambda: _topics(sj.JPLSA, vocabulary="separate"),
    "cplsa": lambda: _topics(sj.CPLSA, coupling=np.inf),
    "cplsa_separate": lambda: _topics(sj.CPLSA, vocabulary="separate", norm="l2"),
    "context_space": lambda: ContextSpace.from_corpus(TEXTS, n_components=3),
    "extended_space": lambda: _extended_space(),
    "index": lambda: Index(_counts().toarray(), ids=[3, 1, 4, 15, 9, 2, 6]),
    "index_int8": lambda: Index(_wide(), metric="inner_product", storage="int8"),
    "word_classes": lambda: sj.lm.WordClasses(3, min_count=2).fit(TEXTS),
    "modelm": lambda: sj.lm.ModelM(classes=3, max_iter=5).fit(TEXTS),
    "completer": lambda: _completer(),
    "encoder": lambda: _encoder(),
    "encoder_int8": lambda: _encoder(storage="int8", normalize=True),
}


def _completer() -> sj.SentenceCompleter:
    completion = sj.completion
    methods = {
        "lsa": completion.LSASimilarity(3, min_count=1),
        "lsa-lm": completion.LSALanguageModel(sj.NGramLM(2), completion.LSASimilarity(3, min_count=1)),
        "pmi": completion.PMI(stop_words=0, min_count=1),
        "near": completion.NearestSentences(min_count=1),
        "reconstruction": completion.LSAReconstruction(0.5, min_count=1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)  # so few words
        completer = sj.SentenceCompleter(methods, ridge=0.1).fit(TEXTS)
    return completer.fit_combination(
        [("red _____ pie", ["apple", "sea"]), ("deep _____ sea", ["pie", "blue"])], [0, 1]
    )


def vectors(model: Any) -> np.ndarray:
    """What the model makes of the query."""
    if isinstance(model, LanguageModel):
        return model.scores(QUERY)
    if isinstance(model, sj.SentenceCompleter):
        ranked = model.complete("green _____ tree", ["apple", "sea", "pie"])
        return np.array([[each.option, each.score, *each.by_method.values()] for each in ranked])
    if isinstance(model, sj.Encoder):
        return model.encode(QUERY)
    if isinstance(model, sj.MultiTermCounter):
        return np.hstack([rows.toarray() for rows in model.transform([QUERY, QUERY])])
    if isinstance(model, sj.NearestNeighborClassifier):
        labels = model.predict(sj.TermCounter().fit(TEXTS).transform(QUERY).toarray())
        return np.searchsorted(["fruit", "mood", "water"], labels)
    if isinstance(model, Index):
        queries = sj.TermCounter().fit(TEXTS).transform(QUERY).toarray()
        ids, scores = model.search(np.tile(queries, model.n_columns // queries.shape[1]), 7)
        return np.stack([ids, np.nan_to_num(scores)])
    if isinstance(model, sj.Thesaurus):
        return model["antonym"].toarray()
    if isinstance(model, sj.ExtendedWordSpace):
        return model.embed(["apple", "applepie", "sea", "tree", "green"]).vectors
    if isinstance(model, ContextSpace):
        return model.vectors[[model.vocabulary[word] for word in sorted(model.words)]]
    if isinstance(model, sj.PILSA):
        return model.similarity(model.words_, model.words_)
    if isinstance(model, sj.MRLSA):
        return np.array([model.degree(word, model.words_, "antonym") for word in model.words_])
    if isinstance(model, sj.Tucker):
        return model.reconstruct(np.indices(model.shape_).reshape(3, -1))
    if isinstance(model, sj.BPTF):
        i, j = np.indices((model.samples_.shape[1],) * 2).reshape(2, -1)
        return np.array([model.predict(i, j, slice=k) for k in range(model.perspective_samples_.shape[1])])
    if isinstance(model, sj.lm.LanguageModel):
        return model.scores(QUERY)
    if isinstance(model, sj.lm.WordClasses):
        return np.array([model.class_of(word) for text in QUERY for word in text.split()])
    rows = sj.TermCounter().fit(TEXTS).transform(QUERY).astype(np.float32)  # which may be weights
    if "separate" in (getattr(model, "vocabulary", None), getattr(model, "matrices", None)):
        return np.vstack([model.transform(rows, view=view) for view in range(2)])
    result = model.transform(rows)
    return result if isinstance(result, np.ndarray) else result.toarray()


if __name__ == "__main__":
    folder = FOLDER / f"v{sj.__version__}"
    folder.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        if (folder / f"{name}.safetensors").exists():
            continue
        model = make()
        model.save(folder / f"{name}.safetensors")
        np.save(folder / f"{name}.npy", vectors(model))
