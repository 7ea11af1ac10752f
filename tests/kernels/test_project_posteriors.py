"""The KL projection of a pair's posteriors, by itself: optimal by its duality gap, and equal to the reference."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from semproj.kernels import project_posteriors
from tests.reference import plsa as reference
from tests.support import same_bits
from tests.support.topics import dense, harsh_pairs, merged, paired

COUPLINGS = [0.5, 3, 20, 100, np.inf]
EXACT = {"tol": 1e-7, "max_iter": 5000}


def problem(n=20, n_topics=5, *, seed=0, sharpness=1.0, **options):
    """Random thetas and topics beside the counts of pairs: nothing agrees to begin with."""
    rng = np.random.default_rng(seed)
    counts = merged(paired(n, seed=seed, **options))
    theta = [
        rng.dirichlet(np.full(n_topics, sharpness), n).astype(np.float32) + np.float32(1e-6) for _ in range(2)
    ]
    phi = rng.dirichlet(np.full(counts[0].shape[1], 0.5), n_topics).astype(np.float32) + np.float32(1e-7)
    return theta, phi, counts


def projected(theta, phi, counts, coupling, norm="l1", **options):
    return project_posteriors(*theta, phi, phi, *counts, coupling, norm=norm, **{**EXACT, **options})


def expected(theta, phi, counts, coupling, norm="l1"):
    wide = tuple(t.astype(np.float64) for t in theta)
    return reference.project(wide, phi.astype(np.float64), tuple(dense(counts)), coupling, norm)


def largest_distance(counts, side, coupling):
    """Of fractions, in L1, when a pair is within 1e-7 nats a token of the best, and float32 (Pinsker)."""
    if coupling == np.inf:
        return np.full(side.shape[0], 1e-4)
    tokens, own = (dense(x).sum(axis=1) for x in (counts[0] + counts[1], side))
    return np.sqrt(2 * (1e-7 * tokens + 1e-6 * coupling) / np.maximum(own, 1))


def gaps(theta, phi, counts, dual, coupling, norm="l1"):
    """Of these dual variables, in float64."""
    wide, topics, cells = (
        tuple(t.astype(np.float64) for t in theta),
        phi.astype(np.float64),
        tuple(dense(counts)),
    )
    first, second = reference.projected_fractions(wide, topics, cells, dual.astype(np.float64))
    return reference.gaps(dual.astype(np.float64), first, second, cells, coupling, norm)


class TestAgainstTheReference:
    @pytest.mark.parametrize("norm", ["l1", "l2"])
    @pytest.mark.parametrize("coupling", COUPLINGS)
    @pytest.mark.parametrize("n_topics", [2, 5, 40])
    def test_fractions(self, n_topics, coupling, norm):
        """Dual variables need not be unique; the projected posteriors are."""
        theta, phi, counts = problem(n_topics=n_topics)
        dual, first, second, gap, evaluations = projected(theta, phi, counts, coupling, norm)
        _, want_first, want_second, _ = expected(theta, phi, counts, coupling, norm)
        coupled = [i for i in range(20) if i not in (1, 2, 4) and evaluations[i] > 0]
        assert len(coupled) >= 16, "of 17, one may say that float32 is not enough for it"
        for found, want, n in zip((first, second), (want_first, want_second), counts, strict=True):
            apart = np.abs(found - want).sum(axis=1)[coupled]
            assert (apart <= largest_distance(counts, n, coupling)[coupled]).all()
        assert dual.shape == first.shape == second.shape == (20, n_topics)
        assert gap.shape == (20,)

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    @pytest.mark.parametrize("coupling", COUPLINGS)
    def test_fractions_are_those_of_the_dual(self, coupling, norm):
        """What is returned belongs together: the dual variables tilt the posteriors to these fractions."""
        theta, phi, counts = problem()
        dual, first, second, _, _ = projected(theta, phi, counts, coupling, norm)
        wide = tuple(t.astype(np.float64) for t in theta)
        want = reference.projected_fractions(
            wide, phi.astype(np.float64), tuple(dense(counts)), dual.astype(np.float64)
        )
        for found, fractions, n in zip((first, second), want, counts, strict=True):
            full = n.getnnz(axis=1) > 0
            np.testing.assert_allclose(found[full], fractions[full], atol=2e-6)
            np.testing.assert_allclose(found[full].sum(axis=1), 1, rtol=1e-5)


class TestOptimality:
    @pytest.mark.parametrize("norm", ["l1", "l2"])
    @pytest.mark.parametrize("coupling", [0.5, 3, 20, 100])
    def test_duality_gap(self, coupling, norm):
        """Zero only at the optimum, and small: a part of the penalty that the coupling could make."""
        theta, phi, counts = problem()
        dual, _, _, gap, _ = projected(theta, phi, counts, coupling, norm)
        true = gaps(theta, phi, counts, dual, coupling, norm)
        assert true.max() <= 1e-5 * coupling
        np.testing.assert_allclose(gap, true, atol=3e-6 * coupling)
        assert gaps(theta, phi, counts, 0 * dual, coupling, norm).max() > 0.1 * coupling, "far from where it began"

    @pytest.mark.parametrize("coupling", [0.5, 3, 20])
    def test_conditions_of_l1(self, coupling):
        """KKT: where fractions differ, the dual variable is at its bound, on the side that pulls them together."""
        theta, phi, counts = problem()
        dual, first, second, _, _ = projected(theta, phi, counts, coupling)
        assert np.abs(dual).max() <= coupling * (1 + 1e-6)
        apart = (first - second).astype(np.float64)
        apart[[1, 2, 4]] = 0
        inside = np.abs(dual) < coupling * (1 - 1e-3)
        inside[[1, 2, 4]] = False
        assert np.abs(apart[inside]).max(initial=0) < 1e-4
        assert (dual * apart >= -1e-5).all()
        assert inside.any() or coupling < 1

    @pytest.mark.parametrize("coupling", [0.5, 3, 20])
    def test_conditions_of_l2(self, coupling):
        """Where fractions differ, the dual vector has full length, and their direction."""
        theta, phi, counts = problem()
        dual, first, second, _, _ = projected(theta, phi, counts, coupling, "l2")
        apart = (first - second).astype(np.float64)
        apart[[1, 2, 4]] = 0
        length = np.linalg.norm(apart, axis=1)
        far = length > 1e-3
        assert far.any()
        assert np.linalg.norm(dual, axis=1).max() <= coupling * (1 + 1e-6)
        np.testing.assert_allclose(dual[far] / coupling, apart[far] / length[far, None], atol=5e-3)

    def test_infinite_coupling(self):
        theta, phi, counts = problem()
        dual, first, second, gap, _ = projected(theta, phi, counts, np.inf)
        coupled = [i for i in range(20) if i not in (1, 2, 4)]
        assert np.abs(first - second)[coupled].max() < 1e-6
        np.testing.assert_allclose(gap[coupled], np.abs(first - second)[coupled].max(axis=1), atol=1e-6)
        assert gaps(theta, phi, counts, dual, np.inf).max() < 2e-6

    def test_norms_agree_where_they_must(self):
        """In two topics the differences are (d, -d): |d| sqrt(2) in l2 and 2 |d| in l1."""
        theta, phi, counts = problem(n_topics=2)
        first = projected(theta, phi, counts, 3.0, "l1")[1]
        second = projected(theta, phi, counts, 3.0 * np.sqrt(2), "l2")[1]
        np.testing.assert_allclose(first, second, atol=1e-4)

    def test_nothing_else_is_nearer(self):
        """The primal: KL and penalty of projected posteriors, beside those of feasible ones near them."""
        theta, phi, counts = problem(n=6, n_topics=3)
        coupling = 5.0
        dual = projected(theta, phi, counts, coupling)[0].astype(np.float64)
        wide, topics = tuple(t.astype(np.float64) for t in theta), phi.astype(np.float64)
        cells = tuple(dense(counts))
        p = [reference.posteriors(t, topics) for t in wide]
        best = [reference.posteriors(t, topics) for t in reference.tilted(wide, cells, dual)]

        def cost(q, row):
            divergence = sum(
                (n[row][:, None] * q_side[row] * np.log(q_side[row] / p_side[row])).sum()
                for n, q_side, p_side in zip(cells, q, p, strict=True)
            )
            f = [reference.fractions(n, q_side)[row] for n, q_side in zip(cells, q, strict=True)]
            return divergence + coupling * np.abs(f[0] - f[1]).sum()

        rng = np.random.default_rng(0)
        for _ in range(50):
            other = [q * rng.uniform(0.9, 1.1, q.shape) for q in best]
            other = [q / q.sum(axis=2, keepdims=True) for q in other]
            for row in (0, 3, 5):
                assert cost(other, row) >= cost(best, row) - 1e-4


class TestCorners:
    def test_no_coupling(self):
        theta, phi, counts = problem()
        dual, first, second, gap, _ = projected(theta, phi, counts, 0)
        assert not dual.any()
        assert np.abs(gap).max() < 1e-6
        topics = phi.astype(np.float64)
        for found, t, n in zip((first, second), theta, dense(counts), strict=True):
            want = reference.fractions(n, reference.posteriors(t.astype(np.float64), topics))
            full = n.sum(axis=1) > 0
            np.testing.assert_allclose(found[full], want[full], atol=2e-6)

    @pytest.mark.parametrize("coupling", [3, np.inf])
    def test_a_pair_with_an_empty_side_is_not_coupled(self, coupling):
        theta, phi, counts = problem()
        dual, first, second, gap, _ = projected(theta, phi, counts, coupling)
        assert not dual[[1, 2, 4]].any()
        assert not gap[[1, 2, 4]].any()
        assert np.isfinite(first).all()
        assert np.isfinite(second).all()

    def test_equal_sides_need_nothing(self):
        """Fractions that agree already: no dual variable moves."""
        theta, phi, counts = problem()
        theta, counts = [theta[0], theta[0]], [counts[0], counts[0]]
        dual, first, second, gap, _ = projected(theta, phi, counts, np.inf)
        assert np.abs(dual).max() < 1e-4
        np.testing.assert_allclose(first, second, atol=1e-6)
        assert gap.max() < 1e-6

    def test_separate_topics(self):
        """phi of each side's own: the same as blocks of one matrix that the other side does not touch."""
        rng = np.random.default_rng(0)
        theta = [rng.dirichlet(np.ones(4), 10).astype(np.float32) for _ in range(2)]
        phi = [rng.dirichlet(np.ones(w), 4).astype(np.float32) for w in (30, 20)]
        views = paired(10, (30, 20))
        wide = [sp.csr_matrix(x) for x in reference.placed(dense(views), "separate")[0]]
        options = {"norm": "l1", **EXACT}
        apart = project_posteriors(*theta, *phi, *views, 5.0, **options)
        both = np.hstack(phi)
        together = project_posteriors(*theta, both, both, *wide, 5.0, **options)
        for a, b in zip(apart[:4], together[:4], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)

    @pytest.mark.parametrize("coupling", [3, np.inf])
    def test_lengths_far_apart(self, coupling):
        """A document of 5 tokens beside one of thousands: the dual is badly conditioned."""
        theta, phi, counts = problem(n=8)
        counts = [counts[0], counts[1] * np.float32(200)]
        _, first, second, _, _ = projected(theta, phi, counts, coupling)
        _, want_first, want_second, _ = expected(theta, phi, counts, coupling)
        coupled = [0, 3, 5, 6, 7]
        np.testing.assert_allclose(first[coupled], want_first[coupled], atol=1e-3)
        np.testing.assert_allclose(second[coupled], want_second[coupled], atol=1e-3)

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    @pytest.mark.parametrize("coupling", [1e37, np.inf])
    @pytest.mark.parametrize("tokens", [1e-25, 1e36, 1e37, 1e38])
    def test_lengths_at_the_ends_of_float32(self, tokens, coupling, norm):
        """Fractions stay, and the dual grows, when tokens and the coupling grow alike."""
        theta, phi = np.full((1, 3), 1 / 3, np.float32), np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], np.float32)
        of = [np.array([[1.0, 0.1]]), np.array([[0.3, 1.0]])]

        def found(scale, coupling):
            counts = (sp.csr_matrix(scale * x) for x in of)
            return project_posteriors(theta, theta, phi, phi, *counts, coupling, norm=norm, **EXACT)

        want, *expected, _, _ = found(1, coupling / tokens)
        dual, *fractions, gap, evaluations = found(tokens, coupling)
        assert evaluations > 0
        assert np.isfinite(gap).all()
        np.testing.assert_allclose(fractions, expected, atol=4e-4)  # as 1e-7 nats a token allow (Pinsker)
        differences = np.diff(dual.astype(np.float64) / tokens), np.diff(want)  # a constant changes nothing
        np.testing.assert_allclose(*differences, atol=2e-3)

    def test_sharp_posteriors(self):
        theta, phi, counts = problem(sharpness=0.02)
        dual, first, second, _, _ = projected(theta, phi, counts, np.inf)
        coupled = [i for i in range(20) if i not in (1, 2, 4)]
        assert np.isfinite(dual).all()
        assert np.abs(first - second)[coupled].max() < 1e-5

    @pytest.mark.parametrize("beta", [1.01, 1.0001])
    @pytest.mark.parametrize("coupling", [30, 1000, np.inf])
    def test_each_word_in_one_topic(self, coupling, beta):
        """Where a fit begins: posteriors are nearly certain, and hardly move until lambda is large."""
        counts = merged(paired(40, (30, 20)))
        theta, phi = reference.start(np.vstack(dense(counts)), 4, beta, [0, 45])
        theta = [theta[:40].astype(np.float32), theta[40:].astype(np.float32)]
        dual, _, _, gap, evaluations = projected(theta, phi.astype(np.float32), counts, coupling, tol=1e-6)
        true = gaps(theta, phi.astype(np.float32), counts, dual, coupling)
        tokens = np.array([x.sum() for x in counts[0] + counts[1]])
        assert (true <= (2e-6 if coupling == np.inf else 1e-6 * tokens + 1e-6 * coupling)).all(), true.argmax()
        np.testing.assert_allclose(gap, true, atol=2e-6 if coupling == np.inf else 3e-6 * coupling)
        # Rounding of fractions, times a large coupling, may be more than the gap that is asked for.
        assert ((evaluations > 0) | (true <= 1e-6 * coupling)).all()


class TestHarshPairs:
    """Posteriors that are certain, weights of a thousandth of a token, zeros: float32 steps lead nowhere."""

    def projected(self, seed, norm, **options):
        """The pairs that are coupled, with their tolerance and what was found."""
        theta, phi, counts, coupling = harsh_pairs(np.random.default_rng(seed), **options)
        found = project_posteriors(*theta, *phi, *counts, coupling, norm=norm, tol=1e-7, max_iter=2000)
        for i in range(len(theta[0])):
            pair = reference.HarshPair([t[i] for t in theta], phi, [n[i].toarray()[0] for n in counts])
            if pair.coupled:
                yield pair, coupling, 1e-7 * sum(pair.masses) + 5e-7 * coupling, [x[i] for x in found]

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_all_reach_their_tolerance(self, norm):
        """Without a warning; by the duality gap of lambda in float64, but for rounding it to float32."""
        for seed in range(60):
            for pair, coupling, allowed, (dual, _, _, gap, evaluations) in self.projected(seed, norm):
                assert 0 < evaluations < 1200
                assert gap <= allowed
                rounding = 6e-8 * np.abs(dual).max() * sum(1 / n for n in pair.masses)
                true = pair.gap(dual.astype(np.float64), coupling, norm)
                assert true <= 2 * allowed + (1e-6 + 2 * rounding) * coupling

    @pytest.mark.parametrize(("norm", "seeds"), [("l1", range(12)), ("l2", range(3))])
    def test_fractions(self, norm, seeds):
        """Beside SciPy's minimum of the dual: as near as what both leave of it allows (Pinsker)."""
        for seed in seeds:
            pairs = self.projected(seed, norm, n=3, most_topics=5)
            for pair, coupling, allowed, (_, first, second, gap, _) in pairs:
                best = pair.minimised(coupling, norm)
                left = pair.gap(best, coupling, norm)
                assert left <= allowed, "SciPy's too"
                for found, want, n in zip((first, second), pair.evaluate(best)[1:], pair.masses, strict=True):
                    assert np.abs(found - want).sum() <= np.sqrt(2 * (max(gap, 0) + max(left, 0)) / n) + 2e-6

    def test_any_number_of_threads(self):
        theta, phi, counts, coupling = harsh_pairs(np.random.default_rng(7), n=64)
        results = [
            project_posteriors(*theta, *phi, *counts, coupling, tol=1e-7, max_iter=2000, n_threads=n)
            for n in (1, 3)
        ]
        for one, three in zip(*results, strict=True):
            assert same_bits(one, three)

    def test_what_no_tilt_can_do_is_not_done(self):
        """An infinite coupling of sides that share no topic; a finite one is as far as it goes."""
        theta = [np.array([[1, 0]]), np.array([[0, 1]])]
        phi, counts = np.full((2, 3), 1 / 3), np.array([[1, 2, 0]])
        with pytest.warns(
            ConvergenceWarning, match=r"^1 of 1 pairs did not reach tol=2e-06: their largest gap is 1"
        ):
            *_, gap, evaluations = project_posteriors(*theta, phi, phi, counts, counts, np.inf)
        assert gap[0] == 1
        assert evaluations[0] < 0
        dual, *_, gap, evaluations = project_posteriors(*theta, phi, phi, counts, counts, 1e4)
        assert dual.tolist() == [[1e4, -1e4]]
        assert gap[0] == 0
        assert evaluations[0] > 0


class TestWork:
    def test_warm_start(self):
        """From the solution, nothing is left to do."""
        theta, phi, counts = problem()
        cold = projected(theta, phi, counts, 20, tol=1e-5)
        warm = projected(theta, phi, counts, 20, tol=1e-5, start=cold[0])
        assert (cold[4] > 0).all(), "all done"
        assert (warm[4] > 0).all()
        assert np.sum(warm[4]) < 0.5 * np.sum(cold[4])
        np.testing.assert_allclose(warm[1], cold[1], atol=1e-4)

    def test_a_start_does_not_change_the_answer(self):
        theta, phi, counts = problem()
        far = np.random.default_rng(0).uniform(-3, 3, (20, 5)).astype(np.float32)
        for coupling in (3, np.inf):
            cold, warm = (
                projected(theta, phi, counts, coupling),
                projected(theta, phi, counts, coupling, start=far),
            )
            np.testing.assert_allclose(warm[1], cold[1], atol=3e-4)

    def test_max_iter(self):
        theta, phi, counts = problem()
        with pytest.warns(ConvergenceWarning, match=r"^1\d of 20 pairs did not reach tol=1e-06: .*max_iter"):
            short = projected(theta, phi, counts, 20, tol=1e-6, max_iter=1)
        whole = projected(theta, phi, counts, 20, tol=1e-6, max_iter=5000)
        assert gaps(theta, phi, counts, short[0], 20).max() > 100 * gaps(theta, phi, counts, whole[0], 20).max()
        assert (whole[4] > 0).all()
        assert (short[4] < 0).sum() > 10, "told apart by their sign"
        assert np.abs(short[4]).max() == 1

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_any_number_of_threads(self, norm):
        theta, phi, counts = problem(n=200, n_topics=9)
        one = projected(theta, phi, counts, 5, norm, n_threads=1, max_iter=50)
        for n_threads in (2, 5):
            for a, b in zip(
                one, projected(theta, phi, counts, 5, norm, n_threads=n_threads, max_iter=50), strict=True
            ):
                assert same_bits(np.asarray(a), np.asarray(b))

    def test_pairs_do_not_depend_on_each_other(self):
        theta, phi, counts = problem()
        whole = projected(theta, phi, counts, 5)
        some = projected([t[7:9] for t in theta], phi, [n[7:9] for n in counts], 5)
        for a, b in zip(some[:4], whole[:4], strict=True):
            assert same_bits(np.ascontiguousarray(a), np.ascontiguousarray(b[7:9]))


class TestWrongArguments:
    @pytest.mark.parametrize("coupling", [-1, np.nan, "1", None])
    def test_coupling(self, coupling):
        with pytest.raises((ValueError, TypeError), match="coupling"):
            projected(*problem(), coupling)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("norm", "linf"), ("tol", -1), ("tol", np.nan), ("max_iter", 0), ("max_iter", 1.5), ("n_threads", 0)],
    )
    def test_options(self, name, value):
        with pytest.raises((ValueError, TypeError), match=name):
            projected(*problem(), 3, **{name: value})

    @pytest.mark.parametrize("name", ["theta1", "theta2", "phi1", "phi2", "counts1", "counts2", "start"])
    def test_shapes(self, name):
        theta, phi, counts = problem()
        arguments = {
            "theta1": theta[0],
            "theta2": theta[1],
            "phi1": phi,
            "phi2": phi,
            "counts1": counts[0],
            "counts2": counts[1],
            "start": np.zeros((20, 5), np.float32),
        }
        arguments[name] = arguments[name][:-1]
        # What theta1 has too little of, others have too much of.
        blamed = {"theta1": "theta2|counts1|start", "counts1": "counts1"}.get(name, name)
        with pytest.raises(ValueError, match=f"^({blamed}): expected"):
            project_posteriors(**arguments, coupling=3.0)

    @pytest.mark.parametrize("name", ["theta1", "theta2", "phi1", "phi2", "start"])
    def test_numbers_beyond_float32(self, name):
        theta, phi, counts = problem()
        arguments = {"theta1": theta[0], "theta2": theta[1], "phi1": phi, "phi2": phi, "start": np.zeros((20, 5))}
        arguments[name] = arguments[name].astype(np.float64)
        arguments[name][2, 3] = 1e39
        with pytest.raises(ValueError, match=f"^{name}: expected finite numbers.* float32 can hold"):
            project_posteriors(**arguments, counts1=counts[0], counts2=counts[1], coupling=np.inf)

    @pytest.mark.parametrize("value", [-1, np.nan, np.inf])
    @pytest.mark.parametrize("name", ["counts1", "counts2"])
    def test_counts(self, name, value):
        theta, phi, counts = problem()
        side = int(name[-1]) - 1
        counts[side] = counts[side].copy()
        counts[side].data[7] = value
        with pytest.raises(ValueError, match=name):
            projected(theta, phi, counts, 3)
