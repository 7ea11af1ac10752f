"""The loss of all cosines between two views, and its gradient: as the dense reference and finite differences."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import _core
from semproj._common.resources import single_threaded_blas
from semproj.s2net import S2Net
from semproj.s2net._objective import Objective, built_in, by_function
from semproj.s2net._training import WholeTraining
from tests.reference import s2net as reference
from tests.support import all_at_once, same_bits

LOSSES = ("softmax", "logistic")
DIRECTIONS = {"both": (0.5, 0.5), "forward": (1.0, 0.0), "backward": (0.0, 1.0), "uneven": (0.2, 0.8)}
# Around a block, a block and a bit, one pair alone.
PAIRS = (1, 2, 63, 64, 65, 513, 1100)
DIMENSIONS = (1, 3, 16, 37)
TOLERANCE = {np.float32: 5e-6, np.float64: 1e-12}


def units(m, k, dtype, seed=0):
    """Two views, row by row more similar than at random; some rows are shorter, as a floor makes them."""
    rng = np.random.default_rng([m, k, seed])
    u = rng.standard_normal((m, k))
    v = u + rng.standard_normal((m, k))
    for x in (u, v):
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x[::7] *= 0.4
    return u.astype(dtype), v.astype(dtype)


def contrast(u, v, loss, scale, forward, backward, n_threads=2):
    of_u, of_v = np.full_like(u, np.nan), np.full_like(v, np.nan)
    with single_threaded_blas():
        value = _core.contrast_gradient(u, v, loss, scale, forward, backward, of_u, of_v, n_threads)
    return value, of_u, of_v


def expected(u, v, loss, scale, forward, backward):
    u, v = u.astype(np.float64), v.astype(np.float64)
    value, W = reference.weights(u @ v.T, loss, scale, forward, backward)
    return value, W @ v, W.T @ u


def worst(m, k, dtype, loss, scale, forward, backward):
    """The largest error of the loss, relative, and of a gradient, relative to the largest that there can be."""
    u, v = units(m, k, dtype)
    found, true = (f(u, v, loss, scale, forward, backward) for f in (contrast, expected))
    largest = max(np.abs(g).max() for g in true[1:])
    if m == 1:  # nothing to be told apart from
        assert largest < 1e-14 * scale
        return max(abs(found[0]), *(np.abs(g).max() / scale for g in found[1:]))
    errors = [np.abs(f - t).max() / largest for f, t in zip(found[1:], true[1:], strict=True)]
    return max(abs(found[0] - true[0]) / true[0], *errors)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", PAIRS)
def test_is_the_reference(m, dtype, loss):
    for k in DIMENSIONS if m < 100 else (3, 37):
        for name in DIRECTIONS if m < 100 else ("uneven",):
            assert worst(m, k, dtype, loss, 10.0, *DIRECTIONS[name]) < TOLERANCE[dtype], (k, name)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.1, 40.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_extreme_cosines(loss, dtype, scale, sign):
    """Pairs that are as similar as can be, and as dissimilar: exponentials have room."""
    u, _ = units(70, 5, dtype)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = sign * u
    found, true = (f(u, v, loss, scale, 0.5, 0.5) for f in (contrast, expected))
    assert found[0] == pytest.approx(true[0], rel=4 * TOLERANCE[dtype])
    largest = max(np.abs(g).max() for g in true[1:])
    for f, t in zip(found[1:], true[1:], strict=True):
        np.testing.assert_allclose(f, t, atol=4 * TOLERANCE[dtype] * largest)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
def test_all_pairs_told_apart(dtype, loss):
    """Small losses are not rounded away: the steps of a fit go by them."""
    u = np.eye(30, dtype=dtype)
    found, true = (f(u, u, loss, 20.0, 0.5, 0.5) for f in (contrast, expected))
    assert 0 < true[0] < 1e-7
    assert found[0] == pytest.approx(true[0], rel=1e-2 if loss == "softmax" else 1e-4)
    np.testing.assert_allclose(found[1], true[1], rtol=1e-4, atol=1e-2 * np.abs(true[1]).max())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_zeros_and_duplicates(loss, dtype):
    u, v = units(66, 4, dtype)
    u[3], v[9], u[65], v[65] = 0, 0, 0, 0
    u[20:30], v[20:30] = u[20], v[20]
    found, true = (f(u, v, loss, 10.0, 0.5, 0.5) for f in (contrast, expected))
    assert found[0] == pytest.approx(true[0], rel=TOLERANCE[dtype])
    for f, t in zip(found[1:], true[1:], strict=True):
        np.testing.assert_allclose(f, t, atol=TOLERANCE[dtype] * np.abs(t).max())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(65, 3), (1100, 37)])
def test_same_bits_for_any_number_of_threads(loss, dtype, shape):
    u, v = units(*shape, dtype)
    one = contrast(u, v, loss, 10.0, 0.5, 0.5, n_threads=1)
    for n_threads in (2, 3, 4):
        other = contrast(u, v, loss, 10.0, 0.5, 0.5, n_threads=n_threads)
        assert one[0] == other[0]
        assert same_bits(one[1], other[1])
        assert same_bits(one[2], other[2])


VARIANT_SCRIPT = """
    import json
    import numpy as np
    from semproj import _core
    from tests.kernels.test_contrasts import LOSSES, TOLERANCE, worst

    found = {}
    for dtype in (np.float32, np.float64):
        for loss in LOSSES:
            errors = [worst(m, k, dtype, loss, 10.0, 0.3, 0.7) for m in (1, 2, 65, 130) for k in (1, 3, 37)]
            found[f"{loss} {np.dtype(dtype)}"] = max(errors) / TOLERANCE[dtype]
    print(json.dumps({"isa": _core.active_isa(), "worst": found}))
"""


def test_every_other_instruction_set(run_python):
    isas = [isa for isa in _core.supported_isas() if isa != _core.active_isa()]
    results = all_at_once(lambda isa: json.loads(run_python(VARIANT_SCRIPT, SEMPROJ_ISA=isa).stdout), isas)
    assert [result["isa"] for result in results] == isas
    for result in results:
        assert len(result["worst"]) == 4
        assert max(result["worst"].values()) < 1, result


@pytest.mark.parametrize("shape", [(4, 5), (3, 4)])
def test_shapes_that_differ(shape):
    u = np.ones((4, 4))
    with pytest.raises(ValueError, match="u: expected all to have one shape"):
        contrast(u, np.ones(shape), "softmax", 10.0, 0.5, 0.5)


class TestUnits:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("floor", [0.0, 0.7])
    def test_there_and_back(self, dtype, floor):
        rng = np.random.default_rng(0)
        G, D = (rng.standard_normal((300, 13)).astype(dtype) for _ in range(2))
        G[5] = 0
        norms = np.sqrt((G.astype(np.float64) ** 2).sum(axis=1) + floor**2)
        inverses = reference.inverses(norms)
        U, back = G.copy(), D.copy()
        found = _core.smooth_unit_rows(U, floor, 2)
        _core.through_unit_rows(U, found, back, 2)
        tolerance = {"rtol": 10 * np.finfo(dtype).eps, "atol": 10 * np.finfo(dtype).eps}
        np.testing.assert_allclose(found, inverses, **tolerance)
        np.testing.assert_allclose(U, G * inverses[:, None], **tolerance)
        along = (G * D).sum(axis=1, keepdims=True) * inverses[:, None] ** 2 * G
        np.testing.assert_allclose(back, (D - along) * inverses[:, None], rtol=1e-4, atol=20 * tolerance["atol"])

    @pytest.mark.parametrize("size", [1e-30, 1e-38, 1e-40, 1e-45])
    def test_rows_too_short_for_their_inverse(self, size):
        """One over the length of such a row may not be a float32: it has no direction, then."""
        G = np.array([[size, size], [0, size]], np.float32)
        inverses = _core.smooth_unit_rows(G, 0.0, 1)
        assert np.isfinite(inverses).all()
        assert np.isfinite(G).all()
        assert (np.linalg.norm(G, axis=1) < 1.001).all()


def adam(A, first, second, rows, gradient, rate, step):
    """Of Kingma and Ba 2015, algorithm 1, without their epsilon."""
    for row, g in zip(rows, gradient, strict=True):
        first[row] = 0.9 * first[row] + 0.1 * g
        second[row] = 0.999 * second[row] + 0.001 * g**2
        size = np.sqrt(second[row] / (1 - 0.999**step))
        A[row] -= rate * first[row] / (1 - 0.9**step) / np.where(size > 0, size, np.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adam(dtype):
    rng = np.random.default_rng(0)
    true = [rng.standard_normal((50, 4)), np.zeros((50, 4)), np.zeros((50, 4))]
    found = [each.astype(dtype) for each in true]
    for step in range(1, 6):
        rows = np.sort(rng.choice(50, 20, replace=False))
        gradient = rng.standard_normal((20, 4)).astype(dtype)
        gradient[3] = 0
        adam(*true, rows, gradient.astype(np.float64), 0.01, step)
        _core.adam_rows(*found, rows, gradient, 0.01, 0.9, 0.999, step, 2)
    for f, t in zip(found, true, strict=True):
        np.testing.assert_allclose(f, t, atol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("rows", [[0, 0], [1, 0], [-1, 1], [0, 3]])
def test_adam_rows_that_are_none(rows):
    A, first, second = (np.zeros((3, 2)) for _ in range(3))
    with pytest.raises(ValueError, match="rows: expected rising numbers of rows"):
        _core.adam_rows(A, first, second, np.array(rows), np.ones((2, 2)), 0.1, 0.9, 0.999, 1, 1)


def objective(views, loss, floors, scale=10.0, forward=0.5, backward=0.5):
    return Objective([sp.csr_matrix(x) for x in views], built_in(loss, scale, forward, backward, 2), floors, 2)


def sparse_views(n_views, m=25, p=12):
    rng = np.random.default_rng(n_views)
    topics = rng.standard_normal((m, p))
    return [(topics + rng.standard_normal((m, p))) * (rng.random((m, p)) < 0.4) for _ in range(n_views)]


def exponential(difference):
    loss = np.exp(-3 * difference)
    return loss, -3 * loss


def assert_slopes(of):
    """The gradient is the slope along random lines, by a formula of fourth order."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 4))
    gradient = of(A)[1]
    for _ in range(5):
        line, h = rng.standard_normal(A.shape), 1e-3
        at = {n: of(A + n * h * line)[0] for n in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        # Of the slope along the gradient itself: a line may be nearly level.
        steepest = np.linalg.norm(gradient) * np.linalg.norm(line)
        assert abs(slope - (gradient * line).sum()) < 1e-6 * max(abs(slope), 0.1 * steepest)


class TestProjection:
    """The whole way: from a projection of sparse rows to the loss, and back."""

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("directions", DIRECTIONS)
    @pytest.mark.parametrize("n_views", [2, 3])
    @pytest.mark.parametrize("floor", [0.0, 0.3])
    def test_finite_differences(self, loss, directions, n_views, floor):
        assert_slopes(
            objective(sparse_views(n_views), loss, [floor] * n_views, 10.0, *DIRECTIONS[directions]).on_all
        )

    @pytest.mark.parametrize("directions", DIRECTIONS)
    def test_finite_differences_of_a_loss_of_ones_own(self, directions):
        contrast = by_function(exponential, 1.0, *DIRECTIONS[directions], 2)
        views = [sp.csr_matrix(x) for x in sparse_views(3)]
        assert_slopes(Objective(views, contrast, [0.3] * 3, 2).on_all)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_finite_differences_in_blocks_drawn_to_a_start(self, loss):
        """What L-BFGS sees."""
        model = S2Net(4, loss=loss, negatives=7, reg=0.7, random_state=0)
        start = np.random.default_rng(5).standard_normal((12, 4))
        training = WholeTraining(model, objective(sparse_views(2), loss, [0.3, 0.2]), start, {})
        training.start(None)
        assert_slopes(training._evaluate)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("directions", DIRECTIONS)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("n_views", [2, 3, 4])
    def test_is_the_reference(self, loss, directions, dtype, n_views):
        rng = np.random.default_rng(1)
        forward, backward = DIRECTIONS[directions]
        views = [x.astype(dtype) for x in sparse_views(n_views)]
        floors = list(rng.random(n_views))
        A = rng.standard_normal((12, 4)).astype(dtype)
        given = {"loss": loss, "forward": forward, "backward": backward, "floors": floors}
        value, gradients = reference.objective(
            [x.astype(np.float64) for x in views], [A.astype(np.float64)] * n_views, **given
        )
        of = objective(views, loss, floors, 10.0, forward, backward)
        found, gradient = of.on_all(A)
        assert found == pytest.approx(value, rel=TOLERANCE[dtype])
        largest = np.abs(sum(gradients)).max()
        np.testing.assert_allclose(gradient, sum(gradients), atol=TOLERANCE[dtype] * largest)

    def test_of_some_rows(self):
        """As if there were no others; the gradient is of the terms that they have."""
        views, A = sparse_views(2), np.random.default_rng(1).standard_normal((12, 4))
        for x in views:
            x[:6, 7:] = 0
        rows = np.array([5, 0, 3])
        value, gradient = objective(views, "softmax", [0.2, 0.1]).on_rows(A, rows)
        expected, whole = objective([x[rows] for x in views], "softmax", [0.2, 0.1]).on_all(A)
        assert value == pytest.approx(expected, rel=1e-13)
        assert gradient.rows.max() < 7
        there = np.zeros_like(A)
        there[gradient.rows] = gradient.values
        np.testing.assert_allclose(there, whole, atol=1e-14)

    def test_pairs_of_views_weigh_the_same(self):
        views, A = sparse_views(3), np.random.default_rng(1).standard_normal((12, 4))
        whole = objective(views, "softmax", [0.2] * 3).on_all(A)
        parts = [
            objective([views[i], views[j]], "softmax", [0.2] * 2).on_all(A) for i, j in combinations(range(3), 2)
        ]
        assert whole[0] == pytest.approx(np.mean([value for value, _ in parts]), rel=1e-13)
        np.testing.assert_allclose(whole[1], np.mean([gradient for _, gradient in parts], axis=0), atol=1e-14)
