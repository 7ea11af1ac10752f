"""What Zhang, Salwen, Glass and Gliozzo 2014 print: rows of Table 2 on their own thesauri."""

from __future__ import annotations

# Table 2: precision, recall and F1, on dev and on test
TABLE_2 = {
    ("WordNet", "lookup*"): ((0.93, 0.32, 0.48), (0.95, 0.33, 0.49)),
    ("WordNet", "lookup"): ((0.48, 0.44, 0.46), (0.46, 0.43, 0.44)),
    ("WordNet", "BPTF"): ((0.63, 0.63, 0.63), (0.63, 0.62, 0.62)),
    ("Roget", "lookup*"): ((1.00, 0.35, 0.52), (0.99, 0.31, 0.47)),
    ("Roget", "lookup"): ((0.61, 0.44, 0.51), (0.55, 0.39, 0.45)),
    ("Roget", "BPTF"): ((0.80, 0.80, 0.80), (0.76, 0.75, 0.76)),
    ("W&R", "lookup*"): ((1.00, 0.48, 0.64), (0.98, 0.45, 0.62)),
    ("W&R", "lookup"): ((0.62, 0.54, 0.58), (0.59, 0.51, 0.55)),
    ("W&R", "BPMF"): ((0.59, 0.59, 0.59), (0.52, 0.52, 0.52)),
    ("W&R", "BPTF"): ((0.88, 0.88, 0.88), (0.82, 0.82, 0.82)),
}
