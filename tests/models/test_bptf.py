"""BPTF: what it recovers and predicts, which cells it draws, and input that makes no sense."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import distance

import semproj as sj
from semproj import BPTF, CosineSlice, effective_sample_size
from semproj.bptf._chain import Chain
from semproj.bptf._random import SLICE_PRIOR, ChainNumbers, SliceNumbers
from semproj.bptf._slices import Pairs
from tests.support import same_bits
from tests.support.relating import every_pair, model_of, planted, surprise, whitened


class TestRecovery:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_missing_cells_of_planted_factors(self, dtype):
        _, wholes, slices = planted()
        model = model_of(dtype=dtype).fit(slices)
        i, j = every_pair(60)
        for k, whole in enumerate(wholes):
            mean, spread = model.predict(i, j, k, return_std=True)
            assert np.abs(mean - whole[i, j]).mean() < 0.05
            assert 0 < spread.mean() < 0.1
        assert model.samples_.dtype == dtype
        assert np.median(model.alpha_[-20:]) == pytest.approx(1 / 0.05**2, rel=0.2)
        assert model.train_mae_[-1] < 0.06
        assert model.perspective_correlations() == pytest.approx(np.array([[1, -1], [-1, 1]]), abs=0.1)

    def test_asymmetric_slice(self):
        rng = np.random.default_rng(1)
        V, A = rng.standard_normal((50, 3)), rng.standard_normal((3, 3))
        whole = V @ A @ V.T
        i, j = np.nonzero(~np.eye(50, dtype=bool))
        kept = rng.random(len(i)) < 0.5
        matrix = sp.coo_array((whole[i[kept], j[kept]], (i[kept], j[kept])), shape=(50, 50))
        model = model_of(asymmetric=[0]).fit([matrix])
        assert np.abs(model.predict(i, j) - whole[i, j]).mean() < 0.1
        assert model.predict(3, 4) != model.predict(4, 3)

    def test_correlations_with_an_asymmetric_slice(self):
        """Slices 0 and 1 are the same, one with a vector and one with a matrix; slice 2 is skew."""
        V, _, slices = planted()
        rng = np.random.default_rng(0)
        turn = rng.standard_normal((3, 3))
        skew = V @ (turn - turn.T) @ V.T
        given = [slices[0], (slices[0] + slices[0].T).tocoo(), sp.coo_array(skew - np.diag(np.diag(skew)))]
        model = model_of(asymmetric=[1, 2]).fit(given)
        found = model.perspective_correlations()
        np.testing.assert_allclose(np.diag(found), 1)
        assert found[0, 1] == found[1, 0] > 0.95
        assert np.abs(found[2, :2]).max() < 0.1
        for k in (1, 2):
            diagonals = np.diagonal(model.matrix_samples_[:, k], axis1=1, axis2=2)
            assert same_bits(np.ascontiguousarray(diagonals), model.perspective_samples_[:, k].copy())
        # The cosine of matrices is that of vectors where they are diagonal.
        P = model_of(n_samples=1).fit(slices)
        cosine = 1 - distance.cosine(*P.perspective_vectors_)
        assert P.perspective_correlations()[0, 1] == pytest.approx(cosine)

    def test_one_order_or_both(self):
        _, _, slices = planted(share=0.5)
        both = [each + each.T for each in slices]
        one, other = (model_of(n_samples=3).fit(given) for given in (slices, both))
        assert same_bits(one.samples_, other.samples_)

    def test_stored_zeros_are_observed(self):
        i, j = every_pair(20)
        zeros = sp.coo_array((np.zeros(len(i)), (i, j)), shape=(20, 20))
        model = model_of(2).fit([zeros])
        assert np.abs(model.predict(i, j)).max() < 0.3
        assert model.alpha_[-1] > 10

    def test_average_is_better_than_a_draw(self):
        _, wholes, slices = planted(share=0.15, noise=0.3)
        model = model_of(n_samples=100).fit(slices[:1])
        i, j = every_pair(60)
        averaged = np.abs(model.predict(i, j) - wholes[0][i, j]).mean()
        P = model.perspective_vectors_[0]
        single = np.abs((model.word_vectors_ * P) @ model.word_vectors_.T - wholes[0])[i, j].mean()
        assert averaged < 0.9 * single


class TestCells:
    def test_zeros_keep_strangers_apart(self):
        """Two camps of friends that have nothing to do with each other, and no cell says so."""
        blocks = sp.block_diag([np.triu(np.ones((15, 15)), 1)] * 2).tocoo()
        blocks.eliminate_zeros()
        i, j = np.meshgrid(np.arange(15), np.arange(15, 30), indexing="ij")
        without, with_zeros = (
            np.abs(model_of(4, zeros=zeros, n_samples=60).fit([blocks]).predict(i, j)).mean()
            for zeros in (0.0, 1.0)
        )
        assert with_zeros < 0.15
        assert with_zeros < without / 2

    def test_cosines_fill_a_slice(self):
        rng = np.random.default_rng(2)
        vectors = rng.standard_normal((80, 4)).astype(np.float32)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        i, j = every_pair(80)
        signs = sp.coo_array((np.sign(unit @ unit.T)[i, j][:400], (i[:400], j[:400])), shape=(80, 80))
        model = model_of(4, cells=[None, 2000]).fit([signs, CosineSlice(vectors)])
        assert np.abs(model.predict(i, j, 1) - (unit @ unit.T)[i, j]).mean() < 0.1

    def test_other_cells_in_every_sweep(self):
        slices = [planted()[2][0], CosineSlice(np.random.default_rng(0).standard_normal((60, 5)))]
        errors = []

        def callback(progress):
            errors.append(progress.model.train_mae_[-1])

        model_of(zeros=[1.0, 0.0], n_samples=1, burn_in=3, callback=callback).fit(slices)
        assert len(errors) == len(set(errors)) == 4

    def test_number_of_cells(self, monkeypatch):
        seen = []
        original = sj.bptf._chain.Chain.sweep

        def sweep(self, slices, number):
            seen.append([len(cells) for cells in slices])
            return original(self, slices, number)

        monkeypatch.setattr(sj.bptf._chain.Chain, "sweep", sweep)
        _, _, slices = planted(share=0.1)
        n = slices[0].nnz
        cosines = CosineSlice(np.random.default_rng(0).standard_normal((60, 5)))
        short = {"burn_in": 0, "n_samples": 1}
        model_of(**short).fit([slices[0], cosines])
        model_of(**short, zeros=2.0).fit([slices[0], cosines])
        model_of(**short, cells=[50, 70]).fit([slices[0], cosines])
        model_of(**short, cells=[50, "match"]).fit(slices)
        assert seen == [[n, n], [3 * n, 3 * n], [50, 70], [50, 50]]


class TestPairs:
    """Pairs that are drawn in a sweep: different ones, of those that there are."""

    def at(self, sweep=1):
        return SliceNumbers(ChainNumbers(0), sweep, 0)

    @pytest.mark.parametrize("ordered", [False, True])
    @pytest.mark.parametrize("n_known", [1, 2, 3, 6, 9])
    def test_all_that_there_are(self, n_known, ordered):
        rng = np.random.default_rng(n_known)
        words = np.sort(rng.choice(30, n_known, replace=False)).astype(np.int32)
        every = {(i, j) for i in words for j in words if (i != j if ordered else i < j)}
        keys = np.sort([i * 30 + j for i, j in every]).astype(np.int64)
        for n_excluded in {0, len(keys) // 3, len(keys)}:
            excluded = np.sort(rng.choice(keys, n_excluded, replace=False)) if n_excluded else keys[:0]
            pairs = Pairs(words, 30, ordered=ordered, excluded=excluded)
            rows, cols = pairs.draw(1000, self.at(), 1)
            assert rows.dtype == cols.dtype == np.int32
            assert sorted(rows * 30 + cols) == sorted(set(keys) - set(excluded))

    def test_equally_often(self):
        words = np.array([2, 3, 5, 7, 11, 13], np.int32)
        pairs = Pairs(words, 30, excluded=np.array([2 * 30 + 3, 2 * 30 + 13, 5 * 30 + 11]))
        drawn = [np.stack(pairs.draw(4, self.at(sweep), 1)) for sweep in range(3000)]
        keys = [np.unique(rows * 30 + cols) for rows, cols in drawn]
        assert {len(each) for each in keys} == {4}
        _, counts = np.unique(np.concatenate(keys), return_counts=True)
        assert len(counts) == 12
        # Of 3000 x 4 places; a pair has a third of the sweeps, with a variance of 2/3 of the mean.
        assert np.abs(counts - 1000).max() < 4 * np.sqrt(1000 * 2 / 3)

    def test_of_a_sweep(self, monkeypatch):
        seen = []
        original = sj.bptf._chain.Chain.sweep

        def sweep(self, slices, number):
            seen.append([(cells.rows, cells.cols, cells.values) for cells in slices])
            return original(self, slices, number)

        monkeypatch.setattr(sj.bptf._chain.Chain, "sweep", sweep)
        i, j = every_pair(5)
        nine = sp.coo_array((np.ones(9), (i[1:], j[1:])), shape=(5, 5))
        cosines = CosineSlice(np.vstack([np.eye(3), np.zeros((2, 3))]))
        model_of(2, zeros=2.0, cells=[None, 1000], n_samples=1, burn_in=0).fit([nine, cosines])
        ((first, second),) = seen
        assert sorted(zip(first[0], first[1], first[2], strict=True)) == [
            (0, 1, 0.0), *((a, b, 1.0) for a, b in zip(i[1:], j[1:], strict=True))
        ]  # fmt: skip
        assert sorted(zip(second[0], second[1], strict=True)) == [(0, 1), (0, 2), (1, 2)]


class TestInput:
    def test_words_without_cells(self):
        """They are drawn from the prior of all words: whitened by it they are standard normal."""
        i, j = every_pair(10)
        matrix = sp.coo_array((5 * np.cos(i - j), (i, j)), shape=(40, 40))
        model = model_of(2, n_samples=50).fit([matrix])
        # What is kept with a draw is the prior of the next.
        drawn = whitened(model.samples_[1:, 10:], model._priors[:-1])
        assert surprise(drawn) < 4
        assert surprise(7 * drawn.mean(axis=0)) < 4  # of 49 draws that have nothing to do with each other
        others = whitened(model.samples_[1:, :10], model._priors[:-1])
        assert surprise(7 * others.mean(axis=0)) > 8

    def test_slice_without_cells(self):
        """Its vector is drawn from the prior of the slices, which is drawn from those of the sweep before."""
        matrix, nothing = planted()[2][0], sp.coo_array((60, 60))
        model = model_of(burn_in=20, n_samples=800).fit([matrix, nothing])
        chain = Chain(60, 3, [True, True], seed=0, n_threads=1)
        drawn = []
        for m, P in enumerate(model.perspective_samples_[:-1]):
            rng = chain.numbers.generator(int(model._sweeps_kept[m + 1]), SLICE_PRIOR)
            precision, mean = chain._draw_prior(2, P.sum(axis=0), P.T @ P, rng)
            drawn.append(np.linalg.cholesky(precision).T @ (model.perspective_samples_[m + 1] - mean).T)
        of_nothing, of_cells = np.array(drawn)[:, :, 1], np.array(drawn)[:, :, 0]
        assert surprise(of_nothing) < 4
        assert surprise(of_cells) > 8

    def test_no_cells_at_all(self):
        model = model_of(2, n_samples=100).fit([sp.coo_array((20, 20))])
        drawn = whitened(model.samples_[1:], model._priors[:-1])
        assert surprise(drawn) < 4
        assert np.isfinite(model.alpha_).all()
        assert not model.train_mae_.any()

    def test_more_components_than_words(self):
        matrix = sp.coo_array(([1.0, -1.0], ([0, 1], [1, 2])), shape=(3, 3))
        model = model_of(20).fit([matrix])
        assert model.samples_.shape == (40, 3, 20)
        assert model.predict(0, 1) > model.predict(1, 2)

    def test_contradictions(self):
        both = sp.coo_array(([1.0, -1.0], ([2, 4], [4, 2])), shape=(5, 5))
        with pytest.raises(ValueError, match=r"slices\[0\]: cell \(2, 4\) is given as 1.0 and as -1.0"):
            model_of().fit([both])
        twice = sp.coo_array(([1.0, 1.0, 0.5], ([2, 2, 0], [4, 4, 1])), shape=(5, 5))
        once = sp.coo_array(([1.0, 0.5], ([2, 0], [4, 1])), shape=(5, 5))
        models = [model_of(2, n_samples=2).fit([given]) for given in (twice, once)]
        assert same_bits(*(model.samples_ for model in models))
        model_of(2, n_samples=1, asymmetric=[0]).fit([both])  # two cells there

    @pytest.mark.parametrize(
        ("slices", "error", "message"),
        [
            ([], TypeError, "slices: expected a list of at least one .*, got none"),
            (sj.Thesaurus(), ValueError, "thesaurus: expected the relation 'synonym'.*, got none"),
            (sp.eye_array(3), TypeError, "slices: expected a list"),
            ([np.eye(3)], TypeError, r"slices\[0\]: expected a sparse matrix"),
            ([sp.coo_array((3, 4))], ValueError, r"slices\[0\]: expected a square matrix"),
            ([sp.coo_array((3, 3)), sp.coo_array((4, 4))], ValueError, "slices: expected one number of words"),
            ([sp.eye_array(3).tocoo()], ValueError, r"cell \(0, 0\) relates a word to itself"),
            ([sp.coo_array(([np.nan], ([0], [1])), shape=(3, 3))], ValueError, r"slices\[0\]: expected finite"),
            ([sp.coo_array(([1e300], ([0], [1])), shape=(3, 3))], ValueError, r"slices\[0\]: expected finite"),
            ([CosineSlice(np.ones((3, 2)))], ValueError, "cells: the first slice cannot match itself"),
            ([sp.coo_array(np.array([0.0, 1.0]))], ValueError, r"slices\[0\]: expected a matrix, got 1 dim"),
            ([sp.coo_array(([1j], ([0], [1])), shape=(3, 3))], TypeError, r"slices\[0\]: expected numbers"),
            ([sp.coo_array((0, 0))], ValueError, "slices: expected at least one word"),
        ],
        ids=[
            *[
                "none",
                "thesaurus",
                "no list",
                "dense",
                "square",
                "sizes",
                "diagonal",
                "nan",
                "too large",
                "only cosines",
            ],
            *["1-d", "complex", "no words"],
        ],
    )
    def test_bad_slices(self, slices, error, message):
        with pytest.raises(error, match=message):
            model_of().fit(slices)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"n_components": 0}, ValueError, "n_components"),
            ({"burn_in": -1}, ValueError, "burn_in"),
            ({"n_samples": 0}, ValueError, "n_samples"),
            ({"thin": 0}, ValueError, "thin"),
            ({"zeros": -1.0}, ValueError, "zeros"),
            ({"zeros": [1.0]}, ValueError, "zeros"),
            ({"zeros": "a"}, ValueError, "zeros"),
            ({"zeros": "2"}, ValueError, "zeros"),
            ({"zeros": [[1.0], [2.0]]}, ValueError, "zeros"),
            ({"zeros": [1.0, [2.0]]}, ValueError, "zeros"),
            ({"cells": 5}, TypeError, "cells"),
            ({"cells": "match"}, TypeError, "cells"),
            ({"cells": [None]}, ValueError, "cells"),
            ({"cells": ["match", None]}, ValueError, "cells"),
            ({"cells": [None, 0]}, ValueError, "cells"),
            ({"asymmetric": [2]}, ValueError, "asymmetric"),
            ({"asymmetric": 0}, TypeError, "asymmetric"),
            ({"asymmetric": np.array(0)}, TypeError, "asymmetric"),
            ({"asymmetric": "01"}, TypeError, "asymmetric"),
            ({"held_out": 1.0}, ValueError, "held_out"),
            ({"dtype": "float16"}, ValueError, "dtype"),
            ({"callback": 3}, TypeError, "callback"),
            ({"checkpoint": 3}, TypeError, "checkpoint"),
        ],
    )
    def test_bad_parameters(self, parameters, error, message):
        with pytest.raises(error, match=message):
            BPTF(**parameters).fit(planted()[2])

    @pytest.mark.parametrize("size", [1e145, 1e150, 1e200, 1e300])
    def test_values_too_large_to_be_squared(self, size):
        """The largest that are taken give a precision above 0, and finite vectors."""
        matrix = sp.coo_array(([size, -size], ([0, 1], [1, 2])), shape=(4, 4))
        model = model_of(2, burn_in=5, n_samples=5, dtype="float64")
        if size == 1e145:
            model.fit([matrix])
            assert (model.alpha_ > 0).all()
            assert np.isfinite(model.samples_).all()
        else:
            with pytest.raises(ValueError, match=r"slices\[0\]: values up to 1e\+\d+ are too large to be squared"):
                model.fit([matrix])

    def test_bad_predictions(self):
        model = model_of(n_samples=1).fit(planted()[2])
        with pytest.raises(ValueError, match="i: expected numbers of words below 60"):
            model.predict(60, 0)
        with pytest.raises(TypeError, match="j: expected numbers of words"):
            model.predict(0, 0.5)
        with pytest.raises(ValueError, match="slice"):
            model.predict(0, 1, 2)
        with pytest.raises(ValueError, match="slices: expected one for each of 2"):
            model.add_words([None])
        with pytest.raises(ValueError, match=r"slices\[0\]: expected a column for each of 60 words"):
            model.add_words([sp.coo_array((2, 50)), None])

    def test_bad_vectors(self):
        with pytest.raises(ValueError, match="vectors: expected finite"):
            CosineSlice(np.array([[np.inf, 1.0]]))
        with pytest.raises(ValueError, match="vectors: expected a matrix of floats"):
            CosineSlice(np.ones(3))


class TestEffectiveSampleSize:
    @pytest.mark.parametrize("rho", [-0.5, 0.0, 0.5, 0.9])
    def test_autoregressive(self, rho):
        """Of x_t = rho x_(t-1) + e it is n (1 - rho) / (1 + rho)."""
        rng = np.random.default_rng(0)
        x = np.zeros(40000)
        for t, e in enumerate(rng.standard_normal(len(x) - 1)):
            x[t + 1] = rho * x[t] + e
        assert effective_sample_size(x) == pytest.approx(len(x) * (1 - rho) / (1 + rho), rel=0.15)

    @pytest.mark.parametrize("n", [4, 10, 100, 1000])
    def test_no_more_than_the_trace_can_show(self, n):
        assert effective_sample_size(np.resize([1.0, -1.0], n)) == pytest.approx(n * max(1, np.log10(n)))

    def test_constant(self):
        assert effective_sample_size(np.ones(10)) == 1

    def test_too_short(self):
        with pytest.raises(ValueError, match="trace"):
            effective_sample_size([1.0, 2.0])
