"""The README's table of figures, made from the JSON files of ``python -m benchmarks.ratios``.

Run as ``python -m benchmarks.report benchmarks/results/*.json`` to print it, with ``--write README.md`` to put it
between that file's markers, where rows of workloads that the files do not have stay as they are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"

TITLES = {
    "project_d2000_f32": "project, d=2000, float32, reused output",
    "project_d2000_f32_alloc": "project, d=2000, float32, allocated output",
    "project_d2000_f16": "project, d=2000, float16",
    "project_d2000_i8": "project, d=2000, int8",
    "project_d100_f32": "project, d=100, float32, reused output",
    "count_english": "count, English text",
    "encode_d500": "encode, text to 500 dimensions",
    "lsa_k500": "LSA fit, k=500",
    "opca_t10000_d500": "OPCA fit, 10,000 terms, d=500",
    "opca_t20000_d2000": "OPCA fit, 20,000 terms, d=2000",
    "cca_k5": "CCA fit, 2,000 terms, k=5",
    "cca_k20": "CCA fit, 4,000 terms, k=20",
    "topk_cosine_d500": "ten nearest by cosine, d=500",
    "topk_l1_d500": "ten nearest by L1, d=500",
    "topk_js_d200": "ten nearest by Jensen-Shannon, d=200",
    "ranks_cosine_d1000": "true ranks by cosine, d=1000",
    "translate_20k": "translate word by word, 20,000 terms",
    "train_5_and_5": "learn to translate: 5 iterations of Model 1 and 5 of the HMM",
    "wtmf_sweep": "WTMF, one exact sweep, 20,000 words, K=100",
    "wtmf_sentences": "WTMF, its sentences' half",
    "wtmf_words": "WTMF, its words' half",
    "wtmf_sweep_early": "WTMF, the second sweep of a fit",
    "wtmf_fit": "WTMF fit, 394,000 sentences, 20 sweeps, K=100",
    "tucker_sweep_r300": "Tucker, one sweep, 50,000 x 50,000 x 4, 2 million entries, rank 300",
    "tucker_als_r100": "Tucker fit, 5,000 x 5,000 x 4, rank 100",
    "bptf_sweep": "BPTF, one Gibbs sweep, 1,200,000 cells, D=40",
    "bptf_redrawn": "BPTF, the same, 800,000 of the cells drawn anew",
    "plsa_sweep_t100": "PLSA, one sweep, 10,000 documents, T=100",
    "plsa_sweep_t1000": "PLSA, one sweep, 10,000 documents, T=1000",
    "cplsa_sweep_t100": "CPLSA, one sweep, 10,000 pairs, T=100",
    "cplsa_sweep_t1000": "CPLSA, one sweep, 10,000 pairs, T=1000",
    "plsa_fold_in_t100": "PLSA, ten iterations of fold-in, T=100",
}
HEAD = "| workload | threads | words per second | times the speed of |\n|---|---|---|---|"


def table(files: list[Path], before: str = "") -> str:
    """A Markdown table: one row for a workload and number of threads; as in `before` where no file has it."""
    measured = [row for file in files for row in json.loads(file.read_text())["rows"]]
    lines = [HEAD]
    for name, title in TITLES.items():
        new = [_line(title, row) for row in measured if row["workload"] == name]
        lines += new or [line for line in before.splitlines() if line.startswith(f"| {title} |")]
    return "\n".join(lines)


def _line(title: str, row: dict[str, Any]) -> str:
    ratios = ", ".join(f"{peer} {ratio:.1f}" for peer, ratio in row["peers"].items() if ratio)
    rate = row["words_per_second"]
    speed = f"{rate / 1e6:.1f} million" if rate >= 1e6 else f"{rate / 1e3:.0f} thousand"
    return f"| {title} | {row['threads']} | {speed} | {ratios} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="JSON files of benchmarks.ratios")
    parser.add_argument("--write", type=Path, metavar="README", help="put it between this file's markers")
    options = parser.parse_args()
    if options.write is None:
        print(table(options.files))
        return
    before, _, rest = options.write.read_text().partition(BEGIN)
    there, found, after = rest.partition(END)
    if not found:
        parser.error(f"--write: {options.write} has no lines {BEGIN} and {END}")
    options.write.write_text(f"{before}{BEGIN}\n\n{table(options.files, there)}\n\n{END}{after}")


if __name__ == "__main__":
    main()
