"""Compiled kernels. Not a public interface: use semproj.kernels."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

_Array = np.ndarray[Any, Any]
_IsaName = Literal["baseline", "avx2", "avx512"]

class _Pybind11Type(type): ...

__version__: str
UNICODE_VERSION: str

def active_isa() -> _IsaName: ...
def supported_isas() -> list[_IsaName]: ...
def compiler() -> str: ...
def use_blas(capsules: dict[str, Any]) -> None: ...
def has_blas() -> bool: ...

class Csr(metaclass=_Pybind11Type):
    def __init__(self, indptr: _Array, indices: _Array, data: _Array, n_cols: int) -> None: ...

class Weighting(metaclass=_Pybind11Type):
    def __init__(
        self, kind: str, term_weight: _Array, k1: float = 0.0, b: float = 0.0, mean_length: float = 1.0
    ) -> None: ...

class PackedProjection(metaclass=_Pybind11Type):
    def __init__(self, matrix: _Array, storage: str, n_threads: int) -> None: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def n_components(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def storage(self) -> str: ...

def weight(x: Csr, weighting: Weighting, out: _Array, n_threads: int) -> None: ...
def project(
    x: Csr,
    projection: PackedProjection,
    out: _Array,
    weighting: Weighting | None,
    normalize: bool,
    accumulate: bool,
    n_threads: int,
) -> None: ...
def sparse_gram(rows: Csr, columns: Csr, alpha: float, out: _Array, n_threads: int) -> None: ...
def cholesky(a: _Array, n_threads: int) -> int: ...
def solve_lower(l: _Array, transpose: bool, b: _Array, n_threads: int) -> None: ...
def mirror_lower(a: _Array, n_threads: int) -> None: ...
def top_k(
    queries: _Array, corpus: _Array, k: int, metric: str, n_threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...
def gold_ranks(
    queries: _Array, corpus: _Array, rivals: int, starts: _Array, rows: _Array, metric: str, n_threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def true_ranks(
    a: _Array, b: _Array, metric: str, n_threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
def padded(n_components: int) -> int: ...
def solve_rows(
    x: Csr,
    weights: _Array | None,
    factors: _Array,
    whitened: _Array | None,
    inverse: _Array | None,
    matrix: _Array,
    least_eigenvalue: float,
    missing_weight: float,
    out: _Array,
    longest_short: int,
    n_threads: int,
) -> float: ...
def table_gram(factors: _Array, n_threads: int) -> npt.NDArray[np.float64]: ...
def tall_cross(a: _Array, b: _Array, n_threads: int) -> npt.NDArray[np.float64]: ...
def tall_multiply(a: _Array, c: _Array, alpha: float, beta: float, out: _Array, n_threads: int) -> None: ...
def fold_fibres(
    offsets: _Array,
    keys: _Array,
    factor: _Array,
    children: _Array,
    first_child: int,
    out: _Array,
    n_threads: int,
) -> None: ...
def fill_normal(out: _Array, key: int, stream: int, n_threads: int) -> None: ...

class Vocabulary(metaclass=_Pybind11Type):
    def __init__(self, terms: _Array, term_offsets: _Array) -> None: ...
    def __len__(self) -> int: ...
    def find(self, term: str) -> int: ...
    def term_list(self) -> list[str]: ...
    def terms(self) -> npt.NDArray[np.uint8]: ...
    def term_offsets(self) -> npt.NDArray[np.int64]: ...
    def count(
        self,
        documents: list[Any],
        ngram_max: int,
        lowercase: bool,
        errors_replace: bool,
        first_document_number: int,
        n_threads: int,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
    def sequences(
        self,
        documents: list[Any],
        lowercase: bool,
        errors_replace: bool,
        first_document_number: int,
        n_threads: int,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...

class CountSession(metaclass=_Pybind11Type):
    def __init__(
        self,
        ngram_max: int,
        lowercase: bool,
        errors_replace: bool,
        keep_rows: bool,
        n_threads: int,
        vocabulary: Vocabulary | None,
    ) -> None: ...
    def add(self, documents: list[Any], first_document_number: int) -> None: ...
    def choose(self, drop_top: int, max_features: int | None, min_count: int) -> None: ...
    def rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def term_counts(self) -> npt.NDArray[np.int64]: ...

def take_batch(iterator: Iterator[Any], max_characters: int, max_documents: int) -> list[Any]: ...
def multiply_sparse(
    x: Csr, indptr: _Array, indices: _Array, data: _Array, n_cols: int, n_threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], _Array]: ...
def align_lengths(
    source_starts: _Array,
    source_lengths: _Array,
    target_starts: _Array,
    target_lengths: _Array,
    ratio: float,
    variance: float,
    skip: float,
    band: int,
    n_threads: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...

class WordAligner(metaclass=_Pybind11Type):
    def __init__(
        self,
        source: _Array,
        target: _Array,
        source_begin: _Array,
        source_end: _Array,
        target_begin: _Array,
        target_end: _Array,
        n_source: int,
        n_target: int,
        min_cooccurrence: int,
        chunk_cells: int,
        n_threads: int,
    ) -> None: ...
    def model1(self) -> float: ...
    def hmm(
        self, jumps: _Array, null_probability: float
    ) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    @property
    def n_cells(self) -> int: ...
    def cells(
        self, min_probability: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]: ...

def neighbour_lists(
    slices: Sequence[tuple[_Array, _Array, _Array, int, int]], n_words: int, n_lists: int, n_threads: int
) -> tuple[_Array, _Array, _Array]: ...
def colour_classes(indptr: _Array, words: _Array) -> tuple[_Array, _Array]: ...
def draw_pairs(
    words: _Array,
    n_words: int,
    n: int,
    ordered: bool,
    excluded: _Array,
    seed: int,
    sweep: int,
    slice: int,
    n_threads: int,
) -> tuple[_Array, _Array]: ...
def draw_words(
    vectors: _Array,
    n_components: int,
    lists: tuple[_Array, _Array, _Array],
    n_lists: int,
    prior: tuple[_Array, _Array, _Array, _Array, float],
    classes: tuple[_Array, _Array],
    seed: int,
    sweep: int,
    n_threads: int,
) -> int: ...
def list_grams(
    vectors: _Array,
    n_components: int,
    lists: tuple[_Array, _Array, _Array],
    n_lists: int,
    list: int,
    begin: int,
    grams: _Array,
    sums: _Array,
    n_threads: int,
) -> None: ...
def cell_sums(
    vectors: _Array, n_components: int, rows: _Array, cols: _Array, values: _Array, n_threads: int
) -> tuple[_Array, _Array]: ...
def pair_products(left: _Array, right: _Array, rows: _Array, cols: _Array, n_threads: int) -> _Array: ...
def residual_sums(
    left: _Array, right: _Array, rows: _Array, cols: _Array, values: _Array, n_threads: int
) -> tuple[float, float]: ...

class TopicWords(metaclass=_Pybind11Type):
    def __init__(self, values: _Array, n_threads: int) -> None: ...
    def values(self, n_threads: int) -> npt.NDArray[np.float32]: ...

class TopicCorpus(metaclass=_Pybind11Type):
    def __init__(self, x: Csr, view_starts: Sequence[int], n_topics: int, group: int, n_threads: int) -> None: ...

def plsa_sweep(
    corpus: TopicCorpus,
    words: TopicWords,
    theta: _Array,
    alpha: float,
    beta: float,
    update: bool,
    n_threads: int,
) -> tuple[float, float]: ...
def fold_in(x: Csr, words: TopicWords, alpha: float, iterations: int, out: _Array, n_threads: int) -> None: ...
def token_likelihood(x: Csr, words: TopicWords, theta: _Array, n_threads: int) -> tuple[float, float]: ...
def cplsa_sweep(
    corpus: TopicCorpus,
    words: TopicWords,
    theta: _Array,
    multipliers: _Array,
    gaps: _Array,
    converged: _Array,
    alpha: float,
    beta: float,
    coupling: float,
    l2: bool,
    tol: float,
    max_evaluations: int,
    update: bool,
    n_threads: int,
) -> tuple[float, float, int]: ...
def project_posteriors(
    first: Csr,
    second: Csr,
    first_words: TopicWords,
    second_words: TopicWords,
    first_theta: _Array,
    second_theta: _Array,
    multipliers: _Array,
    first_fractions: _Array,
    second_fractions: _Array,
    gaps: _Array,
    evaluations: _Array,
    coupling: float,
    l2: bool,
    tol: float,
    max_evaluations: int,
    n_threads: int,
) -> None: ...
