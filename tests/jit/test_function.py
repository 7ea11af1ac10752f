"""Functions of users: compiled, checked, kept on disk, and remembered by saved models."""

from __future__ import annotations

import textwrap

import numba
import numpy as np
import pytest

import semproj as sj
from semproj._common.functions import fingerprint
from semproj.jit._cache import digest
from semproj.jit._function import Argument, check_function
from semproj.jit.cells import map_cells

ARGUMENT = Argument("confidence", "confidence(value)", (1.0,))
seen: list[float] = []
SCALE = 3.0


def scaled(value):
    return SCALE * value


@numba.njit
def helper(value):
    return value + 1


def made(k):
    def function(value):
        return k * value

    return function


class TestCheck:
    @pytest.mark.parametrize("function", [scaled, helper, lambda v: v > 2, lambda v: 3, lambda v, w=2.0: v * w])
    def test_good_ones(self, function):
        check_function(function, ARGUMENT)

    def test_nothing_is_called(self):
        check_function(lambda value: 1 / (value - 1), ARGUMENT)

    @pytest.mark.parametrize("function", [None, 3, "log"])
    def test_no_function(self, function):
        with pytest.raises(TypeError, match=r"^confidence: expected a function, got"):
            check_function(function, ARGUMENT)

    @pytest.mark.parametrize(
        ("function", "said"),
        [
            (lambda: 1.0, "too many positional arguments"),
            (lambda value, other: value, "missing a required argument: 'other'"),
            (lambda value: seen.append(value) or value, "seen"),
            (lambda value: "text", ""),
            (lambda value: None, ""),
            (lambda value: (value, value), ""),
            (lambda value: value + 1j, ""),
            (lambda value: print(open), "open"),
            (lambda value: unknown_name, "unknown_name"),  # noqa: F821
        ],
    )
    def test_bad_ones_are_told_in_two_lines(self, function, said):
        with pytest.raises(
            TypeError, match=r"^confidence: Numba cannot compile the function; it is called"
        ) as raised:
            check_function(function, ARGUMENT)
        first, *more = str(raised.value).splitlines()
        assert first.endswith("confidence(value)")
        assert len(more) <= 2
        assert said in " ".join(more)
        assert "\x1b" not in str(raised.value)


class TestDigest:
    """What tells one loop on disk from another."""

    def test_same_function_made_twice(self):
        assert digest(made(2.0)) == digest(made(2.0)) is not None

    def test_what_it_refers_to_counts(self, monkeypatch):
        digests = [digest(made(k)) for k in (2, 2.0, 3.0, True, (1, 2), np.ones(2), np.ones(3))]
        assert len(set(digests)) == len(digests)
        before = digest(scaled)
        monkeypatch.setitem(globals(), "SCALE", 4.0)
        assert digest(scaled) != before

    def test_how_it_is_compiled_counts(self):
        assert len({digest(scaled), digest(numba.njit(scaled)), digest(numba.njit(fastmath=True)(scaled))}) == 3

    def test_sets_of_options_have_one_order(self, run_python):
        """That of Python's sets is another in each process, unless it is told a seed."""
        script = """
            import numba
            from semproj.jit._cache import digest
            from tests.jit.test_function import scaled
            print(digest(numba.njit(fastmath={"reassoc", "contract", "nnan", "arcp"})(scaled)))
        """
        assert len({run_python(script, PYTHONHASHSEED=str(seed)).stdout for seed in range(4)}) == 1

    def test_functions_inside_count(self):
        assert digest(lambda value: helper(value)) is not None
        # Symbols of two of these may be the same.
        inner = [numba.njit(made(k)) for k in (2.0, 3.0)]
        assert [digest(lambda value, f=f: f(value)) for f in inner] == [
            None,
            None,
        ]  # their symbols may be the same

    @pytest.mark.parametrize("value", [[1], {1: 2}, np.ones(1 << 20), object(), pytest])
    def test_what_may_change_is_not_kept(self, value):
        assert digest(made(value)) is None


SCRIPT = textwrap.dedent("""
    import time, numpy as np, semproj as sj
    from semproj.jit._function import Argument
    from semproj.jit.cells import map_cells
    from tests.jit.test_function import made, scaled
    def mapped(function):
        return map_cells(function, Argument("f", "f(x)"), [np.arange(5.0)], np.empty(5), 1, str).tolist()
    warm = mapped(lambda x: x - 1)
    """)


def test_loops_are_found_again_in_another_process(run_python, tmp_path):
    script = SCRIPT + "print([mapped(made(k)) for k in %s] + [mapped(scaled)])"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = run_python(script % "(2.0, 3.0)", **environment).stdout
    assert list(tmp_path.rglob("*.nbi"))
    again = run_python((script % "(5.0, 3.0, 2.0)").replace("warm =", "pass;"), **environment).stdout
    assert eval(first) == [[0, 2, 4, 6, 8], [0, 3, 6, 9, 12], [0, 3, 6, 9, 12]]
    assert eval(again) == [[0, 5, 10, 15, 20], [0, 3, 6, 9, 12], [0, 2, 4, 6, 8], [0, 3, 6, 9, 12]]
    counted = SCRIPT + "f = made(3.0)\nmapped(f)\nfrom semproj.jit import cells\nprint(cells._one(f)._cache_hits)"
    assert "1" in run_python(counted, **environment).stdout


def test_a_damaged_file_is_compiled_again(run_python, tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    script = SCRIPT + "print(mapped(scaled))"
    expected = run_python(script, **environment).stdout
    files = [*tmp_path.rglob("*.nbc"), *tmp_path.rglob("*.nbi")]
    assert len(files) >= 4
    for file in files:
        file.write_bytes(file.read_bytes()[:20])
    assert run_python(script, **environment).stdout == expected


def test_no_folder_to_keep_loops_in(run_python, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {"HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "NUMBA_CACHE_DIR": ""}
    assert (
        run_python(SCRIPT + "print(mapped(scaled))", **environment).stdout.strip() == "[0.0, 3.0, 6.0, 9.0, 12.0]"
    )


def double(count, document_frequency, n_documents, length):
    """Twice the count."""
    return 2.0 * count  # whatever else


class TestSaved:
    @pytest.fixture
    def path(self, tmp_path):
        sj.CustomWeighting(double).fit(np.eye(3)).save(tmp_path / "w")
        return tmp_path / "w"

    def test_comes_back(self, path):
        loaded = sj.load(path, functions={"weight": double})
        assert loaded.weight is double
        assert loaded.transform(np.eye(3)).toarray().tolist() == (2 * np.eye(3)).tolist()
        assert sj.load(path, functions={"weight": numba.njit(double)}).weight is not double

    def test_is_asked_for(self, path):
        message = r"^functions: .* as its weight, 'double'; .* expected functions=\{'weight': double\}"
        for given in (None, {}):
            with pytest.raises(ValueError, match=message):
                sj.load(path, functions=given)

    def test_another_one(self, path):
        def other(count, document_frequency, n_documents, length):
            return 3.0 * count

        with pytest.raises(ValueError, match=r"^functions: 'weight' is not the function .* 'double': its source"):
            sj.load(path, functions={"weight": other})
        assert sj.load(path, functions={"weight": other}, verify=False).weight is other

    def test_too_many_and_no_functions(self, path):
        with pytest.raises(ValueError, match=r"^functions: the model has none named 'metric'; it has 'weight'"):
            sj.load(path, functions={"weight": double, "metric": double})
        with pytest.raises(TypeError, match=r"^functions: expected a function as 'weight', got 3"):
            sj.load(path, functions={"weight": 3})
        with pytest.raises(TypeError, match=r"^functions: expected a dictionary"):
            sj.load(path, functions=[double])

    def test_inside_another_model(self, tmp_path):
        counter = sj.TermCounter().fit(texts := ["a b", "b c c", "a c"])
        weighting = sj.CustomWeighting(double)
        W = weighting.fit_transform(counter.transform(texts))
        encoder = sj.Encoder(counter, weighting, sj.LSA(2, random_state=0).fit(W))
        encoder.save(tmp_path / "e")
        for name in ("weight", "weighting/weight"):
            loaded = sj.load(tmp_path / "e", functions={name: double})
            np.testing.assert_array_equal(loaded.encode(texts), encoder.encode(texts))
        with pytest.raises(ValueError, match="as its weighting/weight, 'double'"):
            sj.load(tmp_path / "e")

    def test_formatting_does_not_count(self):
        def double(count, document_frequency, n_documents, length):
            # A comment
            return 2.0 * (count)

        plain = globals()["double"]
        assert fingerprint(double) == fingerprint(plain) == fingerprint(numba.njit(plain)) is not None
        assert fingerprint(made(2)) != fingerprint(made(3))
        assert fingerprint(eval("lambda x: x")) is None


def test_a_loop_is_compiled_once_for_each_type():
    from semproj.jit import cells

    out = np.empty(3)
    for dtype in (np.float32, np.float64, np.float32):
        map_cells(scaled, ARGUMENT, [np.ones(3, dtype)], out, 1, str)
    assert len(cells._one(scaled).overloads) == 2
