"""C++ includes go one way: core <- kernels <- text, lm, models <- bindings."""

from __future__ import annotations

import pytest

from tests.repo import tree

# Each room, and the other rooms that its files may include.
ROOMS = {
    "core": set(),
    "kernels/simd": set(),
    "kernels": {"core", "kernels/simd"},
    "text": {"core", "kernels", "kernels/simd"},
    "lm": {"core", "kernels", "kernels/simd", "text"},
    "models": {"core", "kernels", "kernels/simd"},
    "bindings": {"core", "kernels", "kernels/simd", "text", "lm", "models"},
}
# Only headers without functions: kernels/simd is compiled once for each instruction set, and of an inline function
# that all of them have the linker keeps any one, perhaps that for a CPU which this machine is not.
SIMD_HEADERS = {"cstddef", "cstdint", "immintrin.h", "arm_neon.h"}


def room_of(file: str) -> str:
    """The folder of a path below csrc."""
    folder = file.rpartition("/")[0]
    if folder not in ROOMS:
        pytest.fail(f"csrc/{file}: say in ROOMS of tests/repo/test_includes.py what {folder!r} may include")
    return folder


@pytest.mark.parametrize("room", ROOMS)
def test_includes_go_one_way(room):
    allowed = {room, *ROOMS[room]}
    wrong = [
        str(found)
        for found in tree.includes()
        if not found.system and room_of(found.file) == room and room_of(found.included) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_includes_are_paths_below_csrc():
    missing = [
        str(found) for found in tree.includes() if not found.system and found.included not in tree.sources()
    ]
    assert not missing, "\n".join(missing)


def test_models_do_not_include_each_other():
    """The files of a model share the first word of their names: cplsa.cc may include cplsa_pair.h."""

    def model(file: str) -> str:
        return file.removeprefix("models/").partition(".")[0].partition("_")[0]

    wrong = [
        str(found)
        for found in tree.includes()
        if found.file.startswith("models/")
        and found.included.startswith("models/")
        and model(found.file) != model(found.included)
    ]
    assert not wrong, "\n".join(wrong)


def test_simd_includes_no_functions_of_others():
    wrong = [
        str(found)
        for found in tree.includes()
        if found.system and room_of(found.file) == "kernels/simd" and found.included not in SIMD_HEADERS
    ]
    assert not wrong, "\n".join(wrong)


def test_python_is_known_to_bindings_only():
    users = {
        room_of(f.file) for f in tree.includes() if f.included.startswith("pybind11/") or f.included == "Python.h"
    }
    assert users == {"bindings"}
