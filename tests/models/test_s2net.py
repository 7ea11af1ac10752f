"""S2Net: what it learns, where it begins, rows that vanish, and a loss of one's own."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import semproj as sj
from tests.reference import s2net as reference
from tests.support import same_bits
from tests.support.fitted import assert_same_fit
from tests.support.multiview import aligned_documents, dense

WAYS = {
    "lbfgs": {},
    "blocks": {"negatives": 30},
    "adam": {"optimizer": "adam", "batch_size": 40, "learning_rate": 0.03},
    "hard": {"negatives": "hard", "batch_size": 40, "learning_rate": 0.03},
}


@pytest.fixture(scope="module")
def X():
    return aligned_documents(120, 60)


def loss_of(model, X, start=None, loss="softmax", reg=0.0, norm_floor=0.1, **given):
    """By the reference, of all pairs: a floor is a share of the median length under the start."""
    A = model.components_.T.astype(np.float64)
    A0 = A if start is None else start.T
    floors = [norm_floor * np.median(np.linalg.norm(x @ A0, axis=1)) for x in dense(X)]
    value = reference.objective(dense(X), [A] * len(X), loss=loss, floors=floors, **given)[0]
    return value + reference.pull(A, A0, reg)[0]


class TestLearning:
    @pytest.mark.parametrize("loss", ["softmax", "logistic"])
    @pytest.mark.parametrize("directions", ["both", "forward", "backward"])
    def test_objective_is_the_references_and_falls(self, X, loss, directions):
        start = sj.OPCA(4, random_state=0).fit(X).components_
        model = sj.S2Net(4, start=start, loss=loss, directions=directions, reg=0.01, max_iter=12, tol=0).fit(X)
        forward, backward = {"both": (0.5, 0.5), "forward": (1, 0), "backward": (0, 1)}[directions]
        expected = loss_of(model, X, start, loss, reg=0.01, forward=forward, backward=backward)
        assert model.objective_[-1] == pytest.approx(expected, rel=1e-9)
        assert (np.diff(model.objective_) < 0).all()

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_better_than_its_start(self, X, way, dtype):
        views = [x.astype(dtype) for x in X]
        start = sj.OPCA(4, random_state=0).fit(views)
        model = sj.S2Net(None, start=start, random_state=0, **WAYS[way]).fit(views)
        assert loss_of(model, X, start.components_) < 0.9 * loss_of(start, X, start.components_)
        assert model.components_.dtype == dtype

        def precision(of):
            return sj.metrics.top1(of.transform(views[0]), of.transform(views[1]), metric="cosine")

        assert precision(model) > precision(start)

    def test_three_views(self):
        X = aligned_documents(80, 60, 3)
        model = sj.S2Net(4, random_state=0, max_iter=10, tol=0).fit(X)
        start = sj.OPCA(4, random_state=0).fit(X).components_
        assert model.objective_[-1] == pytest.approx(loss_of(model, X, start), rel=1e-9)

    def test_separate_matrices_can_do_more(self, X):
        shared, separate = (
            sj.S2Net(3, matrices=m, random_state=0, max_iter=60, tol=0).fit(X) for m in ("shared", "separate")
        )
        assert separate.objective_[-1] < shared.objective_[-1]
        assert not np.allclose(separate.views_[0].components_, separate.views_[1].components_)
        assert not hasattr(shared, "views_")

    def test_drawn_to_the_start(self, X):
        start = sj.OPCA(3, random_state=0).fit(X)
        away = [
            np.linalg.norm(sj.S2Net(3, start=start, reg=reg).fit(X).components_ - start.components_)
            for reg in (0.0, 1.0, 1e4)
        ]
        assert away[0] > 2 * away[1] > 20 * away[2] > 0

    def test_scale_of_rows_does_not_matter(self, X):
        """Cosines do not know it, and the floor goes with it: by powers of two, to the bit."""
        start = np.random.default_rng(0).standard_normal((3, 60))
        one = sj.S2Net(3, start=start, max_iter=5).fit(X)
        other = sj.S2Net(3, start=start, max_iter=5).fit([1024 * x for x in X])
        assert same_bits(one.components_, other.components_)

    @pytest.mark.parametrize("loss", ["softmax", "logistic"])
    def test_antonyms_turn_their_signs(self, loss):
        """A pair that should be opposite is given with one of its rows negated."""
        rng = np.random.default_rng(0)
        signs = np.where(np.arange(40) % 2, -1.0, 1.0)
        first = rng.random((40, 30)) * (rng.random((40, 30)) < 0.3)
        second = first + 0.3 * rng.random((40, 30)) * (rng.random((40, 30)) < 0.3)

        def cosines(A):
            G, H = ((x @ A.T) / np.linalg.norm(x @ A.T, axis=1, keepdims=True) for x in (first, second))
            return (G * H).sum(axis=1)

        start = rng.standard_normal((10, 30))
        assert (cosines(start) > 0).all()
        model = sj.S2Net(10, start=start, loss=loss, matrices="separate", max_iter=100, tol=0)
        model.fit([first, signs[:, None] * second])
        A, B = (view.components_ for view in model.views_)
        found = np.einsum("ij,ij->i", first @ A.T, second @ B.T)
        assert (np.sign(found) == signs).all()

    def test_optimizer_is_chosen_by_the_number_of_pairs(self, X, monkeypatch):
        assert sj.S2Net(2, max_iter=1).fit(X).optimizer_ == "lbfgs"
        monkeypatch.setattr("semproj.s2net.FEW_PAIRS", 100)
        assert sj.S2Net(2, max_iter=1).fit(X).optimizer_ == "adam"
        assert sj.S2Net(2, max_iter=1, negatives="all").fit(X).optimizer_ == "lbfgs"
        assert sj.S2Net(2, max_iter=1, negatives="hard").fit(X).optimizer_ == "adam"


class TestStarts:
    def test_any_fitted_projection(self, X):
        both = sp.vstack(X, format="csr")
        for start in (sj.LSA(3, random_state=0).fit(both), sj.CLLSI(3, weighting=None).fit(X), sj.OPCA(3).fit(X)):
            one = sj.S2Net(3, start=start, max_iter=2).fit(X)
            assert_same_fit(one, sj.S2Net(None, start=start.components_, max_iter=2).fit(X))
        again = sj.S2Net(3, start=one, max_iter=2).fit(X)
        assert again.objective_[0] < one.objective_[-1]

    def test_names_are_the_models(self, X):
        for name, start in (("opca", sj.OPCA), ("cllsi", lambda k, **s: sj.CLLSI(k, weighting=None, **s))):
            fitted = start(3, random_state=4).fit(X)
            one, other = (sj.S2Net(3, start=s, random_state=4, max_iter=2).fit(X) for s in (name, fitted))
            assert same_bits(one.components_, other.components_)

    def test_views_of_different_widths(self, X):
        X = [X[0], X[1][:, :50]]
        cca = sj.CCA(3, gamma=1.0, random_state=0).fit(X)
        model = sj.S2Net(3, matrices="separate", start=cca).fit(X)
        assert [view.components_.shape for view in model.views_] == [(3, 60), (3, 50)]
        assert model.objective_[-1] < 0.9 * model.objective_[0]
        with pytest.raises(ValueError, match=r"^start: views of different widths have no OPCA"):
            sj.S2Net(3, matrices="separate").fit(X)
        with pytest.raises(ValueError, match=r"^X\[1\]: has shape \(120, 50\)"):
            sj.S2Net(3).fit(X)

    def test_views_that_are_not_those_of_X(self, X):
        """As wide as X in all, but not view by view: columns would be taken for others."""
        given = [X[0][:, :20], X[1][:, :40]]
        for start in (
            sj.CCA(3, gamma=1.0).fit(given[::-1]),
            sj.S2Net(3, start="random", matrices="separate", max_iter=1).fit(given[::-1]),
        ):
            with pytest.raises(
                ValueError, match=r"^start: its views have \[40, 20\] columns, expected \[20, 40\]"
            ):
                sj.S2Net(3, start=start, matrices="separate").fit(given)
            with pytest.raises(ValueError, match=r"^start: has a matrix for each view; .*matrices=.separate"):
                sj.S2Net(3, start=start).fit(X)
        half = sj.OPCA(3).fit([x[:, :30] for x in X])
        with pytest.raises(ValueError, match=r"^start: has 30 columns, expected 60 as X has"):
            sj.S2Net(3, start=half, matrices="separate").fit(given)

    @pytest.mark.parametrize("way", WAYS)
    def test_sizes_that_float32_can_train(self, X, way):
        """Cosines do not know the size of a projection; gradients and their squares do."""
        start = np.random.default_rng(0).standard_normal((3, 60))
        single = [x.astype(np.float32) for x in X]
        known = {"random_state": 0, "max_iter": 3, "tol": 0, **WAYS[way]}
        expected = sj.S2Net(3, start=start, **known).fit(single)
        for size in (2.0**-56, 2.0**50):
            model = sj.S2Net(3, start=size * start, **known).fit(single)
            np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-5)
        for size in (1e-60, 1e-25, 1e20, 1e60):
            with pytest.raises(
                ValueError, match=r"^start: has elements of up to .*, expected .* for float32; scale it"
            ):
                sj.S2Net(3, start=size * start, **known).fit(single)
        model = sj.S2Net(3, start=1e60 * start, **known).fit(X)
        np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-3)

    def test_clones_keep_it_fitted(self, X):
        start = sj.OPCA(3, random_state=0).fit(X)
        model = sj.S2Net(3, start=start, max_iter=2)
        assert clone(model).start is start
        assert_same_fit(clone(model).fit(X), model.fit(X))

    def test_saved_without_it(self, X, tmp_path):
        model = sj.S2Net(3, start=sj.OPCA(3).fit(X), max_iter=2).fit(X)
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert same_bits(loaded.transform(X[0]), model.transform(X[0]))
        assert loaded.start == "opca"

    @pytest.mark.parametrize(
        ("start", "error", "words"),
        [
            (np.ones((3, 59)), ValueError, "has 59 columns, expected 60 as X has"),
            (np.ones((2, 60)), ValueError, "has 2 components, expected n_components = 3"),
            (np.ones((0, 60)), ValueError, "has 0 components, expected n_components = 3"),
            (np.full((3, 60), np.nan), ValueError, "contains NaN or infinity"),
            (np.ones((3, 60), int), TypeError, "expected 'opca', 'cllsi', 'random', a fitted linear model"),
            (np.ones(3), TypeError, "a fitted linear model or an array of shape"),
            (sj.LSA(3), TypeError, "a fitted linear model or an array of shape"),
            (None, TypeError, "a fitted linear model or an array of shape"),
            ("pca", ValueError, "expected one of"),
        ],
        ids=lambda value: None if isinstance(value, str) else type(value).__name__,
    )
    def test_bad(self, X, start, error, words):
        with pytest.raises(error, match=f"^start: .*{words}"):
            sj.S2Net(3, start=start).fit(X)


def vanishing(size, n=60, p=40, k=4):
    """Pairs, and a start under which the first row of the first view has almost no length."""
    rng = np.random.default_rng(0)
    topics, start = rng.standard_normal((n, 8)), rng.standard_normal((k, p))
    X = [topics @ rng.standard_normal((8, p)) * (rng.random((n, p)) < 0.4) for _ in range(2)]
    X[0][0] += np.linalg.pinv(start) @ (np.full(k, size / np.sqrt(k)) - start @ X[0][0])
    assert np.linalg.norm(start @ X[0][0]) == pytest.approx(size, rel=1e-5)
    return X, start


class TestRowsThatVanish:
    @pytest.mark.parametrize("loss", ["softmax", "logistic"])
    def test_do_not_stall_the_others(self, loss):
        """Their gradient goes as one over their length: without a floor it is all that L-BFGS sees."""
        X, start = vanishing(1.5e-9)
        settings = {"start": start, "loss": loss, "max_iter": 20, "tol": 0}
        stalled = sj.S2Net(4, norm_floor=0, **settings).fit(X).objective_
        floored = sj.S2Net(4, **settings).fit(X).objective_
        assert stalled[-1] > 0.99 * stalled[0]
        assert floored[-1] < 0.2 * floored[0]

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("norm_floor", [0.0, 0.1])
    def test_of_no_length_at_all(self, X, way, norm_floor):
        """Rows without a term, and rows whose terms the start does not have."""
        X = [x.toarray() for x in X]
        X[0][5], X[1][5], X[1][9] = 0, 0, 0
        X[0][11] = np.eye(60)[30]
        start = np.random.default_rng(0).standard_normal((3, 60))
        start[:, 30] = 0
        model = sj.S2Net(3, start=start, norm_floor=norm_floor, max_iter=5, tol=0, **WAYS[way]).fit(X)
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.objective_).all()
        assert model.objective_[-1] < model.objective_[0] or way == "hard"

    def test_all_of_them(self, X):
        """A start of zeros has no direction to go."""
        for way in WAYS.values():
            model = sj.S2Net(3, start=np.zeros((3, 60)), **way).fit(X)
            assert not model.components_.any()

    def test_numbers_without_squares(self, X):
        with pytest.raises(ValueError, match=r"^X: rows are projected to numbers of \d+e-\d+, .*; scale X"):
            sj.S2Net(3, start="random", random_state=0).fit([1e-200 * x for x in X])
        with pytest.raises(ValueError, match=r"^X: rows are projected to numbers of \d+e\+\d+, .*; scale X"):
            sj.S2Net(3, start=np.full((3, 60), 1e100)).fit([1e100 * x for x in X])
        for model in (sj.S2Net, sj.OPCA, sj.CCA):
            with pytest.raises(ValueError, match=r"^X\[0\]: values too large for float64; scale X down"):
                model(3).fit([1e200 * x for x in X])


class TestFewPairs:
    @pytest.mark.parametrize("way", WAYS)
    def test_one_has_nothing_to_stand_against(self, X, way):
        start = np.random.default_rng(0).standard_normal((2, 60))
        model = sj.S2Net(2, start=start, **WAYS[way]).fit([x[:1] for x in X])
        assert np.array_equal(model.components_, start)
        assert not model.objective_.any()

    def test_duplicates_share(self, X):
        """Of three copies, each has a third of the softmax at most."""
        copies = [sp.vstack([x] * 3, format="csr") for x in X]
        model = sj.S2Net(3, random_state=0, tol=0).fit(copies)
        assert model.objective_[-1] == pytest.approx(
            loss_of(model, copies, sj.OPCA(3, random_state=0).fit(copies).components_), rel=1e-9
        )
        assert np.log(3) < model.objective_[-1] < model.objective_[0]

    def test_the_same_pair_over_and_over(self, X):
        model = sj.S2Net(1, start="random", random_state=0).fit([sp.vstack([x[:1]] * 5) for x in X])
        np.testing.assert_allclose(model.objective_, np.log(5), rtol=1e-12)


@numba.njit
def own_logistic(difference):
    z = 10.0 * difference
    return (np.log1p(np.exp(-z)) if z > 0 else np.log1p(np.exp(z)) - z), -10.0 / (1.0 + np.exp(z))


def hinge(difference):
    return max(0.0, 0.5 - difference), -1.0 if difference < 0.5 else 0.0


class TestOwnLoss:
    @pytest.mark.parametrize("directions", ["both", "forward", "backward"])
    def test_is_the_built_in_one(self, X, directions):
        one, other = (
            sj.S2Net(3, loss=loss, directions=directions, random_state=0, max_iter=4).fit(X)
            for loss in ("logistic", own_logistic)
        )
        np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-8)
        np.testing.assert_allclose(one.components_, other.components_, atol=1e-6 * np.abs(one.components_).max())

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("m", [1, 2, 255, 600])
    def test_gradient_and_threads(self, m, dtype):
        from semproj.s2net._objective import by_function
        from tests.kernels.test_contrasts import TOLERANCE, units

        u, v = units(m, 5, dtype)
        found = []
        for n_threads in (1, 3):
            of_u, of_v = np.full_like(u, np.nan), np.full_like(v, np.nan)
            found.append((by_function(own_logistic, 1.0, 0.3, 0.7, n_threads)(u, v, of_u, of_v), of_u, of_v))
        assert found[0][0] == found[1][0]
        assert all(same_bits(a, b) for a, b in zip(found[0][1:], found[1][1:], strict=True))
        u, v = u.astype(np.float64), v.astype(np.float64)
        value, W = reference.weights(u @ v.T, "logistic", 10.0, 0.3, 0.7)
        assert found[0][0] == pytest.approx(value, rel=TOLERANCE[dtype])
        for f, t in zip(found[0][1:], (W @ v, W.T @ u), strict=True):
            np.testing.assert_allclose(f, t, atol=TOLERANCE[dtype] * max(np.abs(t).max(), 1e-9))

    def test_plain_python_and_batches(self, X):
        model = sj.S2Net(3, loss=hinge, random_state=0, **WAYS["adam"]).fit(X)
        assert model.objective_[-1] < 0.8 * model.objective_[0]

    def test_checkpoints_know_it_by_its_values(self, X, tmp_path):
        path = tmp_path / "state"
        given = {"random_state": 0, "tol": 0, "checkpoint": path}
        sj.S2Net(3, loss=hinge, max_iter=2, **given).fit(X)
        whole = sj.S2Net(3, loss=hinge, max_iter=4, random_state=0, tol=0).fit(X)
        assert_same_fit(sj.S2Net(3, loss=lambda d: hinge_of(d, 0.5), max_iter=4, **given).fit(X), whole)
        with pytest.raises(ValueError, match=r"checkpoint: .*differs in loss"):
            sj.S2Net(3, loss=lambda d: hinge_of(d, 0.4), max_iter=5, **given).fit(X)

    def test_is_saved_by_name(self, X, tmp_path):
        model = sj.S2Net(3, loss=hinge, max_iter=2, random_state=0).fit(X)
        model.save(tmp_path / "model")
        with pytest.raises(ValueError, match=r"^functions: the model was made with a function as its loss"):
            sj.load(tmp_path / "model")
        loaded = sj.load(tmp_path / "model", functions={"loss": hinge})
        assert loaded.loss is hinge
        assert same_bits(loaded.components_, model.components_)

    @pytest.mark.parametrize(
        "function",
        [lambda: (1.0, 1.0), lambda d: (d, d, d), lambda d: ("a", d), lambda d: (d, 1j)],
        ids=["arguments", "three", "text", "complex"],
    )
    def test_that_numba_cannot_use(self, X, function):
        with pytest.raises(TypeError, match=r"^loss: Numba cannot compile the function; .* as loss\(difference\)"):
            sj.S2Net(3, loss=function).fit(X)

    def test_that_raises(self, X):
        def fails(difference):
            if difference > 0.5:
                raise ZeroDivisionError("mine")
            return difference, 1.0

        model = sj.S2Net(3, max_iter=2, random_state=0).fit(X)
        before = clone(model).fit(X)
        with pytest.raises(ValueError, match=r"^loss: the function raised ZeroDivisionError: mine"):
            model.set_params(loss=fails).fit(X)
        assert_same_fit(model, before)

    def test_that_is_not_finite(self, X):
        for bad in (lambda d: (np.nan, 1.0), lambda d: (d, np.inf if d < 0.01 and d > -0.01 else 1.0)):
            with pytest.raises(ValueError, match=r"^loss: the function returned NaN or infinity"):
                sj.S2Net(3, loss=bad).fit(X)

    @pytest.mark.parametrize("way", ["lbfgs", "adam"])
    def test_that_float32_has_no_room_for(self, X, way):
        def huge(difference):
            return 1e300 * difference**2, 2e300 * difference

        single = [x.astype(np.float32) for x in X]
        with pytest.raises(ValueError, match=r"^loss: the function returned numbers too large for float32"):
            sj.S2Net(3, loss=huge, **WAYS[way]).fit(single)

    @pytest.mark.parametrize("bad", ["hinge", None, 3])
    def test_no_loss(self, X, bad):
        with pytest.raises((TypeError, ValueError), match=r"^loss: expected one of"):
            sj.S2Net(3, loss=bad).fit(X)


@numba.njit
def hinge_of(difference, margin):
    return max(0.0, margin - difference), -1.0 if difference < margin else 0.0


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_components", 0, ValueError),
        ("n_components", None, ValueError),
        ("scale", 0, ValueError),
        ("scale", 41.0, ValueError),
        ("scale", "10", TypeError),
        ("directions", "left", ValueError),
        ("negatives", "none", ValueError),
        ("negatives", 1, ValueError),
        ("negatives", 2.5, TypeError),
        ("matrices", "one", ValueError),
        ("optimizer", "sgd", ValueError),
        ("batch_size", 1, ValueError),
        ("learning_rate", 0, ValueError),
        ("learning_rate", 1e300, ValueError),
        ("decay", -1, ValueError),
        ("refresh", 0, ValueError),
        ("reg", -1.0, ValueError),
        ("reg", np.nan, ValueError),
        ("reg", 1e300, ValueError),
        ("norm_floor", -0.1, ValueError),
        ("tol", None, TypeError),
        ("random_state", "seed", TypeError),
    ],
)
def test_bad_parameters(X, name, value, error):
    model = sj.S2Net(3, max_iter=1, random_state=0).fit(X)
    before = clone(model).fit(X)
    with pytest.raises(error, match=f"^{name}: "):
        model.set_params(**{name: value}).fit(X)
    assert_same_fit(model, before)


@pytest.mark.parametrize(("optimizer", "negatives"), [("adam", "all"), ("adam", 30), ("lbfgs", "hard")])
def test_negatives_that_an_optimizer_has_not(X, optimizer, negatives, monkeypatch):
    """Told before the start is found."""
    monkeypatch.setattr(sj.OPCA, "fit", lambda *_: pytest.fail("too late"))
    with pytest.raises(ValueError, match=r"^negatives: expected .* with"):
        sj.S2Net(3, optimizer=optimizer, negatives=negatives).fit(X)


def test_views_that_there_are_not(X):
    for matrices in ("shared", "separate"):
        model = sj.S2Net(2, matrices=matrices, max_iter=1).fit(X)
        for bad in (2, -1):
            with pytest.raises(ValueError, match=r"^view: expected between 0 and 1"):
                model.transform(X[0], view=bad)
