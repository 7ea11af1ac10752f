"""Command line of `benchmarks.report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.report import results, timings
from benchmarks.report.pages import Page


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report",
        description=report.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    timing = kinds.add_parser("timings", help="the table of timings")
    timing.add_argument("files", nargs="+", type=Path, help="JSON of benchmarks.ratios, or a page with its table")
    timing.add_argument("--short", action="store_true", help="only the six rows of the README")
    result = kinds.add_parser("results", help="the tables of the papers")
    result.add_argument("files", nargs="+", type=Path, help="JSON of benchmarks.papers, on dev, not of a slice")
    for each in (timing, result):
        each.add_argument("--write", type=Path, metavar="PAGE", help="put it between this file's markers")
    return parser


def _contents(asked: argparse.Namespace, page: Page | None) -> dict[str, str]:
    """What belongs between which markers; what no file has is as in the page."""

    def before(marker: str) -> str:
        return "" if page is None else page.between(marker)

    if asked.kind == "timings":
        marker = timings.MARKER
        return {marker: timings.timings_table(asked.files, before(marker), short=asked.short)}
    found = results.read_results(asked.files)
    markers = {paper: results.marker(paper) for paper in found}
    return {m: results.results_tables(paper, found[paper], before(m)) for paper, m in markers.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        page = None if asked.write is None else Page(asked.write)
        contents = _contents(asked, page)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if page is None:
        print("\n\n".join(contents.values()))
        return
    for marker, content in contents.items():
        page.replace(marker, content)
    page.write()


if __name__ == "__main__":
    main()
