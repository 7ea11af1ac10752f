"""The tables of Yih, Zweig and Platt 2012 on an invented language: resources, models, what is skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers.framework.files import MissingFile  # noqa: E402
from benchmarks.papers.published.yih2012 import precision  # noqa: E402
from benchmarks.papers.thesauri import questions, yih2012  # noqa: E402
from benchmarks.papers.thesauri.resources import FALLOWS, MOBY, ROGET, ThesaurusFolder  # noqa: E402
from benchmarks.papers.thesauri.yih2012 import RESOURCES  # noqa: E402
from tests.support.papering import (  # noqa: E402
    not_measured,
    opposite_question,
    run_paper,
    write_context,
    write_lines,
    write_wordnet,
)

CONCEPTS, WORDS = 12, 9  # words of each pole of a concept
NEW = 8  # of these, only the context vectors know the last


def _word(concept: int, pole: int, number: int) -> str:
    """Words of which none is the stem of another."""
    return f"{'bcdfghjklmnp'[concept]}{'au'[pole]}{'bdfgkmnrt'[number]}o"


def _wordnet() -> dict[str, str]:
    """A synset of words 0 and 1, one of 1 and 2; only the first ones are antonyms."""
    data, index = [], []
    for concept in range(CONCEPTS):
        for pole in range(2):
            words = [_word(concept, pole, number) for number in range(3)]
            place = 1000 * concept + 100 * pole
            opposite = 1000 * concept + 100 * (1 - pole)
            data.append(f"{place:08d} 06 n 02 {words[0]} 0 {words[1]} 0 001 ! {opposite:08d} n 0101 | a pole")
            data.append(f"{place + 10:08d} 06 n 02 {words[1]} 0 {words[2]} 0 000 | more of it")
            senses = ([place], [place, place + 10], [place + 10])
            for word, offsets in zip(words, senses, strict=True):
                n = len(offsets)
                index.append(f"{word} n {n} 0 {n} 0 " + " ".join(f"{offset:08d}" for offset in offsets))
    return {"data.noun": "\n".join(data), "index.noun": "\n".join(sorted(index))}


def _questions(rng: np.random.Generator, targets: list[int]) -> list[str]:
    lines = []
    for concept in range(CONCEPTS):
        for pole in range(2):
            for target in targets:
                others = [(concept + i) % CONCEPTS for i in (1, 3, 5, 7)]
                lines.append(opposite_question(_word, (concept, pole, target), others, rng))
    return lines


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The layout of the data folder, dev and test of everything."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    write_wordnet(folder, _wordnet())
    table, synonyms, antonyms, moby = [], [], [], []
    for concept in range(CONCEPTS):
        for pole in range(2):
            mine, theirs = ([_word(concept, each, n) for n in range(WORDS)] for each in (pole, 1 - pole))
            # A chain, so that most opposites are not in one entry.
            table += [f"{mine[n]}\t{mine[n + 1]}\t{theirs[n + 1]}" for n in range(1, 5)]
            synonyms.append("\t".join(mine[4:7]))
            antonyms.append("\t".join([mine[4], theirs[5]]))
            moby.append(",".join([mine[3], mine[6], mine[7]]))
    write_lines(folder / FALLOWS, table)
    write_lines(folder / ROGET[0], synonyms)
    write_lines(folder / ROGET[1], antonyms)
    write_lines(folder / MOBY, moby)
    places = [(c, pole, n) for c in range(CONCEPTS) for pole in range(2) for n in range(WORDS)]
    poles = rng.normal(size=(CONCEPTS, 2, 20))
    vectors = np.array([poles[c, pole] + 0.1 * rng.normal(size=20) for c, pole, _ in places])
    write_context(folder, [_word(*place) for place in places], vectors)
    for split in ("dev", "test"):
        write_lines(folder / "gre" / f"{split}.txt", _questions(rng, [0, 2, 4, NEW]))
    for part_of_speech in questions.PARTS_OF_SPEECH:
        for ending in ("train", "val", "test"):
            pairs = []
            for i in range(40):
                concept, pole, label = int(rng.integers(CONCEPTS)), int(rng.integers(2)), i % 2
                other = _word(concept, pole ^ label, int(rng.integers(3, 6)))
                pairs.append(f"{_word(concept, pole, int(rng.integers(3)))}\t{other}\t{label}")
            write_lines(folder / "antsyn" / f"{part_of_speech}-pairs.{ending}", pairs)
    return folder


def _run(data: Path, tmp_path: Path, *arguments: str) -> dict:
    return run_paper("yih2012", data, tmp_path, *arguments)


def test_published_numbers_of_table_5():
    wordnet, bloomsbury = (each.paper for each in RESOURCES if each.paper is not None)
    assert [precision(wordnet, "dev", k) for k in (300, 1000, 2000, 3000)] == [0.625, 0.544, 0.519, 0.494]
    assert [precision(bloomsbury, "dev", k) for k in (300, 1000, 2000, 3000)] == [0.863, 0.837, 0.784, 0.778]
    assert precision(wordnet, "test", 300) is None


@pytest.mark.parametrize("split", ["dev", "test"])
def test_all_tables_of_a_split(split, data, tmp_path, capsys):
    found = _run(data, tmp_path, "--split", split, "--dimension", "50")
    assert not not_measured("yih2012", found)
    assert {place[:2] for place in found} == {
        ("5", "gre"),
        ("6", "gre"),
        *(("AntSynNET", f"antsyn {part}") for part in questions.PARTS_OF_SPEECH),
    }

    def f1(row: str, metric: str = "f1") -> float:
        return found["6", "gre", row, metric]["ours"]

    names = {place[2] for place in found if place[0] == "6"}
    for resources in RESOURCES:
        for model in yih2012.MODELS:
            assert (f"{resources.name} {model}" in names) == (
                model != "PILSA, S V'" or resources.paper is not None
            )
    # Words far along the chain are in no entry with their opposites, but in one subspace.
    everything = "WordNet+Fallows+Roget"
    assert f1(f"{everything} lookup") < 0.6
    assert f1(f"{everything} signed tf-idf") < 0.6
    assert f1(f"{everything} PILSA", "precision") > 0.9
    # A quarter of the targets is known to the context vectors alone.
    assert 0.9 * 0.75 < f1(f"{everything} PILSA", "recall") <= 0.75
    assert f1(f"{everything} PILSA + embedding", "precision") > 0.9
    assert f1(f"{everything} PILSA + embedding", "recall") > 0.9
    for part_of_speech in questions.PARTS_OF_SPEECH:
        dataset = f"antsyn {part_of_speech}"
        assert found["AntSynNET", dataset, f"{everything} PILSA", "average_precision"]["ours"] > 0.85
        assert found["AntSynNET", dataset, f"{everything} lookup", "average_precision"]["ours"] < 0.7
    # WordNet has 48 entries here, so that there are not 50 dimensions.
    assert {each[2] for each in found if each[0] == "5"} == {"WordNet+Fallows k=50"}
    assert found["5", "gre", "WordNet+Fallows k=50", "S V'"]["paper"] == {"dev": 0.778, "test": None}[split]
    assert found["5", "gre", "WordNet+Fallows k=50", "tapered"]["ours"] == f1("WordNet+Fallows PILSA", "precision")
    assert found["6", "gre", "WordNet PILSA", "f1"]["paper"] == {"dev": 0.62, "test": 0.60}[split]
    assert found["6", "gre", "WordNet+Fallows lookup", "recall"]["paper"] == {"dev": 0.61, "test": 0.56}[split]
    printed = capsys.readouterr()
    assert f"Table 6: closest opposites of the GRE ({split})" in printed.out
    assert "k=50 power=2.5 tapered" in printed.out
    assert "not the results to quote" in printed.out


def test_some_rows_of_one_dataset(data, tmp_path):
    found = _run(
        data, tmp_path, "--rows", "lookup", "PILSA", "--datasets", "gre", "--limit", "40", "--dimension", "5"
    )
    assert {place[0] for place in found} == {"6"}
    assert {place[2] for place in found} == {
        f"{r.name} {model}" for r in RESOURCES for model in ("lookup", "PILSA")
    }


def test_what_the_folder_lacks_is_skipped_and_said(data, tmp_path, capsys):
    partial = tmp_path / "partial"
    for name in ("wordnet30.tar.xz", "thesaurus/fallows1898.tsv.xz", "gre/dev.txt"):
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).symlink_to(data / name)
    found = _run(partial, tmp_path, "--dimension", "20")
    assert {place[1] for place in found} == {"gre"}
    assert not any("Roget" in place[2] or "embedding" in place[2] for place in found)
    assert ("6", "gre", "WordNet+Fallows PILSA", "f1") in found
    printed = capsys.readouterr().out
    assert f"WordNet+Fallows+Roget: skipped, {partial / ROGET[0]} is missing" in printed
    assert f"WordNet PILSA + embedding: skipped, {partial / 'glove100_words.txt'} is missing" in printed
    assert f"antsyn: {partial / 'antsyn' / 'adjective-pairs.train'} is missing, skipped" in printed
    with pytest.raises(SystemExit, match=r"nothing to measure for --split test: gre: .*test\.txt is missing"):
        _run(partial, tmp_path, "--split", "test", "--datasets", "gre")


def test_resources(data):
    folder = ThesaurusFolder(data)
    wordnet = folder.thesaurus("WordNet")
    assert list(wordnet) == ["synonym", "antonym"]
    assert len(wordnet.entries) == 4 * CONCEPTS
    word = _word(0, 0, 0)
    assert wordnet.related(word, "antonym") == [_word(0, 1, 0), _word(0, 1, 1)]
    assert list(folder.thesaurus("WordNet+similar+hypernym")) == ["synonym", "antonym", "similar", "hypernym"]
    roget = folder.thesaurus("Roget")
    assert len(roget.entries) == 2 * CONCEPTS  # one for what both files say of a head
    assert roget["synonym"].data.max() == 1
    assert roget.related(_word(0, 0, 4), "antonym") == [_word(0, 1, 5)]
    both = folder.thesaurus("WordNet+Fallows+Moby")
    assert list(both) == ["synonym", "antonym", "related"]
    assert len(both.entries) == (4 + 8 + 2) * CONCEPTS
    with pytest.raises(ValueError, match=r"resources: expected a sum of WordNet, .*got 'WordNet\+Webster'"):
        folder.thesaurus("WordNet+Webster")
    assert len(folder.context) == 2 * WORDS * CONCEPTS


def test_questions_on_relations(tmp_path):
    answer = '"bird:robin"\t"oak:tree"\t"fruit:plum"\t"bird:swan"\t"oak:tree"\t"bird:robin"'
    folder = tmp_path / "semeval2012" / "Phase2Answers"
    for name in ("1a", "1b", "1c"):
        write_lines(folder / f"Phase2Answers-{name}.txt", [answer])
    (dev,) = questions.read_relations(tmp_path, "dev").items()
    assert dev[0] == "1a"
    assert dev[1].ratings["bird", "robin"] == 100
    with pytest.raises(MissingFile, match=r"Phase2Answers-1d\.txt is missing"):
        questions.read_relations(tmp_path, "test")
