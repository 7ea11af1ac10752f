"""The Gibbs chain below BPTF: exact conditionals, the joint-distribution test of Geweke, bits for any threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from semproj import _core, effective_sample_size
from semproj._common.resources import single_threaded_blas
from semproj.bptf import _chain
from semproj.bptf._chain import Chain, HyperPrior
from semproj.bptf._observed import Cells
from tests.reference import bptf as reference
from tests.support import same_bits

FREEDOM = 6.0  # more than the paper's, so that moments of the prior exist


def random_pairs(n_words, n, seed, *, ordered=False):
    rng = np.random.default_rng(seed)
    i, j = np.nonzero(~np.eye(n_words, dtype=bool)) if ordered else np.triu_indices(n_words, 1)
    chosen = rng.choice(len(i), n, replace=False)
    return np.stack([i[chosen], j[chosen]], axis=1)


def cells_of(pairs, values, symmetric, dtype=np.float64, weights=None):
    roots = [None] * len(pairs) if weights is None else [np.sqrt(w).astype(dtype) for w in weights]
    return [
        Cells(*np.ascontiguousarray(p.T.astype(np.int32)), np.asarray(r, dtype), each, root)
        for p, r, each, root in zip(pairs, values, symmetric, roots, strict=True)
    ]


def random_weights(pairs, seed=0):
    """Of a wide range, so that a cell with another's is told."""
    rng = np.random.default_rng(seed)
    return [np.exp(rng.standard_normal(len(cells))) for cells in pairs]


def chain_of(n_words, d, symmetric, *, seed=0, n_threads=1, dtype=np.float64, freedom=FREEDOM):
    return Chain(
        n_words, d, symmetric, seed=seed, n_threads=n_threads, dtype=dtype, prior=HyperPrior(extra_freedom=freedom)
    )


class TestGraph:
    def lists(self, n_threads=1):
        pairs = [random_pairs(40, 200, 1), random_pairs(40, 150, 2, ordered=True)]
        slices = cells_of(pairs, [np.arange(200), -np.arange(150)], [True, False])
        return slices, chain_of(40, 3, [True, False], n_threads=n_threads).lists(slices)

    def test_lists(self):
        slices, lists = self.lists()
        assert lists.n_lists == 3
        expected = [[] for _ in range(120)]
        for cells, first, second in zip(slices, (0, 1), (0, 2), strict=True):
            for i, j, r in zip(cells.rows, cells.cols, cells.values, strict=True):
                expected[i * 3 + first].append((j, r))
                expected[j * 3 + second].append((i, r))
        for entry, found in enumerate(expected):
            span = slice(lists.indptr[entry], lists.indptr[entry + 1])
            assert list(zip(lists.words[span], lists.values[span], strict=True)) == found

    @pytest.mark.parametrize("n_threads", [2, 5])
    def test_lists_for_any_number_of_threads(self, n_threads):
        one, other = self.lists()[1], self.lists(n_threads)[1]
        for name in ("indptr", "words", "values"):
            assert same_bits(getattr(one, name), getattr(other, name))

    def test_no_class_has_two_words_of_a_cell(self):
        slices, lists = self.lists()
        classes = _core.color_classes(np.ascontiguousarray(lists.indptr[:: lists.n_lists]), lists.words)
        assert sorted(classes.words) == list(range(40))
        color = np.empty(40, int)
        color[classes.words] = np.repeat(np.arange(len(classes.bounds) - 1), np.diff(classes.bounds))
        for cells in slices:
            assert (color[cells.rows] != color[cells.cols]).all()

    def test_star_needs_two_classes(self):
        indptr = np.array([0, 5, 6, 7, 8, 9, 10, 10])
        classes = _core.color_classes(indptr, np.array([1, 2, 3, 4, 5, 0, 0, 0, 0, 0], np.int32))
        assert classes.bounds.tolist() == [0, 2, 7]
        assert classes.words[:2].tolist() == [0, 6]  # the hub, and the word without cells

    def test_pairs(self):
        words = np.array([2, 3, 5, 7, 11], np.int32)
        excluded = np.array([2 * 12 + 3, 5 * 12 + 11])
        pairs = _core.draw_pairs(words, 12, 20000, False, excluded, 7, 1, 0, 1)
        keys, counts = np.unique(pairs.rows.astype(int) * 12 + pairs.cols, return_counts=True)
        assert (pairs.rows < pairs.cols).all()
        assert len(keys) == 8
        assert not np.isin(excluded, keys).any()
        assert stats.chisquare(counts).pvalue > 1e-4
        ordered = _core.draw_pairs(words, 12, 20000, True, excluded[:0], 7, 1, 0, 1)
        assert len(np.unique(ordered.rows.astype(int) * 12 + ordered.cols)) == 20
        for n_threads in (2, 5):
            again = _core.draw_pairs(words, 12, 20000, False, excluded, 7, 1, 0, n_threads)
            assert same_bits(pairs.rows, again.rows)
            assert same_bits(pairs.cols, again.cols)

    def test_no_pairs_left(self):
        pairs = _core.draw_pairs(np.array([0, 1], np.int32), 2, 10, False, np.array([1]), 0, 1, 0, 1)
        assert len(pairs.rows) == len(pairs.cols) == 0
        pairs = _core.draw_pairs(np.array([0], np.int32), 2, 10, False, np.array([], np.int64), 0, 1, 0, 1)
        assert len(pairs.rows) == len(pairs.cols) == 0


class TestConditionals:
    """Each draw is m + U^-1 e for the conditional's mean m and precision U'U."""

    symmetric = (True, False, True)

    def setup_state(self, d=4, n_words=12, dtype=np.float64, seed=0):
        chain = chain_of(n_words, d, self.symmetric, dtype=dtype)
        rng = np.random.default_rng(seed)
        sizes = [40, 50, 9]
        pairs = [random_pairs(n_words, n, n, ordered=n == 50) for n in sizes]
        values = [rng.standard_normal(len(p)) for p in pairs]
        chain.words[:] = rng.standard_normal((n_words, d))
        chain.slices[:] = rng.standard_normal((3, d))
        chain.matrices[:] = rng.standard_normal((3, d, d))
        chain.alpha = 2.5
        half = rng.standard_normal((d, d))
        precision, mean = half @ half.T + np.eye(d), rng.standard_normal(d)
        state = reference.State(2.5, mean, precision, chain.words.astype(float), chain.slices, chain.matrices)
        return chain, state, pairs, values

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("d", [1, 4, 17, 40])
    def test_words(self, d, dtype, weighted):
        """Whitened by the reference's conditional, draws are the standard normals of (seed, sweep, word)."""
        chain, state, pairs, values = self.setup_state(d, dtype=dtype)
        start = chain.words.copy()
        weights = random_weights(pairs) if weighted else None
        lists = chain.lists(cells_of(pairs, values, self.symmetric, dtype, weights))
        prior = state.word_precision, state.word_precision @ state.word_mean
        noises = []
        for word in range(chain.n_words):
            chain.words[:] = start
            one = _core.WordClasses(np.array([word], np.int32), np.array([0, 1]))
            chain.draw_words(lists, prior, one, 3)
            C, right = reference.word_system(state, self.symmetric, pairs, values, word, weights)
            noises.append(np.linalg.cholesky(C).T @ (chain.words[word] - np.linalg.solve(C, right)))
            chain.words[word] = start[word]
            assert same_bits(chain.words, start)  # no other word has changed
        # The noise does not depend on cells or priors.
        plain = chain_of(chain.n_words, d, [True], dtype=np.float64)
        empty = plain.lists(cells_of([pairs[0][:0]], [[]], [True]))
        classes = _core.WordClasses(np.arange(chain.n_words, dtype=np.int32), np.array([0, chain.n_words]))
        plain.draw_words(empty, (np.eye(d), np.zeros(d)), classes, 3)
        np.testing.assert_allclose(noises, plain.words, atol=1e-9 if dtype == np.float64 else 2e-4)

    def test_noise_is_normal(self):
        chain = chain_of(2000, 5, [True])
        lists = chain.lists(cells_of([random_pairs(9, 1, 0)[:0]], [[]], [True]))
        classes = _core.WordClasses(np.arange(2000, dtype=np.int32), np.array([0, 2000]))
        drawn = []
        for sweep in (1, 2):
            chain.draw_words(lists, (np.eye(5), np.zeros(5)), classes, sweep)
            drawn.append(chain.words.copy())
        both = np.hstack(drawn)
        assert stats.kstest(both.ravel(), "norm").pvalue > 1e-3
        assert np.abs(np.corrcoef(both.T) - np.eye(10)).max() < 0.1

    @pytest.mark.parametrize("d", [7, 16])
    def test_cell_sums(self, d):
        chain, state, pairs, values = self.setup_state(d=d, n_words=50)
        X = state.V[pairs[0][:, 0]] * state.V[pairs[0][:, 1]]
        weights = random_weights(pairs)[0]
        for w, roots in ((np.ones(40), None), (weights, np.sqrt(weights))):
            sums = _core.cell_sums(chain.padded, d, *np.int32(pairs[0].T.copy()), values[0], 1, roots)
            np.testing.assert_allclose(sums.gram, X.T @ (w[:, None] * X), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(sums.sum, X.T @ (w * values[0]), rtol=1e-12, atol=1e-12)

    def test_residuals(self):
        chain, state, pairs, values = self.setup_state()
        weights = random_weights(pairs)
        squares, sizes = chain.residuals(cells_of(pairs, values, self.symmetric, weights=weights))
        off = [r - m for r, m in zip(values, reference.means(state, self.symmetric, pairs), strict=True)]
        weighted = [(w * x**2).sum() for w, x in zip(weights, off, strict=True)]
        assert squares == pytest.approx(sum(weighted), rel=1e-12)
        assert sizes == pytest.approx(sum(np.abs(x).sum() for x in off), rel=1e-12)


def statistics_of(V, P, A, alpha, values, symmetric):
    """Functions of a joint draw whose means are compared; all of them have variances."""
    found = [np.log(alpha), np.tanh(V[0, 0]), np.tanh(V[0] @ V[1]), np.log1p((V**2).sum()), np.tanh(V.mean())]
    for k, each in enumerate(symmetric):
        M = P[k] if each else A[k]
        found += [np.tanh(M.ravel()[0]), np.log1p((M**2).sum()), np.tanh(M.sum())]
        found += [np.log1p((values[k] ** 2).sum()), np.tanh(values[k][0])]
    return found


def geweke(symmetric, *, n_words=5, d=2, n=2500, thin=2, seed=0, weighted=False):
    """The largest |z| between draws from the joint distribution and a chain of sweeps and new cells in turn."""
    rng = np.random.default_rng(seed)
    pairs = [random_pairs(n_words, 6, 1), random_pairs(n_words, 7, 2, ordered=not symmetric[-1])][: len(symmetric)]
    weights = random_weights(pairs) if weighted else None
    direct = []
    for _ in range(n):
        state = reference.draw_prior(rng, n_words, d, symmetric, FREEDOM)
        values = reference.draw_cells(rng, state, symmetric, pairs, weights)
        direct.append(statistics_of(state.V, state.P, state.A, state.alpha, values, symmetric))
    chain = chain_of(n_words, d, symmetric, seed=seed)
    state = reference.draw_prior(rng, n_words, d, symmetric, FREEDOM)
    chain.words[:], chain.slices[:], chain.matrices[:], chain.alpha = state.V, state.P, state.A, state.alpha
    successive = []
    with single_threaded_blas():
        for sweep in range(1, n * thin + 1):
            state.V, state.P, state.A, state.alpha = chain.words, chain.slices, chain.matrices, chain.alpha
            values = reference.draw_cells(rng, state, symmetric, pairs, weights)
            chain.sweep(cells_of(pairs, values, symmetric, weights=weights), sweep)
            drawn = chain.words, chain.slices, chain.matrices, chain.alpha
            successive.append(statistics_of(*drawn, values, symmetric))
    one, other = np.array(direct), np.array(successive)
    error = one.var(axis=0) / n + [v.var() / effective_sample_size(v) for v in other.T]
    return np.abs((one.mean(axis=0) - other.mean(axis=0)) / np.sqrt(error)).max()


class TestGeweke:
    """Getting it right: Geweke 2004. Cells are drawn from the model after each sweep, so that the chain's states
    have the prior's distribution if, and only if, all conditionals are those of one model."""

    @pytest.mark.parametrize("symmetric", [[True], [True, True], [True, False]], ids=["one", "two", "asymmetric"])
    def test_chain_has_the_joint_distribution(self, symmetric):
        assert geweke(symmetric) < 4.5

    @pytest.mark.parametrize("symmetric", [[True, True], [True, False]], ids=["two", "asymmetric"])
    def test_cells_with_precisions_of_their_own(self, symmetric):
        assert geweke(symmetric, weighted=True) < 4.5

    def test_words_with_another_precision(self, monkeypatch):
        original = Chain.word_prior

        def wrong(self, sweep):
            precision, weighted_mean = original(self, sweep)
            return 1.5 * precision, 1.5 * weighted_mean

        monkeypatch.setattr(Chain, "word_prior", wrong)
        assert geweke([True, True], thin=1) > 6

    def test_residuals_counted_by_half(self, monkeypatch):
        original = Chain.residuals
        monkeypatch.setattr(Chain, "residuals", lambda self, slices: tuple(x / 2 for x in original(self, slices)))
        assert geweke([True, True], thin=1) > 6

    def test_slices_with_less_noise(self, monkeypatch):
        original = _chain._draw_normal

        def wrong(precision, weighted_mean, rng):
            return original(2 * precision, 2 * weighted_mean, rng)

        monkeypatch.setattr(_chain, "_draw_normal", wrong)
        assert geweke([True, True], thin=1) > 6


class TestAgainstReference:
    def test_posterior_means(self):
        """Predictions of a long chain and of the reference's agree within their Monte Carlo errors."""
        rng = np.random.default_rng(5)
        n_words, d, symmetric = 8, 2, [True, True]
        pairs = [random_pairs(n_words, 20, 1), random_pairs(n_words, 16, 2)]
        state = reference.draw_prior(rng, n_words, d, symmetric, FREEDOM)
        state.alpha = 4.0
        values = reference.draw_cells(rng, state, symmetric, pairs)
        every = random_pairs(n_words, 28, 0)
        chain = chain_of(n_words, d, symmetric, seed=3)
        ours, theirs = [], []
        for sweep in range(1, 4001):
            chain.sweep(cells_of(pairs, values, symmetric), sweep)
            if sweep > 500:
                first = chain.predict(*np.int32(every.T.copy()), 0)
                ours.append([np.log(chain.alpha), *np.arctan(first)])
        for step in range(1500):
            reference.sweep(rng, state, symmetric, pairs, values, FREEDOM)
            if step > 250:
                first = reference.means(state, symmetric, [every, every[:0]])[0]
                theirs.append([np.log(state.alpha), *np.arctan(first)])
        means, errors = [], []
        for draws in (np.array(ours), np.array(theirs)):
            means.append(draws.mean(axis=0))
            errors.append([v.var() / effective_sample_size(v) for v in draws.T])
        z = (means[0] - means[1]) / np.sqrt(np.sum(errors, axis=0))
        assert np.abs(z).max() < 4.5


class TestSeeds:
    def test_large_ones_are_told_apart(self):
        first, second = (chain_of(5, 2, [True], seed=seed) for seed in (2**63 + 1, 2**63 + 2))
        assert not np.array_equal(first.words, second.words)

    def test_numbers_of_a_stream(self):
        """Saved models are added to with them: they stay as they are."""
        chain = chain_of(5, 2, [True], seed=2**63 - 1)
        expected = np.random.Generator(np.random.Philox(key=2**63 - 1 | (3 << 24 | 2 << 8 | 1) << 64))
        assert same_bits(chain.numbers.generator(3, 1, 2).standard_normal(4), expected.standard_normal(4))


@pytest.mark.parametrize("symmetric", [[True, True], [True, False]], ids=["symmetric", "asymmetric"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_same_chain_for_any_number_of_threads(symmetric, dtype, weighted):
    rng = np.random.default_rng(0)
    pairs = [random_pairs(150, 3000, 1), random_pairs(150, 2000, 2)]
    weights = random_weights(pairs) if weighted else None
    slices = cells_of(pairs, [rng.standard_normal(len(p)) for p in pairs], symmetric, dtype, weights)
    found = []
    for n_threads in (1, 2, 3, 5):
        chain = chain_of(150, 6, symmetric, n_threads=n_threads, dtype=dtype)
        for sweep in range(1, 6):
            chain.sweep(slices, sweep)
        found.append((chain.words.copy(), chain.slices, chain.matrices, np.array(chain.alpha)))
    for other in found[1:]:
        assert all(same_bits(a, b) for a, b in zip(found[0], other, strict=True))
