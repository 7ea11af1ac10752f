"""Text for language models, a sentence a line: the novels of the data folder, or an invented text."""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.machine import CACHE

NOVELS = "holmes_novels.tar.xz"
HELD_OUT = 50  # of so many sentences, one is kept to measure
TOKEN = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*|[^\sa-z0-9]")
BLOCK = 10_000  # invented sentences at once


@dataclass(frozen=True)
class Sentences:
    """Files of a sentence a line, words divided by spaces: to learn from, and to measure."""

    train: Path
    held_out: Path
    n_words: int
    source: str

    def lines(self, n: int) -> list[str]:
        """The first ones that were held out, and not empty."""
        with self.held_out.open(encoding="utf-8") as lines:
            return list(islice((line.rstrip("\n") for line in lines), n))


def sentences(n_words: int, folder: Path | None = None) -> Sentences:
    """About `n_words` to learn from. Kept in the cache folder, as cutting 41 million words takes a minute."""
    found = data.folder(folder)
    path = found / NOVELS if found is not None else None
    real = path is not None and path.exists()
    state = f"{n_words} {path.stat().st_size}" if real and path is not None else f"{n_words} invented"
    key = hashlib.sha256(state.encode()).hexdigest()[:16]
    train, held_out, total = (CACHE / f"sentences-{key}.{what}" for what in ("train", "held_out", "words"))
    if not total.exists():
        lines = _novels(path) if real and path is not None else _invented()
        CACHE.mkdir(parents=True, exist_ok=True)
        _write(lines, n_words, train, held_out, total)
    source = f"sentences of {NOVELS}, lower case" if real else "an invented text of Zipf words in Zipf phrases"
    return Sentences(train, held_out, int(total.read_text()), source)


def _write(lines: Iterable[str], n_words: int, train: Path, held_out: Path, total: Path) -> None:
    """To files of other names first, so that a run that is stopped leaves none."""
    fresh = [path.with_name(f"{path.name}.{os.getpid()}") for path in (train, held_out, total)]
    found = 0
    with fresh[0].open("w", encoding="utf-8") as learned, fresh[1].open("w", encoding="utf-8") as kept:
        for number, line in enumerate(lines):
            if found >= n_words:
                break
            if number % HELD_OUT == 0:
                kept.write(line + "\n")
                continue
            learned.write(line + "\n")
            found += line.count(" ") + 1
    fresh[2].write_text(str(found))
    for path, whole in zip(fresh, (train, held_out, total), strict=True):
        path.replace(whole)


def _novels(path: Path) -> Iterator[str]:
    """Sentences of the books of Project Gutenberg, without what stands before and after them."""
    with tarfile.open(path) as books:
        for member in books:
            file = books.extractfile(member)
            if file is None:
                continue
            text = file.read().decode("latin-1").lower()
            for mark in ("*end*the small print", "*end the small print", "*** start of"):
                _, found, after = text.partition(mark)
                text = after.partition("\n")[2] if found else text
            text = re.split(r"\*\*\* ?end of|end of (?:the )?project gutenberg", text)[0]
            for paragraph in re.split(r"\n\s*\n", text):
                for sentence in re.split(r"(?<=[.!?])[\"')\s]+", " ".join(paragraph.split())):
                    words = TOKEN.findall(sentence)
                    if words:
                        yield " ".join(words)


def _invented(n_types: int = 60_000, n_phrases: int = 300_000, seed: int = 0) -> Iterator[str]:
    """Phrases of one to five Zipf words, themselves drawn by a Zipf law, so that n-grams come again as in text."""
    rng = np.random.default_rng(seed)
    names = np.array([f"w{number:x}" for number in range(n_types)], object)
    ends = np.cumsum(rng.integers(1, 6, n_phrases))
    words = names[data.zipf_words(int(ends[-1]), n_types, seed)]
    phrases = np.array([" ".join(part) for part in np.split(words, ends[:-1])], object)
    for block in range(2**31):
        lengths = rng.integers(2, 12, BLOCK)
        drawn = phrases[data.zipf_words(int(lengths.sum()), n_phrases, seed + 1 + block)]
        for part in np.split(drawn, np.cumsum(lengths)[:-1]):
            yield " ".join(part)
