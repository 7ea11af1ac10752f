"""Benchmarks of semproj: `ratios` and `speed` beside its peers, `papers` beside the published tables."""
