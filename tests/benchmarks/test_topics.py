"""The table of topics, and the number of topics that is chosen."""

from __future__ import annotations

import json

import pytest

from benchmarks import peers, topics


@pytest.mark.filterwarnings(
    "ignore:The training result may differ even with fixed seed"
)  # tomotopy's, if it is there
def test_rows(tmp_path, monkeypatch):
    rows = topics.main(["--tiny", "--json", str(tmp_path / "rows.json")])
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
    libraries = ["semproj"] + ["tomotopy"] * (peers.available("tomotopy") is not None)
    assert [(row["topics"], row["library"]) for row in rows] == [(n, name) for n in (2, 6) for name in libraries]
    two, six = (next(row for row in rows if row["topics"] == n) for n in (2, 6))
    assert six["npmi"] > two["npmi"]
    assert six["perplexity"] < two["perplexity"]
    assert all(row["seconds"] > 0 for row in rows)


def test_without_the_peer(monkeypatch, capsys):
    monkeypatch.setattr(peers, "available", lambda name: None)
    rows = topics.main(["--tiny"])
    assert {row["library"] for row in rows} == {"semproj"}
    assert "tomotopy is not installed" in capsys.readouterr().out


def test_the_grid_chooses_the_planted_number():
    rows = topics.main(["--tiny", "--grid", "--topics", "1", "2", "3", "6"])
    assert [row["topics"] for row in rows if row["chosen"]] == [6]
    assert all(row["flat"] for row in rows if row["chosen"])
    assert not rows[0]["flat"]


def test_data_is_asked_for(monkeypatch, capsys):
    monkeypatch.delenv("SEMPROJ_DATA", raising=False)
    with pytest.raises(SystemExit):
        topics.main([])
    assert "--data" in capsys.readouterr().err
