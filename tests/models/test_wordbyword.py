"""Word-by-word translation: against the reference, against planted dictionaries, and on bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import semproj as sj
from semproj import _core
from tests.reference import wordbyword as reference
from tests.support import random_rows, same_bits

K = 5  # jump classes with max_jump=1


def random_pairs(seed, n=30, n_source=9, n_target=8, longest=7):
    rng = np.random.default_rng(seed)
    return [
        (
            rng.integers(0, n_source, rng.integers(1, longest + 1)).tolist(),
            rng.integers(0, n_target, rng.integers(1, longest + 1)).tolist(),
        )
        for _ in range(n)
    ]


def aligner_of(pairs, n_source=9, n_target=8, *, least=1, chunk_cells=100, n_threads=1):
    flat, ranges = [], []
    for side in (0, 1):
        ends = np.cumsum([len(pair[side]) for pair in pairs]).astype(np.int64)
        flat.append(np.array([x for pair in pairs for x in pair[side]], np.int32))
        ranges += [ends - [len(pair[side]) for pair in pairs], ends]
    return _core.WordAligner(*flat, *ranges, n_source, n_target, least, chunk_cells, n_threads)


def table_of(aligner, n_source=9, n_target=8):
    cells = aligner.cells(0.0)
    shape = (n_source + 1, n_target)
    return sp.csr_matrix((cells.data, cells.indices, cells.indptr), shape=shape).toarray()


def as_documents(pairs):
    """Each pair one document of one sentence; words that sort as their ids do."""
    return (
        [[" ".join(f"s{word}" for word in source)] for source, _ in pairs],
        [[" ".join(f"t{word}" for word in target)] for _, target in pairs],
    )


def planted(seed=0, n=2000, n_words=300, swaps=0.15):
    """Sentences and their translations by a dictionary, neighbours swapped now and then, with words added."""
    rng = np.random.default_rng(seed)
    weight = 1 / (np.arange(n_words) + 5)
    dictionary = rng.permutation(n_words)
    source, target = [], []
    for _ in range(n):
        words = rng.choice(n_words, rng.integers(4, 15), p=weight / weight.sum())
        other = dictionary[words].tolist()
        for i in range(len(other) - 1):
            if rng.random() < swaps:
                other[i], other[i + 1] = other[i + 1], other[i]
        out = []
        for word in other:
            out += ["the"] * (rng.random() < 0.2) + [f"t{word}"]
        source.append([" ".join(f"s{word}" for word in words)])
        target.append([" ".join(out)])
    return source, target, dictionary


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("least", [1, 3])
def test_model1_against_the_reference(seed, least):
    pairs = random_pairs(seed)
    exists = reference.cooccurring(pairs, 9, 8, least)
    table = reference.start(exists)
    aligner = aligner_of(pairs, least=least)
    assert aligner.n_cells == exists.sum()
    for _ in range(4):
        expected, table = reference.model1(pairs, table)
        assert aligner.model1() == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(table_of(aligner), table, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_jump", [0, 1, 4])
def test_hmm_against_the_reference(seed, max_jump):
    pairs = random_pairs(seed)
    table = reference.start(reference.cooccurring(pairs, 9, 8, 1))
    aligner = aligner_of(pairs)
    aligner.model1()
    _, table = reference.model1(pairs, table)
    weights = np.random.default_rng(seed).uniform(0.2, 2, (10, 2 * max_jump + 3)).astype(np.float32)
    for _ in range(3):
        found = aligner.hmm(weights, 0.3)
        expected, table, jumps, exposed = reference.hmm(pairs, table, weights.astype(float), max_jump, 0.3)
        assert found.log_likelihood == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(table_of(aligner), table, atol=1e-6)
        np.testing.assert_allclose(found.counts, jumps, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.exposure, exposed, rtol=1e-5, atol=1e-5)
        weights = reference.word_weights(jumps, exposed, 10.0).astype(np.float32)


@pytest.mark.parametrize("word_dependent", [False, True])
def test_fit_against_the_reference(word_dependent):
    pairs = random_pairs(5, n=60)
    table = reference.start(reference.cooccurring(pairs, 9, 8, 2))
    first, second = [], []
    for _ in range(3):
        value, table = reference.model1(pairs, table)
        first.append(value)
    weights = np.full((10, K), 1 / K)
    for _ in range(3):
        value, table, jumps, exposure = reference.hmm(pairs, table, weights, 1, 0.25)
        second.append(value)
        shared = reference.shared_weights(jumps, exposure)
        weights = reference.word_weights(jumps, exposure, 20.0) if word_dependent else np.tile(shared, (10, 1))
    options = {"model1_iter": 3, "hmm_iter": 3, "model1_tol": 0.0, "hmm_tol": 0.0, "max_jump": 1}
    model = sj.WordByWord(
        **options, smoothing=20.0, word_dependent=word_dependent, null_probability=0.25, min_probability=0.0
    ).fit(*as_documents(pairs))
    np.testing.assert_allclose(model.model1_log_likelihood_, first, rtol=1e-6)
    np.testing.assert_allclose(model.hmm_log_likelihood_, second, rtol=1e-6)
    np.testing.assert_allclose(model.jump_weights_, shared, atol=1e-5)
    column = model.source_counter_.vocabulary_
    found = model.translation_.toarray()[
        np.ix_([column[f"s{i}"] for i in range(9)], [column[f"t{i}"] for i in range(8)])
    ]
    np.testing.assert_allclose(found, table[:9], atol=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_never_decreases(seed):
    pairs = random_pairs(seed, n=80, longest=12)
    model = sj.WordByWord(
        model1_iter=15, hmm_iter=25, model1_tol=0.0, hmm_tol=0.0, word_dependent=False, min_cooccurrence=1
    ).fit(*as_documents(pairs))
    assert len(model.model1_log_likelihood_) == 15
    assert len(model.hmm_log_likelihood_) == 25
    for values in (model.model1_log_likelihood_, model.hmm_log_likelihood_):
        assert (np.diff(values) > -1e-6 * np.abs(values[1:])).all()
        assert values[-1] > values[0] + 1


def test_tolerances_end_the_iterations():
    documents = as_documents(random_pairs(0))
    model = sj.WordByWord(model1_iter=50, hmm_iter=50, model1_tol=0.05, hmm_tol=0.02).fit(*documents)
    for values, tol in ((model.model1_log_likelihood_, 0.05), (model.hmm_log_likelihood_, 0.02)):
        growth = np.diff(values) / np.abs(values[:-1])
        assert 2 <= len(values) < 50
        assert growth[-1] < tol
        assert (growth[:-1] >= tol).all()


@pytest.mark.parametrize("options", [{"hmm_iter": 0}, {}, {"word_dependent": False}, {"model1_iter": 0}], ids=str)
def test_a_planted_dictionary_is_found(options):
    source, target, dictionary = planted()
    model = sj.WordByWord(**options).fit(source, target)
    names = model.get_feature_names_out()
    counts = model.source_counter_.term_counts_
    right = total = 0
    for word, translation in enumerate(dictionary):
        column = model.source_counter_.vocabulary_.get(f"s{word}")
        if column is None or counts[column] < 10:
            continue
        row = model.translation_[column]
        total += 1
        right += names[row.indices[row.data.argmax()]] == f"t{translation}"
    assert total > 200
    assert right / total > (0.95 if options.get("model1_iter") == 0 else 0.99)


def test_the_hmm_learns_the_order():
    source, target, _ = planted(swaps=0.0)
    weights = sj.WordByWord().fit(source, target).jump_weights_
    assert weights.argmax() == 7  # one to the right
    assert weights[7] > 0.8
    backwards = [[" ".join(reversed(text.split())) for text in document] for document in target]
    assert sj.WordByWord().fit(source, backwards).jump_weights_.argmax() == 5


def test_translated_documents_are_found():
    source, target, _ = planted(n=1200)
    model = sj.WordByWord(sj.TermCounter(drop_top=1)).fit(source[:800], target[:800])
    counter = model.source_counter_
    assert "the" not in counter.vocabulary_
    texts = [[d[0] for d in side] for side in (source, target)]
    weighting = sj.LogTfIdf().fit(counter.transform(texts[0][:800] + texts[1][:800]))
    held_out = [weighting.transform(counter.transform(side[800:])) for side in texts]
    translated = model.transform(held_out[0])
    lsa = sj.LSA(150, random_state=0).fit(weighting.transform(counter.transform(texts[1][:800])))
    assert sj.metrics.top1(translated.toarray(), held_out[1].toarray()) > 0.97
    assert sj.metrics.top1(lsa.transform(translated), lsa.transform(held_out[1])) > 0.9
    assert sj.metrics.top1(held_out[0].toarray(), held_out[1].toarray()) < 0.1


@pytest.fixture(scope="module")
def corpus():
    return planted(3, n=300)[:2]


@pytest.fixture
def model(corpus):
    return sj.WordByWord(hmm_iter=2, model1_iter=2).fit(*corpus)


def assert_same_model(a, b):
    for name in ("data", "indices", "indptr"):
        assert same_bits(getattr(a.translation_, name), getattr(b.translation_, name))
    for name in ("model1_log_likelihood_", "hmm_log_likelihood_", "jump_weights_"):
        assert same_bits(getattr(a, name), getattr(b, name))


def test_any_number_of_threads(corpus, model, monkeypatch):
    monkeypatch.setattr("semproj.wordbyword.CHUNK_CELLS", 5000)  # several chunks
    fits = [clone(model).set_params(n_threads=n).fit(*corpus) for n in (1, 2, 5, 2)]
    for other in fits[1:]:
        assert_same_model(fits[0], other)
    X = random_rows([30] * 500, model.n_features_in_)
    expected = fits[0].transform(X)
    for other in fits[1:]:
        assert same_bits(other.transform(X).data, expected.data)


def test_transform_is_the_product(model):
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X = random_rows([0, 1, 40, 7, 0, 200], model.n_features_in_, dtype=dtype)
        expected = X.toarray().astype(np.float64) @ model.translation_.toarray()
        for given in (X, X.tocsc(), sp.csr_array(X), X.toarray()):
            Z = model.transform(given)
            assert Z.dtype == dtype
            assert Z.has_sorted_indices
            np.testing.assert_allclose(Z.toarray(), expected, atol=1e-5)
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        assert same_bits(model.transform(wide).toarray(), model.transform(X).toarray())
        assert same_bits(model.transform(X[2:4]).toarray(), model.transform(X).toarray()[2:4])
    counts = sp.csr_matrix(rng.integers(0, 3, (4, model.n_features_in_)).astype(np.int32))
    assert model.transform(counts).dtype == np.float32
    assert model.transform(sp.csr_matrix((3, model.n_features_in_))).nnz == 0


def test_rows_of_the_matrix(corpus):
    """Shares of words without a column are kept; terms that were never seen are translated by themselves."""
    source, target = corpus
    counter = sj.TermCounter().fit([text for side in (source, target) for d in side for text in d] + ["Oslo 2024"])
    model = sj.WordByWord(counter).fit(source, target)
    for name in ("Oslo", "2024"):
        row = model.translation_[counter.vocabulary_[name]]
        assert (row.indices.tolist(), row.data.tolist()) == ([counter.vocabulary_[name]], [1.0])
    seen = [counter.vocabulary_[f"s{i}"] for i in range(50)]
    np.testing.assert_allclose(np.asarray(model.translation_[seen].sum(axis=1)).ravel(), 1, atol=1e-5)
    assert model.translation_[seen].data.min() >= 0.01
    without = sj.TermCounter(drop_top=1).fit([text for d in target for text in d] + ["s0 s1"])
    assert "the" not in without.vocabulary_
    shorter = sj.WordByWord(without).fit(source, target)
    whole = model.translation_[counter.vocabulary_["s1"]].toarray().ravel()
    part = shorter.translation_[without.vocabulary_["s1"]].toarray().ravel()
    for term, column in without.vocabulary_.items():
        assert part[column] == whole[counter.vocabulary_[term]]


def test_separate_vocabularies(corpus, tmp_path):
    source, target = ([d[0] + " 7" for d in side] for side in corpus)
    counter = sj.MultiTermCounter("separate", max_features=250).fit([[*source, "Oslo"] * 2, [*target, "Oslo"] * 2])
    model = sj.WordByWord(counter, hmm_iter=1).fit(source, target)
    sizes = tuple(len(c.vocabulary_) for c in counter.counters_)
    assert model.translation_.shape == sizes
    assert model.transform(counter.transform(source, view=0)).shape == (len(source), sizes[1])
    model.save(tmp_path / "m")
    loaded = sj.load(tmp_path / "m")
    assert loaded.source_counter_ is not loaded.target_counter_
    assert isinstance(loaded.counter, sj.MultiTermCounter)
    assert_same_model(loaded.fit(source, target), model)
    with pytest.raises(ValueError, match="2 languages"):
        sj.WordByWord(sj.MultiTermCounter("separate").fit([source] * 3)).fit(source, target)


def test_words_are_cut_as_the_counter_cuts_them(corpus):
    source, target = corpus
    shouted = [[text.upper() for text in d] for d in source]
    expected = sj.WordByWord(sj.TermCounter(lowercase=True)).fit(source, target)
    assert_same_model(sj.WordByWord(sj.TermCounter(lowercase=True)).fit(shouted, target), expected)


@pytest.mark.parametrize("counter", [None, sj.TermCounter(drop_top=2), sj.MultiTermCounter(drop_top=2)], ids=str)
def test_save_load_clone_and_pickle(corpus, counter, tmp_path):
    model = sj.WordByWord(counter, hmm_iter=1, max_length=50).fit(*corpus)
    if counter is not None:
        assert not hasattr(counter, "term_counts_")  # the caller's own stays as it was
        assert not hasattr(counter, "counters_")
    model.save(tmp_path / "model")
    loaded = sj.load(tmp_path / "model")
    assert_same_model(loaded, model)
    assert loaded.target_counter_ is loaded.source_counter_
    X = model.source_counter_.transform([d[0] for d in corpus[0]])
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert same_bits(other.transform(X).toarray(), model.transform(X).toarray())
        assert (other.n_pairs_, other.n_cells_) == (model.n_pairs_, model.n_cells_)
        assert list(other.get_feature_names_out()) == list(model.get_feature_names_out())
        assert_same_model(other.fit(*corpus), model)
        assert str(other) == str(model)
    fresh = clone(model)
    assert not hasattr(fresh, "translation_")
    assert_same_model(fresh.fit(*corpus), model)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((["a b"], ["a", "b"]), {}, ValueError, "target_documents: expected 1"),
        ((["a b"], 3), {}, TypeError, "target_documents"),
        ((["a", 3], ["a", "b"]), {}, TypeError, r"source_documents\[1\]"),
        ((["..."], ["a b"]), {}, ValueError, "source_documents: no sentence pair"),
        (([""], [""]), {}, ValueError, "documents"),
        (([], []), {}, ValueError, "documents"),
        ((["a " * 5], ["b " * 5]), {"max_length": 4}, ValueError, "max_length=4"),
        ((["a"], ["b"]), {"counter": 3}, TypeError, "counter"),
        ((["a"], ["b"]), {"counter": sj.LogTfIdf()}, TypeError, "counter"),
        ((["a"], ["b"]), {"model1_iter": -1}, ValueError, "model1_iter"),
        ((["a"], ["b"]), {"model1_iter": 0, "hmm_iter": 0}, ValueError, "hmm_iter"),
        ((["a"], ["b"]), {"hmm_tol": np.nan}, ValueError, "hmm_tol"),
        ((["a"], ["b"]), {"null_probability": 1.0}, ValueError, "null_probability"),
        ((["a"], ["b"]), {"min_probability": 2}, ValueError, "min_probability"),
        ((["a"], ["b"]), {"smoothing": 0}, ValueError, "smoothing"),
        ((["a"], ["b"]), {"skip_probability": 2.0}, ValueError, "skip_probability"),
        ((["a"], ["b"]), {"n_threads": 0}, ValueError, "n_threads"),
        ((["a", "b\ud800 c"], ["b", "c"]), {}, ValueError, "document 1: lone surrogate"),
    ],
)
def test_a_failed_fit_keeps_the_previous_one(model, arguments, options, error, message):
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(error, match=message):
        model.set_params(**options).fit(*arguments)
    assert_same_model(model, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("X.data[5] = np.nan", "NaN"),
        ("X.data[5] = np.inf", "infinity"),
        ("X.indices[5] = X.shape[1]", "out of range"),
        ("X.indices[5] = -1", "out of range"),
        ("X.indptr[3] = X.indptr[5] + 1", "indptr"),
        ("X.indptr[-1] = X.nnz + 10**6", "indptr"),
        ("X = X[:, :-1]", "columns"),
    ],
)
def test_broken_rows(model, change, message):
    scope = {"X": random_rows([5] * 20, model.n_features_in_), "np": np}
    exec(change, scope)
    with pytest.raises(ValueError, match=f"X.*{message}"):
        model.transform(scope["X"])


def test_not_fitted(tmp_path):
    model = sj.WordByWord()
    for call in (lambda: model.transform(np.ones((1, 3))), lambda: model.save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            call()
    with pytest.raises(TypeError, match="fit_transform"):
        model.fit_transform(["a"], ["b"])


def test_empty_documents_and_missing_sentences(corpus):
    source, target = corpus
    counter = sj.TermCounter().fit([d[0] for side in corpus for d in side])
    expected = sj.WordByWord(counter, hmm_iter=2).fit(source, target)
    padded = sj.WordByWord(counter, hmm_iter=2).fit(["", *source, "s1 s2", []], [["t1"], *target, "", []])
    assert (padded.n_pairs_, padded.n_skipped_) == (len(source), 0)
    # Their words are counted, which may number the words differently: the sums have another order.
    assert abs(padded.translation_ - expected.translation_).max() < 1e-5
    np.testing.assert_allclose(padded.hmm_log_likelihood_, expected.hmm_log_likelihood_, rtol=1e-6)


def test_bad_pairs_can_be_dropped():
    sentences = ["x" * 40 + " y", "z " * 30]
    model = sj.WordByWord(min_cooccurrence=1).fit([sentences, "a"], [sentences, "b " * 90])
    dropped = sj.WordByWord(min_cooccurrence=1, min_score=-8.0).fit([sentences, "a"], [sentences, "b " * 90])
    assert (model.n_pairs_, dropped.n_pairs_) == (3, 2)
    short = sj.WordByWord(min_cooccurrence=1, max_length=50).fit([sentences, "a"], [sentences, "b " * 90])
    assert (short.n_pairs_, short.n_skipped_) == (2, 1)


def test_the_binding_checks_words_and_ranges():
    ids, begin, end = np.array([0, 1], np.int32), np.array([0], np.int64), np.array([2], np.int64)
    for source, first, last, message in (
        (np.array([0, 9], np.int32), begin, end, "source"),
        (np.array([0, -1], np.int32), begin, end, "source"),
        (ids, begin, begin, "empty"),
        (ids, begin, np.array([3], np.int64), "within"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.WordAligner(source, ids, first, last, begin, end, 2, 2, 1, 100, 1)
    aligner = _core.WordAligner(ids, ids, begin, end, begin, end, 2, 2, 1, 100, 1)
    for jumps in (np.ones((2, 5), np.float32), np.ones((3, 4), np.float32)):
        with pytest.raises(ValueError, match="jumps"):
            aligner.hmm(jumps, 0.2)


def test_progress(corpus, capsys):
    sj.WordByWord(model1_iter=2, hmm_iter=1, model1_tol=0.0, progress=True).fit(*corpus)
    assert "3/3" in capsys.readouterr().err


def test_arrays_are_translated_to_arrays(corpus):
    model = sj.WordByWord(model1_iter=1, hmm_iter=0).fit(*corpus)
    rows = np.eye(3, model.n_features_in_)
    assert isinstance(model.transform(sp.csr_array(rows)), sp.csr_array)
    assert isinstance(model.transform(sp.csr_matrix(rows)), sp.csr_matrix)
