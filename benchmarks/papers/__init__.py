"""The tables of the papers behind this library: `python -m benchmarks.papers NAME --data DIR --split dev`.

A new paper is one module here with a function ``run(options) -> Report`` and a line in `registry.PAPERS`.
"""

from benchmarks.papers.registry import PAPERS, Options, Paper, load
from benchmarks.papers.tables import Report, Row, render, write_json

__all__ = ["PAPERS", "Options", "Paper", "Report", "Row", "load", "render", "write_json"]
