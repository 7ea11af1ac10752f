"""Sentence completion as the formulas have it: sentences are lists of words, and are read anew for each number.

Zweig, Platt, Meek, Burges, Yessenalina and Liu 2012, sections 4.1 to 4.3 and 5.5.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def pmi(sentences, context, answer, *, smoothing, exponent=1.0, positive=False):
    """The sum over the different words around the blank."""
    sets = [set(sentence) for sentence in sentences]
    n = len(sets)
    with_word = Counter(word for each in sets for word in each)
    scale = sum(with_word.values()) / n / sum(count**exponent for count in with_word.values())
    total = 0.0
    for word in sorted(set(context)):
        if word not in with_word or answer not in with_word:
            continue
        together = sum(answer in each and word in each for each in sets)
        chance = with_word[word] / n if exponent == 1 else with_word[word] ** exponent * scale
        expected = with_word[answer] * chance
        if smoothing == 0:
            value = math.log(together / expected) if together else 0.0
        else:
            value = math.log((together + smoothing) / (expected + smoothing))
        total += max(value, 0.0) if positive else value
    return total


def nearest(sentences, context, answer, *, sharpness):
    """Log mean exp of the cosines of all sentences with the answer."""
    sets = [set(sentence) for sentence in sentences]
    words = sorted(set().union(*sets))
    idf = np.array([math.log(len(sets) / sum(word in each for each in sets)) for word in words])

    def vector(chosen):
        return np.array([word in chosen for word in words]) * idf

    question = vector(set(context))
    cosines = []
    for each in sets:
        if answer in each:
            row = vector(each)
            lengths = np.linalg.norm(row) * np.linalg.norm(question)
            cosines.append(row @ question / lengths if lengths > 0 else 0.0)
    return math.log(np.mean(np.exp(sharpness * np.array(cosines)))) if cosines else 0.0


def tf_idf(sentences, words):
    counts = np.array([[sentence.count(word) for word in words] for sentence in sentences], float)
    return counts * np.log2(len(counts) / (counts > 0).sum(axis=0))


def similarity(sentences, words, context, answer, *, k, power, drop_first=0, idf_weights=True):
    """Section 4.1: the sum of cosines of rows of U S^power, here of the matrix with a column a sentence."""
    counts = np.array([[sentence.count(word) for word in words] for sentence in sentences], float)
    kept = [sentence for sentence, row in zip(sentences, counts, strict=True) if (row > 0).sum() > 1]
    W = tf_idf(kept, words).T
    U, S, _ = np.linalg.svd(W, full_matrices=False)
    rows = U[:, drop_first:k] * S[drop_first:k] ** power
    idf = np.log2(len(kept) / np.array([sum(word in sentence for sentence in kept) for word in words]))
    total = 0.0
    a = rows[words.index(answer)]
    for word in context:
        if word in words:
            c = rows[words.index(word)]
            weight = idf[words.index(word)] if idf_weights else 1.0
            total += weight * (a @ c) / (np.linalg.norm(a) * np.linalg.norm(c))
    return total


def reconstruction(sentences, completed, answer, *, fraction, ngrams):
    """Section 4.2: |(U U' - I) w|^2, U of the sentences with the answer."""
    related = [sentence for sentence in sentences if answer in sentence]
    idf = {
        word: math.log(len(sentences) / sum(word in each for each in sentences))
        for word in {word for sentence in sentences for word in sentence}
    }

    def terms(sentence):
        known = [word for word in sentence if word in idf]
        return [tuple(known[i : i + n]) for n in range(1, ngrams + 1) for i in range(len(known) - n + 1)]

    columns = sorted({term for sentence in [*related, completed] for term in terms(sentence)})
    weights = np.array([sum(idf[word] for word in term) for term in columns])

    def vector(sentence):
        return np.array([terms(sentence).count(term) for term in columns]) * weights

    w = vector(completed)
    W = np.array([vector(sentence) for sentence in related]).T
    U, S, _ = np.linalg.svd(W, full_matrices=False)
    k = min(round(fraction * len(completed)), int((1e-9 * S[0] < S).sum()))
    U = U[:, :k]
    return float(((U @ (U.T @ w) - w) ** 2).sum())


def lsa_probability(vectors, history, word, *, sharpness=1.0):
    """Section 4.3: p_lsa(w | h) of rows of vectors; `history` and `word` are their numbers."""
    h = vectors[history].sum(axis=0)
    cosines = vectors @ h / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(h))
    shifted = (cosines - cosines.min()) ** sharpness
    return shifted[word] / shifted.sum()


def ranknet_objective(weights, inputs, answers, ridge):
    """Section 5.5: the mean of log(1 + exp(w (x - y))) over wrong x and right y, and the ridge."""
    losses = [
        math.log1p(math.exp(weights @ (x[i] - x[answer])))
        for x, answer in zip(inputs, answers, strict=True)
        for i in range(len(x))
        if i != answer
    ]
    return np.mean(losses) + ridge * (weights**2).sum()


def mcnemar(only_a, only_b):
    """The exact two-sided binomial, term by term."""
    n = only_a + only_b
    probability = [math.comb(n, k) / 2**n for k in range(n + 1)]
    return sum(p for p in probability if p <= probability[only_a] * (1 + 1e-9))


def benjamini_hochberg(p_values):
    """For each the least share of false discoveries at which it is one."""
    n = len(p_values)
    ranked = sorted(p_values)
    return [min(min(n * ranked[k] / (k + 1) for k in range(ranked.index(p), n)), 1.0) for p in p_values]
