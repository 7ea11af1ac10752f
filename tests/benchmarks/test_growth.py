"""The growth of time and memory."""

from __future__ import annotations

import json

from benchmarks import growth


def test_rows(tmp_path):
    rows = growth.main(["s2net", "--smallest", "2", "--json", str(tmp_path / "rows.json")])
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
    assert [[each["size"] for each in row["sizes"]] for row in rows] == [[2500, 5000], [100, 200]]
    assert all(each["seconds"] > 0 for row in rows for each in row["sizes"])
    pairs, dimensions = rows
    assert pairs["exponent"] > dimensions["exponent"] > 0
