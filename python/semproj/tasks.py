"""Tasks with questions and right answers, for models of words: closest opposites, graded relations, antonyms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ._common.files import PathLike, numbered_lines
from ._common.types import Array

__all__ = [
    "AntonymPairs",
    "AntonymResult",
    "ClosestOppositeQuestion",
    "ClosestOppositeResult",
    "MaxDiff",
    "MaxDiffQuestion",
    "MaxDiffResult",
    "best_threshold",
    "closest_opposite",
    "read_antonym_pairs",
    "read_closest_opposite",
    "read_maxdiff",
    "read_ratings",
    "score_antonyms",
]

Pair: TypeAlias = tuple[str, str]
PairScores: TypeAlias = "Mapping[Pair, float] | Callable[[str, str], float]"
_Choice: TypeAlias = tuple[tuple[Pair, ...], Pair]
_QUOTED = re.compile(r'"([^"]*)"')


class ClosestOppositeQuestion(NamedTuple):
    """Which of the choices is most nearly opposite in meaning to the target?"""

    target: str
    choices: tuple[str, ...]
    answer: str


class ClosestOppositeResult(NamedTuple):
    """Right answers per answered question, per question, and the harmonic mean of the two."""

    precision: float
    recall: float
    f1: float
    n_right: int
    n_answered: int
    n_questions: int


class SupportsSimilarity(Protocol):
    """What knows some words, and how similar they are."""

    def __contains__(self, word: object) -> bool: ...

    def similarity(self, a: Any, b: Any) -> Any: ...


def read_closest_opposite(path: PathLike) -> list[ClosestOppositeQuestion]:
    """Read questions, one a line: ``target: choice choice ... :: answer``.

    The format of the GRE questions of Mohammad, Dorr and Hirst 2008. Empty lines are passed over.

    Parameters
    ----------
    path : path-like
        UTF-8; ``.gz`` and ``.xz`` are unpacked.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.tasks import read_closest_opposite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "questions.txt")
    ...     _ = path.write_text("hot: warm cold red :: cold\\n")
    ...     read_closest_opposite(path)
    [ClosestOppositeQuestion(target='hot', choices=('warm', 'cold', 'red'), answer='cold')]
    """
    questions = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        question, found, answer = line.partition("::")
        target, colon, choices = question.partition(":")
        each = ClosestOppositeQuestion(target.strip(), tuple(choices.split()), answer.strip())
        if not (found and colon and each.target) or each.answer not in each.choices:
            raise ValueError(
                f"{path}, line {number}: expected 'target: choice choice ... :: answer' with the answer among the "
                f"choices, got {line!r}"
            )
        questions.append(each)
    return questions


def closest_opposite(
    model: SupportsSimilarity, questions: Iterable[ClosestOppositeQuestion | Sequence[Any]]
) -> ClosestOppositeResult:
    """Answer closest-opposite questions by the choice of smallest similarity to the target.

    By the rules of Yih, Zweig and Platt 2012: a question whose target, or all of whose choices, the model does not
    know is not answered; of the other choices, those that it does not know are ignored. Of equals the first is
    taken.

    Parameters
    ----------
    model : PILSA, or anything with ``similarity(word, words)`` and ``word in model``
    questions : iterable of (target, choices, answer)

    Returns
    -------
    ClosestOppositeResult

    Examples
    --------
    >>> from semproj import tasks
    >>> class Letters:  # words are as similar as they have letters in common
    ...     def __contains__(self, word):
    ...         return word != "unheard"
    ...     def similarity(self, word, words):
    ...         return [len(set(word) & set(other)) for other in words]
    >>> scores = tasks.closest_opposite(Letters(), [("hot", ("hat", "cold"), "cold"), ("unheard", ("a",), "a")])
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    """
    n_right = n_answered = n_questions = 0
    for target, choices, answer in questions:
        n_questions += 1
        known = [choice for choice in choices if choice in model]
        if target not in model or not known:
            continue
        n_answered += 1
        n_right += known[int(np.argmin(model.similarity(target, known)))] == answer
    if n_questions == 0:
        raise ValueError("questions: expected at least one")
    precision = n_right / n_answered if n_answered else 0.0
    recall = n_right / n_questions
    f1 = 2 * n_right / (n_answered + n_questions)
    return ClosestOppositeResult(precision, recall, f1, n_right, n_answered, n_questions)


class MaxDiffQuestion(NamedTuple):
    """Pairs of words, and how many people chose each as the least, and as the most illustrative.

    `n_people` were asked; some do not choose.
    """

    pairs: tuple[Pair, ...]
    least: tuple[int, ...]
    most: tuple[int, ...]
    n_people: int


class MaxDiffResult(NamedTuple):
    """Shares of right answers from 0 to 1 (`accuracy` is the mean of the other two), and rank correlation."""

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
        The gold ratings, as maxdiff_to_scale.pl writes them: the percentage of times that a pair was chosen as
        most illustrative, minus that as least, with one decimal.

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
        """Evaluate scores of the pairs, as the task's own programs do.

        Parameters
        ----------
        scores : mapping from pairs to numbers, or function of two words
            More is more illustrative. Of equal scores in a question the first pair is the answer.

        Returns
        -------
        MaxDiffResult
            An answer is right if no other pair has more votes. `spearman` is the rank correlation with the gold
            ratings, ties with their mean ranks; 0 if all scores are equal.
        """
        found = {pair: _score_of(scores, pair) for question in self.questions for pair in question.pairs}
        least = most = 0
        for question in self.questions:
            values = [found[pair] for pair in question.pairs]
            least += question.least[values.index(min(values))] == max(question.least)
            most += question.most[values.index(max(values))] == max(question.most)
        n = len(self.questions)
        rated = list(self.ratings)
        return MaxDiffResult(
            (least + most) / (2 * n),
            least / n,
            most / n,
            _spearman([found[pair] for pair in rated], [self.ratings[pair] for pair in rated]),
        )


def read_maxdiff(path: PathLike) -> MaxDiff:
    """Read a file ``Phase2Answers-*.txt``: four pairs, the least and the most illustrative, one answer a line.

    Answers to the same four pairs in the same order are one question. An empty answer is no vote.

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
    """Read a file of ratings, the gold ones or a system's: lines of a number and ``"word:word"``."""
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


class AntonymPairs(NamedTuple):
    """Pairs of words; a label is True for antonyms and False for synonyms."""

    first: list[str]
    second: list[str]
    labels: npt.NDArray[np.bool_]


class AntonymResult(NamedTuple):
    """How well scores tell antonyms: with a threshold (all but the last), and as a ranking."""

    accuracy: float
    precision: float
    recall: float
    f1: float
    threshold: float
    average_precision: float


def read_antonym_pairs(path: PathLike) -> AntonymPairs:
    """Read lines ``word TAB word TAB label``, as those of AntSynNET; 1 stands for antonyms, 0 for synonyms.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.tasks import read_antonym_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "adjective-pairs.train")
    ...     _ = path.write_text("hot\\tcold\\t1\\nhot\\twarm\\t0\\n")
    ...     read_antonym_pairs(path)
    AntonymPairs(first=['hot', 'hot'], second=['cold', 'warm'], labels=array([ True, False]))
    """
    first, second, labels = [], [], []
    for number, line in numbered_lines(path):
        if line.strip():
            fields = line.split("\t") if "\t" in line else line.split()
            if len(fields) != 3 or fields[2] not in ("0", "1"):
                raise ValueError(f"{path}, line {number}: expected two words and 0 or 1, got {line[:80]!r}")
            first.append(fields[0])
            second.append(fields[1])
            labels.append(fields[2] == "1")
    return AntonymPairs(first, second, np.array(labels, np.bool_))


def score_antonyms(
    train_scores: npt.ArrayLike, train_labels: npt.ArrayLike, scores: npt.ArrayLike, labels: npt.ArrayLike
) -> AntonymResult:
    """Tell antonyms from synonyms by a score.

    Parameters
    ----------
    train_scores, train_labels : array-like of shape (n_train,)
        The threshold is the `best_threshold` of these.
    scores, labels : array-like of shape (n,)
        More is more antonymous: the negative cosine of a space in which antonyms are opposite. A pair of which
        nothing is known needs a number too: 0 for a cosine.

    Returns
    -------
    AntonymResult

    Examples
    --------
    >>> from semproj.tasks import score_antonyms
    >>> score_antonyms([0.9, 0.4, -0.2], [1, 1, 0], [0.5, 0.2, 0.0, 0.3], [1, 1, 0, 0])
    AntonymResult(accuracy=0.75, precision=0.66..., recall=1.0, f1=0.8, threshold=0.1, average_precision=0.83...)
    """
    from sklearn.metrics import average_precision_score

    threshold = best_threshold(train_scores, train_labels)
    found, truth = _checked("scores", scores, "labels", labels)
    decided = found >= threshold
    hits = int((decided & truth).sum())
    return AntonymResult(
        accuracy=float((decided == truth).mean()),
        precision=hits / max(1, int(decided.sum())),
        recall=hits / max(1, int(truth.sum())),
        f1=2 * hits / max(1, int(decided.sum() + truth.sum())),
        threshold=threshold,
        average_precision=float(average_precision_score(truth, found)) if truth.any() else 0.0,
    )


def best_threshold(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """From which score on to say yes, so that most labels are right: halfway between two scores, or infinite.

    The lowest one of several.

    Examples
    --------
    >>> from semproj.tasks import best_threshold
    >>> best_threshold([0.1, 0.4, 0.6, 0.3], [False, True, True, False])
    0.35
    """
    found, truth = _checked("scores", scores, "labels", labels)
    order = np.argsort(found, kind="stable")
    ranked, yes = found[order], truth[order]
    right = np.concatenate([[0], np.cumsum(~yes)]) + np.concatenate([np.cumsum(yes[::-1])[::-1], [0]])
    bounds = np.concatenate([[-np.inf], ranked[:-1] / 2 + ranked[1:] / 2, [np.inf]])
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])  # equal scores are not told apart
    return float(bounds[np.argmax(np.where(possible, right, -1))])


def _checked(
    scores_name: str, scores: npt.ArrayLike, labels_name: str, labels: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    found, truth = np.asarray(scores, np.float64), np.asarray(labels)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise ValueError(f"{scores_name}: expected a vector of finite numbers, got shape {found.shape}")
    if truth.shape != found.shape or not np.isin(truth, (0, 1)).all():
        raise ValueError(f"{labels_name}: expected 0 or 1 for each of the {len(found)} scores")
    return found, truth.astype(np.bool_)


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
        return 0.0  # of a constant there is none
    return float(np.corrcoef(ranks)[0, 1])
