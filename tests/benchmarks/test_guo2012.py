"""The tables of Guo and Diab 2012 on invented dictionaries: corpus, tasks, models, plots, what is skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import semproj as sj  # noqa: E402
from benchmarks.papers.framework import compare, files  # noqa: E402
from benchmarks.papers.framework.definitions import Corpus, is_pointer, read_wiktionary  # noqa: E402
from benchmarks.papers.sentences import guo2012, models, tasks  # noqa: E402
from benchmarks.papers.sentences.guo2012_rows import ROWS, wtmf  # noqa: E402
from benchmarks.papers.sentences.models import MODELS, Setting  # noqa: E402
from benchmarks.papers.sentences.tasks import Pairs, Paraphrase, read_task  # noqa: E402
from semproj.tasks import best_threshold  # noqa: E402
from tests.support.papering import by_place, not_measured, run_json, write_lines, write_wordnet  # noqa: E402

FIELDS = {"table", "dataset", "row", "metric", "ours", "paper", "seconds"}
TOPICS, WORDS = 8, 30
N_SENSES = 240


def _word(topic: int, number: int) -> str:
    return f"{'bcdfghjk'[topic]}{'aeiou'[number // 6]}{'lmnprt'[number % 6]}o"


class Invented:
    """Topics with words of their own; a sense has a few, and a dictionary uses some of them to define it."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.senses = [(i % TOPICS, self.rng.choice(WORDS, 8, replace=False)) for i in range(N_SENSES)]

    def define(self, sense: int, n_words: int = 5) -> str:
        topic, words = self.senses[sense]
        chosen = self.rng.choice(words, n_words, replace=False)
        return " ".join(["the", *(_word(topic, number) for number in chosen)])

    def talk(self, topic: int) -> str:
        return " ".join(["the", *(_word(topic, number) for number in self.rng.choice(WORDS, 6))])

    def judged(self, n: int) -> list[tuple[str, str, float]]:
        """Pairs of one sense (1), of one topic (0.5) and of two topics (0), in turn."""
        pairs = []
        for i in range(n):
            first = int(self.rng.integers(N_SENSES))
            second = (first, (first + TOPICS) % N_SENSES, (first + 1) % N_SENSES)[i % 3]
            pairs.append((self.define(first), self.define(second), 1 - i % 3 / 2))
        return pairs


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The layout of the data folder, dev and test of everything."""
    folder = tmp_path_factory.mktemp("data")
    world = Invented()
    write_wordnet(folder, {"index.noun": f"{_word(0, 0)} n 1 0 1 1 00000000\n"})
    glosses = [f"{i:08d}-{'nvas'[i % 4]}\tw{i}\t{world.define(i)}\t" for i in range(N_SENSES)]
    write_lines(folder / "definitions" / "wordnet30.tsv.xz", glosses)
    talk = [f"w\t{pos}\t{world.talk(i % TOPICS)}\tan example" for i, pos in enumerate(["Noun", "Verb"] * 400)]
    noise = [
        "w\tNoun\tplural of once\t",
        "w\tSymbol\tonce upon\t",
        "w\tAdverb\t(dated) Alternative form of once\t",
    ]
    write_lines(folder / "definitions" / "wiktionary.tsv.xz", talk + noise)
    write_lines(folder / "definitions" / "brown.txt.xz", [world.talk(i % TOPICS) + " ." for i in range(300)])
    for split, start in (("dev", 0), ("test", 60)):
        lines = []
        for i in range(start, start + 60):
            definition = world.define(i)
            # WordNet's satellites are adjectives elsewhere; some senses have two synsets.
            lines += [
                f"s{i}\t{definition}\t{j:08d}-{'nvaa'[j % 4]}" for j in ((i, i + TOPICS) if i % 5 == 0 else (i,))
            ]
        lines.append(f"unknown{start}\tnothing here is known\t{start:08d}-n")
        write_lines(folder / "cdr" / f"{split}.tsv.xz", lines)
    for name, n in (("li06_30", 30), ("li06_35", 35)):
        rated = [f"{a}\t{b}\t{rating}" for a, b, rating in world.judged(n)]
        write_lines(folder / "sts" / f"{name}.tsv", ["sentence1\tsentence2\trating", *rated])
    for split in ("train", "test"):
        rows = [f"{int(y == 1)}\t{i}\t{i}\t{a}\t{b}" for i, (a, b, y) in enumerate(world.judged(120))]
        write_lines(
            folder / "sts" / f"msrp_{split}.txt", ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", *rows]
        )
        pairs = world.judged(90)
        write_lines(folder / "sts" / f"sts12_{split}" / "text", [text for a, b, _ in pairs for text in (a, b)])
        write_lines(folder / "sts" / f"sts12_{split}" / "gs", [f"{5 * y:.3f}" for _, _, y in pairs])
    return folder


def _run(data: Path, tmp_path: Path, *arguments: str) -> dict:
    return run_json("guo2012", data, tmp_path, *arguments)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_all_tables_of_a_split(split, data, tmp_path, capsys):
    rows = ["IR", "N-gram", "N-gram tf-idf", "LSA", "WTMF", "WTMF+IR"]
    arguments = ["--rows", *rows, "--dimension", "8", "--seeds", "2", "--no-plots"]
    result = _run(data, tmp_path, "--split", split, *arguments)
    assert (result["paper"], result["split"]) == ("guo2012", split)
    found = by_place(result)
    expected = {spec.table for spec in ROWS} - {"Figure 2", "Figure 3"}
    assert {place[0] for place in found} == expected
    assert {place[1] for place in found} == set(guo2012.DATASETS)
    assert not_measured("guo2012", found) == {"LDA a=0.05 b=0.05"}  # which was not asked for
    for (_, _, row, _), each in found.items():
        assert set(each) == (FIELDS | {"spread"} if "WTMF" in row else FIELDS)
        assert each["spread"] >= 0 if "WTMF" in row else True
        assert -1 <= each["ours"] <= 1
    assert {place[3] for place in found if place[0] == "2"} == {"atop", "top 1%", "atop, no copies"}
    # A definition shares about three of five words with its gold one, and topics share none.
    for row in ("IR", "N-gram", "LSA", "WTMF w=0.01"):
        assert found["2", "cdr", row, "atop"]["ours"] > 0.9
    assert found["3", "li06_30", "WTMF w=0.01", "r"] == found["4", "li06_30", "WTMF w=0.01", "r"] | {"table": "3"}
    for dataset in ("li06_30", "li06_35"):
        assert found["3", dataset, "WTMF w=0.01", "r"]["ours"] > 0.8
    # Two thirds are no paraphrases. As many dimensions as topics say nothing of the words that senses share.
    assert found["5", "msrp", "IR", "accuracy"]["ours"] > 0.85
    assert found["5", "msrp", "WTMF+IR w=0.01", "accuracy"]["ours"] > 0.85
    assert found["5", "msrp", "WTMF w=0.01", "accuracy"]["ours"] < 0.85
    assert found["STS", "sts12", "WTMF+IR w=0.01", "r"]["ours"] > found["STS", "sts12", "IR", "r"]["ours"]
    # The published numbers of the split.
    atop = {"dev": 0.9610, "test": 0.9558}[split]
    assert found["2", "cdr", "WTMF w=0.0005", "atop"]["paper"] == atop
    assert found["5", "msrp", "WTMF w=0.01", "accuracy"]["paper"] == {"dev": None, "test": 0.7151}[split]
    assert found["3", "li06_35", "WTMF w=0.05", "rho"]["paper"] == 0.4766
    printed = capsys.readouterr()
    assert f"Table 3: LI06 by the weight of missing words ({split})" in printed.out
    assert f"STS: SemEval 2012 sentence similarity, not in the paper ({split})" in printed.out
    assert "±" in printed.out
    assert "K 8, w_m 0.0005, reg 20" in printed.out
    assert "not the results to quote" in printed.out
    assert "K 8, w_m 0.01, reg 20, seed 1: cdr atop" in printed.err


def test_plots_and_their_points(data, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    result = _run(data, tmp_path, "--rows", "WTMF", "--datasets", "cdr", "--dimension", "80", "--seeds", "1")
    found = by_place(result)
    points = [place[2] for place in found if place[0] == "Figure 2"]
    assert points == [f"WTMF w={weight}" for weight in ("0.0001", "0.0005", "0.001", "0.005", "0.01", "0.05")]
    # Figure 3 is of dimensions: those above the largest allowed are left out, not run with fewer.
    assert [place[2] for place in found if place[0] == "Figure 3"] == ["WTMF K=50", "WTMF K=75"]
    assert all("spread" not in row for row in result["rows"])  # of one seed there is none
    assert {place[3] for place in found if place[0].startswith("Figure")} == {"atop"}
    for number in (2, 3):
        assert (tmp_path / "out" / f"guo2012-figure{number}-dev.png").read_bytes().startswith(b"\x89PNG")
    assert "Figure 2: " in capsys.readouterr().out


def test_lda_is_optional(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(MODELS, "LDA", models.Model(MODELS["LDA"].fit_, seeded=True, needs="no_such_package"))
    result = _run(data, tmp_path, "--rows", "LDA", "IR", "--datasets", "li06_30")
    assert {row["row"] for row in result["rows"]} == {"IR"}
    assert "LDA: skipped, no_such_package is not installed; it is in the extra `bench`" in capsys.readouterr().out


def test_lda_finds_the_topics(data, monkeypatch):
    pytest.importorskip("tomotopy")
    monkeypatch.setattr(models, "LDA_SWEEPS", 60)
    corpus = Corpus(data)
    fitted = MODELS["LDA"].fit(corpus, Setting("LDA", TOPICS, alpha=0.05, beta=0.05), 1, None)
    vectors = fitted.vectors(corpus.definitions)
    assert vectors.shape == (N_SENSES, TOPICS)
    # Word vectors are P(z|w): of a word of one topic, nearly all in one place.
    words = fitted.vectors(corpus.sentences([_word(t, 3) for t in range(TOPICS)]))
    shares = words / words.sum(axis=1, keepdims=True)
    assert (shares.max(axis=1) > 0.8).mean() > 0.7
    assert read_task(data, "cdr", "dev", corpus).atop(fitted.vectors) > 0.85


def test_what_the_folder_lacks_is_skipped_and_said(data, tmp_path, capsys):
    partial = tmp_path / "partial"
    for path in [*data.glob("definitions/*"), data / "cdr" / "dev.tsv.xz", data / "sts" / "li06_30.tsv"]:
        target = partial / path.relative_to(data)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    result = _run(partial, tmp_path, "--rows", "IR", "--no-plots")
    assert result["rows"] == []
    assert f"everything: skipped, {partial / 'wordnet30.tar.xz'} is missing" in capsys.readouterr().out
    (partial / "wordnet30.tar.xz").symlink_to(data / "wordnet30.tar.xz")
    result = _run(partial, tmp_path, "--rows", "IR", "--no-plots")
    assert {row["dataset"] for row in result["rows"]} == {"cdr", "li06_30"}
    captured = capsys.readouterr()
    for stream in (captured.out, captured.err):
        assert f"msrp: skipped, {partial / 'sts' / 'msrp_train.txt'} is missing" in stream
        assert f"sts12: skipped, {partial / 'sts' / 'sts12_train' / 'text'} is missing" in stream
    result = _run(partial, tmp_path, "--split", "test", "--rows", "WTMF", "--dimension", "2", "--no-plots")
    assert {row["dataset"] for row in result["rows"]} == {"li06_30"}
    printed = capsys.readouterr().out
    assert f"cdr: skipped, {partial / 'cdr' / 'test.tsv.xz'} is missing" in printed
    assert f"li06_35: skipped, {partial / 'sts' / 'li06_35.tsv'} is missing" in printed


def test_a_fit_without_missing_words_is_stopped_by_dev(data, tmp_path, monkeypatch, capsys):
    """The vectors that are kept are those of the sweep with the best ATOP on dev, whatever is evaluated."""
    corpus = Corpus(data)
    dev = read_task(data, "cdr", "dev", corpus)
    sweeps = []
    parameters = {"missing_weight": 0.0, "reg": 20.0}
    stop = sj.EarlyStopping

    def spying(self, progress):
        done, words = stop.__call__(self, progress), progress.model.word_vectors_
        sweeps.append((dev.atop(models._solving(words, parameters)), words.copy(), done))
        return done

    monkeypatch.setattr(sj, "EarlyStopping", type("Spy", (stop,), {"__call__": spying}))
    fitted = MODELS["WTMF"].fit(corpus, wtmf(0.0, 8), 0, dev)
    best = int(np.argmax([atop for atop, _, _ in sweeps]))
    assert len(sweeps) in (best + 1 + models.PATIENCE, 20)
    assert [done for _, _, done in sweeps[:-1]] == [False] * (len(sweeps) - 1)
    rows = sj.kernels.weighted_row_solve(dev.queries.rows, sweeps[best][1], **parameters)
    np.testing.assert_array_equal(fitted.vectors(dev.queries), rows)
    # Without dev there is nothing to stop it by.
    partial = tmp_path / "partial"
    partial.mkdir()
    for path in data.iterdir():
        if path.name != "cdr":
            (partial / path.name).symlink_to(path)
    write_lines(partial / "cdr" / "test.tsv.xz", [f"a\t{_word(0, 1)}\t00000000-n"])
    arguments = ["--split", "test", "--rows", "WTMF", "--datasets", "cdr", "--dimension", "4", "--seeds", "1"]
    _run(partial, tmp_path, *arguments, "--no-plots")
    assert "WTMF w=0: not stopped before the last sweep" in capsys.readouterr().out


def test_the_corpus(data):
    corpus = Corpus(data)
    # 240 definitions, 800 of Wiktionary's entries and 300 sentences; "once" occurs only in what is dropped.
    assert corpus.rows.shape[0] == 240 + 800 + 300
    vocabulary = corpus.vocabulary
    assert "once" not in vocabulary
    assert "the" in vocabulary
    assert len(corpus.definitions) == N_SENSES
    np.testing.assert_array_equal(corpus.definitions.rows.toarray(), corpus.rows[:N_SENSES].toarray())
    # f ln(n / d), over lemmas that occur twice or more.
    column = vocabulary.index(_word(2, 5))
    documents = np.count_nonzero(corpus.rows[:, column].toarray())
    weight = corpus.sentences([f"{_word(2, 5)} {_word(2, 5)} unknown"]).rows
    assert weight.nnz == 1
    assert weight[0, column] == pytest.approx(2 * np.log(1340 / documents), rel=1e-6)
    assert corpus.synsets["00000003-a"] == 3  # a satellite
    # A slice to learn from, of each source; all definitions can be found all the same.
    small = Corpus(data, limit=50, terms=20)
    assert small.rows.shape == (150, 20)
    assert len(small.definitions) == N_SENSES


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("plural of dog", True),
        ("third-person singular simple present indicative form of walk", True),
        ("(archaic) simple past tense of clepe", True),
        ("Alternative letter-case form of Bible", True),
        ("(UK) (dated) Obsolete spelling of show", True),
        ("A form of address.", True),  # the price of a simple rule
        ("The plural of a noun is formed by adding an s", False),
        ("A dog of any kind", False),
        ("The quality of being formal", False),
        ("past one's prime", False),
    ],
)
def test_entries_that_only_point_to_another(definition, expected):
    assert is_pointer(definition) == expected


def test_parts_of_speech(tmp_path):
    lines = ["a\tNoun\tone\t", "a\tLetter\ttwo\t", "a\tAdjective \tthree\tan example", "a\tAdverb\tplural of b\t"]
    write_lines(tmp_path / "definitions" / "wiktionary.tsv.xz", lines)
    assert list(read_wiktionary(tmp_path)) == ["one", "three"]


def test_queries_and_their_gold_definitions(data):
    corpus = Corpus(data)
    task = read_task(data, "cdr", "dev", corpus)
    assert len(task.queries) == len(task.gold) == 61
    assert task.gold[:2] == [[0, TOPICS], [1]]
    assert task.copies.sum() < 5
    vectors = MODELS["IR"].fit(corpus, Setting("IR"), 0, None).vectors
    curve = compare.recall_curve(vectors(task.queries), vectors(task.definitions), task.gold)
    assert curve.outcomes[60] == 0.5  # no known word
    copied = tasks.Retrieval(
        corpus.sentences([*_texts(corpus, [3, 9]), "the"]), corpus.definitions, [[3], [4, 9], [1]]
    )
    assert copied.copies.tolist() == [True, True, False]
    measured = copied.measure(vectors)
    assert measured["atop, no copies"] < measured["atop"]
    assert len(read_task(data, "cdr", "dev", corpus, limit=7).gold) == 7


def _texts(corpus, rows):
    """The words of definitions in another order."""
    return [" ".join(sorted(corpus.definitions.lemmas[row])) for row in rows]


def test_ngrams_are_counted_once(data):
    corpus = Corpus(data)
    fitted = MODELS["N-gram"].fit(corpus, Setting("N-gram"), 0, None)
    lemmas = corpus.definitions.lemmas[0]
    rows = fitted.vectors(corpus.sentences([" ".join(lemmas), " ".join(lemmas[:2] * 2), lemmas[2]]))
    overlap = (rows @ rows.T).toarray()
    n = len(lemmas)
    assert overlap[0, 0] == n + (n - 1) + (n - 2)
    assert overlap[0, 1] == 3  # two words and one pair
    assert overlap[0, 2] == 1
    assert fitted.metric == "inner_product"


@pytest.mark.parametrize("sample", [None, 60])
@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_sparse_recall_is_that_of_the_library(metric, sample, monkeypatch):
    monkeypatch.setattr(compare, "BLOCK_ELEMENTS", 1500)  # several blocks
    rng = np.random.default_rng(0)
    queries, corpus = (rng.integers(0, 3, (n, 12)) * (rng.random((n, 12)) < 0.3) for n in (40, 90))
    queries[3] = corpus[5] = 0
    gold = [[5]] + [rng.choice(90, 1 + i % 3, replace=False).tolist() for i in range(1, 40)]
    rows = [sp.csr_matrix(side, dtype=np.float32) for side in (queries, corpus)]
    dense = [side.toarray() for side in rows]
    found = compare.recall_curve(*rows, gold, metric=metric, sample=sample)
    expected = compare.recall_curve(*dense, gold, metric=metric, sample=sample)
    np.testing.assert_allclose(found.best, expected.best, atol=1e-12)
    np.testing.assert_allclose(found.worst, expected.worst, atol=1e-12)
    assert (found.best < found.worst).any()
    assert found.outcomes[3] == 0.5


def test_cosines_of_pairs():
    first = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], np.float32)
    second = np.array([[4.0, 3.0], [1.0, 0.0], [-2.0, 0.0]], np.float32)
    for kind in (np.asarray, sp.csr_matrix):
        np.testing.assert_allclose(compare.cosines(kind(first), kind(second)), [0.96, 0, -1], atol=1e-6)


def test_the_threshold_is_the_best_and_between_scores():
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert best_threshold(scores, np.array([0, 0, 1, 0, 1, 1])) == pytest.approx(0.25)
    assert best_threshold(scores, np.ones(6)) == -np.inf
    assert best_threshold(scores, np.zeros(6)) == np.inf
    # Equal scores stay together: best would be to part them.
    assert best_threshold(np.array([0.5, 0.5, 0.9, 0.1]), np.array([0, 1, 1, 0])) in (0.3, 0.7)
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 20, 200) / 20, rng.random(200) < 0.6
    right = [np.mean((scores >= t) == labels) for t in np.arange(-0.5, 21) / 20]
    assert np.mean((scores >= best_threshold(scores, labels)) == labels) == max(right)


def test_paraphrases_are_told_by_what_other_pairs_teach():
    """Cross-validation on noise must not look better than chance, and a test set has no say in its threshold."""
    rng = np.random.default_rng(0)
    empty = tasks.Sentences([], None)
    train = Pairs(empty, empty, np.arange(400) % 2)
    noise = rng.random(400)
    assert Paraphrase(train, None).measure(lambda pairs: noise)["accuracy"] == pytest.approx(0.5, abs=0.06)
    test = Pairs(empty, empty, np.array([1, 1, 1, 0]))
    scores = {id(train): train.judgements * 0.5, id(test): np.array([0.3, 0.2, 0.9, 0.1])}
    found = Paraphrase(train, test).measure(lambda pairs: scores[id(pairs)])
    assert found == {"accuracy": 0.75}  # 0.2 is below the quarter that train asks for


def test_damaged_data_names_the_file(data, tmp_path):
    corpus = Corpus(data)
    write_lines(tmp_path / "cdr" / "dev.tsv.xz", ["s\tsome words\t99999999-n"])
    with pytest.raises(ValueError, match=r"dev\.tsv\.xz: s: WordNet has no synset 99999999-n"):
        read_task(tmp_path, "cdr", "dev", corpus)
    write_lines(tmp_path / "cdr" / "dev.tsv.xz", ["s\tsome words"])
    with pytest.raises(ValueError, match=r"line 1: expected sense, definition, synset, got 2 columns"):
        read_task(tmp_path, "cdr", "dev", corpus)
    write_lines(tmp_path / "sts" / "li06_30.tsv", ["a\tb\tc", "one\ttwo\tmuch"])
    with pytest.raises(ValueError, match=r"li06_30\.tsv: expected numbers for rating, got 'much'"):
        read_task(tmp_path, "li06_30", "dev", corpus)
    write_lines(tmp_path / "sts" / "sts12_train" / "text", ["one", "two", "three"])
    write_lines(tmp_path / "sts" / "sts12_train" / "gs", ["1.0"])
    with pytest.raises(ValueError, match=r"text: expected two lines for each of the 1 scores, got 3"):
        read_task(tmp_path, "sts12", "dev", corpus)
    with pytest.raises(files.MissingFile, match=r"msrp_train\.txt is missing"):
        read_task(tmp_path, "msrp", "dev", corpus)


def test_every_row_can_be_run_and_is_there_once():
    assert len({spec[:3] for spec in ROWS}) == len(ROWS)
    for spec in ROWS:
        assert spec.setting.model in MODELS
        assert spec.dataset in guo2012.DATASETS
        assert spec.family in guo2012.PAPER.rows
        assert set(spec.paper) <= {"dev", "test"}
        assert (spec.setting.reg is not None) == (spec.setting.model == "WTMF")
