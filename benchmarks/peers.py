"""The libraries we are compared with, each called the fastest way it offers, imported only when asked for."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix
from threadpoolctl import ThreadpoolController

# Intel's OpenMP threads spin for 0.2 s after a call and would take the core from the next contestant. This is
# read when the library loads, so it is set before anything can load it.
os.environ.setdefault("KMP_BLOCKTIME", "0")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # the same for GNU's OpenMP, which faiss brings

TOKEN = r"(?u)\b\w+\b"  # sklearn's default drops words of one letter; ours does not
Runner = Callable[[], Any]


def available(module: str) -> Any | None:
    """The module, or None when it is not installed. An installed module that fails to load is an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


def missing() -> list[str]:
    """Those of the optional peers that are not installed, so that a table can say so."""
    dense, counts = ("cca_zoo", "faiss", "torch"), ("gensim", "implicit", "tomotopy", "kenlm")
    optional = (*dense, *counts, "pyttb", "tensorly", "smurff", "sparse_dot_topn")
    absent = [name for name in optional if importlib.util.find_spec(name) is None]
    if importlib.util.find_spec("sparse_dot_mkl") is None or _mkl_library() is None:
        absent.append("mkl")
    return absent


def generalised_eigh(S: np.ndarray, N: np.ndarray, k: int) -> np.ndarray:
    """The k largest eigenvalues of S v = lambda N v, with their vectors, by LAPACK."""
    from scipy.linalg import eigh

    values, _ = eigh(S, N, subset_by_index=(len(S) - k, len(S) - 1), check_finite=False)
    return np.asarray(values[::-1])


def ridge_cca(views: Sequence[np.ndarray], k: int, gamma: float) -> list[np.ndarray]:
    """cca-zoo's ridge is (1 - c) C + c I, which is ours times 1 - c for gamma = c / (1 - c)."""
    from cca_zoo.linear import RidgeCCA

    model = RidgeCCA(n_components=k, shrinkage=gamma / (1 + gamma)).fit(list(views))
    return [np.asarray(weights) for weights in model.weights_]


def sklearn_cca(views: Sequence[np.ndarray], k: int) -> list[np.ndarray]:
    """Has no ridge; runs until its own tolerance."""
    from sklearn.cross_decomposition import CCA
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a component that needs more than 500 steps
        model = CCA(n_components=k, scale=False).fit(*views)
    return [model.x_rotations_, model.y_rotations_]


def plain_hooi(slices: Sequence[csr_matrix], V: np.ndarray, n_sweeps: int, clock: Callable[..., Any]) -> None:
    """HOOI for (R, R, number of slices) as scipy and BLAS have it; `clock(sweep, fit)` after each sweep."""
    from scipy.linalg import eigh
    from scipy.sparse import vstack

    m, rank = len(slices), V.shape[1]
    # Row i of all slices together, so that one product makes all columns of Y without a copy.
    n, p = slices[0].shape
    by_row = vstack(slices).tocsr()[np.arange(n * m).reshape(m, n).T.ravel()]
    by_column = vstack([matrix.T for matrix in slices]).tocsr()[np.arange(p * m).reshape(m, p).T.ravel()]
    norm = np.sqrt(sum(float(np.vdot(matrix.data, matrix.data)) for matrix in slices))

    def solve(X: csr_matrix, factor: np.ndarray) -> tuple[np.ndarray, float]:
        Y = (X @ factor).reshape(X.shape[0] // m, m * rank)
        top = (m * rank - rank, m * rank - 1)
        values, E = eigh(Y.T @ Y, subset_by_index=top, overwrite_a=True, check_finite=False)
        return Y @ (E / np.sqrt(values)), float(values.sum(dtype=np.float64))

    for sweep in range(n_sweeps):
        U, _ = solve(by_row, V)
        V, energy = solve(by_column, U)
        clock(sweep + 1, 1.0 - float(np.sqrt(max(0.0, 1 - energy / norm**2))))


def pyttb_tucker(tensor: Any, V: np.ndarray, n_sweeps: int) -> float:
    """tucker_als of a sparse tensor of three modes, the third not compressed; returns the fit."""
    import pyttb

    X = pyttb.sptensor(np.ascontiguousarray(tensor.coords.T), tensor.values[:, None].copy(), tensor.shape)
    rank, m = V.shape[1], tensor.shape[2]
    first = np.zeros((tensor.shape[0], rank))  # is solved before it is used
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it casts complex eigenvectors to real ones
        found = pyttb.tucker_als(
            X, np.array([rank, rank, m]), stoptol=0, maxiters=n_sweeps, init=[first, V, np.eye(m)], printitn=0
        )
    return float(found[2]["fit"])


def tensorly_sparse_tucker() -> str:
    """What tensorly's sparse Tucker does with a small sparse tensor."""
    if available("tensorly") is None or available("sparse") is None:
        return "not installed"
    import sparse
    from tensorly.contrib.sparse.decomposition import tucker

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tucker(sparse.random((30, 30, 4), density=0.1, random_state=0), rank=[3, 3, 4])
    except Exception as error:  # whatever it raises is what is reported
        return f"tensorly.contrib.sparse.decomposition.tucker raises {type(error).__name__}: {error}"
    return "tensorly.contrib.sparse.decomposition.tucker ran; it is not timed here"


def _mkl_library() -> Path | None:
    """libmkl_rt of the `mkl` package: pip puts it where no loader looks."""
    try:
        files = metadata.distribution("mkl").files or []
    except metadata.PackageNotFoundError:
        files = []
    found = [Path(str(file.locate())) for file in files if "libmkl_rt.so" in file.name]
    found += sorted((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"))
    return next((path.resolve() for path in found if path.exists()), None)


def load_mkl() -> Any | None:
    """sparse_dot_mkl with its MKL found, or None when either is not installed."""
    library = _mkl_library()
    if library is None and "MKL_RT" not in os.environ:
        return None
    os.environ.setdefault("MKL_RT", str(library))
    return available("sparse_dot_mkl")


def project(X: csr_matrix, matrix: np.ndarray, threads: Sequence[int], reuse: bool) -> list[tuple]:
    """Sparse times dense: (key, threads or None if it has no threads, runner) for each peer installed.

    scipy cannot write into a given array, so it allocates in either case.
    """
    contestants: list[tuple[str, int | None, Runner]] = [("scipy", None, lambda: X @ matrix)]
    if (mkl := load_mkl()) is not None:
        out = np.zeros((X.shape[0], matrix.shape[1]), matrix.dtype) if reuse else None

        def mkl_project() -> np.ndarray:
            if out is None:
                return mkl.dot_product_mkl(X, matrix)
            return mkl.dot_product_mkl(X, matrix, out=out, out_scalar=0.0)

        contestants += [("mkl", n, mkl_project) for n in threads]
    if (torch := available("torch")) is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "sparse CSR tensor support is in beta state"
            left = torch.sparse_csr_tensor(
                torch.from_numpy(X.indptr), torch.from_numpy(X.indices), torch.from_numpy(X.data), X.shape
            )
        right = torch.from_numpy(matrix)

        def torch_project(n: int) -> Runner:
            def run() -> np.ndarray:
                torch.set_num_threads(n)
                with torch.inference_mode():
                    return (left @ right).numpy()

            return run

        contestants += [("torch", n, torch_project(n)) for n in threads]
    return contestants


def _blas_kernels() -> str:
    """What OpenBLAS calls its kernels for this CPU, by what the CPU can do; "" leaves the choice to it."""
    try:
        flags = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    except OSError:
        return ""
    return "SkylakeX" if "avx512vl" in flags else "Haswell" if "avx2" in flags else ""


def load_faiss() -> Any | None:
    """faiss, or None. Its OpenBLAS takes the oldest kernels on a CPU newer than itself, so it is told which."""
    before = os.environ.get("OPENBLAS_CORETYPE")
    if before is None and (kernels := _blas_kernels()):
        os.environ["OPENBLAS_CORETYPE"] = kernels
    try:
        return available("faiss")
    finally:
        if before is None:
            os.environ.pop("OPENBLAS_CORETYPE", None)


def faiss_search(corpus: np.ndarray, queries: np.ndarray, k: int, metric: str, n: int) -> Runner | None:
    """IndexFlatIP or IndexFlatL2 of vectors of unit length, or IndexFlat by L1; built beforehand."""
    faiss = load_faiss()
    if faiss is None or metric not in ("cosine", "l2 of unit rows", "l1"):
        return None
    d = corpus.shape[1]
    if metric != "l1":
        index, unit = faiss.IndexFlatIP(d) if metric == "cosine" else faiss.IndexFlatL2(d), corpus.copy()
        faiss.normalize_L2(unit)
        index.add(unit)
    else:
        index = faiss.IndexFlat(d, faiss.METRIC_L1)
        index.add(corpus)

    def run() -> tuple[np.ndarray, np.ndarray]:
        faiss.omp_set_num_threads(n)
        asked = queries
        if metric != "l1":
            asked = queries.copy()
            faiss.normalize_L2(asked)
        scores, ids = index.search(asked, k)
        return ids, scores

    return run


SCIPY_METRICS = {"cosine": "cosine", "l1": "cityblock", "jensen_shannon": "jensenshannon"}


def scipy_search(corpus: np.ndarray, queries: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """cdist, argpartition and a sort of the k found. No threads."""
    from scipy.spatial.distance import cdist

    distances = cdist(queries, corpus, SCIPY_METRICS[metric])
    ids = np.argpartition(distances, k - 1, axis=1)[:, :k]
    found = np.take_along_axis(distances, ids, axis=1)
    order = np.argsort(found, axis=1)
    found = np.take_along_axis(found, order, axis=1)
    # Of the divergence scipy gives the square root, in nats.
    return np.take_along_axis(ids, order, axis=1), found**2 / np.log(2) if metric == "jensen_shannon" else found


def sklearn_search(corpus: np.ndarray, k: int, metric: str) -> Any:
    """NearestNeighbors by brute force; its chunked reductions run on OpenMP, its cosine on BLAS."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=k, algorithm="brute", metric=SCIPY_METRICS[metric]).fit(corpus)


def count_vectorizer(lowercase: bool = False, **options: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(lowercase=lowercase, token_pattern=TOKEN, dtype=np.int32, **options)


def gensim_counts(tokens: list[list[str]]) -> tuple[Any, list[list[tuple[int, int]]]]:
    """Vocabulary and bags of words from text that has been split into words already."""
    from gensim.corpora import Dictionary

    dictionary = Dictionary(prune_at=None)
    # One pass does both; Dictionary(tokens) followed by doc2bow would count everything twice.
    return dictionary, [dictionary.doc2bow(document, allow_update=True) for document in tokens]


def truncated_svd(X: csr_matrix, k: int, n_iter: int | None, seed: int = 0) -> np.ndarray:
    """Rows spanning the space scikit-learn finds: randomized with `n_iter`, or ARPACK for None."""
    from sklearn.decomposition import TruncatedSVD

    if n_iter is None:
        return TruncatedSVD(k, algorithm="arpack", random_state=seed).fit(X).components_
    return TruncatedSVD(k, algorithm="randomized", n_iter=n_iter, random_state=seed).fit(X).components_


def gensim_lsi(terms_by_documents: csc_matrix, k: int, power_iters: int = 2) -> np.ndarray:
    """The same of gensim's LsiModel in one pass over a CSC matrix, which it takes without converting it."""
    return _lsi_model(terms_by_documents, k, terms_by_documents, power_iters=power_iters)


def _lsi_model(terms_by_documents: csc_matrix, k: int, corpus: Any, **options: Any) -> np.ndarray:
    from gensim.models import LsiModel

    unnamed = {term: str(term) for term in range(terms_by_documents.shape[0])}
    model = LsiModel(num_topics=k, id2word=unnamed, dtype=np.float32, random_seed=0, **options)
    model.add_documents(corpus)
    return model.projection.u.T


def implicit_solver(
    pattern: csr_matrix, missing_weight: float, reg: float, n: int, cg_steps: int = 0
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Half a sweep of implicit's alternating least squares, (factors, out) -> out, without its Python around it.

    Exact by Cholesky, or `cg_steps` of conjugate gradients from what `out` holds. Its missing cells have weight 1
    and its observed cells the value 1: all weights and the ridge over `missing_weight` give the same solution.
    """
    from implicit.cpu import _als as als

    observed = np.full(pattern.nnz, 1.0 / missing_weight, np.float32)
    arrays = pattern.indptr, pattern.indices, observed
    blas = ThreadpoolController().select(user_api="blas")

    def solve(factors: np.ndarray, out: np.ndarray) -> np.ndarray:
        with blas.limit(limits=1):  # as it asks its users: its own threads call BLAS, on small matrices
            if cg_steps:
                als._least_squares_cg(*arrays, out, factors, reg / missing_weight, n, cg_steps)
            else:
                als._least_squares(factors.T @ factors, *arrays, out, factors, reg / missing_weight, n)
        return out

    return solve


def implicit_als(
    confidence: csr_matrix, k: int, reg: float, sweeps: int, n: int, *, by_cg: bool
) -> tuple[np.ndarray, np.ndarray]:
    """A fit of implicit's alternating least squares: the vectors of users and items."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        factors=k, regularization=reg, alpha=1.0, iterations=sweeps, use_cg=by_cg, num_threads=n, random_state=0
    )
    with ThreadpoolController().select(user_api="blas").limit(limits=1):  # as it asks its users
        model.fit(confidence, show_progress=False)
    return model.user_factors, model.item_factors


def smurff_bpmf(
    cells: csr_matrix, d: int, precision: float, n: int, n_sweeps: int, mark: Callable[[], None]
) -> float:
    """Sweeps of SMURFF's Gibbs sampler for BPMF, marked one by one; the root mean square error after the last.

    The precision of the cells is given, there is no test data, and nothing is saved: all these would take time.
    """
    import smurff

    # In the burn-in to the end, as drawing predictions has no part in a sweep.
    session = smurff.TrainSession(num_latent=d, num_threads=n, burnin=n_sweeps, nsamples=1, seed=0, verbose=0)
    session.setTrain(cells, smurff.FixedNoise(precision), True)
    session.init()
    status = None
    for _ in range(n_sweeps):
        status = session.step()
        mark()
    return float(status.train_rmse)


def words_of(counts: csr_matrix) -> list[list[str]]:
    """Documents as tomotopy wants them: a string for each token."""
    names = [str(term) for term in range(counts.shape[1])]
    tokens = np.repeat(counts.indices, counts.data.astype(np.int64))
    ends = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])[counts.indptr]
    return [[names[term] for term in tokens[begin:end]] for begin, end in itertools.pairwise(ends)]


def tomotopy_lda(documents: list[list[str]], k: int, alpha: float, eta: float) -> Any:
    """LDA by collapsed Gibbs sampling; all words have weight one, the fastest, and priors stay as they are."""
    import tomotopy

    model = tomotopy.LDAModel(tw=tomotopy.TermWeight.ONE, k=k, alpha=alpha, eta=eta, seed=0)
    for words in documents:
        model.add_doc(words)
    model.optim_interval = 0
    return model


def tomotopy_train(model: Any, sweeps: int, n: int, scheme: str = "DEFAULT") -> None:
    """Sweeps in one call, their work shared by one of its parallel schemes."""
    import tomotopy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "may differ even with fixed seed"
        model.train(sweeps, workers=n, parallel=getattr(tomotopy.ParallelScheme, scheme))


def tomotopy_topics(model: Any, n_terms: int) -> np.ndarray:
    """Its distributions over words; those that it has not seen have next to nothing."""
    topics = np.full((model.k, n_terms), 1e-9, np.float32)
    topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(t) for t in range(model.k)]
    return topics


def sklearn_lda(counts: csr_matrix, k: int, alpha: float, eta: float, n: int) -> Any:
    """One pass of batch variational Bayes, nothing evaluated; its documents are spread over `n` processes."""
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(
        k,
        doc_topic_prior=alpha,
        topic_word_prior=eta,
        learning_method="batch",
        max_iter=1,
        evaluate_every=-1,
        n_jobs=n,
        random_state=0,
    ).fit(counts)


def gensim_lda(bags: list[list[tuple[int, int]]], n_terms: int, k: int, alpha: float, eta: float, n: int) -> Any:
    """One pass of online variational Bayes, nothing evaluated: LdaModel, or LdaMulticore with `n` processes."""
    from gensim.models import LdaModel, LdaMulticore

    unnamed = {term: str(term) for term in range(n_terms)}
    options = {"num_topics": k, "id2word": unnamed, "passes": 1, "eval_every": None, "dtype": np.float32}
    options |= {"alpha": np.full(k, alpha, np.float32), "eta": eta, "random_state": 0}
    if n == 1:
        return LdaModel(bags, **options)
    return LdaMulticore(bags, workers=n, **options)
