"""The Python in README.md and docs runs, in order, and does what the text says."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import numpy as np
import pytest

from tests.repo.tree import ROOT, read

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CHECKED = {"README.md", "docs/guide.md", "docs/functions.md"}  # by a test of their own below


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE)


def run(page, folder, monkeypatch):
    """The names that a page's code leaves."""
    monkeypatch.chdir(folder)
    names = {}
    for number, block in enumerate(blocks(page), start=1):
        exec(compile(block, f"{page.name} block {number}", "exec"), names)
    return names


def test_readme(tmp_path, monkeypatch):
    assert len(blocks(ROOT / "README.md")) == 1
    names = run(ROOT / "README.md", tmp_path, monkeypatch)
    assert names["X"].dtype == np.int32
    assert names["W"].dtype == np.float32
    assert names["Z"].shape == (2000, 100)
    np.testing.assert_allclose(names["vectors"], names["Z"][:10], rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(names["nearest"][:, 0], np.arange(10))
    np.testing.assert_allclose(names["cosines"][:, 0], 1, atol=1e-5)


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """What the guide's code leaves, and what it prints."""
    page = ROOT / "docs" / "guide.md"
    assert len(blocks(page)) == 22
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as monkeypatch, redirect_stdout(printed):
        names = run(page, tmp_path_factory.mktemp("guide"), monkeypatch)
    return names, printed.getvalue()


class TestGuide:
    def test_text_to_vectors(self, guide):
        names, _ = guide
        exact = names["lsa"].transform(names["W"])
        lengths = np.linalg.norm(exact, axis=1, keepdims=True)
        np.testing.assert_allclose(names["vectors"] * lengths, exact, atol=1e-3 * lengths.max())  # float16
        sums = np.asarray(names["shares"].sum(axis=1)).ravel()
        np.testing.assert_allclose(sums, lengths[:, 0] > 0, rtol=1e-5)  # 0 for a text of frequent words only

    def test_two_languages(self, guide):
        _, printed = guide
        found = {name: float(value) for name, value in re.findall(r"(\w+): Top-1 ([\d.]+)", printed)}
        assert 0.8 < found["CLLSI"] <= found["OPCA"] <= 1
        assert found["CPLSA"] > 0.9
        assert 0.8 < found["JPLSA"] < found["CPLSA"]
        assert found["DDA"] > 0.9
        assert found["CCA"] > 0.9
        assert found["S2Net"] > 0.92
        assert found["WordByWord"] > 0.95

    def test_topics_of_the_other_language(self, guide):
        names, printed = guide
        assert float(re.search(r"right topics: ([\d.]+)", printed)[1]) > 0.95
        partners = np.arange(1600, 2000)
        assert (names["indices"] == partners[:, None]).any(axis=1).mean() > 0.95

    def test_an_index(self, guide):
        names, _ = guide
        ids, scores = names["ids"], names["scores"]
        assert len(names["index"]) == 1999
        np.testing.assert_array_equal(np.sort(scores), scores[:, ::-1])
        assert ids[0, 0] == 11_600  # its translation
        assert not np.isin([10_000, 10_001, 10_002], ids).any()

    def test_perplexity(self, guide):
        names, printed = guide
        counts = names["first"][1600:]
        share = np.asarray(names["first"][:1600].sum(axis=0)).ravel() + 1
        words_alone = np.exp(-(counts @ np.log(share / share.sum())).sum() / counts.sum())
        assert float(re.search(r"new texts: (\d+)", printed)[1]) < 0.5 * words_alone

    def test_synonyms_and_antonyms(self, guide):
        names, _ = guide
        # No entry has spite and affection, nor bitterness and kindness.
        assert names["pilsa"].similarity("spite", "affection") < -0.9
        assert {word for word, _ in names["pilsa"].most_opposite("bitterness", 3)} == {
            "affection",
            "goodwill",
            "kindness",
        }
        assert names["space"].similarity("bitter", "kindness") < -0.9

    def test_relations(self, guide):
        names, _ = guide
        degree = names["mrlsa"].degree
        assert degree("bitterness", "kindness", "antonym") > degree("bitterness", "rancor", "antonym")
        assert "foot" in {word for word, _ in names["mrlsa"].top_words("summit", "antonym", k=2)}
        assert names["tucker"].core_.shape == (20, 20, 3)
        assert 0 < names["tucker"].fit_ < 1

    def test_recommendations(self, guide):
        names, _ = guide
        assert names["items"].shape == (50, 5)
        assert np.take_along_axis(names["tastes"][250:], names["items"], axis=1).mean() > 0.9

    def test_perspectives(self, guide):
        names, _ = guide
        assert names["mean"] < -0.8, "joyful and gloomy are opposites, though nobody said so"
        assert 0 < names["spread"] < 1
        assert names["opposed"] > 0.5
        assert {word for word, _ in names["opposites"]} == {"cold", "cool", "icy"}

    def test_long_fits(self, guide):
        names, _ = guide
        long, stopping, new = names["long"], names["stopping"], names["first"][1600:]
        assert stopping.best_sweep_ < long.n_iter_ < long.max_iter
        assert stopping.best_.perplexity(new) <= long.perplexity(new)

    def test_saved_models(self, guide):
        names, _ = guide
        np.testing.assert_array_equal(names["loaded"].components_, names["opca"].components_)

    def test_one_kernel(self, guide):
        names, _ = guide
        # The kernel is the transform with int8 storage and unit rows, so the same but for about a hundredth.
        exact = names["cllsi"].transform(names["first"])
        exact /= np.linalg.norm(exact, axis=1, keepdims=True)
        error = np.linalg.norm(names["out"] - exact) / np.linalg.norm(exact)
        assert 0 < error < 0.03
        np.testing.assert_array_equal(names["solved"], names["wtmf"].sentence_vectors_)


def test_functions(tmp_path, monkeypatch):
    printed = io.StringIO()
    with redirect_stdout(printed):
        names = run(ROOT / "docs" / "functions.md", tmp_path, monkeypatch)
    rare, common = map(int, re.findall(r"a word of a topic is in (\d+)", printed.getvalue()))
    assert rare < 0.8 * common
    by_stars, implicit = map(float, re.findall(r"of their own kind: ([\d.]+)", printed.getvalue()))
    assert by_stars > 0.98
    assert 0.4 < implicit < 0.7
    again, model = names["again"], names["by_stars"]
    np.testing.assert_array_equal(again.transform(names["ratings"]), model.transform(names["ratings"]))
    by_ppmi, by_counts = map(float, re.findall(r"word of the same kind: ([\d.]+)", printed.getvalue()))
    assert by_ppmi > 0.9
    assert by_counts < 0.75
    by_odds, by_counts = map(float, re.findall(r"of people wrong: ([\d.]+)", printed.getvalue()))
    assert by_odds < by_counts / 2
    tied, loose = map(float, re.findall(r"topics differ by up to ([\d.]+)", printed.getvalue()))
    assert tied < 0.101
    assert loose > 0.2


def test_other_pages(tmp_path, monkeypatch):
    for page in PAGES:
        if page.relative_to(ROOT).as_posix() not in CHECKED:
            run(page, tmp_path, monkeypatch)
