"""How Tucker's fits stop, go on from a file, and keep to a bound of memory; and saved models."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import semproj as sj
from semproj import SparseTensor, Tucker
from semproj.tucker import _hooi
from tests.support import same_bits
from tests.support.tensors import model_of, planted, sparse


class TestCheckpoint:
    def setup_method(self):
        self.X = sparse(planted((100, 90, 3), (25, 24, 3), noise=2.0, density=0.3))

    def model(self, path, **parameters):
        return Tucker(
            (25, 24, 3), **{"tol": 0, "max_iter": 7, "random_state": 0, "checkpoint": path, **parameters}
        )

    @pytest.mark.parametrize(
        ("change", "what"),
        [({"ranks": (25, 23, 3)}, "ranks"), ({"random_state": 1}, "random_state"), ({"init": "random"}, "init")],
        ids=str,
    )
    def test_of_another_fit(self, tmp_path, change, what):
        path = tmp_path / "state"
        self.model(path, max_iter=1).fit(self.X)
        with pytest.raises(ValueError, match=rf"checkpoint: .* belongs to another fit \(it differs in {what}\)"):
            self.model(path).set_params(**change).fit(self.X)

    @pytest.mark.parametrize(
        ("seed", "same", "other"),
        [
            (1, np.int64(1), np.int64(2)),
            (np.uint64(2**63), 2**63, 2),
            (np.random.RandomState(1), np.random.RandomState(1), np.random.RandomState(2)),
            (np.random.default_rng(1), np.random.default_rng(1), 1),
            (None, None, 1),
        ],
        ids=["int", "uint64", "RandomState", "Generator", "None"],
    )
    def test_seeds(self, tmp_path, seed, same, other):
        """By the key of the random numbers, whatever it is given as."""
        path = tmp_path / "state"
        start = {"init": "random", "max_iter": 3}
        whole = self.model(None, random_state=copy.deepcopy(seed), **start).fit(self.X)
        self.model(path, random_state=seed, **{**start, "max_iter": 1}).fit(self.X)
        with pytest.raises(ValueError, match=r"it differs in random_state"):
            self.model(path, random_state=other, **start).fit(self.X)
        resumed = self.model(path, random_state=same, **start).fit(self.X)
        assert resumed.n_iter_ == 3
        assert same_bits(resumed.core_, whole.core_) == (seed is not None)

    def test_without_a_seed(self, tmp_path):
        """Directions that are filled in later come from the key of the fit that began."""
        X = sparse(planted((40, 30, 4), (3, 3, 3)))
        path = tmp_path / "state"
        options = {"random_state": None, "tol": 0, "checkpoint": path}
        Tucker((6, 7, 4), max_iter=1, **options).fit(X)
        before = path.read_bytes()
        fits = []
        for _ in range(2):
            path.write_bytes(before)
            fits.append(Tucker((6, 7, 4), max_iter=2, **options).fit(X))
        assert all(same_bits(a, b) for a, b in zip(fits[0].factors_, fits[1].factors_, strict=True))

    def test_a_start_in_lists(self, tmp_path):
        rng = np.random.default_rng(0)
        start = [rng.standard_normal((100, 25)), rng.standard_normal((90, 24)), None]
        lists = [None if x is None else x.tolist() for x in start]
        path = tmp_path / "state"
        self.model(path, init=lists, max_iter=1).fit(self.X)
        resumed = self.model(path, init=start, max_iter=2).fit(self.X)
        assert same_bits(resumed.core_, self.model(None, init=lists, max_iter=2).fit(self.X).core_)
        lists[1][0][0] += 1
        with pytest.raises(ValueError, match=r"it differs in init"):
            self.model(path, init=lists).fit(self.X)


class TestMemory:
    def setup_method(self):
        self.X = sparse(planted((3000, 200, 3), (6, 7, 3), noise=1.0, density=0.02))

    @pytest.mark.parametrize("exactly", [True, False])
    def test_same_answer_in_less_memory(self, exactly, monkeypatch):
        """In several blocks, by solving modes or by steps."""
        if not exactly:
            for name in ("SMALL", "FEW", "EXACT"):
                monkeypatch.setattr(_hooi, name, 0)
        plenty = model_of((6, 7, 3), tol=1e-9).fit(self.X)
        with pytest.raises(ValueError, match="max_memory: 1000 bytes are too few") as error:
            model_of((6, 7, 3), max_memory=1000).fit(self.X)
        needed = int(re.search(r"needs about (\d+)", str(error.value)).group(1))
        tight = model_of((6, 7, 3), tol=1e-9, max_memory=needed).fit(self.X)
        assert tight.fit_ == pytest.approx(plenty.fit_, abs=1e-8)
        with pytest.raises(ValueError, match="max_memory"):
            model_of((6, 7, 3), max_memory=needed - 1).fit(self.X)

    def test_many_slices_need_memory_for_each_row(self):
        rng = np.random.default_rng(0)
        shape, nnz = (2000, 2000, 500), 2000
        X = SparseTensor(np.stack([rng.integers(0, n, nnz) for n in shape]), rng.random(nnz), shape)
        rows = [len(np.unique(X.coords[mode])) for mode in (0, 1)]
        with pytest.raises(ValueError, match="max_memory") as error:
            Tucker((2, 2, 500), init="random", max_memory=1).fit(X)
        assert int(re.search(r"needs about (\d+)", str(error.value)).group(1)) > 8 * 500 * sum(rows)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("start", "shape", "nnz", "ranks", "bound"),
        [
            ("hosvd", (60_000, 50_000, 3), 600_000, (60, 60, 3), 260),
            ("random", (60_000, 50_000, 3), 600_000, (60, 60, 3), 260),
            ("random", (20_000, 20_000, 500), 20_000, (2, 2, 500), 230),
        ],
        ids=["hosvd", "random", "many slices"],
    )
    def test_bound_holds(self, run_python, start, shape, nnz, ranks, bound):
        """Peak memory of a process, above what the input and a first small fit already took."""
        done = run_python(f"""
            import resource
            import numpy as np, semproj as sj
            rng = np.random.default_rng(0)
            shape, nnz = {shape}, {nnz}
            coords = np.stack([rng.integers(0, n, nnz) for n in shape])
            X = sj.SparseTensor(coords, rng.random(nnz, dtype=np.float32), shape)
            small = sj.SparseTensor(coords[:, :99] % np.c_[[90, 90, 3]], X.values[:99], (90, 90, 3))
            sj.Tucker((2, 2, 3), random_state=0, max_iter=2).fit(small)
            peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            before, bound = peak(), {bound} << 20
            sj.Tucker({ranks}, init="{start}", max_memory=bound, max_iter=3, random_state=0).fit(X)
            print((peak() - before) / bound)
        """)
        assert float(done.stdout) < 1.1


class TestSaved:
    def test_comes_back(self, tmp_path):
        X = sparse(planted((30, 20, 4), (4, 5, 4), noise=0.3), np.float32)
        model = Tucker((4, 5, 4), callback=lambda progress: False, random_state=0).fit(X)
        model.save(tmp_path / "model")
        loaded = sj.load(tmp_path / "model")
        assert loaded.get_params() == {**model.get_params(), "callback": None}
        assert (loaded.fit_, loaded.n_iter_, loaded.shape_) == (model.fit_, model.n_iter_, model.shape_)
        assert same_bits(loaded.core_, model.core_)
        assert same_bits(loaded.objective_, model.objective_)
        assert all(same_bits(a, b) for a, b in zip(loaded.factors_, model.factors_, strict=True))
        cells = [[0, 3], [1, 2], [3, 0]]
        assert same_bits(loaded.reconstruct(cells), model.reconstruct(cells))
