"""Dense arguments at any address and in any byte order: the bits of ordinary arrays, or an error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import semproj as sj
from semproj import _core, retrieval
from semproj.kernels import STORAGES, Projection, project, project_posteriors, weighted_row_solve
from tests.contract.estimators import ESTIMATORS
from tests.support import random_counts, same_bits
from tests.support.fitted import same_values
from tests.support.layouts import every_second, frozen, misaligned, swapped

X = random_counts(20, 40, 0.2, dtype=np.float32)
LAYOUTS = [misaligned, swapped, every_second, frozen, lambda a: swapped(every_second(a))]


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).random(shape).astype(dtype)


def words(laid):
    theta, phi = numbers(20, 3), numbers(3, 40)
    return project_posteriors(laid(theta), laid(theta), laid(phi), laid(phi), X, X, 5.0, start=laid(theta - 0.5))


DENSE = {
    **{f"project, {s}": lambda laid, s=s: project(X, Projection(laid(numbers(40, 7)), s)) for s in STORAGES},
    "project, an array": lambda laid: project(X, laid(numbers(40, 7))),
    "project, float64": lambda laid: project(X, laid(numbers(40, 7, dtype=np.float64))),
    "project, dense rows": lambda laid: project(laid(X.toarray()), numbers(40, 7)),
    "weighted_row_solve": lambda laid: weighted_row_solve(X, laid(numbers(40, 5)), missing_weight=0.1, reg=1.0),
    "project_posteriors": words,
    "top_k": lambda laid: retrieval.top_k(laid(numbers(9, 5)), laid(numbers(30, 5, seed=1)), k=3),
    "true_ranks": lambda laid: retrieval.true_ranks(laid(numbers(9, 5)), laid(numbers(9, 5, seed=1)), metric="l1"),
    "gold_ranks": lambda laid: retrieval.gold_ranks(
        laid(numbers(9, 5)), laid(numbers(30, 5, seed=1)), laid(np.arange(9))
    ),
    "SparseTensor": lambda laid: vars(sj.SparseTensor(laid(np.array([[0, 2, 1], [1, 1, 0]])), laid(numbers(3)))),
    "CosineSlice": lambda laid: sj.CosineSlice(laid(numbers(9, 5))).fingerprint(),
    "ContextSpace": lambda laid: sj.ContextSpace([*"abcdefghi"], laid(numbers(9, 5))).vectors,
    "learn_metric": lambda laid: sj.learn_metric(
        laid(numbers(9, 3)), laid(np.arange(8)), laid(np.arange(1, 9)), laid(numbers(8))
    ),
    "NearestNeighborClassifier": lambda laid: (
        sj.NearestNeighborClassifier().fit(laid(numbers(9, 5)), np.arange(9)).predict(laid(numbers(4, 5)))
    ),
}


@pytest.mark.parametrize("name", DENSE)
def test_any_layout_gives_the_same_bits(name):
    expected = DENSE[name](lambda a: a)
    for laid in LAYOUTS:
        assert same_values(DENSE[name](laid), expected), laid


@pytest.mark.parametrize("estimator", ESTIMATORS[:9], ids=str)
def test_dense_rows_of_estimators(estimator):
    rows = X.toarray()
    model = clone(estimator).set_params(n_threads=1)
    expected = model.fit_transform(rows)
    for laid in LAYOUTS:
        assert same_values(model.fit_transform(laid(rows)), expected), laid


def test_misaligned_outputs_are_refused():
    out = misaligned(np.zeros((20, 7), np.float32))
    with pytest.raises(ValueError, match="out: is misaligned"):
        project(X, numbers(40, 7), out=out)
    with pytest.raises(ValueError, match="out: is misaligned"):
        weighted_row_solve(X, numbers(40, 7), missing_weight=0.1, reg=1.0, out=out)
    with pytest.raises(TypeError, match="out: expected dtype float32, got >f4"):
        project(X, numbers(40, 7), out=swapped(np.zeros((20, 7), np.float32)))
    assert not out.any()


class TestBindings:
    """The second check: C++ reads no array at an address that its numbers cannot have."""

    def csr(self, **change):
        parts = {"indptr": X.indptr.astype(np.int64), "indices": X.indices, "data": X.data}
        return _core.Csr(**{name: change.get(name, lambda a: a)(part) for name, part in parts.items()}, n_cols=40)

    @pytest.mark.parametrize("part", ["indptr", "indices", "data"])
    def test_rows(self, part):
        packed, out = _core.PackedProjection(numbers(40, 7), "float32", 1), np.empty((20, 7), np.float32)
        with pytest.raises(ValueError, match=f"X.{part}: misaligned memory"):
            _core.project(self.csr(**{part: misaligned}), packed, out, None, False, False, 1)

    def test_matrices(self):
        with pytest.raises(ValueError, match="projection: misaligned memory"):
            _core.PackedProjection(misaligned(numbers(40, 7)), "float32", 1)
        packed = _core.PackedProjection(numbers(40, 7), "float32", 1)
        with pytest.raises(ValueError, match="out: misaligned memory"):
            _core.project(self.csr(), packed, misaligned(np.zeros((20, 7), np.float32)), None, False, False, 1)
        with pytest.raises(ValueError, match="factors: misaligned memory"):
            _core.table_gram(misaligned(numbers(40, 7)), 1)

    def test_empty_arrays_are_nowhere(self):
        packed = _core.PackedProjection(misaligned(numbers(0, 7)), "float32", 1)
        assert (packed.n_terms, packed.n_components) == (0, 7)


def test_files_whose_arrays_are_misaligned(tmp_path):
    """The format allows any length of the header; ours is a multiple of 8."""
    path = tmp_path / "model.safetensors"
    model = sj.WTMF(3, reg=1.0, max_iter=2, random_state=0).fit(X)
    model.save(path)
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    path.write_bytes((length + 1).to_bytes(8, "little") + raw[8 : 8 + length] + b" " + raw[8 + length :])
    assert same_bits(sj.load(path).transform(X), model.transform(X))
