"""What the tests of papers' tables share: files in a fabricated data folder, and a run of the command line."""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.papers.__main__ import main
from benchmarks.papers.crosslingual import corpora
from benchmarks.report.layouts import LAYOUTS
from semproj.datasets import planted_bilingual


def write_lines(path: Path, lines: list[str]) -> None:
    """As the data folder has them, compressed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def write_pairs(folder: Path) -> None:
    """Bilingual datasets: 300 pairs to learn from and 60 of dev and of test in each."""
    for number, (name, layout) in enumerate(corpora.LAYOUTS.items()):
        corpus = planted_bilingual(420, n_topics=6, n_terms=600, mean_length=60, random_state=number)
        for split, part in (("train", slice(300)), ("dev", slice(300, 360)), ("test", slice(360, 420))):
            rows = zip(corpus.first[part], corpus.second[part], corpus.topics[part], strict=True)
            if name == "europarl":
                lines = [f"{i}\t{a}\t{b}" for i, (a, b, _) in enumerate(rows)]
            else:
                tag = layout.label or "area"
                names = layout.languages
                lines = [
                    json.dumps({"id": str(i), tag: f"t{topic}", names[0]: a, names[1]: b})
                    for i, (a, b, topic) in enumerate(rows)
                ]
            write_lines(folder / name / f"{split}.{layout.suffix}", lines)


def write_wordnet(folder: Path, files: dict[str, str]) -> None:
    """WordNet's own files, by name, in their archive."""
    with tarfile.open(folder / "wordnet30.tar.xz", "w:xz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"wordnet30/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


def write_context(folder: Path, words: list[str], vectors: np.ndarray) -> None:
    """Context vectors, as those of GloVe are written."""
    write_lines(folder / "glove100_words.txt", words)
    np.save(folder / "glove100_vectors.f16.npy", vectors.astype(np.float16))


def opposite_question(
    word: Callable[[int, int, int], str],
    place: tuple[int, int, int],
    others: list[int],
    rng: np.random.Generator,
) -> str:
    """A closest-opposite question: one of the first six words of the other pole among words of other concepts.

    `word` names the word of a concept, a pole and a number; `place` is the target's.
    """
    concept, pole, _ = place
    answer = word(concept, 1 - pole, int(rng.integers(6)))
    choices = [answer, *(word(other, int(rng.integers(2)), int(rng.integers(6))) for other in others)]
    return f"{word(*place)}: {' '.join(rng.permutation(choices))} :: {answer}"


def run_json(paper: str, data: Path, tmp_path: Path, *arguments: str) -> dict:
    """What the command line writes."""
    file = tmp_path / "out" / "result.json"
    main([paper, "--data", str(data), "--json", str(file), *arguments])
    return json.loads(file.read_text())


def by_place(result: dict) -> dict:
    """Rows of its tables, by table, dataset, name and metric: each once."""
    found = {(r["table"], r["dataset"], r["row"], r["metric"]): r for r in result["rows"]}
    assert len(found) == len(result["rows"])
    return found


def run_paper(paper: str, data: Path, tmp_path: Path, *arguments: str) -> dict:
    """The same rows of a run."""
    return by_place(run_json(paper, data, tmp_path, *arguments))


def not_measured(paper: str, found: dict) -> set[str]:
    """Titles of rows and columns of docs/results.md that no row of a run belongs to, in the tables it has."""
    tables = {place[0] for place in found}
    layouts = [
        layout
        for layout in LAYOUTS[paper]
        if layout.place(next(iter(layout.rows.values())), next(iter(layout.columns.values())))[0] in tables
    ]
    missing: set[str] = set()
    for layout in layouts:
        missing.update(layout.rows, layout.columns)
    for layout in layouts:
        for title, row in layout.rows.items():
            for other, column in layout.columns.items():
                if layout.place(row, column) in found:
                    missing -= {title, other}
    return missing
