"""Class inclusion looked up in WordNet: the baseline of Chang, Yih and Meek 2013, Table 2.

    python -m benchmarks.papers.thesauri.hypernym_lookup --data DIR

prints its MaxDiff accuracies on the subcategories of SemEval-2012 Task 2 that DIR has.
"""

from __future__ import annotations

import argparse
import os
from functools import lru_cache
from pathlib import Path

from semproj.tasks import read_maxdiff
from semproj.wordnet import WordNet

Key = tuple[str, int]


class HypernymLookup:
    """How near a word is above another one, by paths of hypernyms from any sense of the lower one.

    Parameters
    ----------
    wordnet : WordNet
    reverse : bool, default False
        Pairs in the wrong order ("oak", "tree") have the negative degree of the right one, not zero.
    """

    def __init__(self, wordnet: WordNet, *, reverse: bool = False) -> None:
        self.wordnet = wordnet
        self.reverse = reverse
        self._above = lru_cache(maxsize=None)(self._find_above)

    def degree(self, general: str, special: str) -> float:
        """One over the length of the shortest path up from `special` to a synset with `general`; 0 without one."""
        up = self._upwards(general, special)
        return up - self._upwards(special, general) if self.reverse else up

    def _upwards(self, general: str, special: str) -> float:
        names = {general.lower(), *self.wordnet.morphy(general)}
        above = self._above(special)
        return max((1 / distance for word, distance in above.items() if word in names), default=0.0)

    def _find_above(self, word: str) -> dict[str, int]:
        """Words of the hypernyms, their hypernyms and so on, with the least number of steps to each."""
        wordnet = self.wordnet
        seen: set[Key] = set()
        words: dict[str, int] = {}
        bases = ((base, pos) for pos in "nv" for base in wordnet.morphy(word, pos))
        level = [(sense.pos, sense.offset) for base, pos in bases for sense in wordnet.senses(base, pos)]
        distance = 0
        while level:
            fresh = [key for key in dict.fromkeys(level) if key not in seen]
            seen.update(fresh)
            if distance:
                for key in fresh:
                    for each in wordnet.synsets[key].words:
                        words.setdefault(each.lower(), distance)
            level = [
                (pointer.pos, pointer.offset)
                for key in fresh
                for pointer in wordnet.synsets[key].pointers
                if pointer.symbol in ("@", "@i")
            ]
            distance += 1
        return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SEMPROJ_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("expected --data DIR, or SEMPROJ_DATA in the environment")
    data = Path(data)
    wordnet = WordNet(data / "wordnet30.tar.xz")
    for path in sorted((data / "semeval2012" / "Phase2Answers").glob("Phase2Answers-*.txt")):
        task = read_maxdiff(path)
        for reverse in (False, True):
            found = task.score(HypernymLookup(wordnet, reverse=reverse).degree)
            name = "lookup, both directions" if reverse else "lookup"
            print(f"{path.stem:20} {name:24} MaxDiff {100 * found.accuracy:.1f}  Spearman {found.spearman:.3f}")


if __name__ == "__main__":
    main()
