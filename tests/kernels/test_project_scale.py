"""The sparse projection on long rows, on any number of threads and with every instruction set."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import BM25, LogTfIdf, _core
from semproj.kernels import Projection, project
from tests.reference.project import project as reference
from tests.support import random_counts, random_rows, same_bits
from tests.support.projecting import (
    STORAGES,
    TERMS,
    TOLERANCE,
    assert_close,
    gaussian,
    relative_errors,
)

LONG = [0, 3, 40_001, 131_077, 2]


class TestLongRows:
    @pytest.mark.parametrize("dtype", [np.float32, np.int32])
    def test_int8_sums_do_not_overflow(self, dtype):
        """All extreme products have one sign: 131,077 x 127 x 127 x 128 would overflow 32 bits many times."""
        X = random_rows(LONG, 300, dtype=dtype)
        X.data[:] = 5
        P = np.abs(gaussian(300, 70)) + 3.0
        Z = project(X, Projection(P, "int8"))
        assert relative_errors(Z, reference(X, P)).max() < 5e-3
        Z = project(-X, Projection(P, "int8"))
        assert relative_errors(Z, -reference(X, P)).max() < 5e-3

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("weighting", [None, LogTfIdf(), BM25()], ids=lambda w: type(w).__name__)
    def test_rows_beyond_one_chunk(self, storage, weighting):
        """2^20 entries are converted at a time: rows of one less, exactly, one more, and several pieces."""
        chunk = 1 << 20
        lengths = [5, chunk - 1, chunk, 0, chunk + 1, 2 * chunk, 2 * chunk + 3, 4]
        n_terms = 2 * chunk + 9
        rng = np.random.default_rng(0)
        order = rng.permutation(n_terms).astype(np.int32)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        data = rng.integers(1, 6, indptr[-1]).astype(np.int32)
        data[indptr[-2] - chunk // 2 :] = 100  # pieces of a row differ in size, as do their quantisation steps
        X = sp.csr_matrix((data, np.concatenate([order[:n] for n in lengths]), indptr), shape=(8, n_terms))
        P = gaussian(n_terms, 3) + 1.0
        if weighting is not None:
            term_weight = rng.uniform(0.5, 2, n_terms)
            weighting.fit(sp.csr_matrix((3, n_terms), dtype=np.int32))
            weighting.term_weight_ = term_weight
        weighted = X.astype(np.float64) if weighting is None else weighting.transform(X.astype(np.float64))
        Z = project(X, Projection(P, storage), weighting=weighting)
        tolerance = {"float64": 1e-11, "float32": 2e-4, "float16": 5e-4, "int8": 3e-2}[storage]
        assert relative_errors(Z, weighted @ P).max() < tolerance

    def test_accumulate_over_pieces(self):
        X = random_rows([(1 << 21) + 5, 3], 20, dtype=np.int32)
        P = np.abs(gaussian(20, 3))
        out = np.full((2, 3), 1e6)
        project(X, P, out=out, accumulate=True)
        np.testing.assert_allclose(out, 1e6 + reference(X, P), rtol=1e-12)


class TestSameBits:
    """A row's bits depend neither on the number of threads nor on the other rows."""

    def setup_method(self):
        rng = np.random.default_rng(2)
        self.X = random_rows(rng.integers(0, 200, 3000).tolist(), TERMS, dtype=np.float32)

    @pytest.mark.parametrize("storage", STORAGES)
    @pytest.mark.parametrize("dtype", [np.float32, np.int32])
    @pytest.mark.parametrize("d", [20, 300])
    def test_any_number_of_threads(self, storage, dtype, d):
        X = self.X if dtype == np.float32 else random_counts(3000, TERMS, 0.1)
        P = gaussian(TERMS, d)
        weighting = None if dtype == np.float32 else LogTfIdf().fit(X)
        results = [
            project(X, Projection(P, storage, n), weighting=weighting, normalize=True, n_threads=n)
            for n in (1, 2, 5)
        ]
        assert same_bits(results[0], results[1])
        assert same_bits(results[0], results[2])

    @pytest.mark.parametrize("storage", STORAGES)
    def test_any_batch(self, storage):
        P = Projection(gaussian(TERMS, 100), storage)
        whole = project(self.X, P, n_threads=2)
        for rows in (slice(0, 1), slice(7, 12), slice(1234, 2900), slice(2999, 3000)):
            assert same_bits(whole[rows], project(self.X[rows], P))

    def test_again(self):
        P = Projection(gaussian(TERMS, 100, dtype=np.float32))
        first = project(self.X, P, n_threads=2)
        assert all(same_bits(first, project(self.X, P, n_threads=2)) for _ in range(20))


VARIANT_SCRIPT = """
    import json
    import numpy as np
    from semproj import LogTfIdf, _core
    from semproj.kernels import Projection, project
    from tests.support import random_counts, random_rows
    from tests.support.projecting import LENGTHS, TERMS, gaussian, relative_errors
    from tests.kernels.test_project_scale import LONG, reference

    worst = {}
    rows, counts = random_rows(LENGTHS, TERMS), random_counts(60, TERMS, 0.1)
    long = random_rows(LONG, 300)
    long.data[:] = 5
    weighting = LogTfIdf().fit(counts)
    weighted = weighting.transform(counts.astype(np.float64))
    for storage in ("float64", "float32", "float16", "int8"):
        errors = []
        for d in (15, 16, 17, 32, 33, 48, 63, 64, 65, 100):
            P = gaussian(TERMS, d)
            packed = Projection(P, storage)
            few = 0.5 if d < 60 else 1
            errors.append(few * relative_errors(project(rows, packed), reference(rows, P)).max())
            Z = project(counts, packed, weighting=weighting)
            errors.append(few * relative_errors(Z, reference(weighted, P)).max())
            out = np.ones((len(LENGTHS), d + 3), packed.dtype)
            project(rows, packed, out=out[:, :d], accumulate=True)
            expected = reference(rows, P)
            errors.append(np.linalg.norm(out[:, :d] - 1 - expected) / np.linalg.norm(expected))
            assert (out[:, d:] == 1).all()
        P = np.abs(gaussian(300, 70)) + 3.0
        error = relative_errors(project(long, Projection(P, storage)), reference(long, P)).max()
        errors.append(error if storage == "int8" else error / 100)  # 131,077 terms of one sign in float32
        two = [project(counts, Projection(gaussian(TERMS, 100), storage), n_threads=n).tobytes() for n in (1, 5)]
        assert two[0] == two[1]
        worst[storage] = float(max(errors))
    print(json.dumps({"isa": _core.active_isa(), "worst": worst}))
"""


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(isa, run_python):
    if isa not in _core.supported_isas():
        done = run_python("import semproj", check=False, SEMPROJ_ISA=isa)
        assert done.returncode != 0
        assert f"SEMPROJ_ISA={isa}: this CPU cannot run it" in done.stderr
        return
    result = json.loads(run_python(VARIANT_SCRIPT, SEMPROJ_ISA=isa).stdout)
    assert result["isa"] == isa
    for storage, error in result["worst"].items():
        assert error < TOLERANCE[storage], storage


def test_unknown_instruction_set(run_python):
    done = run_python("import semproj", check=False, SEMPROJ_ISA="nonsense")
    assert done.returncode != 0
    assert "SEMPROJ_ISA=nonsense: expected baseline, avx2 or avx512" in done.stderr


@pytest.mark.slow
def test_more_than_two_to_the_31_nonzeros(tmp_path):
    """Offsets beyond 2^31: the entries before them lie in a hole of a sparse file and are never read.

    Only the binding sees such a matrix here; scipy would walk the whole of it.
    """
    hole, tail = 2**31 + 1000, 50
    rng = np.random.default_rng(0)

    def holey(name, dtype, values):
        path = tmp_path / name
        with open(path, "wb") as file:
            file.truncate((hole + tail) * np.dtype(dtype).itemsize)
        array = np.memmap(path, dtype, "r+")
        array[hole:] = values
        return array

    columns, values = rng.integers(0, 30, tail), rng.standard_normal(tail)
    indices = holey("indices", np.int32, columns)
    data = holey("data", np.float32, values)
    # indptr[0] is the hole's end: rows are [hole, hole + 20), nothing, [hole + 20, hole + 50).
    indptr = np.array([hole, hole + 20, hole + 20, hole + tail], np.int64)
    P = gaussian(30, 70)
    expected = reference(sp.csr_matrix((values, columns, indptr - hole), shape=(3, 30)), P)
    for storage in ("float32", "float16", "int8"):
        out = np.zeros((3, 70), np.float32)
        packed = _core.PackedProjection(P, storage, 2)
        _core.project(_core.Csr(indptr, indices, data, 30), packed, out, None, False, False, 2)
        assert_close(out, expected, storage)
