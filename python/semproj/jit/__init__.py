"""Numba kernels, for loops whose inner function is the user's. Imported lazily: Numba is slow to load."""
