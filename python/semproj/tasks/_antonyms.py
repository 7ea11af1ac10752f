"""Telling antonyms from synonyms by a score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._common.files import PathLike, numbered_lines


class AntonymPairs(NamedTuple):
    """Pairs of words, with labels: True for antonyms and False for synonyms."""

    first: list[str]
    second: list[str]
    labels: npt.NDArray[np.bool_]


class AntonymResult(NamedTuple):
    """How well scores tell antonyms: by a threshold, and, for `average_precision`, as a ranking."""

    accuracy: float
    precision: float
    recall: float
    f1: float
    threshold: float
    average_precision: float


def read_antonym_pairs(path: PathLike) -> AntonymPairs:
    """Read lines ``word TAB word TAB label``, as AntSynNET has them; 1 means antonyms, 0 synonyms.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    AntonymPairs

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
    """Measure how well a score tells antonyms from synonyms.

    Parameters
    ----------
    train_scores, train_labels : array-like of shape (n_train,)
        Their `best_threshold` is the threshold.
    scores, labels : array-like of shape (n,)
        A higher score means more antonymous, such as the negative cosine in a space where antonyms are opposite.
        An unknown pair needs a number too: 0 for a cosine.

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
    found, truth = _checked(scores, labels)
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
    """Return the threshold that gets most labels right, if scores from there on mean True.

    It is halfway between two scores, or infinite. Of several that are equally good, it is the lowest.

    Parameters
    ----------
    scores, labels : array-like of shape (n,)

    Returns
    -------
    float

    Examples
    --------
    >>> from semproj.tasks import best_threshold
    >>> best_threshold([0.1, 0.4, 0.6, 0.3], [False, True, True, False])
    0.35
    """
    found, truth = _checked(scores, labels)
    order = np.argsort(found, kind="stable")
    ranked, yes = found[order], truth[order]
    right = np.concatenate([[0], np.cumsum(~yes)]) + np.concatenate([np.cumsum(yes[::-1])[::-1], [0]])
    bounds = np.concatenate([[-np.inf], ranked[:-1] / 2 + ranked[1:] / 2, [np.inf]])
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])  # no threshold separates equal scores
    return float(bounds[np.argmax(np.where(possible, right, -1))])


def _checked(
    scores: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    found, truth = np.asarray(scores, np.float64), np.asarray(labels)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise ValueError(f"scores: expected a vector of finite numbers, got shape {found.shape}")
    if truth.shape != found.shape or not np.isin(truth, (0, 1)).all():
        raise ValueError(f"labels: expected 0 or 1 for each of the {len(found)} scores")
    return found, truth.astype(np.bool_)
