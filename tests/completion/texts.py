"""Sentences with topics: words of a topic come together, frequent words come with all."""

from __future__ import annotations

import numpy as np

TOPICS = {
    "sea": ["ship", "sail", "captain", "wave", "harbour", "anchor", "deck", "mast"],
    "home": ["fire", "chair", "supper", "lamp", "kettle", "carpet", "window", "curtain"],
    "wood": ["tree", "hunter", "deer", "leaf", "path", "owl", "moss", "stream"],
}
FREQUENT = ["the", "a", "of", "and", "was", "in"]


def sentences(n: int = 400, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    made = []
    for i in range(n):
        topic = TOPICS[names[i % len(names)]]
        words = [*rng.choice(topic, 4, replace=False), *rng.choice(FREQUENT, 4)]
        made.append(" ".join(rng.permutation(words)) + " .")
    return made


def questions(n: int = 60, seed: int = 1) -> tuple[list[tuple[str, list[str]]], list[int]]:
    """One word of the topic around the blank, one of the options of it."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    asked, answers = [], []
    for i in range(n):
        topic = names[i % len(names)]
        inside = rng.permutation(TOPICS[topic])
        wrong = [rng.choice(TOPICS[name]) for name in names if name != topic]
        answer = int(rng.integers(3))
        options = [*wrong[:answer], inside[0], *wrong[answer:]]
        asked.append((f"the {inside[1]} and a _____ was in the {inside[2]} .", options))
        answers.append(answer)
    return asked, answers
