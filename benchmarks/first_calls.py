"""How long the first call with a user's function takes, compiled and found on disk.

`python -m benchmarks.first_calls`. Each is measured in processes of its own: one with an empty folder of compiled
loops, then another that finds them there. Importing Numba is told apart. What the call itself takes, on tiny data,
is in both numbers.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

_SETUP = """
import math, time
import numpy as np, scipy.sparse as sp, semproj as sj
from semproj.retrieval import top_k
rng = np.random.default_rng(0)
X = sp.random(60, 40, 0.3, "csr", random_state=0, dtype=np.float32)
X.data = np.ceil(9 * X.data)
start = time.perf_counter()
import numba
import semproj.jit.{module}
imported = time.perf_counter()
{call}
print(imported - start, time.perf_counter() - imported)
"""
# loop: the module that is imported for it, and the call
CALLS = {
    "weight": ("weighting", "sj.CustomWeighting(lambda c, df, n, length: c * math.log(n / df)).fit_transform(X)"),
    "token_weight": ("weighting", "sj.PLSA(2, max_iter=2, token_weight=lambda c, df, n: c / df).fit(X)"),
    "confidence": ("confidence", "sj.ImplicitALS(2, max_iter=2, confidence=lambda v: 1 + 40 * v).fit(X)"),
    "target": ("confidence", "sj.WTMF(2, max_iter=2, target=lambda v: math.log(v)).fit(X)"),
    "value": (
        "entries",
        "sj.Tucker((2, 2, 2), max_iter=2, value=lambda x, i, j, k: math.log1p(x)).fit("
        "sj.SparseTensor(np.array([X.nonzero()[0], X.nonzero()[1], X.nonzero()[0] % 3]), X.data, (60, 40, 3)))",
    ),
    "precision": (
        "precision",
        "sj.BPTF(2, burn_in=2, n_samples=2, precision=lambda v, s: 1 + v).fit([sp.triu(X[:40, :40], 1)])",
    ),
    "prox": (
        "proximal",
        "sj.CPLSA(2, max_iter=2, prox=lambda d, c, s: min(max(d, -c), c), coupling=5.0).fit([X, X])",
    ),
    "loss": (
        "contrasts",
        "sj.S2Net(2, max_iter=2, start='random', loss=lambda d: math.log1p(math.exp(-d))).fit([X, X])",
    ),
    "metric": ("retrieval", "top_k(X.toarray(), X.toarray(), 3, metric=lambda u, v: np.abs(u - v).sum())"),
    "metric of sparse rows": (
        "retrieval",
        "top_k(X, X, 3, metric=lambda i, u, j, v: abs(u.sum() - v.sum()))",
    ),
}


def measure(module: str, call: str, folder: str) -> tuple[float, float]:
    """Seconds for imports, and for the call, in a process that keeps compiled loops in a folder."""
    script = _SETUP.format(module=module, call=call)
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    imports, seconds = map(float, done.stdout.split()[-2:])
    return imports, seconds


def main(rounds: int = 3) -> None:
    print("function               imports  compiled  found on disk (seconds)")
    for name, (module, call) in CALLS.items():
        cold, warm, imports = [], [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                first, again = (measure(module, call, folder) for _ in range(2))
            imports.append(first[0])
            cold.append(first[1])
            warm.append(again[1])
        numbers = (statistics.median(each) for each in (imports, cold, warm))
        print("{:<22} {:7.2f} {:9.2f} {:14.2f}".format(name, *numbers), flush=True)


if __name__ == "__main__":
    main()
