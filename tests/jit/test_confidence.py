"""Confidences and targets of cells by functions: WTMF and ImplicitALS beside what is built in, and dense."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import WTMF, ImplicitALS
from tests.reference import wtmf as reference
from tests.support import random_counts, same_bits
from tests.support.factorizing import relative_error
from tests.support.interrupting import interrupted, seconds_after_ctrl_c

DTYPES = [np.float32, np.float64]
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-9}  # of a sweep from the vectors before it


def of_ratings(x):
    """Above and below the weight of missing cells, and 0 where x is 2."""
    return 0.6 * (x - 2) ** 2


def centered(x):
    """Of both signs, and 0 where x is 3."""
    return (x - 3) / 2


def wtmf(**options):
    return WTMF(5, **{"missing_weight": 0.05, "reg": 1.0, "max_iter": 4, "random_state": 0, **options})


def als(**options):
    return ImplicitALS(5, **{"reg": 0.5, "max_iter": 4, "random_state": 0, **options})


MODELS = {"WTMF": wtmf, "ImplicitALS": als}
MISSING = {"WTMF": 0.05, "ImplicitALS": 1.0}


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def ratings(dtype=np.float64, n=70, m=45, density=0.15, seed=0):
    """From 1 to 5; two rows are empty, and one is long."""
    X = random_counts(n, m, density, seed=seed, dtype=dtype).tolil()
    X[5, : m - 3] = np.arange(m - 3) % 5 + 1
    return X.tocsr().astype(dtype)


def with_cell(X, row, column, value):
    X = X.tolil()
    X[row, column] = value
    return X.tocsr()


def assert_same_model(a, b, X):
    """Of the fit, and of rows solved by it."""
    for attribute in ("components_", "objective_"):
        assert same_bits(getattr(a, attribute), getattr(b, attribute)), attribute
    assert same_bits(a.fit_transform(X), b.fit_transform(X))
    assert same_bits(a.transform(X[3:9]), b.transform(X[3:9]))


class TestBuiltIn:
    """What is built in, written as functions, to the same bits: the solves sum in the same order."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("alpha", [40.0, 0.5, 8.0, None])
    @pytest.mark.parametrize("decorate", [lambda f: f, numba.njit])
    def test_of_implicit_feedback(self, alpha, dtype, decorate):
        X = ratings(dtype)
        confidence = decorate((lambda x: x) if alpha is None else (lambda x: 1 + alpha * x))
        by_function = als(confidence=confidence, target=decorate(lambda x: 1.0)).fit(X)
        assert_same_model(by_function, als(alpha=alpha).fit(X), X)

    @pytest.mark.parametrize("alpha", [0.1, 7.7])
    def test_of_values_that_float32_rounds(self, alpha):
        """The function is computed in double and rounded once, ``1 + alpha * x`` of a float32 array twice."""
        X = ratings(np.float32)
        X.data = np.random.default_rng(0).gamma(2.0, 3.0, X.nnz).astype(np.float32)
        one, other = als(confidence=lambda x: 1 + alpha * x).fit(X), als(alpha=alpha).fit(X)
        assert relative_error(one.components_, other.components_) < 1e-4
        np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-5)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.05, 1])
    def test_of_texts(self, missing_weight, dtype):
        X = ratings(dtype)
        X.data = np.random.default_rng(0).gamma(2.0, 3.0, X.nnz).astype(dtype)
        expected = wtmf(missing_weight=missing_weight).fit(X)
        for functions in (
            {"confidence": lambda x: 1},
            {"target": lambda x: x},
            {"confidence": lambda x: 1.0, "target": lambda x: x},
        ):
            assert_same_model(wtmf(missing_weight=missing_weight, **functions).fit(X), expected, X)


FUNCTIONS = [
    {"confidence": of_ratings, "target": centered},
    {"confidence": of_ratings},
    {"target": centered},
]


class TestAgainstTheReference:
    """Functions that are not built in, over all cells of a dense matrix."""

    def cells(self, name, X, functions):
        defaults = {"WTMF": {}, "ImplicitALS": {"confidence": lambda x: 1 + 40 * x, "target": lambda x: 1.0}}[name]
        both = {"confidence": None, "target": None, **defaults, **functions}
        return reference.mapped_cells(X.toarray().astype(np.float64), MISSING[name], **both)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("functions", FUNCTIONS, ids=lambda functions: "+".join(functions))
    def test_every_sweep_and_objective(self, name, functions, dtype):
        X, kept = ratings(dtype), []
        model = MODELS[name](**functions, callback=lambda progress: kept.append(progress.model)).fit(X)
        cells, W = self.cells(name, X, functions)
        assert (np.diff(model.objective_) <= 1e-7 * model.objective_[:-1]).all()
        for before, after, value in zip(kept[:-1], kept[1:], model.objective_[1:], strict=True):
            P, Q, expected = reference.sweep_of_cells(
                cells, W, before.components_.astype(np.float64), reg=model.reg
            )
            P, Q = reference.oriented(P, Q)
            assert relative_error(after.components_, P) < TOLERANCE[dtype]
            assert relative_error(after.transform(X), Q.T) < TOLERANCE[dtype]
            assert value == pytest.approx(expected, rel=TOLERANCE[dtype])

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_new_rows(self, name, dtype):
        model = MODELS[name](confidence=of_ratings, target=centered).fit(ratings(dtype))
        new = ratings(dtype, n=30, seed=5)
        cells, W = self.cells(name, new, FUNCTIONS[0])
        vectors = model.transform(new)
        assert vectors.dtype == dtype
        expected = reference.solve_rows(cells, W, model.components_.T, model.reg)
        assert relative_error(vectors, expected) < {np.float32: 2e-5, np.float64: 1e-10}[dtype]

    def test_cells_that_are_not_stored_keep_what_they_have(self, name):
        """No function is called for them, nor for zeros that are stored."""
        X = ratings()
        stored = X.copy()
        stored.data[::4] = 0
        options = {"confidence": lambda x: 1 / abs(x), "target": lambda x: 2 / x}
        model = MODELS[name](**options).fit(stored)
        assert_same_model(model, MODELS[name](**options).fit(stored.toarray()), stored.toarray())

    def test_a_target_of_zero_is_not_a_missing_cell(self):
        """Its confidence counts: with a large one, scores of such cells go down to 0."""
        X = ratings()
        model = wtmf(confidence=lambda x: 1e4 if x == 3 else 1.0, target=centered, max_iter=20).fit(X)
        scores = model.transform(X) @ model.components_
        asked = X.toarray() == 3
        assert asked.sum() > 50
        assert np.abs(scores[asked]).mean() < 0.02 * np.abs(scores[X.toarray() == 5]).mean()


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_for_any_number_of_threads(name, dtype):
    X = ratings(dtype, n=3000, m=400, density=0.05)
    models = [
        MODELS[name](confidence=of_ratings, target=centered, n_threads=n_threads).fit(X) for n_threads in (1, 2, 3)
    ]
    assert_same_model(models[1], models[0], X)
    assert_same_model(models[2], models[0], X)


def test_called_once_for_a_fit_and_once_for_new_rows(name, monkeypatch):
    from semproj.jit import confidence

    calls = []

    def counted(function, argument, columns, out, *more):
        calls.append((argument.name, len(out)))
        return mapped(function, argument, columns, out, *more)

    mapped = confidence.map_cells
    monkeypatch.setattr(confidence, "map_cells", counted)
    X = ratings()
    model = MODELS[name](confidence=of_ratings, target=centered).fit(X)
    assert sorted(calls) == [("confidence", X.nnz), ("target", X.nnz)]
    model.transform(X[:9])
    assert sorted(calls[2:]) == [("confidence", X[:9].nnz), ("target", X[:9].nnz)]


def test_values_of_both_signs():
    """Dislikes, which only a function of yours can weigh."""
    X = ratings()
    X.data = X.data - 2.5
    model = als(confidence=abs_of, target=np_sign).fit(X)
    by_hand = np.where(X.toarray() != 0, np.abs(X.toarray()), 1.0)
    expected = reference.solve_rows(np.sign(X.toarray()), by_hand, model.item_vectors_, 0.5)
    np.testing.assert_allclose(model.user_vectors_, expected, rtol=1e-8, atol=1e-11)
    for options in ({}, {"target": np_sign}):
        with pytest.raises(ValueError, match="X: expected numbers of at least 0"):
            als(**options).fit(X)


@numba.njit
def abs_of(x):
    return abs(x)


@numba.njit
def np_sign(x):
    return np.sign(x)


class TestCheckpoint:
    def test_goes_on_with_the_same_functions(self, name, tmp_path):
        path, X = tmp_path / "state", ratings()
        options = {"confidence": of_ratings, "target": centered, "max_iter": 7}
        interrupted(MODELS[name](checkpoint=path, **options), X, 3)
        resumed = MODELS[name](checkpoint=path, **options).fit(X)
        assert_same_model(resumed.set_params(checkpoint=None), MODELS[name](**options).fit(X), X)

    @pytest.mark.parametrize("change", [{"confidence": lambda x: x}, {"target": lambda x: x}], ids=list)
    def test_refuses_others(self, name, tmp_path, change):
        path, X = tmp_path / "state", ratings()
        options = {"confidence": of_ratings, "target": centered}
        MODELS[name](checkpoint=path, **options).fit(X)
        before = path.read_bytes()
        with pytest.raises(
            ValueError, match=r"checkpoint: .* belongs to another fit \(it differs in (weights|X)\)"
        ):
            MODELS[name](checkpoint=path, **{**options, **change}).fit(X)
        assert path.read_bytes() == before


class TestSaved:
    def test_comes_back_with_its_functions(self, name, tmp_path):
        path, X = tmp_path / "model", ratings()
        model = MODELS[name](confidence=of_ratings, target=centered).fit(X)
        model.save(path)
        with pytest.raises(
            ValueError, match=r"^functions: .* as its (confidence|target), '(of_ratings|centered)'"
        ):
            sj.load(path)
        with pytest.raises(ValueError, match=r"^functions: 'target' is not the function .* 'centered'"):
            sj.load(path, functions={"confidence": of_ratings, "target": of_ratings})
        loaded = sj.load(path, functions={"confidence": of_ratings, "target": centered})
        assert same_bits(loaded.transform(X), model.transform(X))
        assert loaded.confidence is of_ratings
        assert loaded.target is centered

    def test_one_function(self, name, tmp_path):
        path, X = tmp_path / "model", ratings()
        model = MODELS[name](target=centered).fit(X)
        model.save(path)
        loaded = sj.load(path, functions={"target": numba.njit(centered)})
        assert loaded.confidence is None
        assert same_bits(loaded.transform(X), model.transform(X))
        with pytest.raises(TypeError, match=r"^target: Numba cannot compile"):
            sj.load(path, functions={"target": lambda x, y: x}, verify=False)


def raising(x):
    if x > 4:
        raise IndexError("too many")
    return x


BAD = {
    "two arguments": (lambda x, y: 1.0, TypeError, r"{0}\(value\)"),
    "text": (lambda x: "much", TypeError, r"{0}\(value\)"),
    "no number": (lambda x: (1.0, 2.0), TypeError, r"{0}\(value\)"),
    "a number": (3.0, TypeError, r"got 3\.0"),
    "a name": ("log", TypeError, r"got 'log'"),
    "unknown name": (lambda x: unknown_name * x, TypeError, r"{0}\(value\)"),  # noqa: F821
    "an object": (lambda x: str(x).encode(), TypeError, r"{0}\(value\)"),
    "raises": (raising, ValueError, r"IndexError: too many for X\[\d+, \d+\], which is 5"),
    "NaN": (lambda x: np.sqrt(2.5 - x), ValueError, r".*X\[\d+, \d+\]"),
    "infinite": (lambda x: np.inf if x == 5 else x, ValueError, r".*X\[\d+, \d+\]"),
}


@pytest.mark.parametrize("argument", ["confidence", "target"])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_function_is_named_and_the_previous_fit_kept(name, argument, kind):
    function, error, words = BAD[kind]
    X = ratings()
    model = MODELS[name]().fit(X)
    before, rows = model.components_.copy(), model.transform(X)
    with pytest.raises(error, match=rf"(?s)^{argument}: .*{words.format(argument)}"):
        model.set_params(**{argument: function}).fit(X)
    assert same_bits(model.components_, before)
    assert same_bits(model.set_params(**{argument: None}).transform(X), rows)


def test_a_list_outside_is_refused(name):
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    with pytest.raises(TypeError, match=r"^confidence: "):
        MODELS[name](confidence=lambda x: weights[int(x)]).fit(ratings())


class TestCells:
    """Which cell it was: in the matrix that was given."""

    def test_of_a_fit(self, name):
        X = with_cell(ratings(), 20, 7, 17.0)
        for n_threads in (1, 3):
            with pytest.raises(ValueError, match=r"^confidence: expected at least 0, .* -1 for X\[20, 7\], .* 17"):
                MODELS[name](confidence=lambda x: 16 - x, n_threads=n_threads).fit(X)
            with pytest.raises(ValueError, match=r"^target: .*X\[20, 7\], which is 17"):
                MODELS[name](target=lambda x: np.nan if x > 5 else x, n_threads=n_threads).fit(X)

    def test_of_new_rows(self, name):
        model = MODELS[name](confidence=lambda x: 16 - x).fit(ratings())
        with pytest.raises(ValueError, match=r"^confidence: .* -2 for X\[8, 4\], which is 18"):
            model.transform(with_cell(ratings(n=9), 8, 4, 18.0))

    def test_too_large_for_float32(self, name):
        with pytest.raises(ValueError, match=r"^confidence: .*X\[\d+, \d+\], which is 5"):
            MODELS[name](confidence=lambda x: 1e40 if x == 5 else 1.0).fit(ratings(np.float32))
        MODELS[name](target=lambda x: 1e40 if x == 5 else 1.0).fit(ratings())  # but not for double


def test_rows_of_an_encoder():
    """Weights of words go through the functions."""
    texts = ["a bank lends money", "a bank takes deposits of money", "the river bank", "water of the river"] * 5
    counter, weighting = sj.TermCounter(), sj.TfIdf()
    W = weighting.fit_transform(counter.fit_transform(texts))
    model = WTMF(3, confidence=of_ratings, target=lambda x: np.sqrt(x), reg=0.1, random_state=0).fit(W)
    assert same_bits(sj.Encoder(counter, weighting, model).encode(texts), model.transform(W))
    counts = counter.transform(texts)
    unweighted = sj.Encoder(counter, None, als(confidence=of_ratings).fit(counts)).encode(texts)
    assert same_bits(unweighted, als(confidence=of_ratings).fit_transform(counts))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_a_slow_function(n_threads):
    @numba.njit
    def slow(x):
        total = 0.0
        for i in range(100_000):
            total += np.sin(x * i)
        return 1 + abs(total)

    X = sp.csr_matrix(np.ones((300, 50)))  # of 15 seconds
    model = wtmf(confidence=slow, n_threads=n_threads).fit(X[:2])
    before = model.components_.copy()
    assert seconds_after_ctrl_c(lambda: model.fit(X)) < 1
    assert same_bits(model.components_, before)
