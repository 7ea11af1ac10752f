"""Command line of `benchmarks.papers`: a paper's tables, our numbers beside the published ones."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.papers import PAPERS, Options, Paper, Report, load, render, write_json
from benchmarks.papers.framework.files import MissingFile

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUICK = {"limit": 3000, "documents": 1000, "terms": 5000, "dimension": 200, "seeds": 2}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("paper", choices=sorted(PAPERS))
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the data (default: SEMPROJ_DATA)")
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="what is evaluated (default: dev)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--rows", nargs="+", metavar="ROW", help="only these models")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="only these datasets")
    parser.add_argument("--limit", type=int, metavar="N", help="learn from at most so many examples")
    parser.add_argument("--documents", type=int, metavar="N", help="evaluate at most so many examples")
    parser.add_argument("--terms", type=int, metavar="N", help="size of a vocabulary (default: the paper's)")
    parser.add_argument("--dimension", type=int, metavar="N", help="at most so many dimensions")
    parser.add_argument("--seeds", type=int, metavar="N", help="fit what has a random start so often, and average")
    quick = ", ".join(f"--{name} {size}" for name, size in QUICK.items())
    parser.add_argument("--quick", action="store_true", help=f"a slice that takes a minute: {quick}")
    parser.add_argument("--lowercase", action="store_true", help="fold case, which the papers may not do")
    parser.add_argument("--tune", action="store_true", help="try all settings on dev and report the best")
    parser.add_argument("--models", type=Path, metavar="DIR", help="keep models there that take long (zweig2012)")
    drawn = parser.add_mutually_exclusive_group()
    drawn.add_argument("--plots", type=Path, metavar="DIR", help="where plots go (default: beside --json)")
    drawn.add_argument("--no-plots", action="store_true", help="draw nothing")
    parser.add_argument("--threads", type=int, metavar="N", help="default: what the machine allows")
    return parser


def parse(arguments: Sequence[str] | None = None) -> tuple[argparse.Namespace, Paper, Options]:
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.data is None and os.environ.get("SEMPROJ_DATA"):
        asked.data = Path(os.environ["SEMPROJ_DATA"])
    if asked.data is None:
        parser.error("--data: expected the folder of the data, or its name in SEMPROJ_DATA")
    if not asked.data.is_dir():
        parser.error(f"--data: expected a folder, got {asked.data}")
    for name in (*QUICK, "threads"):
        value = getattr(asked, name)
        if value is not None and value < 1:
            parser.error(f"--{name}: expected at least 1, got {value}")
        if asked.quick and value is None:
            setattr(asked, name, QUICK.get(name))
    if asked.tune and asked.split != "dev":
        parser.error(f"--tune: settings are tuned on dev, got --split {asked.split}")
    paper = load(asked.paper)
    for name in ("rows", "datasets"):
        known = getattr(paper, name)
        for value in getattr(asked, name) or ():
            if value not in known:
                parser.error(f"--{name}: expected some of {', '.join(known)}, got {value!r}")
    plots = asked.plots or (asked.json.parent if asked.json else RESULTS)
    options = Options(
        data=asked.data,
        split=asked.split,
        rows=None if asked.rows is None else tuple(asked.rows),
        datasets=None if asked.datasets is None else tuple(asked.datasets),
        limit=asked.limit,
        documents=asked.documents,
        terms=asked.terms,
        dimension=asked.dimension,
        seeds=asked.seeds,
        lowercase=asked.lowercase,
        tune=asked.tune,
        models=asked.models,
        plots=None if asked.no_plots else plots,
    )
    return asked, paper, options


@contextmanager
def _threads(n_threads: int | None) -> Iterator[None]:
    """Hold ours and those of BLAS to a number."""
    if n_threads is None:
        yield
        return
    name = "SEMPROJ_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = str(n_threads)
    try:
        with threadpool_limits(n_threads):
            yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def main(arguments: Sequence[str] | None = None) -> Report:
    asked, paper, options = parse(arguments)
    start = time.perf_counter()
    with _threads(asked.threads):
        try:
            report = paper.run(options)
        except MissingFile as missing:
            raise SystemExit(f"{asked.paper}: nothing to measure for --split {asked.split}: {missing}") from None
    if asked.json:
        write_json(report, asked.json)
    print(f"{paper.title}\n\n{render(report)}\n\nDone in {time.perf_counter() - start:.0f} s.")
    return report


if __name__ == "__main__":
    main()
