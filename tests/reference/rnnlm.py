"""A recurrent language model, token by token. Equations as section 3.3 of Zweig and others 2012 has them.

x(t) = [w(t), s(t-1)],  s(t) = f(u x(t)),  y(t) = g(v s(t)): here u is U and R, v is A for classes and W for the
words of a class, and every layer has a bias.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

ACTIVATIONS = {
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda y: y * (1 - y)),
    "tanh": (np.tanh, lambda y: 1 - y**2),
    "relu": (lambda x: np.maximum(x, 0), lambda y: (y > 0).astype(float)),
}
BEGIN, END = 1, 2


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x.max()
    return shifted - np.log(np.exp(shifted).sum())


def next_state(w: dict, activation: str, word: int, state: np.ndarray) -> np.ndarray:
    return ACTIVATIONS[activation][0](w["input"][word] + w["recurrent"] @ state + w["hidden_bias"])


def word_log_probs(w: dict, begins: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Of all places."""
    of_classes = log_softmax(w["classes"] @ state + w["class_bias"])
    parts = [
        of_classes[c] + log_softmax(w["words"][b:e] @ state + w["word_bias"][b:e])
        for c, (b, e) in enumerate(pairwise(begins))
    ]
    return np.concatenate(parts)


def score(
    w: dict, begins: np.ndarray, places: np.ndarray, activation: str, ids: list[int], first: int
) -> np.ndarray:
    """Natural logarithms of the probabilities of a sentence's words."""
    state, found, before = np.zeros(len(w["recurrent"])), [], first
    for word in ids:
        state = next_state(w, activation, before, state)
        found.append(word_log_probs(w, begins, state)[places[word]])
        before = word
    return np.array(found)


def streams_of(ids: np.ndarray, n_streams: int) -> list[np.ndarray]:
    """The text in so many pieces of one length, the last of which may be shorter, or empty."""
    length = -(-len(ids) // n_streams)
    return [ids[i * length : (i + 1) * length] for i in range(n_streams)]


def train(
    w: dict,
    sums: dict,
    begins: np.ndarray,
    places: np.ndarray,
    activation: str,
    ids: np.ndarray,
    *,
    n_streams: int,
    n_steps: int,
    across_sentences: bool,
    rates: tuple[float, float],
    clip: float,
) -> float:
    """Change weights and sums block by block; returns the sum of log-probabilities before each change."""
    streams, length = streams_of(ids, n_streams), -(-len(ids) // n_streams)
    h, total = len(w["recurrent"]), 0.0
    states = np.zeros((n_streams, h))
    n_blocks = -(-length // n_steps)
    for block in range(n_blocks):
        rate = rates[0] + (rates[1] - rates[0]) * block / n_blocks
        gradient = {name: np.zeros_like(array) for name, array in w.items()}
        for number, stream in enumerate(streams):
            before = int(ids[number * length - 1]) if 0 < number * length <= len(ids) else END
            steps = range(block * n_steps, min(len(stream), (block + 1) * n_steps))
            total += _one_stream(
                w,
                gradient,
                begins,
                places,
                activation,
                stream,
                steps,
                states,
                number,
                before,
                across_sentences,
                clip,
            )
        for name, g in gradient.items():
            by_row = sums[name].shape != g.shape
            sums[name] += (g**2).mean(axis=1, keepdims=True) if by_row else g**2
            w[name] -= rate * np.divide(g, np.sqrt(sums[name]), out=np.zeros_like(g), where=g != 0)
    return total


def _one_stream(
    w, gradient, begins, places, activation, stream, steps, states, number, before, across_sentences, clip
) -> float:
    slope, total, past = ACTIVATIONS[activation][1], 0.0, []
    for t in steps:
        last = stream[t - 1] if t > 0 else before
        starts = last == END
        carried = not (t == 0 or (starts and not across_sentences))
        previous = states[number] * carried
        word = BEGIN if starts else last
        states[number] = next_state(w, activation, word, previous)
        past.append((word, previous, carried, states[number].copy(), places[stream[t]]))
    later, carries = np.zeros(states.shape[1]), False
    for word, previous, carried, state, place in reversed(past):
        c = int(np.searchsorted(begins, place, side="right")) - 1
        b, e = begins[c], begins[c + 1]
        of_classes = log_softmax(w["classes"] @ state + w["class_bias"])
        of_words = log_softmax(w["words"][b:e] @ state + w["word_bias"][b:e])
        total += of_classes[c] + of_words[place - b]
        class_error, word_error = np.exp(of_classes), np.exp(of_words)
        class_error[c] -= 1
        word_error[place - b] -= 1
        gradient["classes"] += np.outer(class_error, state)
        gradient["class_bias"] += class_error
        gradient["words"][b:e] += np.outer(word_error, state)
        gradient["word_bias"][b:e] += word_error
        error = w["classes"].T @ class_error + w["words"][b:e].T @ word_error
        if carries:
            error = error + w["recurrent"].T @ later
        later = np.clip(error * slope(state), -clip, clip)
        gradient["recurrent"] += np.outer(later, previous)
        gradient["hidden_bias"] += later
        gradient["input"][word] += later
        carries = carried
    return total
