"""Files that one can read in a sitting, small ones, and none that knows the machine it was written on."""

from __future__ import annotations

import pytest

from tests.repo import tree

GRACE = 1.1  # a limit is where to think of splitting a file; beyond this it is split
HEADER_GRACE = 1.2  # about 120 lines, so a little more
GENERATED = {"csrc/text/unicode_tables.h"}
MAX_BYTES = 1_000_000


def lines_of(suffixes: tuple[str, ...], folder: str) -> dict[str, int]:
    found = {
        path.relative_to(tree.ROOT).as_posix(): len(tree.read(path).splitlines())
        for path in tree.tracked_files()
        if path.suffix in suffixes
    }
    return {name: n for name, n in found.items() if name.startswith(folder) and name not in GENERATED}


def users_of(header: str) -> set[str]:
    return {found.file for found in tree.includes() if found.included == header.removeprefix("csrc/")}


def limit(name: str) -> int:
    """How many lines a source file may have."""
    if name.endswith((".py", ".pyi")):
        return int(GRACE * 450)
    if name.startswith("csrc/bindings/"):
        return int(GRACE * 150)
    # A header that one file includes is a part of that file which has been put in a room of its own.
    if name.endswith(".h") and len(users_of(name)) != 1:
        return int(HEADER_GRACE * 120)
    return int(GRACE * 350)


@pytest.mark.parametrize("folder", ["python", "benchmarks", "tests", "tools", "csrc"])
def test_lengths(folder):
    sizes = lines_of((".py", ".pyi", ".h", ".cc"), f"{folder}/")
    assert sizes
    long = {name: n for name, n in sizes.items() if n > limit(name)}
    assert not long, "\n".join(f"{name}: {n} lines, at most {limit(name)} expected" for name, n in long.items())


def test_nothing_is_large():
    large = [path for path in tree.tracked_files() if path.stat().st_size > MAX_BYTES]
    assert not large


def test_no_paths_of_one_machine():
    folders = [f"/{name}/".encode() for name in ("work", "root", "home")]
    knowing = [
        f"{path.relative_to(tree.ROOT)}: {folder.decode()}"
        for path in tree.tracked_files()
        for folder in folders
        if folder in path.read_bytes()
    ]
    assert not knowing, "\n".join(knowing)
