"""Model M (Chen 2009), feature by feature.

p(w_i | h) = p(c_i | c and w before) p(w_i | c_i, w before), each exp(sum of weights of features) / Z. A feature is
a pattern at the end of what is before, with what is predicted, if the text has it anywhere:

  classes:  c_i;  c_{i-1} c_i;  c_{i-2} c_{i-1} c_i;  ...;  w_{i-1} c_i;  w_{i-2} w_{i-1} c_i;  ...
  words:    c_i w_i;  w_{i-1} c_i w_i;  w_{i-2} w_{i-1} c_i w_i;  ...

Classes that come nowhere, and words of a class that do, have the first feature, too.
Objective (eq. 6 there), by D words: L - alpha sum |l| - sum l^2 / (2 sigma^2).
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from scipy.optimize import minimize

BEGIN, END = 1, 2


class Part:
    """One of the two models: events (contexts, label, labels there are), and what a feature's weight is."""

    def __init__(self, events: list, alpha: float, variance: float) -> None:
        self.alpha, self.variance = alpha, variance
        self.events = Counter(events)
        features = {(context, label) for contexts, label, _ in self.events for context in contexts}
        features |= {(contexts[0], y) for contexts, _, labels in self.events for y in labels}
        self.number = {feature: i for i, feature in enumerate(sorted(features, key=repr))}
        self.weights = np.zeros(len(self.number))

    def scores(self, contexts: tuple, labels: tuple, weights: np.ndarray) -> np.ndarray:
        """Sums of weights of all labels."""
        numbers = [[self.number.get((context, y)) for context in contexts] for y in labels]
        return np.array([sum(weights[i] for i in row if i is not None) for row in numbers])

    def log_prob(self, contexts: tuple, label: int, labels: tuple) -> float:
        scores = self.scores(contexts, labels, self.weights)
        return float(scores[labels.index(label)] - np.logaddexp.reduce(scores))

    def likelihood(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Its logarithm and the gradient."""
        value, gradient = 0.0, np.zeros(len(weights))
        totals = defaultdict(Counter)
        for (contexts, label, labels), n in self.events.items():
            totals[contexts, labels][label] += n
        for (contexts, labels), counts in totals.items():
            scores = self.scores(contexts, labels, weights)
            z = np.logaddexp.reduce(scores)
            n = sum(counts.values())
            for y, label in enumerate(labels):
                value += counts[label] * (scores[y] - z)
                for context in contexts:
                    if (i := self.number.get((context, label))) is not None:
                        gradient[i] += counts[label] - n * np.exp(scores[y] - z)
        return value, gradient

    def objective(self, weights: np.ndarray) -> float:
        penalty = self.alpha * np.abs(weights).sum() + (weights**2).sum() / (2 * self.variance)
        return self.likelihood(weights)[0] - penalty

    def fit(self) -> float:
        """Weights as differences of two that are not negative: the penalty is smooth. Returns the objective."""
        n = len(self.weights)

        def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
            weights = x[:n] - x[n:]
            value, gradient = self.likelihood(weights)
            smooth = gradient - weights / self.variance
            return (
                -value + self.alpha * x.sum() + (weights**2).sum() / (2 * self.variance),
                np.concatenate([-smooth, smooth]) + self.alpha,
            )

        options = {"maxiter": 5000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
        found = minimize(loss, np.zeros(2 * n), jac=True, bounds=[(0, None)] * (2 * n), options=options)
        self.weights = found.x[:n] - found.x[n:]
        return self.objective(self.weights)


class ModelM:
    """Both parts, of sentences of word numbers, and a class for each number."""

    def __init__(self, sentences: list, classes: np.ndarray, order: int, alpha: float, variance: float) -> None:
        self.classes, self.order = [int(c) for c in classes], order
        self.labels = tuple(range(max(self.classes) + 1))
        self.members = {
            c: tuple(w for w, d in enumerate(self.classes) if d == c and w != BEGIN) for c in self.labels
        }
        of_classes, of_words = [], []
        for sentence in sentences:
            padded = [BEGIN] * (order - 1) + [*sentence, END]
            for i in range(order - 1, len(padded)):
                by_class, by_word = self.events(padded[i - order + 1 : i], padded[i])
                of_classes.append(by_class)
                of_words.append(by_word)
        # All classes' words are labels, also of classes that come nowhere: those have no history.
        self.parts = Part(of_classes, alpha, variance), Part(of_words, alpha, variance)
        self.n_tokens = len(of_words)

    def events(self, history: list[int], word: int) -> tuple:
        c = self.classes[word]
        words = [tuple(history[len(history) - n :]) for n in range(1, self.order)]
        classes = [("c", *(self.classes[w] for w in each)) for each in words]
        by_class = ((("c",), *classes, *(("w", *each) for each in words)), c, self.labels)
        by_word = (((c,), *((c, *each) for each in words)), word, self.members[c])
        return by_class, by_word

    def fit(self) -> float:
        return sum(part.fit() for part in self.parts) / self.n_tokens

    def log_prob(self, history: list[int], word: int) -> float:
        """To base 10."""
        return sum(p.log_prob(*e) for p, e in zip(self.parts, self.events(history, word), strict=True)) / np.log(
            10
        )
