"""The pages' tables, written from small JSON files: what is replaced, what stays, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers.framework.registry import PAPERS  # noqa: E402
from benchmarks.report import results, timings  # noqa: E402
from benchmarks.report.__main__ import main  # noqa: E402
from benchmarks.report.layouts import LAYOUTS  # noqa: E402
from benchmarks.report.pages import Page  # noqa: E402

TIMINGS_PAGE = """# Before

<!-- timings -->

| workload | threads | words per second | times the speed of |
|---|---|---|---|
| project, d=2000, float32, reused output | 1 | 6.2 million | scipy 5.5, mkl 2.3 |
| project, d=2000, float32, reused output | 2 | 11.7 million | scipy 10.5, mkl 2.4 |
| OPCA fit, 20,000 terms, d=2000 | 2 | 95 thousand |  |

<!-- end of timings -->

After
"""
RESULTS_PAGE = """# Before

<!-- results yih2012 -->

**F1 on the 162 development questions of the GRE: which word is most nearly opposite**

| thesaurus | lookup | PILSA | PILSA with words it lacks |
|---|---|---|---|
| WordNet | 0.43 (0.40) | 0.60 (0.62) | 0.64 |
| Fallows 1898 | 0.68 | 0.83 | 0.88 |

<!-- end of results yih2012 -->

<!-- results zhang2014 -->

<!-- end of results zhang2014 -->

After
"""


@pytest.fixture
def write(tmp_path):
    """A file of the test's own folder."""

    def made(name: str, content: object) -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return made


def _timing(workload: str, threads: int, rate: float, **peers: float) -> dict:
    return {"workload": workload, "threads": threads, "words_per_second": rate, "peers": peers}


def _ratios(*rows: dict) -> dict:
    return {"name": "some", "machine": {}, "rows": rows}


def _result(table: str, row: str, ours: float, paper: float | None = None, **more: float) -> dict:
    place = {"table": table, "dataset": "gre", "row": row, "metric": "f1"}
    return {**place, "ours": ours, "paper": paper, "seconds": 1.0, **more}


def _paper(paper: str, *rows: dict, split: str = "dev") -> dict:
    return {"paper": paper, "split": split, "rows": rows}


def _cells(text: str, start: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_new_timings_replace_rows_and_others_stay(write):
    page = write("page.md", TIMINGS_PAGE)
    first = write("first.json", _ratios(_timing("project_d2000_f32", 2, 12_345_678.0, scipy=11.04, mkl=None)))
    second = write(
        "second.json",
        _ratios(
            _timing("lsa_k500", 1, 617_600.0, sklearn=3.04, gensim=2.3),
            _timing("not_on_the_page", 1, 1.0, scipy=2.0),
        ),
    )
    main(["timings", str(first), str(second), "--write", str(page)])
    assert page.read_text("utf-8") == TIMINGS_PAGE.replace(
        "| project, d=2000, float32, reused output | 2 | 11.7 million | scipy 10.5, mkl 2.4 |\n",
        "| project, d=2000, float32, reused output | 2 | 12.3 million | scipy 11.0 |\n"
        "| LSA fit, k=500 | 1 | 618 thousand | sklearn 3.0, gensim 2.3 |\n",
    )


def test_the_last_file_that_has_a_row_has_its_say(write, capsys):
    files = [write(f"{rate}.json", _ratios(_timing("lsa_k500", 2, rate))) for rate in (1e6, 2e6)]
    main(["timings", *map(str, files)])
    assert capsys.readouterr().out.splitlines()[2:] == ["| LSA fit, k=500 | 2 | 2.0 million |  |"]


def test_the_short_table_is_six_rows_of_the_page(write):
    """As the README has it, from docs/benchmarks.md; a file beside it may have newer rows."""
    readme = write("README.md", "<!-- timings -->\n<!-- end of timings -->\n")
    main(["timings", str(ROOT / "docs" / "benchmarks.md"), "--short", "--write", str(readme)])
    head, rule, *rows = Page(readme).between("timings").strip().splitlines()
    assert head.startswith("| workload | threads |")
    assert rule == "|---|---|---|---|"
    assert len(rows) == len(timings.SHORT) == 6
    full = (ROOT / "docs" / "benchmarks.md").read_text("utf-8").splitlines()
    for workload, row in zip(timings.SHORT, rows, strict=True):
        assert row.startswith(f"| {timings.TITLES[workload]} | 2 |")
        assert row in full
    newer = write("lsa.json", _ratios(_timing("lsa_k500", 1, 5e6), _timing("lsa_k500", 2, 9e6)))
    main(["timings", str(newer), "--short", "--write", str(readme)])
    again = Page(readme).between("timings").strip().splitlines()[2:]
    assert again[3] == "| LSA fit, k=500 | 2 | 9.0 million |  |"
    assert again[:3] + again[4:] == rows[:3] + rows[4:]


def test_new_results_replace_cells_and_others_stay(write):
    page = write("page.md", RESULTS_PAGE)
    yih = write(
        "yih.json",
        _paper(
            "yih2012",
            _result("6", "WordNet PILSA", 0.6149, 0.62),
            _result("6", "WordNet+Fallows lookup", 0.7, 0.6),
            _result("6", "WordNet signed tf-idf", 0.4, 0.41),  # not on the page
        ),
    )
    main(["results", str(yih), "--write", str(page)])
    assert page.read_text("utf-8") == RESULTS_PAGE.replace("0.60 (0.62)", "0.61 (0.62)").replace(
        "| Fallows 1898 | 0.68 | 0.83 | 0.88 |\n",
        "| Fallows 1898 | 0.68 | 0.83 | 0.88 |\n| WordNet and Fallows | 0.70 (0.60) |  |  |\n",
    )


def test_a_paper_in_two_files_and_spreads(write):
    """Digits go as far as the spread's first; the published number has as many as the paper prints."""
    page = write("page.md", RESULTS_PAGE)
    files = [
        write("one.json", _paper("zhang2014", _result("2", "Roget BPTF", 0.8, 0.8, spread=0.021))),
        write("two.json", _paper("zhang2014", _result("2", "W&R BPTF", 0.8834, 0.88, spread=0.0041))),
    ]
    main(["results", *map(str, files), "--write", str(page)])
    written = Page(page).between(results.marker("zhang2014"))
    assert _cells(written, "Roget's")[-1] == "0.80 ± 0.02 (0.80)"
    assert _cells(written, "WordNet, Roget's and Fallows")[-1] == "0.883 ± 0.004 (0.88)"
    assert "| WordNet |" not in written  # of which nothing is known
    assert page.read_text("utf-8").startswith(RESULTS_PAGE.split("<!-- results zhang2014")[0])
    assert page.read_text("utf-8").endswith("<!-- end of results zhang2014 -->\n\nAfter\n")


def test_several_tables_of_a_paper_keep_their_cells(write, capsys):
    page = write("page.md", "<!-- results chang2013 -->\n<!-- end of results chang2013 -->\n")
    opposites = _result("1", "WordNet PILSA", 0.62, 0.62)
    inclusion = _result("2", "WordNet MRLSA:4-layers", 57.2816, 52.9) | {"dataset": "1a", "metric": "maxdiff"}
    for row in (opposites, inclusion):
        main(["results", str(write("chang.json", _paper("chang2013", row))), "--write", str(page)])
    written = page.read_text("utf-8")
    assert _cells(written, "WordNet") == ["0.62 (0.62)", "", "", ""]
    assert _cells(written, "MRLSA, four slices") == ["57.3 (52.9)", ""]
    assert written.count("**F1 on ") == written.count("**MaxDiff accuracy ") == 1
    main(["results", str(write("both.json", _paper("chang2013", opposites, inclusion)))])
    assert capsys.readouterr().out.strip() in written


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (
            "timings",
            {"paper": "yih2012"},
            r"expected a file of `python -m benchmarks\.ratios --json`, with machine",
        ),
        ("timings", "{", "not JSON"),
        (
            "results",
            _ratios(),
            r"expected a file of `python -m benchmarks\.papers --json`, with paper, split, rows",
        ),
        ("results", _paper("nobody1999"), "expected one of the papers platt2010, .*, got 'nobody1999'"),
        ("timings", {"machine": {}, "rows": 3}, ".*, with machine, rows"),
        ("timings", {"machine": {}, "rows": [1]}, ".*, with workload, threads, .* in each of its rows"),
        ("timings", {"machine": {}, "rows": [{"workload": "wtmf_fit"}]}, ".* in each of its rows"),
        ("results", {"paper": ["yih2012"], "split": "dev", "rows": []}, ".*, with paper, split, rows"),
        ("results", {"paper": "yih2012", "split": "dev", "rows": [{"name": 1}]}, ".*, with table, dataset, row"),
        ("results", _paper("yih2012", split="test"), "expected results on dev, which the page is about, got test"),
    ],
)
def test_files_of_another_kind_are_refused(kind, content, message, write, capsys):
    page = write("page.md", RESULTS_PAGE + TIMINGS_PAGE)
    with pytest.raises(SystemExit):
        main([kind, str(write("file.json", content)), "--write", str(page)])
    assert re.search(rf"file\.json: {message}", capsys.readouterr().err)
    assert page.read_text("utf-8") == RESULTS_PAGE + TIMINGS_PAGE


def test_a_page_without_markers_is_refused(write, capsys):
    page = write("page.md", "<!-- end of timings -->\n<!-- timings -->\n")
    with pytest.raises(SystemExit):
        main(["timings", str(write("file.json", _ratios())), "--write", str(page)])
    assert "page.md: expected the lines <!-- timings --> and <!-- end of timings -->" in capsys.readouterr().err


def test_the_committed_pages_are_as_they_would_be_written(write):
    """Titles of rows and columns here and on the pages are the same, so that no cell is lost."""
    original = ROOT / "docs" / "benchmarks.md"
    page = write("benchmarks.md", original.read_text("utf-8"))
    main(["timings", str(write("none.json", _ratios())), "--write", str(page)])
    assert page.read_text("utf-8") == original.read_text("utf-8")
    original = ROOT / "docs" / "results.md"
    page = write("results.md", original.read_text("utf-8"))
    main(["results", *(str(write(f"{name}.json", _paper(name))) for name in LAYOUTS), "--write", str(page)])
    assert page.read_text("utf-8") == original.read_text("utf-8")


def test_each_paper_has_tables():
    """That their rows are measured is tested with each paper."""
    assert list(LAYOUTS) == list(PAPERS)
    for layouts in LAYOUTS.values():
        captions = [layout.caption for layout in layouts]
        assert len(set(captions)) == len(captions)
