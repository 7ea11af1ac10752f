"""The questions that models of thesauri answer, by split: dev, by which settings may be chosen, or test.

All raise `files.MissingFile`, which names the file, before anything is read.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.framework.files import evenly, require
from semproj import tasks

PARTS_OF_SPEECH = ("adjective", "noun", "verb")
SUBCATEGORIES = {"dev": ("1a",), "test": ("1b", "1c", "1d")}


def read_questions(data: Path, split: str, limit: int | None = None) -> list[tasks.ClosestOppositeQuestion]:
    """The GRE's closest-opposite questions, at most so many: gre/{split}.txt."""
    path = data / "gre" / f"{split}.txt"
    require(path)
    return evenly(tasks.read_closest_opposite(path), limit)


def read_antonyms(data: Path, split: str) -> dict[str, tuple[tasks.AntonymPairs, tasks.AntonymPairs]]:
    """AntSynNET's pairs by part of speech: those to choose a threshold by, and those of the split.

    From antsyn/{adjective,noun,verb}-pairs: .train for the threshold, .val on dev or .test on test.
    """
    ending = "val" if split == "dev" else "test"
    paths = {
        pos: [data / "antsyn" / f"{pos}-pairs.{each}" for each in ("train", ending)] for pos in PARTS_OF_SPEECH
    }
    require(*(path for both in paths.values() for path in both))
    return {
        pos: (tasks.read_antonym_pairs(train), tasks.read_antonym_pairs(held))
        for pos, (train, held) in paths.items()
    }


def read_relations(data: Path, split: str) -> dict[str, tasks.MaxDiff]:
    """SemEval-2012's questions on class inclusion, by subcategory: semeval2012/Phase2Answers."""
    folder = data / "semeval2012" / "Phase2Answers"
    paths = {name: folder / f"Phase2Answers-{name}.txt" for name in SUBCATEGORIES[split]}
    require(*paths.values())
    return {name: tasks.read_maxdiff(path) for name, path in paths.items()}
