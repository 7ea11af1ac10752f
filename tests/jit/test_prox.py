"""CPLSA with a penalty of the slack known by its proximal map, beside the norms and dense references."""

from __future__ import annotations

import textwrap
import warnings

import numba
import numpy as np
import pytest

import semproj as sj
from semproj import CPLSA, _core
from semproj._common.validation import core_csr
from semproj.jit.callbacks import array_callback
from tests.reference import plsa as reference
from tests.support import same_bits
from tests.support.interrupting import interrupted, seconds_after_ctrl_c
from tests.support.topics import (
    PRIORS,
    assert_climbs,
    assert_close,
    assert_same_fit,
    dense,
    harsh_pairs,
    make,
    merged,
    objectives_with_start,
    paired,
)

EXACT = {"projection_tol": 1e-8, "max_projection_iter": 2000}
TOLERANCE = 1e-3  # as of the norms: what 1e-8 nats a token and float32 leave
SLACK = 1e-6  # that fractions may be off after a fit


# Penalties of a slack s, by the proximal maps of their conjugates.
def clipped(dual, coupling, step):
    """coupling |s|"""
    return min(max(dual, -coupling), coupling)


def unmoved(dual, coupling, step):
    """0 where s is 0, and infinite elsewhere."""
    return dual


def squared(dual, coupling, step):
    """coupling s^2 / 2"""
    return dual / (1 + step / coupling)


def huber(dual, coupling, step):
    """50 s^2, and from where its slope is the coupling on, linear."""
    return min(max(dual / (1 + step / 100.0), -coupling), coupling)


def band(dual, coupling, step):
    """0 up to |s| = 0.1, and infinite from there on."""
    size = abs(dual) - 0.1 * step
    return np.sign(dual) * size if size > 0 else 0.0


def one_sided(dual, coupling, step):
    """coupling s where s is positive, otherwise 0: the first document may have less of a topic, not more."""
    return min(max(dual, 0.0), coupling)


# The conjugates, and whether a multiplier is where it may be for a slack, within a tolerance.
CONJUGATES = {
    clipped: lambda x, c: 0 * x,
    squared: lambda x, c: x**2 / (2 * c),
    huber: lambda x, c: x**2 / 200,
    band: lambda x, c: 0.1 * abs(x),
    one_sided: lambda x, c: 0 * x,
}


def of_arrays(prox):
    """For the reference, on arrays."""
    return np.vectorize(prox, otypes=[np.float64])


def views_of(n=14, **options):
    return merged(paired(n, **options))


def projected(prox, theta, phi, counts, coupling, *, n_threads=1, tol=1e-7, most=2000, slack=SLACK):
    """The projections by themselves: multipliers, fractions of both sides, gaps and evaluations."""
    n, k = theta[0].shape
    found = [np.zeros((n, k), np.float32) for _ in range(2)]
    sides = []
    for mixture, topics, x, into in zip(theta, phi, counts, found, strict=True):
        rows = x.astype(np.float32).tocsr()
        rows.indices = rows.indices.astype(np.int32)
        words = _core.TopicWords(np.ascontiguousarray(topics.T, np.float32), 1)
        sides.append(_core.PairSide(core_csr(rows), words, np.ascontiguousarray(mixture, np.float32), into))
    multipliers, gaps, evaluations = np.zeros((n, k), np.float32), np.zeros(n), np.zeros(n, np.int64)
    callback = array_callback(prox)
    options = _core.Coupling(coupling, False, tol, most, callback.address, slack)
    _core.project_posteriors(*sides, multipliers, gaps, evaluations, options, n_threads)
    return multipliers, *found, gaps, evaluations


def problem(n=20, k=5, seed=0):
    rng = np.random.default_rng(seed)
    counts = views_of(n, seed=seed)
    theta = [rng.dirichlet(np.ones(k), n).astype(np.float32) + np.float32(1e-6) for _ in range(2)]
    phi = rng.dirichlet(np.full(counts[0].shape[1], 0.5), k).astype(np.float32) + np.float32(1e-7)
    return theta, (phi, phi), counts


COUPLED = [i for i in range(20) if i not in (1, 2, 4)]  # those with two sides


class TestProjections:
    @pytest.mark.parametrize("prox", [clipped, squared, huber, band, one_sided], ids=lambda f: f.__name__)
    @pytest.mark.parametrize("coupling", [0.5, 3.0, 20.0, 100.0])
    @pytest.mark.parametrize("k", [2, 5, 40])
    def test_fractions(self, prox, coupling, k):
        """Beside accelerated proximal gradients in NumPy."""
        theta, phi, counts = problem(k=k)
        _, first, second, _, evaluations = projected(prox, theta, phi, counts, coupling)
        assert (evaluations > 0).all()
        wide = tuple(t.astype(np.float64) for t in theta)
        expected = reference.project(
            wide, phi[0].astype(np.float64), tuple(dense(counts)), coupling, prox=of_arrays(prox)
        )
        for found, want in zip((first, second), expected[1:3], strict=True):
            assert np.abs(found - want)[COUPLED].max() < 2e-4

    @pytest.mark.parametrize("coupling", [0.5, 3.0, 20.0, 100.0, 1000.0])
    def test_a_clip_is_the_l1_norm(self, coupling):
        theta, phi, counts = problem()
        multipliers, first, second, _, _ = projected(clipped, theta, phi, counts, coupling)
        built_in = sj.kernels.project_posteriors(*theta, *phi, *counts, coupling, tol=1e-7, max_iter=2000)
        np.testing.assert_allclose(first, built_in[1], atol=1e-4)
        np.testing.assert_allclose(second, built_in[2], atol=1e-4)
        assert np.abs(multipliers).max() <= coupling * (1 + 1e-6)
        wide = tuple(t.astype(np.float64) for t in theta)
        fractions = reference.projected_fractions(
            wide, phi[0].astype(np.float64), tuple(dense(counts)), multipliers.astype(np.float64)
        )
        gaps = reference.gaps(multipliers.astype(np.float64), *fractions, dense(counts), coupling, "l1")
        assert gaps.max() <= 5e-6 * coupling

    def test_no_map_makes_fractions_equal(self):
        theta, phi, counts = problem()
        _, first, second, _, evaluations = projected(unmoved, theta, phi, counts, 1.0)
        assert (evaluations > 0).all()
        assert np.abs(first - second)[COUPLED].max() < 3 * SLACK

    def test_conditions(self):
        """What each penalty is for."""
        theta, phi, counts = problem()
        multipliers, first, second, _, _ = projected(squared, theta, phi, counts, 5.0)
        np.testing.assert_allclose(multipliers[COUPLED] / 5, (first - second)[COUPLED], atol=3 * SLACK)
        multipliers, first, second, _, _ = projected(band, theta, phi, counts, 1.0)
        apart = (first - second)[COUPLED]
        assert np.abs(apart).max() == pytest.approx(0.1, abs=3 * SLACK)
        inside = np.abs(apart) < 0.0999
        assert inside.any()
        assert not multipliers[COUPLED][inside].any()
        multipliers, first, second, _, _ = projected(one_sided, theta, phi, counts, 1e3)
        assert (first - second)[COUPLED].max() < 3 * SLACK
        assert multipliers.min() >= 0

    @pytest.mark.parametrize("prox", [clipped, squared, band], ids=lambda f: f.__name__)
    def test_harsh_pairs(self, prox):
        """Posteriors that are certain, weights of a thousandth of a token: by steps in double."""
        done = total = 0
        for seed in range(20):
            theta, phi, counts, coupling = harsh_pairs(np.random.default_rng(seed))
            found = projected(prox, theta, phi, counts, coupling)
            for i, evaluations in enumerate(found[4]):
                sides = [t[i] for t in theta], phi, [n[i].toarray()[0] for n in counts]
                pair = reference.HarshPair(*sides)
                if not pair.coupled or pair.on_the_edge:
                    continue
                total += 1
                done += evaluations > 0
                if evaluations < 0 or prox is not clipped:
                    continue
                dual = found[0][i].astype(np.float64)
                rounding = 6e-8 * np.abs(dual).max() * sum(1 / n for n in pair.masses)
                allowed = 1e-7 * sum(pair.masses) + 5e-7 * coupling
                assert pair.gap(dual, coupling, "l1") <= 2 * allowed + (4e-6 + 2 * rounding) * coupling
        assert total > 80
        assert done >= (0.98 if prox is not band else 0.9) * total  # a band may be out of reach

    def test_any_number_of_threads(self):
        theta, phi, counts, coupling = harsh_pairs(np.random.default_rng(7), n=64)
        one, *others = (projected(squared, theta, phi, counts, coupling, n_threads=n) for n in (1, 2, 3))
        for other in others:
            assert all(same_bits(a, b) for a, b in zip(one, other, strict=True))


class TestFits:
    @pytest.mark.parametrize("prox", CONJUGATES, ids=lambda f: f.__name__)
    @pytest.mark.parametrize("n_sweeps", [1, 5, 20])
    def test_against_the_reference(self, prox, n_sweeps):
        views, coupling = views_of(), 5.0
        model = make(CPLSA, coupling=coupling, prox=prox, max_iter=n_sweeps, **EXACT).fit(views)
        counts, penalties = tuple(dense(views)), []

        def projection(theta, phi, counts, coupling, norm):
            found = reference.project(theta, phi, counts, coupling, prox=of_arrays(prox))
            both = (counts[0].sum(axis=1) > 0) & (counts[1].sum(axis=1) > 0)
            penalties.append(CONJUGATES[prox](found[0][both], coupling).sum())
            return found

        theta, phi, history = reference.coupled_fit(
            counts, 4, n_sweeps, coupling=coupling, projection=projection, **PRIORS
        )
        assert_close(model, theta, phi, 3 * TOLERANCE)
        np.testing.assert_allclose(model.objective_, np.add(history, penalties[1:]), rtol=2e-5)

    @pytest.mark.parametrize("prox", CONJUGATES, ids=lambda f: f.__name__)
    @pytest.mark.parametrize("coupling", [1.0, 30.0])
    def test_objective_never_falls(self, prox, coupling):
        views = views_of(40)
        model = make(CPLSA, coupling=coupling, prox=prox, max_iter=30)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_climbs(objectives_with_start(model, views), sum(x.sum() for x in views) * 3)
        assert model.converged_.all()

    @pytest.mark.parametrize("coupling", [3.0, 30.0])
    def test_a_clip_is_the_l1_norm(self, coupling):
        views = views_of(40)
        options = {"coupling": coupling, "max_iter": 5, **EXACT}
        built_in, by_function = make(CPLSA, **options), make(CPLSA, prox=numba.njit(clipped), **options)
        for model in (built_in, by_function):
            model.fit(views)
        np.testing.assert_allclose(by_function.objective_, built_in.objective_, rtol=1e-5)
        assert_close(by_function, tuple(built_in.doc_topics_), built_in.components_, TOLERANCE)
        assert by_function.objective(views) == pytest.approx(by_function.objective_[-1], rel=1e-6)

    def test_any_number_of_threads(self):
        views = views_of(60)
        options = {"coupling": 10.0, "prox": huber, "max_iter": 8}
        one, *others = (make(CPLSA, n_threads=n, **options).fit(views) for n in (1, 2, 3))
        for other in others:
            assert_same_fit(one, other)
            assert same_bits(one.multipliers_, other.multipliers_)

    def test_pairs_with_an_empty_side_are_not_coupled(self):
        model = make(CPLSA, coupling=10.0, prox=squared).fit(views_of(40))
        assert not model.multipliers_[[1, 2, 4]].any()
        assert not model.gaps_[[1, 2, 4]].any()
        assert model.multipliers_[0].any()


class TestCheckpoint:
    def test_goes_on_with_the_same_function(self, tmp_path):
        path, views = tmp_path / "state", views_of()
        options = {"coupling": 4.0, "prox": squared}
        interrupted(make(CPLSA, checkpoint=path, **options), views, 3)
        assert_same_fit(make(CPLSA, checkpoint=path, **options).fit(views), make(CPLSA, **options).fit(views))

    @pytest.mark.parametrize("prox", [huber, None])
    def test_refuses_others(self, tmp_path, prox):
        path, views = tmp_path / "state", views_of()
        make(CPLSA, coupling=4.0, checkpoint=path, prox=squared).fit(views)
        with pytest.raises(ValueError, match=r"checkpoint: .* belongs to another fit"):
            make(CPLSA, coupling=4.0, checkpoint=path, prox=prox).fit(views)


def test_comes_back_with_its_function(tmp_path):
    path, views = tmp_path / "model", views_of()
    model = make(CPLSA, coupling=4.0, prox=squared).fit(views)
    model.save(path, documents=True)
    with pytest.raises(ValueError, match=r"^functions: .* as its prox, 'squared'"):
        sj.load(path)
    loaded = sj.load(path, functions={"prox": squared})
    assert loaded.objective(views) == model.objective(views)
    assert loaded.prox is squared


def raising(dual, coupling, step):
    if dual > 1:
        raise IndexError("too far")
    return dual


outside = [1.0, 2.0]
CALL = r"prox\(dual, coupling, step\)"
BAD = {
    "two arguments": (lambda dual, coupling: dual, TypeError, CALL),
    "text": (lambda dual, coupling, step: "much", TypeError, CALL),
    "a number": (3.0, TypeError, r"got 3\.0"),
    "an object": (lambda dual, coupling, step: str(dual).encode(), TypeError, CALL),
    "a list outside": (lambda dual, coupling, step: outside[0], TypeError, CALL),
    "raises": (
        raising,
        ValueError,
        r"IndexError: too far for prox\([\d.]+, 5, [\d.e+]+\) of pair 0; it is .*" + CALL,
    ),
    "NaN": (
        lambda dual, coupling, step: np.sqrt(dual),
        ValueError,
        r"returned nan for prox\(-[\d.]+, 5, .* pair 0",
    ),
    "infinite": (lambda dual, coupling, step: np.inf, ValueError, r"returned inf for prox\(.*\) of pair 0"),
    "divides by zero": (lambda dual, coupling, step: dual / (coupling - 5), ValueError, r"ZeroDivisionError"),
}


class TestBadFunctions:
    @pytest.mark.parametrize("n_threads", [1, 3])
    @pytest.mark.parametrize("kind", BAD)
    @pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
    def test_named_and_the_previous_fit_kept(self, kind, n_threads, capfd):
        function, error, words = BAD[kind]
        views = views_of(60)
        model = make(CPLSA, coupling=5.0, n_threads=n_threads).fit(views)
        before = model.word_topics_.copy()
        with pytest.raises(error, match=rf"(?s)^prox: .*{words}"):
            model.set_params(prox=function).fit(views)
        assert same_bits(model.word_topics_, before)
        printed = capfd.readouterr()
        assert (printed.out, printed.err) == ("", "")

    def test_the_first_pair_is_named(self):
        """Whichever thread comes there first: a pair late among many, of more tokens than all others."""
        views = paired(400, corners=False, seed=3)
        views = [x.tolil() for x in merged(views)]
        for x in views:
            x[250] = x[250] * 40
            x[333] = x[333] * 40
        views = [x.tocsr() for x in views]
        said = set()
        for n_threads in (1, 2, 3):
            with pytest.raises(ValueError, match=r"^prox: .* of pair 250;") as raised:
                make(
                    CPLSA,
                    coupling=5.0,
                    n_threads=n_threads,
                    prox=lambda dual, coupling, step: np.nan if abs(dual) > 1500 else dual,
                ).fit(views)
            said.add(str(raised.value))
        assert len(said) == 1


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_a_slow_function(n_threads):
    @numba.njit
    def slow(dual, coupling, step):
        total = 0.0
        for i in range(10_000):
            total += np.sin(dual * i)
        return min(max(dual + 1e-30 * total, -coupling), coupling)

    views = views_of(3000)  # of some minutes
    model = make(CPLSA, coupling=5.0, prox=slow, max_iter=2, n_threads=n_threads).fit([x[:4] for x in views])
    before = model.word_topics_.copy()
    assert seconds_after_ctrl_c(lambda: model.fit(views)) < 1
    assert same_bits(model.word_topics_, before)


SCRIPT = textwrap.dedent("""
    import ctypes, numpy as np
    from semproj.jit.callbacks import array_callback
    from tests.jit.test_prox import squared
    def made(k):
        return lambda dual, coupling, step: k * dual
    def called(function):
        callback = array_callback(function)
        rows = [np.full(3, 2.0), np.full(3, 4.0), np.full(3, 4.0), np.empty(3)]
        data = [row.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for row in rows]
        return callback.ctypes(*data, 3), rows[3].tolist(), callback.cache_hits
    """)


def test_callbacks_are_found_again_in_another_process(run_python, tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    script = SCRIPT + "print([called(each) for each in (made(3.0), squared, made(5.0))])"
    values = [[6.0] * 3, [1.0] * 3, [10.0] * 3]
    assert eval(run_python(script, **environment).stdout) == [(0, each, 0) for each in values]
    again = SCRIPT + "print([called(each) for each in (made(5.0), made(7.0), squared, made(3.0))])"
    expected = [(0, values[2], 1), (0, [14.0] * 3, 0), (0, values[1], 1), (0, values[0], 1)]
    assert eval(run_python(again, **environment).stdout) == expected
