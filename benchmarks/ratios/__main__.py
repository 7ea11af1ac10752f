"""Command line of `benchmarks.ratios`."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

# First, because it sets what OpenMP reads when it loads.
from benchmarks import peers
from benchmarks.machine import default_threads, describe, measure_limits
from benchmarks.ratios import Options, make_workloads, run, suite_names
from benchmarks.ratios.compare import compare, plot, read_result
from benchmarks.ratios.compare import render as render_changes
from benchmarks.ratios.table import render

NOTES = [
    "words: non-zeros (distinct words) for project, lsa, opca, cca, translate, wtmf and tucker, cells for "
    "bptf, tokens for text, encode, train, plsa and rnn, pairs of vectors compared for retrieval",
    "every time is the median of interleaved rounds after one checked, untimed run; a peer's ratio is its "
    "median, with its best number of threads up to the row's, over ours with the row's; scipy's sparse "
    "product, sklearn's vectorizers and gensim's counting have no threads and stand in all rows",
    "KMP_BLOCKTIME={blocktime}, passive OpenMP waits and a pause of {pause} s before each call, so that no "
    "contestant's idle threads spin on the cores of the next; BLAS and OpenMP pools have the row's threads "
    "(threadpoolctl)",
    "limits: the least work by the row's cost model per second, over what the probe measured with as many "
    "threads; above 100% means that a level nearer than the one named has served part of it",
]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratios", description=__doc__)
    parser.add_argument("suite", nargs="?", choices=suite_names())
    parser.add_argument(
        "--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two results of one suite, instead of a run"
    )
    parser.add_argument(
        "--fail-below",
        type=float,
        metavar="SPEED",
        help="with --compare: exit with 1 if a speed, over the old one, is below this beyond noise",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="with --compare: draw it there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="smaller data: about half a minute")
    size.add_argument("--tiny", action="store_true", help="data that only shows that it runs (for the tests)")
    parser.add_argument("--rounds", type=int, help="rounds instead of the workload's own number")
    parser.add_argument("--threads", type=int, nargs="+", help="default: 1, 2 and all cores")
    parser.add_argument("--data", type=Path, help="folder with europarl/ (default: SEMPROJ_DATA)")
    parsed = parser.parse_args(arguments)
    if (parsed.suite is None) == (parsed.compare is None):
        parser.error("expected a suite, or --compare OLD NEW")
    if parsed.compare is None and (parsed.fail_below is not None or parsed.plot is not None):
        parser.error("--fail-below and --plot: expected --compare")
    if parsed.rounds is not None and parsed.rounds < 1:
        parser.error(f"--rounds: expected at least 1, got {parsed.rounds}")
    if parsed.threads and min(parsed.threads) < 1:
        parser.error(f"--threads: expected numbers of at least 1, got {parsed.threads}")
    return parsed


def _compare(asked: argparse.Namespace) -> dict[str, Any]:
    try:
        old, new = map(read_result, asked.compare)
        changes = compare(old, new)
    except ValueError as error:
        raise SystemExit(f"--compare: {error}") from None
    print(render_changes(changes))
    if asked.plot is not None:
        plot(changes, asked.plot, new["name"])
    below = [each for each in changes if asked.fail_below is not None and each.is_below(asked.fail_below)]
    if below:
        names = ", ".join(f"{each.workload} ({each.speed:.2f})" for each in below)
        raise SystemExit(f"--fail-below: below {asked.fail_below:g}, beyond noise: {names}")
    return {"changes": changes}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    asked = parse(arguments)
    if asked.compare is not None:
        return _compare(asked)
    options = Options(
        threads=tuple(sorted(set(asked.threads or default_threads()))),
        size="quick" if asked.quick else "tiny" if asked.tiny else "full",
        rounds=asked.rounds,
        data=asked.data,
        pause=0.0 if asked.tiny else 0.25,
    )
    limits = measure_limits(options.threads, options.size)
    machine = {**describe(limits), "size": options.size}
    blocktime = os.environ["KMP_BLOCKTIME"]
    machine["notes"] = [note.format(blocktime=blocktime, pause=options.pause) for note in NOTES]
    machine["notes"] += [f"peer not installed: {peer}" for peer in peers.missing()]
    if "note" in limits:
        machine["notes"].append(limits["note"])
    if options.size != "full":
        machine["notes"].append(f"{options.size} sizes: not the timings to quote")
    rows = run(make_workloads(asked.suite, options), options, limits["by_threads"])
    result = {"name": asked.suite, "machine": machine, "rows": rows}
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(render(result))
    return result


if __name__ == "__main__":
    main()
