"""The benchmarks' own rules: the JSON, what happens without a compiler, and that wrong results are caught."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import data, machine  # noqa: E402
from benchmarks.ratios.harness import OURS, ClockedResult, Contestant, Cost, Options, Workload, measure, run  # noqa: E402
from benchmarks.ratios.registry import suite_names  # noqa: E402

PROJECT = [
    "project_d2000_f32",
    "project_d2000_f32_alloc",
    "project_d2000_f16",
    "project_d2000_i8",
    "project_d100_f32",
]
# suite: workloads, peers that are runtime dependencies and so must be there, whether it has threads
SUITES = {
    "project": (PROJECT, {"scipy"}, True),
    "text": (["count_english", "count_english_lowercase"], {"sklearn"}, True),
    "encode": (["encode_d500", "encode_one_text"], {"sklearn"}, True),
    "lsa": (["lsa_k5"], {"sklearn"}, True),
    "opca": (["opca_t100_d4"], {"scipy"}, True),
    "cca": (["cca_k2"], {"sklearn"}, True),
    "retrieval": (
        [
            "one_cosine_d200",
            "one_cosine_d500",
            "one_cosine_d200_10k",
            "one_cosine_d500_10k",
            "topk_cosine_d500",
            "topk_cosine_d100_k100",
            "topk_cosine_d2000_k1",
            "topk_l1_d500",
            "topk_js_d200",
            "ranks_cosine_d1000",
        ],
        {"scipy"},
        True,
    ),
    "tucker": (
        ["tucker_sweep_r5", "tucker_sweep_r5_f64", "tucker_fit_r5", "tucker_als_r5", "tucker_thesaurus_r5"],
        set(),  # plain for the first three
        True,
    ),
    "bptf": (
        ["bptf_sweep", "bptf_redrawn", "bptf_d3", "bptf_d9", "bptf_cells500", "bptf_cells2000"],
        set(),  # smurff is no dependency
        True,
    ),
    "plsa": (
        ["plsa_sweep_t3", "plsa_sweep_t9", "cplsa_sweep_t3", "cplsa_sweep_t9", "plsa_fold_in_t3"],
        set(),  # tomotopy is no dependency; sklearn has a part in the first only
        True,
    ),
    "import": (["import_semproj"], {"scipy_sklearn"}, False),
    "names": (["topk_names"], set(), True),  # sparse_dot_topn is no dependency
    "wordbyword": (["translate_20k", "train_5_and_5"], set(), True),  # scipy only translates
    "implicitals": (["implicitals_fit"], set(), True),
    "rnn": (["rnn_h8"], set(), True),
    "lm": (["train_order3", "train_order5", "score_batch", "score_single"], set(), True),  # kenlm is no dependency
    "s2net": (["s2net_logistic_gradient", "s2net_softmax_gradient", "s2net_epoch"], set(), True),
    "open": (
        [
            "open_implicitals_fit",
            "open_implicitals_users",
            "open_wtmf_fit",
            *(f"open_bptf_{what}" for what in ("fit", "redrawn")),
            *(f"open_cplsa_t3_c{coupling}" for coupling in (5, 100)),
            *(f"open_topk_{name}" for name in ("cosine_d200", "product_d200", "l1_d200", "product_names")),
            "open_s2net_gradient",
            "open_tucker_fit",
            *(f"open_{weight}_d{d}" for weight in ("log_tfidf", "bm25") for d in (100, 500)),
            "open_plsa_fit",
        ],
        {"built_in"},
        True,
    ),
    "wtmf": (
        [
            "wtmf_sweep",
            "wtmf_sentences",
            "wtmf_words",
            "wtmf_sweep_early",
            "wtmf_k3",
            "wtmf_k9",
            "wtmf_nnz1e2",
            "wtmf_nnz1e3",
            "wtmf_fit",
        ],
        set(),  # implicit is no dependency
        True,
    ),
}


def test_each_suite_is_run():
    assert set(SUITES) == set(suite_names())


@pytest.mark.parametrize("suite", SUITES)
def test_the_json_of_each_suite(suite, tmp_path):
    # Another process: peers bring OpenMP runtimes that must not meet the rest of the tests.
    file = tmp_path / "out" / "result.json"
    command = [sys.executable, "-m", "benchmarks.ratios", suite, "--json", str(file), "--tiny"]
    done = subprocess.run([*command, "--threads", "1", "2"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    assert set(result) == {"name", "machine", "rows"}
    assert result["name"] == suite

    expected_workloads, expected_peers, threaded = SUITES[suite]
    threads = [1, 2] if threaded else [1]
    rows = result["rows"]
    assert [(row["workload"], row["threads"]) for row in rows] == [
        (workload, n) for workload in expected_workloads for n in threads
    ]
    for row in rows:
        assert row["workload"] in done.stdout
        assert expected_peers <= set(row["peers"])
        assert OURS not in row["peers"]
        assert row["ours_seconds"] > 0
        for peer, ratio in row["peers"].items():
            assert ratio == pytest.approx(row["seconds"][peer] / row["ours_seconds"])
        assert all(fraction > 0 for fraction in row["limits"].values())
        assert set(row["limits"]) <= set(machine.LIMITS)
    # Limits are there, or the reason why not.
    limits = result["machine"]["limits"]
    assert limits["by_threads"] or "compiler" in limits["note"] or "compile" in limits["note"]
    if limits["by_threads"] and suite == "project":
        assert all(set(row["limits"]) == set(machine.LIMITS) for row in rows)
    if suite == "wtmf":
        _check_wtmf(rows)
    if suite == "bptf":
        assert all(row["nanoseconds_per_cell"] == pytest.approx(1e9 / row["words_per_second"]) for row in rows)
        for row in rows:
            low, high = (0.5, 0.95) if row["workload"] == "bptf_redrawn" else (0.35, 0.65)
            assert all(low <= error <= high for error in row["error"].values())
    if suite == "plsa":
        _check_plsa(rows)
    if suite == "lsa":
        assert all(0 < row["captured"][OURS] <= 1 and set(row["counts"]) == set(row["peers"]) for row in rows)


def _check_wtmf(rows):
    for row in rows:
        if row["workload"] == "wtmf_fit":
            continue
        assert 0 < row["error"][OURS] <= 1e-5
        assert row["nanoseconds_per_word"] == pytest.approx(1e9 / row["words_per_second"])
        if "implicit" in row["peers"]:  # which solves the same systems, and by conjugate gradients only nearly
            assert row["error"]["implicit"] <= 1e-5
            assert 0 < row["difference"][OURS] <= 1e-5
            assert row["difference"]["implicit_cg"] > 0


def _check_plsa(rows):
    assert all("sklearn" in row["peers"] for row in rows if row["workload"] == "plsa_sweep_t3")
    for row in rows:
        assert all(1 < value < 200 for value in row["perplexity"].values())
        if row["workload"].startswith("cplsa"):
            assert row["times_jplsa"] == pytest.approx(1 / row["peers"]["jplsa"])
        if row["workload"].startswith("plsa_fold_in"):
            assert row["microseconds_per_document"] == pytest.approx(1e6 * row["ours_seconds"] / 10)


def test_a_missing_compiler_is_said_and_nothing_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    limits = machine.measure_limits([1], "tiny", cache=tmp_path)
    assert limits["by_threads"] == {}
    assert "no-such-compiler" in limits["note"]


def _workload(contestants, check=lambda contestant, result: {}, **options):
    return Workload("w", words=10, contestants=contestants, check=check, least_seconds=0.0, **options)


def _clocked(name, threads, seconds):
    return Contestant(name, threads, lambda: ClockedResult(seconds, seconds), own_clock=True)


def test_ratios_limits_and_scaling_are_as_defined():
    contestants = [
        _clocked(OURS, 1, 2.0),
        _clocked(OURS, 2, 1.0),
        _clocked("alone", None, 6.0),
        _clocked("threaded", 1, 4.0),
        _clocked("threaded", 2, 3.0),
        _clocked("worse", 1, 5.0),
        _clocked("worse", 2, 50.0),
    ]
    work = _workload(contestants, cost=Cost(fma_peak=8.0), rounds=3)
    one, two = run([work], Options(threads=(1, 2), pause=0.0), {1: {"fma_peak": 16.0, "copy_bandwidth": 1.0}})
    assert one["peers"] == {"alone": 3.0, "threaded": 2.0, "worse": 2.5}
    # A peer that is slower with two threads is compared with its one.
    assert two["peers"] == {"alone": 6.0, "threaded": 3.0, "worse": 5.0}
    assert two["used_threads"] == {OURS: 2, "alone": 1, "threaded": 2, "worse": 1}
    assert (one["words_per_second"], two["words_per_second"]) == (5.0, 10.0)
    assert (one["scaling"], two["scaling"]) == (1.0, 2.0)
    assert one["limits"] == {"fma_peak": 0.25}
    assert two["limits"] == {}


def test_contestants_are_interleaved_and_take_turns_in_going_first():
    order = []
    contestants = [Contestant(name, None, lambda name=name: order.append(name)) for name in (OURS, "a", "b")]
    measure(_workload(contestants, rounds=3), Options(threads=(1,), pause=0.0))
    warm_up, *rounds = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert warm_up == [OURS, "a", "b"]
    assert rounds == [[OURS, "a", "b"], ["a", "b", OURS], ["b", OURS, "a"]]


def test_a_wrong_result_is_not_timed():
    pytest.importorskip("semproj")
    from benchmarks.ratios.workloads.project import checker

    X = data.log_counts(data.zipf_counts(50, 80, distinct=10))
    matrix = data.dense(80, 4)
    wrong = X @ matrix
    wrong[-1] = np.nan
    with pytest.raises(AssertionError, match="relative error"):
        measure(
            _workload([Contestant(OURS, None, lambda: wrong)], checker(X, matrix, 1e-5)),
            Options(threads=(1,), pause=0.0),
        )


def test_a_wrong_neighbour_is_not_timed():
    from benchmarks.ratios.workloads.retrieval import checker, vectors

    queries, corpus = vectors(20, 50, 8)
    distances = 1 - queries @ corpus.T / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(corpus, axis=1)
    ids = np.argsort(distances, axis=1)[:, :3]
    check = checker(queries, corpus, 3, "cosine")
    check(Contestant(OURS, None, lambda: None), (ids, None))
    ids[-1, 2] = np.argmax(distances[-1])
    with pytest.raises(AssertionError, match="farther"):
        check(Contestant(OURS, None, lambda: None), (ids, None))


def test_a_wrong_sentence_vector_is_not_timed():
    from benchmarks.ratios.workloads import wtmf

    problem = wtmf.sweep_problem(wtmf.ones(data.sentences(60, 40).counts), 5, reg=1.0)
    solved = problem.after("words", "sentences").vectors
    check = wtmf.checker(problem)
    mine = Contestant(OURS, None, lambda: None)
    assert check(mine, solved)["error"] <= 1e-5
    for side in solved:
        wrong = solved | {side: solved[side].copy()}
        wrong[side][np.diff(problem.rows[side].indptr).argmax()] *= 1.001  # the longest row is looked at
        with pytest.raises(AssertionError, match="error"):
            check(mine, wrong)


def test_the_cost_of_a_row_is_the_cheaper_one():
    from benchmarks.ratios.workloads.wtmf import flops

    rows = csr_matrix(np.array([[1] + [0] * 9, [0] * 10, [1] * 10], np.float32))
    k = 4
    one_word = 1 * 4 / 2 + 1 / 6 + 1 * 4 + 4**2 / 2  # by its 1 x 1 system
    ten_words = 10 * 4**2 / 2 + 10 * 4 + 4**3 / 6 + 4**2  # by its 4 x 4 system
    assert flops(rows, k) == pytest.approx(2 * (one_word + ten_words + 10 * 4**2))


def test_growth_takes_rows_from_the_front_and_drops_words_that_do_not_occur():
    from benchmarks.ratios.workloads.wtmf import first_nonzeros

    counts = csr_matrix(np.array([[0, 2, 0, 1], [0, 0, 0, 3], [5, 0, 0, 0]]))
    assert first_nonzeros(counts, 3).toarray().tolist() == [[2, 1], [0, 3]]


def test_the_data_is_as_described():
    counts = data.zipf_counts(400, 5_000)
    assert counts.dtype == np.int32
    assert counts.has_canonical_format
    assert counts.nnz / 400 == pytest.approx(120, rel=0.03)
    again = data.zipf_counts(400, 5_000)
    assert (counts != again).nnz == 0
    frequency = np.asarray(counts.sum(axis=0)).ravel()
    assert not np.all(np.diff(frequency[:100]) <= 0)  # not ordered by frequency
    assert frequency.max() > 50 * np.median(frequency[frequency > 0])


def test_sentences_are_short_and_their_words_as_frequent_as_in_text():
    sentences = data.sentences(2_000, 3_000)
    assert sentences.counts.nnz / 2_000 == pytest.approx(10, rel=0.15)
    in_rows = np.bincount(sentences.counts.indices)
    assert in_rows.max() > 0.1 * 2_000
    assert np.median(in_rows[in_rows > 0]) < 0.005 * 2_000


def test_planted_topics_raise_the_leading_singular_values():
    def share(n_topics):
        X = data.log_counts(data.zipf_counts(300, 600, 40, n_topics)).toarray()
        values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
        return values[:8].sum() / values.sum()

    assert share(8) > 1.5 * share(0)


def test_text_that_tokenisers_cut_differently_is_left_out():
    assert data._plain("snake_case") == "snake case"
    assert data._plain("cafe\u0301") == "caf\u00e9"
    assert data._plain("x\u0301") is None
    assert data._plain("\u0130stanbul") is None


def test_bptf_that_finds_nothing_is_caught():
    from benchmarks.ratios.workloads import bptf

    options = Options(threads=(1,), size="tiny")
    relations = data.symmetric_relations(80, 1000, 2)
    workload = bptf.sweep(options, "w", relations, 6)
    ours = workload.contestants[0]
    result = ours.run()
    assert workload.check(ours, result) == {"error": result.error}
    for error in (0.1, float(relations.cells.data.std()), float("nan")):
        result.error = error
        with pytest.raises(AssertionError, match="after 16 sweeps"):
            workload.check(ours, result)


def test_bptf_makes_lists_of_words_anew_only_where_cells_are_drawn(monkeypatch):
    """As the notes of its workloads say."""
    from benchmarks.ratios.workloads import bptf
    from semproj import _core

    made = []
    original = _core.color_classes
    monkeypatch.setattr(_core, "color_classes", lambda *lists: made.append(lists) or original(*lists))
    options = Options(threads=(1,), size="tiny")
    plain, redrawn = list(bptf.bptf(options))[:2]
    assert (plain.name, redrawn.name) == ("bptf_sweep", "bptf_redrawn")
    assert redrawn.words == plain.words - 1  # a third is not a whole number
    for workload, times, note in ((plain, 1, "made once"), (redrawn, bptf.SWEEPS, "made anew")):
        made.clear()
        ours = workload.contestants[0]
        result = ours.run()
        assert len(made) == times
        assert note in workload.notes[0]
        result.error = float("nan")
        with pytest.raises(AssertionError, match="after 16 sweeps"):
            workload.check(ours, result)


def test_topics_that_explain_nothing_are_caught():
    from benchmarks.ratios.workloads import plsa

    counts = data.bilingual_counts(60, 80).views[0].tocsr()
    workload = plsa.sweeps(Options(threads=(1,), size="quick"), counts, "source", 3, with_variational=False)
    ours = workload.contestants[0]
    result = ours.run()
    found = workload.check(ours, result)["perplexity"]
    assert 1 < found < plsa.unigram_perplexity(counts)
    for wrong in (plsa.unigram_perplexity(counts), float("nan"), 0.0):
        result.perplexity = lambda wrong=wrong: wrong
        with pytest.raises(AssertionError, match="perplexity"):
            workload.check(ours, result)


def test_perplexity_is_as_defined():
    from benchmarks.ratios.workloads import plsa

    counts = csr_matrix(np.array([[2, 0, 1], [0, 3, 0]]))
    theta, phi = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.5, 0.25, 0.25], [0.1, 0.3, 0.6]])
    p = theta @ phi
    expected = np.exp(-(2 * np.log(p[0, 0]) + np.log(p[0, 2]) + 3 * np.log(p[1, 1])) / 6)
    assert plsa.perplexity(counts, theta, phi) == pytest.approx(expected)
    alone = np.exp(-(2 * np.log(2 / 6) + np.log(1 / 6) + 3 * np.log(3 / 6)) / 6)
    assert plsa.unigram_perplexity(counts) == pytest.approx(alone)


def test_tomotopy_gets_each_token():
    from benchmarks import peers

    counts = csr_matrix(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]))
    assert peers.words_of(counts) == [["0", "0", "2"], [], ["1", "1", "1"]]


def test_relations_are_pairs_once_and_seeded():
    cells = data.symmetric_relations(500, 6000, 5).cells
    assert (cells.row < cells.col).all()
    assert len(set(zip(cells.row.tolist(), cells.col.tolist(), strict=True))) == 6000
    assert cells.data.var() == pytest.approx(1.25, rel=0.15)  # of what is planted 1, of the noise a quarter
    assert (data.symmetric_relations(500, 6000, 5).cells != cells).nnz == 0
    degrees = np.bincount(np.concatenate([cells.row, cells.col]), minlength=500)
    assert degrees.max() > 3 * np.median(degrees)


def test_a_sweep_is_the_mean_of_all_but_the_first():
    from benchmarks.ratios import SweepClock

    clock = SweepClock()
    clock.marks = [(100.0, 10.0), (101.0, 13.0), (104.0, 15.0)]
    result = clock.per_sweep(ClockedResult)
    assert (float(result), result.cpu_seconds) == (2.0, 2.5)
