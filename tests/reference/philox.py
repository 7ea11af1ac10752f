"""Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011) with Python's integers, and normal numbers from it."""

from __future__ import annotations

import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(key: int, counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    k0, k1 = key & MASK, key >> 32
    c0, c1, c2, c3 = counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def normals(rows: int, cols: int, key: int, stream: int) -> np.ndarray:
    """Box-Muller pairs; the counter is (pair of columns, row, high half of the row, stream)."""
    out = np.empty((rows, cols + cols % 2))
    for r in range(rows):
        for c in range(0, cols, 2):
            a, b, x, y = philox(key, (c // 2, r & MASK, r >> 32, stream))
            u = (((a << 20) | (b >> 12)) + 0.5) / 2**52
            v = (((x << 20) | (y >> 12)) + 0.5) / 2**52
            radius, angle = math.sqrt(-2 * math.log(u)), 2 * math.pi * v
            out[r, c : c + 2] = radius * math.cos(angle), radius * math.sin(angle)
    return out[:, :cols]
