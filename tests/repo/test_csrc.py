"""The C++ tree keeps the rules of ARCHITECTURE.md: includes go one way, and one file chooses instruction sets."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {path.relative_to(ROOT / "csrc").as_posix(): path for path in (ROOT / "csrc").rglob("*.[hc]*")}
MAY_INCLUDE = {
    "core": {"core"},
    "kernels": {"core", "kernels"},
    "text": {"core", "text"},
    "models": {"core", "kernels", "models"},
    "bindings": {"core", "kernels", "text", "models", "bindings"},
}


def lines_of(name):
    return SOURCES[name].read_text(encoding="utf-8").splitlines()


def own_includes(name):
    """What a file includes of this tree."""
    return re.findall(r'^#include "(.+)"', SOURCES[name].read_text(encoding="utf-8"), re.MULTILINE)


def system_includes(name):
    return re.findall(r"^#include <(.+)>", SOURCES[name].read_text(encoding="utf-8"), re.MULTILINE)


def test_every_folder_has_a_place_in_the_order():
    assert {name.split("/")[0] for name in SOURCES} == set(MAY_INCLUDE)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_includes_go_one_way(name):
    folder = name.split("/")[0]
    for included in own_includes(name):
        assert included in SOURCES, f"{name} includes {included} by another path than from csrc"
        assert included.split("/")[0] in MAY_INCLUDE[folder], f"{folder} is below {included}"
    assert folder == "bindings" or not any(re.match("pybind11|Python.h", each) for each in system_includes(name))


def test_models_do_not_include_each_other():
    """Files of one model share its name: cplsa.h and cplsa_pair.h."""
    names = [name.removeprefix("models/") for name in SOURCES if name.startswith("models/")]
    for name in names:
        model = re.split(r"[_.]", name)[0]
        others = [each for each in own_includes(f"models/{name}") if each.startswith("models/")]
        assert all(re.match(rf"models/{model}[_.]", each) for each in others), name


@pytest.mark.parametrize("name", sorted(name for name in SOURCES if name.startswith("kernels/simd/")))
def test_files_for_newer_cpus_bring_nothing_along(name):
    """An inline function compiled for a newer CPU could be the one that the linker keeps for everybody."""
    assert set(system_includes(name)) <= {"cstdint", "immintrin.h"}
    assert all(included.startswith("kernels/simd/") for included in own_includes(name))


def test_one_file_chooses_the_instruction_set():
    namespaces = re.compile(r"simd::(baseline|avx2|avx512)\b")
    for directory in ("csrc", "tests/cpp"):
        for path in (ROOT / directory).rglob("*.[hc]*"):
            if namespaces.search(path.read_text(encoding="utf-8")):
                assert path.name == "dispatch.cc"


def test_every_binding_is_registered():
    found = set()
    for name in SOURCES:
        if re.match(r"bindings/bind_.+\.cc", name):
            found |= set(re.findall(r"^void (register_\w+)\(", "\n".join(lines_of(name)), re.MULTILINE))
            assert f"void register_{Path(name).stem.removeprefix('bind_')}(py::module_& m) {{" in lines_of(name)
    assert found == set(re.findall(r"void (register_\w+)\(", "\n".join(lines_of("bindings/bindings.h"))))
    assert found == set(re.findall(r"(register_\w+)\(m\);", "\n".join(lines_of("bindings/module.cc"))))


@pytest.mark.parametrize("name", sorted(name for name in SOURCES if name.endswith(".cc")))
def test_files_can_be_read_in_a_sitting(name):
    assert len(lines_of(name)) <= (150 if name.startswith("bindings/") else 350)


def test_warnings_are_errors_in_the_tests():
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
    variables = {each["name"]: each["cacheVariables"] for each in presets}["cpp-tests"]
    assert variables["SEMPROJ_WERROR"] == variables["SEMPROJ_CPP_TESTS"] == "ON"
    recipe = re.search(
        r"^test-cpp:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert recipe is not None
    assert "cmake --preset cpp-tests" in recipe[1]
