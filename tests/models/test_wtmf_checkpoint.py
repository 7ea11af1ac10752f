"""Checkpoints of WTMF: resumed to the same bits, refused when damaged, never continued with other data."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import semproj as sj
from tests.reference import wtmf as reference
from tests.support import same_bits
from tests.support.factorizing import SAVED, assert_same_fit, corpus, history, make, relative_error
from tests.support.interrupting import Stop, interrupted
from tests.support.projecting import with_indices

DTYPES = [np.float32, np.float64]


class TestCheckpoint:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "state"

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("error", [Stop(), KeyboardInterrupt()], ids=["error", "ctrl-c"])
    @pytest.mark.parametrize("options", [{}, {"orthogonality": 1e-3}, {"tol": 1e-9}], ids=str)
    def test_resumed_as_if_never_interrupted(self, options, error, dtype, path):
        X = corpus(dtype=dtype)
        whole = make(**options).fit(X)
        interrupted(make(checkpoint=path, **options), X, 4, error)
        resumed = make(checkpoint=path, **options)
        sweeps = [sweep for sweep, _, _ in history(resumed, X)]
        assert sweeps == [5, 6, 7], "it went on from where it was, not from the beginning"
        assert same_bits(resumed.components_, whole.components_)
        assert same_bits(resumed.sentence_vectors_, whole.sentence_vectors_)
        assert same_bits(resumed.objective_, whole.objective_)
        assert resumed.n_iter_ == 7

    def test_interrupted_twice(self, path):
        X = corpus()
        for after in (2, 2):
            interrupted(make(checkpoint=str(path)), X, after, Stop())
        assert_same_fit(make(checkpoint=path).fit(X), make().fit(X))

    def test_without_a_seed(self, path):
        """The word vectors are in the checkpoint: a fit without a seed is continued too."""
        X, seen = corpus(), []

        def callback(progress):
            seen.append(progress.model.components_)
            if len(seen) == 3:
                raise Stop

        with pytest.raises(Stop):
            make(random_state=None, checkpoint=path, callback=callback).fit(X)
        sweep, vectors, _ = history(make(random_state=None, checkpoint=path), X)[0]
        assert sweep == 4
        P, Q, _ = reference.sweep(X.toarray(), seen[2], missing_weight=0.01, reg=1.0)
        assert relative_error(vectors.T, reference.oriented(P, Q)[0]) < 1e-9

    def test_a_whole_fit_with_a_checkpoint_is_the_same(self, path):
        X = corpus()
        assert_same_fit(make(checkpoint=path).fit(X), make().fit(X))
        assert_same_fit(make(checkpoint=path).fit(X), make().fit(X))  # whether the file is still there or not

    def test_more_sweeps_of_a_finished_fit(self, path):
        X = corpus()
        make(checkpoint=path, max_iter=3).fit(X)
        longer = make(checkpoint=path)
        assert len(history(longer, X)) == 4
        assert_same_fit(longer, make().fit(X))

    def test_wide_indices_are_the_same_data(self, path):
        X = corpus()
        interrupted(make(checkpoint=path), X, 4, Stop())
        assert_same_fit(make(checkpoint=path).fit(with_indices(X, np.int64)), make().fit(X))

    def test_n_threads_and_progress_may_differ(self, path):
        X = corpus()
        interrupted(make(checkpoint=path, n_threads=1), X, 4, Stop())
        resumed = make(checkpoint=path, n_threads=2, progress=True)
        assert len(history(resumed, X)) == 3
        assert_same_fit(resumed, make().fit(X))

    @pytest.mark.parametrize(
        "options",
        [
            {"n_components": 6},
            {"missing_weight": 0.02},
            {"reg": 2.0},
            {"random_state": 1},
            {"orthogonality": 1e-3},
        ],
        ids=str,
    )
    def test_of_other_parameters(self, options, path):
        X = corpus()
        interrupted(make(checkpoint=path), X, 4, Stop())
        self.refused(make(checkpoint=path, **options), X, path)

    def test_of_another_numpy_seed(self, path):
        X = corpus()
        interrupted(make(checkpoint=path, random_state=np.int64(0)), X, 4, Stop())
        self.refused(make(checkpoint=path, random_state=np.int64(1)), X, path)

    def test_seeds_are_their_keys(self, path):
        X = corpus()
        interrupted(make(checkpoint=path, random_state=0), X, 4, Stop())
        assert_same_fit(make(checkpoint=path, random_state=np.int64(0)).fit(X), make().fit(X))
        path.unlink()
        interrupted(make(checkpoint=path, random_state=np.random.RandomState(0)), X, 4, Stop())
        self.refused(make(checkpoint=path, random_state=np.random.RandomState(1)), X, path)
        resumed = make(checkpoint=path, random_state=np.random.RandomState(0)).fit(X)
        assert_same_fit(resumed, make(random_state=np.random.RandomState(0)).fit(X))

    @pytest.mark.parametrize("change", ["value", "column", "rows", "columns", "dtype"])
    def test_of_other_data(self, change, path):
        X = corpus()
        interrupted(make(checkpoint=path), X, 4, Stop())
        other = X.copy()
        if change == "value":
            other.data[77] *= 1.001
        elif change == "column":
            row = X[9].indices
            other.indices[other.indptr[9] + len(row) - 1] = next(i for i in range(39, 0, -1) if i not in row)
            other.sort_indices()
        else:
            other = {"rows": X[:-1], "columns": X[:, :-1], "dtype": X.astype(np.float32)}[change]
        self.refused(make(checkpoint=path), other, path)

    def refused(self, model, X, path):
        """Neither continued nor overwritten."""
        before = path.read_bytes()
        with pytest.raises(ValueError, match="checkpoint"):
            model.fit(X)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("keep", [0, 5, 100, -1, -100])
    def test_truncated_file(self, keep, path):
        X = corpus()
        interrupted(make(checkpoint=path), X, 4, Stop())
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(ValueError, match=path.name):
            make(checkpoint=path).fit(X)

    def test_damaged_and_foreign_files(self, path):
        X = corpus()
        interrupted(make(checkpoint=path), X, 4, Stop())
        raw = bytearray(path.read_bytes())
        raw[-200] ^= 1
        foreign = path.with_name("foreign")
        sj.LSA(3, random_state=0).fit(X).save(foreign)
        for content in (bytes(raw), b"not a checkpoint", foreign.read_bytes()):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=path.name):
                make(checkpoint=path).fit(X)
            assert path.read_bytes() == content, "somebody else's file is not overwritten"

    def test_killed(self, path, run_python):
        """A process that ends without a word leaves a checkpoint, too."""
        done = run_python(
            f"""
            import os, signal
            from tests.support.factorizing import corpus, make
            calls = []
            def die(progress):
                calls.append(progress.sweep)
                if len(calls) == 4:
                    os.kill(os.getpid(), signal.SIGKILL)
            make(checkpoint={str(path)!r}, callback=die).fit(corpus())
            """,
            check=False,
        )
        assert done.returncode == -9
        resumed = make(checkpoint=path)
        assert len(history(resumed, corpus())) == 3
        assert_same_fit(resumed, make().fit(corpus()))

    def test_ctrl_c_within_a_sweep(self, path, run_python):
        done = run_python(
            f"""
            import os, signal, threading
            signal.signal(signal.SIGINT, signal.default_int_handler)
            from tests.support import same_bits
            from tests.support.factorizing import assert_same_fit, corpus, make
            X, options = corpus(1500, 300), dict(n_components=40, max_iter=12, n_threads=2)
            model = make(**options).fit(X[:50])
            before, calls = model.components_, []
            def interrupt(progress):
                calls.append(progress.sweep)
                if len(calls) == 3:
                    threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                model.set_params(checkpoint={str(path)!r}, callback=interrupt).fit(X)
            except KeyboardInterrupt:
                assert same_bits(model.components_, before)
                print(len(calls))
            resumed = make(checkpoint={str(path)!r}, **options).fit(X)
            assert_same_fit(resumed, make(**options).fit(X))
            """
        )
        assert 3 <= int(done.stdout) < 12

    def test_nothing_else_in_the_folder(self, path):
        interrupted(make(checkpoint=path), corpus(), 3, Stop())
        assert [p.name for p in path.parent.iterdir()] == [path.name]

    def test_folder_that_does_not_exist(self, tmp_path):
        model = make().fit(corpus())
        before = pickle.loads(pickle.dumps(model))
        with pytest.raises(OSError, match="nowhere"):
            model.set_params(checkpoint=tmp_path / "nowhere" / "state").fit(corpus(30))
        assert_same_fit(model, before)

    @pytest.mark.parametrize("checkpoint", ["path", "string"])
    def test_model_with_a_checkpoint_can_be_saved(self, checkpoint, path, tmp_path):
        model = make(checkpoint=path if checkpoint == "path" else str(path)).fit(corpus())
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert_same_fit(loaded, model, names=SAVED)
        assert loaded.checkpoint is None or Path(loaded.checkpoint) == path
