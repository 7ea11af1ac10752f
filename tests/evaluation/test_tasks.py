"""MaxDiff questions and antonym pairs on invented files; the lookup of hypernyms in an invented WordNet."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, f1_score

from benchmarks.papers.thesauri.hypernym_lookup import HypernymLookup
from semproj.tasks import (
    MaxDiff,
    MaxDiffQuestion,
    best_threshold,
    read_antonym_pairs,
    read_maxdiff,
    read_ratings,
    score_antonyms,
)
from semproj.wordnet import WordNet

PAIRS = [("tool", "saw"), ("saw", "tool"), ("drink", "tea"), ("game", "chess"), ("tool", "rake")]


def answer(numbers, least, most):
    named = [f'"{first}:{second}"' for first, second in (PAIRS[i] for i in numbers)]
    chosen = ["" if i is None else ":".join(PAIRS[i]) for i in (least, most)]
    return "\t".join([*named, *(f'"{pair}"' for pair in chosen), '"Y is a kind of X"'])


@pytest.fixture
def task(tmp_path):
    first, second = (0, 1, 2, 3), (4, 3, 1, 0)
    lines = [
        "# pair1\tpair2\tpair3\tpair4\tleast_illustrative\tmost_illustrative\tuser_selected_relation",
        answer(first, 1, 0),
        answer(first, 1, 2),
        answer(second, 3, 4),
        answer(first, 3, None),
        answer(first, 3, 0),
        "",
        answer(second, 1, 4),
        answer(second, 1, 4),
    ]
    path = tmp_path / "Phase2Answers-1a.txt"
    path.write_text("\r\n".join(lines))
    return read_maxdiff(path)


def test_answers_are_counted(task):
    assert task.questions == [
        MaxDiffQuestion(tuple(PAIRS[i] for i in (0, 1, 2, 3)), (0, 2, 0, 2), (2, 0, 1, 0), 4),
        MaxDiffQuestion(tuple(PAIRS[i] for i in (4, 3, 1, 0)), (0, 1, 2, 0), (3, 0, 0, 0), 3),
    ]


def test_ratings_are_percentages_of_all_that_were_asked(task):
    # chess: least three times of seven, most never; tea: most once of four
    assert task.ratings == dict(zip(PAIRS, (28.6, -57.1, 25.0, -42.9, 100.0), strict=True))


def test_all_right(task):
    found = task.score(dict(zip(PAIRS, (3, 0, 2, 1, 4), strict=True)))
    assert found == (1.0, 1.0, 1.0, pytest.approx(1.0))


def test_an_answer_that_shares_the_most_votes_is_right(task):
    # In the first question chess and saw:tool tie as least; in the second only saw:tool is right.
    found = task.score(dict(zip(PAIRS, (3, 1, 2, 0, 4), strict=True)))
    assert (found.least, found.most, found.accuracy) == (0.5, 1.0, 0.75)


def test_of_equal_scores_the_first_pair_is_the_answer(task):
    found = task.score(lambda first, second: 1.0)
    # first question: tool:saw is both, right as most alone; second: tool:rake is both, right as most alone
    assert found == (0.5, 0.0, 1.0, 0.0)


def test_correlation_with_ties(task):
    scores = dict(zip(PAIRS, (1.0, 1.0, 0.5, 0.2, 3.0), strict=True))
    expected = stats.spearmanr([scores[pair] for pair in PAIRS], [task.ratings[pair] for pair in PAIRS])[0]
    assert task.score(scores).spearman == pytest.approx(expected, abs=1e-12)


def test_bad_scores(task):
    with pytest.raises(ValueError, match=r"scores: .*there is none for \('saw', 'tool'\)"):
        task.score({PAIRS[0]: 1.0})
    with pytest.raises(ValueError, match="scores: expected finite numbers, got nan"):
        task.score(lambda first, second: np.nan)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"a:b" "c:d"', "line 1: expected four pairs and two answers"),
        ('"a:b" "c:d" "e:f" "gh" "a:b" "c:d"', "line 1: expected a pair like 'bird:robin', got 'gh'"),
        ('"a:b" "c:d" "e:f" "g:h" "a:b" "x:y"', "line 1: 'x:y' is not one of the four pairs"),
        ("# nothing", "expected at least one answer"),
    ],
)
def test_malformed_answers(tmp_path, line, message):
    (tmp_path / "answers").write_text(line)
    with pytest.raises(ValueError, match=message):
        read_maxdiff(tmp_path / "answers")


def test_bad_questions():
    with pytest.raises(ValueError, match="questions: expected at least one"):
        MaxDiff([])
    with pytest.raises(ValueError, match=r"questions\[0\]: expected votes for each"):
        MaxDiff([MaxDiffQuestion((PAIRS[0], PAIRS[1]), (1,), (0, 1), 1)])
    with pytest.raises(ValueError, match=r"questions\[0\]: expected n_people not below"):
        MaxDiff([MaxDiffQuestion((PAIRS[0], PAIRS[1]), (1, 1), (0, 1), 1)])


def test_files_of_ratings(tmp_path):
    path = tmp_path / "ratings"
    path.write_text('#\n# Scaled File\n 50.0 "tool:saw"\n-1.5 "drink:tea"\n')
    assert read_ratings(path) == {("tool", "saw"): 50.0, ("drink", "tea"): -1.5}
    path.write_text('x "tool:saw"')
    with pytest.raises(ValueError, match="line 1: expected a number and a quoted pair"):
        read_ratings(path)


def test_pairs(tmp_path):
    path = tmp_path / "pairs"
    path.write_text("hot\tcold\t1\n\nice cream\tsorbet\t0\nbig large 0\n")
    first, second, labels = read_antonym_pairs(path)
    assert (first, second) == (["hot", "ice cream", "big"], ["cold", "sorbet", "large"])
    assert labels.tolist() == [True, False, False]
    path.write_text("hot\tcold\t2\n")
    with pytest.raises(ValueError, match="line 1: expected two words and 0 or 1"):
        read_antonym_pairs(path)


def test_scores_of_antonyms_are_those_of_the_definitions():
    rng = np.random.default_rng(0)
    labels = rng.random(300) < 0.4
    scores = labels * 0.8 + rng.normal(size=300).round(1)
    train, test = slice(0, 200), slice(200, 300)
    found = score_antonyms(scores[train], labels[train], scores[test], labels[test])
    decided = scores[test] >= found.threshold
    assert found.f1 == pytest.approx(f1_score(labels[test], decided))
    assert found.accuracy == pytest.approx((decided == labels[test]).mean())
    assert found.average_precision == pytest.approx(average_precision_score(labels[test], scores[test]))
    every = [((scores[train] >= bound) == labels[train]).sum() for bound in [-np.inf, *scores[train], np.inf]]
    assert ((scores[train] >= found.threshold) == labels[train]).sum() == max(every)


def test_thresholds_beyond_all_scores():
    assert best_threshold([1.0, 2.0], [True, True]) == -np.inf
    assert best_threshold([1.0, 2.0], [False, False]) == np.inf
    assert best_threshold([1.0, 1.0, 1.0], [True, False, False]) == np.inf


def test_bad_pairs():
    with pytest.raises(ValueError, match="labels: expected 0 or 1 for each of the 2 scores"):
        best_threshold([1.0, 2.0], [1, 2])
    with pytest.raises(ValueError, match="scores: expected a vector of finite numbers"):
        best_threshold([np.inf], [1])


@pytest.fixture
def wordnet(tmp_path):
    """Things, tools, saws and handsaws; a cutter is two steps above a handsaw too."""
    (tmp_path / "data.noun").write_text(
        "00000010 03 n 01 thing 0 000 | x\n"
        "00000020 03 n 02 tool 0 implement 0 001 @ 00000010 n 0000 | x\n"
        "00000030 03 n 01 saw 0 001 @ 00000020 n 0000 | x\n"
        "00000040 03 n 01 handsaw 0 001 @ 00000030 n 0000 | x\n"
    )
    (tmp_path / "index.noun").write_text(
        "thing n 1 0 1 0 00000010\ntool n 1 0 1 0 00000020\nimplement n 1 0 1 0 00000020\n"
        "saw n 1 0 1 0 00000030\nhandsaw n 1 0 1 0 00000040\n"
    )
    return WordNet(tmp_path)


def test_hypernyms_by_the_length_of_the_path(wordnet):
    degree = HypernymLookup(wordnet).degree
    assert degree("saw", "handsaw") == 1
    assert degree("implements", "Handsaw") == 1 / 2
    assert degree("thing", "handsaws") == 1 / 3
    assert degree("handsaw", "thing") == degree("tool", "implement") == degree("tool", "xyzzy") == 0


def test_hypernyms_in_the_wrong_order(wordnet):
    degree = HypernymLookup(wordnet, reverse=True).degree
    assert degree("tool", "handsaw") == 1 / 2 == -degree("handsaw", "tool")
