"""Count words or n-grams of text, with one vocabulary or one for each language; read files as streams."""

from __future__ import annotations

from ._counter import Document, TermCounter
from ._documents import iter_batches, read_jsonl, read_lines, read_tsv
from ._multicounter import MultiTermCounter

__all__ = ["Document", "MultiTermCounter", "TermCounter", "iter_batches", "read_jsonl", "read_lines", "read_tsv"]
