"""Degrees of relations by Chang, Yih and Meek 2013, dense."""

from __future__ import annotations

import numpy as np


def polarised(relations: dict[str, np.ndarray], polarity: float) -> dict[str, np.ndarray]:
    """Synonyms and antonyms, each minus a part of the other; other slices as they are."""
    if not {"synonym", "antonym"} <= set(relations):
        return relations
    synonym, antonym = relations["synonym"], relations["antonym"]
    return {**relations, "synonym": synonym - polarity * antonym, "antonym": antonym - polarity * synonym}


def weighted(relations: dict[str, np.ndarray], row_scaling: float = 0.0) -> dict[str, np.ndarray]:
    """tf-idf weights of each slice; a word's document frequency is that of all slices (section 4.1)."""
    occurs = sum(np.abs(matrix) for matrix in relations.values()) != 0
    idf = np.log2(len(occurs) / np.maximum(occurs.sum(axis=0), 1))
    slices = {name: matrix * idf for name, matrix in relations.items()}
    lengths = np.sqrt(sum((matrix**2).sum(axis=1) for matrix in slices.values()))
    scale = np.where(lengths > 0, lengths, 1.0) ** -row_scaling
    return {name: matrix * scale[:, None] for name, matrix in slices.items()}


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    lengths = np.linalg.norm(x) * np.linalg.norm(y)
    return float(x @ y / lengths) if lengths > 0 else 0.0


def degree(slices: dict[str, np.ndarray], i: int, j: int, relation: str, pivot: str, symmetric: bool) -> float:
    """Equation 5 on raw slices; equation 6 on their approximations X_k = U S_k V', whose columns are U S_k v_j."""
    there = cosine(slices[pivot][:, i], slices[relation][:, j])
    back = cosine(slices[pivot][:, j], slices[relation][:, i])
    return (there + back) / 2 if symmetric else there
