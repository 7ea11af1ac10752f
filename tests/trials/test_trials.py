"""The scripts of this folder run: what a new user writes by README and docstrings, with the slips one makes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted(path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "__")))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script, tmp_path, monkeypatch):
    """In an empty folder. Warnings are errors, unless the script expects them."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
