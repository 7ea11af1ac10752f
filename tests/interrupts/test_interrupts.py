"""Ctrl-C: a real SIGINT in the middle of a long call, for every estimator and for kernels."""

from __future__ import annotations

import os
import signal
import textwrap
import time
from functools import partial

import pytest

import semproj as sj
from tests.support.forking import forked

# A process started in the background of a shell inherits SIGINT as ignored; Python then has no handler for it.
SETUP = """
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np, scipy.sparse as sp, semproj as sj
    from semproj.kernels import Projection, project
    rng = np.random.default_rng(0)
    def rows(n, length, terms, seed=None):
        indices = rng.integers(0, terms, n * length, dtype=np.int32)
        data = np.ones(n * length, np.float32)
        return sp.csr_matrix((data, indices, np.arange(0, n * length + 1, length)), shape=(n, terms))
    def views(*shape):
        return [rows(*shape), rows(*shape)]
    def texts(n, words=200_000, length=2000):
        return [" ".join(f"w{i}" for i in rng.integers(0, words, length)) for _ in range(n)]
    def thesaurus(n, length, words):
        relations = {name: rows(n, length, words) for name in ("synonym", "antonym")}
        return sj.Thesaurus([f"w{i}" for i in range(words)], [str(i) for i in range(n)], relations)
    def cells(n, words):
        i, j = np.sort(rng.integers(0, words, (2, n)), axis=0)
        pairs = np.unique(np.stack([i, j])[:, i < j], axis=1)
        return sp.coo_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(words, words))
    def tensor(n, size):
        coords = np.stack([rng.integers(0, s, n) for s in (size, size, 3)])
        return sj.SparseTensor(coords, rng.random(n), (size, size, 3))
    def fitted(model):
        values = {k: v for k, v in vars(model).items() if k.endswith("_")}
        return {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
    def is_same(a, b):
        same = lambda x, y: x.tobytes() == y.tobytes() if isinstance(x, np.ndarray) else x is y
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
"""

# Each takes seconds: it is interrupted inside, not between two calls. What a call needs, and the call.
KERNELS = {
    "project": (
        "X, P = rows(150_000, 100, 20_000), Projection(np.ones((20_000, 2000), np.float32))",
        "project(X, P, n_threads=N)",
    ),
    "project int8": (
        "X, P = rows(150_000, 100, 20_000), Projection(np.ones((20_000, 2000), np.float32), 'int8')",
        "project(X, P, n_threads=N)",
    ),
    # 500,000 terms of one slab: almost every entry waits for memory, and all rows are one walk over it.
    "project one tile": (
        "X, P = rows(400_000, 150, 500_000), Projection(np.ones((500_000, 64), np.float32))",
        "project(X, P, n_threads=N)",
    ),
    # Every row has more entries than there are components: the other way to solve it, a long time for each.
    "weighted_row_solve": (
        "X, Y = rows(3_000, 4_000, 20_000), rng.standard_normal((20_000, 300))",
        "sj.kernels.weighted_row_solve(X, Y, missing_weight=0.01, reg=1.0, n_threads=N)",
    ),
    "sparse top_k": (
        "Q, C = rows(300_000, 60, 500), rows(300_000, 60, 500)",
        "sj.retrieval.top_k(Q, C, n_threads=N)",
    ),
    "top_k": (
        "Q, C = np.ones((3000, 500), np.float32), np.ones((100_000, 500), np.float32)",
        "sj.retrieval.top_k(Q, C, metric='l1', n_threads=N)",
    ),
    # Rows that are all as near: the bounds of a search exclude none of them.
    "Index": (
        "C = np.ones((200_000, 500), np.float32)",
        "sj.retrieval.Index(C, storage='int8', n_threads=N).search(C[:1], 200_000)",
    ),
    # One document, and few: a task is interrupted inside.
    "TermCounter one document": (
        "text = ' '.join(map(str, rng.integers(0, 10**6, 2_000_000).tolist()))",
        "sj.TermCounter(ngram_range=(1, 4), n_threads=N).fit([text])",
    ),
    "align_sentences": (
        "documents = [['x' * int(n) for n in rng.integers(1, 99, 12_000)] for _ in range(4)]",
        "sj.alignment.align_sentences(documents, documents, band=12_000, n_threads=N)",
    ),
}

# A small fit, and a long one of the same estimator with other parameters.
FITS = {
    "LSA": (
        "(5)",
        "rows(300, 9, 200)",
        "n_components=300, solver='lanczos', tol=1e-12",
        "rows(60_000, 60, 20_000)",
    ),
    "CLLSI": ("(5, weighting=None)", "views(300, 9, 200)", "n_components=300", "views(100_000, 40, 20_000)"),
    "OPCA": (
        "(5)",
        "views(300, 9, 200)",
        "n_components=200, solver='cholesky', tol=1e-12",
        "views(20_000, 40, 5_000)",
    ),
    "OPCA cg": (
        "(5)",
        "views(300, 9, 200)",
        "n_components=200, solver='cg', tol=1e-12",
        "views(20_000, 40, 20_000)",
    ),
    "CCA": ("(5)", "views(300, 9, 200)", "n_components=200, solver='dual', tol=1e-12", "views(3_000, 40, 20_000)"),
    "DDA": ("(5)", "views(300, 9, 200)", "n_components=200, group_size=4000", "views(20_000, 40, 20_000)"),
    "S2Net": (
        "(5, start='random')",
        "views(300, 9, 200)",
        "n_components=300, optimizer='lbfgs'",
        "views(20_000, 40, 20_000)",
    ),
    "S2Net adam": (
        "(5, start='random')",
        "views(300, 9, 200)",
        "n_components=300, negatives='hard', batch_size=10_000",
        "views(60_000, 40, 20_000)",
    ),
    "ImplicitALS": ("(5)", "rows(300, 9, 200)", "n_components=100", "rows(200_000, 20, 20_000)"),
    "WTMF": ("(5)", "rows(300, 9, 200)", "n_components=100", "rows(200_000, 20, 20_000)"),
    "PLSA": ("(5)", "rows(300, 9, 200)", "n_components=200, tol=0", "rows(200_000, 40, 20_000)"),
    "JPLSA": ("(5)", "views(300, 9, 200)", "n_components=200, tol=0", "views(100_000, 40, 20_000)"),
    "CPLSA": ("(5)", "views(300, 9, 200)", "n_components=200, tol=0", "views(60_000, 40, 20_000)"),
    "Tucker": ("((5, 5, 3))", "tensor(900, 50)", "ranks=(200, 200, 3), tol=0", "tensor(2_000_000, 30_000)"),
    "MRLSA": ("(5)", "thesaurus(90, 5, 60)", "n_components=200, tol=0", "thesaurus(30_000, 40, 30_000)"),
    "PILSA": ("(5)", "thesaurus(90, 5, 60)", "n_components=400", "thesaurus(60_000, 40, 30_000)"),
    "BPTF": ("(3, n_samples=5)", "[cells(300, 40)]", "n_components=60", "[cells(1_000_000, 30_000)]"),
    "RNNLM": ("(5, epochs=1)", "texts(90, 50, 9)", "n_components=400", "texts(20_000, 5_000, 40)"),
    "WordByWord": (
        "(min_cooccurrence=1)",
        "*[texts(90, 50, 9)] * 2",
        "model1_iter=10**6, model1_tol=0.0",
        "*[texts(20_000, 5_000, 20)] * 2",
    ),
    "TermCounter": ("()", "texts(2, 50)", "ngram_range=(1, 2)", "texts(200) * 500"),
    "MultiTermCounter": ("()", "[texts(2, 50)] * 2", "ngram_range=(1, 2)", "[texts(200) * 500] * 2"),
}
# These read other things than rows or have other threads, and have tests of their own beside this one.
ELSEWHERE = {"ModelM", "NGramLM", "SentenceCompleter", "WordClasses"}
# These have nothing to interrupt: a fit is one look at the data, or none.
AT_ONCE = {"BM25", "CustomWeighting", "Encoder", "LogTfIdf", "TfIdf", "NearestNeighborClassifier", "RawRelations"}


def test_every_estimator_is_interrupted():
    public = {name for name in sj.__all__ if hasattr(getattr(sj, name), "fit")}
    assert public - AT_ONCE - ELSEWHERE == {name.split()[0] for name in FITS}


def seconds_until_it_stops(setup: str, call: str, check: str = "pass", counts: tuple[int, ...] = (1, 2)) -> float:
    """Run a call over and over in a process of its own, interrupt it, and see that the process goes on.

    That for each number of threads, which is N in `setup` and `call`. Returns the longest wait.
    """
    script = textwrap.dedent(SETUP) + textwrap.dedent(f"""
{setup}
for N in {counts}:
    print("ready")
    try:
        while True:
            {call}
    except KeyboardInterrupt:
        print("stopped")
    {check}
    assert project(np.eye(2), np.eye(2), n_threads=2).tolist() == [[1, 0], [0, 1]]
    print("alive")
""")
    waited = []
    with forked(lambda out: exec(script, {"print": partial(print, file=out)})) as child:
        for _ in counts:
            child.expect("ready\n")
            time.sleep(0.5)
            sent = time.perf_counter()
            os.kill(child.pid, signal.SIGINT)
            child.expect("stopped\n")
            waited.append(time.perf_counter() - sent)
            child.expect("alive\n")
        child.expect("")
    return max(waited)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_stops_within_a_second(name):
    assert seconds_until_it_stops(*KERNELS[name]) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_a_fit_stops_within_a_second_and_keeps_the_previous_one(name):
    small, few, large, many = FITS[name]
    setup = f"""
model = sj.{name.split()[0]}{small}.fit({few})
before, data = fitted(model), dict(enumerate([{many}]))
model.set_params({large})
"""
    call, check = "model.set_params(n_threads=N).fit(*data.values())", "assert is_same(fitted(model), before)"
    counts = (1, 2) if name in ("LSA", "WTMF", "OPCA", "CCA") else (2,)
    assert seconds_until_it_stops(setup, call, check, counts) < 1.0
