"""Benchmarking: two measurements side by side, and files that are no measurements."""

import json
from pathlib import Path

import pytest

from benchmarks.ratios.__main__ import main as ratios
from benchmarks.report.__main__ import main as report


def measured(path: str, seconds: float) -> str:
    """A file as ``python -m benchmarks.ratios lsa --json FILE`` writes it."""
    row = {
        "workload": "lsa_k500",
        "threads": 2,
        "ours_seconds": seconds,
        "words_per_second": 1e6 / seconds,
        "seconds": {"ours": seconds, "scipy": 4.0},
        "peers": {"scipy": 4.0 / seconds},
        "noise": {"ours": 0.01, "scipy": 0.01},
    }
    Path(path).write_text(json.dumps({"name": "lsa", "machine": {"size": "full"}, "rows": [row]}))
    return path


old, new = measured("old.json", 1.0), measured("new.json", 2.0)
ratios(["--compare", old, old, "--fail-below", "0.9"])
with pytest.raises(SystemExit) as ended:
    ratios(["--compare", old, new, "--fail-below", "0.9"])
assert ended.value.code not in (None, 0)

# Slips.
Path("foreign.json").write_text('{"answers": 42}')
for command in (["timings", "foreign.json"], ["results", "foreign.json"], ["results", old]):
    with pytest.raises(SystemExit) as ended:
        report(command)
    assert ended.value.code == 2
for arguments in (["--compare", old, "foreign.json"], ["--fail-below", "0.9"], ["--compare", old, "missing.json"]):
    with pytest.raises(SystemExit, match=r"^2$|^--compare: (foreign|missing).json: "):
        ratios(arguments)
