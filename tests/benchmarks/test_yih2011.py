"""Table 1 of Yih and others 2011, and early stopping of topic models, on a planted data folder."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import semproj as sj  # noqa: E402
from benchmarks.papers.crosslingual import corpora, platt2010, tasks, topicmodels, yih2011  # noqa: E402
from benchmarks.papers.crosslingual.methods import METHODS, CountSpace, Method, topic_methods  # noqa: E402
from benchmarks.papers.crosslingual.topicmodels import OF_2010, OF_2011, FoldIn  # noqa: E402
from benchmarks.papers.published import yih2011 as published  # noqa: E402
from benchmarks.papers.published.common import Setting  # noqa: E402
from tests.reference import plsa as reference  # noqa: E402
from tests.support.papering import not_measured, run_paper, write_pairs  # noqa: E402

TOPICS = ["--rows", "JPLSA", "CPLSA"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_pairs(folder)
    return folder


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_numbers_of_a_split(split, data, tmp_path, capsys):
    found = run_paper("yih2011", data, tmp_path, "--split", split, "--dimension", "12")
    rows = ["S2Net", "OPCA", "CCA", "CPLSA", "JPLSA", "CLLSI"]
    names = ("europarl-25", "mdn", "debian")
    expected = {("1", name, row, m) for name in names for row in rows for m in ("top1", "mrr")}
    assert set(found) == expected
    assert not not_measured("yih2011", found)
    for row in rows:  # chance is 0.08
        assert found["1", "mdn", row, "mrr"]["ours"] > 0.4
    assert found["1", "mdn", "JPLSA", "top1"]["paper"] == 0.6079
    assert found["1", "mdn", "CPLSA", "mrr"]["paper"] == 0.6842
    assert found["1", "debian", "CPLSA", "mrr"]["paper"] is None
    printed = capsys.readouterr().out
    assert "12, coupling inf, " in printed
    assert " sweeps" in printed
    assert "0.7447" in printed
    assert " sweeps of lbfgs" in printed
    assert found["1", "europarl-25", "S2Net", "mrr"]["paper"] is None


def test_the_rows_of_2010(data, tmp_path, capsys):
    found = run_paper(
        "platt2010", data, tmp_path, *TOPICS, "--datasets", "europarl", "europarl-25", "--dimension", "8"
    )
    assert found["1", "europarl", "JPLSA", "top1"]["paper"] == 0.9645
    assert found["1", "europarl", "CPLSA", "mrr"]["paper"] == 0.9782
    assert found["1", "europarl", "JPLSA", "mrr"]["ours"] > 0.4
    printed = capsys.readouterr()
    fits = [line for line in printed.err.splitlines() if line.strip().startswith("sweep 10:")]
    assert len(fits) == 2, "both datasets share a fit"


def test_dev_is_needed_for_test(data, tmp_path, capsys):
    partial = tmp_path / "partial"
    for split in ("train", "test"):
        target = corpora.path_of(partial, "mdn", split)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(corpora.path_of(data, "mdn", split).read_bytes())
    few = ["--split", "test", "--datasets", "mdn", "--dimension", "5"]
    assert run_paper("yih2011", partial, tmp_path, *few, "--rows", "JPLSA") == {}
    assert f"mdn: skipped, {corpora.path_of(partial, 'mdn', 'dev')} is missing" in capsys.readouterr().out
    assert len(run_paper("yih2011", partial, tmp_path, *few, "--rows", "CLLSI")) == 2


@pytest.fixture(scope="module")
def space(data):
    train, dev = (corpora.read(data, "mdn", split) for split in ("train", "dev"))
    return CountSpace(train.texts, drop_top=20, dev=dev.texts)


@pytest.mark.parametrize("recipe", [OF_2010, OF_2011], ids=lambda recipe: recipe.vocabulary)
class TestFoldingIn:
    def test_is_the_papers(self, recipe, space):
        """Vocabulary, iterations and columns of each language."""
        project = topic_methods(recipe)["JPLSA"].fit(space, 6, None).project
        assert (project.model.vocabulary, project.model.fold_in_iter) == (recipe.vocabulary, recipe.fold_in_iter)
        phi, start = project.model.components_.astype(np.float64), 0
        for language, counts in enumerate(space.watched):
            found, topics = project(language, counts), phi
            if recipe.vocabulary == "separate":
                counts = counts[:, space.own_columns[language]]
                topics, start = phi[:, start : start + counts.shape[1]], start + counts.shape[1]
            np.testing.assert_allclose(
                found, reference.fold_in(counts.toarray(), topics, 1.1, recipe.fold_in_iter), atol=1e-5
            )

    def test_is_the_best_sweep_of_dev(self, recipe, space, monkeypatch):
        """What is kept is the model after the sweep with the largest score, not the last."""
        scores = {10: 0.1, 20: 0.5, 30: 0.4, 40: 0.5, 50: 0.3}
        calls = iter(scores.values())
        monkeypatch.setattr(topicmodels, "PATIENCE", 3)
        monkeypatch.setattr(sj.metrics, "mrr", lambda *vectors, metric: next(calls))
        fitted = topic_methods(recipe)["JPLSA"].fit(space, 4, None)
        assert fitted.note == "20 sweeps"
        twenty = sj.JPLSA(
            4,
            vocabulary=recipe.vocabulary,
            init="frequency",
            max_iter=20,
            tol=0,
            fold_in_iter=recipe.fold_in_iter,
        )
        twenty.fit(FoldIn(space, recipe).views())
        assert fitted.project.model.word_topics_.tobytes() == twenty.word_topics_.tobytes()
        assert next(calls, None) is None, "three looks without a better one end it"


def test_each_number_of_topics_is_a_fit_of_its_own(data, tmp_path, monkeypatch, capsys):
    """A stand-in that is right with seven topics and one coupling only."""
    fits = []

    def fit(space, dimension, gamma):
        fits.append((dimension, gamma))
        right = dimension == 7 and gamma == 100.0

        def project(language, counts):
            rows = np.random.default_rng(0 if right else language).random((counts.shape[0], dimension))
            return rows.astype(np.float32)

        return project

    method = Method(
        "CPLSA",
        None,
        fit,
        nested=False,
        dimensions=(3, 7, 12),
        gammas=(10.0, 100.0),
        regularisation="coupling",
        metric="l1",
    )
    monkeypatch.setattr(yih2011, "METHODS", (method,))
    monkeypatch.setattr(yih2011, "TUNED", {})
    found = run_paper("yih2011", data, tmp_path, "--datasets", "mdn", "--tune", "--rows", "CPLSA")
    assert fits == [(3, 10.0), (7, 10.0), (12, 10.0), (3, 100.0), (7, 100.0), (12, 100.0)]
    assert found["1", "mdn", "CPLSA", "top1"]["ours"] == 1.0
    printed = capsys.readouterr().out
    assert "tuned: ('1', 'mdn'), 'CPLSA': (7, 100.0)" in printed
    assert "(the largest tried)" not in printed
    assert "7, coupling 100" in printed


def test_figure_2_has_fits_of_its_own(data, tmp_path, monkeypatch, capsys):
    """A stand-in that is right below its own setting: it is drawn so, and its row is that of the setting."""
    fits = []

    def fit(space, dimension, gamma):
        fits.append(dimension)
        right = dimension == 3
        return lambda language, counts: np.random.default_rng(0 if right else language).random(
            (counts.shape[0], dimension)
        )

    drawn = []
    monkeypatch.setattr(tasks, "add_figure", lambda report, number, *rest, **style: drawn.append((number, *rest)))
    for name, figure in (("mdn", [2]), ("debian", [])):
        method = Method("S2Net", None, fit, nested=False, dimensions=(3, 5, 7, 12))
        monkeypatch.setattr(yih2011, "METHODS", (method,))
        monkeypatch.setattr(yih2011, "TUNED", {name: {"S2Net": Setting(7)}})
        fits.clear()
        drawn.clear()
        found = run_paper("yih2011", data, tmp_path, "--datasets", name, "--rows", "S2Net")
        assert fits == ([7, 3, 5] if figure else [7])
        assert found["1", name, "S2Net", "top1"]["ours"] < 0.2
        assert [number for number, *_ in drawn] == figure
    method = replace(method, drawn=False)
    monkeypatch.setattr(yih2011, "METHODS", (method,))
    monkeypatch.setattr(yih2011, "TUNED", {"mdn": {"S2Net": Setting(7)}})
    fits.clear()
    run_paper("yih2011", data, tmp_path, "--datasets", "mdn", "--rows", "S2Net")
    assert fits == [7]


def test_seeds_are_averaged_and_their_spread_is_told(data, tmp_path, monkeypatch, capsys):
    """A stand-in that finds all partners with the first seed and few with the others."""
    fits = []

    def fit(space, dimension, gamma, seed):
        fits.append(seed)
        return lambda language, counts: np.random.default_rng(language if seed else 0).random((counts.shape[0], 5))

    method = Method("S2Net", None, fit, nested=False, dimensions=(200,), seeded=True)
    monkeypatch.setattr(yih2011, "METHODS", (method,))
    few = ["--datasets", "mdn", "--rows", "S2Net"]
    once = run_paper("yih2011", data, tmp_path, *few)["1", "mdn", "S2Net", "top1"]["ours"]
    often = run_paper("yih2011", data, tmp_path, *few, "--seeds", "4")["1", "mdn", "S2Net", "top1"]["ours"]
    assert fits == [0, 0, 1, 2, 3]
    assert once == 1
    assert 0.25 <= often < 0.5
    assert "4 seeds, standard deviation 0." in capsys.readouterr().out


def test_the_first_words_are_all_that_is_learned_from(data, tmp_path, monkeypatch):
    seen = []

    def fit(space, dimension, gamma):
        seen.extend([*space.texts, *space._dev])
        return lambda language, counts: counts

    method = Method("S2Net", None, fit, projects=False, stops=True)
    monkeypatch.setattr(yih2011, "METHODS", (method,))
    run_paper("yih2011", data, tmp_path, "--datasets", "europarl-25", "--rows", "S2Net")
    assert max(len(text.split()) for side in seen for text in side) == 25


def test_a_space_without_dev_says_so(data):
    train = corpora.read(data, "mdn", "train")
    with pytest.raises(ValueError, match="dev: expected documents"):
        topic_methods(OF_2010)["JPLSA"].fit(CountSpace(train.texts), 3, None)


def test_settings():
    """Topic models have the settings of their own paper, all others those of 2010 on the same task."""
    assert published.PUBLISHED["JPLSA"].setting == Setting(1000)
    for dataset in yih2011.DATASETS:
        table = "1" if dataset == "europarl-25" else "2"
        assert yih2011.setting_of("1", dataset, "OPCA") == platt2010.REFERENCE.setting_of(table, dataset, "OPCA")
    for methods, metric in ((METHODS, "l1"), (yih2011.METHODS, "jensen_shannon")):
        stopping = {method.row: method.metric for method in methods if method.stops}
        assert stopping == {"JPLSA": metric, "CPLSA": metric, "S2Net": "cosine"}
