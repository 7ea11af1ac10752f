"""Words that are crafted to collide in a hash table, and what may not depend on its secret seed."""

from __future__ import annotations

import time

import numpy as np

from semproj.text import TermCounter


def folded_product(a: np.ndarray, b: int) -> np.ndarray:
    """The high half of the product of 64-bit numbers, xor the low half."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> high, np.uint64(b & 0xFFFFFFFF), np.uint64(b >> 32)
    middle = a0 * b1 + (a0 * b0 >> high)
    other = a1 * b0 + (middle & low)
    return (a1 * b1 + (middle >> high) + (other >> high)) ^ (a * np.uint64(b))


def crafted(n: int, n_bits: int = 7) -> list[str]:
    """Words whose hash, were it by constants as it once was, begins with zeros: all in one corner of a table."""
    letters = np.random.default_rng(0).integers(97, 123, (n << n_bits, 8), dtype=np.uint8)
    mixed = letters.view(np.uint64)[:, 0] ^ np.uint64(0xFFA0761D6478BD64)
    hashes = folded_product(mixed, 0xFFE7037ED1A0B428 ^ (9 << 24))
    chosen = letters[hashes >> np.uint64(64 - n_bits) == 0]
    return [word.decode() for word in chosen.view("S8")[:, 0].tolist()]


def ordinary(n: int) -> list[str]:
    letters = np.random.default_rng(1).integers(97, 123, (n, 8), dtype=np.uint8)
    return [word.decode() for word in letters.view("S8")[:, 0].tolist()]


def seconds(words: list[str]) -> float:
    text, counter = [" ".join(words)], TermCounter(n_threads=1)
    times = []
    for _ in range(5):
        start = time.process_time()
        counter.fit(text)
        times.append(time.process_time() - start)
    return min(times)


def test_crafted_words_take_no_longer_than_others():
    words = crafted(25_000)
    assert len(words) > 20_000
    assert seconds(words) < 8 * seconds(ordinary(len(words)))


SCRIPT = """
import hashlib, numpy as np
from semproj.text import TermCounter
rng = np.random.default_rng(0)
ids = np.minimum(rng.zipf(1.2, (300, 40)), 3000)
kinds = ("{:x}", "w{:d}", "a-rather-long-term{:d}", "語{:d}")
texts = [" ".join(kinds[i % 4].format(i) for i in row) for row in ids]
digests = []
for n_threads in (1, 2, 5):
    digest = hashlib.sha256()
    for options in ({}, {"max_features": 50, "drop_top": 3}, {"ngram_range": (1, 3), "min_count": 2}):
        counter = TermCounter(n_threads=n_threads, **options)
        X, Y = counter.fit_transform(texts), counter.transform(texts[::-1])
        for array in (X.indptr, X.indices, X.data, Y.indptr, Y.indices, Y.data, counter.term_counts_):
            digest.update(array.tobytes())
        digest.update("|".join(counter.vocabulary_).encode())
    digests.append(digest.hexdigest())
assert len(set(digests)) == 1
"""


def test_nothing_depends_on_the_seed(run_python):
    """Each process has another, and each table in it: all outputs are the same."""
    here: dict[str, list[str]] = {}
    exec(SCRIPT, here)
    for _ in range(2):
        assert run_python(SCRIPT + "print(digests[0])").stdout.strip() == here["digests"][0]
