"""Precisions and targets of BPTF's cells by functions, beside what is built in and a dense reference."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import BPTF, CosineSlice
from tests.reference import bptf as reference
from tests.support import same_bits
from tests.support.interrupting import interrupted, seconds_after_ctrl_c
from tests.support.relating import every_pair, model_of, planted, same_fit


def of_size(value, slice):
    """Other for each cell, and for the slices."""
    return (0.5 + abs(value)) * (1 + slice)


def rooted(value, slice):
    return np.sign(value) * np.sqrt(abs(value)) + slice


FUNCTIONS = {"precision": of_size, "target": rooted}
BUILT_IN = {"precision": lambda value, slice: 1.0, "target": lambda value, slice: value}
KINDS = {
    "cells": {},
    "zeros": {"zeros": 2.0},
    "some": {"cells": [300, "match"]},
    "asymmetric": {"asymmetric": [1]},
    "held out": {"held_out": 0.2},
}


def short(**options):
    return model_of(**{"burn_in": 4, "n_samples": 3, **options})


def slices_with_cosines():
    vectors = np.random.default_rng(0).standard_normal((62, 5))
    return [planted()[2][0], CosineSlice(vectors[:60])], CosineSlice(vectors)


def mapped(function, values, k):
    return np.array([function(float(v), k) for v in values])


class TestBuiltIn:
    """A precision of 1 and the value as the target, to the same bits: products with 1 are exact."""

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("d", [3, 16])
    def test_fit(self, kind, dtype, d):
        slices = planted()[2]
        options = {"d": d, "dtype": dtype, **KINDS[kind]}
        expected = short(**options).fit(slices)
        for name, function in BUILT_IN.items():
            assert same_fit(short(**options, **{name: function}).fit(slices), expected)
        assert same_fit(short(**options, **BUILT_IN).fit(slices), expected)
        assert not same_fit(short(**options, **FUNCTIONS).fit(slices), expected)

    @pytest.mark.parametrize("decorate", [lambda f: f, numba.njit])
    def test_cosines_and_new_words(self, decorate):
        slices, all_vectors = slices_with_cosines()
        functions = {name: decorate(function) for name, function in BUILT_IN.items()}
        options = {"zeros": [1.0, 0.0], "cells": [100, "match"]}
        models = [short(**options).fit(slices), short(**options, **functions).fit(slices)]
        assert same_fit(*models)
        given = [sp.coo_array(np.eye(2, 60)), all_vectors]
        assert same_bits(*(model.add_words(given, zeros=[2.0, 0.0]).samples_ for model in models))

    def test_thesaurus(self):
        words = ["hot", "warm", "boiling", "cold", "cool", "icy"]
        hot, cold = [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]
        thesaurus = sj.Thesaurus(words, ["hot", "cold"], {"synonym": [hot, cold], "antonym": [cold, hot]})
        plain, by_functions = (short(d=2, **options).fit(thesaurus) for options in ({}, BUILT_IN))
        assert same_fit(plain, by_functions)
        louder = short(d=2, burn_in=60, n_samples=60, target=lambda value, slice: 3 * value).fit(thesaurus)
        assert louder.predict("hot", "cold", "antonym") == pytest.approx(3, abs=0.5)


class TestAgainstTheReference:
    @pytest.mark.parametrize("symmetric", [True, False])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_likelihood_and_precision(self, symmetric, dtype):
        """The objective after a sweep, and the squares by which the next precision is drawn, from the draw."""
        slices = planted()[2]
        kept = []
        options = {"dtype": dtype, "asymmetric": () if symmetric else [1]}
        model = short(**options, **FUNCTIONS, callback=lambda progress: kept.append(progress.model)).fit(slices)
        kinds = [True, symmetric]
        pairs = [np.stack(each.coords, axis=1) for each in slices]
        values = [mapped(rooted, each.data.astype(dtype), k) for k, each in enumerate(slices)]
        weights = [mapped(of_size, each.data.astype(dtype), k) for k, each in enumerate(slices)]
        n = sum(map(len, pairs))
        for sweep, (before, objective) in enumerate(zip(kept, model.objective_, strict=True), 1):
            V, A = before.word_vectors_.astype(np.float64), before.matrix_samples_
            state = reference.State(
                before.alpha_[-1], None, None, V, before.perspective_vectors_, A[-1] if A.size else None
            )
            expected = reference.log_likelihood(state, kinds, pairs, values, weights)
            assert objective == pytest.approx(expected, rel=1e-4 if dtype == "float32" else 1e-10)
            if sweep == len(kept):
                break
            means = reference.means(state, kinds, pairs)
            squares = sum((w * (r - m) ** 2).sum() for w, r, m in zip(weights, values, means, strict=True))
            # The draw is a Gamma variate of this shape over the scale: the same variate for any squares.
            rng = sj.bptf._random.ChainNumbers(before._key).generator(sweep + 1, sj.bptf._random.PRECISION)
            drawn = rng.gamma((3 + n) / 2, 2 / (1 + squares))
            assert model.alpha_[sweep] == pytest.approx(drawn, rel=1e-4 if dtype == "float32" else 1e-9)

    def test_cells_of_a_sweep(self):
        """Given, missing and held out ones, and cosines: each with what the functions make of its value."""
        slices, _ = slices_with_cosines()
        observation = sj.bptf._observed.Observation(of_size, rooted)
        observed = sj.bptf._slices.as_slices(slices, (), np.dtype(np.float64))
        sampler = sj.bptf._slices.CellSampler(observed, [1.5, 0.0], [200, "match"], observation)
        held, _ = sampler.hold_out(0.1, np.random.default_rng(0))
        whole = slices[0].tocsr()
        for sweep in (1, 2):
            for k, cells in enumerate(sampler.draw(sj.bptf._random.ChainNumbers(0), sweep, np.float64, 1)):
                given = slices[1].values(cells.rows, cells.cols, 1) if k else whole[cells.rows, cells.cols]
                given = np.asarray(given, np.float64).ravel()
                assert len(cells) == 500
                np.testing.assert_allclose(cells.values, mapped(rooted, given, k), rtol=1e-12)
                np.testing.assert_allclose(cells.roots**2, mapped(of_size, given, k), rtol=1e-12)
                logs = np.log(mapped(of_size, given, k)).sum()
                assert cells.log_precision == pytest.approx(logs, rel=1e-10)
        given = np.asarray(whole[held.rows, held.cols]).ravel()
        np.testing.assert_allclose(held.values, mapped(rooted, given, 0), rtol=1e-12)


class TestWhatItIsFor:
    def test_cells_with_noise_of_their_own(self):
        """Far cells are noisy, and said to be: near ones are fitted better, and alpha is that of the near ones."""
        _, (whole, _), _ = planted()
        rng = np.random.default_rng(1)
        i, j = every_pair(60)
        kept = rng.random(len(i)) < 0.5
        i, j = i[kept], j[kept]
        noisy = rng.random(len(i)) < 0.5
        values = whole[i, j] + np.where(noisy, 2.0, 0.05) * rng.standard_normal(len(i))
        # Which cells are noisy is told by their slice.
        slices = [sp.coo_array((values[part], (i[part], j[part])), shape=(60, 60)) for part in (~noisy, noisy)]
        precise = model_of(precision=lambda value, slice: 1.0 if slice == 0 else (0.05 / 2.0) ** 2).fit(slices)
        plain = model_of().fit(slices)
        errors = [
            np.abs(model.predict(*every_pair(60)) - whole[every_pair(60)]).mean() for model in (precise, plain)
        ]
        assert errors[0] < 0.5 * errors[1]
        # Its prior is as one more residual of size 1.
        assert np.median(precise.alpha_[-20:]) == pytest.approx(len(i) / (1 + 0.05**2 * len(i)), rel=0.2)
        assert np.median(plain.alpha_[-20:]) < 10

    def test_predictions_are_of_targets(self):
        _, (whole, _), (slices, _) = planted()
        model = model_of(target=lambda value, slice: 2 * value, held_out=0.1).fit([slices])
        i, j = every_pair(60)
        mean, spread = model.predict(i, j, return_std=True)
        assert np.abs(mean - 2 * whole[i, j]).mean() < 0.1
        assert 0 < spread.mean() < 0.2
        assert model.held_out_mae_[-1] < 0.2

    def test_new_words(self):
        """A cell that is precise holds its word; one that is not does not."""
        model = model_of(precision=lambda value, slice: 1e4 if value > 2.9 else 1e-4).fit(planted()[2])
        new = sp.coo_array(([3.0, 2.8], ([0, 1], [7, 7])), shape=(2, 60))
        added = model.add_words([new, None])
        assert added.predict(60, 7) == pytest.approx(3.0, abs=0.1)
        assert added.predict(60, 7, return_std=True)[1] < 0.1
        assert added.predict(61, 7, return_std=True)[1] > 0.5
        assert added.precision is model.precision


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_bits_for_any_number_of_threads(dtype):
    slices, _ = slices_with_cosines()
    options = {"dtype": dtype, "zeros": [3.0, 0.0], **FUNCTIONS}
    models = [short(n_threads=n, **options).fit(slices) for n in (1, 2, 3)]
    assert same_fit(models[0], models[1])
    assert same_fit(models[0], models[2])


class TestCheckpoint:
    def test_goes_on_with_the_same_functions(self, tmp_path):
        path, slices = tmp_path / "state", planted()[2]
        options = {**FUNCTIONS, "checkpoint_every": 1}
        interrupted(short(checkpoint=path, **options), slices, 3)
        assert same_fit(short(checkpoint=path, **options).fit(slices), short(**options).fit(slices))

    @pytest.mark.parametrize("change", [{"precision": lambda v, k: 2.0}, {"target": None}], ids=list)
    def test_refuses_others(self, tmp_path, change):
        path, slices = tmp_path / "state", planted()[2]
        short(checkpoint=path, **FUNCTIONS).fit(slices)
        with pytest.raises(ValueError, match=r"checkpoint: .* belongs to another fit"):
            short(checkpoint=path, **{**FUNCTIONS, **change}).fit(slices)


def test_comes_back_with_its_functions(tmp_path):
    path = tmp_path / "model"
    model = short(**FUNCTIONS).fit(planted()[2])
    model.save(path)
    with pytest.raises(ValueError, match=r"^functions: .* as its (precision|target), '(of_size|rooted)'"):
        sj.load(path)
    loaded = sj.load(path, functions=FUNCTIONS)
    new = [sp.coo_array(np.eye(2, 60)), None]
    assert same_bits(loaded.add_words(new).samples_, model.add_words(new).samples_)
    assert loaded.precision is of_size


def raising(value, slice):
    if value > 4:
        raise IndexError("too many")
    return 1.0


outside = [1.0, 2.0]
BAD = {
    "one argument": (lambda value: 1.0, TypeError, r"{0}\(value, slice\)"),
    "text": (lambda value, slice: "much", TypeError, r"{0}\(value, slice\)"),
    "a number": (3.0, TypeError, r"got 3\.0"),
    "an object": (lambda value, slice: str(value).encode(), TypeError, r"{0}\(value, slice\)"),
    "a list outside": (lambda value, slice: outside[slice], TypeError, r"{0}\(value, slice\)"),
    "raises": (raising, ValueError, r"IndexError: too many for cell \(\d+, \d+\) of slice 0, whose value is"),
    "NaN": (lambda v, k: np.nan if k == 1 else 1.0, ValueError, r"nan for cell \(\d+, \d+\) of slice 1"),
    "infinite": (lambda v, k: np.inf, ValueError, r"inf for cell \(\d+, \d+\) of slice 0"),
}


class TestBadFunctions:
    @pytest.mark.parametrize("argument", ["precision", "target"])
    @pytest.mark.parametrize("kind", BAD)
    def test_named_and_the_previous_fit_kept(self, argument, kind):
        function, error, words = BAD[kind]
        slices = planted()[2]
        model = short().fit(slices)
        before = model.samples_.copy()
        with pytest.raises(error, match=rf"(?s)^{argument}: .*{words.format(argument)}"):
            model.set_params(**{argument: function}).fit(slices)
        assert same_bits(model.samples_, before)

    @pytest.mark.parametrize("value", [0.0, -1.0, 1e-90, 1e90])
    def test_precisions_that_are_no_use(self, value):
        with pytest.raises(ValueError, match=r"^precision: expected numbers above 0 .* got .* for cell \(0, 1\)"):
            short(precision=lambda v, k: value).fit([sp.coo_array(([1.0], ([1], [0])), shape=(3, 3))])

    def test_targets_too_large_to_be_squared(self):
        slices = planted()[2]
        for dtype, value in (("float32", 1e39), ("float64", 1e150)):
            with pytest.raises(ValueError, match=r"^target: expected numbers that can be squared, got 1e"):
                short(dtype=dtype, target=lambda v, k, value=value: value).fit(slices)

    def test_of_zeros_that_are_drawn(self):
        with pytest.raises(ValueError, match=r"^precision: the function raised ZeroDivisionError"):
            short(zeros=1.0, precision=lambda v, k: 1 / abs(v)).fit(planted()[2])
        short(precision=lambda v, k: 1 / abs(v)).fit(planted()[2])  # no cell is zero

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_the_first_cell_is_named(self, n_threads):
        i, j = every_pair(300)
        values = np.ones(len(i))
        values[[30_000, 31_000]] = 7
        cells = sp.coo_array((values, (i, j)), shape=(300, 300))
        with pytest.raises(
            ValueError, match=rf"for cell \({i[30_000]}, {j[30_000]}\) of slice 0, whose value is 7"
        ):
            short(n_threads=n_threads, target=lambda v, k: np.nan if v > 5 else v).fit([cells])

    def test_of_new_words(self):
        model = short(precision=lambda v, k: np.nan if v == 9 else 1.0).fit(planted()[2])
        new = sp.coo_array(([1.0, 9.0], ([0, 1], [3, 4])), shape=(2, 60))
        with pytest.raises(ValueError, match=r"^precision: .* nan for cell \(61, 4\) of slice 0"):
            model.add_words([new, None])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_a_slow_function(n_threads):
    @numba.njit
    def slow(value, slice):
        total = 0.0
        for i in range(100_000):
            total += np.sin(value * i)
        return 1 + abs(total)

    slices = planted(200)[2]  # of some 20 seconds
    model = short(n_threads=n_threads, precision=slow).fit(planted(5)[2])
    before = model.samples_.copy()
    assert seconds_after_ctrl_c(lambda: model.fit(slices)) < 1
    assert same_bits(model.samples_, before)


def test_cloned_with_its_functions():
    from sklearn.base import clone

    assert clone(BPTF(2, precision=of_size)).precision is of_size


def test_a_slice_without_cells():
    slices = [planted()[2][0], sp.coo_array((60, 60))]
    assert same_fit(short(zeros=1.0, **BUILT_IN).fit(slices), short(zeros=1.0).fit(slices))
