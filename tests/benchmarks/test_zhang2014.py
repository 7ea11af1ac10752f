"""Table 2 and Figure 2 of Zhang and others 2014 on an invented language: resources, models, what is skipped."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers.thesauri import relatedness, zhang2014  # noqa: E402
from benchmarks.papers.thesauri.resources import COMBINED, EXPANDED, FALLOWS, ROGET  # noqa: E402
from benchmarks.papers.thesauri.zhang2014_draw import last_draw, with_metric  # noqa: E402
from semproj import BPTF  # noqa: E402
from semproj.tasks import ClosestOppositeQuestion  # noqa: E402
from semproj.thesaurus import Thesaurus  # noqa: E402
from tests.support.papering import (  # noqa: E402
    by_place,
    not_measured,
    opposite_question,
    run_paper,
    write_context,
    write_lines,
    write_wordnet,
)

CONCEPTS = 10
OPPOSED, LINKED, NEW = range(6), 6, 7  # words with antonyms, one with synonyms alone, one with a context alone


def _word(concept: int, pole: int, number: int) -> str:
    return f"{'bcdfghjklm'[concept]}{'au'[pole]}{'bdfgkmnr'[number]}o"


def _wordnet() -> dict[str, str]:
    """A synset of each two neighbours in the circle of words of a pole that have antonyms."""
    data, senses = [], {}
    for concept in range(CONCEPTS):
        for pole in range(2):
            for number in OPPOSED:
                words = [_word(concept, pole, each) for each in (number, (number + 1) % len(OPPOSED))]
                place = 1000 * concept + 100 * pole + 10 * number
                data.append(f"{place:08d} 06 n 02 {words[0]} 0 {words[1]} 0 000 | near a pole")
                for word in words:
                    senses.setdefault(word, []).append(f"{place:08d}")
    index = [f"{word} n {len(at)} 0 {len(at)} 0 {' '.join(at)}" for word, at in sorted(senses.items())]
    return {"data.noun": "\n".join(data), "index.noun": "\n".join(index)}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The layout of the data folder, dev and test."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    write_wordnet(folder, _wordnet())
    synonyms, antonyms, table = [], [], []
    for concept in range(CONCEPTS):
        for pole in range(2):
            mine, theirs = ([_word(concept, each, n) for n in range(NEW + 1)] for each in (pole, 1 - pole))
            # A word has three of its six opposites, so that half of the answers are not in any list.
            antonyms += ["\t".join([mine[n], *(theirs[(n + k) % 6] for k in (0, 1, 5))]) for n in OPPOSED]
            synonyms += ["\t".join([mine[n], mine[(n + 2) % 6], "of two tokens"]) for n in OPPOSED]
            synonyms.append("\t".join([mine[LINKED], *mine[:3]]))
            table.append(
                f"{mine[0]}\t{mine[3]}|{theirs[0]}\t{theirs[2]}"
            )  # a synonym that is an antonym elsewhere
    write_lines(folder / ROGET[0], synonyms)
    write_lines(folder / ROGET[1], antonyms)
    write_lines(folder / EXPANDED, antonyms[::2])
    write_lines(folder / COMBINED, antonyms)
    write_lines(folder / FALLOWS, table)
    places = [(c, pole, n) for c in range(CONCEPTS) for pole in range(2) for n in range(NEW + 1)]
    # Opposites have like contexts, but not the same.
    concepts, poles = rng.normal(size=(CONCEPTS, 1, 20)), 0.7 * rng.normal(size=(CONCEPTS, 2, 20))
    centres = concepts + poles
    vectors = np.array([centres[c, pole] + 0.1 * rng.normal(size=20) for c, pole, _ in places])
    write_context(folder, [_word(*place) for place in places], vectors)
    for split in ("dev", "test"):
        lines = []
        for concept, pole, number in places:
            others = [(concept + i) % CONCEPTS for i in (1, 2, 4, 7)]
            lines.append(opposite_question(_word, (concept, pole, number), others, rng))
        write_lines(folder / "gre" / f"{split}.txt", lines)
    return folder


@pytest.fixture(autouse=True)
def shorter_chains(monkeypatch):
    monkeypatch.setattr(zhang2014, "BURN_IN", 20)
    monkeypatch.setattr(zhang2014, "SWEEPS", 60)


def _run(data: Path, tmp_path: Path, *arguments: str) -> dict:
    """Without the dataset, which is one."""
    found = run_paper("zhang2014", data, tmp_path, "--seeds", "2", *arguments)
    return {(table, row, metric): each for (table, _, row, metric), each in found.items()}


@pytest.mark.parametrize("split", ["dev", "test"])
def test_all_rows_of_a_split(split, data, tmp_path, capsys):
    found = _run(data, tmp_path, "--split", split, "--dimension", "12")

    def ours(row: str, metric: str = "f1") -> float:
        return found["2", row, metric]["ours"]

    assert not not_measured("zhang2014", by_place({"rows": list(found.values())}))
    names = [r.name for r in zhang2014.RESOURCES]
    assert {place[1] for place in found if place[0] == "2"} == {
        f"{n} {m}" for n in names for m in zhang2014.MODELS
    }
    assert ours("W&R lookup*", "precision") == 1
    assert ours("W&R lookup*", "recall") < 0.6
    # What lookup guesses is right once in five times; words known by their context alone are not guessed at.
    known = ours("W&R lookup*", "recall")
    assert ours("W&R lookup", "recall") == pytest.approx(known + (7 / 8 - known) / 5)
    for name in names:
        assert ours(f"{name} BPTF") > max(ours(f"{name} lookup"), ours(f"{name} BPMF"))
    assert ours("W&R BPTF", "recall") > 0.8
    # One slice does not know the words that have a context alone: an eighth of the targets.
    assert ours("W&R BPMF+zeros", "precision") > 0.85
    assert ours("W&R BPMF+zeros", "recall") <= 7 / 8
    assert found["2", "W&R BPTF", "f1"]["spread"] >= 0
    assert "spread" not in found["2", "W&R lookup", "f1"]
    assert found["2", "W&R BPTF", "f1"]["paper"] == {"dev": 0.88, "test": 0.82}[split]
    assert found["2", "Roget lookup*", "recall"]["paper"] == {"dev": 0.35, "test": 0.31}[split]
    assert found["2", "W&R BPMF+zeros", "f1"]["paper"] is None
    assert ours("W&R BPTF, one draw") < ours("W&R BPTF"), "averaging over draws helps"
    # A wrong metric answers one question in five.
    assert abs(ours("W&R BPTF, one draw, metric") - ours("W&R BPTF, one draw")) < 0.05
    # Without zeros cells are fitted better, and questions answered worse.
    curves = [found["Figure 2", name, "mae"]["curve"] for name in zhang2014.SAMPLED]
    assert [len(curve) for curve in curves] == [80] * 3
    assert all(curve[-1] < curve[0] for curve in curves)
    errors = [found["Figure 2", name, "mae"]["ours"] for name in zhang2014.SAMPLED]
    assert errors == [curve[-1] for curve in curves]
    assert all("curve" not in row for (table, *_), row in found.items() if table == "2")
    assert errors[0] < min(errors[1:])
    assert (tmp_path / "out" / "zhang2014-figure2.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert f"Table 2: closest opposites of the GRE ({split})" in printed
    assert "D=12 sweeps=20+60 zeros=2" in printed
    assert "not the results to quote" in printed
    gains = re.findall(r"W&R, seed \d: the metric takes (-?[\d.]+)% off", printed)
    assert len(gains) == 2
    assert all(float(gain) > 0 for gain in gains)


def test_what_the_folder_lacks_is_skipped_and_said(data, tmp_path, capsys):
    partial = tmp_path / "partial"
    for name in ("thesaurus", "gre/dev.txt"):
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).symlink_to(data / name)
    found = _run(partial, tmp_path, "--dimension", "5", "--no-plots", "--limit", "100")
    assert {place[1] for place in found} == {f"Roget {m}" for m in ("lookup*", "lookup", "BPMF", "BPMF+zeros")}
    printed = capsys.readouterr().out
    assert f"WordNet: skipped, {partial / 'wordnet30.tar.xz'} is missing" in printed
    assert f"Roget BPTF: skipped, {partial / 'glove100_words.txt'} is missing" in printed
    with pytest.raises(SystemExit, match=r"nothing to measure for --split test: .*test\.txt is missing"):
        _run(partial, tmp_path, "--split", "test")


def test_curves_without_plots(data, tmp_path):
    found = _run(data, tmp_path, "--dimension", "4", "--no-plots", "--rows", "BPMF", "--seeds", "1")
    assert len(found["Figure 2", "BPMF", "mae"]["curve"]) == 80
    assert not list(tmp_path.rglob("*.png"))


def test_a_metric_over_a_draw():
    """Around a draw that is far from its cells, the metric is that of the cells: nearly nothing is left over."""
    rng = np.random.default_rng(0)
    turn = rng.standard_normal((3, 3))
    model = BPTF(3, burn_in=0, n_samples=1, random_state=0).fit([sp.coo_array((40, 40))])
    V = model.word_vectors_.astype(float)
    i, j = np.triu_indices(40, 1)
    values = ((V @ (turn + turn.T))[i] * V[j]).sum(axis=1)
    learnt, gain = with_metric(model, sp.coo_array((values, (i, j)), shape=(40, 40)), seed=0)
    np.testing.assert_allclose(learnt(i, j), values, atol=0.05)
    np.testing.assert_allclose(learnt(j, i), learnt(i, j))
    assert 0.99 < gain < 1
    expected = ((V * model.perspective_vectors_[0])[i] * V[j]).sum(axis=1)
    np.testing.assert_allclose(last_draw(model)(i, j), expected)


def test_pairs_of_thesauri():
    words = ["hot", "warm", "cold", "ice cold", "cool"]
    synsets = Thesaurus(words, ["1-a"], {"synonym": [[1, 1, 0, 0, 0]]})
    heads = Thesaurus(words, ["cold"], {"synonym": [[0, 0, 1, 1, 1]], "antonym": [[1, 0, 0, 0, 1]]})
    related = relatedness.relate(
        [relatedness.of_entries(synsets, "synonym"), relatedness.of_heads(heads, "synonym")],
        [relatedness.of_heads(heads, "antonym")],
    )
    assert related.words == ["hot", "cold", "cool", "warm"]
    assert related.n_opposed == 3
    # cool is an antonym of cold and a synonym as well: an antonym.
    expected = {("cold", "hot"): -1, ("cold", "cool"): -1, ("hot", "warm"): 1}
    both = expected | {(b, a): value for (a, b), value in expected.items()}
    found = related.cells.tocoo()
    cells = {
        (related.words[i], related.words[j]): v for i, j, v in zip(found.row, found.col, found.data, strict=True)
    }
    assert cells == both
    assert related.among_opposed.shape == (3, 3)
    assert related.with_opposed(["unheard", "warm"]).toarray().tolist() == [[0, 0, 0], [1, 0, 0]]
    assert str(related) == "4 words, 3 of them with antonyms; 1 pairs of synonyms, 2 pairs of antonyms"


def test_lookup_counts_what_is_expected_of_a_guess():
    heads = Thesaurus(
        ["hot", "cold", "cool", "wet"],
        ["hot", "wet"],
        {"synonym": [[1, 0, 0, 0], [1, 0, 0, 1]], "antonym": [[0, 1, 1, 0], [0] * 4]},
    )
    related = relatedness.relate(
        [relatedness.of_heads(heads, "synonym")], [relatedness.of_heads(heads, "antonym")]
    )
    questions = [
        ClosestOppositeQuestion("hot", ("cold", "cool", "a", "b"), "cold"),  # one of two
        ClosestOppositeQuestion("wet", ("cold", "cool", "a", "b"), "cold"),  # a guess among four
        ClosestOppositeQuestion("unheard", ("cold", "cool", "a", "b"), "cold"),
    ]
    assert relatedness.look_up(related, questions, guess=False) == pytest.approx(
        {"precision": 1 / 2, "recall": 1 / 6, "f1": 1 / 4}
    )
    assert relatedness.look_up(related, questions, guess=True) == pytest.approx(
        {"precision": 3 / 8, "recall": 1 / 4, "f1": 3 / 10}
    )


def test_rows_by_their_resources(data, tmp_path, capsys):
    rows = ["W&R lookup", "Roget BPMF"]
    found = _run(data, tmp_path, "--dimension", "4", "--no-plots", "--rows", *rows, "--seeds", "1")
    assert {row for table, row, _ in found if table == "2"} == set(rows)
    with pytest.raises(SystemExit):
        _run(data, tmp_path, "--rows", "Moby BPMF")
    assert "--rows: expected some of" in capsys.readouterr().err
