"""Text to counts: words or n-grams, one vocabulary or one per language, and files read as streams."""

from __future__ import annotations

from ._counter import Document, TermCounter
from ._documents import iter_batches, read_jsonl, read_lines, read_tsv
from ._multicounter import MultiTermCounter

__all__ = ["Document", "MultiTermCounter", "TermCounter", "iter_batches", "read_jsonl", "read_lines", "read_tsv"]
