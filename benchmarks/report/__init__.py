"""The tables of docs/benchmarks.md, docs/results.md and README.md, written from JSON files.

    python -m benchmarks.report timings benchmarks/results/ratios/*.json --write docs/benchmarks.md
    python -m benchmarks.report timings docs/benchmarks.md --short --write README.md
    python -m benchmarks.report results FILE ... --write docs/results.md

Timings come from `python -m benchmarks.ratios SUITE --json FILE`, results from `python -m benchmarks.papers PAPER
--json FILE`. A table stands between two markers: `<!-- timings -->` and `<!-- end of timings -->`, or those of
`results platt2010`. What no file has stays as it is.
"""
