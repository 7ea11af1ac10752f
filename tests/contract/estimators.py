"""The list that all common checks run over: a new estimator is one more line here."""

from __future__ import annotations

import semproj as sj


def weight(count: float, document_frequency: int, n_documents: int, length: float) -> float:
    return count * n_documents / (document_frequency + 1.0)


class Custom(sj.CustomWeighting):
    """With a default function, so that its name among the tests is the same in every process."""

    def __init__(self, function: object = weight, n_threads: int | None = None) -> None:
        super().__init__(function, n_threads)


# scikit-learn's checks and the promises of transformers.
ESTIMATORS = [
    sj.LSA(n_components=2, random_state=0),
    sj.LSA(n_components=2, solver="lanczos", tol=1e-6, random_state=0),
    sj.LSA(n_components=2, center=True, random_state=0),
    sj.LogTfIdf(),
    sj.TfIdf(),
    sj.BM25(),
    Custom(),
]

# scikit-learn's checks and the promises of classifiers.
CLASSIFIERS = [
    sj.NearestNeighborClassifier(),
    sj.NearestNeighborClassifier(n_neighbors=3, metric="l1"),
]
