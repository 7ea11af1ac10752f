"""One module for each suite of `python -m benchmarks.ratios`: what is run, and what its results must be."""
