"""The table of solvers: rows, and what the choice costs."""

from __future__ import annotations

import json

import pytest

from benchmarks import solvers


def test_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SEMPROJ_DATA", raising=False)
    rows = solvers.main(["--tiny", "--json", str(tmp_path / "rows.json")])
    assert json.loads((tmp_path / "rows.json").read_text()) == json.loads(json.dumps(rows))
    assert [row["model"] for row in rows] == ["OPCA", "CCA"]
    for row in rows:
        seconds = dict(row["seconds"])
        assert row["chosen"] in seconds
        assert seconds.pop("auto") > 0
        assert row["over_best"] == pytest.approx(row["seconds"][row["chosen"]] / min(seconds.values()))
    assert "2 shapes" in capsys.readouterr().out


def test_the_grid_has_all_kinds():
    for shapes in (solvers.OPCA_SHAPES, solvers.CCA_SHAPES):
        assert len(set(shapes)) == len(shapes)
        assert any(pairs < terms / 2 for pairs, terms, _ in shapes)
        assert any(pairs >= 2 * terms for pairs, terms, _ in shapes)
