"""The tables of the papers behind this library: `python -m benchmarks.papers NAME --data DIR --split dev`.

Papers are grouped by family: `crosslingual`, `sentences`, `thesauri`. A new one is a module of its family with a
`PAPER`, the numbers that it prints in `published`, and a line in `framework.registry`.
"""

from benchmarks.papers.framework.registry import PAPERS, Options, Paper, load
from benchmarks.papers.framework.tables import Report, Row, render, write_json

__all__ = ["PAPERS", "Options", "Paper", "Report", "Row", "load", "render", "write_json"]
