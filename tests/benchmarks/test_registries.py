"""Lists that must agree: suites of ratios and the Makefile, benchmarks of speed and suites, modules of papers."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers import published  # noqa: E402
from benchmarks.papers.framework.registry import MORE_TABLES, PAPERS, Paper, load  # noqa: E402
from benchmarks.ratios import suite_names  # noqa: E402
from benchmarks.ratios import workloads as workload_modules  # noqa: E402
from benchmarks.report.timings import SHORT, TITLES  # noqa: E402

FAMILIES = ("completion", "crosslingual", "relevance", "sentences", "thesauri")
SPEED = sorted((ROOT / "benchmarks" / "speed").glob("bench_*.py"))
# Suites that `make bench` leaves out, and why
NOT_IN_MAKE_BENCH: dict[str, str] = {}
# Suites that no module of benchmarks/speed times, and why
NOT_IN_SPEED = {
    "open": "models with functions of users beside the same models: only their ratio says something",
    "names": "one search of all names for all; bench_retrieval times searches of few rows",
}


def _modules(package) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(package.__path__)}


def _raced(path: Path) -> set[str]:
    """The suites that a module of benchmarks/speed takes its workloads from."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    races = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "race"]
    return {ast.literal_eval(call.args[0]) for call in races}


def test_make_bench_runs_all_suites():
    (listed,) = re.findall(r"^RATIOS := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert len(set(listed.split())) == len(listed.split())
    assert set(listed.split()) | set(NOT_IN_MAKE_BENCH) == set(suite_names())
    assert not set(listed.split()) & set(NOT_IN_MAKE_BENCH)


def test_each_module_of_workloads_registers_a_suite():
    """Under its own name, but for `import`, which no module can be called; `open` is in parts, `open_*`."""
    suites = {"import" if name == "imports" else name.partition("_")[0] for name in _modules(workload_modules)}
    assert suites == set(suite_names())


@pytest.mark.parametrize("path", SPEED, ids=lambda path: path.stem)
def test_each_module_of_speed_times_a_suite(path):
    suites = _raced(path)
    assert path.stem.removeprefix("bench_") in suites
    assert suites <= set(suite_names())


def test_each_suite_is_timed_by_a_module_of_speed():
    raced = set().union(*map(_raced, SPEED))
    assert raced | set(NOT_IN_SPEED) == set(suite_names())
    assert not raced & set(NOT_IN_SPEED)


def test_the_short_table_is_of_known_workloads():
    assert set(SHORT) <= set(TITLES)
    assert len(set(TITLES.values())) == len(TITLES)


def test_each_module_with_a_paper_is_registered():
    found = set()
    for family in FAMILIES:
        package = importlib.import_module(f"benchmarks.papers.{family}")
        for name in _modules(package):
            module = importlib.import_module(f"{package.__name__}.{name}")
            if isinstance(getattr(module, "PAPER", None), Paper):
                found.add(module.__name__)
    assert found == {*PAPERS.values(), *(module for more in MORE_TABLES.values() for module in more)}
    assert all(module.endswith(f".{name}") for name, module in PAPERS.items())
    assert set(MORE_TABLES) <= set(PAPERS)
    for name, module in PAPERS.items():
        paper, parts = load(name), [sys.modules[each].PAPER for each in (module, *MORE_TABLES.get(name, ()))]
        assert paper.title == parts[0].title
        assert set(paper.rows) == {row for part in parts for row in part.rows}
        assert set(paper.datasets) == {dataset for part in parts for dataset in part.datasets}


def test_families_are_all_there_is():
    papers = ROOT / "benchmarks" / "papers"
    folders = {path.parent.name for path in papers.glob("*/__init__.py")}
    assert folders == {*FAMILIES, "framework", "published"}
    assert {path.name for path in papers.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_each_paper_has_its_published_numbers_in_one_place():
    assert _modules(published) - {"common"} == set(PAPERS)


@pytest.mark.parametrize("family", ["framework", "published", *FAMILIES])
def test_families_do_not_need_each_other(family):
    """A family may use the framework and published numbers; these use no family."""
    allowed = {family, *({"framework", "published"} if family in FAMILIES else ())}
    imported = re.compile(r"^\s*(?:from|import) benchmarks\.papers\.(\w+)", re.MULTILINE)
    for path in (ROOT / "benchmarks" / "papers" / family).glob("*.py"):
        assert set(imported.findall(path.read_text("utf-8"))) <= allowed, path.name
