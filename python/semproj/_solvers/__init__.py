"""Numerical methods that several models use."""
