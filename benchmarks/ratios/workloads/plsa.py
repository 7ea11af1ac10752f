"""Topic models: an EM sweep beside other learners of topics, CPLSA beside JPLSA, and fold-in of new documents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from benchmarks import data, peers
from benchmarks.ratios import OURS, ClockedResult, Contestant, Cost, Options, SweepClock, Workload, register

ALPHA, BETA = 1.1, 1.01  # of MAP estimates; for those who average over parameters, the same less one
SWEEPS = 6  # of ours in a round, the first is not timed
COUPLED_SWEEPS = 12  # of CPLSA and JPLSA; projections of the first sweeps have farthest to go
GIBBS_SWEEPS = 3  # of tomotopy in a round; it starts its threads once for all of them
FOLD_IN = 10
TRAINED = 30  # sweeps before documents are folded in
GIBBS_FOLD_IN = 100  # tomotopy's default

Schemes = dict[str, str]  # a contestant's name: the parallel scheme of tomotopy


class Sweep(ClockedResult):
    """Seconds of one sweep; `perplexity()` of the documents by what was learnt, for the check."""

    perplexity: Callable[[], float]


def perplexity(counts: csr_matrix, theta: np.ndarray, phi: np.ndarray) -> float:
    """exp(-sum n log p / sum n), p for each entry by itself: theta phi would not fit in memory."""
    total, rows = 0.0, np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    words = np.ascontiguousarray(phi.T)
    for begin in range(0, counts.nnz, 100_000):
        part = slice(begin, begin + 100_000)
        p = np.einsum("ij,ij->i", theta[rows[part]], words[counts.indices[part]], dtype=np.float64)
        total += float(counts.data[part] @ np.log(p))
    return float(np.exp(-total / counts.sum()))


def normalised(weights: np.ndarray) -> np.ndarray:
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def unigram_perplexity(counts: csr_matrix) -> float:
    """Of one topic, which all must beat."""
    frequency = np.asarray(counts.sum(axis=0), np.float64).ravel()
    p = frequency[frequency > 0] / frequency.sum()
    return float(np.exp(-p @ np.log(p)))


def our_sweeps(name: str, X: Any, k: int, threads: int, n_sweeps: int = SWEEPS) -> Sweep:
    """As a fit does them, for a callback that looks at the clock."""
    import semproj as sj

    clock = SweepClock()
    model = getattr(sj, name)(
        k,
        alpha=ALPHA,
        beta=BETA,
        init="frequency",
        max_iter=n_sweeps,
        tol=0.0,
        callback=lambda progress: clock.mark(),
        n_threads=threads,
    ).fit(X)
    result = clock.per_sweep(Sweep)
    sides = X if isinstance(X, list) else [X]
    result.perplexity = lambda: max(perplexity(x, model.transform(x), model.components_) for x in sides)
    return result


def tomotopy_sweeps(model: Any, counts: csr_matrix, scheme: str, threads: int) -> Sweep:
    """Seconds of one; the model goes on from where it is, which takes it no more and no less time."""
    start, cpu_start = time.perf_counter(), time.process_time()
    peers.tomotopy_train(model, GIBBS_SWEEPS, threads, scheme)
    took = time.perf_counter() - start, time.process_time() - cpu_start
    result = Sweep(took[0] / GIBBS_SWEEPS, took[1] / GIBBS_SWEEPS)

    def measured() -> float:
        theta = np.array([document.get_topic_dist() for document in model.docs], np.float32)
        return perplexity(counts, theta, peers.tomotopy_topics(model, counts.shape[1]))

    result.perplexity = measured
    return result


def schemes(threads: int) -> Schemes:
    """Both ways of tomotopy to share work, which one thread has no use for."""
    return {"tomotopy": "PARTITION", "tomotopy_copy": "COPY_MERGE"} if threads > 1 else {"tomotopy": "DEFAULT"}


def gibbs_contestants(counts: csr_matrix, k: int, threads: tuple[int, ...]) -> list[Contestant]:
    documents = peers.words_of(counts)
    made = []
    for n in threads:
        for name, scheme in schemes(n).items():
            model = peers.tomotopy_lda(documents, k, ALPHA - 1, BETA - 1)
            peers.tomotopy_train(model, 1, n)  # words are numbered and topics drawn in the first
            if model.num_words != counts.sum():
                raise AssertionError(f"tomotopy: has {model.num_words} tokens, expected {counts.sum()}")
            made.append(
                Contestant(
                    name, n, lambda m=model, s=scheme, n=n: tomotopy_sweeps(m, counts, s, n), own_clock=True
                )
            )
    return made


def variational_contestants(counts: csr_matrix, k: int, options: Options) -> list[Contestant]:
    # What takes minutes is run with all threads only.
    threads = options.threads[-1:] if options.size == "full" else options.threads
    priors = (ALPHA - 1, BETA - 1)

    def timed(fit: Callable[[], Any], topics: Callable[[Any], np.ndarray]) -> Sweep:
        start, cpu_start = time.perf_counter(), time.process_time()
        model = fit()
        result = Sweep(time.perf_counter() - start, time.process_time() - cpu_start)
        phi = normalised(topics(model))
        uniform = np.full((counts.shape[0], k), 1 / k, np.float32)
        result.perplexity = lambda: perplexity(counts, uniform, phi)  # enough to see that it has read the words
        return result

    made = [
        Contestant(
            "sklearn",
            n,
            lambda n=n: timed(lambda: peers.sklearn_lda(counts, k, *priors, n), lambda m: m.components_),
            own_clock=True,
        )
        for n in threads
    ]
    if peers.available("gensim") is not None:
        rows = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
        bags = [
            list(zip(counts.indices[begin:end].tolist(), counts.data[begin:end].tolist(), strict=True))
            for begin, end in rows
        ]
        made += [
            Contestant(
                "gensim",
                n,
                lambda n=n: timed(
                    lambda: peers.gensim_lda(bags, counts.shape[1], k, *priors, n), lambda m: m.get_topics()
                ),
                own_clock=True,
            )
            for n in threads
        ]
    return made


def sweep_cost(nnz: int, k: int, documents: int, terms: int) -> Cost:
    """For each entry a product with its word's topics, and two sums of what it gives to document and word."""
    return Cost(
        cache_bandwidth=4.0 * (3 * nnz * k + 3 * terms * k + 2 * documents * k),
        fma_peak=6.0 * nnz * k,
        meaning="fma: 3 T multiply-adds for each non-zero; cache: the word's topics read, and its sums read and "
        "written, for each non-zero, and all parameters once",
    )


def check_learnt(options: Options, counts: csr_matrix) -> Callable[[Contestant, Sweep], dict[str, Any]]:
    """Better than words alone; after one pass, topics in equal parts are nearly as good as these."""
    alone = unigram_perplexity(counts)

    def check(contestant: Contestant, result: Sweep) -> dict[str, Any]:
        found = result.perplexity()
        slack = 1.2 if contestant.name in ("sklearn", "gensim") or options.size == "tiny" else 1.0
        if not 1 <= found < slack * alone:
            raise AssertionError(f"{contestant.name}: perplexity {found:.1f}, of words alone {alone:.1f}")
        return {"perplexity": found}

    return check


def sweeps(options: Options, counts: csr_matrix, source: str, k: int, with_variational: bool) -> Workload:
    """One sweep over all documents, or one pass."""
    contestants = [
        Contestant(OURS, n, lambda n=n: our_sweeps("PLSA", counts, k, n), own_clock=True) for n in options.threads
    ]
    tokens = int(counts.sum())
    notes = [
        f"{source}, {counts.shape[1]} terms, {counts.nnz} non-zeros, {tokens} tokens; T={k}; words: tokens",
        f"ours: a sweep of PLSA with its objective and a callback, the mean of sweeps 2 to {SWEEPS}",
    ]
    if peers.available("tomotopy") is not None:
        contestants += gibbs_contestants(counts, k, options.threads)
        notes.append(
            f"tomotopy: a sweep of LDA's collapsed Gibbs sampler, the mean of {GIBBS_SWEEPS} in one call after a "
            "first one, by both of its parallel schemes (partition and copy-merge), words of weight one"
        )
    if with_variational:
        contestants += variational_contestants(counts, k, options)
        notes.append(
            "sklearn: LatentDirichletAllocation, one batch pass; gensim: one pass of LdaModel, or of LdaMulticore "
            "with as many workers as threads; both at their defaults for a document's iterations. Their "
            "perplexities here are of topics in equal parts"
        )
    return Workload(
        name=f"plsa_sweep_t{k}",
        words=tokens,
        contestants=contestants,
        check=check_learnt(options, counts),
        cost=sweep_cost(counts.nnz, k, *counts.shape),
        rounds=options.pick(3, 2, 1),
        least_seconds=0.0,
        most_seconds=options.pick(60.0, 10.0, 5.0),
        notes=notes,
    )


def coupled(options: Options, views: list[csr_matrix], source: str, k: int) -> Workload:
    """CPLSA beside JPLSA, as its peer."""
    made = [
        Contestant(name, n, lambda n=n, cls=cls: our_sweeps(cls, views, k, n, COUPLED_SWEEPS), own_clock=True)
        for name, cls in ((OURS, "CPLSA"), ("jplsa", "JPLSA"))
        for n in options.threads
    ]
    tokens = int(sum(view.sum() for view in views))

    def finish(row: dict[str, Any]) -> None:
        row["times_jplsa"] = row["ours_seconds"] / row["seconds"]["jplsa"]

    both = int(sum(view.nnz for view in views))
    return Workload(
        name=f"cplsa_sweep_t{k}",
        words=tokens,
        contestants=made,
        check=check_learnt(options, vstack(views)),
        cost=sweep_cost(both, k, 2 * views[0].shape[0], views[0].shape[1]),
        rounds=options.pick(2, 2, 1),
        least_seconds=0.0,
        most_seconds=options.pick(40.0, 10.0, 5.0),
        finish=finish,
        notes=[
            f"{source}, {views[0].shape[1]} terms, {both} non-zeros, {tokens} tokens; T={k}, coupling as by "
            f"default; jplsa: JPLSA on the same pairs; both the mean of sweeps 2 to {COUPLED_SWEEPS}"
        ],
    )


def fold_in(options: Options, counts: csr_matrix, source: str, k: int, n_new: int) -> Workload:
    """Topics of documents that were not trained on."""
    import semproj as sj

    known, new = counts[:-n_new], counts[-n_new:].tocsr()
    model = sj.PLSA(
        k, alpha=ALPHA, beta=BETA, init="frequency", max_iter=TRAINED, tol=0.0, fold_in_iter=FOLD_IN
    ).fit(known)
    rows = csr_matrix((new.data.astype(np.float32), new.indices, new.indptr), shape=new.shape)
    topics: dict[str, np.ndarray] = {OURS: model.components_}

    def ours(n: int) -> np.ndarray:
        return model.set_params(n_threads=n).transform(rows)

    contestants = [Contestant(OURS, n, lambda n=n: ours(n)) for n in options.threads]
    notes = [
        f"{n_new} documents beside {known.shape[0]}; {source}, {new.nnz} non-zeros; T={k} after {TRAINED} sweeps; "
        f"words: tokens; ours: {FOLD_IN} iterations of EM"
    ]
    if peers.available("tomotopy") is not None:
        peer = peers.tomotopy_lda(peers.words_of(known), k, ALPHA - 1, BETA - 1)
        peers.tomotopy_train(peer, TRAINED, options.threads[-1])
        # Words that it has not seen are left out of its documents.
        documents = [peer.make_doc(words) for words in peers.words_of(new)]

        def infer(iterations: int, n: int) -> np.ndarray:
            found, _ = peer.infer(documents, iterations=iterations, workers=n)
            return np.array(found, np.float32)

        for name, iterations in (("tomotopy", GIBBS_FOLD_IN), ("tomotopy_10", FOLD_IN)):
            topics[name] = peers.tomotopy_topics(peer, counts.shape[1])
            contestants += [Contestant(name, n, lambda i=iterations, n=n: infer(i, n)) for n in options.threads]
        notes.append(
            f"tomotopy: infer, each document by itself, with its default of {GIBBS_FOLD_IN} iterations; "
            f"tomotopy_10: with {FOLD_IN}; documents made beforehand"
        )
    bar = options.pick(1.0, 1.0, 2.0) * unigram_perplexity(new)

    def check(contestant: Contestant, theta: np.ndarray) -> dict[str, Any]:
        if theta.shape != (n_new, k) or not np.allclose(theta.sum(axis=1), 1, atol=1e-3):
            raise AssertionError(f"{contestant.name}: expected {n_new} distributions over {k} topics")
        found = perplexity(new, theta, topics[contestant.name])
        if not found < bar:
            raise AssertionError(f"{contestant.name}: perplexity {found:.1f}, expected below {bar:.1f}")
        return {"perplexity": found}

    def finish(row: dict[str, Any]) -> None:
        row["microseconds_per_document"] = 1e6 * row["ours_seconds"] / n_new

    return Workload(
        name=f"plsa_fold_in_t{k}",
        words=int(new.sum()),
        contestants=contestants,
        check=check,
        cost=Cost(
            cache_bandwidth=4.0 * new.nnz * k * FOLD_IN,
            fma_peak=4.0 * new.nnz * k * FOLD_IN,
            meaning=f"fma: 2 T multiply-adds for each non-zero, {FOLD_IN} times; cache: its word's topics, too",
        ),
        rounds=options.pick(5, 2, 1),
        most_seconds=options.pick(60.0, 10.0, 5.0),
        finish=finish,
        notes=notes,
    )


@register("plsa")
def plsa(options: Options) -> Iterator[Workload]:
    pairs, terms = options.pick((10_000, 20_000), (1_500, 5_000), (60, 80))
    small, large = options.pick((100, 1000), (100, 300), (3, 9))
    corpus = data.bilingual_counts(pairs, terms, options.data)
    views = [view[:, :terms].astype(np.int32).tocsr() for view in corpus.views]
    first = views[0][views[0].getnnz(axis=1) > 0]
    source = f"first language of {corpus.source}"
    yield sweeps(options, first, source, small, with_variational=True)
    yield sweeps(options, first, source, large, with_variational=False)
    for k in (small, large):
        yield coupled(options, views, corpus.source, k)
    yield fold_in(options, first, source, small, options.pick(1000, 200, 10))
