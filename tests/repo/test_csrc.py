"""The C++ side: instruction sets, bindings, the GIL, and warnings that are errors in tests."""

import json
import re

from tests.repo import tree


def test_one_file_chooses_the_instruction_set():
    namespaces = re.compile(r"simd::(baseline|avx2|avx512)\b")
    paths = [path for folder in ("csrc", "tests/cpp") for path in (tree.ROOT / folder).rglob("*.[hc]*")]
    assert [path.name for path in paths if namespaces.search(tree.read(path))] == ["dispatch.cc"]


def test_every_binding_is_registered():
    folder, found = tree.ROOT / "csrc" / "bindings", set()
    for path in folder.glob("bind_*.cc"):
        registered = re.findall(r"^void (register_\w+)\(py::module_& m\) {", tree.read(path), re.MULTILINE)
        assert f"register_{path.stem.removeprefix('bind_')}" in registered
        found |= set(registered)
    assert found == set(re.findall(r"void (register_\w+)\(", tree.read(folder / "bindings.h")))
    assert found == set(re.findall(r"(register_\w+)\((?:m|lm)\);", tree.read(folder / "module.cc")))


def test_the_gil_is_released_in_one_way():
    bindings = [tree.read(path) for path in (tree.ROOT / "csrc").rglob("*.cc")]
    assert not any("gil_scoped_release" in text for text in bindings)
    assert sum("PyEval_SaveThread" in text for text in bindings) == 1


def test_warnings_are_errors_in_the_tests():
    presets = json.loads(tree.read(tree.ROOT / "CMakePresets.json"))["configurePresets"]
    variables = {each["name"]: each["cacheVariables"] for each in presets}["cpp-tests"]
    assert variables["SEMPROJ_WERROR"] == variables["SEMPROJ_CPP_TESTS"] == "ON"
    recipe = re.search(r"^test-cpp:.*\n((?:\t.*\n)+)", tree.read(tree.ROOT / "Makefile"), re.MULTILINE)
    assert recipe is not None
    assert "cmake --preset cpp-tests" in recipe[1]
