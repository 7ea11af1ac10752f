"""Benchmarks of semproj beside its peers: `ratios` (interleaved) and `speed` (pytest-benchmark)."""
