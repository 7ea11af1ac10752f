"""Checkpoints of WTMF: resumed to the same bits, refused when damaged, never continued with other data."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import wtmf as reference
from tests.support.factorizing import assert_same_fit, corpus, history, make, relative_error
from tests.support.interrupting import Stop, interrupted
from tests.support.projecting import with_indices

DTYPES = [np.float32, np.float64]


class TestCheckpoint:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "state"

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

    def test_wide_indices_are_the_same_data(self, path):
        X = corpus()
        interrupted(make(checkpoint=path), X, 4, Stop())
        assert_same_fit(make(checkpoint=path).fit(with_indices(X, np.int64)), make().fit(X))

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
