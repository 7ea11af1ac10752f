"""The list that all common checks run over: a new estimator is one more line here."""

from __future__ import annotations

import semproj as sj


def weight(count: float, document_frequency: int, n_documents: int, length: float) -> float:
    return count * n_documents / (document_frequency + 1.0)


class Custom(sj.CustomWeighting):
    """With a default function, so that its name among the tests is the same in every process."""

    def __init__(self, weight: object = weight, n_threads: int | None = None) -> None:
        super().__init__(weight, n_threads)


# scikit-learn's checks and the promises of transformers.
ESTIMATORS = [
    sj.LSA(n_components=2, random_state=0),
    sj.LSA(n_components=2, solver="lanczos", tol=1e-6, random_state=0),
    sj.LSA(n_components=2, center=True, random_state=0),
    sj.LogTfIdf(),
    sj.TfIdf(),
    sj.BM25(),
    Custom(),
    sj.WTMF(n_components=2, reg=1.0, max_iter=5, random_state=0),
    sj.ImplicitALS(n_components=2, max_iter=4, random_state=0),
    sj.PLSA(n_components=2, max_iter=5, random_state=0),
    sj.PLSA(n_components=2, init="random", alpha=1.0, beta=1.0, fold_in_iter=2, max_iter=4, random_state=0),
    sj.WTMF(n_components=2, missing_weight=0.0, reg=1.0, max_iter=3, orthogonality=1e-4, random_state=0),
]

# scikit-learn's checks and the promises of classifiers.
CLASSIFIERS = [
    sj.NearestNeighborClassifier(),
    sj.NearestNeighborClassifier(n_neighbors=3, metric="l1"),
]

# Models of several aligned views: `fit` takes a list of matrices.
MULTIVIEW = [
    sj.CLLSI(n_components=3, weighting=None, random_state=0),
    sj.OPCA(n_components=3, solver="cholesky", random_state=0),
    sj.OPCA(n_components=3, solver="dual", random_state=0),
    sj.OPCA(n_components=3, solver="cg", random_state=0),
    sj.CCA(n_components=3, gamma=1.0, solver="cholesky", random_state=0),
    sj.CCA(n_components=3, gamma=1.0, solver="dual", random_state=0),
    sj.DDA(n_components=3, group_size=110, random_state=0),
    sj.JPLSA(n_components=3, max_iter=5, init="random", random_state=0),
    sj.JPLSA(n_components=3, max_iter=5, vocabulary="separate", init="random", random_state=0),
    sj.CPLSA(n_components=3, max_iter=5, coupling=10.0, init="random", random_state=0),
    sj.CPLSA(
        n_components=3, max_iter=5, coupling=float("inf"), vocabulary="separate", init="random", random_state=0
    ),
    sj.S2Net(n_components=3, max_iter=5, random_state=0),
    sj.S2Net(n_components=3, loss="logistic", directions="forward", negatives=40, max_iter=5, random_state=0),
    sj.S2Net(n_components=3, matrices="separate", reg=0.1, max_iter=5, random_state=0),
    sj.S2Net(n_components=3, optimizer="adam", batch_size=30, max_iter=5, random_state=0),
    sj.S2Net(n_components=3, negatives="hard", batch_size=30, start="random", max_iter=5, random_state=0),
]
