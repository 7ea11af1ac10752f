"""Python imports go one way, and nothing that is slow to import is imported before it is used."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.repo import tree

# Lowest first. A module imports, at run time, from its own layer and from those below it. A name stands for
# a module or a whole package; of several names that fit a module the longest counts.
LAYERS = (
    ("the compiled module", {"_core"}),
    (
        "types, checks, files, threads",
        {
            "_common.config",
            "_common.files",
            "_common.resources",
            "_common.rows",
            "_common.types",
            "_common.validation",
        },
    ),
    ("what kernels.weighted_row_solve prepares for its rows", {"_solvers.rowsolve"}),
    ("documented entry points to the compiled module", {"kernels"}),
    ("what models share: base classes, saved models, checkpoints", {"_common"}),
    ("solvers that models share", {"_solvers"}),
    ("loops around a user's function, compiled by Numba", {"jit"}),
    (
        "where topics start, which takes clusters, and their sweeps",
        {"_common.topic_starts", "_common.topic_sweeps", "_common.topics", "_common.aligned_topics"},
    ),
    (
        "text, weights, tensors, word lists, search and measures",
        {
            "alignment",
            "datasets",
            "lemmatizer",
            "metrics",
            "retrieval",
            "stem",
            "stopping",
            "tasks",
            "tensor",
            "text",
            "thesaurus",
            "thesaurus_readers",
            "weighting",
            "wordnet",
        },
    ),
    (
        "models",
        {
            "bptf",
            "cca",
            "cllsi",
            "contextspace",
            "cplsa",
            "dda",
            "implicitals",
            "jplsa",
            "lm",
            "lsa",
            "mrlsa",
            "neighbors",
            "opca",
            "pilsa",
            "plsa",
            "s2net",
            "tucker",
            "wordbyword",
            "wtmf",
        },
    ),
    ("what is built from fitted models", {"completion", "encoder", "mixture", "oov"}),
    ("the package", {""}),
)


def layer_of(module: str) -> int:
    """Position in LAYERS."""
    fitting = {
        name: number
        for number, (_, names) in enumerate(LAYERS)
        for name in names
        if module == name or (name and module.startswith(f"{name}."))
    }
    if not fitting:
        pytest.fail(f"{tree.path_of(module)}: say in LAYERS of tests/repo/test_imports.py where it belongs")
    return fitting[max(fitting, key=len)]


def test_imports_go_down():
    up = []
    for found in tree.imports():
        own, other = layer_of(found.importer), layer_of(found.imported)
        if other > own:
            up.append(f"{found}, which is above it: {LAYERS[other][0]!r} over {LAYERS[own][0]!r}")
    assert not up, "\n".join(up)


def test_layers_are_complete_and_up_to_date():
    for module in tree.modules():
        layer_of(module)
    gone = {name for _, group in LAYERS for name in group} - set(tree.modules())
    assert not gone, f"in LAYERS, but not in the package: {', '.join(gone)}"


def test_no_cycles():
    """Imports inside functions count: they hide a cycle, they do not break it."""
    graph: dict[str, set[str]] = {module: set() for module in tree.modules()}
    for found in tree.imports():
        graph[found.importer].add(found.imported)
    cycle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]
    assert not cycle, " -> ".join(tree.path_of(module) for module in cycle)


def test_private_modules_stay_in_their_package():
    strangers = []
    for found in tree.imports():
        parts = found.imported.split(".")
        private = [number for number, part in enumerate(parts) if part.startswith("_")]
        for number in private:
            home = parts[:number]
            if found.importer.split(".")[: len(home)] != home:
                strangers.append(str(found))
    assert not strangers, "\n".join(strangers)


def test_private_names_stay_in_their_module():
    strangers = []
    for module in tree.modules():
        for base, names, line, _ in tree.statements(module):
            if base.partition(".")[0] != "semproj":
                continue
            target = base.removeprefix("semproj").removeprefix(".")
            for name in names:
                is_module = ".".join(filter(None, [target, name])) in tree.modules()
                if name.startswith("_") and not name.startswith("__") and not is_module:
                    strangers.append(f"{tree.path_of(module)}:{line} takes {name} from {base}")
    assert not strangers, "\n".join(strangers)


def test_numba_is_imported_only_when_it_is_used():
    """It takes a second to import. `jit` imports it at once, and is itself imported only inside functions."""
    users = [
        module for module in tree.modules() for base, *_ in tree.statements(module) if base.startswith("numba")
    ]
    assert users, "the test does not see imports of numba"
    assert all(module.startswith("jit.") for module in users), users
    early = [
        str(found)
        for found in tree.imports()
        if found.imported.startswith("jit") and not found.importer.startswith("jit") and not found.lazy
    ]
    assert not early, "\n".join(early)
