"""The table of timings: words per second and the ratios over peers, one row a workload and number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from benchmarks.report.pages import Page, cells_of, read_json, table_head, table_line

MARKER = "timings"

TITLES = {
    "project_d2000_f32": "project, d=2000, float32, reused output",
    "project_d2000_f32_alloc": "project, d=2000, float32, allocated output",
    "project_d2000_f16": "project, d=2000, float16",
    "project_d2000_i8": "project, d=2000, int8",
    "project_d100_f32": "project, d=100, float32, reused output",
    "count_english": "count, English text",
    "encode_d500": "encode, text to 500 dimensions",
    "encode_one_text": "one text to a vector, d=500",
    "lsa_k500": "LSA fit, k=500",
    "opca_t10000_d500": "OPCA fit, 10,000 terms, d=500",
    "opca_t20000_d2000": "OPCA fit, 20,000 terms, d=2000",
    "cca_k5": "CCA fit, 2,000 terms, k=5",
    "cca_k20": "CCA fit, 4,000 terms, k=20",
    "one_cosine_d200": "ten nearest of one query, d=200",
    "one_cosine_d500": "ten nearest of one query, d=500",
    "one_cosine_d200_10k": "ten nearest of one query among 10,000, d=200",
    "one_cosine_d500_10k": "ten nearest of one query among 10,000, d=500",
    "topk_cosine_d500": "ten nearest by cosine, d=500",
    "topk_l1_d500": "ten nearest by L1, d=500",
    "topk_js_d200": "ten nearest by Jensen-Shannon, d=200",
    "ranks_cosine_d1000": "true ranks by cosine, d=1000",
    "topk_names": "ten nearest of 100,000 names among 100,000, by trigrams in sparse rows",
    "translate_20k": "translate word by word, 20,000 terms",
    "train_5_and_5": "learn to translate: 5 iterations of Model 1 and 5 of the HMM",
    "wtmf_sweep": "WTMF, one exact sweep, 20,000 words, K=100",
    "wtmf_sentences": "WTMF, its sentences' half",
    "wtmf_words": "WTMF, its words' half",
    "wtmf_sweep_early": "WTMF, the second sweep of a fit",
    "wtmf_fit": "WTMF fit, 394,000 sentences, 20 sweeps, K=100",
    "implicitals_fit": "ImplicitALS fit, 50,000 users, 20,000 items, 10 sweeps, K=100",
    "tucker_sweep_r300": "Tucker, one sweep, 50,000 x 50,000 x 4, 2 million entries, rank 300",
    "tucker_als_r100": "Tucker fit, 5,000 x 5,000 x 4, rank 100",
    "bptf_sweep": "BPTF, one Gibbs sweep, 1,200,000 cells, D=40",
    "bptf_redrawn": "BPTF, the same, 800,000 of the cells drawn anew",
    "plsa_sweep_t100": "PLSA, one sweep, 10,000 documents, T=100",
    "plsa_sweep_t1000": "PLSA, one sweep, 10,000 documents, T=1000",
    "cplsa_sweep_t100": "CPLSA, one sweep, 10,000 pairs, T=100",
    "cplsa_sweep_t1000": "CPLSA, one sweep, 10,000 pairs, T=1000",
    "rnn_h256": "RNNLM, one pass over 76,800 words of 60,000, 256 units",
    "rnn_h512": "RNNLM, the same with 512 units",
    "s2net_logistic_gradient": "S2Net, loss and gradient of all cosines, 20,000 pairs, d=500, logistic",
    "s2net_softmax_gradient": "S2Net, the same, softmax",
    "s2net_epoch": "S2Net, an epoch of batches, 20,000 pairs, k=100",
    "s2net_fit_debian": "S2Net fit, 33,670 pairs of package descriptions, k=100, 10 epochs from OPCA",
    "plsa_fold_in_t100": "PLSA, ten iterations of fold-in, T=100",
    "train_order3": "n-gram model, modified Kneser-Ney of order 3, 40 million words",
    "train_order5": "n-gram model, modified Kneser-Ney of order 5, 40 million words",
    "score_batch": "n-gram model of order 3, sentences in one call",
    "score_single": "n-gram model of order 3, a sentence a call",
}

# The README's choice, with two threads each
SHORT = ("project_d2000_f32", "count_english", "encode_d500", "lsa_k500", "wtmf_sweep", "plsa_sweep_t100")
SHORT_THREADS = 2

HEAD = ("workload", "threads", "words per second", "times the speed of")
ROW = {"workload": str, "threads": int, "words_per_second": Real, "peers": dict}
Lines = dict[tuple[str, int], str]  # by title and threads


def timings_table(files: Sequence[Path], before: str = "", *, short: bool = False) -> str:
    """A Markdown table: rows of the files, of the last that has one, and rows of `before` that no file has.

    A file is JSON of ``benchmarks.ratios``, or a page with a table of timings.
    """
    lines = _lines_of(before)
    for file in files:
        lines |= _read(file)
    shown = [
        line
        for workload, title in TITLES.items()
        for (of, threads), line in sorted(lines.items())
        if of == title and (not short or (workload in SHORT and threads == SHORT_THREADS))
    ]
    return "\n".join([table_head(HEAD), *shown])


def _read(file: Path) -> Lines:
    if file.suffix == ".md":
        return _lines_of(Page(file).between(MARKER))
    result = read_json(file, "benchmarks.ratios", {"machine": object}, ROW)
    if (size := result["machine"].get("size", "full")) != "full":
        raise ValueError(f"{file}: has {size} sizes, which are not to be quoted")
    rows = result["rows"]
    return {
        (TITLES[row["workload"]], row["threads"]): _line(TITLES[row["workload"]], row)
        for row in rows
        if row["workload"] in TITLES
    }


def _lines_of(table: str) -> Lines:
    """Rows of a table that was written before."""
    lines = {}
    for line in table.splitlines():
        cells = cells_of(line)
        if len(cells) == len(HEAD) and cells[1].isdigit():
            lines[cells[0], int(cells[1])] = line
    return lines


def _line(title: str, row: dict[str, Any]) -> str:
    ratios = ", ".join(f"{peer} {ratio:.1f}" for peer, ratio in row["peers"].items() if ratio)
    rate = row["words_per_second"]
    speed = f"{rate / 1e6:.1f} million" if rate >= 1e6 else f"{rate / 1e3:.0f} thousand"
    return table_line([title, str(row["threads"]), speed, ratios])
