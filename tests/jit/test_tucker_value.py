"""Values of a tensor's entries by a function: Tucker beside what is built in, other tensors, and dense HOOI."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

import semproj as sj
from semproj import SparseTensor, Tucker
from tests.reference.tucker import hooi, largest_angle, multiply
from tests.support import same_bits
from tests.support.interrupting import interrupted, seconds_after_ctrl_c
from tests.support.tensors import model_of, planted, sparse

DTYPES = [np.float32, np.float64]
# Of each number of modes: a shape, ranks, and a function that no parameter has.
CASES = {
    2: ((30, 25), (4, 4), lambda x, i, j: np.log1p(abs(x)) * (1 + i % 3) - 0.1 * j),
    3: ((40, 30, 5), (5, 4, 5), lambda x, i, j, k: np.log1p(abs(x)) / (1 + k) - 0.02 * ((i + j) % 7)),
    4: ((15, 14, 13, 12), (3, 2, 4, 3), lambda x, i, j, k, m: x * abs(x) + 0.1 * (i - j) - 0.05 * k * m),
    5: ((8, 7, 6, 5, 4), (2, 2, 2, 3, 2), lambda x, i, j, k, m, n: x + 0.1 * (i - j + k - m + n)),
    6: ((5, 4, 4, 5, 4, 3), (2, 2, 2, 3, 2, 3), lambda x, i, j, k, m, n, p: x * (1 + p) - 0.3 * i + j * k - m * n),
}


def counts(shape, dtype=np.float64, seed=0, density=0.4):
    """Whole numbers from 1 to 9 in some cells."""
    rng = np.random.default_rng(seed)
    return sparse(rng.integers(1, 10, shape) * (rng.random(shape) < density), dtype)


def by_hand(tensor, function):
    """A dense array of what the function returns, entry by entry."""
    out = np.zeros(tensor.shape)
    for cell, x in zip(tensor.coords.T.tolist(), tensor.values.tolist(), strict=True):
        out[tuple(cell)] = function(x, *cell)
    return out


def assert_same_model(a, b):
    assert same_bits(a.core_, b.core_)
    assert all(same_bits(*pair) for pair in zip(a.factors_, b.factors_, strict=True))
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-12)  # zeros are in other places of their sum


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("decorate", [lambda f: f, numba.njit])
@pytest.mark.parametrize("ranks", [(5, 4, 5), (5, 4, 2), (40, 30, 5)], ids=str)
def test_the_value_itself_is_the_built_in(ranks, decorate, dtype):
    """To the same bits; also where nothing is compressed."""
    tensor = sparse(planted((40, 30, 5), (5, 4, 5), noise=0.5, density=0.4), dtype)
    model = model_of(ranks, value=decorate(lambda x, i, j, k: x)).fit(tensor)
    assert model.core_.dtype == dtype
    assert_same_model(model, model_of(ranks).fit(tensor))


@pytest.mark.parametrize("n_modes", CASES)
def test_against_dense(n_modes):
    shape, ranks, function = CASES[n_modes]
    tensor = counts(shape)
    X = by_hand(tensor, function)
    expected = hooi(X, ranks, 200)
    model = model_of(ranks, value=function).fit(tensor)
    assert model.fit_ == pytest.approx(expected.fits[-1], abs=1e-8)
    assert abs(model.fit_ - model_of(ranks).fit(tensor).fit_) > 1e-4, "it is another tensor"
    for ours, theirs in zip(model.factors_, expected.factors, strict=True):
        assert largest_angle(ours, theirs) < 1e-3  # the root of what the fits may differ by
    core = multiply(X, [factor.T for factor in model.factors_])
    np.testing.assert_allclose(model.core_, core, atol=1e-10 * np.abs(core).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_modes", CASES)
def test_of_the_tensor_that_the_function_makes(n_modes, dtype):
    shape, ranks, function = CASES[n_modes]
    tensor = counts(shape, dtype)
    made = SparseTensor(tensor.coords, by_hand(tensor, function)[tuple(tensor.coords)].astype(dtype), shape)
    by_function = Tucker(ranks, random_state=0, value=function).fit(tensor).reconstruct(tensor.coords)
    expected = Tucker(ranks, random_state=0).fit(made).reconstruct(tensor.coords)
    # NumPy and Numba may take other logarithms, which differ in the last bit.
    error = np.linalg.norm(by_function - expected) / np.linalg.norm(expected)
    assert error < {np.float32: 1e-3, np.float64: 1e-9}[dtype]
    assert by_function.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("init", ["hosvd", "random"])
def test_ppmi(init, dtype):
    """Of pairs of words in contexts: the function looks up its margins. Many entries come to nothing."""
    tensor = counts((40, 30, 5), dtype, density=0.9)
    dense = tensor.to_dense().astype(np.float64)
    total = dense.sum()
    first, second, context = dense.sum(axis=(1, 2)), dense.sum(axis=(0, 2)), dense.sum(axis=(0, 1))

    @numba.njit
    def ppmi(x, i, j, k):
        return max(0.0, np.log(x * total**2 / (first[i] * second[j] * context[k])))

    with np.errstate(divide="ignore"):
        expected = np.maximum(0, np.log(dense * total**2 / np.einsum("i,j,k->ijk", first, second, context)))
    there = sparse(expected, dtype)
    assert 0.2 < there.nnz / tensor.nnz < 0.8
    model = model_of((5, 4, 5), value=ppmi, init=init, tol=1e-6).fit(tensor)
    other = model_of((5, 4, 5), init=init, tol=1e-6).fit(there)
    assert model.fit_ == pytest.approx(other.fit_, abs=1e-5 if dtype == np.float32 else 1e-9)
    cells = np.array(np.nonzero(dense))
    error = np.linalg.norm(model.reconstruct(cells) - other.reconstruct(cells))
    assert error < {np.float32: 1e-2, np.float64: 1e-6}[dtype] * np.linalg.norm(other.reconstruct(cells))


@pytest.mark.parametrize("ranks", [(5, 4, 5), (5, 4, 2), (40, 4, 4), (40, 30, 5)], ids=str)
def test_a_mask_drops_entries(ranks):
    """As if they had never been there, bit for bit; rows 0, 5, 10, ... have none left."""
    X = planted((40, 30, 5), (5, 4, 5), noise=0.5, density=0.4)
    masked = X.copy()
    masked[::5] = 0
    masked[:, :, 2][:, ::2] = 0
    model = model_of(ranks, tol=1e-6, value=lambda x, i, j, k: 0 if i % 5 == 0 or (k == 2 and j % 2 == 0) else x)
    model.fit(sparse(X))
    assert_same_model(model, model_of(ranks, tol=1e-6).fit(sparse(masked)))
    if ranks[0] < 40:
        assert not model.factors_[0][::5].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_for_any_number_of_threads(dtype):
    tensor = counts((300, 200, 5), dtype)
    function = CASES[3][2]
    one, *others = [
        Tucker((9, 8, 5), value=function, random_state=0, n_threads=n_threads).fit(tensor)
        for n_threads in (1, 2, 3)
    ]
    for other in others:
        assert_same_model(other, one)


def test_no_second_tensor(monkeypatch):
    """Only the values are new: the fit has the user's coordinates, and leaves the tensor alone."""
    from semproj import tucker

    seen = []

    class Sweeps(tucker._TuckerSweeps):
        def __init__(self, model, tensor, *more):
            seen.append(tensor)
            super().__init__(model, tensor, *more)

    monkeypatch.setattr(tucker, "_TuckerSweeps", Sweeps)
    tensor = counts((40, 30, 5))
    before = tensor.values.copy()
    Tucker((5, 4, 5), value=CASES[3][2], random_state=0).fit(tensor)
    assert seen[0].coords is tensor.coords
    assert seen[0].values is not tensor.values
    assert same_bits(tensor.values, before)


def test_memory_is_asked_for_the_values():
    tensor = counts((40, 30, 5))
    needed = []
    for value in (None, CASES[3][2]):
        with pytest.raises(ValueError, match="max_memory") as error:
            Tucker((5, 4, 5), value=value, max_memory=1).fit(tensor)
        needed.append(int(re.search(r"needs about (\d+)", str(error.value)).group(1)))
    assert needed[1] - needed[0] == tensor.values.nbytes
    plenty = model_of((5, 4, 5), value=CASES[3][2], tol=1e-6).fit(tensor)
    tight = model_of((5, 4, 5), value=CASES[3][2], tol=1e-6, max_memory=needed[1]).fit(tensor)
    assert tight.fit_ == pytest.approx(plenty.fit_, abs=1e-8)


class TestFoldIn:
    @pytest.mark.parametrize("n_modes", CASES)
    def test_rows_of_the_fit(self, n_modes):
        shape, ranks, function = CASES[n_modes]
        tensor = counts(shape)
        model = model_of(ranks, value=function).fit(tensor)
        for mode in range(n_modes):
            if ranks[mode] < shape[mode]:
                rows = model.fold_in(tensor, mode)
                np.testing.assert_allclose(rows, model.factors_[mode], atol=1e-4)

    def test_new_rows(self):
        """Called with the indices of the tensor that is given; an index whose entries are all left out has 0."""
        model = model_of((5, 4, 5), value=lambda x, i, j, k: x * (i % 4 < 3) + k).fit(counts((40, 30, 5)))
        model.value = lambda x, i, j, k: np.log(x) if i < 5 else 0.0
        new = counts((7, 30, 5), seed=3)
        made = sparse(np.where(np.arange(7)[:, None, None] < 5, np.log(np.maximum(1, new.to_dense())), 0))
        rows = model.fold_in(new)
        np.testing.assert_allclose(rows, model.set_params(value=None).fold_in(made), atol=1e-12)
        assert not rows[5:].any()
        assert rows[:5].any(axis=1).all()

    def test_errors_name_the_entry(self):
        model = model_of((5, 4, 5), value=lambda x, i, j, k: 1 / (x - 50)).fit(counts((40, 30, 5)))
        new = counts((7, 30, 5)).to_dense()
        new[6, 29, 4] = 50
        for n_threads in (1, 2):
            with pytest.raises(ValueError, match=r"^value: .* ZeroDivisionError: .* for entry \(6, 29, 4\)"):
                model.set_params(n_threads=n_threads).fold_in(sparse(new))


class TestCheckpoint:
    def test_goes_on_with_the_same_function(self, tmp_path):
        path, tensor = tmp_path / "state", counts((100, 90, 3))
        options = {"value": CASES[3][2], "tol": 0, "max_iter": 6}
        interrupted(model_of((25, 24, 3), checkpoint=path, **options), tensor, 3)
        resumed = model_of((25, 24, 3), checkpoint=path, **options).fit(tensor)
        assert_same_model(resumed, model_of((25, 24, 3), **options).fit(tensor))

    def test_refuses_another(self, tmp_path):
        path, tensor = tmp_path / "state", counts((40, 30, 5))
        model_of((5, 4, 5), checkpoint=path, value=CASES[3][2]).fit(tensor)
        with pytest.raises(ValueError, match=r"checkpoint: .* belongs to another fit \(it differs in tensor\)"):
            model_of((5, 4, 5), checkpoint=path, value=lambda x, i, j, k: x).fit(tensor)


def damped(x, i, j, k):
    return x / (1 + k)


@pytest.mark.parametrize("ranks", [(5, 4, 5), (5, 4, 2)], ids=str)
def test_saved(ranks, tmp_path):
    path, tensor = tmp_path / "model", counts((40, 30, 5))
    model = Tucker(ranks, value=damped, random_state=0).fit(tensor)
    model.save(path)
    with pytest.raises(
        ValueError, match=r"^functions: .* as its value, 'damped'; .* functions=\{'value': damped\}"
    ):
        sj.load(path)
    loaded = sj.load(path, functions={"value": damped})
    assert same_bits(loaded.core_, model.core_)
    assert same_bits(loaded.fold_in(tensor), model.fold_in(tensor))
    assert loaded.value is damped


def raising(x, i, j, k):
    if i == 7:
        raise IndexError("too far")
    return x


BAD = {
    "of the value alone": (lambda x: x, TypeError, r"value\(x, i, j, k\)"),
    "of two indices": (lambda x, i, j: x, TypeError, r"value\(x, i, j, k\)"),
    "text": (lambda x, i, j, k: "much", TypeError, r"value\(x, i, j, k\)"),
    "an object": (lambda x, i, j, k: str(x).encode(), TypeError, r"value\(x, i, j, k\)"),
    "a name": ("log", TypeError, "expected a function, got 'log'"),
    "raises": (raising, ValueError, r"IndexError: too far for entry \(7, \d+, \d\)"),
    "NaN": (lambda x, i, j, k: np.nan if i == 7 else x, ValueError, r"\(7, \d+, \d\)"),
    "infinite": (lambda x, i, j, k: np.inf if k == 3 else x, ValueError, r"\(\d+, \d+, 3\)"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_function_is_named_and_the_previous_fit_kept(kind):
    function, error, words = BAD[kind]
    tensor = counts((40, 30, 5))
    model = model_of((5, 4, 5)).fit(tensor)
    core, factors = model.core_, model.factors_
    for n_threads in (1, 3):
        with pytest.raises(error, match=rf"(?s)^value: .*{words}"):
            model.set_params(value=function, n_threads=n_threads).fit(tensor)
    assert model.core_ is core
    assert model.factors_ is factors


def test_a_list_outside_is_refused():
    weights = [1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(TypeError, match=r"^value: "):
        Tucker((5, 4, 5), value=lambda x, i, j, k: weights[k] * x).fit(counts((40, 30, 5)))


def test_nothing_is_left():
    with pytest.raises(ValueError, match=r"^tensor: has no non-zero entries, by the function that is value"):
        Tucker((5, 4, 5), value=lambda x, i, j, k: 0).fit(counts((40, 30, 5)))


def test_mrlsa():
    """The third index is the relation's; `value` sees weights."""
    words = ["joy", "gladness", "delight", "sorrow", "sadness", "table"]
    synonyms = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]]
    antonyms = [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    thesaurus = sj.Thesaurus(words, words[:4], {"synonym": synonyms, "antonym": antonyms})
    options = {"n_components": 3, "polarity": 0, "tol": 0, "max_iter": 200, "random_state": 0}
    plain = sj.MRLSA(**options).fit(thesaurus)
    same = sj.MRLSA(**options, value=lambda x, i, j, k: x).fit(thesaurus)
    assert same_bits(same.relation_matrices_, plain.relation_matrices_)
    scaled = sj.MRLSA(**options, scales={"antonym": 0.25}, row_scaling=0).fit(thesaurus)
    by_value = sj.MRLSA(**options, value=lambda x, i, j, k: x * 0.25 if k == 1 else x, row_scaling=0).fit(
        thesaurus
    )
    np.testing.assert_allclose(by_value.relation_matrices_, scaled.relation_matrices_, atol=1e-6)
    with pytest.raises(TypeError, match=r"^value: "):
        plain.set_params(value=lambda x: x).fit(thesaurus)
    assert same_bits(same.relation_matrices_, plain.relation_matrices_)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_a_slow_function(n_threads):
    @numba.njit
    def slow(x, i, j, k):
        total = 0.0
        for n in range(100_000):
            total += np.sin(x * n + i)
        return total

    model = Tucker((2, 2, 2), value=slow, n_threads=n_threads, random_state=0).fit(counts((3, 3, 2)))
    core, tensor = model.core_, counts((100, 80, 3))  # of 10 seconds
    assert seconds_after_ctrl_c(lambda: model.fit(tensor)) < 1
    assert model.core_ is core
