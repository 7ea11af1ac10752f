"""Compiled kernels. Not a public interface: use semproj.kernels."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

_Array = np.ndarray[Any, Any]
_IsaName = Literal["baseline", "avx2", "avx512"]

class _Pybind11Type(type): ...

class _Result(metaclass=_Pybind11Type):
    """Made by kernels, not by Python."""

    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...

__version__: str
UNICODE_VERSION: str

def active_isa() -> _IsaName: ...
def supported_isas() -> list[_IsaName]: ...
def compiler() -> str: ...
def use_blas(capsules: dict[str, Any]) -> None: ...
def has_blas() -> bool: ...
def rise_from_zero(offsets: _Array) -> bool: ...

class Csr(metaclass=_Pybind11Type):
    def __init__(self, indptr: _Array, indices: _Array, data: _Array, n_cols: int) -> None: ...
    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def indices(self) -> _Array: ...
    @property
    def data(self) -> _Array: ...
    @property
    def n_cols(self) -> int: ...

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
def unit_rows(rows: _Array, n_threads: int) -> None: ...
def sparse_gram(rows: Csr, columns: Csr, alpha: float, out: _Array, n_threads: int) -> None: ...
def cholesky(a: _Array, n_threads: int) -> int: ...
def solve_lower(l: _Array, transpose: bool, b: _Array, n_threads: int) -> None: ...
def mirror_lower(a: _Array, n_threads: int) -> None: ...

class TopK(_Result):
    @property
    def indices(self) -> npt.NDArray[np.int64]: ...
    @property
    def scores(self) -> npt.NDArray[np.float32]: ...

class GoldRanks(_Result):
    @property
    def nearer(self) -> npt.NDArray[np.int64]: ...
    @property
    def tied(self) -> npt.NDArray[np.int64]: ...

class TrueRanks(_Result):
    @property
    def forward(self) -> npt.NDArray[np.int64]: ...
    @property
    def backward(self) -> npt.NDArray[np.int64]: ...

def top_k(queries: _Array, corpus: _Array, k: int, metric: str, n_threads: int) -> TopK: ...
def prepare_rows(rows: _Array, metric: str, out: _Array, lengths: _Array, n_threads: int) -> None: ...
def search_rows(
    queries: _Array,
    rows: _Array,
    lengths: _Array,
    longest: float,
    codes: _Array | None,
    scale: _Array | None,
    error: _Array | None,
    starts: _Array | None,
    skipped: _Array | None,
    k: int,
    metric: str,
    n_threads: int,
) -> TopK: ...
def gold_ranks(
    queries: _Array, corpus: _Array, rivals: int, starts: _Array, rows: _Array, metric: str, n_threads: int
) -> GoldRanks: ...
def true_ranks(a: _Array, b: _Array, metric: str, n_threads: int) -> TrueRanks: ...
def padded(n_components: int) -> int: ...

class SharedSystem(metaclass=_Pybind11Type):
    def __init__(
        self,
        factors: _Array,
        whitened: _Array | None,
        inverse: _Array | None,
        matrix: _Array,
        least_eigenvalue: float,
        missing_weight: float,
    ) -> None: ...

def solve_rows(
    x: Csr, weights: _Array | None, shared: SharedSystem, out: _Array, longest_short: int, n_threads: int
) -> float: ...
def table_gram(factors: _Array, n_threads: int) -> npt.NDArray[np.float64]: ...
def tall_cross(a: _Array, b: _Array, n_threads: int) -> npt.NDArray[np.float64]: ...
def tall_multiply(a: _Array, c: _Array, alpha: float, beta: float, out: _Array, n_threads: int) -> None: ...

class PairPartners(metaclass=_Pybind11Type):
    def __init__(self, queries: _Array, documents: _Array, listed: Csr) -> None: ...

def contrast_gradient(
    u: _Array,
    v: _Array,
    loss: str,
    scale: float,
    forward: float,
    backward: float,
    u_gradient: _Array,
    v_gradient: _Array,
    n_threads: int,
    partners: PairPartners | None = None,
) -> float: ...
def edge_dots(u: _Array, v: _Array, rows: _Array, columns: _Array, n_threads: int) -> npt.NDArray[np.float64]: ...
def smooth_unit_rows(rows: _Array, floor: float, n_threads: int) -> _Array: ...
def through_unit_rows(units: _Array, inverses: _Array, gradient: _Array, n_threads: int) -> None: ...
def adam_rows(
    projection: _Array,
    first: _Array,
    second: _Array,
    rows: _Array,
    gradient: _Array,
    rate: float,
    first_decay: float,
    second_decay: float,
    step: int,
    n_threads: int,
) -> None: ...
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

class WordSequences(_Result):
    @property
    def starts(self) -> npt.NDArray[np.int64]: ...
    @property
    def ids(self) -> npt.NDArray[np.int32]: ...

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
        nfc: bool,
    ) -> Csr: ...
    def sequences(
        self,
        documents: list[Any],
        lowercase: bool,
        errors_replace: bool,
        first_document_number: int,
        n_threads: int,
        nfc: bool,
    ) -> WordSequences: ...

class WindowSums(_Result):
    @property
    def windows(self) -> int: ...
    @property
    def words(self) -> npt.NDArray[np.int64]: ...
    @property
    def pairs(self) -> npt.NDArray[np.int64]: ...

class CountSession(metaclass=_Pybind11Type):
    def __init__(
        self,
        ngram_max: int,
        lowercase: bool,
        errors_replace: bool,
        keep_rows: bool,
        n_threads: int,
        vocabulary: Vocabulary | None,
        nfc: bool,
    ) -> None: ...
    def add(self, documents: list[Any], first_document_number: int) -> None: ...
    def choose(self, drop_top: int, max_features: int | None, min_count: int) -> None: ...
    def rows(self) -> Csr: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def term_counts(self) -> npt.NDArray[np.int64]: ...

def count_windows(
    starts: _Array,
    ids: _Array,
    partner_starts: _Array,
    partners: _Array,
    slots: _Array,
    n_pairs: int,
    width: int,
    forget_repeats: bool,
    n_threads: int,
) -> WindowSums: ...
def take_batch(iterator: Iterator[Any], max_characters: int, max_documents: int) -> list[Any]: ...
def product(a: _Array, b: _Array, out: _Array, transpose_a: bool, transpose_b: bool, add: bool) -> None: ...
def multiply_sparse(x: Csr, matrix: Csr, n_threads: int) -> Csr: ...
def sparse_top_k(queries: Csr, corpus: Csr, k: int, metric: str, n_threads: int) -> TopK: ...

class AlignedSentences(_Result):
    @property
    def beads(self) -> npt.NDArray[np.int64]: ...
    @property
    def scores(self) -> npt.NDArray[np.float32]: ...

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
) -> AlignedSentences: ...

class HmmExpectations(_Result):
    @property
    def log_likelihood(self) -> float: ...
    @property
    def counts(self) -> npt.NDArray[np.float64]: ...
    @property
    def exposure(self) -> npt.NDArray[np.float64]: ...

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
    def hmm(self, jumps: _Array, null_probability: float) -> HmmExpectations: ...
    @property
    def n_cells(self) -> int: ...
    def cells(self, min_probability: float) -> Csr: ...

class SliceCells(metaclass=_Pybind11Type):
    def __init__(
        self,
        rows: _Array,
        cols: _Array,
        values: _Array,
        row_list: int,
        col_list: int,
        roots: _Array | None = None,
    ) -> None: ...

class NeighborLists(_Result):
    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...
    @property
    def words(self) -> npt.NDArray[np.int32]: ...
    @property
    def values(self) -> _Array: ...
    @property
    def roots(self) -> _Array: ...
    @property
    def n_lists(self) -> int: ...

class WordClasses(metaclass=_Pybind11Type):
    def __init__(self, words: _Array, bounds: _Array) -> None: ...
    @property
    def words(self) -> npt.NDArray[np.int32]: ...
    @property
    def bounds(self) -> npt.NDArray[np.int64]: ...

class WordPairs(_Result):
    @property
    def rows(self) -> npt.NDArray[np.int32]: ...
    @property
    def cols(self) -> npt.NDArray[np.int32]: ...

def neighbor_lists(slices: Sequence[SliceCells], n_words: int, n_lists: int, n_threads: int) -> NeighborLists: ...
def color_classes(indptr: _Array, words: _Array) -> WordClasses: ...
def draw_pairs(
    candidates: _Array,
    n_words: int,
    n: int,
    ordered: bool,
    excluded: _Array,
    seed: int,
    sweep: int,
    slice: int,
    n_threads: int,
) -> WordPairs: ...

class WordConditional(metaclass=_Pybind11Type):
    def __init__(
        self, precision: _Array, precision_mean: _Array, maps: _Array, diagonal: _Array, alpha: float
    ) -> None: ...

class CellSums(_Result):
    @property
    def gram(self) -> npt.NDArray[np.float64]: ...
    @property
    def sum(self) -> npt.NDArray[np.float64]: ...

class Residuals(_Result):
    @property
    def squares(self) -> float: ...
    @property
    def sizes(self) -> float: ...

def draw_words(
    vectors: _Array,
    n_components: int,
    lists: NeighborLists,
    conditional: WordConditional,
    classes: WordClasses,
    seed: int,
    sweep: int,
    n_threads: int,
) -> int: ...
def list_grams(
    vectors: _Array,
    n_components: int,
    lists: NeighborLists,
    list: int,
    begin: int,
    grams: _Array,
    sums: _Array,
    n_threads: int,
) -> None: ...
def cell_sums(
    vectors: _Array,
    n_components: int,
    rows: _Array,
    cols: _Array,
    values: _Array,
    n_threads: int,
    roots: _Array | None = None,
) -> CellSums: ...
def pair_products(left: _Array, right: _Array, rows: _Array, cols: _Array, n_threads: int) -> _Array: ...
def residual_sums(
    left: _Array,
    right: _Array,
    rows: _Array,
    cols: _Array,
    values: _Array,
    n_threads: int,
    roots: _Array | None = None,
) -> Residuals: ...

class TopicWords(metaclass=_Pybind11Type):
    def __init__(self, values: _Array, n_threads: int) -> None: ...
    def values(self, n_threads: int) -> npt.NDArray[np.float32]: ...

class TopicCorpus(metaclass=_Pybind11Type):
    def __init__(self, x: Csr, view_starts: Sequence[int], n_topics: int, group: int, n_threads: int) -> None: ...

class TopicObjective(_Result):
    @property
    def log_likelihood(self) -> float: ...
    @property
    def log_prior(self) -> float: ...

class TokenSums(_Result):
    @property
    def log_likelihood(self) -> float: ...
    @property
    def mass(self) -> float: ...

def plsa_sweep(
    corpus: TopicCorpus,
    words: TopicWords,
    theta: _Array,
    alpha: float,
    beta: float,
    tempering: float,
    update: bool,
    n_threads: int,
) -> TopicObjective: ...
def fold_in(x: Csr, words: TopicWords, alpha: float, iterations: int, out: _Array, n_threads: int) -> None: ...
def token_likelihood(x: Csr, words: TopicWords, theta: _Array, n_threads: int) -> TokenSums: ...
def document_completion(
    x: Csr, words: TopicWords, alpha: float, iterations: int, key: int, n_threads: int
) -> TokenSums: ...

class Coupling(metaclass=_Pybind11Type):
    def __init__(
        self,
        weight: float,
        l2: bool,
        tol: float,
        max_evaluations: int,
        prox: int = 0,
        slack_tol: float = 0.0,
    ) -> None: ...

class FailedCall(_Result):
    @property
    def dual(self) -> float: ...
    @property
    def coupling(self) -> float: ...
    @property
    def step(self) -> float: ...

class CoupledSweep(_Result):
    @property
    def failed_pair(self) -> int: ...
    @property
    def failure(self) -> FailedCall: ...
    @property
    def log_likelihood(self) -> float: ...
    @property
    def log_prior(self) -> float: ...
    @property
    def evaluations(self) -> int: ...

class PairSide(metaclass=_Pybind11Type):
    def __init__(self, documents: Csr, words: TopicWords, theta: _Array, fractions: _Array) -> None: ...

def cplsa_sweep(
    corpus: TopicCorpus,
    words: TopicWords,
    theta: _Array,
    multipliers: _Array,
    gaps: _Array,
    converged: _Array,
    alpha: float,
    beta: float,
    coupling: Coupling,
    update: bool,
    n_threads: int,
) -> CoupledSweep: ...
def project_posteriors(
    first: PairSide,
    second: PairSide,
    multipliers: _Array,
    gaps: _Array,
    evaluations: _Array,
    coupling: Coupling,
    n_threads: int,
) -> None: ...
