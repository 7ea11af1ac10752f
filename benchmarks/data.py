"""The data that is timed: Zipf matrices, with or without planted topics, and text of one or two languages."""

from __future__ import annotations

import ast
import csv
import hashlib
import lzma
import os
import re
import sys
import sysconfig
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, vstack

from benchmarks.machine import CACHE

EUROPARL = Path("europarl") / "train.en-es.tsv.xz"
MATRIX_NOTE = "documents drawn from a Zipf vocabulary; columns in a seeded random order, not by frequency"


def topic_note(n_topics: int) -> str:
    return f"{MATRIX_NOTE}; half of the words from a planted mixture of {n_topics} topics, up to 4 a document"


def _zipf(n_terms: int) -> np.ndarray:
    weight = 1.0 / (np.arange(n_terms) + 2.7) ** 1.05
    return weight / weight.sum()


def _draw(probability: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    # The clip is for a draw above the last partial sum, which rounding may leave below one.
    found = np.searchsorted(np.cumsum(probability), rng.random(size), side="right")
    return np.minimum(found, len(probability) - 1)


def zipf_words(n: int, n_types: int, seed: int = 0) -> np.ndarray:
    """Running text: ids of words, the most frequent is 0."""
    return _draw(_zipf(n_types), n, np.random.default_rng(seed))


def _length_for(distinct: int, probability: np.ndarray) -> int:
    """How many words a document needs so that about `distinct` of them differ."""
    low, high = 1, 1 << 20
    while low < high:
        middle = (low + high) // 2
        if np.sum(-np.expm1(middle * np.log1p(-probability))) < distinct:
            low = middle + 1
        else:
            high = middle
    return low


def zipf_counts(
    n_documents: int, n_terms: int, distinct: int = 120, n_topics: int = 0, seed: int = 0
) -> csr_matrix:
    """Word counts (CSR, int32, sorted indices) of about `distinct` different terms a document."""
    rng = np.random.default_rng(seed)
    probability = _zipf(n_terms)
    lengths = np.maximum(rng.poisson(_length_for(distinct, probability), n_documents), 1)
    document = np.repeat(np.arange(n_documents), lengths)
    term = _draw(probability, len(document), rng)
    if n_topics:
        # A topic is an order of its own over some of the terms; half of the words come from the document's.
        width = max(n_terms // 20, 8)
        likely = probability**0.5 / np.sum(probability**0.5)
        orders = np.stack([rng.choice(n_terms, width, replace=False, p=likely) for _ in range(n_topics)])
        own = rng.integers(n_topics, size=(n_documents, 4))
        share = np.cumsum(rng.dirichlet([0.5] * 4, n_documents), axis=1)
        picked = (rng.random(len(document))[:, None] > share[document, :3]).sum(axis=1)
        planted = orders[own[document, picked], _draw(_zipf(width), len(document), rng)]
        term = np.where(rng.random(len(document)) < 0.5, planted, term)
    term = rng.permutation(n_terms)[term]
    ones = np.ones(len(document), np.int32)
    counts = coo_matrix((ones, (document, term)), shape=(n_documents, n_terms)).tocsr()
    counts.sort_indices()
    return counts


def log_counts(counts: csr_matrix) -> csr_matrix:
    """1 + log(count) as float32: the input of the projection benchmarks."""
    data = (1.0 + np.log(counts.data)).astype(np.float32)
    return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def random_slices(n_rows: int, n_columns: int, n_slices: int, nnz: int, dtype: type, seed: int = 0) -> list:
    """Sparse matrices (CSR, sorted indices) with entries at random, all equally likely."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, n_slices, nnz)
    rows, columns = rng.integers(0, n_rows, nnz), rng.integers(0, n_columns, nnz)
    values = rng.random(nnz).astype(dtype)
    slices = []
    for k in range(n_slices):
        mine = which == k
        matrix = csr_matrix((values[mine], (rows[mine], columns[mine])), shape=(n_rows, n_columns))
        matrix.sort_indices()
        slices.append(matrix)
    return slices


@dataclass(frozen=True)
class Relations:
    """Cells of a symmetric matrix, each pair of words once, the smaller number first."""

    cells: coo_matrix
    noise: float
    source: str


def symmetric_relations(n_words: int, n_cells: int, rank: int, noise: float = 0.5, seed: int = 0) -> Relations:
    """Values of about unit variance from planted vectors, and noise; some words have many cells, most have few."""
    rng = np.random.default_rng(seed)
    keys, order = np.empty(0, np.int64), rng.permutation(n_words)
    while len(keys) < n_cells:  # a word's share of the cells falls with the cube root of its place
        pairs = np.sort(order[(n_words * rng.random((2, n_cells)) ** 1.5).astype(int)], axis=0)
        keys = np.union1d(keys, (pairs[0] * n_words + pairs[1])[pairs[0] != pairs[1]])
    rows, cols = np.divmod(np.sort(rng.choice(keys, n_cells, replace=False)), n_words)
    vectors = rng.standard_normal((n_words, rank))
    values = np.einsum("ij,ij->i", vectors[rows], vectors[cols]) / np.sqrt(rank)
    values += noise * rng.standard_normal(n_cells)
    cells = coo_matrix((values.astype(np.float32), (rows, cols)), shape=(n_words, n_words))
    return Relations(cells, noise, f"{n_cells} random pairs of {n_words} words, planted rank {rank}")


def dense(n_rows: int, n_columns: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_rows, n_columns), dtype=np.float32)


@dataclass(frozen=True)
class English:
    """Documents and where they come from."""

    texts: list[str]
    source: str

    @property
    def n_bytes(self) -> int:
        return sum(len(text.encode()) for text in self.texts)

    def cut(self, n_bytes: int) -> list[str]:
        """The first documents, up to about that many bytes."""
        return list(_upto(self.texts, n_bytes))


def _upto(texts: Iterable[str], n_bytes: int) -> Iterator[str]:
    total = 0
    for text in texts:
        if total >= n_bytes:
            return
        total += len(text.encode())
        yield text


def _plain(text: str) -> str | None:
    r"""Text that all tokenisers cut alike, or None if there is none.

    A regular expression's \w knows the underscore and not combining marks, ours the reverse; Python's lower()
    makes two characters of one Turkish i and looks at what follows a sigma. With any of these the
    vocabularies would differ, and then equal work could not be checked.
    """
    text = unicodedata.normalize("NFC", text).replace("_", " ")
    if text.isascii():
        return text
    unequal = any(c in "\u0130\u03a3" or unicodedata.category(c) in {"Mn", "Mc", "Me", "Cs"} for c in text)
    return None if unequal else text


def _europarl(path: Path) -> Iterator[list[str]]:
    """English and Spanish of each speech."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) >= 3:
                yield row[1:3]


def folder(data: Path | None) -> Path | None:
    """The data folder that is asked for, or that the environment names."""
    return data or (Path(os.environ["SEMPROJ_DATA"]) if os.environ.get("SEMPROJ_DATA") else None)


def _europarl_file(data: Path | None) -> Path | None:
    found = folder(data)
    return found / EUROPARL if found is not None and (found / EUROPARL).exists() else None


@dataclass(frozen=True)
class Bilingual:
    """Documents and their translations over shared columns, weighted or counted, and where they come from."""

    views: list[csr_matrix]
    source: str

    def cut(self, n_terms: int) -> list[csr_matrix]:
        """Only the first, most frequent terms."""
        return [view[:, :n_terms].tocsr() for view in self.views]


def bilingual(n_pairs: int, n_terms: int, data: Path | None = None) -> Bilingual:
    """log(tf)-idf rows of Europarl speeches from the data folder, or of an invented corpus."""
    import semproj as sj

    corpus = bilingual_counts(n_pairs, n_terms, data)
    weighting = sj.LogTfIdf().fit(vstack(corpus.views, format="csr"))
    return Bilingual([weighting.transform(view) for view in corpus.views], corpus.source)


def bilingual_counts(n_pairs: int, n_terms: int, data: Path | None = None) -> Bilingual:
    """The same before they are weighted."""
    import semproj as sj
    from semproj.datasets import planted_bilingual

    path = _europarl_file(data)
    if path is not None:
        texts = [list(side) for side in zip(*islice(_europarl(path), n_pairs), strict=True)]
        source = f"{len(texts[0])} pairs of {EUROPARL.as_posix()}"
    else:
        planted = planted_bilingual(n_pairs, min(100, n_terms // 4), n_terms, mean_length=120.0)
        texts, source = [planted.first, planted.second], f"{n_pairs} pairs in two invented languages"
    counts = sj.MultiTermCounter("shared", drop_top=50, max_features=n_terms).fit_transform(texts)
    return Bilingual(counts, source)


@dataclass(frozen=True)
class Sentences:
    """Sentences by words, the count of each, and where they come from."""

    counts: csr_matrix
    source: str


def sentences(n: int, n_terms: int, data: Path | None = None) -> Sentences:
    """Rows of about ten words with the frequencies of text: clauses of Europarl, or an invented corpus."""
    import semproj as sj

    path = _europarl_file(data)
    if path is None:
        topics = max(2, n_terms // 200)
        return Sentences(zipf_counts(n, n_terms, 10, topics), f"{n} sentences; {topic_note(topics)}")
    # Whole sentences of the parliament are twice as long as the definitions and headlines that WTMF is for.
    clauses = (clause for row in _europarl(path) for clause in re.split(r"[.,;:!?()]+\s", row[0]))
    texts = list(islice((clause for clause in clauses if clause.count(" ") >= 3), n))
    counts = sj.TermCounter(lowercase=True, max_features=n_terms).fit_transform(texts)
    return Sentences(counts, f"{len(texts)} English clauses of {EUROPARL.as_posix()}")


def _prose_of(source: str) -> Iterator[str]:
    """Docstrings and runs of comments, of twenty words or more."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text and len(text.split()) >= 20:
                yield text
    for run in re.findall(r"(?:^[ \t]*#[^\n]*\n){3,}", source, re.MULTILINE):
        text = re.sub(r"^[ \t]*#+[ \t]?", "", run, flags=re.MULTILINE)
        if len(text.split()) >= 20:
            yield text


def _installed_prose() -> Iterator[str]:
    roots = dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    seen: set[bytes] = set()
    for root in roots:
        for path in sorted(Path(root).rglob("*.py")):
            if root == sysconfig.get_path("stdlib") and "site-packages" in path.parts:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in other people's strings
                prose = list(_prose_of(path.read_text("utf-8", "replace")))
            for text in prose:
                key = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
                if key not in seen:  # licences and generated wrappers repeat thousands of times
                    seen.add(key)
                    yield text


def _cached_prose(n_bytes: int) -> list[str]:
    """`_installed_prose`, kept in the cache folder: parsing all of site-packages takes a minute."""
    state = sorted(f"{d.name} {d.version}" for d in metadata.distributions())
    key = hashlib.sha256("\n".join([sys.version, str(n_bytes), *state]).encode()).hexdigest()[:16]
    path = CACHE / f"prose-{key}.txt"
    if not path.exists():
        texts = (text for text in map(_plain, _installed_prose()) if text)
        content = "\0".join(_upto(texts, n_bytes))
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(content, "utf-8")
        fresh.replace(path)
    return path.read_text("utf-8").split("\0")


def english(n_bytes: int, data: Path | None = None, seed: int = 0) -> English:
    """About `n_bytes` of English prose: Europarl from the data folder, or what the installed packages say.

    If the source has less, it is repeated with the documents cut elsewhere and put in another order.
    """
    path = _europarl_file(data)
    if path is not None:
        plain = (text for text in (_plain(row[0]) for row in _europarl(path)) if text)
        texts = list(_upto(plain, n_bytes))
        source = f"English column of {EUROPARL.as_posix()}"
    else:
        texts = _cached_prose(n_bytes)
        source = "docstrings and comments of the Python packages installed here"
    size = sum(len(text.encode()) for text in texts)
    if size < n_bytes:
        rng = np.random.default_rng(seed)
        repeats = (text for _ in range(n_bytes // size + 1) for text in _recut(texts, rng))
        texts = texts + list(_upto(repeats, n_bytes - size))
        source += f" ({size / 1e6:.0f} MB), repeated {n_bytes / size:.1f} times, re-cut and shuffled"
    return English(texts, source)


def _recut(texts: list[str], rng: np.random.Generator) -> Iterator[str]:
    """The same text in other documents: each takes a part of one text and a part of the next."""
    order = rng.permutation(len(texts))
    tail = ""
    for index, share in zip(order, rng.random(len(texts)), strict=True):
        text = texts[index]
        at = text.find(" ", int(share * len(text)))
        at = len(text) if at < 0 else at
        yield (tail + " " + text[:at]).strip() or text
        tail = text[at:]
