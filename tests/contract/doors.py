"""Every public function and method that takes a sparse matrix: one more of them is one more line here.

A door hands each matrix that it passes in through a function of the caller, which may lay it out anew or break it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import semproj as sj
from semproj.kernels import STORAGES, Projection, project, project_posteriors, weighted_row_solve
from tests.contract.cases import _thesaurus, _translations
from tests.contract.estimators import ESTIMATORS, MULTIVIEW
from tests.support import random_counts

Laid = Callable[[Any], Any]  # from a CSR matrix to the same one in another layout


@dataclass(frozen=True)
class Door:
    name: str
    call: Callable[[Laid], Any]

    def __str__(self) -> str:
        return self.name


@functools.cache
def counts(seed: int = 0) -> Any:
    """Few rows and columns, no duplicates; some rows are empty."""
    return random_counts(60, 40, 0.2, seed=seed, dtype=np.float64)


def learned(model: Any) -> list[Any]:
    """The fitted attributes that are numbers."""
    found = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
    values = [found[k] for k in sorted(found) if isinstance(found[k], (np.ndarray, float, int)) or k == "factors_"]
    parts = [*getattr(model, "views_", []), *filter(None, [getattr(model, "weighting_", None)])]
    return [values, *map(learned, parts)]


@functools.cache
def fitted(number: int) -> Any:
    return clone(MODELS[number]).fit(counts() if number < len(ESTIMATORS) else [counts(), counts(1)])


MODELS = [*ESTIMATORS, *MULTIVIEW, sj.CLLSI(n_components=3, random_state=0)]


def _projected(number: int, laid: Laid) -> Any:
    model = fitted(number)
    views = hasattr(model, "views_") or getattr(model, "vocabulary", "shared") == "separate"
    found = model.transform(laid(counts(1)), **({"view": 1} if views else {}))
    return found.toarray() if sp.issparse(found) else found


def _of_models() -> list[Door]:
    doors = []
    for number, model in enumerate(MODELS):
        one = number < len(ESTIMATORS)

        def fit(laid: Laid, model: Any = model, one: bool = one) -> Any:
            X = laid(counts()) if one else [laid(counts()), laid(counts(1))]
            return learned(clone(model).fit(X))

        doors.append(Door(f"{model}.fit".replace("\n", ""), fit))
        doors.append(Door(f"{model}.transform".replace("\n", ""), functools.partial(_projected, number)))
    return doors


def _model(kind: type) -> Any:
    return fitted(next(number for number, model in enumerate(MODELS) if type(model) is kind))


def _more_rows(kind: type, laid: Laid) -> Any:
    X = laid(counts(1)) if kind is sj.LSA else [laid(counts(1)), laid(counts())]
    return learned(clone(_model(kind)).fit(counts() if kind is sj.LSA else [counts(), counts(1)]).partial_fit(X))


def _projection(laid: Laid, storage: str | None = None, **options: Any) -> Any:
    P = np.random.default_rng(0).standard_normal((40, 7)).astype(np.float32)
    return project(laid(counts()), P if storage is None else Projection(P, storage), **options)


def _factors() -> Any:
    return np.random.default_rng(0).standard_normal((40, 5))


def _solved(laid: Laid, weights: Laid | None = None) -> Any:
    heavy = None if weights is None else weights(counts())
    return weighted_row_solve(laid(counts()), _factors(), missing_weight=0.1, reg=0.5, weights=heavy)


def _posteriors(first: Laid, second: Laid) -> Any:
    rng = np.random.default_rng(0)
    theta, phi = rng.dirichlet(np.ones(3), 60), rng.dirichlet(np.ones(40), 3)
    return project_posteriors(theta, theta, phi, phi, first(counts()), second(counts(1)), 5.0)


def _slices() -> list[Any]:
    rng = np.random.default_rng(0)
    return [sp.csr_matrix(np.triu(rng.standard_normal((15, 15)) * (rng.random((15, 15)) < 0.6), 1)) for _ in "12"]


@functools.cache
def _chain() -> Any:
    return sj.BPTF(2, burn_in=2, n_samples=3, random_state=0).fit(_slices())


def _sampled(laid: Laid) -> Any:
    return learned(sj.BPTF(2, burn_in=2, n_samples=3, random_state=0).fit([laid(x) for x in _slices()]))


def _new_words(laid: Laid) -> Any:
    more = [laid(sp.csr_matrix(x[:4])) for x in _slices()]
    return learned(_chain().add_words(more))


def _tensor(laid: Laid) -> Any:
    made = sj.SparseTensor.from_slices([laid(counts()), laid(counts(1))])
    return made.coords, made.values


def _decomposed(laid: Laid) -> Any:
    return learned(sj.Tucker((4, 4, 2), max_iter=3, random_state=0).fit([laid(counts()), laid(counts(1))]))


def _decomposed_matrix(laid: Laid) -> Any:
    return learned(sj.Tucker((4, 4), max_iter=3, random_state=0).fit(laid(counts())))


def _relations(laid: Laid) -> Any:
    given = _thesaurus(0)[0]
    made = sj.Thesaurus(given.words, given.entries, {name: laid(given[name]) for name in given.relations})
    return [each.toarray() for each in made.relations.values()]


@functools.cache
def _translator() -> Any:
    return sj.WordByWord(min_cooccurrence=1).fit(*_translations(0))


def _translated(laid: Laid) -> Any:
    X = random_counts(15, _translator().n_features_in_, 0.2, dtype=np.float64)
    return _translator().transform(laid(X)).toarray()


def _same(x: Any) -> Any:
    return x


DOORS = [
    *_of_models(),
    Door("project(array)", _projection),
    *(Door(f"project({s})", functools.partial(_projection, storage=s)) for s in STORAGES),
    Door("project(normalize)", functools.partial(_projection, normalize=True)),
    *(
        Door(f"project(weighting={w.__name__})", lambda laid, w=w: _projection(laid, weighting=_model(w)))
        for w in (sj.LogTfIdf, sj.BM25, type(ESTIMATORS[6]))
    ),
    Door("weighted_row_solve(X)", _solved),
    Door("weighted_row_solve(weights)", lambda laid: _solved(_same, laid)),
    Door("weighted_row_solve(X, weights)", lambda laid: _solved(laid, laid)),
    Door("project_posteriors(counts1)", lambda laid: _posteriors(laid, _same)),
    Door("project_posteriors(counts2)", lambda laid: _posteriors(_same, laid)),
    Door("LSA.partial_fit", functools.partial(_more_rows, sj.LSA)),
    Door("CLLSI.partial_fit", functools.partial(_more_rows, sj.CLLSI)),
    Door("ImplicitALS.recommend", lambda laid: _model(sj.ImplicitALS).recommend(laid(counts()), 3)),
    Door("WTMF.similarity(X)", lambda laid: _model(sj.WTMF).similarity(laid(counts()))),
    Door("WTMF.similarity(Y)", lambda laid: _model(sj.WTMF).similarity(counts(), laid(counts(1)))),
    Door("PLSA.objective", lambda laid: _model(sj.PLSA).objective(laid(counts()))),
    Door("PLSA.perplexity", lambda laid: _model(sj.PLSA).perplexity(laid(counts(1)))),
    Door("PLSA.fitted_perplexity", lambda laid: _model(sj.PLSA).fitted_perplexity(laid(counts(1)))),
    Door("PLSA.score", lambda laid: _model(sj.PLSA).score(laid(counts(1)))),
    Door("JPLSA.objective", lambda laid: _model(sj.JPLSA).objective([laid(counts()), laid(counts(1))])),
    Door("JPLSA.perplexity", lambda laid: _model(sj.JPLSA).perplexity(laid(counts(1)))),
    Door("JPLSA.fitted_perplexity", lambda laid: _model(sj.JPLSA).fitted_perplexity(laid(counts(1)))),
    Door("JPLSA.score", lambda laid: _model(sj.JPLSA).score(laid(counts(1)))),
    Door("CPLSA.objective", lambda laid: _model(sj.CPLSA).objective([laid(counts()), laid(counts(1))])),
    Door("BPTF.fit", _sampled),
    Door("BPTF.add_words", _new_words),
    Door("SparseTensor.from_slices", _tensor),
    Door("Tucker.fit(slices)", _decomposed),
    Door("Tucker.fit(matrix)", _decomposed_matrix),
    Door("Thesaurus", _relations),
    Door("WordByWord.transform", _translated),
]
