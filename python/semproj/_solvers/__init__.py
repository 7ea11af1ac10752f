"""Numerical methods that two or more models use."""
