"""What every estimator that is fitted sweep by sweep promises: one callback, one tolerance, one checkpoint."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj._common.fitting import Sweeps
from semproj._common.persistence import read_file
from tests.contract.cases import ITERATIVE
from tests.support import same_bits
from tests.support.fitted import assert_same_fit
from tests.support.forking import exit_of
from tests.support.interrupting import Stop, interrupted
from tests.support.limiting import little_more_memory
from tests.support.saving import rewrite

SWEEPS = 7
RISE = {
    sj.WTMF: -1,
    sj.ImplicitALS: -1,
    sj.S2Net: -1,
    sj.RNNLM: -1,
    sj.BPTF: 0,
}  # which way the objective goes; up for all others
LAG = (sj.PLSA, sj.JPLSA, sj.CPLSA)  # find out a sweep later that they have converged


@pytest.fixture(params=ITERATIVE, ids=str)
def case(request):
    return request.param


def endless(estimator):
    """A chain has as many sweeps as it has draws; hard negatives are others every few sweeps. Classes end soon."""
    return isinstance(estimator, (sj.BPTF, sj.lm.WordClasses)) or getattr(estimator, "negatives", None) == "hard"


@pytest.fixture(params=[case for case in ITERATIVE if not endless(case.estimator)], ids=str)
def converging(request):
    return request.param


# All others return the objective after a sweep from the sweep itself.
@pytest.fixture(params=[case for case in ITERATIVE if isinstance(case.estimator, (*LAG, sj.BPTF))], ids=str)
def lagging(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


def sweeps_of(model, data):
    """The sweeps that a fit makes."""
    seen = []
    model.set_params(callback=lambda progress: seen.append(progress.sweep)).fit(*data)
    model.set_params(callback=None)
    return seen


class TestObjective:
    def test_one_after_each_sweep(self, case):
        model = case.fit()
        assert model.n_iter_ == SWEEPS
        assert (model.objective_.shape, model.objective_.dtype) == ((SWEEPS,), np.float64)
        assert np.isfinite(model.objective_).all()
        # Where a step is not the objective's, or the objective of a sweep not that of the next.
        if not model.get_params().get("orthogonality") and not endless(model):
            better = RISE.get(type(model), 1) * np.diff(model.objective_)
            assert (better >= -1e-6 * np.abs(model.objective_[1:])).all()

    def test_it_is_of_what_was_fitted(self, case):
        """A model says of itself what the loop said of it."""
        model, data = case.fit(), case.data(0)
        if isinstance(model, (sj.PLSA, sj.JPLSA, sj.CPLSA)):
            assert model.objective(*data) == pytest.approx(model.objective_[-1], rel=1e-5)
        elif isinstance(model, sj.Tucker):
            left = np.linalg.norm(data[0].to_dense().ravel() - model.reconstruct(_all_cells(data[0].shape)))
            assert 1 - left / np.linalg.norm(data[0].values) == pytest.approx(model.objective_[-1], abs=1e-9)
        if hasattr(model, "fit_"):
            assert model.fit_ == model.objective_[-1]

    def test_shorter_fits_are_beginnings(self, converging):
        whole = converging.fit()
        for n in (1, 4):
            assert same_bits(converging.fit(max_iter=n).objective_, whole.objective_[:n])


def _all_cells(shape):
    return np.indices(shape).reshape(len(shape), -1)


class TestTolerance:
    def test_ends_when_a_sweep_improves_too_little(self, converging):
        whole = converging.fit(max_iter=40).objective_
        gains = RISE.get(type(converging.estimator), 1) * np.diff(whole) / np.abs(whole[:-1])
        for tol in (gains[1] * 1.01, gains[5] * 1.01):
            expected = int(np.flatnonzero(gains < tol)[0]) + 2 + isinstance(converging.estimator, LAG)
            assert converging.fit(max_iter=40, tol=float(tol)).n_iter_ == expected

    def test_zero_is_never(self, converging):
        assert converging.fit(max_iter=60, tol=0).n_iter_ == 60


def test_progress_is_shown_only_if_asked_for(case, capsys):
    silent = case.fit()
    assert capsys.readouterr().err == ""
    assert_same_fit(case.fit(progress=True), silent)
    shown = capsys.readouterr().err
    assert ("Tucker" if isinstance(silent, sj.MRLSA) else type(silent).__name__) in shown
    assert "7/7" in shown


class TestCallback:
    def test_is_told_of_every_sweep(self, case):
        told, data = [], case.data(0)

        def note(progress):
            told.append((progress.sweep, progress.objective))

        model = case.make(callback=note).fit(*data)
        assert told == list(enumerate(model.objective_.tolist(), 1))
        assert_same_fit(model, case.fit())

    def test_is_told_objectives_of_models_only_if_it_asks(self, case, monkeypatch):
        """A callback that asks for nothing costs nothing."""
        finished = []
        from semproj._common import fitting

        original = fitting._set_fitted

        def count(*args, **kwargs):
            finished.append(kwargs["going_on"])
            original(*args, **kwargs)

        monkeypatch.setattr(fitting, "_set_fitted", count)
        case.make(callback=lambda progress: progress.sweep < 0).fit(*case.data(0))
        # Model M fits its classes first.
        assert finished == [False] * (2 if isinstance(case.estimator, sj.lm.ModelM) else 1)

    def test_models_are_fits_that_end_there(self, case, tmp_path):
        """To use, to keep and to save; the fit does not change them later."""
        kept, data = [], case.data(0)

        def keep(progress):
            if progress.sweep in (1, 5):
                assert progress.model is progress.model
                progress.model.save(tmp_path / f"model{progress.sweep}")
                kept.append(progress.model)

        model = case.make(callback=keep).fit(*data)
        assert_same_fit(model, case.fit())
        for n, mine in zip((1, 5), kept, strict=True):
            stopped = case.make(callback=lambda progress, n=n: progress.sweep == n).fit(*data)
            assert mine.n_iter_ == stopped.n_iter_ == n
            assert_same_fit(mine, stopped)
            for loaded in (mine, sj.load(tmp_path / f"model{n}")):
                for a, b in zip(case.answers(loaded, data), case.answers(stopped, data), strict=True):
                    assert same_bits(a, b)

    def test_models_cannot_change_the_fit(self, case):
        def spoil(progress):
            for value in vars(progress.model).values():
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, np.ndarray) and part.flags.writeable:
                        part[:] = 0
                    elif isinstance(part, dict):
                        part.clear()

        assert_same_fit(case.make(callback=spoil).fit(*case.data(0)), case.fit())

    def test_progress_is_of_its_sweep(self, case):
        told = []
        case.make(callback=told.append).fit(*case.data(0))
        with pytest.raises(RuntimeError, match="model: the fit has gone on"):
            _ = told[2].model

    def test_a_true_result_ends_the_fit(self, case):
        for answer, n in ((True, 1), (1, 1), (np.True_, 1), (None, SWEEPS), (0, SWEEPS), ([], SWEEPS)):
            assert case.make(callback=lambda progress, a=answer: a).fit(*case.data(0)).n_iter_ == n

    @pytest.mark.parametrize("error", [Stop(), KeyboardInterrupt()], ids=["error", "ctrl-c"])
    def test_one_that_fails_keeps_the_previous_fit(self, case, error):
        model = case.fit()
        interrupted(model, case.data(1), 3, error)
        assert_same_fit(model, case.fit())

    def test_early_stopping(self, case):
        scores = iter([1.0, 3.0, 2.0, 3.0, 0.0, 9.0, 9.0])
        stopping = sj.EarlyStopping(lambda model: next(scores), patience=2)
        model = case.make(callback=stopping).fit(*case.data(0))
        assert (model.n_iter_, stopping.best_sweep_, stopping.best_score_) == (4, 2, 3.0)
        two = case.make(callback=lambda progress: progress.sweep == 2).fit(*case.data(0))
        assert_same_fit(stopping.best_, two)

    def test_is_not_saved(self, case, tmp_path, path):
        model = case.make(callback=lambda progress: False, checkpoint=path).fit(*case.data(0))
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert (loaded.callback, loaded.checkpoint) == (None, None)

    @pytest.mark.parametrize(
        ("name", "value", "error"),
        [
            ("callback", 3, TypeError),
            ("checkpoint", 3, TypeError),
            ("checkpoint_every", 0, ValueError),
            ("checkpoint_every", 1.5, TypeError),
            ("max_iter", 0, ValueError),
            ("tol", -1e-3, ValueError),
            ("tol", np.nan, ValueError),
            ("n_threads", 0, ValueError),
        ],
    )
    def test_parameters(self, case, name, value, error):
        if name not in case.estimator.get_params():
            assert isinstance(case.estimator, sj.BPTF)
            return
        model = case.fit()
        with pytest.raises(error, match=f"^{name}: "):
            model.set_params(**{name: value}).fit(*case.data(0))
        assert_same_fit(model, case.fit())


def kinds(cls):
    """The classes below it that are there to be used."""
    below = [kind for each in cls.__subclasses__() for kind in (each, *kinds(each))]
    return [each for each in below if not inspect.isabstract(each)]


class TestFinite:
    """An objective that is not finite ends a fit, which keeps the previous one, and neither is told nor kept."""

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_in_a_sweep(self, case, path, monkeypatch, value):
        model, told = case.fit(), []
        for each in kinds(Sweeps):
            if isinstance(model, sj.lm.ModelM) and "Exchange" in each.__name__:
                continue  # its classes, which are found before
            step = each.step
            monkeypatch.setattr(each, "step", lambda self, n, step=step: value if n == 4 else step(self, n))
        with pytest.raises(ValueError, match=rf"^\w+: the objective is {value} in sweep 4; values are too large"):
            model.set_params(checkpoint=path, callback=lambda p: told.append(p.sweep)).fit(*case.data(1))
        monkeypatch.undo()
        assert told == [1, 2, 3]
        assert_same_fit(model, case.fit())
        resumed = case.make(checkpoint=path)
        resumed.fit(*case.data(1))
        assert_same_fit(resumed, case.fit(1))

    def test_after_the_last_sweep(self, lagging, monkeypatch):
        """Where it is found a sweep later, that of the last one is found at the end."""
        model, before = lagging.fit(), lagging.fit()
        for each in kinds(Sweeps):
            finish = each.finish
            monkeypatch.setattr(each, "finish", lambda *args, f=finish, **given: (f(*args, **given)[0], np.nan))
        with pytest.raises(ValueError, match=r"^\w+: the objective is nan in sweep 7; values are too large"):
            model.fit(*lagging.data(1))
        assert_same_fit(model, before)


class TestMemory:
    """Whoever asks for too much is told which parameter does, and what it would take."""

    def test_more_than_there_is_is_refused_at_once(self, case, monkeypatch):
        monkeypatch.setattr("semproj._common.resources.available_memory", lambda: 1000)
        with pytest.raises(
            MemoryError, match=r"^(n_components|n_classes|order|ranks)=.*about .* GiB .* needed, this process may"
        ):
            case.fit()

    def test_memory_that_ends_meanwhile(self, case):
        def fail(progress):
            raise MemoryError("std::bad_alloc")

        with pytest.raises(
            MemoryError, match=r"^(n_components|n_classes|order|ranks)=.*about .* GiB .* needed, .* gives no more$"
        ):
            case.fit(callback=fail)

    def test_what_no_machine_has(self):
        for model in (sj.WTMF(10**7), sj.PLSA(10**10)):
            with pytest.raises(MemoryError, match=f"^n_components={model.n_components}: about "):
                model.fit(np.eye(100, 200))
        for model in (sj.JPLSA(10**10), sj.CPLSA(10**10)):
            with pytest.raises(MemoryError, match=f"^n_components={model.n_components}: about "):
                model.fit([np.eye(100, 200)] * 2)
        with pytest.raises(MemoryError, match=r"^n_components=10000000, n_samples=200: about "):
            sj.BPTF(10**7).fit([sp.eye_array(50, k=1)])


def with_one_number(value, number):
    """The value with another number in place of one, for each of them; of lists, the first."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from ({**value, key: other} for other in with_one_number(each, number))
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in with_one_number(value[0], number))
    elif isinstance(value, (int, float)):
        yield number


class TestCheckpoint:
    @pytest.mark.parametrize("after", [1, 4, 6, 7])
    @pytest.mark.parametrize("error", [Stop(), KeyboardInterrupt()], ids=["error", "ctrl-c"])
    def test_goes_on_bit_for_bit(self, case, path, after, error):
        data = case.data(0)
        interrupted(case.make(checkpoint=path), data, after, error)
        resumed = case.make(checkpoint=path)
        assert sweeps_of(resumed, data) == list(range(after + 1, SWEEPS + 1))
        assert_same_fit(resumed, case.fit())

    def test_twice(self, case, path):
        for _ in range(2):
            interrupted(case.make(checkpoint=str(path)), case.data(0), 2)
        assert_same_fit(case.fit(checkpoint=path), case.fit())

    def test_whole_fits_with_a_checkpoint_are_the_same(self, case, path):
        for _ in range(2):  # whether the file is there or not
            assert_same_fit(case.fit(checkpoint=path), case.fit())

    def test_every(self, case, path):
        """The file has the last multiple, and the end."""
        for after, kept in ((1, 0), (2, 0), (3, 3), (5, 3), (6, 6), (7, 7)):
            path.unlink(missing_ok=True)
            interrupted(case.make(checkpoint=path, checkpoint_every=3), case.data(0), after)
            assert path.exists() == (kept > 0)
            resumed = case.make(checkpoint=path, checkpoint_every=100)
            assert sweeps_of(resumed, case.data(0)) == list(range(kept + 1, SWEEPS + 1))
        assert sweeps_of(case.make(checkpoint=path), case.data(0)) == []

    def test_ended_by_the_callback(self, case, path):
        """What was done is kept, between two writes too."""
        case.make(checkpoint=path, checkpoint_every=100, callback=lambda p: p.sweep == 5).fit(*case.data(0))
        resumed = case.make(checkpoint=path)
        assert sweeps_of(resumed, case.data(0)) == [6, 7]
        assert_same_fit(resumed, case.fit())

    def test_goes_on_with_a_tolerance(self, converging, path):
        whole = converging.fit(max_iter=40, tol=1e-3)
        interrupted(converging.make(checkpoint=path, max_iter=40, tol=1e-3), converging.data(0), 2)
        assert_same_fit(converging.fit(checkpoint=path, max_iter=40, tol=1e-3), whole)

    def test_threads_and_progress_may_differ(self, case, path, capsys):
        interrupted(case.make(checkpoint=path, n_threads=1), case.data(0), 4)
        resumed = case.make(checkpoint=path, n_threads=2, progress=True)
        assert sweeps_of(resumed, case.data(0)) == [5, 6, 7]
        assert "7/7" in capsys.readouterr().err
        assert_same_fit(resumed, case.fit())

    def test_more_sweeps_of_a_finished_fit(self, converging, path):
        converging.fit(checkpoint=path, max_iter=3)
        longer = converging.make(checkpoint=path)
        assert sweeps_of(longer, converging.data(0)) == [4, 5, 6, 7]
        assert_same_fit(longer, converging.fit())
        assert converging.fit(checkpoint=path, max_iter=2).n_iter_ == SWEEPS

    def test_killed(self, case, path):
        """A process that ends without a word leaves a checkpoint, too."""

        def die(progress):
            if progress.sweep == 4:
                os.kill(os.getpid(), signal.SIGKILL)

        model = case.make(checkpoint=path, callback=die)
        assert exit_of(lambda: model.fit(*case.data(0))) == -signal.SIGKILL
        resumed = case.make(checkpoint=path)
        assert sweeps_of(resumed, case.data(0)) == [5, 6, 7]
        assert_same_fit(resumed, case.fit())

    def test_killed_while_writing(self, case, path, monkeypatch):
        """The old file stays whole."""
        interrupted(case.make(checkpoint=path), case.data(0), 4)
        before = path.read_bytes()

        def fail(*args):
            raise Stop

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(Stop):
            case.fit(checkpoint=path)
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == [path.name]

    def test_of_other_parameters_or_other_data(self, case, path):
        interrupted(case.make(checkpoint=path), case.data(0), 4)
        self.refused(case.make(checkpoint=path, **case.other), case.data(0), path, "differs in")
        self.refused(case.make(checkpoint=path), case.data(1), path, "differs in")

    def test_of_another_seed(self, case, path):
        interrupted(case.make(checkpoint=path), case.data(0), 4)
        if case.estimator.get_params().get("init") == "frequency":  # it needs no random numbers
            assert_same_fit(case.fit(checkpoint=path, random_state=7), case.fit())
            return
        self.refused(case.make(checkpoint=path, random_state=7), case.data(0), path, "differs in random_state")

    def test_of_another_class(self, case, path):
        other = next(each for each in ITERATIVE if type(each.estimator) is not type(case.estimator))
        interrupted(other.make(checkpoint=path), other.data(0), 4)
        self.refused(case.make(checkpoint=path), case.data(0), path, "class")

    def test_damaged_or_not_a_checkpoint(self, case, path):
        interrupted(case.make(checkpoint=path), case.data(0), 4)
        whole = path.read_bytes()
        saved = path.with_name("model")
        case.fit().save(saved)
        flipped = bytearray(whole)
        flipped[-40] ^= 1
        for content in (b"", whole[:100], whole[:-1], bytes(flipped), b"not a checkpoint", saved.read_bytes()):
            path.write_bytes(content)
            self.refused(case.make(checkpoint=path), case.data(0), path, path.name)

    @pytest.mark.filterwarnings("ignore")  # numbers that no fit has may be a state that cannot be improved
    @pytest.mark.parametrize("number", [2**31, 1e308])
    def test_numbers_that_no_fit_has(self, case, path, number):
        """Read as they stand or refused, but checked before they are believed: a file may promise billions."""
        interrupted(case.make(checkpoint=path), case.data(0), 3)
        arrays, description = read_file(path)
        arrays = {name: array.copy() for name, array in arrays.items()}
        for state in with_one_number(description["state"], number):
            rewrite(path, arrays, {**description, "state": state})
            with little_more_memory(gigabytes=2), suppress(ValueError):
                case.fit(checkpoint=path)

    def refused(self, model, data, path, words):
        """Neither gone on with nor overwritten."""
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"checkpoint: .*{words}"):
            model.fit(*data)
        assert path.read_bytes() == before

    def test_a_folder_that_does_not_exist(self, case, tmp_path):
        model = case.fit()
        before = pickle.loads(pickle.dumps(model))
        told = []
        model.set_params(checkpoint=tmp_path / "nowhere" / "state", callback=told.append)
        with pytest.raises(FileNotFoundError, match=r"checkpoint: .*nowhere.*: its folder does not exist"):
            model.fit(*case.data(1))
        assert not told
        assert_same_fit(model, before)
