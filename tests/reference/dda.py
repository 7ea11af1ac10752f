"""OPCA in two stages, dense (section 4 of Platt, Toutanova and Yih 2010)."""

from __future__ import annotations

import numpy as np

from tests.reference.opca import Fit, generalized, noise, opca, positive_peaks, signal


def dda(views: list[np.ndarray], k: int, gamma: float, groups: np.ndarray, group_components: int) -> Fit:
    """OPCA of each group of columns; then S v = lambda N v among v = B c, for the groups' B."""
    views = [np.asarray(D, dtype=np.float64) for D in views]
    p = views[0].shape[1]
    columns = []
    for number in range(groups.max() + 1):
        group = np.flatnonzero(groups == number)
        first = opca([D[:, group] for D in views], min(group_components, len(group)), gamma)
        for v in first.components:
            column = np.zeros(p)
            column[group] = v
            columns.append(column)
    B = np.stack(columns, axis=1)
    S, N = signal(views), noise(views, gamma)
    second = generalized(B.T @ S @ B, B.T @ N @ B, k)
    return Fit(positive_peaks(second.components @ B.T), second.eigenvalues, S, N)
