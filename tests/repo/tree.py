"""The repository as its tests see it: tracked files, Python imports, C++ includes, the tree in ARCHITECTURE.md."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "semproj"
CSRC = ROOT / "csrc"


class Import(NamedTuple):
    """One module of the package imports another when it runs. Names leave out ``semproj.``."""

    importer: str
    imported: str
    line: int
    lazy: bool  # inside a function, so only when that is called

    def __str__(self) -> str:
        return f"{path_of(self.importer)}:{self.line} imports {self.imported or 'semproj'}"


class Include(NamedTuple):
    """One line ``#include``. Paths start below ``csrc``."""

    file: str
    included: str
    line: int
    system: bool  # <vector>, not "core/views.h"

    def __str__(self) -> str:
        return f"csrc/{self.file}:{self.line} includes {self.included}"


@cache
def tracked_files() -> tuple[Path, ...]:
    """What git tracks; in an unpacked source archive, everything that is not hidden or built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
        return tuple(path for name in names if name and (path := ROOT / name).is_file())
    skipped = {"build", "dist", "__pycache__", "results"}
    found = (path for path in ROOT.rglob("*") if path.is_file() and path.suffix != ".so")
    parts = ((path, path.relative_to(ROOT).parts) for path in found)
    return tuple(path for path, names in parts if not skipped & set(names) and not names[0].startswith("."))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def modules() -> dict[str, Path]:
    """The modules of the package, ``""`` for its ``__init__``, and the compiled one."""
    found = {"_core": PACKAGE / "_core" / "__init__.pyi"}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def path_of(module: str) -> str:
    return modules()[module].relative_to(ROOT).as_posix()


def _at_run_time(node: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Import statements below a node, without those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazy
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for statement in child.orelse:
                yield from _at_run_time(ast.Module([statement], []), lazy)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _at_run_time(child, lazy or inside)


@cache
def statements(module: str) -> list[tuple[str, list[str], int, bool]]:
    """Run-time imports of a module: the absolute name it imports (from), names taken from it, line, lazy."""
    path = modules()[module]
    package = ["semproj", *module.split(".")] if module else ["semproj"]
    if path.name != "__init__.py":
        package = package[:-1]
    found = []
    for node, lazy in _at_run_time(ast.parse(read(path))):
        if isinstance(node, ast.Import):
            found += [(alias.name, [], node.lineno, lazy) for alias in node.names]
        else:
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found.append((base, [alias.name for alias in node.names], node.lineno, lazy))
    return found


@cache
def imports() -> tuple[Import, ...]:
    """All run-time imports between modules of the package."""
    found = []
    for module in modules():
        for base, names, line, lazy in statements(module):
            if base.partition(".")[0] != "semproj":
                continue
            target = base.removeprefix("semproj").removeprefix(".")
            below = [".".join(filter(None, [target, name])) for name in names]
            inside = [name for name in below if name in modules()]
            targets = {target} if len(inside) < len(names) or not names else set()
            found += [Import(module, each, line, lazy) for each in sorted(targets | set(inside))]
    return tuple(found)


@cache
def sources() -> tuple[str, ...]:
    """The C++ files, as paths below ``csrc``."""
    return tuple(sorted(p.relative_to(CSRC).as_posix() for p in CSRC.rglob("*") if p.suffix in (".h", ".cc")))


@cache
def includes() -> tuple[Include, ...]:
    pattern = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
    found = []
    for file in sources():
        for number, line in enumerate(read(CSRC / file).splitlines(), start=1):
            if match := pattern.match(line):
                found.append(Include(file, match[2], number, match[1] == "<"))
    return tuple(found)


def architecture_tree() -> str:
    """The block of ARCHITECTURE.md that shows the tree: the first one after the heading that names it."""
    text = read(ROOT / "ARCHITECTURE.md")
    found = re.search(
        r"^#+ [^\n]*\btree\b.*?^```[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE | re.IGNORECASE
    )
    assert found, "ARCHITECTURE.md has no heading with the word tree and a block below it"
    return found[1]
