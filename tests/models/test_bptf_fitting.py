"""How BPTF is fitted: threads, checkpoints, seeds, held-out cells, callbacks, and what is stored."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj import BPTF, CosineSlice
from semproj.bptf import _sampling
from tests.support import same_bits
from tests.support.interrupting import interrupted
from tests.support.relating import every_pair, model_of, planted, same_fit


class TestChain:
    @pytest.mark.parametrize("seed", [None, 2**64 - 1, np.random.RandomState], ids=["none", "large", "state"])
    def test_goes_on_with_the_seed_it_began_with(self, tmp_path, seed):
        """Also to hold the same cells out, and to add the same words."""
        _, _, slices = planted()
        settings = {"burn_in": 4, "n_samples": 3, "held_out": 0.3, "zeros": 0.5, "checkpoint": tmp_path / "state"}
        made = (lambda: seed(3)) if callable(seed) else (lambda: seed)
        interrupted(model_of(**settings, checkpoint_every=1, random_state=made()), slices, 3)
        sweeps = []
        resumed = model_of(**settings, random_state=made(), callback=lambda p: sweeps.append(p.sweep)).fit(slices)
        assert sweeps == [4, 5, 6, 7]  # the file is written before the callback is called
        whole = model_of(**{**settings, "checkpoint": None}, random_state=resumed._key).fit(slices)
        assert same_fit(whole, resumed)

    def test_cosines_for_any_number_of_threads_and_after_a_stop(self, tmp_path):
        """Cells that are drawn anew in each sweep, by the slice of cosines too: the same bits."""
        slices = [planted()[2][0], CosineSlice(np.random.default_rng(0).standard_normal((60, 5)))]
        settings = {"zeros": [1.0, 0.0], "burn_in": 9, "n_samples": 4, "thin": 2, "held_out": 0.1}
        whole = model_of(**settings, n_threads=1).fit(slices)
        for n in (2, 5):
            assert same_fit(model_of(**settings, n_threads=n).fit(slices), whole)
        for after in (7, 12):  # in the burn-in, and later
            path, sweeps = tmp_path / f"state{after}", []
            interrupted(model_of(**settings, checkpoint=path, checkpoint_every=1), slices, after)
            resumed = model_of(**settings, checkpoint=path, callback=lambda p, seen=sweeps: seen.append(p.sweep))
            assert same_fit(resumed.fit(slices), whole)
            assert sweeps == list(range(after + 1, 18))

    def test_draws_of_a_checkpoint_are_in_memory_once(self, tmp_path):
        slices = planted(400, 16, share=0.02)[2]
        settings = {"d": 16, "burn_in": 1, "n_samples": 40, "checkpoint_every": 1}
        bytes_of_draws, held = 40 * 4 * 400 * 16, []

        def look(progress):
            if progress.sweep == 40:
                held.append(tracemalloc.get_traced_memory()[0])

        interrupted(model_of(**settings, checkpoint=tmp_path / "state"), slices, 39)
        for path in (None, tmp_path / "state"):
            tracemalloc.start()
            model_of(**settings, checkpoint=path, callback=look).fit(slices)
            tracemalloc.stop()
        whole, resumed = held
        assert bytes_of_draws < whole
        assert resumed < whole + bytes_of_draws / 4

    def test_other_seeds_are_refused(self, tmp_path):
        _, _, slices = planted()
        settings = {"burn_in": 1, "n_samples": 1, "checkpoint": tmp_path / "state"}
        for first, others in (
            (1, (2, None, np.random.RandomState(1), np.random.default_rng(1))),
            (None, (0, 1, np.random.RandomState(1))),
            (np.random.RandomState(1), (1, None, np.random.RandomState(2))),
        ):
            settings["checkpoint"].unlink(missing_ok=True)
            model_of(**settings, random_state=first).fit(slices)
            for other in others:
                with pytest.raises(ValueError, match=r"checkpoint: .* differs in random_state"):
                    model_of(**settings, random_state=other).fit(slices)
        settings["checkpoint"].unlink()
        one, same = (model_of(**settings, random_state=seed).fit(slices) for seed in (1, np.int64(1)))
        assert same_bits(one.samples_, same.samples_)

    def test_numbers_of_numpy(self, tmp_path):
        _, _, slices = planted()
        plain = {
            "burn_in": 1,
            "n_samples": 1,
            "thin": 2,
            "held_out": 0.125,
            "cells": [50, None],
            "zeros": [1.0, 0.0],
        }
        given = {
            "burn_in": np.int64(1),
            "n_samples": np.int8(1),
            "thin": np.uint16(2),
            "held_out": np.float32(0.125),
            "cells": np.array([50, None]),
            "zeros": np.array([1, 0]),
        }
        path = tmp_path / "state"
        asymmetric = {"n_components": np.int64(2), "asymmetric": np.array([1])}
        first = BPTF(**given, **asymmetric, random_state=0, checkpoint=path).fit(slices)
        second = BPTF(2, asymmetric=[1], **plain, random_state=0, checkpoint=path).fit(slices)
        assert same_bits(first.samples_, second.samples_)
        first.save(tmp_path / "model")
        assert same_bits(sj.load(tmp_path / "model").samples_, second.samples_)

    def test_held_out_error_falls(self):
        _, _, slices = planted()
        model = model_of(held_out=0.2, random_state=1).fit(slices)
        assert len(model.held_out_mae_) == model.n_iter_ == 100
        assert model.held_out_mae_[-1] < 0.1 < model.held_out_mae_[0]
        assert len(model_of(n_samples=1).fit(slices).held_out_mae_) == 0

    @pytest.mark.parametrize("cosines", [False, True])
    def test_nothing_to_hold_out(self, cosines):
        few = sp.coo_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
        slices, cells = ([CosineSlice(np.eye(3))], [2]) if cosines else ([few], None)
        message = r"held_out: expected a share with at least one of \[\d\] observed cells, got 0.2"
        with pytest.raises(ValueError, match=message):
            model_of(held_out=0.2, cells=cells).fit(slices)

    @pytest.mark.parametrize("d", [3, 16], ids=["padded", "not padded"])
    def test_a_callback_cannot_change_the_chain(self, d):
        """What a model has is a copy of the chain's, or a draw that is kept and cannot be written to."""
        _, _, slices = planted()
        settings = {"burn_in": 6, "n_samples": 3, "thin": 2}
        models = []

        def callback(progress):
            models.append(progress.model)
            kept = progress.sweep in (8, 10, 12)
            for vectors in (progress.model.word_vectors_, progress.model.perspective_vectors_):
                assert vectors.flags.writeable != kept
                if kept:
                    with pytest.raises(ValueError, match="read-only"):
                        vectors[0] = 0
                else:
                    vectors[:] = 0

        model = model_of(d, **settings, callback=callback).fit(slices)
        assert same_fit(model, model_of(d, **settings).fit(slices))
        assert same_fit(models[-1], model)

    @pytest.mark.parametrize("asymmetric", [[], [1]], ids=["symmetric", "asymmetric"])
    @pytest.mark.parametrize("d", [3, 16], ids=["padded", "not padded"])
    def test_a_model_kept_in_a_callback_stays_as_it_is(self, d, asymmetric):
        """It is what a fit that ends there returns: in the burn-in, with draws kept, and between two of them."""
        slices = planted()[2]
        settings = {"burn_in": 3, "n_samples": 3, "thin": 2, "held_out": 0.1, "zeros": 0.5}
        settings["asymmetric"] = asymmetric
        models = {}
        model_of(d, **settings, callback=lambda p: models.update({p.sweep: p.model})).fit(slices)
        assert list(models) == list(range(1, 10))
        i, j = every_pair(60)
        for sweep, kept in models.items():
            stopped = model_of(d, **settings, callback=lambda p, last=sweep: p.sweep == last).fit(slices)
            assert kept.n_iter_ == stopped.n_iter_ == sweep
            assert same_fit(kept, stopped)
            for k in (0, 1):
                assert same_bits(kept.predict(i, j, k), stopped.predict(i, j, k))

    def test_draws_outgrow_the_room_made_for_them(self, monkeypatch):
        """Room for one draw at first, twice as much each time: the same bits, also of models kept on the way."""
        slices = planted()[2]
        settings = {"burn_in": 2, "n_samples": 7, "asymmetric": [1]}
        expected, models = {}, {}
        model_of(**settings, callback=lambda p: expected.update({p.sweep: p.model})).fit(slices)
        rooms = []
        append = _sampling._Draws.append

        def appending(self, value):
            append(self, value)
            rooms.append(len(self._array))

        monkeypatch.setattr(_sampling, "_AT_ONCE", 1)
        monkeypatch.setattr(_sampling._Draws, "append", appending)
        model = model_of(**settings, callback=lambda p: models.update({p.sweep: p.model})).fit(slices)
        assert rooms[::4] == [1, 2, 4, 4, 8, 8, 8]  # four arrays of each draw
        assert list(models) == list(expected) == list(range(1, 10))
        assert all(same_fit(models[sweep], expected[sweep]) for sweep in expected)
        assert same_fit(model, expected[9])

    @pytest.mark.parametrize("name", BPTF._arrays)
    def test_nor_does_one_that_ends_as_it_is_stored(self, name, monkeypatch):
        _, _, slices = planted()
        model = model_of(n_samples=2, burn_in=1).fit(slices)
        before = dict(model.__dict__)
        original = BPTF.__setattr__

        def interrupt(self, attribute, value):
            if attribute == name:
                raise KeyboardInterrupt
            original(self, attribute, value)

        monkeypatch.setattr(BPTF, "__setattr__", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(slices)
        assert model.__dict__ == before

    def test_thinning(self):
        _, _, slices = planted()
        all_of_them = model_of(n_samples=12).fit(slices)
        thinned = model_of(n_samples=4, thin=3).fit(slices)
        assert same_bits(all_of_them.samples_[2::3], thinned.samples_)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("asymmetric", [[], [1]])
    def test_what_is_stored(self, dtype, asymmetric, tmp_path):
        """As the notes of the class have it; names and shapes besides."""
        model = model_of(dtype=dtype, asymmetric=asymmetric, checkpoint=tmp_path / "state").fit(planted()[2])
        model.save(tmp_path / "model")
        b, n_words, d, k, sweeps = np.dtype(dtype).itemsize, 60, 3, 2, 100
        draw = b * n_words * d + 8 * k * d + 8 * k * d**2 * bool(asymmetric) + 8 * (d**2 + d + 1)
        least = 40 * draw + 3 * 8 * sweeps
        assert least < (tmp_path / "model").stat().st_size < least + 3000
        state = b * n_words * d + 8 * k * d * (d + 1)
        assert 40 * draw + state < (tmp_path / "state").stat().st_size < 40 * draw + state + 80 * sweeps

    def test_save(self, tmp_path):
        _, _, slices = planted()
        model = model_of(n_samples=3, callback=lambda progress: False).fit(slices)
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        i, j = every_pair(60)
        assert same_bits(model.predict(i, j), loaded.predict(i, j))
        assert same_bits(
            model.add_words([sp.coo_array(np.eye(1, 60)), None]).samples_,
            loaded.add_words([sp.coo_array(np.eye(1, 60)), None]).samples_,
        )
