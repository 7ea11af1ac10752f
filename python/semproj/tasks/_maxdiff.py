"""SemEval-2012 Task 2: which pairs of words illustrate a relation most and least."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from .._common.files import PathLike, numbered_lines
from .._common.types import Array

Pair: TypeAlias = tuple[str, str]
PairScores: TypeAlias = "Mapping[Pair, float] | Callable[[str, str], float]"
_Choice: TypeAlias = tuple[tuple[Pair, ...], Pair]
_QUOTED = re.compile(r'"([^"]*)"')


class MaxDiffQuestion(NamedTuple):
    """Pairs of words, and how many people chose each as the least and as the most illustrative.

    `n_people` were asked; some of them may not have chosen.
    """

    pairs: tuple[Pair, ...]
    least: tuple[int, ...]
    most: tuple[int, ...]
    n_people: int


class MaxDiffResult(NamedTuple):
    """Shares of right answers, from 0 to 1 (`accuracy` is the mean of the other two), and the rank correlation."""

    accuracy: float
    least: float
    most: float
    spearman: float


class MaxDiff:
    """Which of a few pairs of words illustrate a relation most and least (SemEval-2012 Task 2).

    Parameters
    ----------
    questions : list of MaxDiffQuestion

    Attributes
    ----------
    questions : list of MaxDiffQuestion
    ratings : dict of pairs to float
        The gold ratings, as maxdiff_to_scale.pl writes them: how often a pair was chosen as most illustrative, in
        per cent, minus how often as least, rounded to one decimal.

    Examples
    --------
    >>> from semproj.tasks import MaxDiff, MaxDiffQuestion
    >>> pairs = ("bird", "robin"), ("oak", "tree"), ("fruit", "plum"), ("bird", "swan")
    >>> task = MaxDiff([MaxDiffQuestion(pairs, least=(0, 3, 1, 1), most=(2, 0, 2, 1), n_people=5)])
    >>> task.ratings["bird", "robin"], task.ratings["oak", "tree"]
    (40.0, -60.0)
    >>> task.score({("bird", "robin"): 3, ("oak", "tree"): 0, ("fruit", "plum"): 2, ("bird", "swan"): 1})
    MaxDiffResult(accuracy=1.0, least=1.0, most=1.0, spearman=1.0)
    """

    def __init__(self, questions: list[MaxDiffQuestion]) -> None:
        if not questions:
            raise ValueError("questions: expected at least one")
        for number, question in enumerate(questions):
            if not len(question.pairs) == len(question.least) == len(question.most) or len(question.pairs) < 2:
                raise ValueError(f"questions[{number}]: expected votes for each of two or more pairs")
            if question.n_people < max(1, sum(question.least), sum(question.most)):
                raise ValueError(f"questions[{number}]: expected n_people not below the votes or 1")
        self.questions = questions
        shown, chosen = Counter[Pair](), Counter[Pair]()
        for question in questions:
            for pair, least, most in zip(*question[:3], strict=True):
                shown[pair] += question.n_people
                chosen[pair] += most - least
        self.ratings = {pair: round(100 * chosen[pair] / shown[pair], 1) for pair in shown}

    def score(self, scores: PairScores) -> MaxDiffResult:
        """Evaluate the scores of all pairs, as the task's own programs do.

        Parameters
        ----------
        scores : mapping from pairs to numbers, or function of two words
            A higher score means more illustrative. Among equal scores in a question, the first pair is the answer.

        Returns
        -------
        MaxDiffResult
            An answer is right if no other pair has more votes. `spearman` is the rank correlation with the gold
            ratings, where ties have their mean rank; it is 0 if all scores are equal.
        """
        found = {pair: _score_of(scores, pair) for question in self.questions for pair in question.pairs}
        least = most = 0
        for question in self.questions:
            values = [found[pair] for pair in question.pairs]
            least += question.least[values.index(min(values))] == max(question.least)
            most += question.most[values.index(max(values))] == max(question.most)
        n = len(self.questions)
        spearman = _spearman([found[pair] for pair in self.ratings], list(self.ratings.values()))
        return MaxDiffResult((least + most) / (2 * n), least / n, most / n, spearman)


def read_maxdiff(path: PathLike) -> MaxDiff:
    """Read a file ``Phase2Answers-*.txt``: each line has four pairs, the least and the most illustrative of them.

    Answers to the same four pairs in the same order make one question. An empty answer is no vote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    MaxDiff

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.tasks import read_maxdiff
    >>> answer = '"bird:robin"\\t"oak:tree"\\t"fruit:plum"\\t"bird:swan"\\t"oak:tree"\\t"bird:robin"\\t"X is a Y"'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "Phase2Answers-1a.txt")
    ...     _ = path.write_text("# pair1 ...\\n" + answer)
    ...     (question,) = read_maxdiff(path).questions
    >>> question.pairs[1], question.least, question.most
    (('oak', 'tree'), (0, 1, 0, 0), (1, 0, 0, 0))
    """
    least, most, people = Counter[_Choice](), Counter[_Choice](), Counter[tuple[Pair, ...]]()
    for number, line in numbered_lines(path):
        if line.strip() and not line.startswith("#"):
            fields = _QUOTED.findall(line)
            if len(fields) not in (6, 7):
                raise ValueError(f"{path}, line {number}: expected four pairs and two answers, got {line[:80]!r}")
            pairs = tuple(_pair(field, path, number) for field in fields[:4])
            people[pairs] += 1
            for votes, answer in ((least, fields[4]), (most, fields[5])):
                if answer and _pair(answer, path, number) not in pairs:
                    raise ValueError(f"{path}, line {number}: {answer!r} is not one of the four pairs")
                if answer:
                    votes[pairs, _pair(answer, path, number)] += 1
    if not people:
        raise ValueError(f"{path}: expected at least one answer, got none")

    def votes_for(pairs: tuple[Pair, ...], votes: Counter[_Choice]) -> tuple[int, ...]:
        return tuple(votes[pairs, pair] for pair in pairs)

    return MaxDiff(
        [MaxDiffQuestion(pairs, votes_for(pairs, least), votes_for(pairs, most), n) for pairs, n in people.items()]
    )


def read_ratings(path: PathLike) -> dict[Pair, float]:
    """Read ratings, the gold ones or those of a system: each line has a number and ``"word:word"``.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict of pairs to float
    """
    ratings = {}
    for number, line in numbered_lines(path):
        if line.strip() and not line.startswith("#"):
            fields = _QUOTED.findall(line)
            try:
                value = float(line.split('"')[0])
            except ValueError:
                value = np.nan
            if len(fields) != 1 or not np.isfinite(value):
                raise ValueError(f"{path}, line {number}: expected a number and a quoted pair, got {line[:80]!r}")
            ratings[_pair(fields[0], path, number)] = value
    return ratings


def _pair(text: str, path: PathLike, number: int) -> Pair:
    first, colon, second = text.partition(":")
    if not colon or not first or not second:
        raise ValueError(f"{path}, line {number}: expected a pair like 'bird:robin', got {text!r}")
    return first, second


def _score_of(scores: PairScores, pair: Pair) -> float:
    try:
        value = float(scores(*pair) if callable(scores) else scores[pair])
    except KeyError:
        raise ValueError(f"scores: expected a number for each pair, there is none for {pair}") from None
    if not np.isfinite(value):
        raise ValueError(f"scores: expected finite numbers, got {value} for {pair}")
    return value


def _spearman(first: list[float], second: list[float]) -> float:
    from scipy.stats import rankdata

    ranks: Array = rankdata([first, second], axis=1)
    if (np.ptp(ranks, axis=1) == 0).any():
        return 0.0  # a constant has no correlation
    return float(np.corrcoef(ranks)[0, 1])
