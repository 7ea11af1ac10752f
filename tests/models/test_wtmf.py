"""WTMF against its dense reference, closed forms and planted truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from semproj import LSA, WTMF
from tests.reference import wtmf as reference
from tests.support import same_bits
from tests.support.factorizing import corpus, dense_objective, history, low_rank, relative_error

DTYPES = [np.float32, np.float64]


class TestAgainstTheReference:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("k", [1, 5, 33])
    @pytest.mark.parametrize("missing_weight", [0, 0.001, 0.01, 1])
    @pytest.mark.parametrize(("reg", "orthogonality"), [(0.5, 0), (20, 0), (0.5, 1e-3)])
    def test_every_sweep(self, reg, orthogonality, missing_weight, k, dtype):
        """Each sweep leads from the word vectors before it to those of the reference."""
        X = corpus(dtype=dtype)
        options = {"missing_weight": missing_weight, "reg": reg, "orthogonality": orthogonality}
        model = WTMF(k, max_iter=4, random_state=1, **options)
        seen, cells = history(model, X), X.toarray().astype(np.float64)
        tolerance = {np.float32: 2e-4, np.float64: 1e-9}[dtype]
        assert len(seen) == 4
        for (_, before, _), (_, after, value) in itertools.pairwise(seen):
            P, Q, expected = reference.sweep(cells, before.T.astype(np.float64), **options)
            P, Q = reference.oriented(P, Q)
            assert relative_error(after.T, P) < tolerance
            assert value == pytest.approx(expected, rel=tolerance)
        assert relative_error(model.components_, P) < tolerance
        assert relative_error(model.sentence_vectors_, Q.T) < tolerance

    @pytest.mark.parametrize("orthogonality", [0, 1e-3])
    def test_a_whole_fit(self, orthogonality):
        """From word vectors after one sweep, a warm start has the reference's end and its objectives."""
        X = corpus()
        options = {"missing_weight": 0.01, "reg": 1.0, "orthogonality": orthogonality}
        model = WTMF(6, max_iter=1, random_state=0, **options).fit(X)
        P, Q, values = reference.fit(X.toarray(), model.components_, 12, **options)
        model.set_params(max_iter=12, warm_start=True).fit(X)
        P, Q = reference.oriented(P, Q)
        assert relative_error(model.components_, P) < 1e-8
        assert relative_error(model.sentence_vectors_, Q.T) < 1e-8
        np.testing.assert_allclose(model.objective_[-12:], values, rtol=1e-10)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01, 0.5])
    def test_sentences_are_solved_exactly(self, missing_weight, dtype):
        """The stored sentence vectors, and those of sentences never seen."""
        X, new = corpus(dtype=dtype), corpus(90, seed=5, dtype=dtype)
        model = WTMF(9, missing_weight=missing_weight, reg=2.0, max_iter=3, random_state=0).fit(X)
        for rows, vectors in ((X, model.sentence_vectors_), (new, model.transform(new))):
            cells = rows.toarray().astype(np.float64)
            W = reference.cell_weights(cells, missing_weight)
            expected = reference.solve_rows(cells, W, model.components_.T, 2.0)
            error = np.abs(vectors - expected).max(axis=1)
            assert vectors.dtype == dtype
            assert (error <= {np.float32: 1e-5, np.float64: 1e-10}[dtype] * np.abs(expected).max(axis=1)).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_sign_rule(self, dtype):
        model = WTMF(9, reg=1.0, max_iter=3, random_state=0).fit(corpus(dtype=dtype))
        peaks = np.abs(model.components_).argmax(axis=1)
        assert (model.components_[np.arange(9), peaks] > 0).all()


class TestObjective:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.0005, 0.01, 0.99999, 1])
    @pytest.mark.parametrize("reg", [0.01, 20])
    def test_is_equation_3(self, reg, missing_weight, dtype):
        short, long = corpus(dtype=dtype), corpus(30, 300, dtype=dtype)  # sentences of about 6 and of 45 words
        for X, k in ((short, 1), (short, 7), (short, 50), (long, 20), (long, 80)):
            model = WTMF(k, missing_weight=missing_weight, reg=reg, max_iter=3, random_state=0).fit(X)
            assert model.objective_.dtype == np.float64
            assert model.objective_.shape == (3,)
            rel = {np.float32: 1e-5, np.float64: 1e-9}[dtype]
            assert model.objective_[-1] == pytest.approx(dense_objective(model, X), rel=rel)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.0005, 0.01, 1])
    @pytest.mark.parametrize("reg", [0.001, 1, 20])
    def test_never_rises(self, reg, missing_weight, dtype):
        X = corpus(80, 50, seed=3, dtype=dtype)
        for k in (2, 60):
            values = WTMF(k, missing_weight=missing_weight, reg=reg, max_iter=20, random_state=0).fit(X).objective_
            # Exact solves: what is left is the rounding of the vectors, and of the sums.
            slack = {np.float32: 1e-6, np.float64: 1e-12}[dtype] * (X.data.astype(np.float64) ** 2).sum()
            assert (np.diff(values) <= slack).all()
            assert values[-1] < values[0]
            assert 0 < values[-1] < (X.data.astype(np.float64) ** 2).sum() + slack  # that of zero vectors

    def test_more_components_fit_better(self):
        X = corpus()
        ends = [WTMF(k, reg=0.1, max_iter=40, random_state=0).fit(X).objective_[-1] for k in (1, 4, 16)]
        assert ends[0] > ends[1] > ends[2]


class TestClosedForms:
    """With missing_weight=1, |X - Q'P|^2 + reg (|P|^2 + |Q|^2) has a known minimum.

    |P|^2 + |Q|^2 is at least twice the nuclear norm of Z = Q'P, so Z minimises |X - Z|^2 + 2 reg |Z|_*: it has the
    singular vectors of X with its K largest singular values, each less reg (none below zero).
    """

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("reg", [0.3, 1.5, 6.0])
    def test_soft_thresholded_singular_values(self, reg, dtype):
        X = low_rank(50, 30, 6).astype(dtype)
        U, s, V = np.linalg.svd(X.astype(np.float64), full_matrices=False)
        model = WTMF(4, missing_weight=1, reg=reg, max_iter=3000, tol=1e-15, random_state=0).fit(X)
        z = np.maximum(s - reg, 0) * (np.arange(30) < 4)
        expected = (U * z) @ V
        Z = model.sentence_vectors_.astype(np.float64) @ model.components_
        tolerance = {np.float32: 1e-3, np.float64: 1e-5}[dtype]
        assert np.abs(Z - expected).max() < tolerance * np.abs(expected).max()
        minimum = ((s - z) ** 2).sum() + 2 * reg * z.sum()
        assert model.objective_[-1] == pytest.approx(minimum, rel=tolerance**1.5)
        assert model.objective_.min() > minimum * (1 - 1e-6)

    def test_everything_is_noise(self):
        """A ridge above the largest singular value: the minimum is at zero."""
        X = low_rank(50, 30, 6)
        model = WTMF(4, missing_weight=1, reg=20.0, max_iter=100, random_state=0).fit(X)
        assert np.abs(model.components_).max() < 1e-3
        assert model.objective_[-1] == pytest.approx((X**2).sum(), rel=1e-6)

    def test_truncated_svd(self):
        """Almost no ridge: what LSA reconstructs."""
        X = sp.csr_matrix(low_rank(50, 30, 6))
        model = WTMF(3, missing_weight=1, reg=1e-6, max_iter=300, random_state=0).fit(X)
        lsa = LSA(3, solver="lanczos", tol=1e-10, random_state=0).fit(X)
        expected = lsa.inverse_transform(lsa.transform(X))
        assert np.abs(model.transform(X) @ model.components_ - expected).max() < 1e-5 * np.abs(expected).max()

    @pytest.mark.parametrize("missing_weight", [0, 0.01, 1])
    def test_balanced_at_the_minimum(self, missing_weight):
        """Where neither side can improve, both have the same Gram matrix: reg (PP' - QQ') = 0."""
        X = corpus()
        model = WTMF(3, missing_weight=missing_weight, reg=1.0, max_iter=3000, tol=1e-15, random_state=0).fit(X)
        P, Q = model.components_, model.sentence_vectors_.T
        assert np.abs(P @ P.T - Q @ Q.T).max() < 1e-4 * np.abs(P @ P.T).max()
        W = reference.cell_weights(X.toarray(), missing_weight)
        gradient = 2 * Q @ (W * (Q.T @ P - X.toarray())) + 2 * P
        assert np.abs(gradient).max() < 1e-4 * np.abs(2 * Q @ X.toarray()).max()


class TestPlantedTruth:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_missing_cells_are_filled_in(self, dtype):
        """Of a matrix of rank 2, half of the cells: without weight on the others, they are found."""
        rng = np.random.default_rng(0)
        whole = rng.uniform(1, 2, (60, 2)) @ rng.uniform(0.5, 2, (2, 40))
        seen = rng.random(whole.shape) < 0.5
        X = sp.csr_matrix((whole * seen).astype(dtype))
        model = WTMF(2, missing_weight=0, reg=1e-4, max_iter=300, random_state=0).fit(X)
        Z = model.sentence_vectors_.astype(np.float64) @ model.components_
        assert np.abs(Z - whole)[~seen].max() < 0.01 * whole.max()
        zeros = WTMF(2, missing_weight=1, reg=1e-4, max_iter=30, random_state=0).fit(X)
        Z = zeros.sentence_vectors_.astype(np.float64) @ zeros.components_
        assert np.abs(Z - whole)[~seen].mean() > 0.2 * whole.mean()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_topics_separate(self, dtype):
        """Sentences of one topic that share no word are nearer than any of another topic."""
        rng = np.random.default_rng(1)
        topic = np.repeat(np.arange(4), 100)
        X = np.zeros((400, 80), dtype)
        for row, t in zip(X, topic, strict=True):
            row[rng.choice(20, 6, replace=False) + 20 * t] = rng.uniform(1, 3, 6)
        model = WTMF(4, missing_weight=0.01, reg=1.0, max_iter=60, random_state=0).fit(X)
        new = np.zeros((8, 80), dtype)
        for i in range(8):  # two sentences of each topic, without common words
            new[i, 20 * (i // 2) + 10 * (i % 2) : 20 * (i // 2) + 10 * (i % 2) + 5] = 2
        similarity = model.similarity(new)
        assert (new @ new.T)[0, 1] == 0
        same = np.arange(8)[:, None] // 2 == np.arange(8) // 2
        assert similarity[same].min() > 0.8
        assert np.abs(similarity[~same]).max() < 0.5

    def test_missing_words_tell_what_a_sentence_is_not_about(self):
        """The paper's argument: with their weight, predictions of missing words shrink."""
        X = corpus(200, 60, seed=2)
        missing = X.toarray() == 0
        sizes = []
        for weight in (0, 0.01, 0.1, 1):
            model = WTMF(10, missing_weight=weight, reg=1.0, random_state=0).fit(X)
            sizes.append((np.abs(model.sentence_vectors_ @ model.components_)[missing]).mean())
        assert (np.diff(sizes) < 0).all()


class TestOrthogonality:
    def distance(self, model):
        """From equal lengths and right angles, whatever the scale."""
        gram = model.components_.astype(np.float64) @ model.components_.T
        a = np.diag(gram).mean()
        return np.linalg.norm(gram - a * np.eye(len(gram))) / a

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_nearly_orthogonal(self, dtype):
        X = corpus(150, 50, dtype=dtype)
        options = {"missing_weight": 0.01, "reg": 1.0, "max_iter": 15, "random_state": 0}
        plain = WTMF(5, **options).fit(X)
        length = (plain.components_.astype(np.float64) ** 2).sum() / 5
        distances = [self.distance(plain)]
        for share in (0.03, 0.3):
            distances.append(self.distance(WTMF(5, orthogonality=share / length, **options).fit(X)))
        assert distances[0] > 1.1 * distances[1] > 1.5 * distances[2]

    def test_sentences_fit_the_words_after_the_step(self):
        X = corpus()
        model = WTMF(4, orthogonality=0.003, reg=1.0, max_iter=3, random_state=0).fit(X)
        assert same_bits(model.sentence_vectors_, model.transform(X))
        assert model.objective_[-1] == pytest.approx(dense_objective(model, X), rel=1e-9)
        assert not same_bits(model.components_, WTMF(4, reg=1.0, max_iter=3, random_state=0).fit(X).components_)


class TestCorners:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01])
    def test_empty_sentences_and_unused_words(self, missing_weight, dtype):
        X = corpus(dtype=dtype)
        model = WTMF(7, missing_weight=missing_weight, reg=1.0, max_iter=3, random_state=0).fit(X)
        assert not model.sentence_vectors_[[0, 30]].any()
        assert not model.components_[:, [3, 17]].any()
        assert not model.transform(sp.csr_matrix((2, 40), dtype=dtype)).any()
        unknown = np.zeros((1, 40), dtype)
        unknown[0, 3] = 5
        assert not model.transform(unknown).any()  # only a word without a vector
        assert (model.components_ != 0).any(axis=0).sum() == 38
        assert (model.sentence_vectors_ != 0).any(axis=1).sum() == 58

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_explicit_zeros_are_not_observed(self, dtype):
        X = corpus(dtype=dtype)
        padded = X.copy().tolil()
        padded[5, :] = 1
        padded = padded.tocsr()
        cells = X.toarray()
        padded.data[padded.indptr[5] : padded.indptr[6]] = cells[5]
        assert padded.nnz > X.nnz
        options = {"missing_weight": 0.1, "reg": 1.0, "max_iter": 3, "random_state": 0}
        model = WTMF(5, **options).fit(X)
        nnz = padded.nnz
        other = WTMF(5, **options).fit(padded)
        assert padded.nnz == nnz, "the caller's matrix stays as it was"
        assert same_bits(model.components_, other.components_)
        assert same_bits(model.transform(padded), model.transform(X))

    @pytest.mark.parametrize("shape", [(1, 40), (60, 1), (1, 1), (2, 3), (3, 2)])
    @pytest.mark.parametrize("k", [1, 5])
    def test_one_sentence_or_one_word(self, shape, k):
        X = np.random.default_rng(0).uniform(1, 2, shape)
        model = WTMF(k, reg=1.0, max_iter=200, random_state=0).fit(X)
        assert model.components_.shape == (k, shape[1])
        assert model.sentence_vectors_.shape == (shape[0], k)
        s = np.linalg.svd(X, compute_uv=False)  # no cell is missing: the closed form
        z = np.maximum(s - 1, 0) * (np.arange(len(s)) < k)
        assert model.objective_[-1] == pytest.approx(((s - z) ** 2).sum() + 2 * z.sum(), rel=1e-6)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("missing_weight", [0, 0.01, 1])
    def test_more_components_than_words_and_sentences(self, missing_weight, dtype):
        X = corpus(20, 18, dtype=dtype)
        model = WTMF(50, missing_weight=missing_weight, reg=0.5, max_iter=6, random_state=0).fit(X)
        assert model.objective_[-1] == pytest.approx(dense_objective(model, X), rel=1e-5)
        assert (np.diff(model.objective_) <= 1e-6 * model.objective_[0]).all()

    def test_negative_values(self):
        """Of the matrix with the other sign, the sentence vectors have the other sign."""
        X = corpus()
        X.data *= np.random.default_rng(0).choice([-1, 1], X.nnz)
        options = {"missing_weight": 0.01, "reg": 1.0, "max_iter": 5, "random_state": 0}
        model, flipped = WTMF(5, **options).fit(X), WTMF(5, **options).fit(-X)
        assert same_bits(model.components_, flipped.components_)
        assert np.array_equal(model.sentence_vectors_, -flipped.sentence_vectors_)
        assert model.objective_[-1] == pytest.approx(dense_objective(model, X), rel=1e-9)

    def test_word_in_every_sentence_and_sentence_with_every_word(self):
        X = corpus(300, 40)
        X = sp.csr_matrix(np.where(np.arange(40) == 5, 0.7, X.toarray()) + (np.arange(300) == 9)[:, None])
        model = WTMF(10, reg=1.0, max_iter=3, random_state=0)
        seen = history(model, X)
        P, Q = reference.oriented(*reference.sweep(X.toarray(), seen[1][1].T, missing_weight=0.01, reg=1.0)[:2])
        assert relative_error(model.components_, P) < 1e-9
        assert relative_error(model.sentence_vectors_, Q.T) < 1e-9

    @pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
    def test_scaled_rows(self, scale):
        """(X, reg) times c, both: the same minimum with vectors of sqrt(c) times the length."""
        X = corpus()
        options = {"missing_weight": 0.01, "max_iter": 60, "random_state": 0}
        model = WTMF(3, reg=1.0, **options).fit(X)
        scaled = WTMF(3, reg=scale, **options).fit(scale * X)
        assert scaled.objective_[-1] == pytest.approx(scale**2 * model.objective_[-1], rel=0.05)

    @pytest.mark.parametrize("scale", [1e-30, 1e15, 1e30, 1e38])
    def test_values_at_the_edge_of_float32(self, scale):
        """The model of these values, or an error that names X or the sweep; never NaN."""
        X = (corpus(dtype=np.float32).astype(np.float64) / 4 * scale).astype(np.float32)
        with np.errstate(all="ignore"):
            try:
                model = WTMF(4, reg=1.0, max_iter=5, random_state=0).fit(X)
            except ValueError as error:
                assert any(word in str(error) for word in ("X", "sweep"))  # noqa: PT017
                return
        for name in ("components_", "sentence_vectors_", "objective_"):
            assert np.isfinite(getattr(model, name)).all()
        assert model.objective_[-1] == pytest.approx(dense_objective(model, X), rel=1e-4)

    def test_objective_that_overflows(self):
        X = corpus()
        X.data *= 1e200
        with pytest.raises(ValueError, match=r"sweep|\bX\b"), np.errstate(all="ignore"):
            WTMF(3, reg=1.0, max_iter=5, random_state=0).fit(X)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_no_ridge(self, dtype):
        """A singular system is an error that names reg; a regular one is solved."""
        with pytest.raises(ValueError, match=r"\breg\b"):
            WTMF(20, missing_weight=0, reg=0, random_state=0).fit(corpus(dtype=dtype))
        X = np.random.default_rng(0).uniform(1, 2, (30, 20)).astype(dtype)
        model = WTMF(3, missing_weight=0, reg=0, max_iter=5, random_state=0).fit(X)
        assert model.objective_[-1] == pytest.approx(dense_objective(model, sp.csr_matrix(X)), rel=1e-5)
        with pytest.raises(ValueError, match=r"\breg\b"):
            model.transform(np.eye(1, 20, dtype=dtype))  # one word is too few for three components
