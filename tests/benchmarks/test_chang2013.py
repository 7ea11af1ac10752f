"""The tables of Chang, Yih and Meek 2013 on an invented language: both tasks, all models, what is skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import semproj as sj  # noqa: E402
from benchmarks.papers.published.chang2013 import TABLE_1, TABLE_2  # noqa: E402
from benchmarks.papers.thesauri import chang2013  # noqa: E402
from benchmarks.papers.thesauri.chang2013 import CLASSES, GRE  # noqa: E402
from benchmarks.papers.thesauri.questions import SUBCATEGORIES  # noqa: E402
from benchmarks.papers.thesauri.resources import FALLOWS, ROGET  # noqa: E402
from tests.support.papering import (  # noqa: E402
    not_measured,
    opposite_question,
    run_paper,
    write_context,
    write_lines,
    write_wordnet,
)

CONCEPTS, WORDS = 10, 8  # words of each pole of a concept, the last of which only context vectors know
KINDS, MEMBERS = 8, 5  # classes, and words of each


def _word(concept: int, pole: int, number: int) -> str:
    """Words of which none is the stem of another."""
    return f"{'bcdfghjklm'[concept]}{'au'[pole]}{'bdfgkmnr'[number]}o"


def _kind(kind: int) -> str:
    return f"z{'bcdfghjk'[kind]}upla"


def _member(kind: int, number: int) -> str:
    return f"{'bcdfghjk'[kind]}i{'bdfgk'[number]}z"


def _wordnet() -> dict[str, str]:
    """Synsets of two words in a chain, the first with antonyms; and classes, two levels above their members."""
    synsets: list[tuple[int, list[str], list[str]]] = []
    for concept in range(CONCEPTS):
        for pole in range(2):
            place, opposite = 10_000 * concept + 1000 * pole, 10_000 * concept + 1000 * (1 - pole)
            for n in range(2):
                words = [_word(concept, pole, n), _word(concept, pole, n + 1)]
                pointers = [f"! {opposite:08d} n 0101"] if n == 0 else []
                synsets.append((place + 10 * n, words, pointers))
    for kind in range(KINDS):
        top = 900_000 + 1000 * kind
        below = [top + 10 * (n + 2) for n in range(MEMBERS)]
        synsets.append((top, [_kind(kind)], [f"~ {top + 10:08d} n 0000"]))
        middle = [f"@ {top:08d} n 0000", *(f"~ {place:08d} n 0000" for place in below)]
        synsets.append((top + 10, [f"middle{kind}"], middle))
        for n, place in enumerate(below):
            synsets.append((place, [_member(kind, n)], [f"@ {top + 10:08d} n 0000"]))
    data, places = [], {}
    for place, words, pointers in synsets:
        listed = " ".join(f"{word} 0" for word in words)
        data.append(
            f"{place:08d} 06 n {len(words):02x} {listed} {len(pointers):03d} {' '.join(pointers)} | a thing"
        )
        for word in words:
            places.setdefault(word, []).append(place)
    index = [
        f"{word} n {len(at)} 0 {len(at)} 0 " + " ".join(f"{place:08d}" for place in at)
        for word, at in sorted(places.items())
    ]
    return {"data.noun": "\n".join(data), "index.noun": "\n".join(index)}


def _questions(rng: np.random.Generator) -> list[str]:
    lines = []
    for concept in range(CONCEPTS):
        for pole in range(2):
            for target in (0, 2, 4, WORDS - 1):
                others = [(concept + i) % CONCEPTS for i in (1, 3, 5, 7)]
                lines.append(opposite_question(_word, (concept, pole, target), others, rng))
    return lines


def _answers(rng: np.random.Generator) -> list[str]:
    """The best pair is a class and its member, the worst the reverse; in between, members and other classes."""
    lines = []
    for i in range(30):
        kind, other = i % KINDS, (i + 1 + i // KINDS) % KINDS
        best = f"{_kind(kind)}:{_member(kind, int(rng.integers(MEMBERS)))}"
        worst = f"{_member(other, int(rng.integers(MEMBERS)))}:{_kind(other)}"
        between = [f"{_kind(kind)}:{_member(other, n)}" for n in rng.permutation(MEMBERS)[:2]]
        pairs = rng.permutation([best, worst, *between])
        lines.append("\t".join(f'"{pair}"' for pair in [*pairs, worst, best]))
    return lines


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The layout of the data folder, dev and test of everything."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    write_wordnet(folder, _wordnet())
    table, synonyms, antonyms = [], [], []
    for concept in range(CONCEPTS):
        for pole in range(2):
            mine, theirs = ([_word(concept, each, n) for n in range(WORDS)] for each in (pole, 1 - pole))
            table += [f"{mine[n]}\t{mine[n + 1]}\t{theirs[n + 1]}" for n in range(1, 5)]
            synonyms.append("\t".join(mine[4:6]))
            antonyms.append("\t".join([mine[4], theirs[5]]))
    write_lines(folder / FALLOWS, table)
    write_lines(folder / ROGET[0], synonyms)
    write_lines(folder / ROGET[1], antonyms)
    places = [(c, pole, n) for c in range(CONCEPTS) for pole in range(2) for n in range(WORDS)]
    poles = rng.normal(size=(CONCEPTS, 2, 20))
    vectors = np.array([poles[c, pole] + 0.1 * rng.normal(size=20) for c, pole, _ in places])
    write_context(folder, [_word(*place) for place in places], vectors)
    for split, names in SUBCATEGORIES.items():
        write_lines(folder / "gre" / f"{split}.txt", _questions(rng))
        for name in names:
            write_lines(folder / "semeval2012" / "Phase2Answers" / f"Phase2Answers-{name}.txt", _answers(rng))
    return folder


def _run(data: Path, tmp_path: Path, *arguments: str) -> dict:
    return run_paper("chang2013", data, tmp_path, *arguments)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_both_tables_of_a_split(split, data, tmp_path, capsys):
    found = _run(data, tmp_path, "--split", split, "--dimension", "40")

    def gre(row: str, metric: str = "f1") -> float:
        return found["1", "gre", row, metric]["ours"]

    assert split == "test" or not not_measured("chang2013", found)  # the page has subcategory 1a, which is of dev
    rows = {place[2] for place in found if place[0] == "1"}
    assert rows == {f"{r.name} {model}" for r in GRE for model in chang2013.MODELS if model != "MRLSA:Syn+Hypo"}
    # Words far along the chain are in no entry with their opposites.
    everything = "WordNet+similar+derived+Fallows+Roget"
    for baseline in ("Lookup", "RawTensor"):
        assert gre(f"{everything} {baseline}") < 0.6
    for model in ("PILSA", "MRLSA:Syn+Ant", "MRLSA:4-layers", "MRLSA:4-layers+pivot"):
        assert gre(f"{everything} {model}", "precision") > 0.9
        assert gre(f"{everything} {model}", "recall") <= 0.75  # a quarter of the targets is in no thesaurus
    assert gre(f"{everything} MRLSA:4-layers+pivot+embedding", "recall") > 0.9
    datasets = {"dev": ["1a"], "test": ["1b", "1c", "1d", "avg"]}[split]
    assert {place[1] for place in found if place[0] == "2"} == set(datasets)
    for dataset in datasets:
        maxdiff = {place[2]: each["ours"] for place, each in found.items() if place[:2] == ("2", dataset)}
        assert maxdiff["WordNet Lookup, both directions"] == 100
        assert maxdiff["WordNet Lookup"] < 80  # it does not know which pairs are worse than wrong
        assert maxdiff["WordNet MRLSA:4-layers"] > 90
        assert maxdiff["WordNet+Fallows+Roget MRLSA:4-layers"] > 90
        assert maxdiff["WordNet RawTensor, one-way"] < maxdiff["WordNet RawTensor"]
    if split == "test":
        each = [found["2", name, "WordNet Lookup", "maxdiff"]["ours"] for name in datasets]
        assert each[3] == pytest.approx(np.mean(each[:3]))
    assert found["1", "gre", "WordNet MRLSA:4-layers", "f1"]["paper"] == {"dev": 0.65, "test": 0.60}[split]
    assert (
        found["1", "gre", "WordNet+Fallows MRLSA:Syn+Ant", "recall"]["paper"] == {"dev": 0.82, "test": 0.74}[split]
    )
    last = found["2", datasets[-1], "WordNet+Fallows+Roget MRLSA:4-layers", "maxdiff"]["paper"]
    assert last == {"dev": 62.1, "test": 55.8}[split]
    printed = capsys.readouterr().out
    assert f"Table 1: closest opposites of the GRE ({split})" in printed
    assert f"Table 2: class inclusion, MaxDiff accuracy in percent ({split})" in printed
    assert "k=40 power=3 polarity=0.5 row_scaling=0.5" in printed
    assert "not the results to quote" in printed


def test_published_numbers_have_rows_of_ours():
    """Each stands beside one resource of ours, or is of models that we have."""
    names = {(each, model) for r in GRE for model in chang2013.MODELS for each in (r.paper, r.layered)}
    assert set(TABLE_1) <= names
    assert {place[0] for place in TABLE_2} <= {each for r in CLASSES for each in (r.paper, r.layered)}
    assert {place[1] for place in TABLE_2} <= set(chang2013.MODELS)


def test_some_rows_of_one_dataset(data, tmp_path):
    found = _run(data, tmp_path, "--rows", "Lookup", "MRLSA:4-layers", "--datasets", "semeval", "--dimension", "9")
    assert {place[2] for place in found} == {
        "WordNet Lookup",
        "WordNet Lookup, both directions",
        *(f"{r.name} MRLSA:4-layers{way}" for r in CLASSES for way in ("", ", one-way")),
    }


def test_what_the_folder_lacks_is_skipped_and_said(data, tmp_path, capsys):
    partial = tmp_path / "partial"
    for name in ("wordnet30.tar.xz", "gre/dev.txt"):
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).symlink_to(data / name)
    found = _run(partial, tmp_path, "--dimension", "20", "--rows", "RawTensor", "MRLSA:4-layers+pivot+embedding")
    assert {place[2] for place in found} == {"WordNet RawTensor", "WordNet+similar+derived RawTensor"}
    printed = capsys.readouterr().out
    assert f"WordNet+Fallows: skipped, {partial / FALLOWS} is missing" in printed
    assert (
        f"WordNet MRLSA:4-layers+pivot+embedding: skipped, {partial / 'glove100_words.txt'} is missing" in printed
    )
    assert "Phase2Answers-1a.txt is missing, skipped" in printed
    with pytest.raises(SystemExit, match=r"nothing to measure for --split test: gre: .*test\.txt is missing"):
        _run(partial, tmp_path, "--split", "test", "--datasets", "gre")


def test_degrees_of_inclusion():
    relations = {"synonym": np.eye(4), "hyponym": np.eye(4)[[1, 2, 3, 3]]}
    relations["hyponym"][3] = 0
    words = ["animal", "bird", "robin", "table"]
    model = sj.RawRelations(relations=("synonym", "hyponym")).fit(sj.Thesaurus(words, words, relations))

    def lemmatizer(words):
        return [word.removesuffix("s") for word in words]

    both, one = (chang2013.inclusion_degree(model, lemmatizer, reverse=reverse) for reverse in (True, False))
    assert both("birds", "robins") == one("bird", "robin") == 1
    assert both("robin", "bird") == -1
    assert one("robin", "bird") == 0
    assert both("bird", "unheard-of") == 0
