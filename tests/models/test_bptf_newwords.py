"""Words added to a BPTF: as good as known ones, in both directions, with zeros; and input that makes no sense."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import CosineSlice
from semproj.bptf._newwords import NewWords
from semproj.bptf._random import START, ChainNumbers
from tests.support import same_bits
from tests.support.relating import every_pair, model_of, planted, surprise, whitened


class TestNewWords:
    def test_as_good_as_known_ones(self):
        """The last ten words are only drawn against the others; their cells with each other are found."""
        _, wholes, slices = planted(share=0.7)
        known = [each.tocsr()[:50, :50] for each in slices]
        symmetric = [(each + each.T).tocsr() for each in slices]
        model = model_of().fit(known)
        extended = model.add_words([each[50:, :50] for each in symmetric])
        assert extended.samples_.shape == (40, 60, 3)
        assert same_bits(np.ascontiguousarray(extended.samples_[:, :50]), model.samples_)
        i, j = (each + 50 for each in every_pair(10))
        assert np.abs(extended.predict(i, j) - wholes[0][i, j]).mean() < 0.1
        assert len(model.samples_[0]) == 50

    def test_by_cosines_alone(self):
        rng = np.random.default_rng(2)
        vectors = rng.standard_normal((90, 4))
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        i, j = every_pair(80)
        first = sp.coo_array(((unit @ unit.T)[i, j], (i, j)), shape=(80, 80))
        model = model_of(4).fit([first, CosineSlice(vectors[:80])])
        extended = model.add_words([None, CosineSlice(vectors)], n_neighbors=60)
        i, j = np.meshgrid(np.arange(80, 90), np.arange(90), indexing="ij")
        apart = i != j
        assert np.abs(extended.predict(i, j) - unit[80:] @ unit.T)[apart].mean() < 0.1

    def test_both_directions_of_an_asymmetric_slice(self):
        """The last ten words again; each direction is found by its own cells, both by those of both."""
        rng = np.random.default_rng(1)
        V, A = rng.standard_normal((60, 3)), rng.standard_normal((3, 3))
        whole = V @ A @ V.T
        np.fill_diagonal(whole, 0)
        model = model_of(asymmetric=[0]).fit([sp.coo_array(whole[:50, :50])])
        out, back = sp.coo_array(whole[50:, :50]), sp.coo_array(whole[:50, 50:])
        i, j = (each.ravel() for each in np.meshgrid(np.arange(50, 60), np.arange(50), indexing="ij"))
        errors = []
        for given in (out, (out, None), (None, back), (out, back)):
            extended = model.add_words([given])
            errors.append([np.abs(extended.predict(a, b) - whole[a, b]).mean() for a, b in ((i, j), (j, i))])
        assert np.max(errors) < 0.05
        # All zeros in one direction say nothing of a vector that A maps to zero alone: both are heard.
        nothing = sp.coo_array((np.zeros(500), (j, i - 50)), shape=(50, 10))
        silenced = model.add_words([(out, nothing)]).predict(j, i)
        assert np.abs(silenced).mean() < 0.7 * np.abs(whole[j, i]).mean()

    def test_given_twice(self):
        model = model_of(n_samples=3).fit(planted()[2])
        twice = sp.coo_array(([1.0, 1.0, 0.5], ([0, 0, 1], [4, 4, 2])), shape=(2, 60))
        once = sp.coo_array(([1.0, 0.5], ([0, 1], [4, 2])), shape=(2, 60))
        added = [model.add_words([given, None]).samples_ for given in (twice, once)]
        assert same_bits(*added)

    def test_zeros(self):
        """Of a word with one friend in a camp: without zeros it may have to do with the other camp, too."""
        i, j = every_pair(30)
        camps = sp.coo_array((np.where(i // 15 == j // 15, 1.0, 0.0), (i, j)), shape=(30, 30))
        model = model_of(4).fit([camps])
        new = sp.coo_array(([1.0], ([0], [3])), shape=(1, 30))
        without, with_zeros = (
            np.abs(model.add_words([new], zeros=n).predict(30, np.arange(15, 30))).mean() for n in (0.0, 20.0)
        )
        assert with_zeros < without / 2

    @pytest.mark.parametrize("outward", [True, False])
    def test_which_zeros(self, outward):
        cells = np.zeros((4, 12))
        cells[0, [3, 5]] = cells[1, :11] = cells[3, 2] = 2
        given = (sp.coo_array(cells), None) if outward else (None, sp.coo_array(cells.T))
        seen = []
        for sweep in range(400):
            (drawn,) = NewWords([given], [False], 12, np.float32, 1.5).draw(1, ChainNumbers(0), sweep, 1)
            new, old = (drawn.rows, drawn.cols) if outward else (drawn.cols, drawn.rows)
            known, zeros = drawn.values == 2, drawn.values == 0
            assert (known | zeros).all()
            assert np.array_equal(np.sort((new[known] - 12) * 12 + old[known]), np.flatnonzero(cells))
            assert not cells[new[zeros] - 12, old[zeros]].any()
            assert len(set(zip(new, old, strict=True))) == len(new)
            seen.append(np.zeros((4, 12)))
            seen[-1][new[zeros] - 12, old[zeros]] = 1
        counts = np.sum(seen, axis=0)
        assert counts.sum(axis=1)[:3].tolist() == [3 * 400, 400, 0]  # one is left for the second word
        assert counts[3].sum() == pytest.approx(1.5 * 400, abs=4 * np.sqrt(400 * 0.25))
        assert np.abs(counts[0, cells[0] == 0] - 120).max() < 4 * np.sqrt(400 * 0.3 * 0.7)

    def test_random_numbers_of_their_own(self, monkeypatch):
        """What is drawn for new words has nothing to do with what was drawn in the fit."""
        used = set()
        original = ChainNumbers.generator

        def generator(self, *purpose):
            used.add(purpose)
            return original(self, *purpose)

        monkeypatch.setattr(ChainNumbers, "generator", generator)
        cosines = CosineSlice(np.random.default_rng(0).standard_normal((62, 5)))
        slices = [planted()[2][0], CosineSlice(np.random.default_rng(0).standard_normal((60, 5)))]
        model = model_of(burn_in=1, n_samples=3, zeros=[1.0, 0.0], cells=[50, "match"]).fit(slices)
        of_the_fit = used.copy()
        used.clear()
        model.add_words([sp.coo_array(np.eye(2, 60)), cosines], zeros=1.0)
        assert used & of_the_fit <= {(0, START)}  # where vectors start, before they are drawn

    def test_words_without_cells_have_the_prior(self):
        model = model_of(n_samples=100).fit(planted()[2])
        i = np.zeros(60, int)
        cells = sp.coo_array((np.ones(60), (i, np.arange(60))), shape=(11, 60))
        extended = model.add_words([cells, None], zeros=1.0)
        drawn = whitened(extended.samples_[:, 60:], extended._priors)
        assert surprise(drawn[:, 1:]) < 4
        assert surprise(drawn[:, 0]) > 8


class TestInput:
    @pytest.mark.parametrize(
        ("slices", "error", "message"),
        [
            (sp.coo_array((2, 60)), TypeError, "slices: expected a list"),
            ([np.ones((2, 60)), None], TypeError, r"slices\[0\]: expected a sparse matrix"),
            (
                [sp.coo_array(([np.nan], ([0], [1])), shape=(2, 60)), None],
                ValueError,
                r"slices\[0\]: expected finite",
            ),
            (
                [sp.coo_array(([np.inf], ([0], [1])), shape=(2, 60)), None],
                ValueError,
                r"slices\[0\]: expected finite",
            ),
            (
                [sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 60)), None],
                ValueError,
                r"cell \(0, 1\) is given",
            ),
            (
                [sp.coo_array(([3e38, 3e38], ([0, 0], [1, 2])), shape=(2, 60)), None],
                ValueError,
                "slices: vectors of new words",
            ),
            ([None, CosineSlice(np.ones((61, 2)))], ValueError, r"slices\[1\]: has cosines, which are symmetric"),
            ([(sp.coo_array((2, 60)), None), None], ValueError, r"slices\[0\]: expected one sparse matrix"),
            (
                [None, (None, sp.coo_array((2, 60)))],
                ValueError,
                r"slices\[1\]\[1\]: expected a row for each of 60",
            ),
            ([None, (sp.coo_array((2, 60)),)], ValueError, r"slices\[1\]: expected one sparse matrix, or two"),
            (
                [None, None],
                ValueError,
                r"slices: expected the same number of new words in all, at least 1, got \[\]",
            ),
            ([sp.coo_array((0, 60)), None], ValueError, r"at least 1, got \[0\]"),
            ([CosineSlice(np.ones((60, 2))), None], ValueError, r"at least 1, got \[0\]"),
            ([sp.coo_array((1, 60)), sp.coo_array((2, 60))], ValueError, r"at least 1, got \[1, 2\]"),
        ],
    )
    def test_bad_new_words(self, slices, error, message):
        model = model_of(n_samples=1, asymmetric=[1]).fit(planted()[2])
        with pytest.raises(error, match=message):
            model.add_words(slices)

    def test_bad_zeros_of_new_words(self):
        model = model_of(n_samples=1).fit(planted()[2])
        cosines = CosineSlice(np.ones((62, 2)))
        for zeros in (-1.0, "a", [1.0], [0.0, 1.0]):
            with pytest.raises(ValueError, match="zeros: expected"):
                model.add_words([sp.coo_array((2, 60)), cosines], zeros=zeros)
        model.add_words([sp.coo_array((2, 60)), cosines], zeros=1.0)
