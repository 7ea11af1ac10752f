"""Estimators that are not fitted on one matrix of rows, or that are fitted sweep by sweep.

For each, how to make it, what to fit it on, and what it answers. The laws in this folder run over these lists: a
new estimator is one more entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import semproj as sj
from tests.support import random_counts
from tests.support.multiview import aligned_documents
from tests.support.relating import planted as planted_relations
from tests.support.tensors import planted as planted_tensor
from tests.support.tensors import sparse
from tests.support.topics import corpus, merged, paired

WORDS = [f"word{i}" for i in range(40)]


@dataclass(frozen=True)
class Case:
    """An estimator, what it is fitted on, and what it answers."""

    estimator: Any
    data: Callable[[int], tuple[Any, ...]]  # from a seed to the arguments of fit
    answers: Callable[[Any, tuple[Any, ...]], list[np.ndarray]]  # of a fitted model, given what it was fitted on
    other: dict[str, Any] = field(default_factory=dict)  # a parameter with a value that makes another model
    note: str = ""

    def make(self, **parameters: Any) -> Any:
        return clone(self.estimator).set_params(**parameters)

    def fit(self, seed: int = 0, **parameters: Any) -> Any:
        return self.make(**parameters).fit(*self.data(seed))

    def __str__(self) -> str:
        return type(self.estimator).__name__ + (f"-{self.note}" if self.note else "")


def _rows(seed: int) -> tuple[Any, ...]:
    return (random_counts(60, 40, 0.2, seed=seed, dtype=np.float64),)


def _counts(seed: int) -> tuple[Any, ...]:
    return (corpus(seed=seed),)


def _views(seed: int) -> tuple[Any, ...]:
    return (merged(paired(seed=seed)),)


def _separate_views(seed: int) -> tuple[Any, ...]:
    return (paired(words=(30, 25), seed=seed),)


def _weighted_views(seed: int) -> tuple[Any, ...]:
    return (aligned_documents(60, 40, seed=seed),)


def _three_float32_views(seed: int) -> tuple[Any, ...]:
    return (aligned_documents(60, 40, 3, seed=seed, dtype=np.float32),)


def _own_columns(seed: int) -> tuple[Any, ...]:
    return ([view[:, first:] for view, first in zip(aligned_documents(60, 40, seed=seed), (0, 5), strict=True)],)


def _tensor(seed: int) -> tuple[Any, ...]:
    # So large that sweeps take relaxed steps: smaller ones are solved exactly.
    return (sparse(planted_tensor((100, 90, 3), (25, 24, 3), noise=2.0, density=0.3, seed=seed)),)


def _slices(seed: int) -> tuple[Any, ...]:
    return (planted_relations(25, seed=seed)[2],)


def _thesaurus(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    relations = {
        name: sp.random(60, 40, density, random_state=rng, format="csr", data_rvs=lambda n: np.ones(n))
        for name, density in (("synonym", 0.1), ("antonym", 0.06))
    }
    return (sj.Thesaurus(WORDS, [f"entry{i}" for i in range(60)], relations),)


def _texts(seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(WORDS[i] for i in rng.integers(0, 40, rng.integers(3, 9))) for _ in range(80)]


def _sentences(seed: int) -> tuple[Any, ...]:
    return (_texts(seed),)


def _rare_words(seed: int) -> tuple[Any, ...]:
    """Sentences of words so rare that counts of counts give discounts."""
    rng = np.random.default_rng(seed)
    phrases = [" ".join(f"w{i}" for i in (3000 * rng.random(3) ** 4).astype(int)) for _ in range(3000)]
    chosen = (3000 * rng.random((1500, 3)) ** 3).astype(int)
    return ([" ".join(phrases[i] for i in row) for row in chosen],)


def _translations(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed + 1)
    texts = _texts(seed)
    translated = [[w if rng.random() < 0.8 else WORDS[rng.integers(40)] for w in text.split()] for text in texts]
    return texts, [" ".join(words).replace("word", "wort") for words in translated]


def _transform(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [model.transform(data[0])]


def _transform_views(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [model.transform(x, view=i) for i, x in enumerate(data[0])]


def _reconstruct(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [model.reconstruct(data[0].coords)]


def _predict(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    i, j = np.triu_indices(data[0][0].shape[0], 1)
    return [*(model.predict(i, j, slice=k) for k in range(2)), model.word_vectors_, model.perspective_vectors_]


def _related(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [np.stack([model.predict(word, WORDS, name) for word in WORDS]) for name in data[0]]


def _degrees(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [
        np.stack([model.degree(word, WORDS, relation) for word in WORDS]) for relation in ("synonym", "antonym")
    ]


def _similarities(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [model.similarity(WORDS, WORDS)]


def _translate(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    rows = sj.TermCounter().fit([*data[0], *data[1]]).transform(data[0]).astype(np.float32)
    return [model.transform(rows).toarray(), model.transform(rows.astype(np.float64)).toarray()]


def _score(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [model.scores(data[0])]


def _classes_of_words(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    return [np.array([model.class_of(word) for word in WORDS])]


def _count(model: Any, data: tuple[Any, ...]) -> list[np.ndarray]:
    found = model.transform(data[0])
    return [x.toarray() for x in (found if isinstance(found, list) else [found])]


def _float32(seed: int) -> tuple[Any, ...]:
    return (_rows(seed)[0].astype(np.float32),)


# Fitted sweep by sweep: all of them make seven sweeps or more.
ITERATIVE = [
    Case(sj.WTMF(5, reg=1.0, max_iter=7, random_state=0), _rows, _transform, {"reg": 2.0}),
    Case(
        sj.WTMF(5, reg=1.0, max_iter=7, orthogonality=1e-3, random_state=0),
        _float32,
        _transform,
        {"reg": 2.0},
        "OrMF-float32",
    ),
    Case(sj.ImplicitALS(5, alpha=2.0, max_iter=7, random_state=0), _counts, _transform, {"alpha": 3.0}),
    Case(
        sj.ImplicitALS(5, alpha=None, max_iter=7, random_state=0),
        _float32,
        _transform,
        {"reg": 2.0},
        "confidence-float32",
    ),
    Case(sj.PLSA(4, max_iter=7, tol=0, random_state=0), _counts, _transform, {"alpha": 1.2}),
    Case(
        sj.PLSA(4, max_iter=7, tol=0, init="random", random_state=3), _counts, _transform, {"beta": 1.02}, "random"
    ),
    Case(sj.JPLSA(4, max_iter=7, tol=0, random_state=0), _views, _transform_views, {"alpha": 1.2}),
    Case(
        sj.JPLSA(4, max_iter=7, tol=0, vocabulary="separate", init="random", random_state=0),
        _separate_views,
        _transform_views,
        {"n_components": 5},
        "separate",
    ),
    Case(sj.CPLSA(4, max_iter=7, tol=0, random_state=0), _views, _transform_views, {"alpha": 1.2}),
    Case(
        sj.CPLSA(4, max_iter=7, tol=0, coupling=30.0, vocabulary="separate", init="random", random_state=0),
        _separate_views,
        _transform_views,
        {"coupling": 20.0},
        "separate",
    ),
    Case(sj.S2Net(3, tol=0, max_iter=7, random_state=0), _weighted_views, _transform_views, {"scale": 5.0}),
    Case(
        sj.S2Net(3, start="random", matrices="separate", reg=0.01, tol=0, max_iter=7, random_state=0),
        _own_columns,
        _transform_views,
        {"reg": 0.02},
        "separate",
    ),
    Case(
        sj.S2Net(3, optimizer="adam", batch_size=20, learning_rate=0.02, tol=0, max_iter=7, random_state=0),
        _three_float32_views,
        _transform_views,
        {"learning_rate": 0.01},
        "adam-three",
    ),
    Case(
        sj.S2Net(3, loss="logistic", negatives="hard", batch_size=20, tol=0, max_iter=7, random_state=0),
        _weighted_views,
        _transform_views,
        {"refresh": 3},
        "hard",
    ),
    Case(sj.Tucker((25, 24, 3), tol=0, max_iter=7, random_state=0), _tensor, _reconstruct, {"ranks": (25, 23, 3)}),
    Case(
        sj.Tucker((25, 24, 3), init="random", tol=0, max_iter=7, random_state=0),
        _tensor,
        _reconstruct,
        {"init": "hosvd"},
        "random",
    ),
    Case(sj.MRLSA(8, tol=0, max_iter=7, random_state=0), _thesaurus, _degrees, {"polarity": 0.25}),
    Case(
        sj.lm.ModelM(classes=4, tol=0, max_iter=7),
        _sentences,
        _score,
        {"alpha": 1.0},
    ),
    Case(sj.lm.WordClasses(5, tol=0, max_iter=7), _sentences, _classes_of_words, {"n_classes": 6}),
    Case(
        sj.RNNLM(5, epochs=7, learning_rate=0.1, held_out=None, random_state=0),
        _sentences,
        _score,
        {"learning_rate": 0.2},
    ),
    Case(
        sj.BPTF(3, burn_in=2, n_samples=5, checkpoint_every=1, random_state=0),
        _slices,
        _predict,
        {"n_components": 2},
    ),
    Case(
        sj.BPTF(
            3,
            burn_in=3,
            n_samples=2,
            thin=2,
            zeros=0.5,
            asymmetric=[1],
            held_out=0.1,
            dtype="float64",
            checkpoint_every=1,
            random_state=0,
        ),
        _slices,
        _predict,
        {"held_out": 0.2},
        "thinned",
    ),
    Case(
        sj.BPTF(3, burn_in=2, n_samples=5, checkpoint_every=1, random_state=0),
        _thesaurus,
        _related,
        {"n_components": 2},
        "words",
    ),
]

# Models of words, and of tensors, are among them; these are solved at once.
WORD_MODELS = [
    Case(sj.PILSA(6, random_state=0), _thesaurus, _similarities, {"n_components": 5}),
    Case(sj.RawRelations(), _thesaurus, _degrees, {"polarity": 0.5}),
]

# From text.
TEXT_MODELS = [
    Case(sj.WordByWord(min_cooccurrence=1), _translations, _translate, {"model1_iter": 1}),
    Case(sj.TermCounter(), lambda seed: (_texts(seed),), _count, {"ngram_range": (1, 2)}),
    Case(sj.MultiTermCounter(), lambda seed: (list(_translations(seed)),), _count, {"vocabulary": "separate"}),
]

# Of sentences.
LANGUAGE_MODELS = [
    Case(sj.NGramLM(), _rare_words, _score, {"order": 2}),
    Case(sj.NGramLM(2, min_counts=(1, 2)), _rare_words, _score, {"min_counts": (1, 1)}, "pruned"),
]

CASES = [*ITERATIVE, *WORD_MODELS, *TEXT_MODELS, *LANGUAGE_MODELS]


@dataclass(frozen=True)
class Built:
    """Something that is not fitted but made, from a seed for its data and a number of threads."""

    build: Callable[[int, int], Any]
    answers: Callable[[Any], list[np.ndarray]]

    def __str__(self) -> str:
        return type(self.build(0, 1)).__name__


def _encoder(seed: int, n_threads: int) -> sj.Encoder:
    counter, weighting = sj.TermCounter(n_threads=n_threads), sj.LogTfIdf(n_threads=n_threads)
    rows = weighting.fit_transform(counter.fit_transform(_texts(seed)))
    return sj.Encoder(counter, weighting, sj.LSA(5, random_state=0, n_threads=n_threads).fit(rows))


def _space(seed: int, n_threads: int) -> sj.ContextSpace:
    return sj.ContextSpace.from_corpus(_texts(seed), n_components=5, n_threads=n_threads)


def _extended(seed: int, n_threads: int) -> sj.ExtendedWordSpace:
    vectors = np.random.default_rng(seed).standard_normal((20, 5))
    return sj.ExtendedWordSpace(WORDS[:20], vectors, context=_space(seed, n_threads), n_threads=n_threads)


def _completer(seed: int, n_threads: int) -> sj.SentenceCompleter:
    completion = sj.completion
    lsa = completion.LSASimilarity(5, min_count=1, n_threads=n_threads)
    near = completion.NearestSentences(min_count=1)
    completer = sj.SentenceCompleter({"lsa": lsa, "near": near}, ridge=0.1).fit(_texts(seed))
    return completer.fit_combination(_questions(seed), [0, 1, 2, 3] * 5)


def _questions(seed: int) -> list[tuple[str, list[str]]]:
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(WORDS, 9).tolist() for _ in range(20)]
    return [(" ".join([*words[:3], "_____", *words[3:5]]), words[5:]) for words in drawn]


def _completed(completer: sj.SentenceCompleter) -> list[np.ndarray]:
    ranked = [completer.complete(question) for question in _questions(9)]
    return [np.array([[each.score, *each.by_method.values()] for each in options]) for options in ranked]


BUILT = [
    Built(_completer, _completed),
    Built(_encoder, lambda encoder: [encoder.encode(_texts(9))]),
    Built(_space, lambda space: [space.vectors]),
    Built(_extended, lambda space: [space.embed(WORDS).vectors]),
    Built(
        lambda seed, n_threads: _thesaurus(seed)[0],
        lambda thesaurus: [thesaurus[name].toarray() for name in ("synonym", "antonym")],
    ),
]
