"""How topic models are fitted: threads, early stopping, callbacks, files, progress and wrong arguments."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import semproj as sj
from semproj import CPLSA, JPLSA, PLSA
from tests.support import same_bits
from tests.support.topics import (
    assert_distributions,
    assert_same_fit,
    corpus,
    data_of,
    documents,
    make,
    merged,
    of_vocabulary,
    paired,
)

CLASSES = [PLSA, JPLSA, CPLSA]
CLUSTERS = {"init": "clusters", "random_state": 5}


def rows_of(X):
    """Something to transform."""
    return X[0] if isinstance(X, list) else X


def transformed(model, X):
    if getattr(model, "vocabulary", "shared") == "separate":
        return [model.transform(x, view=i) for i, x in enumerate(X)]
    return [model.transform(x) for x in (X if isinstance(X, list) else [X])]


@pytest.mark.parametrize("cls", CLASSES)
class TestResults:
    @pytest.mark.parametrize(
        "options", [{}, {"n_components": 37}, {"init": "random", "random_state": 5}, CLUSTERS], ids=str
    )
    def test_any_number_of_threads(self, cls, options):
        X = data_of(cls, n=300)
        models = [make(cls, n_threads=n, **options).fit(X) for n in (1, 2, 5)]
        for other in models[1:]:
            assert_same_fit(models[0], other)
            assert same_bits(transformed(models[0], X)[0], transformed(other, X)[0])
            assert models[0].objective(X) == other.objective(X)
            assert models[0].perplexity(rows_of(X)) == other.perplexity(rows_of(X))

    def test_layouts(self, cls):
        """CSR, CSC, dense, wide indices, read-only memory: the same bits."""
        X = data_of(cls)
        views = X if isinstance(X, list) else [X]
        expected = make(cls).fit(X)

        def wide(x):
            x = x.copy()
            x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
            return x

        def frozen(x):
            x = x.copy()
            for array in (x.data, x.indices, x.indptr):
                array.flags.writeable = False
            return x

        def shuffled(x):
            x = x.copy()
            for begin, end in zip(x.indptr[:-1], x.indptr[1:], strict=True):
                for array in (x.data, x.indices):
                    array[begin:end] = array[begin:end][::-1].copy()
            x.has_sorted_indices = False
            return x

        changes = [sp.csc_matrix, lambda x: x.toarray(), lambda x: x.astype(np.float64), wide, frozen, shuffled]
        for change in changes:
            changed = [change(x) for x in views]
            assert_same_fit(make(cls).fit(changed if isinstance(X, list) else changed[0]), expected)

    def test_the_callers_counts_are_left_alone(self, cls):
        X = data_of(cls)
        views = X if isinstance(X, list) else [X]
        before = [x.copy() for x in views]
        make(cls).fit(X)
        for x, y in zip(views, before, strict=True):
            assert same_bits(x.data, y.data)
            assert same_bits(x.indices, y.indices)

    def test_a_refit_forgets(self, cls):
        A, B = data_of(cls), data_of(cls, seed=9)
        assert_same_fit(make(cls).fit(A).fit(B), make(cls).fit(B))

    def test_clone_and_pickle(self, cls):
        X = data_of(cls)
        model = make(cls).fit(X)
        assert_same_fit(clone(model).fit(X), model)
        again = pickle.loads(pickle.dumps(model))
        assert_same_fit(again, model)
        assert same_bits(transformed(again, X)[0], transformed(model, X)[0])

    def test_not_fitted(self, cls):
        X = data_of(cls)
        calls = [
            lambda m: m.transform(rows_of(X)),
            lambda m: m.perplexity(rows_of(X)),
            lambda m: m.objective(X),
            lambda m: m.top_words(["a"]),
        ]
        for call in calls:
            with pytest.raises(NotFittedError):
                call(make(cls))


@pytest.mark.parametrize("cls", CLASSES)
def test_mixtures_of_many_topics_sum_to_one(cls):
    X = data_of(cls, n=8)
    model = make(cls, n_components=4000, max_iter=2).fit(X)
    for theta in (*documents(model), *transformed(model, X)):
        np.testing.assert_allclose(theta.sum(axis=1, dtype=np.float64), 1, atol=3e-7)


@pytest.mark.parametrize("cls", CLASSES)
def test_counts_that_float32_cannot_follow(cls):
    """An error, not topics that are not numbers; the fit before stays."""
    model = make(cls, n_components=3, alpha=1, beta=1).fit(data_of(cls))
    before = pickle.loads(pickle.dumps(model))
    rng = np.random.default_rng(1)
    views = [sp.csr_matrix(10 ** rng.uniform(5, 36, (4, 6)) * (rng.random((4, 6)) < 0.6)) for _ in range(2)]
    with pytest.raises(ValueError, match=r"^X: the objective is nan in sweep \d; values are too large"):
        model.fit(views[0] if cls is PLSA else views)
    assert_same_fit(model, before)


def test_large_counts_of_pairs():
    """As far as PLSA goes: pairs whose topics are too far apart by then are told of, and nothing is NaN."""
    views = [x * 1e30 for x in merged(paired())]
    with pytest.warns(ConvergenceWarning, match="pairs did not reach projection_tol"):
        model = make(CPLSA).fit(views)
    assert_distributions(model)
    assert np.isfinite(model.objective_).all()


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_too_small_for_float32(cls, dtype):
    """One is enough, even if the cast would make it zero: an error everywhere, and the fit before stays."""
    X = data_of(cls)
    model = make(cls, alpha=1, beta=1).fit(X)
    before = pickle.loads(pickle.dumps(model))
    small = (X[0] if isinstance(X, list) else X).astype(dtype)
    small.data[3] = 1e-40 if dtype == np.float32 else 1e-60
    views = [small, X[1]] if isinstance(X, list) else small
    for call, name in (
        (lambda: model.fit(views), r"X(\[0\])?"),
        (lambda: model.objective(views), r"X(\[0\])?"),
        (lambda: model.transform(small), "X"),
        (lambda: model.perplexity(small), "X"),
    ):
        with pytest.raises(
            ValueError, match=f"^{name}: contains values that are too small for float32, expected 0 or"
        ):
            call()
    assert_same_fit(model, before)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_scale_is_nothing_without_priors(cls):
    """Documents of counts of 1e-28 have the mixtures of those of 1, and a fit is of distributions."""
    X = data_of(cls, corners=False)
    options = {
        "alpha": 1,
        "beta": 1,
        "init": "random",
        "random_state": 0,
        **({"coupling": 0} if cls is CPLSA else {}),
    }
    scaled = [x * 1e-28 for x in X] if isinstance(X, list) else X * 1e-28
    model, small = make(cls, **options).fit(X), make(cls, **options).fit(scaled)
    assert_distributions(small)
    for theta, other in zip(transformed(model, X), transformed(model, scaled), strict=True):
        np.testing.assert_allclose(theta, other, atol=1e-6)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_priors_that_float32_cannot_hold(name):
    with pytest.raises(ValueError, match=f"^{name}: expected a finite number, between 1 and"):
        make(PLSA, **{name: 1e39}).fit(data_of(PLSA))


@pytest.mark.parametrize("cls", CLASSES)
def test_two_tables_of_words(run_python, cls):
    """Peak memory of a fit with many words, in tables of 4 T bytes a word: the words and their sums."""
    done = run_python(f"""
        import resource
        import numpy as np, scipy.sparse as sp, semproj as sj
        rng = np.random.default_rng(0)
        n_words, n = 100_000, 30_000
        words = [rng.integers(0, n_words, n) for _ in range(2)]
        X, Y = (sp.csr_matrix((np.ones(n, np.float32), (np.arange(n) % 100, w)), (100, n_words)) for w in words)
        small = [X[:, :50], Y[:, :50]]
        make = lambda k: sj.{cls.__name__}(k, max_iter=2, tol=0)
        make(2).fit({"small[0]" if cls is PLSA else "small"})
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = peak()
        make(160).fit({"X" if cls is PLSA else "[X, Y]"})
        print((peak() - before) / (4 * 160 * n_words))
    """)
    assert float(done.stdout) < 2.4


@pytest.mark.parametrize("cls", [sj.JPLSA, CPLSA])
@pytest.mark.parametrize("names", [("shared", "separate"), ("separate", "shared")], ids=str)
def test_a_fit_with_the_other_vocabulary_leaves_nothing_behind(cls, names):
    before, after = ((name, of_vocabulary(paired(words=(30, 20)), name)) for name in names)
    model = make(cls, vocabulary=before[0]).fit(before[1])
    model.set_params(vocabulary=after[0]).fit(after[1])
    fresh = make(cls, vocabulary=after[0]).fit(after[1])
    assert vars(model).keys() == vars(fresh).keys()
    assert_same_fit(model, fresh)


def test_mixtures_of_pairs_are_there_once(run_python):
    """Peak memory of CPLSA with many pairs, in 4 T bytes a pair: two mixtures, the dual variables, and a copy."""
    done = run_python("""
        import resource
        import numpy as np, scipy.sparse as sp, semproj as sj
        n = 100_000
        X = sp.csr_matrix((np.ones(n, np.float32), np.arange(n) % 50, np.arange(n + 1)), (n, 50))
        make = lambda k: sj.CPLSA(k, coupling=1.0, init="frequency", max_iter=1, tol=0)
        make(2).fit([X, X])
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        before = peak()
        make(160).fit([X, X])
        print((peak() - before) / (4 * 160 * n))
    """)
    assert float(done.stdout) < 4.6


@pytest.mark.parametrize("vocabulary", ["shared", "separate"])
@pytest.mark.parametrize("cls", CLASSES)
def test_files(cls, vocabulary, tmp_path):
    if cls is PLSA:
        X, options = corpus(), {}
    else:
        X, options = of_vocabulary(paired(words=(30, 20)), vocabulary), {"vocabulary": vocabulary}
    model = make(cls, **options).fit(X)
    model.save(tmp_path / "model")
    loaded = sj.load(tmp_path / "model")
    assert type(loaded) is cls
    for a, b in zip(transformed(loaded, X), transformed(model, X), strict=True):
        assert same_bits(a, b)
    assert same_bits(np.ascontiguousarray(loaded.components_), np.ascontiguousarray(model.components_))
    assert same_bits(np.asarray(loaded.objective_), model.objective_)
    assert loaded.get_params() == model.get_params()
    assert_same_fit(loaded.fit(X), model)


@pytest.mark.parametrize("cls", CLASSES)
class TestEarlyStopping:
    def test_stopped_by_other_documents(self, cls):
        """What a user does to stop early: measure held-out documents after each sweep."""
        X, held_out, values = data_of(cls, n=60), rows_of(data_of(cls, n=30, seed=1)), []

        def worse(progress):
            values.append(progress.model.perplexity(held_out))
            return len(values) > 1 and values[-1] > values[-2]

        model = make(cls, max_iter=200, callback=worse).fit(X)
        assert model.n_iter_ == len(values) < 200
        assert values[-1] == model.perplexity(held_out)
        assert values[-1] > values[-2]
        assert values[0] == make(cls, max_iter=1).fit(X).perplexity(held_out)


PARAMETERS = [
    ({"n_components": 0}, ValueError),
    ({"n_components": 2.0}, TypeError),
    ({"n_components": True}, TypeError),
    ({"alpha": 0.99}, ValueError),
    ({"alpha": np.nan}, ValueError),
    ({"alpha": np.inf}, ValueError),
    ({"alpha": "1"}, TypeError),
    ({"beta": 0.5}, ValueError),
    ({"beta": -1}, ValueError),
    ({"beta": None}, TypeError),
    ({"init": "zipf"}, ValueError),
    ({"init": None}, ValueError),
    ({"max_iter": 0}, ValueError),
    ({"max_iter": 1.5}, TypeError),
    ({"tol": -1e-9}, ValueError),
    ({"tol": np.nan}, ValueError),
    ({"tol": "1e-3"}, TypeError),
    ({"fold_in_iter": 0}, ValueError),
    ({"fold_in_iter": 1.5}, TypeError),
    ({"checkpoint": 3}, TypeError),
    ({"checkpoint_every": 0}, ValueError),
    ({"checkpoint_every": 1.5}, TypeError),
    ({"callback": 3}, TypeError),
    ({"random_state": -1}, ValueError),
    ({"random_state": "0"}, TypeError),
    ({"n_threads": 0}, ValueError),
    ({"n_threads": 1.5}, TypeError),
    ({"vocabulary": "joint"}, ValueError),
    ({"vocabulary": None}, ValueError),
    ({"coupling": -1}, ValueError),
    ({"coupling": np.nan}, ValueError),
    ({"coupling": "1"}, TypeError),
    ({"norm": "linf"}, ValueError),
    ({"projection_tol": -1}, ValueError),
    ({"projection_tol": np.nan}, ValueError),
    ({"max_projection_iter": 0}, ValueError),
    ({"max_projection_iter": 1.5}, TypeError),
]


@pytest.mark.parametrize(("parameters", "error"), PARAMETERS, ids=str)
@pytest.mark.parametrize("cls", CLASSES)
def test_wrong_parameters(cls, parameters, error):
    """Named in the error; the previous fit is kept, and usable when the parameter is right again."""
    (name,) = parameters
    if name not in cls().get_params():
        assert cls is not CPLSA
        return
    X = data_of(cls)
    model = make(cls, init="random", random_state=0).fit(X)
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(error, match=rf"^{name}: expected"):
        model.set_params(**parameters).fit(data_of(cls, seed=2))
    assert_same_fit(model, before)
    model.set_params(**{name: getattr(before, name)})
    assert same_bits(transformed(model, X)[0], transformed(before, X)[0])


@pytest.mark.parametrize("cls", CLASSES)
class TestWrongCounts:
    def spoiled(self, cls, change):
        X = data_of(cls)
        views = [x.copy() for x in (X if isinstance(X, list) else [X])]
        views[-1] = change(views[-1])
        return views if isinstance(X, list) else views[0]

    @pytest.mark.parametrize("value", [-1, -1e-9, np.nan, np.inf])
    def test_values(self, cls, value):
        def change(x):
            x.data[9] = value
            return x

        bad = self.spoiled(cls, change)
        X = data_of(cls)
        model = make(cls).fit(X)
        before = pickle.loads(pickle.dumps(model))
        match = r"\bX\b"
        with pytest.raises(ValueError, match=match):
            model.fit(bad)
        assert_same_fit(model, before)
        row = bad[-1] if isinstance(bad, list) else bad
        for call in (model.transform, model.perplexity):
            with pytest.raises(ValueError, match=match):
                call(row)

    def test_zeros_only(self, cls):
        X = data_of(cls)
        with pytest.raises(ValueError, match=r"^X(\[0\])?: has no non-zero entries"):
            make(cls).fit([x * 0 for x in X] if isinstance(X, list) else X * 0)

    def test_no_documents(self, cls):
        X = data_of(cls)
        nothing = [x[:0] for x in X] if isinstance(X, list) else X[:0]
        with pytest.raises(ValueError, match=r"X|sample"):
            make(cls).fit(nothing)

    def test_not_numbers(self, cls):
        words = np.array([["a", "b"]])
        with pytest.raises((ValueError, TypeError)):
            make(cls).fit(words if cls is PLSA else [words, words])

    def test_rows_of_another_width(self, cls):
        X = data_of(cls)
        model = make(cls).fit(X)
        rows = rows_of(X)
        for call in (model.transform, model.perplexity):
            with pytest.raises(ValueError, match=str(rows.shape[1] - 1)):
                call(rows[:, :-1])

    def test_objective_of_other_documents(self, cls):
        """It is that of the fitted documents: others have no topics here."""
        X = data_of(cls)
        model = make(cls).fit(X)
        fewer = [x[:-1] for x in X] if isinstance(X, list) else X[:-1]
        with pytest.raises(ValueError, match="X"):
            model.objective(fewer)


@pytest.mark.parametrize("cls", [JPLSA, CPLSA])
class TestWrongViews:
    def test_rows_must_align(self, cls):
        views = merged(paired())
        with pytest.raises(ValueError, match=r"X\[1\]"):
            make(cls).fit([views[0], views[1][:-1]])
        separate = paired(words=(30, 20))
        with pytest.raises(ValueError, match=r"X\[1\]"):
            make(cls, vocabulary="separate").fit([separate[0], separate[1][:-1]])

    def test_columns_must_align_when_shared(self, cls):
        views = paired(words=(30, 20))
        with pytest.raises(ValueError, match=r"X\[1\]"):
            make(cls).fit(views)
        make(cls, vocabulary="separate").fit(views)

    def test_one_matrix(self, cls):
        with pytest.raises(TypeError, match="X"):
            make(cls).fit(corpus())

    def test_no_matrix(self, cls):
        with pytest.raises(ValueError, match="X"):
            make(cls).fit([])

    def test_the_view_of_a_shared_vocabulary(self, cls):
        """All views have the same columns: it does not matter which one is named, but it must be there."""
        views = merged(paired())
        model = make(cls).fit(views)
        assert same_bits(model.transform(views[1], view=1), model.transform(views[1]))
        for method in (model.transform, model.perplexity):
            with pytest.raises(ValueError, match=r"^view: expected between 0 and 1, got 2"):
                method(views[1], view=2)


def test_cplsa_is_of_two_languages():
    with pytest.raises(ValueError, match=r"X: expected.*two"):
        make(CPLSA).fit(merged(paired(words=(30, 20, 20), lengths=(20, 20, 20))))


def test_doc_topics_of_pairs():
    model = make(CPLSA).fit(merged(paired()))
    assert len(model.doc_topics_) == 2
    for theta in documents(model):
        assert theta.shape == (40, 4)
        assert theta.dtype == np.float32
