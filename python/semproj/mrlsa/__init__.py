"""Multi-relational latent semantic analysis: word vectors, and a matrix for each relation between words."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .. import _core
from .._common.base import flip_signs, unit_rows
from .._common.fitting import Progress, check_loop_parameters
from .._common.layouts import layouts, numbers
from .._common.resources import resolve_threads, single_threaded_blas
from .._common.types import Array
from .._common.validation import check_integer, check_real, keeps_previous_fit
from .._common.words import WordModel
from ..retrieval import top_k
from ..tensor import SparseTensor
from ..thesaurus import Thesaurus
from ..tucker import Tucker
from ._relations import Slices, weighted_slices

__all__ = ["MRLSA", "RawRelations"]

SYMMETRIC = ("synonym", "antonym", "contrast", "similar", "derived")


class _Relational(WordModel):
    """Words whose relations are measured by the cosine of one's pivot vector with the other's relation vector.

    A subclass has ``relations_`` and ``_rows(columns, relation)``: vectors of words, dense or sparse.
    """

    relations_: tuple[str, ...]
    symmetric: Collection[str]
    pivot: str

    def degree(self, first: Any, second: Any, relation: str, *, pivot: str | None = None) -> Any:
        """How far words are in a relation: ``first`` *relation* ``second``.

        Equation 6 of Chang, Yih and Meek 2013: the cosine of the first word's vector in the pivot slice with the
        second word's in the slice of the relation; for a symmetric relation, the mean of both directions.

        Parameters
        ----------
        first, second : str or sequence of str
            One word is compared with all of the other side; two sequences of one length pair by pair.
        relation : str
            For an asymmetric one such as "hypernym": the second word is a hypernym of the first.
        pivot : str or None
            The slice in which words stand for themselves. None: the model's.

        Returns
        -------
        float for two words, otherwise a float32 array. A word without entries in a slice has degree 0 in
        `RawRelations`; the components of `MRLSA` give it what words like it have there.

        Raises
        ------
        UnknownWordError
            A word is not in the vocabulary; ask with ``word in model``.
        """
        check_is_fitted(self, "words_")
        pivot = self._checked_relation(self.pivot if pivot is None else pivot, "pivot")
        self._checked_relation(relation, "relation")
        one, two = self._places(first, "first"), self._places(second, "second")
        if len(one) != len(two) and 1 not in (len(one), len(two)):
            raise ValueError(f"second: expected as many words as first, {len(one)}, or one, got {len(two)}")
        degrees = self._cosines(one, pivot, two, relation)
        if relation in self.symmetric:
            degrees = (degrees + self._cosines(two, pivot, one, relation)) / 2
        return float(degrees[0]) if isinstance(first, str) and isinstance(second, str) else degrees

    def vectors(self, words: Sequence[str], relation: str) -> Any:
        """Vectors of words in the slice of a relation, a row each, of unit length or zero.

        Parameters
        ----------
        words : sequence of str
        relation : str
            The pivot's are what words are in themselves.
        """
        check_is_fitted(self, "words_")
        if isinstance(words, str):
            raise TypeError(f"words: expected a sequence of words, got the string {words!r}")
        return self._rows(self._places(words, "words"), self._checked_relation(relation, "relation"))

    def _cosines(self, one: list[int], pivot: str, two: list[int], relation: str) -> Array:
        left, right = self._rows(one, pivot), self._rows(two, relation)
        if sp.issparse(left):
            # One row against many: scipy does not broadcast sparse rows.
            left, right = (
                x[np.zeros(max(len(one), len(two)), int)] if x.shape[0] == 1 else x for x in (left, right)
            )
            cosines = np.asarray(left.multiply(right).sum(axis=1)).ravel()
        else:
            cosines = np.einsum("ij,ij->i", *np.broadcast_arrays(left, right))
        return cast(Array, cosines.astype(np.float32))

    def _rows(self, columns: list[int], relation: str) -> Any:
        """Vectors of unit length of words in a slice; zero for a word without any."""
        raise NotImplementedError

    def _check_symmetric(self) -> None:
        given = self.symmetric
        if (
            isinstance(given, str)
            or not isinstance(given, Collection)
            or not all(isinstance(n, str) for n in given)
        ):
            raise TypeError(f"symmetric: expected names of relations, got {given!r}")

    def _checked_relation(self, relation: str, name: str) -> str:
        if relation not in self.relations_:
            raise ValueError(f"{name}: expected one of {', '.join(map(repr, self.relations_))}, got {relation!r}")
        return relation


class MRLSA(_Relational):
    """Word vectors that several relations share, by a Tucker decomposition of their tensor.

    Chang, Yih and Meek 2013: each relation of a thesaurus is a slice W_k (entries x words) of tf-idf weights, and
    ``W_k ~ U S_k V'`` with orthonormal U and V for all. Row j of V is the vector of word j; S_k turns it into what
    the word's column of slice k is.

    Parameters
    ----------
    n_components : int, default 300
    relations : sequence of str, or mapping of str to weights, default ("synonym", "antonym")
        The slices; what else the thesaurus has is left out. A mapping names each slice and gives the weights of
        the relations that it is the sum of, ``{"synonym": {"synonym": 1, "similar": 0.5}, "antonym": {"antonym":
        1}}``; of these the thesaurus needs one for each slice.
    polarity : float, default 0.5
        How far synonyms deny antonyms and the other way round, from 0 (the paper's) to 1: where both are slices,
        each has this times the other's weights taken away. See the notes. Other relations are left alone; what
        denies them can be given as negative weights in `relations`.
    scales : mapping of str to float, or None
        Factors of slices, 1 for those not named: a slice with larger values has more influence on the space.
    symmetric : collection of str, default ("synonym", "antonym", "contrast", "similar", "derived")
        Relations that hold in both directions.
    pivot : str, default "synonym"
        The slice in which words stand for themselves.
    power : float, default 3
        Of the singular values of the words' mode in their vectors, ``S_k diag(s)^(power - 1) v_j``. 1 is the
        paper's; more trusts frequent directions more, as in :class:`PILSA`.
    row_scaling : float, default 0.5
        As in :class:`PILSA`: entries are divided by this power of their lengths, over all slices; from 0 (the
        paper's) to 1.
    value, tol, max_iter, max_memory, checkpoint, checkpoint_every, callback, random_state, n_threads, progress
        As of :class:`Tucker`, but `tol` is 5e-4 by default; the callback is told of MRLSA models. ``value(x, i, j,
        k)`` has the weight x of word j in entry i and slice k, after `polarity`, `scales` and `row_scaling`.

    Attributes
    ----------
    words_ : list of str
    vocabulary_ : dict of str to int
    word_vectors_ : array of shape (n_words, n_components)
        V: orthonormal columns.
    relation_matrices_ : array of shape (n_relations, n_components, n_components)
        S_k, in the order of ``relations_``.
    relations_ : tuple of str
    singular_values_ : array of shape (n_components,)
        Of the words' mode: the root of the diagonal of ``sum_k S_k' S_k``.
    fit_, objective_, n_iter_
        As of :class:`Tucker`.

    Notes
    -----
    A Tucker decomposition does not see signs: that "little" is the antonym of "big" makes both words, and both
    entries, directions of their own, and a space of k dimensions has k poles where that of PILSA has k oppositions
    of two poles each. With polarity c, their slices A and B become A - c B and B - c A, in which
    the difference of two poles weighs (1 + c) / (1 - c) times as much as their sum. At 1 the two slices are the
    same up to the sign, and the model of synonyms and antonyms is PILSA.

    Examples
    --------
    >>> import semproj as sj
    >>> words = ["joy", "gladness", "delight", "sorrow", "sadness", "table"]
    >>> syn = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]]
    >>> ant = [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    >>> thesaurus = sj.Thesaurus(words, ["joy", "gladness", "sorrow", "table"], {"synonym": syn, "antonym": ant})
    >>> model = sj.MRLSA(n_components=3, random_state=0).fit(thesaurus)
    >>> model.degree("joy", "sadness", "antonym") > model.degree("joy", "gladness", "antonym")
    True
    >>> sorted(word for word, _ in model.top_words("delight", "antonym", k=2))
    ['sadness', 'sorrow']
    """

    _functions = ("value",)
    _arrays = layouts(
        word_vectors_="T words k",
        relation_matrices_="T relations k k",
        singular_values_="T k",
        objective_="f8 sweeps ?",  # files of 0.1.0 lack it
    )
    _scalars = numbers(fit_=float, n_iter_=int, relations_=tuple)

    def __init__(
        self,
        n_components: int = 300,
        *,
        relations: Slices = ("synonym", "antonym"),
        polarity: float = 0.5,
        scales: Mapping[str, float] | None = None,
        symmetric: Collection[str] = SYMMETRIC,
        pivot: str = "synonym",
        power: float = 3.0,
        row_scaling: float = 0.5,
        value: Callable[..., float] | None = None,
        tol: float = 5e-4,
        max_iter: int = 50,
        max_memory: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.relations, self.polarity, self.scales = n_components, relations, polarity, scales
        self.symmetric, self.pivot, self.power, self.row_scaling = symmetric, pivot, power, row_scaling
        self.value = value
        self.tol, self.max_iter, self.max_memory, self.random_state = tol, max_iter, max_memory, random_state
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(self, thesaurus: Thesaurus, y: Any = None) -> MRLSA:
        """Decompose the relations of a thesaurus.

        Parameters
        ----------
        thesaurus : Thesaurus
            With all of `relations`.
        """
        self._check_parameters()
        relations, slices = weighted_slices(
            thesaurus, self.relations, self.polarity, self.scales, self.pivot, self.row_scaling
        )
        most = min(slices[0].shape)
        if self.n_components > most:
            raise ValueError(
                f"n_components: expected at most {most}, the entries or words, got {self.n_components}"
            )
        k = int(self.n_components)

        def tell(progress: Progress) -> object:
            assert self.callback is not None
            return self.callback(progress.of(lambda tucker: copy.copy(self)._take(tucker, thesaurus, relations)))

        tucker = Tucker(
            (k, k, len(slices)),
            value=self.value,
            tol=self.tol,
            max_iter=self.max_iter,
            max_memory=self.max_memory,
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            callback=None if self.callback is None else tell,
            random_state=self.random_state,
            n_threads=self.n_threads,
            progress=self.progress,
        )
        try:
            tucker.fit(SparseTensor.from_slices(slices))
        except MemoryError as error:
            raise MemoryError(f"n_components={k}: {error}") from error
        return self._take(tucker, thesaurus, relations)

    @single_threaded_blas()
    def _take(self, tucker: Tucker, thesaurus: Thesaurus, relations: tuple[str, ...]) -> MRLSA:
        """Set the fitted attributes, from the decomposition of the relations."""
        self._set_words(thesaurus.words)
        self.relations_ = relations
        self.word_vectors_, self.relation_matrices_ = _turned(tucker.factors_[1], np.moveaxis(tucker.core_, 2, 0))
        self.singular_values_ = np.sqrt(np.einsum("kij,kij->j", self.relation_matrices_, self.relation_matrices_))
        self.fit_, self.objective_, self.n_iter_ = tucker.fit_, tucker.objective_, tucker.n_iter_
        return self

    def top_words(
        self, words: str | Sequence[str], relation: str, k: int = 10, *, pivot: str | None = None
    ) -> Any:
        """The k words that are most in a relation to a word, or to each of several; never the word itself.

        Parameters
        ----------
        words : str or sequence of str
        relation : str
            For "hypernym": its hypernyms.
        k : int, default 10
            All other words where there are fewer.
        pivot : str or None

        Returns
        -------
        list of (word, degree), best first; a list of such lists for a sequence of words
        """
        check_is_fitted(self, "words_")
        check_integer(k, "k", low=1)
        pivot = self._checked_relation(self.pivot if pivot is None else pivot, "pivot")
        self._checked_relation(relation, "relation")
        columns = self._places(words, "words")
        if not columns:
            return []
        everything = list(range(len(self.words_)))
        # For a symmetric relation, the mean of two cosines is the product of vectors twice as long.
        sides = [(pivot, relation), (relation, pivot)] if relation in self.symmetric else [(pivot, relation)]
        query = np.concatenate([self._rows(columns, mine) for mine, _ in sides], axis=1)
        corpus = np.concatenate([self._rows(everything, theirs) for _, theirs in sides], axis=1)
        wanted = min(k + 1, len(self.words_))
        ids, scores = top_k(query, corpus, wanted, metric="inner_product", n_threads=self.n_threads)
        found = []
        for column, row, near in zip(columns, ids.tolist(), scores.tolist(), strict=True):
            pairs = [(self.words_[i], s / len(sides)) for i, s in zip(row, near, strict=True) if i != column]
            found.append(pairs[:k])
        return found[0] if isinstance(words, str) else found

    def _rows(self, columns: list[int], relation: str) -> Array:
        S = self.relation_matrices_[self.relations_.index(relation)]
        scaled = S * self._powers()
        chosen = np.ascontiguousarray(self.word_vectors_[columns])
        rows = np.empty((len(columns), len(S)), chosen.dtype)
        transposed = np.ascontiguousarray(scaled.T, chosen.dtype)
        with single_threaded_blas():
            _core.tall_multiply(chosen, transposed, 1.0, 0.0, rows, resolve_threads(self.n_threads))
            squares = np.square(chosen, dtype=np.float64) @ np.square(scaled, dtype=np.float64).sum(axis=0)
        # What cancels out, as for a word that a slice lacks when nothing is compressed, leaves rounding errors.
        most = np.sqrt(squares)
        rows[np.linalg.norm(rows, axis=1) <= 32 * np.finfo(rows.dtype).eps * most] = 0
        unit_rows(rows)
        return rows.astype(np.float32, copy=False)

    def _check_parameters(self) -> None:
        check_integer(self.n_components, "n_components", low=1)
        check_real(self.power, "power")
        check_loop_parameters(self)
        self._check_symmetric()

    def _powers(self) -> Array:
        """s^(power - 1), of directions that have any."""
        s = self.singular_values_
        return np.where(s > 0, np.maximum(s, np.finfo(s.dtype).tiny) ** (self.power - 1.0), 0.0)

    def _set_state(self, arrays: dict[str, Array], scalars: dict[str, Any]) -> None:
        super()._set_state(arrays, {**scalars, "relations_": tuple(scalars["relations_"])})
        names = self.relations_
        if len(set(names)) != len(self.relation_matrices_) or not all(isinstance(name, str) for name in names):
            raise ValueError("relations_: expected a name for each matrix")


class RawRelations(_Relational):
    """The same measure on the tensor as it is, without a decomposition: equation 5, the baseline of MRLSA.

    Parameters
    ----------
    relations, polarity, scales, symmetric, pivot, row_scaling
        As of :class:`MRLSA`; polarity and row_scaling are 0 by default. Scales do not change a cosine.

    Examples
    --------
    >>> import semproj as sj
    >>> relations = {"synonym": [[1, 1, 0], [0, 0, 0]], "antonym": [[0, 0, 1], [0, 0, 0]]}
    >>> thesaurus = sj.Thesaurus(["joy", "gladness", "sorrow"], ["joy", "nothing"], relations)
    >>> sj.RawRelations().fit(thesaurus).degree("joy", ["sorrow", "gladness"], "antonym")
    array([0.5, 0. ], dtype=float32)
    """

    def __init__(
        self,
        *,
        relations: Slices = ("synonym", "antonym"),
        polarity: float = 0.0,
        scales: Mapping[str, float] | None = None,
        symmetric: Collection[str] = SYMMETRIC,
        pivot: str = "synonym",
        row_scaling: float = 0.0,
    ) -> None:
        self.relations, self.polarity, self.scales = relations, polarity, scales
        self.symmetric, self.pivot, self.row_scaling = symmetric, pivot, row_scaling

    @keeps_previous_fit
    def fit(self, thesaurus: Thesaurus, y: Any = None) -> RawRelations:
        """Weight the relations of a thesaurus."""
        self._check_symmetric()
        relations, slices = weighted_slices(
            thesaurus, self.relations, self.polarity, self.scales, self.pivot, self.row_scaling
        )
        self._set_words(thesaurus.words)
        self.relations_ = relations
        self._by_word = [matrix.T.tocsr() for matrix in slices]
        return self

    def _check_saveable(self) -> None:
        raise TypeError("RawRelations cannot be saved; fit it again")

    def _rows(self, columns: list[int], relation: str) -> Any:
        rows = self._by_word[self.relations_.index(relation)][columns]
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64)).ravel()
        return sp.diags(1 / np.where(norms > 0, norms, 1.0)) @ rows


def _turned(V: Array, S: Array) -> tuple[Array, Array]:
    """V and all S_k, in the directions of the singular values of the words' mode, the largest first.

    Tucker has turned them already, but for a mode that is not compressed: as many components as words.
    """
    if V.shape[1] < V.shape[0]:
        return V, np.ascontiguousarray(S)
    wide = S.astype(np.float64)
    turn = np.linalg.eigh(np.einsum("kij,kil->jl", wide, wide, optimize=True))[1][:, ::-1]
    components = np.ascontiguousarray(turn.T)
    flip_signs(components)
    return np.ascontiguousarray(components.T, V.dtype), (wide @ components.T).astype(S.dtype)
