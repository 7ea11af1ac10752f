"""The papers' tables on a planted data folder: the JSON, what is skipped, and that the numbers are right."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import semproj as sj  # noqa: E402
from benchmarks.papers import Report, Row, load, render, write_json  # noqa: E402
from benchmarks.papers.__main__ import parse  # noqa: E402
from benchmarks.papers.crosslingual import corpora  # noqa: E402
from benchmarks.papers.crosslingual import platt2010 as platt  # noqa: E402
from benchmarks.papers.crosslingual.methods import METHODS, CountSpace, Method  # noqa: E402
from benchmarks.papers.crosslingual.platt2010 import TUNED  # noqa: E402
from benchmarks.papers.framework import compare, files  # noqa: E402
from benchmarks.papers.framework.plotting import _apart  # noqa: E402
from benchmarks.papers.published.platt2010 import PUBLISHED  # noqa: E402
from tests.support.papering import by_place, not_measured, run_json, write_lines, write_pairs  # noqa: E402

FIELDS = {"table", "dataset", "row", "metric", "ours", "paper", "seconds"}
HERE = ["--rows", "CLLSI", "Untranslated"]  # whatever else the library has


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The layout of the data folder: 300 pairs to learn from and 60 of dev and of test in each dataset."""
    folder = tmp_path_factory.mktemp("data")
    write_pairs(folder)
    return folder


def _run(data: Path, tmp_path: Path, *arguments: str) -> dict:
    return run_json("platt2010", data, tmp_path, "--dimension", "30", *arguments)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_json_and_the_numbers_of_a_split(split, data, tmp_path, capsys):
    result = _run(data, tmp_path, "--split", split, *HERE)
    assert set(result) == {"paper", "split", "rows"}
    assert (result["paper"], result["split"]) == ("platt2010", split)
    found = by_place(result)
    retrieval = [("1", "europarl"), ("1", "europarl-25"), ("2", "mdn"), ("2", "debian")]
    expected = {(*place, row, m) for place in retrieval for row in HERE[1:] for m in ("top1", "mrr")}
    expected |= {(f"3 {language}", "debian", "CLLSI", "accuracy") for language in ("English", "Italian")}
    assert set(found) == expected
    assert not_measured("platt2010", found) == {method.row for method in METHODS} - set(HERE)
    for row in found.values():
        assert set(row) == FIELDS
        assert 0 <= row["ours"] <= 1
        assert row["seconds"] > 0
    # Planted pairs share most of their concepts, but only names, 5% of the words, are written alike; chance is
    # one in sixty.
    assert found["1", "europarl", "CLLSI", "top1"]["ours"] > 0.6
    assert found["1", "europarl", "Untranslated", "top1"]["ours"] < 0.4
    assert found["3 Italian", "debian", "CLLSI", "accuracy"]["ours"] > 0.8
    # Less text, less to go by.
    for name in HERE[1:]:
        assert found["1", "europarl-25", name, "mrr"]["ours"] < found["1", "europarl", name, "mrr"]["ours"]
    assert found["1", "europarl", "CLLSI", "mrr"]["paper"] == 0.9595
    assert found["2", "mdn", "Untranslated", "top1"]["paper"] == 0.4692
    assert found["3 Italian", "debian", "CLLSI", "accuracy"]["paper"] == 0.5105
    assert found["1", "europarl-25", "CLLSI", "mrr"]["paper"] is None
    assert found["2", "debian", "CLLSI", "mrr"]["paper"] is None

    printed = capsys.readouterr().out
    assert f"Table 3 Italian: classification, trained on English, tested on Italian ({split})" in printed
    assert "0.9595" in printed
    assert "beside other data" in printed
    pytest.importorskip("matplotlib")
    for number in (3, 4):
        picture = tmp_path / "out" / f"platt2010-figure{number}-{split}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("row", [method.row for method in METHODS if method.available])
def test_every_row_the_library_has(row, data, tmp_path):
    result = _run(data, tmp_path, "--rows", row, "--datasets", "debian", "--no-plots")
    found = {(r["table"], r["metric"]): r["ours"] for r in result["rows"]}
    expected = {("2", "top1"), ("2", "mrr")}
    if row in PUBLISHED["3"]:
        expected |= {("3 English", "accuracy"), ("3 Italian", "accuracy")}
    assert set(found) == expected
    assert found["2", "mrr"] > 0.2  # a random order of sixty has 0.08


def test_what_the_folder_lacks_is_skipped_and_said(data, tmp_path, capsys):
    partial = tmp_path / "partial"
    for name in ("train", "dev"):
        source = corpora.path_of(data, "mdn", name)
        target = corpora.path_of(partial, "mdn", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    result = _run(partial, tmp_path, "--rows", "Untranslated", "--no-plots")
    assert {row["dataset"] for row in result["rows"]} == {"mdn"}
    captured = capsys.readouterr()
    for stream in (captured.out, captured.err):
        assert (
            f"europarl, europarl-25: skipped, {partial / 'europarl' / 'train.en-es.tsv.xz'} is missing" in stream
        )
        assert "debian: skipped" in stream
    # The training file alone is not enough, and nothing at all is still a report.
    result = _run(partial, tmp_path, "--split", "test", "--rows", "Untranslated", "--no-plots")
    assert result == {"paper": "platt2010", "split": "test", "rows": []}
    assert f"mdn: skipped, {partial / 'mdn' / 'test.en-fr.jsonl.xz'} is missing" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["result.json"]


def test_slices_rows_and_datasets(data, tmp_path, capsys):
    arguments = ["--rows", "CLLSI", "--datasets", "europarl-25", "--limit", "100", "--documents", "20"]
    result = _run(data, tmp_path, *arguments, "--terms", "300", "--threads", "1")
    assert {(r["dataset"], r["row"]) for r in result["rows"]} == {("europarl-25", "CLLSI")}
    captured = capsys.readouterr()
    assert "europarl: 100 pairs to learn from, 20 of dev" in captured.err
    assert "not the results to quote" in captured.out
    assert not list((tmp_path / "out").glob("*.png"))  # Figure 3 is of whole documents


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody1999"], "argument paper: invalid choice: 'nobody1999'"),
        (["platt2010", "--rows", "LDA"], "--rows: expected some of S2Net, .*, got 'LDA'"),
        (["platt2010", "--datasets", "reuters"], "--datasets: expected some of europarl, .*, got 'reuters'"),
        (["platt2010", "--limit", "0"], "--limit: expected at least 1, got 0"),
        (["platt2010", "--tune", "--split", "test"], "--tune: settings are tuned on dev"),
        (["platt2010", "--data", "no-such-folder"], "--data: expected a folder, got no-such-folder"),
    ],
)
def test_errors_name_the_argument(arguments, message, data, monkeypatch, capsys):
    monkeypatch.setenv("SEMPROJ_DATA", str(data))
    with pytest.raises(SystemExit):
        parse(arguments)
    assert re.search(message, capsys.readouterr().err)


def test_the_folder_may_come_from_the_environment(data, monkeypatch, capsys):
    monkeypatch.setenv("SEMPROJ_DATA", str(data))
    assert parse(["platt2010"])[2].data == data
    monkeypatch.delenv("SEMPROJ_DATA")
    with pytest.raises(SystemExit):
        parse(["platt2010"])
    assert "--data: expected the folder of the data, or its name in SEMPROJ_DATA" in capsys.readouterr().err
    with pytest.raises(ValueError, match="paper: expected one of platt2010"):
        load("nobody1999")


def test_quick_fills_in_only_what_is_not_given(data):
    _, _, options = parse(["platt2010", "--data", str(data), "--quick", "--limit", "50"])
    assert (options.limit, options.documents, options.terms, options.dimension) == (50, 1000, 5000, 200)


def _random(n, d, kind, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)).astype(np.float32) * (rng.random((n, d)) < 0.2)
    rows[3] = 0
    rows[5] = rows[6]  # a tie
    return sp.csr_matrix(rows) if kind == "sparse" else rows


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_ranks_are_those_of_the_library(kind, monkeypatch):
    monkeypatch.setattr(compare, "BLOCK_ELEMENTS", 1000)  # several blocks, the last one shorter
    first, second = _random(50, 40, kind, 0), _random(50, 40, kind, 1)
    second = first * 0.7 + second
    dense = [rows.toarray() if kind == "sparse" else rows for rows in (first, second)]
    ranks = compare.reciprocal_ranks(first, second)
    assert [np.mean(side == 1) for side in ranks] == list(sj.metrics.top1(*dense, directions=True))
    assert [np.mean(side) for side in ranks] == list(sj.metrics.mrr(*dense, directions=True))
    assert ranks[0][3] == 0  # an empty document finds nothing


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_nearest_label_is_that_of_the_largest_cosine(kind, monkeypatch):
    monkeypatch.setattr(compare, "BLOCK_ELEMENTS", 500)
    known, queries = _random(30, 20, kind, 2), _random(40, 20, kind, 3)[7:]
    labels = np.array([f"l{i % 10}" for i in range(30)])
    dense = [rows.toarray() if kind == "sparse" else rows for rows in (queries, known)]
    norms = [np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in dense]
    cosines = (dense[0] / norms[0]) @ (dense[1] / norms[1]).T
    has_one = dense[0].any(axis=1) & (np.argmax(cosines, axis=1) != 5) & (np.argmax(cosines, axis=1) != 6)
    assert has_one.sum() > 20
    found = compare.nearest_labels(known, labels, queries)
    np.testing.assert_array_equal(found[has_one], labels[np.argmax(cosines, axis=1)][has_one])


def test_separate_vocabularies_lie_side_by_side():
    texts = (["no cat", "no dog"], ["no gato", "un perro"])
    shared, separate = CountSpace(texts), CountSpace(texts, separate=True)
    assert shared.n_columns == 6  # no, cat, dog, gato, un, perro
    assert separate.n_columns == 3 + 4
    assert [columns.tolist() for columns in separate.own_columns] == [[0, 1, 2], [3, 4, 5, 6]]
    assert separate.count(1, ["no no perro bird"]).toarray()[0, :3].tolist() == [0, 0, 0]
    assert separate.count(1, ["no no perro bird"]).sum() == 3
    # Weights: log2(f + 1) log2(n / d) with the documents of both languages, "no" in three of four.
    column = shared.counter.counters_[0].vocabulary_["no"]
    weights = shared.weigh(shared.count(0, ["no no no"])).toarray()[0]
    assert weights[column] == pytest.approx(2 * np.log2(4 / 3))
    assert np.count_nonzero(weights) == 1


def test_every_method_has_the_setting_it_needs():
    for method in METHODS:
        for table, rows in PUBLISHED.items():
            if method.row in rows:
                setting = rows[method.row].setting
                assert (setting.dimension is not None) == method.projects, (method.row, table)
                assert (setting.gamma is not None) == bool(method.gammas), (method.row, table)
    for (table, dataset), rows in TUNED.items():
        assert dataset in platt.DATASETS
        for row, setting in rows.items():
            published = PUBLISHED[table][row].setting
            assert (setting.gamma is None) == (published.gamma is None)


def test_tuning_takes_the_best_regularisation_and_leading_columns(data, tmp_path, monkeypatch, capsys):
    """A stand-in whose rows are right with one gamma only, and only in their first twenty columns."""
    fits = []

    def fit(space, dimension, gamma):
        fits.append((dimension, gamma))

        def project(language, counts):
            meaning = np.random.default_rng(0 if gamma == 3.0 else language).standard_normal((counts.shape[0], 20))
            noise = np.random.default_rng(1 + language).standard_normal((counts.shape[0], dimension - 20))
            return np.hstack([meaning, 100 * noise]).astype(np.float32)

        return project

    monkeypatch.setattr(platt, "METHODS", (Method("CCA", None, fit, gammas=(1.0, 3.0, 10.0)),))
    monkeypatch.setattr(platt, "TUNED", {})
    arguments = ["--rows", "CCA", "--datasets", "mdn", "--no-plots"]
    tuned = _run(data, tmp_path, *arguments, "--tune")
    assert fits == [(30, 1.0), (30, 3.0), (30, 10.0)]
    assert [row["ours"] for row in tuned["rows"]] == [1.0, 1.0]
    assert "tuned: ('2', 'mdn'), 'CCA': (20, 3.0)" in capsys.readouterr().out
    # Without tuning, the paper's gamma and the largest dimension allowed, noise included.
    plain = _run(data, tmp_path, *arguments)
    assert fits[3:] == [(30, 3.0)]
    assert plain["rows"][1]["ours"] < 0.3


def test_damaged_data_names_file_and_line(tmp_path):
    path = corpora.path_of(tmp_path, "europarl", "dev")
    write_lines(path, ["1\ta\tb", "2\tonly"])
    with pytest.raises(ValueError, match=r"dev\.en-es\.tsv\.xz, line 2: expected id, en, es, got 2 columns"):
        corpora.read(tmp_path, "europarl", "dev")
    write_lines(path, ["1\ta\u2028a\tb b"])
    assert corpora.read(tmp_path, "europarl", "dev").texts == (["a\u2028a"], ["b b"])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="the file is damaged"):
        corpora.read(tmp_path, "europarl", "dev")
    path = corpora.path_of(tmp_path, "debian", "dev")
    write_lines(path, ['{"id": "1", "section": "x", "en": "a"}'])
    with pytest.raises(ValueError, match=r"line 1: expected a text in field 'it'"):
        corpora.read(tmp_path, "debian", "dev")
    write_lines(path, ["{"])
    with pytest.raises(ValueError, match=r"line 1: not JSON"):
        corpora.read(tmp_path, "debian", "dev")
    with pytest.raises(files.MissingFile, match=r"train\.en-it\.jsonl\.xz is missing"):
        corpora.read(tmp_path, "debian", "train")


def test_slices_are_even_and_cuts_count_words():
    pairs = corpora.Pairs(([str(i) for i in range(11)], ["x"] * 11), [f"l{i}" for i in range(11)])
    assert pairs.take(3).texts[0] == ["0", "5", "10"]
    assert pairs.take(3).labels == ["l0", "l5", "l10"]
    assert pairs.take(50) is pairs
    assert corpora.Pairs((["a, b  c d"], ["e"])).cut(2).texts == (["a, b"], ["e"])


def test_labels_of_lines_keep_their_distance():
    heights = _apart([0.98, 0.97, 0.2, 0.975], 0.05, 1.0)
    assert heights == pytest.approx([1.0, 0.9, 0.2, 0.95])
    assert _apart([0.1, 0.5], 0.05, 1.0) == [0.1, 0.5]


def test_printing_and_writing(tmp_path):
    rows = [
        Row("1", "d", "A", "top1", 0.5, 0.25, 1.0, setting="10", best=True),
        Row("1", "d", "B", "top1", 0.125, None, 2.0),
    ]
    report = Report("p", "dev", rows, titles={"1": "title"}, notes=["a note"])
    assert render(report).splitlines() == [
        "Table 1: title (dev)",
        "dataset  row  setting     top1   paper  seconds",
        "-----------------------------------------------",
        "d        A    10       0.5000*  0.2500      1.0",
        "d        B    -        0.1250        -      2.0",
        "",
        "* of the smallest set significantly better than the rest (unpaired t-tests, Bonferroni, p < 0.05)",
        "note: a note",
    ]
    write_json(report, tmp_path / "new" / "file.json")
    assert set(json.loads((tmp_path / "new" / "file.json").read_text())["rows"][0]) == FIELDS
    # What cannot be written leaves the file that was there, and nothing beside it.
    bad = Report("p", "dev", [Row("1", "d", "A", "top1", float("nan"), None, 1.0)])
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(bad, tmp_path / "new" / "file.json")
    assert json.loads((tmp_path / "new" / "file.json").read_text())["rows"][0]["ours"] == 0.5
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.json"]
