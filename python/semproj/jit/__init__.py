"""Loops around a user's function, compiled by Numba. Imported when used, as Numba is slow to load."""
