"""One module for each name of `python -m benchmarks.ratios`."""
