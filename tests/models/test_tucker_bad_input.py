"""What Tucker says about parameters and tensors it cannot use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from semproj import SparseTensor, Tucker
from tests.support import same_bits
from tests.support.tensors import planted, sparse


class TestErrors:
    def setup_method(self):
        self.X = sparse(planted((30, 20, 4), (4, 5, 4), noise=0.3))

    @pytest.mark.parametrize(
        ("ranks", "error", "message"),
        [
            ((31, 20, 4), ValueError, r"ranks\[0\]: expected at most the mode's dimension, 30, got 31"),
            ((4, 4, 5), ValueError, r"ranks\[2\]: expected at most the mode's dimension, 4, got 5"),
            ((4, 4), ValueError, "ranks: expected 3, one for each mode, got 2"),
            ((0, 4, 4), ValueError, r"ranks\[0\]: expected at least 1, got 0"),
            ((4, 4.0, 4), TypeError, r"ranks\[1\]: expected an integer"),
            (4, TypeError, "ranks: expected one integer for each of 3 modes, got 4"),
            ((9, 2, 4), ValueError, r"ranks\[0\]: expected at most the product of the other ranks, 8, got 9"),
        ],
        ids=str,
    )
    def test_ranks(self, ranks, error, message):
        with pytest.raises(error, match=message):
            Tucker(ranks).fit(self.X)

    def test_a_mode_that_is_not_compressed_may_exceed_the_others(self):
        assert Tucker((1, 1, 4), random_state=0).fit(self.X).core_.shape == (1, 1, 4)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"tol": -1.0}, ValueError, "tol"),
            ({"tol": "x"}, TypeError, "tol"),
            ({"max_iter": 0}, ValueError, "max_iter"),
            ({"max_memory": 0}, ValueError, "max_memory"),
            ({"callback": 3}, TypeError, "callback: expected a callable or None, got 3"),
            ({"checkpoint": 3}, TypeError, "checkpoint: expected a path or None, got 3"),
            ({"n_threads": 0}, ValueError, "n_threads"),
            ({"random_state": "x"}, TypeError, "random_state"),
        ],
        ids=str,
    )
    def test_parameters(self, parameters, error, message):
        with pytest.raises(error, match=message):
            Tucker((4, 4, 4), **parameters).fit(self.X)

    def test_no_entries(self):
        empty = SparseTensor(np.zeros((3, 0), int), [], (5, 4, 3))
        with pytest.raises(ValueError, match="tensor: has no non-zero entries"):
            Tucker((2, 2, 2)).fit(empty)

    def test_overflow(self):
        X = SparseTensor(self.X.coords, self.X.values.astype(np.float32) * np.float32(1e30), self.X.shape)
        with pytest.raises(ValueError, match="tensor: its squares do not fit float32"):
            Tucker((4, 4, 4)).fit(X)

    def test_dense_input(self):
        with pytest.raises(TypeError, match="tensor: expected a SparseTensor"):
            Tucker((2, 2, 2)).fit(np.ones((3, 3, 3)))

    def test_not_fitted(self, tmp_path):
        with pytest.raises(NotFittedError):
            Tucker((2, 2, 2)).reconstruct([[0], [0], [0]])
        with pytest.raises(NotFittedError):
            Tucker((2, 2, 2)).save(tmp_path / "model")

    @pytest.mark.parametrize(
        ("coords", "message"),
        [
            ([[0], [0]], r"coords: expected integers of shape \(3, n_cells\)"),
            ([[0.0], [0.0], [0.0]], "coords: expected integers"),
            ([0, 0, 0], "coords: expected integers"),
            ([[30], [0], [0]], r"coords\[0\]: out of range for a dimension of 30"),
            ([[0], [0], [-1]], r"coords\[2\]: out of range"),
        ],
        ids=str,
    )
    def test_reconstruct(self, coords, message):
        model = Tucker((4, 4, 4), random_state=0).fit(self.X)
        with pytest.raises(ValueError, match=message):
            model.reconstruct(coords)

    def test_reconstruct_no_cells(self):
        assert Tucker((4, 4, 4), random_state=0).fit(self.X).reconstruct(np.zeros((3, 0), int)).shape == (0,)

    def test_failed_fit_leaves_the_previous_one_usable(self):
        model = Tucker((4, 4, 4), random_state=0).fit(self.X)
        core = model.core_.copy()
        with pytest.raises(ValueError, match="ranks"):
            model.set_params(ranks=(40, 4, 4)).fit(self.X)
        assert same_bits(model.core_, core)
        assert model.reconstruct([[0], [0], [0]]).shape == (1,)
