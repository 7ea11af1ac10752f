"""S2Net on preferences, a triple at a time. Equation numbers: Yih, Toutanova, Platt and Meek 2011."""

from __future__ import annotations

import numpy as np


def cosine(f: np.ndarray, h: np.ndarray, A: np.ndarray, floors: tuple[float, float]) -> float:
    """Section 3.2, with smooth lengths; of a row that vanishes, 0."""
    g, k = A.T @ f, A.T @ h
    lengths = np.sqrt(g @ g + floors[0] ** 2) * np.sqrt(k @ k + floors[1] ** 2)
    return float(g @ k / lengths) if lengths > 0 else 0.0


def preference_loss(
    queries: np.ndarray,
    documents: np.ndarray,
    triples: np.ndarray,
    A: np.ndarray,
    scale: float,
    floors: tuple[float, float] = (0.0, 0.0),
) -> float:
    """Equation 2, the mean of all triples."""
    total = 0.0
    for query, better, worse in triples:
        ahead = cosine(queries[query], documents[better], A, floors)
        ahead -= cosine(queries[query], documents[worse], A, floors)
        total += np.logaddexp(0.0, -scale * ahead)
    return total / len(triples)


def pairs_loss(
    queries: np.ndarray,
    documents: np.ndarray,
    pairs: np.ndarray,
    A: np.ndarray,
    loss: str,
    scale: float,
    forward: float = 0.5,
    backward: float = 0.5,
    floors: tuple[float, float] = (0.0, 0.0),
) -> float:
    """Each pair against all others but those whose document is one of the query's."""
    known = {(int(q), int(d)) for q, d in pairs}
    m, total = len(pairs), 0.0
    C = np.array([[cosine(queries[q], documents[d], A, floors) for _, d in pairs] for q, _ in pairs])
    left_out = np.array(
        [[i != j and (int(pairs[i, 0]), int(pairs[j, 1])) in known for j in range(m)] for i in range(m)]
    )
    for weight, cosines, out in ((forward, C, left_out), (backward, C.T, left_out.T)):
        for i in range(m):
            if loss == "softmax":
                rivals = scale * cosines[i, ~out[i]]
                total += weight * (np.logaddexp.reduce(rivals) - scale * cosines[i, i]) / m
            else:
                rivals = cosines[i, ~out[i] & (np.arange(m) != i)]
                total += weight * np.logaddexp(0.0, scale * (rivals - cosines[i, i])).sum() / (m * (m - 1))
    return total
