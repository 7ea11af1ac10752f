"""PILSA against the dense reference, planted polarity, and what every estimator promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import semproj as sj
from semproj.pilsa import DEFAULT_WEIGHTS, PILSA, SignedTfIdf, ThesaurusLookup, signed_matrix, signed_tfidf
from semproj.tasks import closest_opposite
from semproj.thesaurus import Thesaurus, UnknownWordError
from tests.reference import pilsa as reference
from tests.support import same_bits


def random_thesaurus(n_entries=60, n_words=50, seed=0):
    rng = np.random.default_rng(seed)
    relations = {
        name: (rng.random((n_entries, n_words)) < 0.08).astype(float)
        for name in ("synonym", "antonym", "similar", "hypernym")
    }
    relations["antonym"] *= relations["synonym"] == 0
    words = [f"word {i}" for i in range(n_words)]
    return Thesaurus(words, [f"entry {i}" for i in range(n_entries)], relations)


def planted_poles(n_concepts=12, n_words=8, n_entries=40, seed=0):
    """Concepts with two poles; an entry lists some words of one pole and some of the other. Word "3+5" is the
    fifth of the positive pole of concept 3."""
    rng = np.random.default_rng(seed)
    words = [f"{c}{sign}{i}" for c in range(n_concepts) for sign in "+-" for i in range(n_words)]
    column = {word: i for i, word in enumerate(words)}
    synonym, antonym = np.zeros((2, n_concepts * n_entries, len(words)))
    for row in range(len(synonym)):
        own, other = "+-" if rng.random() < 0.5 else "-+"
        for matrix, sign, share in ((synonym, own, 3), (antonym, other, 2)):
            for i in rng.choice(n_words, share, replace=False):
                matrix[row, column[f"{row % n_concepts}{sign}{i}"]] = 1
    return Thesaurus(words, [str(row) for row in range(len(synonym))], {"synonym": synonym, "antonym": antonym})


def dense(thesaurus):
    return {name: thesaurus[name].toarray().astype(np.float64) for name in thesaurus}


@pytest.fixture(scope="module")
def thesaurus():
    return random_thesaurus()


@pytest.fixture(scope="module")
def planted():
    return planted_poles()


@pytest.fixture(scope="module")
def model(thesaurus):
    return PILSA(10, random_state=0).fit(thesaurus)


class TestMatrix:
    @pytest.mark.parametrize("row_scaling", [0.0, 0.5, 1.0])
    @pytest.mark.parametrize(
        "weights", [DEFAULT_WEIGHTS, {"synonym": 1, "antonym": -1}, {"hypernym": 2.0, "none": 1}]
    )
    def test_equals_reference(self, thesaurus, weights, row_scaling):
        W = signed_tfidf(thesaurus, weights, row_scaling=row_scaling, dtype=np.float64)
        np.testing.assert_allclose(
            W.toarray(), reference.signed_tfidf(dense(thesaurus), weights, row_scaling), atol=1e-14
        )

    def test_tables_2_and_3_of_the_paper(self):
        words = ["acrimony", "rancor", "goodwill", "affection"]
        relations = {"synonym": [[1, 1, 0, 0], [0, 0, 1, 1]], "antonym": [[0, 0, 1, 1], [1, 1, 0, 0]]}
        W = signed_matrix(Thesaurus(words, ["acrimony", "affection"], relations))
        assert W.toarray().tolist() == [[1, 1, -1, -1], [-1, -1, 1, 1]]

    def test_what_cancels_is_not_there(self):
        thesaurus = Thesaurus(["a", "b"], ["e"], {"synonym": [[1, 1]], "antonym": [[1, 0]]})
        assert signed_matrix(thesaurus).nnz == 1

    def test_the_thesaurus_is_left_alone(self, thesaurus):
        before = dense(thesaurus)
        signed_tfidf(thesaurus, row_scaling=0.5)
        for name, matrix in dense(thesaurus).items():
            assert same_bits(matrix, before[name])

    def test_bad_arguments(self, thesaurus):
        with pytest.raises(TypeError, match="thesaurus: expected a Thesaurus, got csr_matrix"):
            signed_tfidf(sp.csr_matrix(np.eye(3)))
        with pytest.raises(ValueError, match="weights: expected one of the thesaurus's relations"):
            signed_tfidf(thesaurus, {"hyponym": 1.0, "synonym": 0})
        with pytest.raises(ValueError, match=r"weights\['synonym'\]"):
            signed_tfidf(thesaurus, {"synonym": np.nan})
        with pytest.raises(ValueError, match="row_scaling"):
            signed_tfidf(thesaurus, row_scaling=1.5)


class TestAgainstReference:
    @pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
    @pytest.mark.parametrize("row_scaling", [0.0, 0.5])
    def test_cosines(self, thesaurus, power, row_scaling):
        options = {"tol": 1e-10, "dtype": "float64", "random_state": 0}
        model = PILSA(10, power=power, taper=False, row_scaling=row_scaling, **options).fit(thesaurus)
        W = reference.signed_tfidf(dense(thesaurus), DEFAULT_WEIGHTS, row_scaling)
        expected = reference.word_vectors(W, 10, power)
        found = model.similarity(thesaurus.words, thesaurus.words)
        np.testing.assert_allclose(found, expected @ expected.T, atol=1e-9)
        np.testing.assert_allclose(model.singular_values_, np.linalg.svd(W)[1][:10], rtol=1e-12)

    def test_norms_undo_the_scaling(self, thesaurus):
        model = PILSA(10, power=2, taper=False, tol=1e-10, dtype="float64", random_state=0).fit(thesaurus)
        components = model.word_vectors_ * model.word_norms_[:, None] / model.singular_values_**2
        np.testing.assert_allclose(components.T @ components, np.eye(10), atol=1e-9)

    def test_tapered_products_are_means_over_ranks(self, thesaurus):
        model = PILSA(10, power=2, tol=1e-10, dtype="float64", random_state=0).fit(thesaurus)
        W = reference.signed_tfidf(dense(thesaurus), DEFAULT_WEIGHTS, model.row_scaling)
        _, values, components = np.linalg.svd(W)
        vectors = (components[:10].T * values[:10] ** 2, model.word_vectors_ * model.word_norms_[:, None])
        products = sum(vectors[0][:, :k] @ vectors[0][:, :k].T for k in range(1, 11)) / 10
        np.testing.assert_allclose(vectors[1] @ vectors[1].T, products, atol=1e-8 * products.max())

    @pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-8), ("float32", 2e-4)])
    @pytest.mark.parametrize("changes", [{}, {"power": 0.0}, {"power": 1.0, "taper": False}, {"power": 3.0}])
    def test_reduced_is_a_smaller_fit(self, thesaurus, changes, dtype, atol):
        options = {"tol": 1e-6 if dtype == "float32" else 1e-12, "dtype": dtype, "random_state": 0}
        whole = PILSA(12, power=2, **options).fit(thesaurus)
        model = whole.reduced(7, **changes)
        expected = PILSA(7, **{"power": 2, **options, **changes}).fit(thesaurus)
        words = thesaurus.words
        np.testing.assert_allclose(model.similarity(words, words), expected.similarity(words, words), atol=atol)
        np.testing.assert_allclose(model.word_norms_, expected.word_norms_, rtol=1e-3, atol=atol)
        assert model.get_params() == expected.get_params()
        assert model.word_vectors_.shape == (50, 7)
        assert model.word_vectors_.dtype == dtype
        assert len(model.singular_values_) == len(model.residuals_) == 7
        assert len(model.most_similar(words[0], 3)) == 3

    def test_reduced_to_what_is_not_there(self, thesaurus):
        model = PILSA(5, random_state=0).fit(thesaurus)
        with pytest.raises(ValueError, match=r"n_components: expected .*5, got 6"):
            model.reduced(6)
        with pytest.raises(ValueError, match="power"):
            model.reduced(3, power=-1)

    def test_lookup(self, thesaurus):
        model = ThesaurusLookup().fit(thesaurus)
        W = reference.signed_tfidf(dense(thesaurus), DEFAULT_WEIGHTS)
        found = model.similarity(thesaurus.words[:9], thesaurus.words)
        assert found.tolist() == [[reference.lookup(W, a, b) for b in range(50)] for a in range(9)]

    def test_signed_tfidf_without_lsa(self, thesaurus):
        model = SignedTfIdf().fit(thesaurus)
        W = reference.signed_tfidf(dense(thesaurus), DEFAULT_WEIGHTS)
        W /= np.linalg.norm(W, axis=0)
        np.testing.assert_allclose(model.similarity(thesaurus.words, thesaurus.words), W.T @ W, atol=1e-14)

    def test_a_word_in_every_entry_is_similar_to_none(self):
        relations = {"synonym": [[1, 1, 0], [1, 0, 1]]}
        model = SignedTfIdf().fit(Thesaurus(["all", "one", "other"], ["e", "f"], relations))
        assert model.similarity("all", ["all", "one", "other"]).tolist() == [0, 0, 0]
        assert model.similarity("one", ["one", "other"]).tolist() == [1, 0]


class TestPlanted:
    def test_poles_are_opposite(self, planted):
        model = PILSA(12, random_state=0).fit(planted)
        for concept in (0, 7):
            positive, negative = ([f"{concept}{sign}{i}" for i in range(8)] for sign in "+-")
            assert model.similarity(positive, positive).min() > 0.99
            assert model.similarity(positive, negative).max() < -0.99
            assert np.abs(model.similarity(positive, f"{concept + 1}+0")).max() < 0.05

    def test_neighbours(self, planted):
        model = PILSA(12, random_state=0).fit(planted)
        similar, opposite = model.most_similar("3+2", 7), model.most_opposite("3+2", 8)
        assert {word for word, _ in similar} == {f"3+{i}" for i in range(8)} - {"3+2"}
        assert {word for word, _ in opposite} == {f"3-{i}" for i in range(8)}
        assert all(cosine < -0.99 for _, cosine in opposite)
        assert [cosine for _, cosine in similar] == sorted((cosine for _, cosine in similar), reverse=True)

    def test_questions(self, planted):
        """Words that no entry opposes are opposed by the latent space, which the raw matrix does not know."""
        raw = ThesaurusLookup().fit(planted)
        questions = []
        for concept in range(12):
            for i in range(8):
                for j in range(8):
                    if raw.similarity(f"{concept}+{i}", f"{concept}-{j}") == 0:
                        others = [
                            f"{(concept + 1) % 12}+{i}",
                            f"{(concept + 5) % 12}-{j}",
                            f"{concept}+{(i + 1) % 8}",
                        ]
                        questions.append((f"{concept}+{i}", (*others, f"{concept}-{j}"), f"{concept}-{j}"))
        assert len(questions) > 10
        assert closest_opposite(raw, questions).f1 < 0.2
        assert closest_opposite(PILSA(12, random_state=0).fit(planted), questions).f1 == 1


class TestWords:
    def test_shapes(self, model):
        assert isinstance(model.similarity("word 1", "word 2"), float)
        assert model.similarity("word 1", ["word 2", "word 3"]).shape == (2,)
        assert model.similarity(["word 2", "word 3", "word 1"], "word 1").shape == (3,)
        both = model.similarity(["word 1", "word 2"], ["word 3", "word 4", "word 5"])
        assert both.shape == (2, 3)
        assert both[1, 2] == pytest.approx(model.similarity("word 2", "word 5"))
        assert model.similarity("word 1", "word 1") == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(model.vectors(["word 7"])[0], model.word_vectors_[7])

    def test_words_are_normalised(self, model):
        assert "Word_1" in model
        assert model.similarity("WORD  1", "word_2") == model.similarity("word 1", "word 2")
        spelt = Thesaurus(["Hot", "cold", "x"], ["e", "f", "g"], {"synonym": np.eye(3)})  # not as the readers do
        assert PILSA(3, random_state=0).fit(spelt).similarity("Hot", "Hot") == pytest.approx(1)
        assert "hot" not in spelt

    def test_unknown_words(self, model):
        assert "nothing" not in model
        assert None not in model
        for ask in (
            lambda: model.similarity("nothing", "word 1"),
            lambda: model.similarity("word 1", ["word 2", "nothing"]),
            lambda: model.vectors(["nothing"]),
            lambda: model.most_similar("nothing"),
            lambda: model.most_opposite(["nothing"]),
            lambda: model.most_opposite("nothing", unknown="skip"),  # a single word cannot be left out
        ):
            with pytest.raises(UnknownWordError, match=r"^(a|b|words): 'nothing' is not in the thesaurus$"):
                ask()

    @pytest.mark.parametrize("wrong", [5, None, 0.5, b"word 1", {"word 1"}])
    def test_what_is_not_words(self, model, wrong):
        for ask in (
            model.most_opposite,
            model.most_similar,
            model.vectors,
            lambda w: model.similarity("word 1", w),
        ):
            with pytest.raises(TypeError, match=r"^(words|b): expected a word or a sequence of words, got "):
                ask(wrong)

    def test_unknown_words_are_skipped(self, model):
        assert model.similarity("word 1", ["word 2", "nothing", "word 3"], unknown="skip").shape == (2,)
        assert model.vectors(["nothing"], unknown="skip").shape == (0, 10)
        assert len(model.most_similar(["word 1", "nothing"], 3, unknown="skip")) == 1
        assert model.most_similar(["nothing"], 3, unknown="skip") == []
        with pytest.raises(ValueError, match="unknown: expected one of 'error', 'skip', got 'ignore'"):
            model.similarity("word 1", "word 2", unknown="ignore")
        with pytest.raises(TypeError, match="words: expected a sequence"):
            model.vectors("word 1")

    def test_neighbours_are_those_of_brute_force(self, model):
        cosines = model.similarity(model.words_, model.words_)
        np.fill_diagonal(cosines, np.nan)
        for place in (0, 17):
            for commonness in (0.0, 0.1, 2.0):
                order = np.argsort(cosines[place] - commonness * np.log1p(model.entry_counts_))
                expected = [(model.words_[i], cosines[place, i]) for i in order[order != place][:5]]
                found = model.most_opposite(f"word {place}", 5, commonness=commonness)
                assert [word for word, _ in found] == [word for word, _ in expected]
                np.testing.assert_allclose([c for _, c in found], [c for _, c in expected], rtol=1e-12)
            assert model.most_opposite(f"word {place}") == model.most_opposite(f"word {place}", commonness=0.1)
        assert model.most_similar(["word 0", "word 17"], 4)[1] == model.most_similar("word 17", 4)
        with pytest.raises(ValueError, match="k: expected at least 1, got 0"):
            model.most_similar("word 1", 0)

    def test_how_common_words_are(self, model, tmp_path):
        assert model.entry_counts_.shape == (len(model.words_),)
        assert model.reduced(2).entry_counts_ is model.entry_counts_
        model.save(tmp_path / "model")
        assert sj.load(tmp_path / "model").most_opposite("word 1") == model.most_opposite("word 1")
        with pytest.raises(ValueError, match="commonness: expected a finite number, at least 0"):
            model.most_similar("word 1", commonness=-1)

    def test_the_opposite_that_one_would_name(self):
        """Both are as opposite to hot; one of them is in more entries."""
        words = ["hot", "cold", "nonradioactive", "warm", "chilly", "icy"]
        synonym = [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]]
        antonym = [[0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
        thesaurus = Thesaurus(
            [*words, "x"],
            list("abcde"),
            {"synonym": np.pad(synonym, ((0, 1), (0, 1))), "antonym": np.pad(antonym, ((0, 1), (0, 1)))},
        )
        model = PILSA(1, random_state=0).fit(thesaurus)
        np.testing.assert_allclose(model.similarity("hot", ["cold", "nonradioactive"]), -1, atol=1e-6)
        assert model.entry_counts_[[1, 2]].tolist() == [3, 2]
        assert model.most_opposite("hot", 1)[0][0] == "cold"

    def test_more_neighbours_than_words(self, model):
        all_of_them = model.most_similar("word 1", 49)
        assert len(all_of_them) == 49
        assert model.most_similar("word 1", 50) == model.most_similar("word 1", 1000) == all_of_them
        few = PILSA(2, random_state=0).fit(Thesaurus(["a", "b", "c"], list("xyz"), {"synonym": np.eye(3)}))
        assert len(few.most_opposite("a")) == len(few.most_opposite("a", 2))
        alone = PILSA(1, random_state=0).fit(Thesaurus(["a"], ["x", "y"], {"synonym": [[1], [0]]}))
        assert alone.most_similar("a") == []

    def test_words_outside_of_the_components_have_no_vector(self):
        synonym = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
        model = PILSA(1, random_state=0).fit(
            Thesaurus(["a", "b", "c", "alone"], list("efgh"), {"synonym": synonym})
        )
        assert not model.word_vectors_[3].any()
        assert model.word_norms_[3] == 0
        assert model.similarity("alone", "a") == 0
        assert model.similarity("alone", "alone") == 0
        assert model.most_similar("alone", 2) == []
        assert {word for word, _ in model.most_similar("a", 3)} == {"b", "c"}


class TestPromises:
    def test_float32_is_close_to_float64(self, thesaurus):
        single, double = (
            PILSA(10, dtype=dtype, tol=1e-6, random_state=0).fit(thesaurus) for dtype in ("float32", "float64")
        )
        assert (single.word_vectors_.dtype, double.word_vectors_.dtype) == (np.float32, np.float64)
        words = thesaurus.words
        np.testing.assert_allclose(single.similarity(words, words), double.similarity(words, words), atol=1e-4)

    def test_large_powers_do_not_overflow(self, thesaurus):
        model = PILSA(10, power=60, random_state=0).fit(thesaurus)
        lengths = np.linalg.norm(model.word_vectors_, axis=1)
        assert np.isfinite(model.word_norms_).all()
        np.testing.assert_allclose(lengths[model.word_norms_ > 0], 1, rtol=1e-5)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_saved_and_loaded(self, tmp_path, thesaurus, dtype):
        model = PILSA(5, weights={"synonym": 1, "antonym": -1}, dtype=dtype, random_state=0).fit(thesaurus)
        model.save(tmp_path / "m")
        loaded = sj.load(tmp_path / "m")
        assert loaded.get_params() == model.get_params()
        assert loaded.words_ == model.words_
        for name in ("word_vectors_", "word_norms_", "singular_values_", "residuals_"):
            assert same_bits(getattr(loaded, name), getattr(model, name)), name
        assert loaded.most_opposite("word 3", 4) == model.most_opposite("word 3", 4)
        assert loaded.n_iter_ == model.n_iter_

    def test_weights_of_numpy_are_saved(self, tmp_path, thesaurus):
        weights = {"synonym": np.float32(1), "antonym": np.float32(-0.5)}
        model = PILSA(5, weights=weights, random_state=0).fit(thesaurus)
        model.save(tmp_path / "m")
        assert sj.load(tmp_path / "m").weights == {"synonym": 1, "antonym": -0.5}

    def test_not_fitted(self, tmp_path):
        for ask in (
            lambda: PILSA().similarity("a", "b"),
            lambda: PILSA().most_similar("a"),
            lambda: PILSA().vectors(["a"]),
            lambda: "a" in PILSA(),
            lambda: PILSA().save(tmp_path / "m"),
            lambda: ThesaurusLookup().similarity("a", "b"),
        ):
            with pytest.raises(NotFittedError):
                ask()

    def test_baselines_are_not_saved(self, tmp_path, thesaurus):
        with pytest.raises(TypeError, match="SignedTfIdf is the thesaurus itself"):
            SignedTfIdf().fit(thesaurus).save(tmp_path / "m")

    def test_a_failed_fit_leaves_the_earlier_one(self, thesaurus):
        model = PILSA(5, random_state=0).fit(thesaurus)
        before = model.word_vectors_
        with pytest.raises(ValueError, match="n_components: expected between 1 and 3, got 5"):
            model.fit(Thesaurus(["a", "b", "c"], list("wxyz"), {"synonym": np.eye(4, 3)}))
        assert model.word_vectors_ is before
        assert "word 1" in model

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 0}, "n_components"),
            ({"n_components": 51}, "n_components: expected between 1 and 50, got 51"),
            ({"power": -1}, "power"),
            ({"row_scaling": 2}, "row_scaling"),
            ({"dtype": "float16"}, "dtype: expected one of 'float32', 'float64'"),
            ({"tol": -1}, "tol"),
            ({"weights": {"hyponym": 1}}, "weights"),
            ({"n_threads": 0}, "n_threads"),
            ({"max_memory": 1000}, "max_memory: 1000 bytes are too few"),
        ],
    )
    def test_bad_parameters(self, thesaurus, parameters, message):
        with pytest.raises(ValueError, match=message):
            PILSA(**{"n_components": 5, **parameters}).fit(thesaurus)

    def test_nothing_to_learn(self):
        with pytest.raises(ValueError, match=r"^thesaurus: has no entries"):
            PILSA(1).fit(Thesaurus())
        with pytest.raises(ValueError, match="thesaurus: all tf-idf weights are zero"):
            PILSA(1).fit(Thesaurus(["a", "b"], ["e", "f"], {"synonym": np.ones((2, 2))}))

    def test_too_few_restarts_are_told(self):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            PILSA(60, max_iter=1, tol=1e-12, dtype="float64", random_state=0).fit(random_thesaurus(900, 800))
