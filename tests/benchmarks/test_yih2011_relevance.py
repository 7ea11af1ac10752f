"""Tables 2 and 3 of Yih and others 2011 on made-up files; the measures and HDLR on cases known by hand."""

from __future__ import annotations

import lzma
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers.framework.files import MissingFile  # noqa: E402
from benchmarks.papers.published import yih2011 as published  # noqa: E402
from benchmarks.papers.relevance import methods, yih2011_relevance  # noqa: E402
from benchmarks.papers.relevance.collections import READERS  # noqa: E402
from benchmarks.papers.relevance.hdlr import learn_metric  # noqa: E402
from benchmarks.papers.relevance.measures import RATES, measures, roc  # noqa: E402
from tests.support.papering import not_measured, run_paper  # noqa: E402

ALL = {"AUC", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP"}
TOPICS = 4


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode("utf-8")))


def _text(draw, kind: str, topic: int, n: int) -> str:
    """Words of a topic, of queries or of documents, among words of all."""
    own = [f"{kind}{topic}x{number}" for number in draw.integers(0, 6, n)]
    return " ".join([*own, *(f"all{number}" for number in draw.integers(0, 20, 2))])


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder, draw = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    topics = {f"D{i}": i % TOPICS for i in range(60)}
    documents = [f"{name}\t{_text(draw, 'doc', topic, 8)}" for name, topic in topics.items()]
    for split, n in (("train", 40), ("dev", 12), ("test", 12)):
        queries = {f"{split}{i}": i % TOPICS for i in range(n)}
        _write(
            folder / "nfcorpus" / f"{split}.titles.queries.xz",
            [f"{name}\t{_text(draw, 'query', topic, 3)}" for name, topic in queries.items()],
        )
        grades = [
            f"{query}\t0\t{name}\t{2 + i % 2}"
            for query, topic in queries.items()
            for i, (name, of) in enumerate(topics.items())
            if of == topic
        ]
        _write(folder / "nfcorpus" / f"{split}.3-2-1.qrel.xz", [*grades, f"{next(iter(queries))}\t0\tGONE\t3"])
        if split != "train":
            _write(folder / "nfcorpus" / f"{split}.docs.xz", documents)
        lines = []
        for topic in queries.values():
            query = _text(draw, "query", topic, 3)
            for grade, of in ((4, topic), (4, topic), (3, topic), (2, topic + 1), (1, topic + 2), (1, topic + 3)):
                product = _text(draw, "doc", of % TOPICS, 5)
                lines.append(f"{len(lines)}\t{query}\t{product}\t\t{grade}")
        _write(folder / "crowdflower" / f"{split}.tsv.xz", lines)
    return folder


def test_the_rows_of_both_tables(data, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    long = {name: replace(recipe, epochs=20) for name, recipe in methods.RECIPES.items()}
    monkeypatch.setattr(methods, "RECIPES", long)
    found = run_paper("yih2011", data, tmp_path, "--split", "test", "--dimension", "8", "--plots", str(tmp_path))
    rows = ["S2Net", "S2Net+TFIDF", "TFIDF", "HDLR", "CPLSA", "PCA", "OPCA", "JPLSA", "CCA", "PLSA"]
    datasets = ("nfcorpus", "crowdflower")
    assert set(found) == {("2", name, row, metric) for name in datasets for row in rows for metric in ALL}
    assert not not_measured("yih2011", found)
    for name in datasets:  # queries and documents have no telling words in common
        assert found["2", name, "TFIDF", "AUC"]["ours"] < 0.65
        assert found["2", name, "S2Net", "AUC"]["ours"] > 0.9
        assert found["2", name, "CCA", "AUC"]["ours"] > 0.8
    assert found["2", "crowdflower", "HDLR", "NDCG@3"]["paper"] == 0.856
    assert found["2", "crowdflower", "S2Net", "MAP"]["paper"] is None
    assert found["2", "nfcorpus", "S2Net", "AUC"]["paper"] is None
    assert {path.name for path in tmp_path.glob("*.png")} == {
        f"yih2011-figure3-{name}-test.png" for name in datasets
    }
    printed = capsys.readouterr().out
    assert "weight " in printed
    assert "mdn: skipped" in printed


def test_dimensions_and_seeds(data, tmp_path, monkeypatch):
    monkeypatch.setattr(yih2011_relevance, "BY_DIMENSION", (3, 5, 100))
    settings = ("--datasets", "crowdflower", "--rows", "S2Net", "--dimension", "6", "--seeds", "2", "--no-plots")
    found = run_paper("yih2011", data, tmp_path, *settings)
    assert {(table, row) for table, _, row, _ in found} == {("2", "S2Net"), ("3", "S2Net 3"), ("3", "S2Net 5")}
    assert all(row["spread"] >= 0 for row in found.values())


def test_rows_of_one_table_only(data, tmp_path):
    few = ("--dimension", "4", "--no-plots", "--rows", "TFIDF", "CLLSI")
    assert {place[2] for place in run_paper("yih2011", data, tmp_path, *few)} == {"TFIDF"}


class TestCollections:
    def test_nfcorpus(self, data):
        found = READERS["nfcorpus"](data, "test")
        assert len(found.documents) == 60
        assert (len(found.train.queries), len(found.dev.queries), len(found.held_out.queries)) == (40, 12, 12)
        assert found.held_out.grades.shape == (12, 60)
        assert found.held_out.grades[1, 1] == 3, "an odd document of the same topic"
        assert found.held_out.grades[1, 2] == 0
        assert len(found.train.labels) == 40 * 15, "without the document that is not there"

    def test_crowdflower(self, data):
        found = READERS["crowdflower"](data, "dev")
        assert found.held_out is found.dev
        assert found.dev.grades.shape == (12, 72)
        assert sorted(found.dev.grades[0][found.dev.grades[0] >= 0]) == [0, 0, 1, 2, 3, 3]

    def test_files_that_are_missing_or_broken(self, data, tmp_path):
        with pytest.raises(MissingFile, match=r"train\.tsv\.xz is missing"):
            READERS["crowdflower"](tmp_path, "dev")
        for split in ("train", "dev"):
            _write(tmp_path / "crowdflower" / f"{split}.tsv.xz", ["1\tquery\ttitle\t4"])
        with pytest.raises(ValueError, match="line 1: expected id, query, title, description and grade"):
            READERS["crowdflower"](tmp_path, "dev")


class TestMeasures:
    GRADES = np.array([[2, 0, -1, 1], [-1, 1, 0, 0]])
    SCORES = np.array([[0.1, 0.2, 9.0, 0.3], [9.0, 0.8, 0.2, 0.1]])

    def test_by_hand(self):
        found = measures(self.GRADES, self.SCORES, 1)
        # Relevant: 0.1, 0.3 and 0.8. Others: 0.2, 0.2 and 0.1, with one tie.
        assert found["AUC"] == pytest.approx((0.5 + 3 + 3) / 9)
        assert found["NDCG@1"] == pytest.approx((1 / 2 + 1) / 2)
        ideal = 2 + 1 / np.log2(3)
        assert found["NDCG@3"] == pytest.approx(((1 + 2 / np.log2(4)) / ideal + 1) / 2)
        assert found["MAP"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)

    def test_roc(self):
        found = roc(self.GRADES, self.SCORES, 1)
        assert tuple(found) == RATES
        assert found[0.05] == pytest.approx(2 / 3)

    def test_labels_of_one_class(self):
        with pytest.raises(ValueError, match="one class only"):
            measures(np.ones((2, 3), int), np.zeros((2, 3)), 1)


class TestHdlr:
    def test_a_bound_that_must_hold_is_reached(self):
        """One pair of each kind, one after the other until both are at their bounds."""
        first, second = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[-1.0, 0.0], [0.0, 0.5]])
        together = np.array([True, False])
        L = learn_metric(first, second, together, slack=np.inf, passes=50)
        near, far = np.percentile([4.0, 0.25], [5, 95])
        d = first - second
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", d, L, d), [near, far], rtol=1e-9)
        np.testing.assert_allclose(L, np.diag([near / 4, far / 0.25]), atol=1e-12)

    def test_stays_a_metric_and_moves_pairs(self):
        draw = np.random.default_rng(0)
        first, second = draw.standard_normal((2, 200, 5))
        second[:100, 0] = first[:100, 0] + 0.1  # what the first direction tells
        together = np.arange(200) < 100
        L = learn_metric(first, second, together, slack=1.0)
        np.testing.assert_array_equal(L, L.T)
        values = np.linalg.eigvalsh(L)
        assert values[0] > 0
        assert L[0, 0] > 2 * np.diag(L)[1:].max()

    def test_no_slack_is_the_start(self):
        first, second = np.random.default_rng(0).standard_normal((2, 20, 3))
        np.testing.assert_allclose(
            learn_metric(first, second, np.arange(20) < 10, slack=1e-9), np.eye(3), atol=1e-6
        )


def test_published_numbers():
    assert published.TABLE2["S2Net"] == published.TABLE3[1000]
    assert {method.row for method in methods.methods("nfcorpus")} == {*published.TABLE2, "S2Net+TFIDF"}
