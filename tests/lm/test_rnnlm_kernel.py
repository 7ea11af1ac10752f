"""The recurrent network's kernels: against the reference and finite differences, for any number of threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from semproj._common.resources import single_threaded_blas
from semproj._core import lm as _core
from semproj.lm._network import ARRAYS, frequency_classes, given_classes, of_kernel, starting_arrays, starting_sums
from tests.reference import rnnlm as reference
from tests.support import same_bits

N_WORDS, UNITS, SLOW, DECAY = 23, 5, 3, 0.7
ACTIVATIONS = ["sigmoid", "tanh", "relu"]


def text(n, seed=0):
    """Words, of which about every sixth ends a sentence."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(3, N_WORDS, n)
    ids[rng.random(n) < 0.16] = reference.END
    ids[rng.random(n) < 0.05] = 0
    return ids.astype(np.int32)


def classing():
    rng = np.random.default_rng(5)
    return given_classes(rng.integers(0, 6, N_WORDS))


def network(activation="sigmoid", dtype=np.float64, seed=3, units=UNITS, slow=SLOW):
    arrays = starting_arrays(np.arange(N_WORDS)[::-1] + 1, classing(), units, activation, seed, slow)
    rng = np.random.default_rng(seed)
    arrays["hidden_bias"] += rng.standard_normal(units).astype(np.float32) / 3
    arrays["recurrent"][:, units:] = rng.standard_normal((units, slow))
    return {name: array.astype(dtype) for name, array in arrays.items()}


def train(ids, weights, sums, activation="sigmoid", n_threads=1, **given):
    options = {"n_streams": 3, "n_steps": 4, "across_sentences": False, "rates": (0.3, 0.1), "clip": 15.0, **given}
    first, last = options.pop("rates")
    with single_threaded_blas():
        return _core.rnn_train(
            ids,
            of_kernel(weights.__getitem__),
            of_kernel(sums.__getitem__),
            classing().of_kernel(),
            activation,
            DECAY,
            reference.BEGIN,
            reference.END,
            first_rate=first,
            last_rate=last,
            n_threads=n_threads,
            **options,
        )


def score(ids, starts, weights, activation="sigmoid", first=reference.BEGIN, n_threads=1):
    with single_threaded_blas():
        return _core.rnn_score(
            ids,
            starts,
            of_kernel(weights.__getitem__),
            classing().of_kernel(),
            activation,
            DECAY,
            first,
            n_threads,
        )


class TestTraining:
    @pytest.mark.parametrize("activation", ACTIVATIONS)
    @pytest.mark.parametrize("across", [False, True])
    @pytest.mark.parametrize("slow", [0, SLOW])
    @pytest.mark.parametrize(("n_streams", "n_steps", "n"), [(1, 7, 40), (3, 4, 50), (5, 1, 31), (40, 3, 29)])
    def test_is_the_references(self, activation, across, slow, n_streams, n_steps, n):
        ours, theirs = network(activation, slow=slow), network(activation, slow=slow)
        our_sums, their_sums = starting_sums(ours), starting_sums(theirs)
        given = {"n_streams": n_streams, "n_steps": n_steps, "across_sentences": across}
        options = {**given, "rates": (0.3, 0.1), "clip": 0.2}
        places = classing().place_of
        expected = reference.train(
            theirs, their_sums, classing().class_begin, places, activation, text(n), decay=DECAY, **options
        )
        assert train(text(n), ours, our_sums, activation, **options) == pytest.approx(expected, rel=1e-12)
        for name in ARRAYS:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9, atol=1e-12, err_msg=name)
            np.testing.assert_allclose(our_sums[name], their_sums[name], rtol=1e-9, atol=1e-12, err_msg=name)

    def test_float32_is_close(self):
        wide, narrow = network(), network(dtype=np.float32)
        losses = [train(text(600), w, starting_sums(w), n_streams=7, n_steps=20) for w in (wide, narrow)]
        assert losses[1] == pytest.approx(losses[0], rel=1e-5)
        for name in ARRAYS:
            np.testing.assert_allclose(narrow[name], wide[name], atol=2e-4, err_msg=name)

    @pytest.mark.parametrize("activation", ACTIVATIONS)
    def test_gradient_by_finite_differences(self, activation):
        """With huge sums a step of Adagrad is one of plain descent; through one block nothing is truncated."""
        ids = np.array([5, 7, 2, 9, 4, 4, 0, 2, 3, 22, 11, 5], np.int32)
        starts = np.array([0, 3, 8, 12], np.int64)
        weights = network(activation)
        changed = {name: array.copy() for name, array in weights.items()}
        sums = {name: np.full_like(array, 1e12) for name, array in starting_sums(weights).items()}
        train(ids, changed, sums, activation, n_streams=1, n_steps=len(ids), rates=(1e6, 1e6), clip=1e9)
        rng = np.random.default_rng(0)
        for name in ARRAYS:
            gradient = weights[name] - changed[name]
            where = (
                np.argwhere(np.abs(gradient) > 1e-6)
                if name in ("input", "words")
                else np.argwhere(gradient == gradient)
            )
            for place in map(tuple, rng.permutation(where)[:12]):
                losses = []
                for step in (1e-6, -1e-6):
                    moved = {**weights, name: weights[name].copy()}
                    moved[name][place] += step
                    losses.append(-score(ids, starts, moved, activation).sum())
                slope = (losses[0] - losses[1]) / 2e-6
                assert gradient[place] == pytest.approx(slope, abs=2e-7, rel=1e-6), (name, place)

    def test_rows_that_are_not_met_stay(self):
        ids = np.array([5, 5, 2, 5], np.int32)
        weights, before, c = network(), network(), classing()
        train(ids, weights, starting_sums(weights), n_streams=1)
        still = np.delete(np.arange(N_WORDS), [1, 5])
        assert same_bits(weights["input"][still], before["input"][still])
        met = {int(c.class_of[5]), int(c.class_of[2])}
        others = [int(p) for p, k in zip(c.place_of, c.class_of, strict=True) if p >= 0 and int(k) not in met]
        assert same_bits(weights["words"][others], before["words"][others])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_same_bits_for_any_number_of_threads(self, dtype):
        found = []
        for n_threads in (1, 2, 5):
            weights = network(dtype=dtype, units=70)
            sums = starting_sums(weights)
            total = train(text(3000), weights, sums, n_streams=70, n_steps=9, n_threads=n_threads)
            found.append((total, weights, sums))
        for total, weights, sums in found[1:]:
            assert total == found[0][0]
            assert all(same_bits(weights[name], found[0][1][name]) for name in ARRAYS)
            assert all(same_bits(sums[name], found[0][2][name]) for name in ARRAYS)

    def test_no_text(self):
        weights = network()
        assert train(text(0), weights, starting_sums(weights)) == 0
        assert all(same_bits(weights[name], network()[name]) for name in ARRAYS)


class TestScores:
    @pytest.mark.parametrize("activation", ACTIVATIONS)
    @pytest.mark.parametrize("first", [reference.BEGIN, 0])
    def test_are_the_references(self, activation, first):
        weights, lengths = network(activation), [3, 0, 70, 1, 33, 32, 64, *range(40)]
        ids, starts = text(sum(lengths)), np.concatenate([[0], np.cumsum(lengths)])
        found = score(ids, starts, weights, activation, first)
        places, begins = classing().place_of, classing().class_begin
        for begin, end in pairwise(starts):
            expected = reference.score(weights, begins, places, activation, ids[begin:end].tolist(), first, DECAY)
            np.testing.assert_allclose(found[begin:end], expected, rtol=1e-11, atol=1e-13)

    def test_sum_to_one(self):
        """Over all words but the start, after any history."""
        history = text(9, seed=2)
        words = np.delete(np.arange(N_WORDS), reference.BEGIN).astype(np.int32)
        ids = np.concatenate([[*history, word] for word in words]).astype(np.int32)
        starts = np.arange(0, len(ids) + 1, 10)
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
            last = score(ids, starts, network(dtype=dtype))[9::10]
            assert np.exp(last).sum() == pytest.approx(1, abs=tolerance)

    def test_same_bits_for_any_number_of_threads(self):
        lengths = np.random.default_rng(1).integers(0, 60, 200)
        ids, starts = text(int(lengths.sum())), np.concatenate([[0], np.cumsum(lengths)])
        weights = network(dtype=np.float32, units=40)
        one = score(ids, starts, weights)
        assert all(same_bits(score(ids, starts, weights, n_threads=n), one) for n in (2, 5))


class TestClasses:
    def test_every_word_but_the_start_has_a_place(self):
        counts = np.array([3, 0, 50, 100, 90, 20, 20, 5, 5, 5, 1, 1, 1, 1])
        for n in (1, 2, 5, 13):
            begin, place_of, class_of = frequency_classes(counts, n)
            assert sorted(place_of.tolist()) == list(range(-1, 13))
            assert place_of[1] == class_of[1] == -1
            assert (begin[0], begin[-1], len(begin) - 1) == (0, 13, class_of.max() + 1)
            assert (np.diff(begin) > 0).all()
            for word in (0, *range(2, 14)):
                assert begin[class_of[word]] <= place_of[word] < begin[class_of[word] + 1]
        assert frequency_classes(counts, 1)[0].tolist() == [0, 13]

    def test_frequent_words_have_small_classes(self):
        counts = np.concatenate([[5, 0, 900], 1000 / np.arange(1, 2000)]).astype(int)
        sizes = np.diff(frequency_classes(counts, 40).class_begin)
        assert sizes[0] < 5
        assert sizes[-1] > 40


class TestBadArguments:
    def test_sizes_and_numbers(self):
        weights = network()
        sums = starting_sums(weights)
        for name, change, what in (
            ("words", lambda a: a[:-1], "class_begin|word_bias"),
            ("recurrent", lambda a: a[:, :-1].copy(), "recurrent"),
            ("hidden_bias", lambda a: a[:-1].copy(), "hidden_bias"),
            ("input", lambda a: a.astype(np.float32), "recurrent"),
        ):
            with pytest.raises((ValueError, TypeError), match=what):
                train(text(9), {**weights, name: change(weights[name])}, sums)
        with pytest.raises(ValueError, match="sums: wrong shape"):
            train(text(9), weights, {**sums, "input": np.ones((N_WORDS, 4))})
        with pytest.raises(ValueError, match="ids: out of range"):
            train(np.array([N_WORDS], np.int32), weights, sums)
        with pytest.raises(ValueError, match="ids: a word without a place"):
            train(np.array([1], np.int32), weights, sums)
        with pytest.raises(TypeError, match="ids"):
            train(np.array([3]), weights, sums)
        with pytest.raises(ValueError, match="n_streams"):
            train(text(9), weights, sums, n_streams=0)
        with pytest.raises(ValueError, match="activation"):
            train(text(9), weights, sums, "softplus")
        weights["input"].flags.writeable = False
        with pytest.raises(ValueError, match="input: is read-only"):
            train(text(9), weights, sums)
        for starts in ([0, 3, 2, 9], [1, 9], [0, 8], []):
            with pytest.raises(ValueError, match="offsets"):
                score(text(9), np.array(starts, np.int64), weights)
