"""Topic models by EM, every posterior written out. Platt, Toutanova and Yih 2010, sections 2.4 and 2.5.

``theta`` is documents x topics, ``phi`` topics x words; ``counts`` is dense, documents x words. All models are
written on one row of columns. With a shared vocabulary these are everybody's; with separate ones the columns of
the views stand side by side (`placed`), and a topic has a distribution over each block (`blocks`: their borders).
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp

from tests.reference.philox import philox

Pair = tuple[np.ndarray, np.ndarray]


def placed(views: list[np.ndarray], vocabulary: str) -> tuple[list[np.ndarray], list[int]]:
    """The views with all columns, and where blocks of columns begin and end."""
    views = [np.asarray(view, np.float64) for view in views]
    if vocabulary == "shared":
        return views, [0, views[0].shape[1]]
    borders = np.cumsum([0, *(view.shape[1] for view in views)])
    out = [np.zeros((len(view), borders[-1])) for view in views]
    for wide, view, begin in zip(out, views, borders[:-1], strict=True):
        wide[:, begin : begin + view.shape[1]] = view
    return out, list(borders)


def normalised(weights: np.ndarray) -> np.ndarray:
    """Rows that sum to one; rows of zeros are uniform."""
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, 1.0)
    return weights / weights.sum(axis=1, keepdims=True)


def in_blocks(weights: np.ndarray, blocks: list[int]) -> np.ndarray:
    """Each block of columns normalised by itself."""
    ends = itertools.pairwise(blocks)
    return np.hstack([normalised(weights[:, begin:end]) for begin, end in ends])


def frequency_topics(frequency: np.ndarray, n_topics: int) -> np.ndarray:
    """Footnote 2: the topic of each word, words by falling frequency in blocks of about equal mass.

    A block ends as soon as it has an equal share of the mass that was left for it and those after it, so that no
    block is empty while there are words: topics without words would be alike, and stay so.
    """
    topics, t, mass = np.empty(len(frequency), int), 0, 0.0
    share = frequency.sum() / n_topics
    order = np.lexsort((np.arange(len(frequency)), -frequency))
    for i, word in enumerate(order):
        topics[word] = t
        mass += frequency[word]
        if t + 1 < n_topics and mass >= share * (1 - 1e-12):
            t, mass = t + 1, 0.0
            share = frequency[order[i + 1 :]].sum() / (n_topics - t)
    return topics


def start(counts: np.ndarray, n_topics: int, beta: float, blocks: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """theta and phi to begin with: documents uniform, each word in one topic, smoothed by the prior."""
    frequency = counts.sum(axis=0)
    weights = np.full((n_topics, len(frequency)), beta - 1)
    for begin, end in itertools.pairwise(blocks):
        topics = frequency_topics(frequency[begin:end], n_topics)
        weights[topics, np.arange(begin, end)] += frequency[begin:end]
    return np.full((len(counts), n_topics), 1 / n_topics), in_blocks(weights, blocks)


def posteriors(theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """p(topic | document, word), documents x words x topics; zeros where the word is impossible."""
    joint = theta[:, None, :] * phi.T[None, :, :]
    total = joint.sum(axis=2, keepdims=True)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)


def maximised(
    counts: np.ndarray, q: np.ndarray, alpha: float, beta: float, blocks: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """theta and phi that maximise the expected log posterior under q."""
    expected = counts[:, :, None] * q
    theta = normalised(alpha - 1 + expected.sum(axis=1))
    return theta, in_blocks(beta - 1 + expected.sum(axis=0).T, blocks)


def log_likelihood(counts: np.ndarray, theta: np.ndarray, phi: np.ndarray) -> float:
    """Words that no topic has are left out."""
    p = theta @ phi
    return float((counts * np.log(np.where(p > 0, p, 1))).sum())


def log_prior(theta: np.ndarray, phi: np.ndarray, alpha: float, beta: float) -> float:
    """Without the constants; a prior of 1 is none."""
    value = (alpha - 1) * np.log(theta).sum() if alpha > 1 else 0.0
    return float(value + ((beta - 1) * np.log(phi).sum() if beta > 1 else 0.0))


def objective(counts: np.ndarray, theta: np.ndarray, phi: np.ndarray, alpha: float, beta: float) -> float:
    return log_likelihood(counts, theta, phi) + log_prior(theta, phi, alpha, beta)


def sweep(
    counts: np.ndarray, theta: np.ndarray, phi: np.ndarray, alpha: float, beta: float, blocks: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """One EM iteration of PLSA; of JPLSA, when `counts` is the sum of all placed views."""
    return maximised(counts, posteriors(theta, phi), alpha, beta, blocks)


def fit(
    counts: np.ndarray, n_topics: int, n_sweeps: int, *, alpha: float, beta: float, blocks: list[int] | None = None
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """theta and phi after these sweeps, and the objective after each."""
    blocks = blocks or [0, counts.shape[1]]
    theta, phi = start(counts, n_topics, beta, blocks)
    history = []
    for _ in range(n_sweeps):
        theta, phi = sweep(counts, theta, phi, alpha, beta, blocks)
        history.append(objective(counts, theta, phi, alpha, beta))
    return theta, phi, history


def fold_in(counts: np.ndarray, phi: np.ndarray, alpha: float, n_iter: int) -> np.ndarray:
    """theta of new documents, phi as it is, from a uniform one."""
    theta = np.full((len(counts), len(phi)), 1 / len(phi))
    for _ in range(n_iter):
        theta = normalised(alpha - 1 + (counts[:, :, None] * posteriors(theta, phi)).sum(axis=1))
    return theta


def fitted_perplexity(counts: np.ndarray, phi: np.ndarray, alpha: float, n_iter: int) -> float:
    return float(np.exp(-log_likelihood(counts, fold_in(counts, phi, alpha, n_iter), phi) / counts.sum()))


def fingerprint(row: np.ndarray) -> int:
    """Of a document's words and counts, as float32: FNV-1a, by 32 bits."""
    found = 0xCBF29CE484222325
    for w in row.nonzero()[0]:
        for part in (int(w), int(np.float32(row[w]).view(np.uint32))):
            found = ((found ^ part) * 0x100000001B3) % 2**64
    return found


def halves(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens by coins of (document, word): up to 64 one by one, the others by half; a fraction as one token."""
    first = np.zeros_like(counts)
    documents = [fingerprint(row) for row in counts]
    for d, w in zip(*counts.nonzero(), strict=True):
        a, b, c, _ = philox(0, (int(w), documents[d] % 2**32, documents[d] >> 32, 0))
        coins = ((a << 32) | b).to_bytes(8, "little")
        whole = int(counts[d, w])
        tossed = min(whole, 64)
        heads = sum(coins[i // 8] >> (i % 8) & 1 for i in range(tossed))
        first[d, w] = (whole - tossed) / 2 + heads + (c & 1) * (counts[d, w] - whole)
    return first, counts - first


def perplexity(counts: np.ndarray, phi: np.ndarray, alpha: float, n_iter: int) -> float:
    """Each half by the mixtures of the other."""
    parts = halves(counts)
    found = [log_likelihood(a, fold_in(b, phi, alpha, n_iter), phi) for a, b in (parts, parts[::-1])]
    return float(np.exp(-sum(found) / counts.sum()))


def tilted(theta: Pair, counts: Pair, dual: np.ndarray) -> Pair:
    """exp(-+ dual_t / n) theta_t: with it the posteriors of a pair are the projected ones. Not normalised."""
    first, second = (n.sum(axis=1, keepdims=True) for n in counts)
    coupled = (first > 0) & (second > 0)
    shifts = (np.where(coupled, s * dual / np.maximum(n, 1e-300), 0) for s, n in ((-1, first), (1, second)))
    return tuple(t * np.exp(shift) for t, shift in zip(theta, shifts, strict=True))


def fractions(counts: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Expected share of each topic among a document's tokens; of an empty document, zeros."""
    expected = (counts[:, :, None] * q).sum(axis=1)
    return expected / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)


def projected_fractions(theta: Pair, phi: np.ndarray, counts: Pair, dual: np.ndarray) -> Pair:
    sides = zip(counts, tilted(theta, counts, dual), strict=True)
    first, second = (fractions(n, posteriors(tilt, phi)) for n, tilt in sides)
    return first, second


def tilted_likelihood(theta: Pair, phi: np.ndarray, counts: Pair, dual: np.ndarray) -> float:
    """Sum of n_w log(sum_t theta_t exp(-+ dual_t / n) phi_tw), of which the dual variables seek the minimum."""
    return sum(log_likelihood(n, t, phi) for n, t in zip(counts, tilted(theta, counts, dual), strict=True))


def within(dual: np.ndarray, coupling: float, norm: str) -> np.ndarray:
    """The nearest dual variables that are allowed: |dual_t| <= coupling for l1, their length for l2."""
    if norm == "l1" or coupling == np.inf:
        return np.clip(dual, -coupling, coupling)
    return dual * np.minimum(1, coupling / np.maximum(np.linalg.norm(dual, axis=1, keepdims=True), 1e-300))


def project(
    theta: Pair,
    phi: np.ndarray,
    counts: Pair,
    coupling: float,
    norm: str = "l1",
    *,
    max_iter: int = 20_000,
    prox=None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Dual variables, both fractions and the duality gap of each pair (with infinite coupling, max |f1 - f2|).

    Accelerated projected gradient on all pairs at once, until the fractions agree as far as they may. The
    curvature of a document's share of the dual is at most 1 / (2 n). With a proximal map of another penalty's
    conjugate, accelerated proximal gradients; gaps are then those of the norm, and mean nothing.
    """
    lengths = [n.sum(axis=1, keepdims=True) for n in counts]
    coupled = (lengths[0] > 0) & (lengths[1] > 0)
    step = np.where(coupled, 2 / sum(1 / np.where(coupled, n, 1) for n in lengths), 0)
    x = y = np.zeros_like(theta[0])
    t = np.ones((len(x), 1))
    for _ in range(max_iter):
        first, second = projected_fractions(theta, phi, counts, y)
        ahead = y + step * (first - second)
        moved = within(ahead, coupling, norm) if prox is None else prox(ahead, coupling, step)
        if (np.abs(moved - y) <= 1e-10 * step).all():
            break
        t = np.where(
            ((y - moved) * (moved - x)).sum(axis=1, keepdims=True) > 0, 1.0, t
        )  # uphill: momentum is lost
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        y, x, t = moved + (t - 1) / after * (moved - x), moved, after
    first, second = projected_fractions(theta, phi, counts, x)
    return x, first, second, gaps(x, first, second, counts, coupling, norm)


def gaps(
    dual: np.ndarray, first: np.ndarray, second: np.ndarray, counts: Pair, coupling: float, norm: str
) -> np.ndarray:
    """coupling |f1 - f2| - dual (f1 - f2); nothing for a pair with an empty side."""
    apart = first - second
    if coupling == np.inf:
        value = np.abs(apart).max(axis=1)
    else:
        value = coupling * np.linalg.norm(apart, ord={"l1": 1, "l2": 2}[norm], axis=1) - (dual * apart).sum(axis=1)
    return np.where((counts[0].sum(axis=1) > 0) & (counts[1].sum(axis=1) > 0), value, 0.0)


class HarshPair:
    """One pair whose posteriors may be certain to hundreds of digits: the dual by logarithms, minimised by SciPy.

    Tokens whose probability is below 1e-30 are left out, as in the kernels; `on_the_edge` says that rounding
    decides of one.
    """

    def __init__(self, theta: Pair, phi: Pair, counts: Pair) -> None:
        self.sides, self.masses, self.on_the_edge = [], [], False
        for mixture, topics, n in zip(theta, phi, counts, strict=True):
            mixture, topics, n = (np.asarray(x, np.float64) for x in (mixture, topics, n))
            size = mixture @ topics / np.float64(np.float32(1e-30))
            kept = (n > 0) & (size >= 1)
            self.on_the_edge |= bool(((n > 0) & (np.abs(size - 1) < 1e-5)).any())
            with np.errstate(divide="ignore"):
                self.sides.append((np.log(mixture)[:, None] + np.log(topics[:, kept]), n[kept]))
            self.masses.append(n[kept].sum())
        self.coupled = min(self.masses) > 0

    def evaluate(self, dual: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The tilted likelihood, and the fractions of both sides."""
        value, found = 0.0, []
        for sign, (logs, n), mass in zip((-1, 1), self.sides, self.masses, strict=True):
            joint = logs + sign * dual[:, None] / mass
            total = logsumexp(joint, axis=0)
            value += float(n @ total)
            found.append(np.exp(joint - total) @ n / mass)
        return value, found[0], found[1]

    def gap(self, dual: np.ndarray, coupling: float, norm: str) -> float:
        _, first, second = self.evaluate(dual)
        return float(gaps(dual[None], first[None], second[None], (np.ones((1, 1)),) * 2, coupling, norm)[0])

    def minimised(self, coupling: float, norm: str) -> np.ndarray:
        """Dual variables: in the box of l1; for l2, with the multiplier of the ball that gives them its radius."""
        if norm == "l1":
            return self._in_box(coupling, 0.0)

        def excess(log_weight: float) -> float:
            return float(np.linalg.norm(self._in_box(coupling, np.exp(log_weight)))) - coupling

        low, high = np.log(1e-9 / coupling), np.log(2 / coupling)
        return self._in_box(coupling, np.exp(low if excess(low) <= 0 else brentq(excess, low, high, xtol=1e-9)))

    def _in_box(self, bound: float, weight: float) -> np.ndarray:
        """With half the squared length times `weight` added; in nats of the shorter side, by L-BFGS-B."""
        unit, n_topics = min(self.masses), len(self.sides[0][0])

        def dual(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, first, second = self.evaluate(unit * x)
            added = weight * unit * unit * x
            return value / unit + added @ x / (2 * unit), second - first + added / unit

        options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 500, "maxcor": 30}
        x, most = np.zeros(n_topics), bound / unit
        for _ in range(5):  # its memory of curvatures is the worse for having come through flat country
            before = x
            x = minimize(
                dual, x, jac=True, method="L-BFGS-B", bounds=[(-most, most)] * n_topics, options=options
            ).x
            if np.abs(x - before).max() <= 1e-9:
                break
        return unit * x


def coupled_sweep(
    counts: Pair, theta: Pair, phi: np.ndarray, alpha: float, beta: float, blocks: list[int], dual: np.ndarray
) -> tuple[Pair, np.ndarray]:
    """M-step of CPLSA: expectations under the posteriors that `dual` projects."""
    sides = zip(counts, tilted(theta, counts, dual), strict=True)
    first, second = ((n, posteriors(tilt, phi)) for n, tilt in sides)
    both, phi = maximised(
        np.vstack([first[0], second[0]]), np.concatenate([first[1], second[1]]), alpha, beta, blocks
    )
    return (both[: len(counts[0])], both[len(counts[0]) :]), phi


def coupled_objective(
    counts: Pair, theta: Pair, phi: np.ndarray, alpha: float, beta: float, coupling: float, norm: str = "l1"
) -> float:
    """The log posterior less divergence and weighted norm of the projection: tilted likelihood and priors."""
    dual = project(theta, phi, counts, coupling, norm)[0]
    return tilted_likelihood(theta, phi, counts, dual) + log_prior(np.vstack(theta), phi, alpha, beta)


def coupled_fit(
    counts: Pair,
    n_topics: int,
    n_sweeps: int,
    *,
    alpha: float,
    beta: float,
    coupling: float,
    norm: str = "l1",
    blocks: list[int] | None = None,
    projection=project,
) -> tuple[Pair, np.ndarray, list[float]]:
    """thetas and phi of CPLSA after these sweeps, and the objective after each."""
    blocks = blocks or [0, counts[0].shape[1]]
    both, phi = start(np.vstack(counts), n_topics, beta, blocks)
    theta = (both[: len(counts[0])], both[len(counts[0]) :])
    dual = projection(theta, phi, counts, coupling, norm)[0]
    history = []
    for _ in range(n_sweeps):
        theta, phi = coupled_sweep(counts, theta, phi, alpha, beta, blocks, dual)
        dual = projection(theta, phi, counts, coupling, norm)[0]
        history.append(tilted_likelihood(theta, phi, counts, dual) + log_prior(np.vstack(theta), phi, alpha, beta))
    return theta, phi, history
