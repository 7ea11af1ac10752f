"""Lists that are kept by hand agree with what there is: modules, estimators, commands, links, versions."""

from __future__ import annotations

import inspect
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import semproj
from tests.repo import tree

PAGES = [path for path in tree.tracked_files() if path.suffix == ".md"]
ESTIMATORS = {
    name: thing
    for name in semproj.__all__
    if inspect.isclass(thing := getattr(semproj, name)) and issubclass(thing, BaseEstimator)
}


def page_name(path: Path) -> str:
    return path.relative_to(tree.ROOT).as_posix()


class TestArchitecture:
    """The tree in ARCHITECTURE.md has every file; a pattern such as ``bind_*`` names several."""

    @staticmethod
    def missing(names: set[str]) -> list[str]:
        words = set(re.findall(r"[\w*?]*\w[\w*?]*", tree.architecture_tree()))
        patterns = [word for word in words if "*" in word or "?" in word]
        return sorted(n for n in names if n not in words and not any(fnmatch(n, p) for p in patterns))

    def test_python_modules(self):
        names = {module.rpartition(".")[2] for module in tree.modules()} - {"", "_core"}
        assert not (gone := self.missing(names)), f"not in the tree of ARCHITECTURE.md: {', '.join(gone)}"

    def test_cpp_folders_and_files(self):
        paths = [Path(file) for file in tree.sources()]
        names = {path.stem for path in paths} | {part for path in paths for part in path.parent.parts}
        assert not (gone := self.missing(names)), f"not in the tree of ARCHITECTURE.md: {', '.join(gone)}"


class TestEstimators:
    """Every public estimator has tests, a place in the documentation and a line in the changelog."""

    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_has_tests(self, name):
        module = ESTIMATORS[name].__module__.removeprefix("semproj.").partition(".")[0]
        assert list((tree.ROOT / "tests").glob(f"*/test_{module}.py")), f"no tests/*/test_{module}.py for {name}"

    def test_documented(self):
        text = tree.read(tree.ROOT / "README.md") + tree.read(tree.ROOT / "docs" / "guide.md")
        missing = [name for name in ESTIMATORS if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text)]
        assert not missing, f"neither README.md nor docs/guide.md names {', '.join(missing)}"

    def test_in_the_changelog(self):
        text = tree.read(tree.ROOT / "CHANGELOG.md")
        missing = [name for name in ESTIMATORS if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text)]
        assert not missing, f"CHANGELOG.md does not name {', '.join(missing)}"


class TestMakefile:
    @pytest.fixture
    def text(self) -> str:
        return tree.read(tree.ROOT / "Makefile")

    @pytest.fixture
    def rules(self, text) -> dict[str, str]:
        """From targets to the rest of their lines: what they need, and their help."""
        return dict(re.findall(r"^([a-z][a-z-]*):(?!=)(.*)$", text, re.MULTILINE))

    @staticmethod
    def words(pattern: str, text: str) -> list[str]:
        found = re.search(pattern, text, re.MULTILINE)
        assert found, pattern
        return sorted(found[1].split())

    def test_phony_lists_every_target(self, text, rules):
        assert self.words(r"^\.PHONY:(.*)$", text) == sorted(rules)

    def test_help_shows_every_target_but_parts_of_others(self, rules):
        hidden = {name for name, rest in rules.items() if "## " not in rest}
        parts = {word for rest in rules.values() for word in rest.partition("##")[0].split()}
        assert hidden <= parts

    def test_bench_runs_every_ratio(self, text):
        files = (tree.ROOT / "benchmarks" / "ratios").rglob("*.py")
        registered = [
            name for file in files for name in re.findall(r'(?m)^@register\("([^"]+)"\)', tree.read(file))
        ]
        assert registered
        listed = self.words(r"^RATIOS := (.*)$", text)
        assert listed == sorted(set(registered)), (
            f"RATIOS of the Makefile differs by {set(listed) ^ set(registered)}"
        )

    @pytest.mark.parametrize("page", PAGES, ids=page_name)
    def test_pages_name_targets_that_exist(self, page, rules):
        code = "\n".join(re.findall(r"(?ms)^```.*?^```|`[^`\n]+`", tree.read(page)))
        assert set(re.findall(r"\bmake ([a-z-]+)", code)) <= set(rules)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)\s#]+)[^)]*\)", tree.read(page))
    local = [target for target in targets if "://" not in target]
    broken = [target for target in local if not (page.parent / target).exists()]
    assert not broken, f"{page_name(page)} links to {', '.join(broken)}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_are_modules(page):
    for name in re.findall(r"python -m (benchmarks[\w.]*\w)", tree.read(page)):
        path = tree.ROOT.joinpath(*name.split("."))
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), name


def test_every_page_is_listed():
    """docs/README.md links to all pages beside it."""
    index = tree.ROOT / "docs" / "README.md"
    linked = set(re.findall(r"\]\(([^)#:]+\.md)", tree.read(index)))
    pages = {path.name for path in index.parent.glob("*.md")} - {index.name}
    assert pages <= linked


def test_one_version():
    project = tree.read(tree.ROOT / "pyproject.toml")
    citation = tree.read(tree.ROOT / "CITATION.cff")
    version = re.search(r'^version = "(.*)"$', project, re.MULTILINE)
    assert version
    assert re.search(rf'^version: "?{re.escape(version[1])}"?$', citation, re.MULTILINE)
    assert semproj.__version__ == version[1]
    licence = re.search(r'^license = "(.*)"$', project, re.MULTILINE)
    assert licence
    assert f"\nlicense: {licence[1]}\n" in citation


def test_extras_that_pages_install_exist():
    section = tree.read(tree.ROOT / "pyproject.toml").partition("[project.optional-dependencies]")[2]
    extras = set(re.findall(r"^(\w+) = \[", section.partition("\n[")[0], re.MULTILINE))
    named = {
        extra.strip()
        for page in PAGES
        for found in re.findall(r"pip install[^\n]*?\[([\w, ]+)\]", tree.read(page))
        for extra in found.split(",")
    }
    assert named <= extras
